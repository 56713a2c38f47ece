"""From a sitting to figures: how many were right, against what, and why the others were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from figures import Figures
from multiple_choice.fitting import groups
from multiple_choice.questions import LETTERS
from multiple_choice.sitting import DEPTHS, GUESS, READ, Sat
from pincite.measure.statistics import Comparison, compare

OUTCOMES = (
    "right",
    "right (a guess)",
    "wrong: found, wrong choice",
    "wrong: evidence not found",
    "wrong: no place to find",
    "abstained",
)


def summarise(sats: Sequence[Sat]) -> dict[str, Any]:
    """Return everything that is reported, as plain values."""
    names = groups([sat.question for sat in sats])
    counted = [
        (sat, name)
        for sat, name in zip(sats, names, strict=True)
        if sat.question.correct is not None and not sat.question.unanswerable
    ]
    figures = _figures(counted)
    outcomes = Counter(sat.outcome for sat, _ in counted)
    # The key says that these have no answer: to abstain is right, to choose is a silent guess.
    said = [sat for sat in sats if sat.question.unanswerable]
    missing = [sat for sat in sats if sat.unanswerable and not sat.question.unanswerable]
    return {
        "questions": len(sats),
        "counted": len(counted),
        "groups": len({name for _, name in counted}),
        "figures": {
            name: {
                "value": figures.values[name],
                "low": figures.intervals[name][0],
                "high": figures.intervals[name][1],
                "n": figures.counts[name],
            }
            for name in figures.values
        },
        "comparisons": _comparisons(counted),
        "outcomes": {name: outcomes[name] for name in OUTCOMES if outcomes[name]},
        "guess_below": GUESS,
        "unanswerable": {
            "by_key": len(said),
            "abstained": sum(sat.choice.option is None for sat in said),
            "place_missing": len(missing),
        },
        "rows": [row(sat) for sat in sats],
    }


def _figures(counted: Sequence[tuple[Sat, str]]) -> Figures:
    figures = Figures()
    names = [name for _, name in counted]
    figures.add("accuracy", [float(sat.is_right) for sat, _ in counted], names)
    chosen = [(s, name) for s, name in counted if s.choice.option is not None and not s.is_guess]
    _add(figures, "accuracy without guesses", [(s.is_right, name) for s, name in chosen])
    blind = [(_is_right(s), name) for s, name in counted if s.random_choice is not None]
    _add(figures, "accuracy with random evidence", blind)
    _add(figures, "accuracy of guessing", [(1 / len(s.question.options), n) for s, n in counted])
    for level in ("section", "clause"):
        judged = [(sat, name) for sat, name in counted if sat.has[level]]
        for by in ("question", "both"):
            words = "question" if by == "question" else "question + options"
            for depth in DEPTHS:
                found = [((s.ranks[by, level] or depth + 1) <= depth, name) for s, name in judged]
                _add(figures, f"{level} found @{depth} by {words}", found)
    return figures


def _add(figures: Figures, name: str, values: Sequence[tuple[float, str]]) -> None:
    figures.add(name, [float(value) for value, _ in values], [group for _, group in values])


def _is_right(sat: Sat) -> bool:
    choice = sat.random_choice
    return choice is not None and choice.option == sat.question.correct


def _comparisons(counted: Sequence[tuple[Sat, str]]) -> list[dict[str, Any]]:
    """Return what the chooser gains over guessing, and over itself with random evidence."""
    if not counted:
        return []
    names = [name for _, name in counted]
    right = [float(sat.is_right) for sat, _ in counted]
    chance = [1 / len(sat.question.options) for sat, _ in counted]
    rows = [_plain("guessing", compare(chance, right, names))]
    if all(sat.random_choice is not None for sat, _ in counted):
        blind = [float(_is_right(sat)) for sat, _ in counted]
        rows.append(_plain("the same chooser with random evidence", compare(blind, right, names)))
    return rows


def _plain(to: str, found: Comparison) -> dict[str, Any]:
    return {
        "to": to,
        "difference": found.difference,
        "interval": list(found.interval),
        "p": found.p,
        "better": found.wins,
        "worse": found.losses,
        "verdict": found.verdict,
    }


def row(sat: Sat) -> dict[str, Any]:
    """Return one question as a line of the table."""
    question, choice = sat.question, sat.choice
    level = "clause" if sat.has["clause"] else "section"
    return {
        "id": question.id,
        "question": question.text,
        "gold": question.gold,
        "unanswerable": sat.unanswerable or None,
        "rank": sat.ranks["question", level],
        "rank_with_options": sat.ranks["both", level],
        "chosen": None if choice.option is None else LETTERS[choice.option],
        "answer": None if choice.option is None else question.options[choice.option],
        "right": question.letter or None,
        "right_answer": None if question.correct is None else question.options[question.correct],
        "probability": round(choice.probability, 4),
        "is_guess": sat.is_guess,
        "outcome": sat.outcome if question.correct is not None else "no key",
        "place": choice.place.locator if choice.place else None,
        "document": choice.place.span.doc_id if choice.place else None,
        "quote": choice.quote or None,
        "reason": choice.reason or None,
        "read": READ,
    }

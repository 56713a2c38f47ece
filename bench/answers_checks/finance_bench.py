"""Figures of annual reports: the number that a question asks for (FinanceBench, open part).

The questions of `financebench/questions.jsonl` whose answer is a number, over the 39 filings as PDF
in one index. Right is a short answer whose first number is the right one within half a percent,
whatever its scale; wrong is a short answer with another number. A question belongs to the half that
was looked at by the hash of its company.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from answers_checks._asking import Said, asker_of, said, settings_here
from checks import Figure, sampled
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder

# An answer that is a number and no sentence: "$1577.00", "-0.02", "65.4%", "24.26 days".
_NUMERIC = re.compile(r"-?[$€£]?\s?-?[\d,]*\.?\d+\s?(?:%|[a-z]{1,8})?", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])[-(]?\s?[$€£]?\s?(\d[\d,]*(?:\.\d+)?|\.\d+)")


def is_numeric(answer: str) -> bool:
    """Return whether an answer is a number.

    >>> is_numeric("$5409.00"), is_numeric("Yes, by 3 %")
    (True, False)
    """
    return _NUMERIC.fullmatch(answer.strip()) is not None


def figures_in(text: str) -> list[float]:
    """Return the numbers of a text, without signs and units.

    >>> figures_in("$5,813 million, down (3.2)%")
    [5813.0, 3.2]
    """
    return [float(each.replace(",", "")) for each in _NUMBER.findall(text)]


def is_figure_right(said: str, right: str) -> bool:
    """Return whether a number says what the right one says, as exactly as that was rounded.

    Thousands, millions and billions of the same figure are alike: units are another question.

    >>> is_figure_right("12,645.2", "$12645.00"), is_figure_right("0.66", "0.70")
    (True, False)
    """
    wanted, found = figures_in(right), figures_in(said)
    if not wanted or not found:
        return False
    goal = wanted[0]
    scales = (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9)
    slack = max(0.005 * abs(goal), 1e-9)
    return any(abs(found[0] * scale - goal) <= slack for scale in scales)


def run(data: Path) -> list[Figure]:
    """Return the share of right figures and of wrong ones that are shown."""
    folder, settings = data / "financebench", settings_here()
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [item for item in map(json.loads, lines) if is_numeric(item["answer"])]
    asked = sampled(asked, lambda each: each["question"])
    files = [(file, file.name) for file in sorted((folder / "pdfs").glob("*.pdf"))]
    with (
        index_folder(f"financebench-{settings.search.preset}", files, [settings]) as place,
        opened_at(place, settings) as index,
    ):
        asker = asker_of(index)
        answers = [said(asker, each["question"]) for each in asked]
    keys = [each["company"] for each in asked]
    right = [
        float(each.is_found and is_figure_right(each.short, item["answer"]))
        for each, item in zip(answers, asked, strict=True)
    ]
    wrong = [
        float(shows_figure(each) and not good) for each, good in zip(answers, right, strict=True)
    ]
    return [
        *by_half("figure right", right, keys, ">= .45"),
        *by_half("wrong figure shown", wrong, keys, "<= .15"),
    ]


def shows_figure(answer: Said) -> bool:
    """Return whether an answer gives a number."""
    return answer.is_found and bool(figures_in(answer.short))

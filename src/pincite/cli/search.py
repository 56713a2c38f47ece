"""pincite search, why-not and replay: passages, why one is missing, and the same search again."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.options import PATH, Call, argument, command, filter_options, option, set_filters
from pincite.cli.terminal import Part, print_json, print_table, say, tell
from pincite.model.errors import ConfigError
from pincite.model.settings import SearchSettings

if TYPE_CHECKING:
    from pincite.api import Index
    from pincite.model.types import Chunk, Filters
    from pincite.search.explain import WhyNot
    from pincite.search.neighbours import Companion
    from pincite.search.passages import Passage
    from pincite.search.reader import Result

    Beside = list[tuple[Companion, Chunk]]

COMPANIONS = 5  # places that belong beside the hits
MAX_DIFFERENCES = 20  # of a replayed search, shown

# What a feature means, in a reader's words.
REASONS = {
    "place": "the query names this place",
    "terms": "words",
    "pairs": "phrases",
    "window": "close together",
    "meaning": "meaning",
    "identifier": "has the identifier",
    "entities": "is about what the query names",
    "graph": "near other hits",
    "spread": "section seen before",
    "aliases": "other names",
    "vocabulary": "what the field calls it",
    "named": "named in the query",
    "linked": "links",
    "rerank": "read with the query",
    "diversify": "group seen before",
}
k_option = option(
    "-k",
    type=click.IntRange(min=1),
    help=f"How many passages; {SearchSettings().k} unless search.k is set.",
)


@command("search")
@argument("query", help="A question, words, or a place like '97.113(a)'.")
@k_option
@filter_options()
@option(
    "--budget-ms",
    type=click.IntRange(0, 3_600_000),
    help="Time for a re-ranked search; 0: no limit.",
)
@option("--explain", is_flag=True, help="Show every part of each score, and times.")
@option("--save", type=PATH, help="Write the search to a file, for 'replay'.")
def search(
    call: Call,
    query: str,
    k: int | None,
    filters: Filters,
    budget_ms: int | None,
    explain: bool,
    save: Path | None,
) -> None:
    """Find the passages that answer a query and cite each one."""
    from pincite.api import Index

    if not query.strip():
        raise ConfigError("the query is empty", hint='try: pincite search "words or a place"')
    with Index.open(call.index, call.settings) as opened:
        _warm(opened)
        result = opened.search(query, k, filters, budget_ms=budget_ms)
        used = result.query.filters  # with the audience that the question names
        missing = result.parsed.missing
        empty = opened.explain_filters(used)
        beside = opened.companions(result, COMPANIONS)
        if save is not None:
            from pincite.maintain.replay import save as write

            write(save, opened, result, call.settings.search.k if k is None else k)
    if call.as_json:
        values = _search_values(result, missing, empty, beside)
        print_json(values if call.is_full else compact_search(values))
        return
    _print_notes(result, missing, empty)
    for passage in result.passages:
        _print_passage(passage)
    if beside:
        names = dict.fromkeys(f"{chunk.locator} ({each.relation})" for each, chunk in beside)
        say(f"see also: {', '.join(names)}", style="dim")
    if explain and result.passages:
        _print_scores(result)


def _warm(opened: Index) -> None:
    """Load the models of a command that has just started: the budget is for reading.

    If that fails the search tells why, and does without.
    """
    if opened.metrics and not opened.settings.rerank.url:
        with suppress(Exception):
            opened.warm()


def _search_values(
    result: Result, missing: list[tuple[str, str]], empty: str | None, beside: Beside
) -> dict[str, Any]:
    from pincite.search.passages import companion_values, passage_values

    return {
        "query": result.query.text,
        "filters": set_filters(result.query.filters),
        "note": empty,
        "notes": list(result.notes),
        "hits": [passage_values(passage) for passage in result.passages],
        "missing": [{"place": place, "nearest": nearest or None} for place, nearest in missing],
        "corrections": dict(result.corrections),
        "companions": [companion_values(each, chunk) for each, chunk in beside],
        "seconds": dict(result.seconds),
    }


_KEPT = ("citation", "document", "locator", "page", "score", "snippet")
_BESIDE = ("document", "locator", "relation")
SNIPPET_CHARS = 600  # rows of a wide table are cut


def compact_search(values: dict[str, Any]) -> dict[str, Any]:
    """Return of a search what most programs need: of each hit where it is and what it says."""
    hits = [{name: hit[name] for name in _KEPT} for hit in values["hits"]]
    for hit in hits:
        hit["score"] = round(hit["score"], 6)
        if len(hit["snippet"]) > SNIPPET_CHARS:
            hit["snippet"] = hit["snippet"][:SNIPPET_CHARS].rpartition(" ")[0] + " …"
    beside = [{name: each[name] for name in _BESIDE} for each in values["companions"]]
    rest = ("filters", "note", "notes", "missing", "corrections")
    told = {name: values[name] for name in rest if values[name]}
    return {"query": values["query"], "hits": hits, "companions": beside, **told}


def _print_notes(result: Result, missing: list[tuple[str, str]], empty: str | None) -> None:
    """Tell what the query asked for that is not there, on standard error."""
    if empty:
        tell(f"note: {empty}")
    for written, taken in result.corrections.items():
        tell(f"note: no {written!r} in this index; searched for {taken!r}")
    for place, nearest in missing:
        near = f"; the nearest is {nearest}" if nearest else ""
        tell(f"note: there is no place {place} in this index{near}")
    for note in result.notes:
        tell(f"note: {note}")
    if not result.passages and not (len(result.steps[0].table) and result.notes):
        where = "what the filters leave" if set_filters(result.query.filters) else "this index"
        tell(f"nothing in {where} shares a word with that query")


def _print_passage(passage: Passage) -> None:
    say(f"{passage.rank:>2}  ", (passage.citation, "bold cyan"))
    if passage.place.path:
        say("    " + " › ".join(passage.place.path), style="dim")
    _print_snippet(passage)
    say(f"    why: {_why(passage)}", style="dim italic")
    say()


def _print_snippet(passage: Passage) -> None:
    """Print the lines of a snippet that say something, the query's words marked."""
    for line in re.finditer(r"(?m)^[^\S\n]*+\S[^\n]*", passage.snippet):
        parts: list[Part] = ["    "]
        at = line.start()
        for first, last in passage.marks:
            start, end = max(first, at), min(last, line.end())
            if start < end:
                parts += [passage.snippet[at:start], (passage.snippet[start:end], "bold yellow")]
                at = end
        say(*parts, passage.snippet[at : line.end()])


def _why(passage: Passage) -> str:
    features = {name: value for name, value in passage.hit.features.items() if value}
    if passage.is_named:
        return REASONS["place"]
    # The sum of what is shown, so that it adds up to the reader as well.
    digits = 1 if passage.hit.score >= 5 else 2
    shown = {name: round(value, digits) for name, value in features.items()}
    parts = [f"{REASONS.get(name, name)} {value:.{digits}f}" for name, value in shown.items()]
    worth = f", document × {fit:.2f}" if (fit := passage.hit.raw.get("document")) else ""
    return " + ".join(parts) + f" = {sum(shown.values()):.{digits}f}{worth}"


def _print_scores(result: Result) -> None:
    """Print every part of every hit's score, the raw scores, and the time of each stage."""
    hits = [passage.hit for passage in result.passages]
    parts = list(dict.fromkeys(name for hit in hits for name in hit.features))
    raw = list(dict.fromkeys(name for hit in hits for name in hit.raw))
    if "learned" in parts:  # a model reads more than fits on a line: --json has all of it
        from pincite.search.feature_table import NAMES

        raw = [name for name in raw if name not in NAMES]
    rows = [["rank", *parts, "score", *(f"raw {name}" for name in raw), "place"]]
    for passage in result.passages:
        hit = passage.hit
        numbers = [hit.features.get(name) for name in parts]
        measured = [hit.raw.get(name) for name in raw]
        figures = map(_number, [*numbers, hit.score, *measured])
        rows.append([str(passage.rank), *figures, passage.citation])
    print_table(rows, left=[len(rows[0]) - 1])
    times = ", ".join(f"{name} {1000 * s:.1f} ms" for name, s in result.seconds.items())
    say(times, style="dim")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value + 0.0:.3f}"


@command("why-not")
@argument("query", help="What was asked.")
@argument("locator", help="The place that was expected.")
@k_option
@filter_options()
def why_not(call: Call, query: str, locator: str, k: int | None, filters: Filters) -> None:
    """Say at which stage a search loses a place that was expected, and by how much."""
    from pincite.api import Index

    with Index.open(call.index, call.settings) as opened:
        found = opened.why_not(query, locator, k, filters=filters)
    if call.as_json:
        print_json({"query": query, "places": [_why_not_values(each) for each in found]})
        return
    for each in found:
        _print_why_not(each)


def _why_not_values(found: WhyNot) -> dict[str, Any]:
    return {
        "document": found.chunk.span.doc_id,
        "locator": found.chunk.locator,
        "lost_at": found.lost_at or None,
        "reason": found.reason,
        "stages": [asdict(view) for view in found.stages],
    }


def _print_why_not(found: WhyNot) -> None:
    verdict = f"lost at {_stage(found.lost_at)}" if found.lost_at else "found"
    say(f"{found.chunk.locator} in {found.chunk.span.doc_id}: {verdict}", style="bold")
    rows = [["stage", "rank", "score", "needed", "counts"]]
    for view in found.stages:
        rank = "-" if view.rank is None else str(view.rank)
        kept = "yes" if view.is_kept else "no"
        rows.append([view.stage, rank, _number(view.score), _number(view.needed), kept])
    print_table(rows, left=[0, 4])
    say(found.reason)
    say()


def _stage(name: str) -> str:
    """Return what lost a place as one would say it: a name stands for itself, words do not."""
    return name if name.isidentifier() and name not in ("filters", "index") else f"the {name}"


@command("replay", settings=False)
@argument("file", type=PATH, help="What 'pincite search --save' wrote.")
def replay(call: Call, file: Path) -> int:
    """Run a saved search again; say what differs, with exit code 1 if anything does."""
    from pincite.maintain.replay import replay as run_again

    found = run_again(file, call.index)
    then, now = found.generations
    if call.as_json:
        values = {"same": not found.differences, "same_index": found.is_same_index}
        generation = {"then": then, "now": now}
        print_json({**values, "generation": generation, "differences": list(found.differences)})
        return 1 if found.differences else 0
    if not found.is_same_index:
        tell(f"note: the index is not the same (generation {then} then, {now} now)")
    for line in found.differences[:MAX_DIFFERENCES]:
        say(line)
    more = len(found.differences) - MAX_DIFFERENCES
    if more > 0:
        say(f"… and {more} more")
    if not found.differences:
        say("the same, byte for byte")
    return 1 if found.differences else 0

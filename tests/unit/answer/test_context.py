"""The sources of an answer: what fits into a budget, and what comes with it."""

from __future__ import annotations

from collections.abc import Callable

from pincite.answer.asker import TABLE_TOKENS, Context, build_context
from pincite.api import Index
from pincite.model.tables import parse_table
from pincite.read.chunks import estimated_tokens

ROWS = "\n".join(f"| {n} | {n * 3} | Note {n} about berth number {n} |" for n in range(1, 200))
CODE = f"""\
# Harbour Code

## 1.1 Cables

A cable of a berth shall be chosen from Table 1.2.

Exception: A cable of less than 1 m needs no choice.

## 1.2 Sizes

**Table 1.2 Cables for Berths**

| Berth | Copper (mm²) | Notes |
|---|---|---|
{ROWS}

^1^ Only above the water line.

## 1.3 Flags

A flag shall be red. {"It shall be seen from afar. " * 300}
"""
Make = Callable[..., Index]


def context(index: Index, question: str, budget: int, companions: int = 4) -> Context:
    result = index.search(question, 8)
    return build_context(index, result, result.passages, budget=budget, companions=companions)


def test_sources_are_numbered_and_stand_in_the_document(make_index: Make) -> None:
    index = make_index({"code.md": CODE})
    text = index.snapshot.text("code.md")
    for budget in (100, 600, 3000):
        found = context(index, "cable of a berth, flag", budget)
        assert [each.number for each in found.sources] == list(range(1, len(found.sources) + 1))
        assert found.tokens <= budget
        for source in found.sources:
            parts = [text[part.start : part.end] for part in source.parts]
            assert "\n".join(parts) == source.text
            for part, span in zip(parts, source.parts, strict=True):
                assert source.find(part) == span
                assert source.holds(span)


def test_of_a_long_table_the_right_rows_come_with_their_frame(make_index: Make) -> None:
    index = make_index({"code.md": CODE})
    found = context(index, "Table 1.2 berth number 77", 3000)
    source = next(each for each in found.sources if "Berth | Copper" in each.text)
    table = parse_table(source.text)
    assert table is not None
    assert table.columns == ("Berth", "Copper (mm²)", "Notes")
    assert table.rows and len(table.rows) < 150
    assert any(row[0] == "77" for row in table.rows)
    assert "Table 1.2 Cables for Berths" in source.text
    assert "^1^ Only above the water line." in source.text
    assert estimated_tokens(source.text) <= TABLE_TOKENS + 50


def test_a_small_table_is_whole(make_index: Make) -> None:
    rows = "| Code | Meaning |\n|---|---|\n| E-1 | Low |\n| E-2 | High |\n"
    small = f"# Code\n\n**Table 4 Errors**\n\n{rows}"
    index = make_index({"small.md": small})
    (source,) = context(index, "Table 4", 3000).sources
    assert "E-1" in source.text and "E-2" in source.text


def test_what_a_hit_names_comes_along_and_says_why(make_index: Make) -> None:
    other = "# Annex\n\n## 9.1 Ropes\n\nA rope is tied: see section 9.2.\n\n## 9.2 Knots\n\nA knot."
    index = make_index({"annex.md": other})
    result = index.search("how is a rope tied", 1)
    found = build_context(index, result, result.passages, budget=3000, companions=4)
    roles = {source.locator: (source.role, source.evidence) for source in found.sources}
    assert roles["9.1"][0] == "hit"
    assert roles["9.2"][0] == "clause" and "9.2" in roles["9.2"][1]
    alone = build_context(index, result, result.passages, budget=3000, companions=0)
    assert [source.locator for source in alone.sources] == ["9.1"]

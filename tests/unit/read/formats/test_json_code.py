"""JSON of a code: chapters, articles, sections, items and tables; or pages; or one clear error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pincite.model.errors import SourceError
from pincite.read.formats import json as json_pages
from pincite.read.structure.clauses import clause_tree

TABLE = {
    "id": "Table250.122",
    "title": "Minimum Size",
    "column_headers": ["Rating", ["Size", "Copper"]],
    "rows": [["60", "10"], {"Rating": 100, "Size – Copper": None}],
    "footnotes": ["* See 250.4.", {"text": "Note: larger is better."}],
}
SECTION = {
    "section_id": "250.122",
    "title": "Size of Conductors",
    "front_matter": "250.122 Size of Conductors. As follows.",
    "sub_items": [
        {
            "label": "A",
            "title": "General",
            "text": "By table.",
            "items": [{"label": "(1)", "text": "(1) Copper."}, {"label": "2", "text": "Other."}],
        },
        {"label": "(B)", "text": "Increased."},
    ],
    "tables": [TABLE],
    "referenced_tables": ["Table 250.66"],
}
LISTS = {
    "title": "Electrical Code",
    "chapters": [
        {
            "chapter": 2,
            "title": "Wiring",
            "articles": [{"article": 250, "title": "Grounding", "sections": [SECTION]}],
        }
    ],
}
KEYED = {
    "title": "Electrical Code",
    "chapters": {
        "2": {
            "title": "Wiring",
            "articles": {"250": {"title": "Grounding", "subsections": {"250.122": SECTION}}},
        }
    },
}


def locators(value: Any) -> list[str]:
    parsed = json_pages.read(json.dumps(value).encode(), "code.json")
    tree = clause_tree(parsed.text, parsed.blocks, parsed.title)
    assert "".join(parsed.text[c.start : c.own_end] for c in tree) == parsed.text
    return [clause.locator for clause in tree]


@pytest.mark.parametrize("value", [LISTS, KEYED])
def test_levels_items_and_tables(value: Any) -> None:
    assert locators(value) == [
        "",
        "Chapter 2",
        "Article 250",
        "250.122",
        "250.122(A)",
        "250.122(A)(1)",
        "250.122(A)(2)",
        "250.122(B)",
        "Table 250.122",
        "250.122(B)",
    ]


def test_the_words_and_the_table() -> None:
    text = json_pages.read(json.dumps(LISTS).encode(), "code.json").text
    assert text == (
        "# Electrical Code\n\n## Chapter 2 Wiring\n\n### Article 250 Grounding\n\n"
        "#### 250.122 Size of Conductors\n\nAs follows.\n\n(A) General. By table.\n\n"
        "(1) Copper.\n\n(2) Other.\n\n(B) Increased.\n\n**Table 250.122. Minimum Size**\n\n"
        "| Rating | Size – Copper |\n| --- | --- |\n| 60 | 10 |\n| 100 |  |\n\n"
        "\\* See 250.4.\n\nNote: larger is better.\n\nSee Table 250.66.\n"
    )


def test_a_list_of_sections_or_chapters() -> None:
    assert locators([SECTION])[1] == "250.122"
    assert locators(LISTS["chapters"])[1:3] == ["Chapter 2", "Article 250"]


def test_pages_are_still_pages() -> None:
    pages = [{"text": "One.", "page_idx": 4}, {"text": "Two.", "page_idx": 5}]
    parsed = json_pages.read(json.dumps(pages).encode(), "x.json")
    assert (parsed.text, parsed.pages.at(7)) == ("One.\n\nTwo.\n\n", 5)


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1},
        [],
        [1],
        "text",
        None,
        {"sections": [{"number": "1", "tables": [{"rows": [5]}]}]},
        {"sections": [7]},
        {"sections": 7},
        {"sections": [{"number": "1", "tables": 3, "referenced_tables": 4}]},
    ],
)
def test_other_json_is_one_clear_error(value: Any) -> None:
    with pytest.raises(SourceError) as raised:
        json_pages.read(json.dumps(value).encode(), "x.json")
    assert "docs/formats.md" in raised.value.hint or "no text" in str(raised.value)


def test_bottomless_json_is_an_error() -> None:
    inner: Any = {"number": "1", "text": "x"}
    for _ in range(200):
        inner = {"number": "1", "text": "x", "items": [inner]}
    for data in (b"[" * 200_000, json.dumps({"sections": [inner]}).encode()):
        with pytest.raises(SourceError):
            json_pages.read(data, "x.json")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": 1}', "it is no list, and has none of these names"),
        (b"[1]", 'entry 1 has no "page_idx"'),
        (b'[{"text": "x", "page_idx": 0}, {"text": "x"}]', 'entry 2 has no "page_idx"'),
        (b'[{"text": "x", "page_idx": "one"}]', "of entry 1 is no page's number"),
        (b'[{"page_idx": 0}]', 'entry 1 has no "text" that is a string'),
        (b'[{"text": "x"', "x.json is not JSON: "),
    ],
)
def test_what_does_not_fit_is_said_in_words(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError) as told:
        json_pages.read(data, "x.json")
    assert reason in told.value.message and "Error(" not in told.value.message

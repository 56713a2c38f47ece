"""Filters: each field on real documents, the cache, and what is told when nothing is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from pincite.api import Index
from pincite.index.filters import REMEMBERED, RowFilter, audience_of
from pincite.index.opened import Rows
from pincite.model.errors import ConfigError, SourceError, StaleIndex
from pincite.model.settings import SearchSettings, Settings
from pincite.model.types import Filters
from pincite.read.load import access_tags

CODE = """# Harbour Code, {year} Edition

## 1.1 Berths

(a) A berth shall be lit.

Exception: a berth of a rowing boat, {year}.

(b) A berth is lit by a lamp.

## 1.2 Cranes

A crane shall carry a lamp.
"""
GAME = """# Tides: a role-playing game

## Playing the Game

A character rolls a die and adds a modifier to the check. Hit points are lost to damage.

## Game Master Tools

A creature has hit points; the lamp of the lighthouse has an armour class and a saving throw.

## Weather

Rain falls on all: roll a d20 for damage from lightning.
"""
SECRET = "---\ntitle: Plots\naccess: gm, author\n---\n\n# Plots\n\nThe lamp is a trap.\n"
TEXTS = {
    "codes/2021.md": CODE.format(year=2021),
    "codes/2024.md": CODE.format(year=2024),
    "game.md": GAME,
    "plots.md": SECRET,
}
Make = Callable[..., Index]


@pytest.fixture
def index(make_index: Make) -> Index:
    return make_index(TEXTS)


def places(index: Index, query: str, **fields: Any) -> list[tuple[str, str]]:
    found = index.search(query, 20, Filters(**fields)).passages
    return sorted((passage.chunk.span.doc_id, passage.place.locator) for passage in found)


def documents(index: Index, query: str, **fields: Any) -> set[str]:
    return {doc_id for doc_id, _ in places(index, query, **fields)}


def test_documents_by_id_and_pattern(index: Index) -> None:
    assert documents(index, "lamp") == set(TEXTS)
    assert documents(index, "lamp", documents=("game.md",)) == {"game.md"}
    assert documents(index, "lamp", documents=("codes/*", "game.md")) == set(TEXTS) - {"plots.md"}
    assert documents(index, "lamp", documents=("CODES/*",)) == set()


def test_the_edition_in_force(index: Index) -> None:
    undated = {"game.md", "plots.md"}
    assert documents(index, "lamp", as_of="2022-06-30") == {"codes/2021.md", *undated}
    assert documents(index, "lamp", as_of="2024") == {"codes/2024.md", *undated}
    assert documents(index, "lamp", as_of="1999") == undated
    assert places(index, "1.1", as_of="2022", documents=("codes/*",))[0] == ("codes/2021.md", "1.1")


def test_a_kind_inside_a_section_is_found_and_shown(index: Index) -> None:
    found = index.search("rowing boat berth", 5, Filters(kinds=("exception",))).passages
    assert [passage.place.kind for passage in found] == ["exception", "exception"]
    assert {passage.chunk.kind for passage in found} == {"section"}
    assert "rowing boat" in found[0].snippet


def test_the_path_is_words_of_any_heading(index: Index) -> None:
    assert places(index, "lamp", path=("crane",)) == [
        ("codes/2021.md", "1.2"),
        ("codes/2024.md", "1.2"),
    ]


def test_audiences_come_from_the_profile(index: Index) -> None:
    def headings(audience: str) -> set[str]:
        return {place for _, place in places(index, "hit points damage", audience=audience)}

    assert headings("") == {"Playing the Game", "Game Master Tools", "Weather"}
    assert headings("player") == {"Playing the Game", "Weather"}
    assert headings("GM") == {"Game Master Tools", "Weather"}


def test_a_question_may_name_its_readers(make_index: Make) -> None:
    index = make_index(TEXTS, Settings(search=SearchSettings(audience="auto")))
    rows = index.opened.filters
    assert audience_of("As a game master, what are hit points?", rows) == "gm"
    assert audience_of("what does the GM tell a player?", rows) == ""
    assert audience_of("what is a dmz?", rows) == ""
    assert audience_of("what does the installer check?", rows) == ""  # nothing here is for one
    result = index.search("As a game master, what are hit points?")
    assert result.query.filters.audience == "gm"
    assert "Playing the Game" not in {passage.place.locator for passage in result.passages}


def test_access_tags_hide_documents(index: Index) -> None:
    hidden = set(TEXTS) - {"plots.md"}
    assert documents(index, "lamp", access=()) == hidden
    assert documents(index, "lamp", access=("player",)) == hidden
    assert documents(index, "lamp", access=("Author",)) == set(TEXTS)
    assert documents(index, "plots", access=()) == set()
    assert not index.opened.filters.allows_document(Filters(access=()), "plots.md")


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("---\naccess: gm\n---\n", "gm"),
        ("---\r\nAccess: gm\r\n---\r\ntext", "gm"),
        ("---\naccess:\n  - gm\n  - 'author'\ntitle: x\n---\n", "gm,author"),
        ('---\naccess: [gm, "a b"] # not for all\n...\n', "gm,a b"),
        ("# Access\n\naccess: gm\n", None),
        ('---\n"access": gm\n---\n', "gm"),
        ("---\n  access: gm\n---\n", "gm"),
        ("--- # who may read\naccess: gm\n--- # so far\n", "gm"),
        ("\n\ufeff\n---\naccess: gm\n---\n", "gm"),
        ('+++\naccess = ["gm", "author"]\n+++\n', "gm,author"),
        ("---yaml\naccess: gm\n---\n", "gm"),
        ("---\naccess: [ 'gm' , \"the author\" ]\n---\n", "gm,the author"),
        ("--- a rule, then text\naccess: gm\n---\n", None),
        ("text\n---\naccess: gm\n---\n", None),
    ],
)
def test_front_matter_names_who_may_read(text: str, tags: str | None) -> None:
    assert access_tags(text).get("access") == tags


def test_access_for_nobody_is_a_mistake() -> None:
    with pytest.raises(SourceError, match=r"x\.md: access names nobody"):
        access_tags("---\naccess: []\n---\n", "x.md")


@pytest.mark.parametrize(
    "written",
    [
        "access: [gm", "access: [gm,\n  author]", "access: {gm", "access: >\n  gm", "access: 'gm",
        "? access\n: gm", "{title: Plots, access: gm}", "{access: [gm]}", "access: *readers",
        "access:\n  - [gm",
    ],
)  # fmt: skip
def test_access_that_cannot_be_read_is_a_mistake(written: str) -> None:
    with pytest.raises(SourceError, match=r"x\.md: the front matter names access in a way"):
        access_tags(f"---\n{written}\n---\n# Plots\n", "x.md")


def test_a_long_list_of_tags_is_read_at_once() -> None:
    started = time.thread_time()
    for ending in ("]", "{"):
        with suppress(SourceError):
            access_tags(f"---\naccess: [{'a b, ' * 20_000}{ending}\n---\n", "x.md")
    assert time.thread_time() - started < 1.0


@pytest.mark.parametrize("text", ["---\n\naccess: [gm\n", "---\ntitle: x\n\naccess: gm\n# x\n"])
def test_blank_lines_are_no_end_of_front_matter(text: str) -> None:
    with pytest.raises(SourceError, match=r"has no end"):
        access_tags(text, "x.md")


def test_access_in_front_matter_without_an_end_is_a_mistake() -> None:
    with pytest.raises(SourceError, match=r"x\.md: the front matter that names access has no end"):
        access_tags("---\ntitle: Plots\naccess: gm\n\n# Plots\n", "x.md")
    assert access_tags("---\n\nA rule above.\n\nAccess: by the gate.\n") == {}


def test_places_that_are_filtered_are_missing(index: Index) -> None:
    assert index.missing_places("what does 1.2 say?") == []
    only = Filters(documents=("game.md",))
    assert index.missing_places("what does 1.2 say?", only) == [("1.2", "")]
    assert index.search("1.2", 5, only).passages == []


def test_each_filter_is_worked_out_once(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RowFilter(index.snapshot)
    first = rows.masks(Filters(kinds=("exception",)))
    assert rows.masks(Filters(kinds=("exception",))) is first
    assert Rows(index.opened).masks(Filters()) == [None] * len(index.snapshot.segments)
    for number in range(3 * REMEMBERED):
        rows.masks(Filters(path=(str(number),)))
    assert rows.masks.cache_info().currsize == REMEMBERED


def test_threads_see_the_same(index: Index) -> None:
    rows = RowFilter(index.snapshot)
    asked = [Filters(path=(word,)) for word in ("berth", "crane", "weather", "master")] * 20

    def count(filters: Filters) -> int:
        return sum(int(masks.rows.sum()) for masks in rows.masks(filters))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, asked)) == [2, 2, 1, 1] * 20


@pytest.mark.parametrize("pages", [(3, 1), (1, 2, 3), (-1, 4)])
def test_bad_pages_are_an_error(index: Index, pages: Sequence[int]) -> None:
    with pytest.raises(ConfigError) as error:
        index.search("lamp", filters=Filters(pages=tuple(pages)))
    assert "3-10" in error.value.hint


@pytest.mark.parametrize("as_of", ["soon", "2022-13-01", "2022-06-30-1", "-5"])
def test_a_bad_date_is_an_error(index: Index, as_of: str) -> None:
    with pytest.raises(ConfigError) as error:
        index.search("lamp", filters=Filters(as_of=as_of))
    assert "2022-06-30" in error.value.hint


def test_an_unknown_group_is_an_error(index: Index) -> None:
    with pytest.raises(ConfigError, match="bookshelf"):
        index.search("lamp", filters=Filters(groups=("bookshelf:1",)))


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        (Filters(documents=("x*",)), ["no document matches 'x*'", "codes/2021.md"]),
        (Filters(kinds=("excepton",)), ["no kind is called 'excepton'", "kinds: exception"]),
        (Filters(tags=("no",)), ["no tag is called 'no'"]),
        (Filters(traits=("no",)), ["no trait is called 'no'; traits: none"]),
        (Filters(audience="pilot"), ["no audience is called 'pilot'; audiences: gm, player"]),
        (Filters(path=("zzz",)), ["satisfies the filter path"]),
        (Filters(path=("weather",), kinds=("exception",)), ["together: kinds, path"]),
    ],
)
def test_an_empty_filter_is_explained(index: Index, filters: Filters, words: list[str]) -> None:
    told = index.explain_filters(filters)
    assert told is not None
    assert all(word in told for word in words), told


def test_a_filter_that_leaves_something_needs_no_words(index: Index) -> None:
    assert index.explain_filters(Filters()) is None
    assert index.explain_filters(Filters(documents=("codes/*",), path=("berth",))) is None


def test_an_index_without_columns_asks_for_a_rebuild(index: Index) -> None:
    arrays = index.snapshot.segments[0].arrays
    for name in [name for name in arrays if name.startswith("place_")]:
        del arrays[name]
    with pytest.raises(StaleIndex) as error:
        index.search("lamp", filters=Filters(kinds=("section",)))
    assert "--rebuild" in error.value.hint

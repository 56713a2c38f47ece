"""Filters never let a filtered chunk out: checked against a slow, plain reading of each field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from test_index_laws import law, merging, scratch_folder

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.index.filters import group_name
from pincite.model.settings import IngestSettings, SearchSettings, Settings
from pincite.model.tuning import RoutingTuning
from pincite.model.types import Chunk, Document, Enrichment, Filters
from pincite.read.load import parse
from pincite.search.build import build

NAMES = ("a/one.md", "a/two.md", "b/one.md", "b/[3].md", "four.md")
ITEMS = ("(a) box wire.", "(b) fuse box; see 1.1.", "(1) lamp wire.", "box lamp earth.")
HEADINGS = ("## 1.1 Box", "## Game Master Tools", "### For Players", "## 1.2 Fuse")
TAGS = ("limit", "for:gm", "for:player", "Level:1")
SETTINGS = Settings(ingest=IngestSettings(max_chars=60))

OTHERS = ("Exception: lamp in a box.", "\f", "| a | b |\n|-|-|\n| box | 2 |")
lines = st.sampled_from([*ITEMS, *HEADINGS, *OTHERS])
texts = st.lists(lines, min_size=2, max_size=8).map(lambda some: "# Code\n\n" + "\n\n".join(some))
corpora = st.dictionaries(st.sampled_from(NAMES), texts, min_size=1, max_size=4)
facts = st.builds(
    Enrichment,
    content_kind=st.sampled_from(["rule", "spell", "Definition"]),
    tags=st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple),
    traits=st.lists(st.sampled_from(["Fire", "cold"]), max_size=1).map(tuple),
)


def some_of(*values: str) -> st.SearchStrategy[tuple[str, ...]]:
    """Mostly nothing, so that several fields together leave something."""
    return st.just(()) | st.lists(st.sampled_from(values), min_size=1, max_size=2).map(tuple)


filters_strategy = st.builds(
    Filters,
    documents=some_of(*NAMES, "a/*", "*one*", "nothing*"),
    kinds=some_of("section", "clause", "RULE", "spell", "definition", "row", "piece", "exception"),
    tags=some_of("limit", "LIMIT", "level:1", "no"),
    traits=some_of("fire", "COLD"),
    pages=st.sampled_from([(), (), (1, 1), (2, 3), (2,)]),
    path=some_of("box", "MASTER", "1.2", "zzz"),
    audience=st.sampled_from(["", "", "gm", "player", "other"]),
    access=st.none() | st.sampled_from([(), ("red",), ("RED", "blue")]),
    groups=some_of("folder:a", "folder:", "document:four.md", "chapter:a/one.md > 1.1 Box"),
)


@contextmanager
def indexed(
    data: st.DataObject, corpus: Mapping[str, str], settings: Settings = SETTINGS
) -> Iterator[Index]:
    """Open an index of several segments whose places have drawn facts, with a dropped document."""
    with scratch_folder() as folder, merging(data.draw(st.sampled_from([2, 100]))):
        fill(data, corpus, folder, settings)
        with Index.open(folder, settings) as index:
            yield index


def fill(data: st.DataObject, corpus: Mapping[str, str], folder: Path, settings: Settings) -> None:
    with IndexBuilder(folder, settings) as builder:
        for name, text in {**corpus, "gone.md": "# Gone\n\nbox wire fuse lamp"}.items():
            loaded = parse(text.encode(), name, replace(settings.ingest, profile="none"))
            access = data.draw(st.sampled_from(["", "", "Red", "red, green"]))
            meta = {**loaded.document.meta, **({"access": access} if access else {})}
            owners = [chunk.id for chunk in loaded.chunks if chunk.kind not in ("row", "piece")]
            known = {chunk_id: data.draw(facts) for chunk_id in owners}
            builder.put(replace(loaded, document=replace(loaded.document, meta=meta), facts=known))
            if data.draw(st.booleans()):
                builder.flush()
        builder.flush()
        builder.drop("gone.md")
        builder.flush()


def satisfies(chunk: Chunk, facts: Enrichment, document: Document, filters: Filters) -> bool:
    """Return whether a place satisfies every field, each read in the plainest way."""
    doc_id, tags = document.id, [tag.lower() for tag in facts.tags]
    readers = [tag[4:] for tag in tags if tag.startswith("for:")]
    needed = [tag.strip().lower() for tag in document.meta.get("access", "").split(",")]
    have = None if filters.access is None else [tag.lower() for tag in filters.access]
    mine = {group_name(by, doc_id, chunk.path) for by in ("folder", "document", "chapter")}
    checks = [
        not filters.documents
        or any(doc_id == p or fnmatchcase(doc_id, p) for p in filters.documents),
        not filters.kinds
        or any(k.lower() in (chunk.kind, facts.content_kind.lower()) for k in filters.kinds),
        not filters.tags or any(tag.lower() in tags for tag in filters.tags),
        not filters.traits
        or any(t.lower() in [own.lower() for own in facts.traits] for t in filters.traits),
        not filters.pages
        or (chunk.page is not None and filters.pages[0] <= chunk.page <= filters.pages[-1]),
        not filters.path or any(w.lower() in h.lower() for w in filters.path for h in chunk.path),
        not filters.audience or not readers or filters.audience in readers,
        have is None or needed == [""] or any(tag in have for tag in needed),
        not filters.groups or any(name in mine for name in filters.groups),
    ]
    return all(checks)


def reference(index: Index, filters: Filters) -> tuple[set[str], set[str]]:
    """Return the chunks that satisfy the filters, and those that may come out of a search."""
    satisfied: set[str] = set()
    out: set[str] = set()
    for doc_id in index.documents():
        document, chunks = index.snapshot.document(doc_id), index.snapshot.chunks(doc_id)
        known = index.snapshot.facts([chunk.id for chunk in chunks])
        good = [
            chunk for chunk in chunks if satisfies(chunk, facts_of(chunk, known), document, filters)
        ]
        satisfied |= {chunk.id for chunk in good}
        for chunk in chunks:
            if chunk in good or (chunk.searched and any(touches(each, chunk) for each in good)):
                out.add(chunk.id)
    return satisfied, out


def facts_of(chunk: Chunk, known: Mapping[str, Enrichment]) -> Enrichment:
    is_part = chunk.kind in ("row", "piece")
    return known.get(str(chunk.parent) if is_part else chunk.id, Enrichment())


def touches(place: Chunk, chunk: Chunk) -> bool:
    """Return whether own words of a place stand in a chunk."""
    return max(place.span.start, chunk.span.start) < min(place.own_end, chunk.span.end)


QUERIES = ("box wire", "1.1", "fuse lamp earth exception", "Game Master Tools", "gone")


@law(60)
@given(st.data(), corpora, st.lists(filters_strategy, min_size=2, max_size=4))
def test_a_filtered_chunk_never_comes_out(
    data: st.DataObject, corpus: Mapping[str, str], asked: Sequence[Filters]
) -> None:
    with indexed(data, corpus) as index:
        every = [c for doc_id in index.documents() for c in index.snapshot.chunks(doc_id)]
        ids = [chunk.id for chunk in every]
        for filters in asked:
            satisfied, out = reference(index, filters)
            rows = index.opened.filters
            assert rows.satisfied(filters, ids) == satisfied
            assert rows.keep(filters, ids) == out
            for query in QUERIES:
                result = index.search(query, 50, filters)
                assert set(result.ranking.ids) <= out
                # A piece stands for a clause around it; whatever else is shown satisfies by itself.
                shown = [p.place.id for p in result.passages if p.chunk.kind != "piece"]
                assert set(shown) <= satisfied


@law(40)
@given(st.data(), corpora, filters_strategy, st.sampled_from(QUERIES))
def test_filters_take_out_and_change_no_score(
    data: st.DataObject, corpus: Mapping[str, str], filters: Filters, query: str
) -> None:
    with indexed(data, corpus) as index:
        search = SearchSettings(preset="lexical", without="places,names")
        lexical = build(replace(index.settings, search=search), index.opened)
        asked = index.search(query, 1000).query
        # Beyond the window's depth a score has no window part: all candidates are within it here.
        whole = lexical.find(asked, 1000).hits()
        narrow = lexical.find(replace(asked, filters=filters), 1000).hits()
        out = index.opened.filters.keep(filters, [hit.chunk_id for hit in whole])
        if len(whole) <= index.settings.tuning.lexical.window_depth:
            assert narrow == [hit for hit in whole if hit.chunk_id in out]
        else:
            assert {hit.chunk_id for hit in narrow} == out


@law(30)
@given(st.data(), corpora, filters_strategy, st.sampled_from(["folder", "document", "chapter"]))
def test_routing_leaks_nothing_either(
    data: st.DataObject, corpus: Mapping[str, str], filters: Filters, by: str
) -> None:
    settings = SETTINGS.changed({"search.route_by": by, "tuning.routing": RoutingTuning(1, 0.0)})
    with indexed(data, corpus, settings) as index:
        _, out = reference(index, filters)
        for query in QUERIES:
            assert set(index.search(query, 50, filters).ranking.ids) <= out


@law(20)
@given(st.data(), corpora, st.lists(filters_strategy, min_size=1, max_size=3))
def test_fixed_pieces_are_filtered_by_what_stands_in_them(
    data: st.DataObject, corpus: Mapping[str, str], asked: Sequence[Filters]
) -> None:
    settings = Settings(ingest=IngestSettings(chunking="fixed", max_tokens=12))
    with indexed(data, corpus, settings) as index:
        ids = [c.id for doc_id in index.documents() for c in index.snapshot.chunks(doc_id)]
        for filters in asked:
            satisfied, out = reference(index, filters)
            assert index.opened.filters.satisfied(filters, ids) == satisfied
            assert index.opened.filters.keep(filters, ids) == out

"""Laws of an index: only the documents count, not how they got there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.api import Index
from pincite.index import builder
from pincite.index.builder import IndexBuilder
from pincite.model.settings import Settings
from pincite.model.tuning import LexicalTuning, Tuning
from pincite.model.types import Query
from pincite.read.load import find_files, parse
from pincite.store.manifest import current
from pincite.update import ingest_files

WORDS = [
    *("box", "wire", "fuse", "earth", "cable", "relay", "motor"),
    *("lamp", "meter", "switch", "duct", "plug", "rail", "1.1"),
]
# Small windows and a small depth: both have a say already in a few words.
SETTINGS = Settings(tuning=Tuning(lexical=LexicalTuning(window_tokens=4, window_depth=3)))
Texts = Mapping[str, str]
Hits = list[tuple[str, float, Mapping[str, float]]]

lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
headings = st.sampled_from(["## 1.1 Box", "## 1.2 Fuse 1.1", "### Wire"])
texts = st.lists(lines | headings, min_size=1, max_size=6).map(
    lambda parts: "# Code\n\n" + "\n\n".join(parts) + "\n"
)
names = st.sampled_from([f"{letter}.md" for letter in "abcdef"])
corpora = st.dictionaries(names, texts, min_size=1, max_size=6)
queries = st.one_of(
    st.lists(st.sampled_from([*WORDS, "nothing"]), max_size=20).map(" ".join),
    st.permutations(WORDS).map(" ".join),
    st.just("Fuse 1.1"),
)


def law(examples: int) -> settings:
    """Return how a law is tried: always on the same examples, so that a red run stays red."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder in memory where there is one: what is tested here is not the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


@contextmanager
def merging(factor: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "MERGE_FACTOR", factor)
        yield


@contextmanager
def built(*batches: Texts, factor: int = 100) -> Iterator[Index]:
    """Open an index to which the batches were added, each in a generation of its own."""
    with scratch_folder() as folder, merging(factor):
        with IndexBuilder(folder, SETTINGS) as index_builder:
            for batch in batches:
                for name, text in batch.items():
                    index_builder.put(parse(text.encode(), name, SETTINGS.ingest))
                index_builder.flush()
        with Index.open(folder, SETTINGS) as index:
            yield index


def hits(index: Index, query: str, k: int = 100) -> Hits:
    ranking = index.search(query, k).ranking
    return [(hit.chunk_id, hit.score, dict(hit.features)) for hit in ranking.hits]


def all_hits(index: Index, asked: Sequence[str]) -> list[Hits]:
    return [hits(index, query) for query in asked]


@law(25)
@given(st.data(), corpora, st.lists(queries, min_size=3, max_size=5))
def test_neither_order_nor_segments_matter(
    data: st.DataObject, corpus: Texts, asked: list[str]
) -> None:
    shuffled = {name: corpus[name] for name in data.draw(st.permutations(list(corpus)))}
    one_by_one = [{name: text} for name, text in shuffled.items()]
    with built(corpus) as index:
        expected = all_hits(index, asked)
        places = [chunk.id for chunk in index.snapshot.found_by(["1.1", "box"])]
    for batches, factor in [([shuffled], 100), (one_by_one, 100), (one_by_one, 2)]:
        with built(*batches, factor=factor) as index:
            assert all_hits(index, asked) == expected
            assert [chunk.id for chunk in index.snapshot.found_by(["1.1", "box"])] == places


# Few of the first documents change in a step, so that segments are left with dropped rows.
first_steps = st.dictionaries(names, texts, min_size=4, max_size=6)
later_steps = st.lists(
    st.dictionaries(names, texts | st.none(), min_size=1, max_size=2), min_size=1, max_size=4
)
changes = st.builds(lambda first, later: [first, *later], first_steps, later_steps)


@law(50)
@given(changes, st.sampled_from([2, 3, 100]), st.lists(queries, min_size=3, max_size=5))
def test_after_changes_the_index_is_as_built_from_scratch(
    steps: list[dict[str, str | None]], factor: int, asked: list[str]
) -> None:
    final: dict[str, str] = {}
    with scratch_folder() as folder, merging(factor):
        for step in steps:
            with IndexBuilder(folder, SETTINGS) as index_builder:
                for name, text in step.items():
                    if text is None:
                        assert index_builder.drop(name) == (final.pop(name, None) is not None)
                    else:
                        index_builder.put(parse(text.encode(), name, SETTINGS.ingest))
                        final[name] = text
                index_builder.flush()
        if not (folder / "CURRENT").exists():
            assert not final
            return
        with Index.open(folder, SETTINGS) as index:
            assert index.documents() == sorted(final)
            found, size = all_hits(index, asked), len(index.snapshot)
    if final:
        with built(final) as scratch:
            assert (found, size) == (all_hits(scratch, asked), len(scratch.snapshot))
    else:
        assert (found, size) == ([[] for _ in asked], 0)


@law(40)
@given(corpora, queries)
def test_fewer_hits_are_a_prefix_of_more(corpus: Texts, query: str) -> None:
    with built(corpus) as index:
        whole = index.searcher.find(Query(query), 100)
        for k in range(len(whole) + 2):
            some = index.searcher.find(Query(query), k)
            assert some.names() == whole.names()[:k]
            others = ~some.is_named
            assert some.score[others].tolist() == whole.score[:k][others].tolist()


@law(30)
@given(corpora, queries)
def test_features_add_up_to_the_score(corpus: Texts, query: str) -> None:
    with built(corpus) as index:
        for _, score, features in hits(index, query):
            assert sum(features.values()) == pytest.approx(score, abs=1e-9)


@law(15)
@given(corpora)
def test_reading_the_same_files_again_changes_nothing(corpus: Texts) -> None:
    with scratch_folder() as home:
        sources, folder = home / "sources", home / "index"
        sources.mkdir()
        for doc_id, text in corpus.items():
            (sources / doc_id).write_text(text)
        first = [each.status for each in ingest_files(find_files([sources]), folder, prune=True)]
        before = current(folder)
        again = [each.status for each in ingest_files(find_files([sources]), folder, prune=True)]
        assert first == ["added"] * len(corpus)
        assert again == ["unchanged"] * len(corpus)
        assert current(folder) == before


@law(30)
@given(corpora)
def test_stored_chunks_join_to_the_text(corpus: Texts) -> None:
    with built(corpus) as index:
        seen: set[str] = set()
        for doc_id in index.documents():
            document = index.snapshot.document(doc_id)
            chunks = index.snapshot.chunks(doc_id)
            assert document.text == corpus[doc_id]
            for chunk in chunks:
                assert document.text[chunk.span.start : chunk.span.end] == chunk.text
                assert chunk.id not in seen
                seen.add(chunk.id)
            nodes = [chunk for chunk in chunks if chunk.kind != "piece"]
            own = (document.text[node.span.start : node.own_end] for node in nodes)
            assert "".join(own) == document.text
            searched = sorted(chunk.span for chunk in chunks if chunk.searched)
            for left, right in pairwise(searched):
                assert left.end <= right.start


@law(6)
@given(corpora, corpora, queries)
def test_a_reader_keeps_the_generation_it_opened(old: Texts, new: Texts, query: str) -> None:
    with built(old) as reader:
        expected = hits(reader, query)
        folder = reader.snapshot.folder
        for text in (*new.values(), *new.values()):
            with IndexBuilder(folder, SETTINGS) as index_builder:
                for doc_id in index_builder.documents():
                    index_builder.drop(doc_id)
                index_builder.put(parse(text.encode(), "z.md", SETTINGS.ingest))
                index_builder.flush()
        assert hits(reader, query) == expected
        assert reader.documents() == sorted(old)
        with Index.open(folder, SETTINGS) as fresh:
            assert fresh.documents() == ["z.md"]

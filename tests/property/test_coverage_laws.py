"""Re-cutting documents never spoils judgements: some chunk always covers a judged place."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pincite.measure.coverage import covering, shares_half
from pincite.measure.questions import JudgedPlace, Question, QuestionSet, load, question, save
from pincite.model.types import Span

LENGTH = 60


def spans(pairs: list[tuple[int, int]]) -> list[Span]:
    return [Span("d", start, end) for start, end in pairs]


cuts = st.sets(st.integers(1, LENGTH - 1)).map(lambda found: sorted({0, LENGTH, *found}))
place = st.tuples(st.integers(0, LENGTH - 1), st.integers(1, LENGTH)).filter(lambda p: p[0] < p[1])
pieces = st.lists(place, min_size=1, max_size=8).map(spans)


@given(cuts=cuts, where=place)
def test_however_a_document_is_cut_some_chunk_has_half_of_the_place(
    cuts: list[int], where: tuple[int, int]
) -> None:
    """Where chunks join to the whole text, nobody needs the way out by the largest share."""
    chunks = spans(list(pairwise(cuts)))
    spot = Span("d", *where)
    assert any(shares_half(chunk, spot) for chunk in chunks)


@given(chunks=pieces, spots=st.lists(place, min_size=1, max_size=3).map(spans))
def test_a_place_that_is_touched_is_covered(chunks: list[Span], spots: list[Span]) -> None:
    found = covering(spots, chunks)
    is_touched = any(chunk.overlap(spot) for chunk in chunks for spot in spots)
    assert bool(found) == is_touched
    for at, chunk in enumerate(chunks):
        shared = [chunk.overlap(spot) for spot in spots]
        if not any(shared):
            assert at not in found
        for spot, overlap in zip(spots, shared, strict=True):
            if overlap in (len(chunk), len(spot)):  # inside it, or around it
                assert at in found


@given(chunks=pieces, where=place, at=st.integers(0, 50))
def test_coverage_does_not_depend_on_order(
    chunks: list[Span], where: tuple[int, int], at: int
) -> None:
    spot = [Span("d", *where)]
    turned = chunks[at % len(chunks) :] + chunks[: at % len(chunks)]
    shares = any(shares_half(chunk, spot[0]) for chunk in chunks)
    if shares:
        assert {chunks[i] for i in covering(spot, chunks)} == {
            turned[i] for i in covering(spot, turned)
        }


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
named = st.builds(
    JudgedPlace,
    document=words,
    edition=st.sampled_from(["", "2024"]),
    locator=words,
    grade=st.integers(1, 3),
)
exact = st.builds(JudgedPlace, document=words, start=st.integers(0, 9), end=st.integers(10, 99))
cells = st.builds(JudgedPlace, table=words, row=words, column=st.one_of(st.just(""), words))
pages = st.builds(JudgedPlace, document=words, page=st.integers(0, 999))
places = st.one_of(named, exact, cells, pages, st.builds(JudgedPlace, section=words))
needs = st.lists(st.lists(places, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple)
questions = st.builds(
    Question,
    id=words,
    text=words.filter(str.strip),
    needs=needs,
    answer=st.one_of(st.just(""), words),
    labels=st.dictionaries(st.sampled_from(["kind", "domain", "language"]), words),
    synthetic=st.booleans(),
)


@given(made=st.lists(questions, unique_by=lambda each: each.id, max_size=4))
def test_what_is_written_reads_back_the_same(
    made: list[Question], tmp_path_factory: object
) -> None:
    for each in made:
        assert question(each.plain(), "q") == each
    kept = QuestionSet("name", made)
    assert kept.hash == QuestionSet("other", made[::-1]).hash
    folder = tmp_path_factory.mktemp("set")  # type: ignore[attr-defined]
    recorded = kept.recorded("first", by="me", questions=[each.id for each in made])
    save(recorded, folder / "set.jsonl")
    read = load(folder / "set.jsonl")
    assert (read.name, read.version, read.changes) == ("name", 1, recorded.changes)
    assert list(read.questions) == made and read.is_recorded

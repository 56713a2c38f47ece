"""What one may not see has no influence: a view equals an index that never had the rest."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.index.opened import OpenIndex
from pincite.model.errors import PinciteError
from pincite.model.settings import Settings
from pincite.model.tuning import RoutingTuning
from pincite.model.types import Filters
from pincite.read.load import parse
from pincite.update import embed_index

WORDS = ["fuse", "fuses", "fusing", "fused", "cable", "cables", "cabling", "relay", "1.1", "AC"]
TYPOS = ["fusin", "cablin", "fusess", "relays", "rellay", "cabels"]
LINES = st.lists(st.sampled_from([*WORDS, *TYPOS[:1]]), min_size=1, max_size=9).map(" ".join)
BLOCKS = LINES | st.sampled_from(
    [
        "## 1.1 Fuses",
        "## 1.2 Cabling",
        "## Relay (AC)",
        "See 1.1 and Table 3.",
        "Exception: no cable is a relay.",
        '"Relay" means a fused cable.',
        "| Fuse | Cable |\n|---|---|\n| 1.1 | relay |",
    ]
)
TEXTS = st.lists(BLOCKS, min_size=1, max_size=6).map(lambda parts: "\n\n".join(parts) + "\n")
NAMES = st.sampled_from(["a/one.md", "a/two.md", "b/one.md", "b/two.md", "c.md"])
ACCESS = st.sampled_from(["", "", "red", "blue", "red, blue"])
CORPORA = st.dictionaries(NAMES, st.tuples(TEXTS, ACCESS), min_size=2, max_size=5)
NAMED = ["Dock Manual", "Quay Code", "2021"]  # titles of some documents
ASKED = [*WORDS, *TYPOS, "1.2", "Table 3", *NAMED]
QUERIES = st.lists(st.sampled_from(ASKED), min_size=1, max_size=5)
TAGS = st.sampled_from([(), ("red",), ("BLUE",), ("green",), ("red", "blue")])
PLACES = st.sampled_from(["1.1", "1.2", "Relay", "Table 3", "nowhere"])
SETTINGS = [
    Settings(),
    Settings().changed({"search.route_by": "folder", "tuning.routing": RoutingTuning(1, 0.1)}),
    Settings().changed({"search.route_by": "chapter", "tuning.routing": RoutingTuning(2, 0.0)}),
]


def text_of(text: str, access: str) -> str:
    front = f"---\naccess: {access}\n---\n\n" if access else ""
    title = ("Code", "Quay Code, 2021 Edition", "Dock Manual")[len(text) % 3]
    return f"{front}# {title}\n\n{text}"


@contextmanager
def built(corpus: Mapping[str, tuple[str, str]], *, split: bool) -> Iterator[Path]:
    memory = Path("/dev/shm")
    base = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        with IndexBuilder(folder, Settings()) as builder:
            for doc_id, (text, access) in corpus.items():
                written = text_of(text, access).encode()
                builder.put(parse(written, doc_id, Settings().ingest))
                if split:
                    builder.flush()
            builder.flush()
        yield folder


def told(work: Callable[[], Any]) -> Any:
    """Return what comes out, or the words of the error."""
    try:
        return work()
    except PinciteError as error:
        return type(error).__name__, error.message, error.hint


def everything(index: Index, query: str, place: str, filters: Filters) -> dict[str, Any]:
    """Return all that a reader can learn from an index."""
    result = index.search(query, 10, filters)
    return {
        "hits": [(asdict(p.hit), p.citation, p.snippet, p.marks) for p in result.passages],
        "steps": [[(h.chunk_id, h.score) for h in step.ranking.hits] for step in result.steps],
        "notes": result.ranking.notes,
        "corrections": result.corrections,
        "companions": [(asdict(c), chunk.id) for c, chunk in index.companions(result)],
        "missing": index.missing_places(query, filters),
        "filters": told(lambda: index.explain_filters(filters)),
        "documents": index.documents(),
        "headers": [(name, title) for name, title, _ in sorted(index.snapshot.headers())],
        "size": len(index.snapshot),
        "show": told(lambda: [c.id for c in index.show(place)]),
        "show in": told(lambda: [c.id for c in index.show(place, "a/one.md")]),
        "cells": told(lambda: [str(c) for c in index.cells(place, "fuse")]),
        "why not": told(lambda: [asdict(w) for w in index.why_not(query, place, 3)]),
        "similar": told(
            lambda: [(c.id, cosine) for p in index.show(place) for c, cosine in index.similar(p)]
        ),
    }


def check(
    corpus: Mapping[str, tuple[str, str]],
    tags: tuple[str, ...],
    asked: list[tuple[str, str]],
    chosen: Settings,
    *,
    split: bool,
    vectors: bool = False,
) -> int:
    """Compare a view with an index of what it shows; return how many documents it hides."""
    mine = {tag.lower() for tag in tags}
    seen = {
        name: (text, access)
        for name, (text, access) in corpus.items()
        if not access or mine & {tag.strip() for tag in access.split(",")}
    }
    with built(corpus, split=split) as whole, built(seen, split=split) as part:
        for folder in (whole, part) if vectors and seen else ():
            list(embed_index(folder))
        # One who sees nothing looks at an index in which there is nothing.
        with Index.open(whole, chosen) as base:
            view = Index(OpenIndex(base.snapshot).seen_by(tags), chosen)
            if not seen:
                assert view.documents() == [] and len(view.snapshot) == 0
                assert all(view.search(q, 5).passages == [] for q, _ in asked)
                return len(corpus)
            with Index.open(part, chosen) as alone:
                for query, place in asked:
                    for filters in (Filters(), Filters(documents=("b/*",)), Filters(tags=("x",))):
                        expected = everything(alone, query, place, filters)
                        assert everything(view, query, place, filters) == expected
    return len(corpus) - len(seen)


def law(examples: int) -> settings:
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # an example takes a while: shrinking would take minutes
        suppress_health_check=list(HealthCheck),
    )


@law(40)
@given(
    CORPORA,
    TAGS,
    st.lists(st.tuples(QUERIES.map(" ".join), PLACES), min_size=2, max_size=4),
    st.sampled_from(SETTINGS),
    st.booleans(),
)
def test_a_view_is_an_index_that_never_had_the_rest(
    corpus: Mapping[str, tuple[str, str]],
    tags: tuple[str, ...],
    asked: list[tuple[str, str]],
    chosen: Settings,
    split: bool,
) -> None:
    check(corpus, tags, asked, chosen, split=split)


@law(6)
@given(CORPORA, TAGS, st.lists(st.tuples(QUERIES.map(" ".join), PLACES), min_size=2, max_size=3))
def test_with_vectors_too(
    corpus: Mapping[str, tuple[str, str]],
    tags: tuple[str, ...],
    asked: list[tuple[str, str]],
) -> None:
    check(corpus, tags, asked, Settings(), split=True, vectors=True)


def test_no_form_of_a_word_comes_from_a_hidden_document() -> None:
    """The index knows the stem from another document; the form is known from the hidden one."""
    corpus = {
        "open.md": ("Use a fireball against trolls.", ""),
        "secret.md": ("Nobody is fireballing here.", "red"),
    }
    with built(corpus, split=False) as folder, Index.open(folder) as index:
        assert index.search("fierballing").corrections == {"fierballing": "fireballing"}
        view = Index(index.opened.seen_by([]), Settings())
        assert "fireballing" not in view.search("fierballing").corrections.values()
        red = Index(index.opened.seen_by(["Red"]), Settings())
        assert red.opened is index.opened  # who sees all needs no view


def test_a_view_survives_closing_itself() -> None:
    corpus = {"open.md": ("A fuse.", ""), "secret.md": ("A relay.", "red")}
    with built(corpus, split=False) as folder, Index.open(folder) as index:
        view = Index(index.opened.seen_by([]), replace(Settings()))
        view.close()
        assert [p.chunk.span.doc_id for p in index.search("relay").passages] == ["secret.md"]
        with pytest.raises(PinciteError):
            view.show("secret")

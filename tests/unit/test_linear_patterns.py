"""Patterns take time in proportion to what they read, whatever that is."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz.cases.own_patterns import KNOWN, MOST_GROWTH, Own, attacks, growth, own_patterns, slow

from pincite.api import Index
from pincite.model.locators import mentions
from pincite.model.settings import Settings
from pincite.read.load import parse
from pincite.read.pdf.tables.geometry import is_number
from pincite.read.references.citations import citations, french_citations
from pincite.update import ingest_files

PARTS = 24
REPEATED = ("(a) ", "(a)", "(a), ", "(a) or ", "1-2 ", "section (a) ", "1.1(a) ", "(a) of this ")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_twice_the_text_takes_twice_the_time(part: int) -> None:
    """Every pattern of the package on what its own parts suggest, ever longer.

    Those that are quadratic and see texts of a bounded length alone are listed with the reason.
    """
    found = {own.name: slow(own)[:3] for own in own_patterns()[part::PARTS]}
    assert {name: each for name, each in found.items() if each and name not in KNOWN} == {}


@pytest.mark.parametrize(
    ("written", "pump", "is_slow"),
    [(r"(?:(?:a ?){0,7}){0,9}!", "a ", True), (r" +$", " ", True), (r"a+", "a", False)],
)
def test_a_pattern_that_is_slow_is_found(written: str, pump: str, is_slow: bool) -> None:
    own = Own(written, re.compile(written), searches=True)
    assert pump in [each for _, each in attacks(own.pattern)]
    assert (growth(own, "", pump)[0] > MOST_GROWTH) is is_slow


@pytest.mark.parametrize("repeated", REPEATED)
@pytest.mark.parametrize("read", [citations, french_citations, mentions])
def test_repeated_labels_are_read_at_once(repeated: str, read: Callable[..., object]) -> None:
    text = repeated * (4000 // len(repeated))
    started = time.thread_time()
    list(read(text) if read is mentions else read(text, 0, len(text)))  # type: ignore[call-overload]
    assert time.thread_time() - started < 2.0


def _numbered(size: int) -> str:
    return " ".join(f"({n})" for n in range(1, size // 5))


WRITTEN: dict[str, Callable[[int], str]] = {
    **{each: lambda size, each=each: each * (size // len(each)) for each in REPEATED},  # type: ignore[misc]
    "(1) (2) …": _numbered,
    "[a](": lambda size: "[a](" * (size // 4),
    "| a ": lambda size: "| a " * (size // 4),
}


def _growth(work: Callable[[str], object], write: Callable[[int], str], size: int) -> float:
    """Return how much longer four times the text takes; 4 is linear, 16 quadratic."""

    def seconds(text: str) -> float:
        started = time.thread_time()
        work(text)
        return time.thread_time() - started

    work(write(64))
    few, many = (min(seconds(write(n)) for _ in range(3)) for n in (size, 4 * size))
    return many / max(few, 0.02)


@pytest.mark.parametrize("written", WRITTEN)
def test_a_document_of_four_times_the_length_takes_four_times_as_long(written: str) -> None:
    chosen = Settings().ingest

    def read(text: str) -> object:
        return parse(f"# Rules\n\n## 1 Rods\n\n{text}\n".encode(), "rules.md", chosen)

    assert _growth(read, WRITTEN[written], 4000) < 9


@pytest.mark.parametrize("written", WRITTEN)
def test_so_does_a_question(written: str, tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("# Rules\n\n## 1 Rods\n\n(a) Two rods, (b) three.\n")
    plain = Settings().changed({"embedding.model": "none"})
    list(ingest_files([(tmp_path / "rules.md", "rules.md")], tmp_path / "index", plain))
    with Index.open(tmp_path / "index", plain) as index:
        assert _growth(lambda text: index.search(text, 5), WRITTEN[written], 2000) < 9


def test_a_cell_of_many_notes_is_read_at_once() -> None:
    started = time.thread_time()
    assert is_number("1a)(2)%") and not is_number("1" + "a)" * 2000 + "!")
    assert time.thread_time() - started < 0.5

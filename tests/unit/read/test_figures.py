"""Figures as places: found, named and shown, though not read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.api import Index
from pincite.read.structure.outline import figure_caption

RULES = """# Pumps

## 3 Wiring

The pump is wired as Figure 3.2 says.

![](wires.png)
*Figure 3.2 — Wires of the pump. (a) left, (b) right.*

Red is live. See Figure 3.9 for more.

## 4 Colours

Figure 4 shows nothing: it is words.
"""


@pytest.mark.parametrize(
    ("line", "name", "title"),
    [
        ("Figure 3.2 — The pump", "Figure 3.2", "The pump"),
        ("Fig. 4: Wires", "Figure 4", "Wires"),
        ("FIGURE 2-1. WIRES", "Figure 2-1", "WIRES"),
        ("**Figura 7.** Schema", "Figura 7", "Schema"),
        ("Abb. 5 Schaltung", "Abbildung 5", "Schaltung"),
        ("Chart 3: Revenue 2020", "Chart 3", "Revenue 2020"),
        ("Figure 12", "Figure 12", ""),
    ],
)
def test_captions(line: str, name: str, title: str) -> None:
    assert figure_caption(line) == (name, title)


@pytest.mark.parametrize(
    "line",
    [
        "Figure 3 shows a pump.",
        "Figure 3. is wrong",
        "Figure 3: Pumps ........ 7",
        "Figures 3 and 4",
        "figure out 3",
        "Figure 3(a) is left.",
        "Figure it out",
    ],
)
def test_what_is_no_caption(line: str) -> None:
    assert figure_caption(line) is None


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index({"pumps.md": RULES})


def test_a_figure_is_a_place_that_a_question_names(index: Index) -> None:
    first = index.search("What does figure 3.2 show?")[0]
    assert (first.place.kind, first.place.locator) == ("figure", "Figure 3.2")
    assert first.place.title == "Wires of the pump"
    assert first.citation == "Pumps, Figure 3.2" and first.is_named
    assert index.search("fig. 3.2")[0].place.locator == "Figure 3.2"
    places = [
        chunk.locator for chunk in index.snapshot.chunks("pumps.md") if chunk.kind == "figure"
    ]
    assert places == ["Figure 3.2"]


def test_words_below_a_figure_belong_to_the_section(index: Index) -> None:
    first = index.search("Red is live")[0]
    assert first.place.locator == "3"


def test_captions_of_a_page_are_figures(make_index: Callable[..., Index]) -> None:
    page = (
        "<h1>Pumps</h1><h2>1 Wires</h2><p>Words.</p><figure><img alt='Wires'>"
        "<figcaption>Figure 1. Wires</figcaption></figure><p>More.</p>"
        "<p><img alt='Fig. 2: Valve'></p><p>Last.</p>"
    )
    index = make_index({"pumps.html": page})
    figures = [c for c in index.snapshot.chunks("pumps.html") if c.kind == "figure"]
    assert [(c.locator, c.title) for c in figures] == [("Figure 1", "Wires"), ("Figure 2", "Valve")]


def test_an_entry_of_a_list_of_figures_is_no_figure(make_index: Callable[..., Index]) -> None:
    text = (
        "# Pumps\n\nFigure 1: Wires 12\n\n## 1 Wires\n\nWords.\n\nFigure 1: Wires\n\nMore words.\n"
    )
    index = make_index({"pumps.md": text})
    [figure] = [chunk for chunk in index.snapshot.chunks("pumps.md") if chunk.kind == "figure"]
    assert figure.span.start == text.rindex("Figure 1")
    assert figure.locator == "Figure 1"

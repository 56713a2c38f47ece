"""What people see of Markdown, and where its words stand then."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.markup import plain, read_markup, shown_stretch


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "*Deficiency* means, *e.g.,* **bold** ***both*** _x_",
            "Deficiency means, e.g., bold both x",
        ),
        (
            "`code` and ``two`` but 2*3*4, a * b, *.txt, *.md",
            "code and two but 2*3*4, a * b, *.txt, *.md",
        ),
        ("snake_case_name, __init__, __two words__", "snake_case_name, __init__, two words"),
        ("`this' and `that'", "`this' and `that'"),
        ("[Part 4](four_a_b.md) and ![A plan](p.png)", "Part 4 and A plan"),
        ("words[^1] and 10^3^ m", "words¹ and 10³ m"),
        (r"\*see \[1\] \_x\_", "*see [1] _x_"),
        ("AT&amp;T &lt;5 &nosuch;", "AT&T <5 &nosuch;"),
        ("<b>bold</b> a<br>b, <name> and <b> alone", "bold a b, <name> and <b> alone"),
        ("```sh\nls *a* `b`\n```\nThen *so*.", "ls *a* `b`\nThen so."),
        (
            "## A *title* {#a} ##\n* one\n+ *two*\n> said\n***\nend",
            "A title\n- one\n- two\nsaid\nend",
        ),
        ("| *a* | b\\|c |\n|---|---|\n| **x** | `y` |", "| a | b\\|c |\n|---|---|\n| x | y |"),
        ("**one** and *over\ntwo lines*", "one and over\ntwo lines"),
        ("*not closed in\n\nits paragraph*", "*not closed in\n\nits paragraph*"),
        ("#### **Wand", "Wand"),
        ("**Trait.*** Words", "Trait. Words"),
        ("*Armour, rare   *", "Armour, rare   "),
        ("~~gone~~ ~5 ~ 6", "gone ~5 ~ 6"),
    ],
)
def test_signs_are_not_shown_and_nothing_else_is_lost(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_stretch_between_two_signs_shows_neither() -> None:
    text = "Say *one long emphasis here* now."
    markup = read_markup(text)
    assert markup.shown(0, 12).text == "Say one lon"
    assert markup.shown(10, len(text)).text == "ong emphasis here now."
    shown = markup.shown()
    assert shown.text[shown.at(text.index("long")) :].startswith("long")
    assert [text[s.start : s.end] for s in markup.styles if s.style == "em"] == [
        "one long emphasis here"
    ]


SIGNS = st.text(alphabet="ab *_`\\[](^)~<>&;#|\n-+=1é", max_size=80)


@given(SIGNS, st.integers(0, 80), st.integers(0, 80))
def test_stretches_join_and_offsets_rise(text: str, one: int, other: int) -> None:
    low, high = sorted((min(one, len(text)), min(other, len(text))))
    markup = read_markup(text)
    assert all(a.end <= b.start for a, b in zip(markup.signs, markup.signs[1:], strict=False))
    parts = [markup.shown(*span).text for span in ((0, low), (low, high), (high, len(text)))]
    letters = [c for c in "".join(parts) if c in "abé"]
    assert letters == [c for c in plain(text) if c in "abé"]
    shown = markup.shown(low, high)
    places = [shown.at(place) for place in range(low, high + 1)]
    stretch = shown_stretch(text, low, high)
    assert stretch.text == shown.text
    assert [stretch.at(place) for place in range(low, high + 1)] == places
    assert places == sorted(places) and all(0 <= at <= len(shown.text) for at in places)


def test_reading_signs_is_linear() -> None:
    for text in (
        "*a " * 30_000,
        "`" * 30_000,
        "[" * 30_000,
        "**" * 30_000,
        "<b>" * 20_000,
        "_a*" * 20_000,
    ):
        start = time.process_time()
        plain(text)
        assert time.process_time() - start < 5

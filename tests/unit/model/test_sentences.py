"""Cutting a text into what one would quote."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.sentences import ends_before, sentence_ends, units


def cut(text: str) -> list[tuple[str, str]]:
    return [(unit.kind, text[unit.start : unit.end]) for unit in units(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        (
            "See Sec. 4, e.g. by J. Smith, No. 5. Then go.",
            ["See Sec. 4, e.g. by J. Smith, No. 5.", "Then go."],
        ),
        ("A rod of 2.5 m\nis long. Yes", ["A rod of 2.5 m\nis long.", "Yes"]),
        (
            'It shall read: "Danger. No swimming." It is red.',
            ['It shall read: "Danger. No swimming."', "It is red."],
        ),
        ("(B) Kitchens. Two circuits. More.", ["(B) Kitchens. Two circuits.", "More."]),
        ("All of:\n(1) one;\n(2) two.", ["All of:", "(1) one;", "(2) two."]),
        (
            "**Level** 3\n**Range** 150 feet\nIt burns.",
            ["**Level** 3", "**Range** 150 feet\nIt burns."],
        ),
        ("Include:\nA. one; or\nB. Two.", ["Include:", "A. one; or", "B. Two."]),
        ("Apart by\n2.5 m or more.", ["Apart by\n2.5 m or more."]),
        ("Is it so? It is! Done…", ["Is it so?", "It is!", "Done…"]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [words for _, words in cut(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "Under 26 U.S.C. 501 it is free.| The rest is not.",
        "He is J. R. Smith, a.k.a. Jim, of Acme Inc. of Ohio.| He left.",
        "It was sold to Acme Corp.| The buyer paid.",
        "Roe v. Wade, No. 70, is cited e.g. on p. 5, i.e. at Fig. 3.| See Lee et al. (2020) too.",
        "It opens at 10 a.m. on Jan. 5.| It closes at 5 p.m.| The rest is night.",
        "See 97.113(a).| See 2.5 m.| It is so.",
        "Is it?| No.| It is not.| No. 5 is.",
        "Wait ... there is more.| And more ...| Then it ended.",
        "“It is red.”| “It is blue.”| (It is so.)| Done.",
        "The rule (see Part 4. It applies to all.) is old.| It stays.",
        "See Schedule A.| Purchaser shall pay.",
        "Fees of approx. five percent, incl. taxes, max. 3.| Nothing else.",
        "The text ends here.^1^| Another begins.[2]| A third.",
        "We use the app.| Users like it.| The shell is bash.| bash reads files.",
        "A. Fees are due.| B. They are paid.",
        "1. Ohio and Texas.| 2. Iowa.| 3. Maine and Utah.",
        "Section 4.2. Fees are due.| They are paid.",
        "z. B. nach Abs. 3 Nr. 5 d. h. am 3. Oktober.| Der Rest gilt.",
        "Selon l'art. 5, c.-à-d. p. ex. le n. 3, oui.| La suite vaut.",
        "Ai sensi dell'art. 5, n. 3, lett. b), ecc. e oltre.| Il resto vale.",
        "Según el art. 5, p. ej. el núm. 3, sí.| ¿Y qué?| El resto vale.",
        "これは文です。|これも文です。",
    ],
)
def test_what_ends_a_sentence(text: str) -> None:
    """A bar stands where each sentence ends; all others are no ends."""
    ends, bare = [], ""
    for part in text.split("|"):
        bare += part
        ends.append(len(bare))
    assert list(sentence_ends(bare)) == ends[:-1]


def test_a_stream_asks_with_the_word_that_follows() -> None:
    assert not ends_before("It is sold by Acme Inc.", " of")
    assert ends_before("It is sold by Acme Inc.", " The")
    assert not ends_before("no stop", " The")


def test_tables_and_headings() -> None:
    text = "# Sizes\n\n**Table 1 Sizes**\n\n| A | B |\n|---|---|\n| x | 3 |\n| y | 4 |\n\n^1^ No."
    assert cut(text) == [
        ("heading", "# Sizes"),
        ("heading", "**Table 1 Sizes**"),
        ("header", "| A | B |"),
        ("row", "| x | 3 |"),
        ("row", "| y | 4 |"),
        ("sentence", "^1^ No."),
    ]


@given(st.text(alphabet='ab. \n|-#*(1)"?é', max_size=120))
def test_every_word_is_in_one_unit_and_nothing_is_changed(text: str) -> None:
    found = units(text)
    assert all(one.end <= other.start for one, other in pairwise(found))
    held = "".join(text[unit.start : unit.end] for unit in found)
    letters = [c for c in text if c.isalnum()]
    assert [c for c in held if c.isalnum()] == letters
    assert all(text[u.start : u.end].strip() == text[u.start : u.end] for u in found)


def test_cutting_is_linear() -> None:
    for text in ("a. " * 30_000, '"' * 30_000, "(a) b. " * 10_000, "**" * 20_000, "| " * 20_000):
        start = time.process_time()
        units(text)
        assert time.process_time() - start < 5

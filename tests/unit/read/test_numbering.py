"""The grammars of labels in front of headings and items."""

from __future__ import annotations

import pytest

from pincite.model.locators import heading_label, plain_words
from pincite.read.structure.numbering import is_wrapped, marks


@pytest.mark.parametrize(
    ("line", "label", "canonical", "title"),
    [
        ("§ 12.40 Quiet hours.", "§ 12.40", "12.40", "Quiet hours"),
        ("## § 12.40 Quiet hours.", "§ 12.40", "12.40", "Quiet hours"),
        ("§§ 12.50–12.54 [Reserved]", "§§ 12.50–12.54", "12.50–12.54", "[Reserved]"),
        ("Subpart B—Rules of the House", "Subpart B", "Subpart B", "Rules of the House"),
        ("Chapter 3: Spells", "Chapter 3", "Chapter 3", "Spells"),
        ("CHAPTER IV", "CHAPTER IV", "Chapter IV", ""),
        ("Article 250 Grounding", "Article 250", "Article 250", "Grounding"),
        ("Article 5. Name", "Article 5", "Article 5", "Name"),
        ("Section 2.3 Quorum", "Section 2.3", "2.3", "Quorum"),
        ("4.2.1 Title", "4.2.1", "4.2.1", "Title"),
        ("4.2.1. Title", "4.2.1", "4.2.1", "Title"),
        ("52.202-1 Definitions.", "52.202-1", "52.202-1", "Definitions"),
        ("1.102-2(a) Aims", "1.102-2(a)", "1.102-2(a)", "Aims"),
        ("3.2 - Purpose", "3.2", "3.2", "Purpose"),
        ("314.23(A) Wood", "314.23(A)", "314.23(A)", "Wood"),
        ("B.2 Test methods", "B.2", "B.2", "Test methods"),
        ("Appendix 1 to Part 12—Places", "Appendix 1", "Appendix 1", "Places"),
        ("Part 12—Houses (1st edition)", "Part 12", "Part 12", "Houses (1st edition)"),
        ("Annex C", "Annex C", "Annex C", ""),
        ("Rule 5", "Rule 5", "Rule 5", ""),
        ("Chapitre II Dispositions", "Chapitre II", "Chapitre II", "Dispositions"),
        ("Article 1er Objet", "Article 1er", "Article 1er", "Objet"),
        ("TITRE I", "TITRE I", "Titre I", ""),
        ("Annexe A — Formulaires", "Annexe A", "Annexe A", "Formulaires"),
        ("Articolo 12-bis", "Articolo 12-bis", "Articolo 12-bis", ""),
        ("Capo II - Nomine", "Capo II", "Capo II", "Nomine"),
        ("Allegato 3", "Allegato 3", "Allegato 3", ""),
        ("Sezione 2 Ambito", "Sezione 2", "2", "Ambito"),
        ("1. Scope", "1.", "1", "Scope"),
        ("(A) General", "(A)", "(A)", "General"),
        ("### **Rule 7** — *Turns*", "Rule 7", "Rule 7", "Turns"),
    ],
)
def test_numbered_headings(line: str, label: str, canonical: str, title: str) -> None:
    assert heading_label(line)[:3] == (label, canonical, title)


@pytest.mark.parametrize(
    "line",
    [
        "Fireball",
        "Part of the plan",
        "Part-time work",
        "A Guide",
        "Rule a horse",
        "Appendix: Terms",
    ],
)
def test_a_plain_heading_has_no_label(line: str) -> None:
    assert heading_label(line) == ("", "", line, "")


def test_a_bare_number_is_marked_as_doubtful() -> None:
    assert heading_label("7 Ways to Pack").scheme == "bare"


def test_markup_is_not_part_of_the_words() -> None:
    assert plain_words("## **Acid** _Arrow_ [see](x.md) {#acid} ##") == "Acid Arrow see"
    assert plain_words("snake_case stays") == "snake_case stays"


def labels(text: str, *, dotted: bool = True) -> list[str]:
    return [mark.label for mark in marks(text, 0, len(text), dotted=dotted)]


def test_labels_are_read_at_line_starts_only() -> None:
    assert labels("(a) one (b) two\n  (2) three\nword (c)\n\t(iv) four") == ["(a)", "(2)", "(iv)"]


def test_stacked_and_run_in_labels_are_joined() -> None:
    text = "(a)(1) (i) Words\n(h) Short title: (1) Words\n(b) General. (1) Words"
    found = list(marks(text, 0, len(text), dotted=False))
    assert [(mark.label, mark.joined) for mark in found] == [
        ("(a)", False),
        ("(1)", True),
        ("(i)", True),
        ("(h)", False),
        ("(1)", True),
        ("(b)", False),
        ("(1)", True),
    ]


def test_dotted_labels_count_where_they_are_asked_for() -> None:
    text = "1. one\n2) two\na. three\n1986. four"
    assert labels(text) == ["1.", "2)", "a."]
    assert labels(text, dotted=False) == []


@pytest.mark.parametrize("text", ["(the) words", "(see) x", "(s)he", "1.5 metres", "e.g. this"])
def test_words_are_no_labels(text: str) -> None:
    assert labels(text) == []


def test_a_bullet_with_two_choices_is_no_item() -> None:
    assert labels("- (a) a sword or (b) a bow") == []
    assert labels("- (a) a sword") == ["(a)"]


@pytest.mark.parametrize(
    "words", ["of this section applies", "and (c) apply", "or (c)", ", (c) and (d)", "above."]
)
def test_a_cross_reference_is_cheap_as_text(words: str) -> None:
    text = f"(b) {words}"
    (mark,) = marks(text, 0, len(text), dotted=False)
    assert mark.as_text < mark.as_label


def test_a_reserved_item_is_a_label() -> None:
    text = "(b) and (c) [Reserved]"
    (mark,) = marks(text, 0, len(text), dotted=False)
    assert mark.as_text > mark.as_label


def test_only_long_lines_without_an_end_are_wrapped() -> None:
    assert is_wrapped("the owner of the house shall then comply with paragraph")
    assert not is_wrapped("the owner of the house shall then comply with this;")
    assert not is_wrapped("Apples")

"""Which language a text is in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.languages import (
    LANGUAGES,
    LISTED,
    detect_language,
    named_language,
    query_language,
)
from pincite.model.settings import IngestSettings
from pincite.read.load import parse

TEXTS = {
    "english": "The employer is to keep a record of the inspection for a period of two years.",
    "french": "L’employeur conserve les dossiers de l’inspection dans le lieu de travail pour une"
    " période de deux ans, et les met sur demande à la disposition des agents.",
    "italian": "Il datore di lavoro conserva la documentazione della verifica per un periodo di due"
    " anni e la mette a disposizione degli ispettori nel luogo di lavoro.",
    "german": "Der Arbeitgeber bewahrt die Unterlagen über die Prüfung für zwei Jahre in dem"
    " Betrieb auf und legt sie den Beamten auf Verlangen vor, wie es das Gesetz verlangt.",
    "spanish": "El empleador conserva los registros de la inspección en el lugar de trabajo por un"
    " período de dos años y los pone a disposición de la autoridad para su examen.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_each_language_is_told(language: str) -> None:
    assert detect_language(TEXTS[language], default="") == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "| 2.5 | 20 A |\n| 4 | 25 A |",
        "Los Angeles Rams, Los Angeles Lakers, Los Angeles Kings, San Diego, La Jolla",
        r"$ \because S_{COD}=4 $ $ \therefore S \in D $ $ d = e + l \le s $",
        "# Monsters (Q)\n\nNone.",
    ],
)
def test_names_and_formulas_tell_nothing(text: str) -> None:
    assert detect_language(text, default="") == ""


@given(st.text(max_size=2000))
def test_any_text_has_a_language(text: str) -> None:
    assert detect_language(text) in LANGUAGES
    assert query_language(text, LISTED) in LISTED


def test_a_long_document_is_told_from_all_of_it() -> None:
    title_page = "| A1 | B2 | C3 |\n" * 3000
    assert detect_language(title_page + (TEXTS["german"] + "\n") * 1000, default="") == "german"


@pytest.mark.parametrize(
    ("code", "name"),
    [("fr", "french"), ("de-AT", "german"), ("IT_it", "italian"), ("Dutch", "dutch"), ("xx", "")],
)
def test_codes_are_named(code: str, name: str) -> None:
    assert named_language(code) == name


def test_what_a_document_says_of_itself_wins() -> None:
    front = f"---\ntitle: x\nlang: nl-BE\n---\n\n# Regels\n\n{TEXTS['english']}\n"
    for text, language in ((front, "dutch"), (TEXTS["italian"], "italian")):
        loaded = parse(text.encode(), "a.md", IngestSettings(profile="none"))
        assert loaded.document.meta["language"] == language


def test_function_words_hold_nothing_that_rules_are_made_of() -> None:
    from pincite.model.languages import function_words

    rules = "not shall must may nicht muss darf doit pas deve non debe no puede sauf ausser"
    for language in LISTED:
        assert not function_words(language) & set(rules.split())

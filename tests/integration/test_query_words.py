"""Languages, other names and typing errors, from files to results."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from pincite import Index, find_files, ingest_files
from pincite.cli.main import app
from pincite.index import opened as aliases
from pincite.index.opened import Aliases
from pincite.model.settings import Settings, load_settings

SAMPLES = Path(__file__).parents[2] / "samples"
DOCUMENTS = {
    "en.md": "# Rules\n\n## 1.1 Armour\n\nThe Armour Rating (AR) is what an attack has to beat. "
    "A shield adds two to it.\n\n## 1.2 Dice\n\nRoll a die for each of the installations.\n\n"
    "## 1.3 Fireball\n\nThe fireball spell burns what is in the room of the caster.\n",
    "fr.md": "# Règles\n\n## 2.1 Installations\n\nL’employeur inspecte les installations dans le "
    "lieu de travail, et il en conserve les résultats pour une période de deux ans.\n",
    "de.md": "# Regeln\n\n## 3.1 Leitungen\n\nDie Leitungen werden von dem Betreiber für den "
    "Betrieb geprüft, und das Ergebnis wird in dem Buch des Betriebs vermerkt.\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    home = tmp_path_factory.mktemp("words")
    for name, text in DOCUMENTS.items():
        (home / name).write_text(text, encoding="utf-8")
    list(ingest_files(find_files([home]), home / "index"))
    with Index.open(home / "index") as opened:
        yield opened


def first(index: Index, query: str) -> str:
    return index.search(query).passages[0].place.locator


def test_each_document_has_its_language(index: Index) -> None:
    assert set(index.opened.analyzer.languages) == {"english", "french", "german"}
    for name, language in (("en.md", "english"), ("fr.md", "french"), ("de.md", "german")):
        assert (index.snapshot.meta(name) or {})["language"] == language


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("Quelle installation est inspectée par l'employeur ?", "2.1"),
        ("Welcher Betreiber hat die Leitung geprüft?", "3.1"),
        ("How many dice for an installation?", "1.2"),
        ("roll the die", "1.2"),  # a German article
    ],
)
def test_queries_find_inflected_words_in_their_language(
    index: Index, query: str, place: str
) -> None:
    assert first(index, query) == place


def test_snippets_are_marked_in_the_documents_language(index: Index) -> None:
    passage = index.search("installation inspectée").passages[0]
    marked = {passage.snippet[start:end] for start, end in passage.marks}
    assert {"installations", "inspecte"} <= marked


def test_one_language_gives_what_its_stemmer_gives(tmp_path: Path) -> None:
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    rankings = []
    for language in ("auto", "english"):
        settings = Settings().changed({"ingest.language": language})
        list(ingest_files(find_files([SAMPLES]), tmp_path / language, settings))
        with Index.open(tmp_path / language, settings) as opened:
            rankings.append([opened.search_ranking(question, 20).hits for question in questions])
    assert rankings[0] == rankings[1]


def test_a_language_goes_with_its_last_document(tmp_path: Path) -> None:
    for name, text in DOCUMENTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    list(ingest_files(find_files([tmp_path]), tmp_path / "index"))
    (tmp_path / "fr.md").unlink()
    list(ingest_files(find_files([tmp_path]), tmp_path / "index", prune=True))
    with Index.open(tmp_path / "index") as opened:
        assert set(opened.opened.analyzer.languages) == {"english", "german"}


def test_merged_segments_keep_languages_and_words(tmp_path: Path) -> None:
    for number in range(9):  # each its own segment, so that eight are merged
        name = random.Random(number).choice(list(DOCUMENTS))
        (tmp_path / f"{number}.md").write_text(DOCUMENTS[name], encoding="utf-8")
        list(ingest_files([(tmp_path / f"{number}.md", f"{number}.md")], tmp_path / "index"))
    with Index.open(tmp_path / "index") as merged:
        assert len(merged.snapshot.segments) == 2
        assert set(merged.opened.analyzer.languages) == {"english", "french", "german"}
        assert merged.search("fierball").corrections == {"fierball": "fireball"}


def test_other_names_are_searched_and_shown(index: Index) -> None:
    assert index.opened.aliases.of("what raises the AR?") == ["armour rating"]
    assert index.opened.aliases.of("what raises the armour rating?") == ["AR"]
    hit = index.search("what raises the AR?").ranking.hits[0]
    assert hit.features["aliases"] > 0
    assert sum(hit.features.values()) == pytest.approx(hit.score)
    off = Index(index.opened, load_settings(overrides=["search.without=aliases"]))
    assert off.search("what raises the AR?").ranking.hits[0].features["aliases"] == 0


def test_names_are_found_alike_from_memory_and_from_the_index(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = ("AR", "What is the Armour Rating?", "armour rating of a shield", "fireball", "die")
    opened = index.opened
    remembered = [Aliases(opened.snapshot, opened.analyzer).of(query) for query in queries]
    monkeypatch.setattr(aliases, "MAX_REMEMBERED", 0)  # too many to remember
    looked_up = [Aliases(opened.snapshot, opened.analyzer).of(query) for query in queries]
    assert remembered == looked_up
    assert remembered[0] == ["armour rating"]


def test_a_profile_may_give_synonyms(tmp_path: Path) -> None:
    profile = tmp_path / "own.toml"
    profile.write_text('extends = "rulebook"\nname = "own"\n[synonyms]\nfireball = ["blaze orb"]\n')
    (tmp_path / "en.md").write_text(DOCUMENTS["en.md"], encoding="utf-8")
    settings = load_settings(overrides=[f"ingest.profile={profile}"])
    list(ingest_files([(tmp_path / "en.md", "en.md")], tmp_path / "index", settings))
    with Index.open(tmp_path / "index") as opened:
        assert first(opened, "blaze orb") == "1.3"
    profile.unlink()
    with Index.open(tmp_path / "index") as opened:
        assert opened.search("blaze orb").passages == []


@pytest.mark.parametrize(
    ("query", "corrections"),
    [
        ("fierball", {"fierball": "fireball"}),
        ("What does a Fierball, cast here, do?", {"Fierball": "fireball"}),
        ("fireball spells", {}),
        ("your some them", {}),  # not in these documents, and right
        ("1.9(z) AR-77 RFC2119 12345", {}),
        ("GFCI", {}),
        ("zzzzzzzz", {}),
    ],
)
def test_only_unknown_words_are_corrected(
    index: Index, query: str, corrections: dict[str, str]
) -> None:
    assert index.search(query).corrections == corrections


def test_a_corrected_word_finds_its_place_and_is_marked(index: Index) -> None:
    passage = index.search("fierball").passages[0]
    assert passage.place.locator == "1.3"
    assert any(passage.snippet[s:e].lower() == "fireball" for s, e in passage.marks)
    exact = index.search_ranking("fireball", 5).hits
    guessed = index.search_ranking("fierball", 5).hits
    lexical = {hit.chunk_id: hit.features["terms"] for hit in exact}
    assert all(hit.features["terms"] < lexical[hit.chunk_id] for hit in guessed)


def test_corrections_can_be_turned_off(index: Index) -> None:
    off = Index(index.opened, load_settings(overrides=["search.without=typos"]))
    result = off.search("fierball")
    assert (result.passages, result.corrections) == ([], {})


def test_slips_cost_the_samples_little(tmp_path: Path) -> None:
    """A known word with two letters exchanged is found again."""
    list(ingest_files(find_files([SAMPLES]), tmp_path / "index"))
    with Index.open(tmp_path / "index") as opened:
        words = ["receptacle", "conductor", "circuit", "protection", "condition", "greenhouse"]
        for word in words:
            slip = word[0] + word[2] + word[1] + word[3:]
            taken = opened.search(slip).corrections[slip]
            assert opened.opened.analyzer.terms(taken) == opened.opened.analyzer.terms(word)


def test_the_command_line_tells_what_it_searched_for(index: Index) -> None:
    folder = str(index.snapshot.folder)
    said = CliRunner().invoke(app, ["search", "fierball", "--index", folder])
    assert "note: no 'fierball' in this index; searched for 'fireball'" in said.stderr
    told = CliRunner().invoke(app, ["search", "fierball", "--index", folder, "--json"])
    assert json.loads(told.stdout)["corrections"] == {"fierball": "fireball"}

"""Corrected cards: what a user says of a document counts, also after it is read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pincite.cli.main import app
from pincite.model.errors import ConfigError, StoreError
from pincite.model.settings import Settings
from pincite.store.location import open_snapshot
from pincite.update import correct_card, ingest_files

SETTINGS = Settings()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "dues.md").write_text("# Harbour Dues Policy\n\n## 1 Fees\n\nTen a day.\n")
    (folder / "plain.txt").write_text("Harbour notes\n\nTen boats came in the night.\n")
    ingest_files(folder, tmp_path / "index", SETTINGS)
    return tmp_path


def told(place: Path, doc_id: str) -> tuple[str, dict[str, str]]:
    with open_snapshot(place / "index", SETTINGS.store) as snapshot:
        return snapshot.title(doc_id), snapshot.meta(doc_id) or {}


def test_a_correction_outlives_reading_and_rebuilding(place: Path) -> None:
    index, file = place / "index", place / "docs" / "dues.md"
    assert told(place, "dues.md")[1]["kind"] == "policy"
    correct_card(index, "dues.md", {"title": "Dues of Tarn", "kind": "code"})
    correct_card(index, "dues.md", {"issuer": "Harbour Board"})

    def check() -> None:
        title, meta = told(place, "dues.md")
        assert (title, meta["kind"], meta["issuer"]) == ("Dues of Tarn", "code", "Harbour Board")

    check()
    assert {each.status for each in ingest_files(place / "docs", index)} == {"unchanged"}
    check()
    file.write_text(file.read_text() + "\n## 2 Times\n\nAt noon.\n")
    assert ingest_files(file, index).counts == {"changed": 1}
    check()
    ingest_files(place / "docs", index, SETTINGS, rebuild=True)
    check()


def test_places_named_by_the_title_are_named_by_the_new_one(place: Path) -> None:
    def locators() -> list[tuple[str, str]]:
        with open_snapshot(place / "index", SETTINGS.store) as snapshot:
            return [(chunk.locator, chunk.id) for chunk in snapshot.chunks("plain.txt")]

    before = locators()
    assert before[0][0] == "Harbour notes"
    correct_card(place / "index", "plain.txt", {"title": "Notes of the night"})
    assert locators()[0][0] == "Notes of the night"
    assert [each for _, each in locators()] == [each for _, each in before]


def test_what_a_card_has_not_is_refused(place: Path) -> None:
    with pytest.raises(ConfigError):
        correct_card(place / "index", "dues.md", {"sha256": "0"})
    with pytest.raises(StoreError):
        correct_card(place / "index", "else.md", {"kind": "code"})


def test_the_command_shows_and_corrects(place: Path) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(app, [*words, "--index", str(place / "index")])
        assert done.exit_code == 0, done.output
        return done.output

    shown = json.loads(run("card", "dues.md", "--json"))
    assert shown == {"document": "dues.md", "title": "Harbour Dues Policy", "kind": "policy"}
    assert "Dues of Tarn" in run("card", "dues.md", "--title", "Dues of Tarn", "--period", "2024")
    assert "[policy]" in run("list")
    rows = {row["document"]: row for row in json.loads(run("list", "--json"))}
    assert rows["dues.md"]["title"] == "Dues of Tarn"
    assert rows["dues.md"]["card"] == {"kind": "policy", "period": "2024"}

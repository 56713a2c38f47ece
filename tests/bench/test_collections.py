"""Test collections: what the readers make of small files, and pipelines side by side."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments import collection, indexes, scifact, squad, srd
from experiments.catalogue import EXPERIMENTS
from experiments.collection import Collection
from pincite.measure.imports import read_abstracts
from pincite.model.errors import ConfigError, SourceError
from pincite.model.settings import SearchSettings, Settings

WORDS = Settings(search=SearchSettings(preset="lexical"))
PLAIN = WORDS.changed({"ingest.language": "none"})


def squad_file(file: Path, *paragraphs: tuple[str, Sequence[str]], title: str = "T") -> Path:
    entries = [
        {"context": context, "qas": [{"question": question} for question in questions]}
        for context, questions in paragraphs
    ]
    text = json.dumps({"data": [{"title": title, "paragraphs": entries}]})
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_text(text)
    return file


@pytest.fixture
def italian(tmp_path: Path) -> Path:
    return squad_file(
        tmp_path / "dev.json.gz",
        ("I gatti dormono sul tetto.", ["Dove dorme il gatto?"]),
        ("I cani abbaiano nel parco.", ["Chi abbaia?"]),
        ("La luna illumina il mare.", []),
    )


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the languages for which an index is made."""
    made: list[str] = []
    make = indexes.make_index

    def recorded(files: Any, folder: Path, pipelines: list[Settings], **more: Any) -> None:
        made.append(pipelines[0].ingest.language)
        make(files, folder, pipelines, **more)

    monkeypatch.setattr(indexes, "make_index", recorded)
    return made


def asked(name: str, data: Path, file: Path, pipelines: Sequence[Settings]) -> list[Any]:
    experiment = EXPERIMENTS[name]
    rows = list(experiment.run(data, file, pipelines))
    return experiment.figures(rows, data, pipelines)


def test_stemming_of_the_collections_language_is_the_default(italian: Path) -> None:
    """ "gatto" finds "gatti" with the Italian stemmer and not without one."""
    stemmed, plain = asked("squad-it", italian.parent, italian, [WORDS, PLAIN])
    assert stemmed.values["recall@1"] == 1.0
    assert plain.values["recall@1"] == 0.0
    assert stemmed.counts["recall@1"] == 2


def test_pipelines_of_one_shape_share_an_index(italian: Path, builds: list[str]) -> None:
    other = WORDS.changed({"tuning.lexical.k1": 1.2})
    asked("squad-it", italian.parent, italian, [WORDS, other, PLAIN])
    assert builds == ["italian", "none"]


def test_an_index_has_vectors_if_a_pipeline_asks_by_meaning(italian: Path, tmp_path: Path) -> None:
    found = squad.read_collection(italian, tmp_path, "", "italian")
    settings = found.fitted(WORDS.changed({"tuning.cache": False}))
    dense = replace(settings, search=SearchSettings(preset="dense"))
    with indexes.opened(found.files, [settings]) as (words,):
        assert not words.snapshot.vectors
    with indexes.opened(found.files, [settings, dense]) as (words, meaning):
        assert words.opened is meaning.opened
        assert len(meaning.search_ranking("cani nel parco", 3).ids) == 3


def test_an_unknown_pipeline_is_refused_before_any_work(italian: Path, builds: list[str]) -> None:
    wrong = WORDS.changed({"search.preset": "magic"})
    with pytest.raises(ConfigError, match="magic"):
        asked("squad-it", italian.parent, italian, [WORDS, wrong])
    assert builds == []


def test_equal_paragraphs_are_one_place(tmp_path: Path) -> None:
    file = squad_file(tmp_path / "a.json", ("Same words.", ["q?"]), ("Same words.", ["r?"]))
    found = squad.read_collection(file, tmp_path, "", "english")
    assert [question.gold for question in found.questions] == [frozenset("0")] * 2
    assert len(json.loads(found.files[0][0].read_text())) == 1


def test_a_long_paragraph_is_one_chunk(tmp_path: Path) -> None:
    words = " ".join(f"word{i}" for i in range(9000))
    file = squad_file(tmp_path / "a.json", (f"Start. {words}", ["word8999?"]), ("Short.", []))
    found = squad.read_collection(file, tmp_path, "", "english")
    with indexes.opened(found.files, [found.fitted(WORDS)]) as (index,):
        assert len(index.snapshot) == 2


def test_xquad_has_a_collection_for_each_language(tmp_path: Path) -> None:
    for language in ("en", "de", "zh"):
        squad_file(tmp_path / f"xquad.{language}.json", ("The cat sleeps.", ["cat?"]))
    found = squad.read_xquad(tmp_path, tmp_path, tmp_path)
    assert [(each.name, each.language) for each in found] == [
        ("de", "german"),
        ("en", "english"),
        ("zh", "none"),
    ]
    (figures,) = asked("xquad", tmp_path, tmp_path, [WORDS])
    assert figures.counts == dict.fromkeys(figures.values, 1)
    assert {"de_recall@1", "en_mrr", "zh_recall@10"} <= set(figures.values)
    (one,) = asked("xquad", tmp_path, tmp_path / "xquad.de.json", [WORDS])
    assert set(one.values) == {f"de_{name}" for name in squad.MEASURES}


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    (tmp_path / "corpus.csv").write_text(
        "doc_id,title,abstract,structured\n"
        '900000001,Zinc.,"[\'It is blue.\'\n \'It\\\'s a ""metal"".\']",False\n'
        '7,Whales,"[""They don\'t fly.""]",False\n'
    )
    file = tmp_path / "claims_train.csv"
    file.write_text(
        "id,claim,evidence_doc_id,evidence_label,evidence_sentences,cited_doc_ids\n"
        "1,Zinc is a metal.,900000001,SUPPORT,[1],[900000001]\n"
        "1,Zinc is a metal.,900000001,SUPPORT,[0],[900000001]\n"
        "2,Whales and zinc fly.,,,[],[        7 900000001]\n"
        "3,Nobody knows.,,,[],[5]\n"
    )
    return file


def test_scifact_reads_titles_sentences_and_citations(claims: Path, tmp_path: Path) -> None:
    abstracts = read_abstracts(tmp_path / "corpus.csv")
    assert abstracts == {
        "900000001": 'Zinc.\n\nIt is blue. It\'s a "metal".',
        "7": "Whales\n\nThey don't fly.",
    }
    (found,) = scifact.read(tmp_path, claims, tmp_path)
    assert [each.gold for each in found.questions] == [{"0"}, {"0", "1"}, set()]


def test_scifact_finds_words_of_title_and_abstract(claims: Path, tmp_path: Path) -> None:
    (figures,) = asked("scifact", tmp_path, claims, [WORDS])
    assert figures.values["ndcg@10"] == 1.0
    assert figures.counts["ndcg@10"] == 2  # the third claim cites what is not there


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    texts = {
        "Spells/Acid Arrow.md": "### Acid Arrow\n\nA green arrow streaks toward a target.",
        "Spells/Antipathy-Sympathy.md": "### Antipathy/Sympathy\n\nCreatures feel an urge.",
        "Spells (Alt)/A.md": "### Acid Arrow\n\nA green arrow streaks toward a target.",
        "Monsters/Ape.md": "### Ape\n\nThe ape throws a rock.",
        "README.md": "A green arrow streaks toward a target.",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    questions = [
        {"question": "Does *acid  arrow* streak?", "source_document": "docs/acid-arrow.md"},
        {"question": "Urge of Antipathy/Sympathy?", "source_document": "docs/antipathysympathy.md"},
        {"question": "Gone?", "source_document": "docs/gone.md"},
    ]
    (tmp_path / "spell_questions_dev.json").write_text(json.dumps(questions))
    return tmp_path


def test_srd_leaves_the_twins_out_and_masks_names(rules: Path) -> None:
    (found,) = srd.read(rules, rules / "spell_questions_dev.json", rules)
    assert [doc_id for _, doc_id in found.files] == [
        "Monsters/Ape.md",
        "Spells/Acid Arrow.md",
        "Spells/Antipathy-Sympathy.md",
    ]
    assert [each.text for each in found.questions] == ["Does … streak?", "Urge of …?", "Gone?"]
    (figures,) = asked("srd-5.1", rules, rules / "spell_questions_dev.json", [WORDS])
    assert figures.values == {"hit@1": 1.0, "hit@5": 1.0, "mrr": 1.0}
    assert figures.counts["mrr"] == 2


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("For Heroes’ Feast’s guests", "Heroes' Feast", "For …’s guests"),
        ("Light: **Light** or lights, daylight?", "Light", "…: … or lights, daylight?"),
        ("fly at a flying speed", "Fly", "… at a flying speed"),
        ("a C++ (b) spell", "C++ (B)", "a …) spell"),
    ],
)
def test_masking(text: str, name: str, expected: str) -> None:
    assert srd.masked(text, name) == expected


Read = Callable[[Path, Path, Path], list[Collection]]


@pytest.mark.parametrize("read", [scifact.read, srd.read, squad.read_squad_it, squad.read_xquad])
@pytest.mark.parametrize("content", [b"", b'{"a": 1}', b"[1]", b"\xff\x00", b"id,claim\n1,a\n"])
def test_files_of_another_kind_are_refused(
    read: Read, content: bytes, rules: Path, claims: Path
) -> None:
    file = rules / "questions.json"
    file.write_bytes(content)
    with pytest.raises(SourceError, match=r"questions\.json") as told:
        read(rules, file, rules)
    assert told.value.hint


@pytest.mark.parametrize("read", [scifact.read, srd.read, squad.read_squad_it, squad.read_xquad])
def test_files_that_are_not_there_are_named(read: Read, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=re.escape(str(tmp_path))):
        read(tmp_path, tmp_path / "gone.json", tmp_path)


def test_a_cut_or_huge_gzip_file_is_refused(
    italian: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(italian.read_bytes()[:-20])
    with pytest.raises(SourceError, match=r"cut\.json\.gz"):
        squad.read_squad_it(tmp_path, cut, tmp_path)
    monkeypatch.setattr(squad, "MAX_BYTES", 50)
    with pytest.raises(SourceError, match="more than"):
        squad.read_squad_it(tmp_path, italian, tmp_path)


def test_questions_that_nothing_answers_end_the_experiment(rules: Path) -> None:
    file = rules / "other.json"
    file.write_text(json.dumps([{"question": "Gone?", "source_document": "docs/gone.md"}]))
    with pytest.raises(SourceError, match="no question"):
        list(collection.run(srd.read, rules, file, [WORDS]))

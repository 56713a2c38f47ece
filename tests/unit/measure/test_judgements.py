"""Files of judgements: strict where they are ours, understood where they are other people's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.api import Index
from pincite.measure.coverage import Corpus, agreement, by_person, in_index, oddities, qrels
from pincite.measure.grades import GradedQuestion, parse, tabulated
from pincite.measure.imports import read, read_qrels, read_texts, write_qrels, write_run
from pincite.measure.questions import (
    JudgedPlace,
    Question,
    QuestionSet,
    load,
    on_pages,
    question_files,
    save,
    write_corpus,
)
from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings, Settings

SAMPLES = Path(__file__).parents[3] / "samples"
Make = Callable[..., Index]

TOML = """
[judgements]
name = "small"
version = 2
changes = [
  {version = 1, reason = "first"},
  {version = 2, reason = "312.2 answers too", questions = ["q20"], by = "second reader"},
]

[[question]]
id = "q20"
question = "How are metal enclosures kept from corrosion?"
gold = {any = [{section = "300.6"}, {section = "312.2", grade = 2}]}
labels = {domain = "code"}

[[question]]
id = "q14"
question = "What does 705.31 ask for?"
gold = {none = "705.31 is not in this edition"}
"""


def test_a_toml_file_is_understood(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    found = load(tmp_path / "small.toml")
    assert (found.name, found.version, len(found.changes)) == ("small", 2, 2)
    assert found.changes[1].reason == "312.2 answers too"
    q20, q14 = found.questions
    assert [place.grade for place in q20.places] == [1, 2] and len(q20.needs) == 1
    assert not q14.needs and "edition" in q14.unanswerable
    assert not found.is_recorded


GOOD = {"id": "a", "question": "Why?", "gold": {"any": [{"document": "d", "locator": "1"}]}}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"golds": 1}, "unknown key golds"),
        ({"gold": {}}, "one of any, all, none"),
        ({"gold": {"any": []}}, "no place"),
        ({"gold": {"any": [{"document": "d", "loctor": "1"}]}}, "unknown key loctor"),
        ({"gold": {"any": [{"page": 3}]}}, "needs a document"),
        ({"gold": {"any": [{"document": "d", "start": 3}]}}, "start and end"),
        ({"gold": {"any": [{"document": "d", "start": 9, "end": 3}]}}, "start and end"),
        ({"gold": {"any": [{"document": "d", "page": 1.5}]}}, "whole number"),
        ({"gold": {"any": [{"table": "Table 1"}]}}, "needs its row"),
        ({"gold": {"any": [{"locator": "1", "grade": 0}]}}, "grade above 0"),
        ({"gold": {"any": ["97.1"]}}, "list of tables"),
        ({"question": " "}, "must not be empty"),
        ({"question": None}, "question"),
        ({"id": 7}, "id must be a text"),
        ({"synthetic": "yes"}, "true or false"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_key(
    tmp_path: Path, change: dict[str, object], told: str
) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps(GOOD) + "\n" + json.dumps({**GOOD, "id": "b", **change}))
    with pytest.raises(SourceError, match=told) as error:
        load(file)
    assert "line 2" in error.value.message and error.value.hint


@pytest.mark.parametrize(
    "text", ["{", "[]", "3", '{"judgements": 1}', json.dumps(GOOD) + "\n" * 2 + json.dumps(GOOD)]
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "set.jsonl").write_text(text)
    with pytest.raises(SourceError):
        load(tmp_path / "set.jsonl")
    (tmp_path / "bad.toml").write_text("a = [")
    with pytest.raises(SourceError, match="not TOML"):
        load(tmp_path / "bad.toml")


@pytest.fixture
def code(make_index: Make) -> Index:
    text = (
        "# Code, 2024 Edition\n\n## 250.12 Rods\n\n(A) Length. A rod is 2.4 m long.\n\n"
        "(B) Depth. It is driven whole.\n\n## 250.122 Size\n\nSee Table 250.122.\n\n"
        "**Table 250.122 Sizes**\n\n| Rating (A) | Copper (mm2) |\n|---|---|\n| 15 | 2.5 |\n"
        "| 60 | 6 |\n\n"
    )
    return make_index({"code.md": text, "other.md": "# Other\n\nA rod is nice.\n"})


def test_every_kind_of_place_is_found(code: Index) -> None:
    corpus = Corpus(code.snapshot)
    text = code.snapshot.text("code.md")

    def words(place: JudgedPlace) -> list[str]:
        spans = corpus.spans(place)
        return [code.snapshot.text(s.doc_id)[s.start : s.end].split("\n")[0] for s in spans]

    assert words(JudgedPlace(locator="250.12(A)")) == ["(A) Length. A rod is 2.4 m long."]
    assert words(JudgedPlace(locator="§ 250.12 (A)", edition="2024", document="*.md")) == words(
        JudgedPlace(locator="250.12(A)")
    )
    assert words(JudgedPlace(locator="250.12(A)", edition="2021")) == []
    sections = words(JudgedPlace(section="250.12"))
    assert len(sections) == 3 and not any("250.122" in each for each in sections)
    assert words(JudgedPlace(table="Table 250.122", row="60", column="Copper")) == ["| 60 | 6 |"]
    start = text.index("driven")
    assert words(JudgedPlace("code.md", start=start, end=start + 6)) == ["driven"]
    assert len(words(JudgedPlace("code.md"))) == 1 and words(JudgedPlace("gone.md")) == []
    assert words(JudgedPlace("code.md", start=10**6, end=10**6 + 1)) == []


def test_a_cell_in_a_cut_table_is_covered(code: Index) -> None:
    question = Question("q", "size?", ((JudgedPlace(table="Table 250.122", row="60"),),))
    gold = Corpus(code.snapshot).gold(question)
    assert all(gold.spans) and gold.is_evaluable and gold.ideal == (1.0,)


def test_a_hit_that_is_not_searched_counts_as_well(code: Index) -> None:
    """A named place comes out as itself, even where larger chunks are searched."""
    corpus = Corpus(code.snapshot)
    gold = corpus.gold(Question("q", "250.12(B)", ((JudgedPlace(locator="250.12(B)"),),)))
    (clause,) = code.show("250.12(B)")
    assert not clause.searched and gold.met_by(clause) == {0: 1.0}
    (other,) = code.show("250.12(A)")
    assert gold.met_by(other) == {}


CUTS = {
    "clause": IngestSettings(),
    "letters": IngestSettings(split_depth=1),
    "small": IngestSettings(max_chars=400),
    "fixed": IngestSettings(chunking="fixed", max_tokens=120),
    "long": IngestSettings(chunking="fixed", max_tokens=1024),
}


@pytest.mark.parametrize("cut", CUTS)
def test_judgements_survive_every_way_of_cutting(cut: str, make_index: Make) -> None:
    """All sample questions stay answerable, and a perfect search gets perfect figures."""
    names = [path for path in SAMPLES.iterdir() if path.suffix in (".md", ".txt")]
    index = make_index({p.name: p.read_text("utf-8") for p in names}, Settings(ingest=CUTS[cut]))
    corpus = Corpus(index.snapshot)
    asked = [each for each in load(SAMPLES / "questions.jsonl").questions if each.needs]
    golds = [corpus.gold(question) for question in asked]
    assert len(golds) > 100 and all(all(gold.spans) and gold.is_evaluable for gold in golds)
    lines = []
    for gold in golds:
        best = sorted(gold.chunks.values(), key=lambda met: -sum(met.values()))
        lines.append(GradedQuestion(best, gold.ideal, len(gold.question.needs)))
    grades = tabulated(lines)
    assert parse("Recall").of(grades).min() == 1.0
    assert parse("RR").of(grades).min() == 1.0


def test_oddities_name_what_an_author_should_look_at(code: Index) -> None:
    twice = JudgedPlace(locator="250.12(A)")
    start = code.snapshot.text("code.md").index("driven")
    moved = JudgedPlace("code.md", start=start, end=start + 6, locator="250.122")
    asked = [
        Question("a", "How long?", ((twice, twice),)),
        Question("b", "how  LONG?", ((JudgedPlace(locator="705.31"),),)),
        Question("c", "How deep?", ((moved,),)),
    ]
    found = QuestionSet("s", asked)
    kinds = [(each.question, each.kind) for each in oddities(found)]
    assert kinds == [("a", "same question"), ("a", "place twice"), ("b", "same question")]
    corpus = Corpus(code.snapshot)
    assert [each.kind for q in asked for each in in_index(q, corpus)] == [
        "not in the index",
        "moved",
    ]


def test_grades_go_to_trec_and_back(code: Index, tmp_path: Path) -> None:
    asked = Question(
        "q 1", "rod?", ((JudgedPlace(locator="250.12", grade=2),),), (JudgedPlace("other.md"),)
    )
    grades = qrels(QuestionSet("s", [asked]), Corpus(code.snapshot))
    (tmp_path / "q.txt").write_text("".join(write_qrels(grades)))
    assert set(read_qrels(tmp_path / "q.txt")["q_1"].values()) == {0, 2}
    run = "".join(write_run({"q1": ["b", "a"]}, "my run"))
    assert run == "q1 Q0 b 1 2 my_run\nq1 Q0 a 2 1 my_run\n"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("q d 1\nq d", "2 columns"),
        ("q 0 d x", "grade 'x'"),
        ("q 0 d 1\nq 0 d 2", "two grades"),
    ],
)
def test_bad_grades_are_told_with_their_line(tmp_path: Path, lines: str, told: str) -> None:
    (tmp_path / "q.txt").write_text(lines)
    with pytest.raises(SourceError, match=told):
        read_qrels(tmp_path / "q.txt")


def test_agreement_of_files() -> None:
    def judged(*grades: int) -> QuestionSet:
        places = [JudgedPlace(locator=str(at), grade=grade) for at, grade in enumerate(grades)]
        need = tuple(place for place in places if place.grade)
        return QuestionSet("", [Question("q", "?", (need,), tuple(set(places) - set(need)))])

    same = agreement([judged(2, 1, 0, 1), judged(2, 1, 0, 1), judged(2, 1)])
    assert same.places == 4 and same.nominal == 1.0 and not same.disputed
    apart = agreement([judged(2, 1, 0, 1), judged(1, 1, 0, 0)])
    assert 0 < apart.ordinal < 1 and len(apart.disputed) == 2


def test_who_judged_is_kept_and_changes_no_version(tmp_path: Path) -> None:
    anna = JudgedPlace("d", locator="1", by="anna", when="2026-01-02T03:04:05+00:00")
    ben = JudgedPlace("d", locator="1", by="ben", when="2026-02-02T03:04:05+00:00")
    no = JudgedPlace("d", locator="2", grade=0, by="ben")
    signed = QuestionSet("s", [Question("q", "?", ((anna, ben),), (no,))])
    save(signed, tmp_path / "s.jsonl")
    assert load(tmp_path / "s.jsonl").questions == signed.questions
    alone = [Question("q", "?", ((anna.unsigned(),),), (no.unsigned(),))]
    assert signed.hash == QuestionSet("s", alone).hash
    assert not [each for each in oddities(signed) if each.kind == "place twice"]
    people = by_person(signed)
    assert list(people) == ["anna", "ben"]
    assert agreement(list(people.values())).places == 1


def test_a_beir_folder(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n1\td2\t1\n1\tgone\t2\n"
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "what?"}\n')
    docs = [{"_id": f"d{n}", "title": f"T{n}", "text": f"text {n}"} for n in range(3)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, docs)))
    found = read("beir", tmp_path, {})
    assert [str(need[0]) for need in found.questions[0].needs] == ["d2", "gone"]
    moved = on_pages(found, write_corpus(tmp_path, tmp_path / "c.json"), "c.json")
    assert [str(p) for p in moved.questions[0].places] == ["c.json, p. 2", "missing/gone"]
    assert json.loads((tmp_path / "c.json").read_text())[1]["text"] == "T1\n\ntext 1"


def test_prefixes_and_table_ids(tmp_path: Path) -> None:
    gold = {
        "q07": {"section_prefixes": ["300.5"], "table_ids": ["Table300.5"]},
        "q14": {"section_prefixes": [], "table_ids": []},
    }
    (tmp_path / "gold.json").write_text(json.dumps(gold))
    (tmp_path / "texts.tsv").write_text("q07\tHow deep?\nq14\tWhat of 705.31?\n")
    with pytest.raises(SourceError, match="words are not known"):
        read("prefixes", tmp_path / "gold.json", {})
    q07, q14 = read(
        "prefixes", tmp_path / "gold.json", read_texts(tmp_path / "texts.tsv")
    ).questions
    assert [str(place) for place in q07.places] == ["300.5", "Table 300.5"] and len(q07.needs) == 1
    assert q14.unanswerable


def test_expected_chunks(tmp_path: Path) -> None:
    asked = {"query": "Grabbed?", "expected_chunk_ids": ["c1", "c2"], "book_id": "core"}
    chunks = [
        {"chunk_id": "c1", "book_id": "core", "section_path": ["Conditions", "Grabbed"]},
        {"chunk_id": "c2", "book_id": "core", "page": 12},
    ]
    file = tmp_path / "core.evaluation_queries.json"
    file.write_text(json.dumps([asked]))
    with pytest.raises(SourceError, match="enriched"):
        read("expected-chunks", file, {})
    (tmp_path / "merged.enriched.json").write_text(json.dumps({"chunks": chunks}))
    (found,) = read("expected-chunks", file, {}).questions
    assert [str(place) for place in found.places] == ["core*, Grabbed", "core*, p. 12"]
    assert found.labels == {"domain": "core"}


def test_questions_about_pages(tmp_path: Path) -> None:
    item = {"ID": "1", "questions": "Gain?", "answers": "$1", "doc_name": "finance/V"}
    item |= {"doc_type": "finance", "evidence_source": "table", "evidence_context": ["a", "b"]}
    (tmp_path / "qas.json").write_text(json.dumps([{**item, "evidence_page_no": [3, 4]}]))
    (found,) = read("qas", tmp_path / "qas.json", {}).questions
    assert [str(need[0]) for need in found.needs] == [
        "finance/V.json, p. 3",
        "finance/V.json, p. 4",
    ]
    assert (found.group, found.evidence) == ("finance/V", "a b")
    assert found.labels == {"kind": "table", "domain": "finance"}
    (tmp_path / "qas.json").write_text("[{}]")
    with pytest.raises(SourceError, match="not in the format"):
        read("qas", tmp_path / "qas.json", {})


def test_a_table_of_places(tmp_path: Path) -> None:
    rows = "id,question,document,locator,grade,need,unanswerable\n"
    rows += "a,How?,d.md,1.1,2,1,\na,,d.md,1.2,,2,\na,,d.md,1.3,,2,\nb,What?,,,,,not there\n"
    (tmp_path / "t.csv").write_text(rows)
    a, b = read("csv", tmp_path / "t.csv", {}).questions
    assert [[place.locator for place in need] for need in a.needs] == [["1.1"], ["1.2", "1.3"]]
    assert a.places[0].grade == 2 and b.unanswerable == "not there"
    (tmp_path / "t.csv").write_text("id,question,page\na,How?,x\n")
    with pytest.raises(SourceError):
        read("csv", tmp_path / "t.csv", {})


def test_a_folder_stands_for_the_judgements_in_it(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.toml", "notes.txt"):
        (tmp_path / name).write_text("")
    one = tmp_path / "notes.txt"
    assert question_files([one, tmp_path]) == [one, tmp_path / "a.toml", tmp_path / "b.jsonl"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no judgements in"):
        question_files([tmp_path / "empty"])

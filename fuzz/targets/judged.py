"""Files of judgements, runs and exams: ours, and those of other people's formats."""

from __future__ import annotations

import json
from functools import partial

from bench.multiple_choice.questions import LETTERS, read_exam

from fuzz.harness import SAMPLES, Target, filed, halves, work_folder
from pincite.maintain.replay import _filters, _read
from pincite.measure import imports, questions, runs
from pincite.measure.imports import read_qrels, write_qrels
from pincite.measure.runs import grades, load_run, save_run
from pincite.model.errors import SourceError


def judgements(data: bytes) -> None:
    """Ours as JSON lines or TOML; what was read is written and read back the same."""
    for name in ("q.jsonl", "q.toml"):
        try:
            found = questions.load(filed(data, name))
        except SourceError:
            continue
        back = work_folder() / "back.jsonl"
        questions.save(found, back)
        assert questions.load(back).questions == found.questions
        return
    raise SourceError("neither", hint="-")


def imported(form: str, data: bytes) -> None:
    first, second = halves(data)
    texts = imports.read_texts(filed(second, "t.jsonl")) if second else {"q1": "words"}
    path = filed(first, f"{form}.evaluation_queries.json")
    if form == "beir":
        folder = work_folder() / "beir"
        (folder / "qrels").mkdir(parents=True, exist_ok=True)
        (folder / "qrels" / "test.tsv").write_bytes(first)
        (folder / "queries.jsonl").write_bytes(second or b'{"_id": "q1", "text": "words"}')
        path, texts = folder, {}
    for question in imports.read(form, path, texts).questions:
        assert question.id is not None and isinstance(question.text, str)


def trec(data: bytes) -> None:
    """Grades of a question as trec_eval reads them; what was read is written and read back."""
    qrels = read_qrels(filed(data, "qrels"))
    back = "".join(write_qrels(qrels)).encode("utf-8", "surrogatepass")
    assert read_qrels(filed(back, "back")) == qrels


def stored_run(data: bytes) -> None:
    run = load_run(filed(data, "run.json"))
    for part in run.parts:
        assert len(grades(run, part).lengths) == len(run.judged)


def exam(data: bytes) -> None:
    for question in read_exam(filed(data, "exam.json")):
        assert 2 <= len(question.options) <= len(LETTERS)
        assert question.correct is None or 0 <= question.correct < len(question.options)


def saved_search(data: bytes) -> None:
    record = _read(filed(data, "saved.json"))
    try:
        _filters(record.get("filters", {}))
    except (ValueError, TypeError, AttributeError):
        raise SourceError("filters", hint="-") from None


def _runs() -> list[bytes]:
    hit = runs.RunHit("c", "d", "1.2", 1.5, {0: 1.0})
    asked = runs.QuestionRecord("q1", "What?", "judged", "", ("1.2",), 1, (1.0,), {"kind": "rule"})
    answer = runs.RunAnswer((hit,), {"lexical": 1}, 0.1, {"lexical": 0.1})
    part = runs.PipelineRun("hybrid", "abc", (answer,))
    run = runs.Run("q", 1, "h", False, 1, 2, 3, 5, "2026-01-01", "0.1", (asked,), (part,))
    file = work_folder() / "seed-run.json"
    save_run(run, file)
    return [file.read_bytes()]


_EXAM = json.dumps(
    [
        {
            "id": "1",
            "question": "Q?",
            "options": ["a", "b"],
            "answer": "A",
            "gold": {"any": [{"locator": "97.1(a)"}]},
        },
        {
            "question": "R?",
            "choices": {"A": "x", "B": "y"},
            "correct": 1,
            "gold_sections": ["97.3"],
            "cited": "[97.3(a), (b)]",
        },
    ]
)
_GOLD = (SAMPLES / "questions.jsonl").read_bytes()[:3000].rsplit(b"\n", 1)[0]
_OTHERS = {
    "trec": b"q1 0 d1 1\nq1 0 d2 0\n",
    "beir": b"query-id\tcorpus-id\tscore\nq1\td1\t1\n\0" + b'{"_id": "q1", "text": "words"}\n',
    "csv": b"id,question,need,locator,page,document\nq1,What?,1,97.1,,\nq1,What?,2,,3,d.pdf\n",
    "prefixes": b'{"q1": {"section_prefixes": ["300.5"], "table_ids": ["Table300.5"]}}',
    "expected-chunks": b'[{"query_id": "q1", "query": "x", "section_path": ["A"], "page": 2}]',
    "qas": b'[{"ID": "1", "questions": "x", "doc_name": "a/b", "evidence_page_no": [1], '
    b'"evidence_context": "c", "evidence_source": "text", "answers": "y"}]',
    "part97": b'{"pool": "t", "id": "1", "question": "x", "gold_sections": ["97.1"], '
    b'"cited": "[97.1(a), (b)]"}',
    "scifact": b"id,claim,cited_doc_ids\n1,Water is wet,[4 5]\n",
}
_JSON_WORDS = ('"gold":', '"any":', '"id":', "null", "[[", "1e999", "NaN", '"locator":', "true")
TARGETS = [
    Target(
        "judgements",
        "questions that are written read back the same, or SourceError",
        judgements,
        lambda: [
            _GOLD,
            b'[judgements]\nname = "x"\n[[question]]\nid = "1"\nquestion = "?"\n'
            b'gold = {any = [{locator = "1.2"}]}\n',
        ],
        _JSON_WORDS,
        4096,
        smoke=150,
    ),
    *(
        Target(
            f"judgements-{form}",
            "questions, or SourceError",
            partial(imported, form),
            lambda form=form: [_OTHERS[form]],  # type: ignore[misc]
            (*_JSON_WORDS, "\t", ",", "q1"),
            smoke=150,
        )
        for form in _OTHERS
    ),
    Target(
        "trec-files",
        "grades that are read back as they were written, or SourceError",
        trec,
        lambda: [b"q1 0 d1 1\nq1 0 d2 0\n"],
        ("0", "inf", "-1", "nan", "\t", "99"),
        smoke=300,
    ),
    Target(
        "stored-run",
        "a run of the right types that can be measured, or SourceError",
        stored_run,
        _runs,
        _JSON_WORDS,
        2000,
        smoke=300,
    ),
    Target(
        "exam",
        "questions whose answer is one of their options, or SourceError",
        exam,
        lambda: [_EXAM.encode(), _EXAM[1:-1].replace("}, {", "}\n{").encode()],
        _JSON_WORDS,
        smoke=300,
    ),
    Target(
        "saved-search",
        "a search to repeat, or SourceError",
        saved_search,
        lambda: [
            b'{"format": 1, "query": "x", "k": 3, "filters": {"pages": [1, 2]}, '
            b'"found": {"hits": []}}'
        ],
        _JSON_WORDS,
        smoke=300,
    ),
]

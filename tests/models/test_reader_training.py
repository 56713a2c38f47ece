"""The reader's examples and tokens: spans hold the answers, windows hold whole sentences."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reader_claims
import reader_tables
import reader_texts
from pincite.model.tables import Table
from reader_data import Example, made, rival, window_around, windows

TEXT = (
    "The harbour office opens at seven. A berth is let for twelve months. The fee is 40 crowns.\n"
    "Boats longer than nine metres pay double. Dogs stay on a lead. The crane lifts 5 t."
)
PARAGRAPH = {
    "title": "Harbour_rules",
    "passage": TEXT,
    "questions": [
        {
            "question": "How long is a berth let?",
            "answers": ["twelve months"],
            "unanswerable": False,
        },
        {"question": "What does a berth cost?", "answers": [], "unanswerable": True},
    ],
}
STATEMENT = '"","2021","2020"\n"Sales","9","8"\n"Costs","5","6"\n"Wages","4","3"\n'


def write(folder: Path, name: str, *rows: Any) -> None:
    with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def marked(example: Example) -> list[str]:
    return [example.passage[a:b] for a, b in example.spans]


def test_paragraphs_give_answers_with_their_sentence_and_questions_without(tmp_path: Path) -> None:
    write(tmp_path, "squad-dev", PARAGRAPH)
    found = list(reader_texts.squad(tmp_path, random.Random(1)))
    span, none = found[0], found[-1]
    assert marked(span) == ["twelve months"] and span.path == "Harbour rules"
    assert [span.passage[a:b] for a, b in span.evidence] == ["A berth is let for twelve months."]
    assert (none.verdict, none.spans) == ("none", ())


def some(examples: Iterator[Example]) -> list[Example]:
    return list(islice(examples, 300))


def test_the_same_seed_gives_the_same_examples(tmp_path: Path) -> None:
    one, two, other = (some(made(tmp_path, seed, ["statements"])) for seed in (7, 7, 8))
    assert one == two != other
    assert 0 < len([each for each in one if each.is_held_out]) < 40


def test_rules_are_answered_by_yes_and_no(tmp_path: Path) -> None:
    rule = {"rule": "## Dogs\n\nDogs stay on a lead.", "scenario": "", "history": []}
    rows = [{**rule, "question": "May dogs run free?", "answer": a} for a in ("No", "Irrelevant")]
    write(tmp_path, "sharc", *rows, {**rows[0], "answer": "Is it yours?"})
    found = list(reader_claims.sharc(tmp_path, random.Random(1)))
    assert [(each.verdict, each.path) for each in found] == [("no", "Dogs"), ("none", "Dogs")]


@pytest.mark.parametrize(
    ("claim", "question"),
    [
        ("Dogs may enter.", "May Dogs enter?"),
        ("The crane was built in 1902.", "Was the crane built in 1902?"),
        ("The harbour has two cranes.", "Does The harbour have two cranes?"),
        ("Nothing else", None),
    ],
)
def test_claims_become_questions(claim: str, question: str | None) -> None:
    assert reader_claims.as_question(claim) == question


def test_cells_are_marked_in_rows_that_name_group_and_head(tmp_path: Path) -> None:
    asked = {"question": "costs in 2020", "answers": ["6"], "split": "training"}
    unseen = {**asked, "split": "pristine-unseen-tables"}
    write(
        tmp_path,
        "wikitablequestions",
        {"table": "a", "csv": STATEMENT, "questions": [asked, unseen]},
    )
    (found,) = reader_tables.wikitables(tmp_path, random.Random(1))
    assert marked(found) == ["6"]
    assert "Costs | 2021: 5 | 2020: 6" in found.passage.splitlines()
    rows = (("Sales:", "", ""), ("Goods", "9", "8"))
    lines = reader_tables.as_rows(Table("", ("", "2021", "2020"), rows)).lines
    assert lines == ("Sales > Goods | 2021: 9 | 2020: 8",)


def test_invented_statements_mark_the_cell_of_row_and_head() -> None:
    found = some(reader_tables.statements(Path(), random.Random(3)))
    for each in found:
        if each.verdict == "span":
            ((start, _),) = each.spans
            head = each.passage[:start].rpartition(" | ")[2].rstrip(": ")
            assert head in each.question
    assert {each.verdict for each in found} == {"span", "none"}


@given(st.integers(0, len(TEXT) - 2), st.integers(1, 30), st.integers(60, 200), st.integers(0, 99))
def test_a_window_holds_what_it_is_around(start: int, length: int, chars: int, seed: int) -> None:
    span = (start, min(start + length, len(TEXT)))
    window = window_around(TEXT, span, random.Random(seed), chars)
    assert window.text == TEXT[window.start : window.start + len(window.text)]
    ((a, b),) = window.inside([span])
    assert window.text[a:b] == TEXT[slice(*span)]


def test_windows_have_all_sentences_once() -> None:
    found = windows(TEXT, 80)
    assert len(found) > 2 and " ".join(w.text for w in found).split() == TEXT.split()


def test_a_rival_shares_words_and_has_no_answer() -> None:
    texts = ["A berth costs much.", "Dogs bark.", "A berth is let for twelve months."]
    found = {
        rival("How long is a berth let?", texts, ["twelve"], random.Random(n)) for n in range(9)
    }
    assert found == {"A berth costs much.", "Dogs bark."}


def test_rivals_are_of_other_documents_on_the_same_side_and_have_no_answer() -> None:
    pytest.importorskip("scipy", reason="needs the group models")
    from reader_rivals import rivals

    def example(document: str, passage: str, answer: str) -> Example:
        at = passage.index(answer)
        span = ((at, at + len(answer)),)
        question = f"How long is a berth of {document} let?"
        return Example("squad", document, question, "", passage, "span", span)

    examples = [
        example(f"harbour {n}", f"A berth is let for {n} months, and longer.", f"{n} months")
        for n in range(2, 60)
    ]
    answers = {each.document: each.passage[slice(*each.spans[0])] for each in examples}
    found = list(rivals(examples, 7))
    assert len(found) > 40
    for each in found:
        home = next(one for one in examples if one.passage == each.passage)
        assert each.verdict == "none" and not each.spans
        assert home.document != each.document and home.is_held_out == each.is_held_out
        assert answers[each.document] not in each.passage


def test_tokens_of_a_span_stand_behind_question_and_headings() -> None:
    pytest.importorskip("onnx", reason="needs the group models")
    from importlib.resources import files

    from tokenizers import Tokenizer

    from reader_network import NO_KIND, ReaderTokens, best_spans

    words = files("pincite.encode").joinpath("minilm", "tokenizer.json").read_text("utf-8")
    tokens = ReaderTokens(Tokenizer.from_str(words), 64)
    start = TEXT.index("twelve")
    example = Example(
        "s",
        "d",
        "How long?",
        "Berths",
        TEXT,
        "span",
        ((start, start + 13),),
        ((start, start + 13),),
    )
    none = Example("s", "d", "How long?", "", "Dogs bark.", "none")
    found = tokens.labelled([example, none])
    ((first, last),) = found.spans[0]
    assert tokens.tokenizer.decode(found.batch.ids[0, first : last + 1].tolist()) == "twelve months"
    assert tokens.tokenizer.decode([found.batch.ids[0, found.begins[0]]]) == "the"
    assert found.answers.tolist() == [1, 0] and found.kinds.tolist() == [0, NO_KIND]
    assert found.evidence[0].sum() - (found.evidence[0] == 1).sum() < 0  # -1 where nobody knows
    logits = np.zeros(found.batch.ids.shape)
    logits[0, first], ends = 9, np.zeros(found.batch.ids.shape)
    ends[0, last] = 9
    allowed = found.batch.is_passage
    assert best_spans(logits, ends, allowed)[0][:2] == (first, last)


def test_the_reader_learns_goes_on_and_says_the_same_when_served(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the group models")
    pytest.importorskip("onnx", reason="needs the group models")
    from dataclasses import replace
    from importlib.resources import files

    import onnxruntime
    from tokenizers import Tokenizer

    from train_reader import ReaderPlan, ReaderTraining
    from training.export import build_reader
    from training.weights import weights_of

    home = files("pincite.search").joinpath("minilm", "model.onnx")
    words = files("pincite.encode").joinpath("minilm", "tokenizer.json").read_text("utf-8")
    plan = replace(ReaderPlan(), steps=4, size=4, max_tokens=64, warm_up=1, half=False)
    examples = some(reader_tables.statements(Path(), random.Random(3)))[:40]

    def training() -> ReaderTraining:
        return ReaderTraining(weights_of(home.read_bytes()), Tokenizer.from_str(words), plan)

    whole, again = training(), training()
    losses = []
    for step in whole.run(examples, 0):
        losses.append(step["spans"])
        if whole.step == 2:
            whole.save(tmp_path)
    assert again.resume(tmp_path) and again.step == 2
    assert [s["spans"] for s in again.run(examples, 0)] == pytest.approx(losses[2:], rel=1e-3)
    labelled = whole.tokens.labelled(examples[:1])
    expected = whole.network.read(labelled.batch)
    session = onnxruntime.InferenceSession(build_reader(whole.network.arrays()).SerializeToString())
    given = {"input_ids": labelled.batch.ids, "token_type_ids": labelled.batch.types}
    answers, kinds, places = session.run(None, given)
    assert answers == pytest.approx(expected.answers.detach().numpy(), abs=1e-3)
    assert kinds == pytest.approx(expected.kinds.detach().numpy(), abs=1e-3)
    assert places == pytest.approx(expected.places.detach().numpy(), abs=1e-3)

"""From judgements to a run, a summary and a page, on an index small enough to know the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.api import Index
from pincite.measure.grades import Measure, parse_all
from pincite.measure.harness import EvalOptions, ask, without
from pincite.measure.questions import JudgedPlace, Question, synthetic_set
from pincite.measure.report import page
from pincite.measure.runs import PipelineRun, Run, load_run, run_name, save_run
from pincite.measure.summary import against_baseline, default_measures, summarise
from pincite.measure.synthetic import made_questions
from pincite.model.errors import ConfigError, SourceError
from pincite.model.settings import Settings, merged
from pincite.search.candidates import Candidates
from pincite.search.pipeline import Searcher, Stage

Make = Callable[..., Index]
NASTY = "<script>alert('x')</script><img src=x onerror=alert(1)>&amp;\u2028"
CODE = (
    "# Code\n\n## 1.1 Rods\n\nA rod is driven to a depth of 2.4 m into moist earth.\n\n"
    "## 1.2 Bells\n\nBells are rung by hand before noon on market days.\n\n"
    "## 1.3 Boats\n\nBoats are moored at both ends with a spring line.\n\n"
    "**Table 1.4 Sizes**\n\n| Rating | Copper |\n|---|---|\n| 15 | 2.5 |\n| 60 | 6 |\n"
)
OTHER = "# Other\n\n## 9.1 Rods\n\nFishing rods bend, and a rod of ash bends most.\n"
LEXICAL = merged(Settings(), {"search": {"preset": "lexical"}}, origin="test")


def q(name: str, text: str, *places: JudgedPlace, **more: Any) -> Question:
    return Question(name, text, tuple((place,) for place in places), **more)


QUESTIONS = [
    q(
        "rods",
        "How deep is a rod driven into earth?",
        JudgedPlace(locator="1.1"),
        labels={"kind": "text"},
    ),
    q("both", "bells noon boats moored", JudgedPlace(locator="1.2"), JudgedPlace(locator="1.3")),
    q("row", "What is the copper size for rating 60?", JudgedPlace(table="Table 1.4", row="60")),
    q("gone", "What does 7.7 say?", JudgedPlace(locator="7.7")),
    q("words", "zyx wvu", JudgedPlace(locator="1.2")),
    q("none", NASTY, unanswerable="no such rule"),
]
MEASURES = parse_all([*default_measures(3), "P@1"])


def asked(
    indexes: Sequence[Index],
    questions: Sequence[Question] = QUESTIONS,
    *,
    k: int = 3,
    depth: int = 20,
    measures: Sequence[Measure] = MEASURES,
) -> Run:
    rows = list(ask(indexes, questions, EvalOptions(depth, k, measures)))
    parts = tuple(
        PipelineRun(f"p{at}", "s", tuple(answers[at] for _, answers in rows))
        for at in range(len(indexes))
    )
    return Run(NASTY, 1, "h", False, 1, 2, 5, k, "today", "0", tuple(a for a, _ in rows), parts)


@pytest.fixture
def index(make_index: Make) -> Index:
    return make_index({"code.md": CODE, f"{NASTY[:8]}.md": OTHER}, LEXICAL)


def test_a_run_has_the_ranks_one_would_count_by_hand(index: Index) -> None:
    run = asked([index])
    by_id = dict(zip(run.ids, run.parts[0].answers, strict=True))
    assert by_id["rods"].rank == 1 and by_id["rods"].hits[0].locator == "1.1"
    assert by_id["gone"].rank is None and by_id["gone"].lost == "not in the documents"
    assert by_id["words"].rank is None and by_id["words"].lost == "first stage"
    assert [a.state for a in run.asked][3:] == ["not in corpus", "judged", "unanswerable"]
    values = summarise(run, MEASURES)
    figures = values["pipelines"][0]["figures"]
    # "gone" and "words" count as 0, "none" does not count.
    assert figures["hit@1"]["n"] == 5 and figures["hit@1"]["value"] == pytest.approx(3 / 5)
    assert figures["all@3"]["value"] == pytest.approx(3 / 5)
    assert values["evaluability"] == pytest.approx(4 / 5)
    assert values["pipelines"][0]["if_evaluable"]["hit@1"] == pytest.approx(3 / 4)
    assert values["pipelines"][0]["losses"]["first stage"] == 1
    assert values["questions"]["counted"] == 5


def test_words_cells_and_strays_are_measured(index: Index) -> None:
    run = asked([index])
    rods = run.parts[0].answers[0]
    assert rods.taken["LCS@2"] == 1.0 >= rods.taken["LCS(loose)@2"] > rods.taken["LCS(floor)@2"]
    assert any(hit.is_astray for hit in rods.hits)
    figures = summarise(run, MEASURES)["pipelines"][0]["figures"]
    assert (figures["cell@3"]["n"], figures["cell@3"]["value"]) == (1, 1.0)
    assert 0 < figures["Contamination@3"]["value"] < 1
    # "gone" is in none of the documents, so that no hit is of the right one; "words" has no hit.
    assert figures["document@1"]["value"] == pytest.approx(3 / 5)
    assert figures["document@3"]["value"] == pytest.approx(3 / 5)
    other = q(
        "row", "What is the copper size for rating 60?", JudgedPlace(table="Table 1.4", row="15")
    )
    figures = summarise(asked([index], [other]), MEASURES)["pipelines"][0]["figures"]
    # The table is found, but what the reader sees of it is not the row that is asked for.
    assert (figures["hit@1"]["value"], figures["cell@3"]["value"]) == (1.0, 0.0)


def test_similarity_is_of_the_nearest_hit(index: Index) -> None:
    measures = parse_all(["Similarity@1", "Similarity@5"])
    answer = "A rod is driven to a depth of 2.4 m into moist earth."
    run = asked([index], [replace(QUESTIONS[0], answer=answer), QUESTIONS[1]], measures=measures)
    first, second = (each.taken for each in run.parts[0].answers)
    assert 0.6 < first["Similarity@1"] <= first["Similarity@5"] <= 1.0 + 1e-6 and not second
    figures = summarise(run, measures)["pipelines"][0]["figures"]
    assert figures["Similarity@1"]["n"] == 1


def fixed(ids: Sequence[str], *proposed: Sequence[str]) -> Stage:
    """Return a stage that finds these, whatever is asked, perhaps proposed by two scorers."""
    ranks = -np.arange(len(ids), dtype=float)
    table = Candidates.of(ids, {"r": ranks})
    for name, own in zip(("lexical", "dense"), proposed, strict=False):
        values = [1.0 - own.index(each) / 100 if each in own else np.nan for each in ids]
        table = table.with_raw(name, np.array(values))
    return lambda query, before: table


def searcher(index: Index, *stages: tuple[str, Stage]) -> Searcher:
    return Searcher(index.searcher.reader, stages)


def test_the_cause_of_a_loss_is_the_stage_that_lost_it(index: Index) -> None:
    chunks = [c.id for c in index.snapshot.chunks("code.md") if c.searched]
    gold = next(c.id for c in index.snapshot.chunks("code.md") if c.locator == "1.1")
    others = [each for each in chunks if each != gold]
    first, late, never = [gold, *others], [*others, gold], others
    cases = {
        "": [("r", fixed(first))],
        "first stage": [("r", fixed(never))],
        "order": [("r", fixed(late))],  # also below the hits that are kept: see depth
        "fusion": [("hybrid", fixed(late, first, never))],
        "diversity": [("r", fixed(first)), ("diversity", fixed(late))],
        "threshold": [
            ("r", fixed(late)),
            ("rerank", fixed(first)),
            ("threshold", fixed(never)),
            ("x", fixed(never)),
        ],
    }
    for lost, stages in cases.items():
        index.searcher = searcher(index, *stages)
        run = asked([index], QUESTIONS[:1], k=2, depth=2)
        assert run.parts[0].answers[0].lost == lost, lost
        assert sum(summarise(run, MEASURES)["pipelines"][0]["losses"].values()) == bool(lost)


def test_stages_can_be_left_out(index: Index) -> None:
    opened = index.opened
    assert "places" in without(opened, LEXICAL, "places").settings.left_out
    assert without(opened, LEXICAL, "spread").searcher.rerankers == []
    with pytest.raises(ConfigError, match="no stage 'magic'") as told:
        without(opened, LEXICAL, "magic")
    assert "spread" in told.value.hint and "pairs" in told.value.hint


def test_a_stored_run_is_the_same_run(index: Index, tmp_path: Path) -> None:
    run = asked([index, without(index.opened, LEXICAL, "pairs")])
    save_run(run, tmp_path / "runs" / run_name(run))
    again = load_run(tmp_path / "runs" / run_name(run))
    assert again == run
    assert summarise(again, MEASURES) == summarise(run, MEASURES)
    assert again.part("p1").name == "p1"
    with pytest.raises(SourceError, match="no pipeline"):
        again.part("p9")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 9}'])
def test_other_files_are_no_runs(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(SourceError, match="not a run"):
        load_run(tmp_path / "run.json")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            yield from leaves(each, (*path, key))


@pytest.mark.parametrize("value", [None, [], {}, "x", -1, 0.5, True, [1], {"0": "x"}])
def test_a_run_with_one_wrong_value_is_refused_or_shown(
    value: object, index: Index, tmp_path: Path
) -> None:
    """Never anything else: whatever loads can be summarised and drawn."""
    run = asked([index], QUESTIONS[:2], measures=MEASURES[:3])
    file = tmp_path / "run.json"
    save_run(run, file)
    text = file.read_text()
    for path in list(leaves(json.loads(text)))[1::3]:
        plain = holder = json.loads(text)
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value
        file.write_text(json.dumps(plain))
        with suppress(SourceError):
            again = load_run(file)
            page([(again, {**summarise(again, MEASURES[:3]), "baseline": []})])


def test_a_loss_against_the_baseline_is_called_one(index: Index) -> None:
    """Forty questions that the old run found and the new one does not."""
    many = [
        replace(QUESTIONS[0], id=f"q{at}", text=f"{QUESTIONS[0].text} {at}") for at in range(40)
    ]
    old = asked([index], many)
    index.searcher = searcher(index, ("r", fixed([])))
    new = asked([index], many)
    verdicts = {row["measure"]: row["verdict"] for row in against_baseline(new, old, MEASURES)}
    assert verdicts["RR"] == verdicts["nDCG@3"] == "worse"
    same = {row["verdict"] for row in against_baseline(old, old, MEASURES)}
    assert same == {"no significant difference"}
    with pytest.raises(ConfigError, match="other judgements"):
        against_baseline(new, replace(old, hash="else"), MEASURES)


def test_a_question_that_is_asked_often_is_one_observation(index: Index) -> None:
    often = [replace(QUESTIONS[0], id=f"q{at}") for at in range(40)]
    old = asked([index], often)
    index.searcher = searcher(index, ("r", fixed([])))
    rows = against_baseline(asked([index], often), old, MEASURES)
    assert {row["verdict"] for row in rows} == {"no significant difference"}


class Reader(HTMLParser):
    """Collects elements and attributes, and checks that elements close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_safe_and_asks_nobody(index: Index) -> None:
    run = asked([index, without(index.opened, LEXICAL, "pairs")])
    text = page([(run, {**summarise(run, MEASURES), "baseline": []})])
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    names = [name for name, _ in reader.found]
    assert names.count("script") == 2 and "img" not in names and "iframe" not in names
    for name, attributes in reader.found:
        assert not any(key.startswith("on") for key in attributes), (name, attributes)
        assert "style" not in attributes  # the page's own policy would not let it through
        for key in ("src", "href", "action", "srcset", "xlink:href"):
            assert attributes.get(key) in (None, "data:,"), (name, attributes)
    assert not re.search(r"https?:|url\(|@import", text)
    assert "alert('x')" not in re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    assert {"svg", "polyline", "circle"} <= set(names)
    for said in ("Where answers are lost", "Is it chance?", "expanded gold", "MISS"):
        assert said in text


def test_a_set_without_answers_makes_a_page_too(index: Index) -> None:
    run = asked([index], QUESTIONS[-1:])
    values = {**summarise(run, MEASURES), "baseline": []}
    assert values["evaluability"] is None and "No question has an answer" in page([(run, values)])


def test_made_questions_say_so_and_find_their_places(index: Index) -> None:
    made = synthetic_set(made_questions(index.snapshot))
    assert made.questions and all(each.synthetic for each in made.questions)
    run = asked([index], made.questions)
    figures = summarise(run, MEASURES)["pipelines"][0]["figures"]
    assert figures["hit@1"]["value"] > 0.5

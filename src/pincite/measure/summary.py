"""What a run says: figures with intervals, comparisons, curves, losses, times.

Everything is made from the run alone and is plain values: the terminal, ``--json`` and the page
show the same ones. The denominator is fixed: every question that has an answer counts, whether the
index has it or not; what the figures would be without the others stands beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pincite.measure.grades import Array, Flags, Grades, Measure, parse, parse_all
from pincite.measure.harness import CAUSES, EvalOptions, ask, clock
from pincite.measure.questions import QuestionSet, load
from pincite.measure.runs import PipelineRun, QuestionRecord, Run, RunAnswer, grades, same_questions
from pincite.measure.statistics import Comparison, adjusted, compare, mean_with_interval
from pincite.model.errors import ConfigError
from pincite.search.reader import IndexReader

CURVE = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
_OPPOSITE = {"better": "worse", "worse": "better"}
MIN_QUESTIONS = 5  # questions in a slice that gets a figure of its own


def default_measures(k: int) -> list[str]:
    """Return what is measured when nothing is asked for."""
    first = [f"nDCG@{k}", f"Judged@{k}", "hit@1", f"Recall@{min(5, k)}", f"Recall@{k}", f"all@{k}"]
    whose = ["document@1", f"document@{min(5, k)}", f"Contamination@{k}"]
    return [*first, "RR", f"cell@{k}", *whose, "LCS@2", "LCS(loose)@2", "LCS(floor)@2"]


def measures_of(run: Run) -> list[str]:
    """Return the usual measures; those of words only where the run took them."""
    taken = {name for part in run.parts for answer in part.answers for name in answer.taken}
    usual = [name for name in default_measures(run.k) if not parse(name).is_of_text]
    return [*usual, *sorted(taken, key=lambda name: (parse(name).depth or 0, len(name)))]


def summarise(run: Run, measures: Sequence[Measure]) -> dict[str, Any]:
    """Return all that a report shows."""
    tables = {part.name: grades(run, part) for part in run.parts}
    shown = [measure for measure in measures if any(_applies(run, measure))]
    questions = {"name": run.questions, "version": run.version, "hash": run.hash}
    questions |= {"is_synthetic": run.is_synthetic, "asked": len(run.asked)}
    states = dict(Counter(asked.state for asked in run.asked))
    return {
        "questions": {**questions, "counted": len(run.judged), "states": states},
        "index": {"generation": run.generation, "documents": run.documents, "chunks": run.chunks},
        "made": run.made,
        "program": run.program,
        "k": run.k,
        "evaluability": float(_evaluable(run).mean()) if run.judged else None,
        "pipelines": [_pipeline(run, part, tables[part.name], shown) for part in run.parts],
        "comparisons": comparisons(run, shown),
        "union": _union(run, tables),
    }


def _pipeline(
    run: Run, part: PipelineRun, table: Grades, measures: Sequence[Measure]
) -> dict[str, Any]:
    figures, if_evaluable = {}, {}
    for measure in measures:
        values, kept = measure.of(table), _applies(run, measure)
        figures[str(measure)] = _figure(run, values, kept)
        both = np.array(kept, dtype=bool) & _evaluable(run)
        if_evaluable[str(measure)] = float(values[both].mean()) if both.any() else None
    return {
        "name": part.name,
        "settings": part.settings,
        "figures": figures,
        "if_evaluable": if_evaluable,
        "expanded": _expanded(run, part),
        "recall_curve": _curve(table),
        "breakdowns": _breakdowns(run, table, measures),
        "losses": _losses(run, part),
        "seconds": _seconds(part),
    }


def _applies(run: Run, measure: Measure) -> list[bool]:
    """Return which of the counted questions a measure is about."""
    asked = [run.asked[at] for at in run.judged]
    if measure.name == "cell":
        return [each.has_cell for each in asked]
    if measure.name == "Similarity":
        return [each.has_answer for each in asked]
    if measure.is_of_text:
        return [each.has_evidence for each in asked]
    return [True] * len(asked)


def _evaluable(run: Run) -> Flags:
    return np.array([run.asked[at].state == "judged" for at in run.judged], dtype=bool)


def _groups(run: Run, kept: Sequence[bool]) -> list[str]:
    return [run.asked[at].group for at, keep in zip(run.judged, kept, strict=True) if keep]


def _figure(run: Run, values: Array, kept: Sequence[bool]) -> dict[str, Any]:
    """Return the mean over the questions that a measure is about, with its interval."""
    return mean_with_interval(values[np.array(kept, dtype=bool)], _groups(run, kept))


def _expanded(run: Run, part: PipelineRun) -> dict[str, float]:
    """Return what the figures become if a neighbour of the gold counts too: a softer target."""
    if not run.judged:
        return {}
    table = grades(run, part, expanded=True)
    softer = parse_all([f"hit@{run.k}", "hit@1", "RR"])
    return {str(measure): float(measure.of(table).mean()) for measure in softer}


def _curve(table: Grades) -> list[tuple[int, float]]:
    depths = [k for k in CURVE if k <= max(table.met.shape[1], 1)] if len(table) else []
    return [(k, float(Measure("Recall", k).of(table).mean())) for k in depths]


def _breakdowns(
    run: Run, table: Grades, measures: Sequence[Measure]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the figures of every label's values that enough questions have."""
    asked = [run.asked[at] for at in run.judged]
    labels = sorted({label for each in asked for label in each.labels})
    wanted = [measure for measure in measures if measure.name not in ("Judged", "cell")][:4]
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for label in labels:
        named = Counter(each.labels.get(label, "") for each in asked)
        for value in sorted(name for name, n in named.items() if name and n >= MIN_QUESTIONS):
            kept = [each.labels.get(label) == value for each in asked]
            figures = {str(m): _figure(run, m.of(table), kept) for m in wanted}
            found.setdefault(label, {})[value] = figures
    return found


def _losses(run: Run, part: PipelineRun) -> dict[str, int]:
    """Return how many answers each cause lost, in the order of the way they go."""
    lost = Counter(part.answers[at].lost for at in run.judged)
    stages = list(dict.fromkeys(stage for answer in part.answers for stage in answer.ranks))
    causes = [*CAUSES, *(stage for stage in stages if stage not in CAUSES)]
    return {cause: lost[cause] for cause in causes if cause in CAUSES or lost[cause]}


def _seconds(part: PipelineRun) -> dict[str, dict[str, float]]:
    """Return median and 95th percentile of the whole search and of every stage."""
    stages = list(dict.fromkeys(name for answer in part.answers for name in answer.stages))
    columns = {"search": [answer.seconds for answer in part.answers]}
    columns |= {name: [a.stages.get(name, 0.0) for a in part.answers] for name in stages}
    return {
        name: {"p50": float(np.median(values)), "p95": float(np.percentile(values, 95))}
        for name, values in columns.items()
        if values
    }


def _union(run: Run, tables: dict[str, Grades]) -> dict[str, Any]:
    """Return what all pipelines together find among their first k, and what only one does."""
    if not run.judged:
        return {}
    found = np.array([Measure("hit", run.k).of(table) > 0 for table in tables.values()])
    alone = found.sum(axis=0) == 1
    return {
        "k": run.k,
        "any": int(found.any(axis=0).sum()),
        "all": int(found.all(axis=0).sum()),
        "only": {name: int((row & alone).sum()) for name, row in zip(tables, found, strict=True)},
        "of": len(run.judged),
    }


def comparisons(run: Run, measures: Sequence[Measure]) -> list[dict[str, Any]]:
    """Return every measure of every other pipeline beside the first, adjusted for their number."""
    if not run.judged:
        return []
    first, *others = run.parts
    return _comparisons(run, [(part, first) for part in others], measures, first.name)


def against_baseline(run: Run, baseline: Run, measures: Sequence[Measure]) -> list[dict[str, Any]]:
    """Return every measure of each pipeline beside the same pipeline in an earlier run."""
    if not same_questions(run, baseline):
        raise ConfigError(
            f"the baseline asked other questions or has other judgements ({baseline.questions} "
            f"version {baseline.version}, hash {baseline.hash}; now hash {run.hash})",
            hint="make the baseline again with these judgements",
        )
    # The baseline's part of the same name; if it has but one, that one.
    is_one = len(baseline.parts) == 1
    pairs = [(part, baseline.part("" if is_one else part.name)) for part in run.parts]
    return _comparisons(run, pairs, measures, "baseline")


def _compared(run: Run, measure: Measure, old: Grades, new: Grades) -> Comparison:
    kept = _applies(run, measure)
    mask, sign = np.array(kept, dtype=bool), -1 if measure.is_better_low else 1
    first, second = (sign * measure.of(each)[mask] for each in (old, new))
    found = compare(first, second, _groups(run, kept))
    if sign > 0:
        return found
    low, high = found.interval
    # 0.0 - x is never the -0.0 that would be printed as a loss.
    return replace(found, difference=0.0 - found.difference, interval=(0.0 - high, 0.0 - low))


def _comparisons(
    run: Run, pairs: Sequence[tuple[PipelineRun, PipelineRun]], measures: Sequence[Measure], to: str
) -> list[dict[str, Any]]:
    """Return every measure of each part beside that of its other, adjusted for their number."""
    counted = [
        measure
        for measure in measures
        if measure.variant != "floor" and measure.name != "Judged" and any(_applies(run, measure))
    ]
    tables = [(part.name, grades(run, other), grades(run, part)) for part, other in pairs]
    asked = [(name, m, _compared(run, m, old, new)) for name, old, new in tables for m in counted]
    rows = []
    for (name, measure, _), each in zip(asked, adjusted([c for *_, c in asked]), strict=True):
        row = {"to": to, "pipeline": name, "measure": str(measure), **each.plain()}
        if measure.is_better_low:  # a measure of harm is better where it falls
            row["verdict"] = _OPPOSITE.get(each.verdict, each.verdict)
        rows.append(row)
    return rows


class Evaluation(Mapping[str, float]):
    """What a run says: a value for each measure; ``summary`` has intervals, losses and times."""

    def __init__(self, run: Run, measures: Sequence[str]) -> None:
        self.run = run
        self.summary: dict[str, Any] = summarise(run, parse_all(measures))
        self._figures = self.summary["pipelines"][0]["figures"]

    def __getitem__(self, measure: str) -> float:
        if measure not in self._figures:  # one that nobody named before
            found = summarise(self.run, [parse(measure)])["pipelines"][0]["figures"]
            self._figures = {**self._figures, **found}
        return float(self._figures[measure]["value"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def interval(self, measure: str) -> tuple[float, float]:
        """Return the 95 % interval of a measure."""
        self[measure]
        return float(self._figures[measure]["low"]), float(self._figures[measure]["high"])


def evaluate(
    index: IndexReader,
    questions: Path,
    measures: Iterable[str] = (),
    *,
    k: int = 10,
    depth: int = 50,
) -> Evaluation:
    """Return how good an index is on the judged questions of a file."""
    named = list(measures) or default_measures(k)
    parsed = parse_all(named)
    deep = max(depth, k, *(each.depth or 1 for each in parsed))
    asked = load(questions)
    rows = ask([index], asked.questions, EvalOptions(deep, k, parsed))
    name = index.settings.search.preset
    return Evaluation(run_of(asked, {name: index}, list(rows), k), named)


def run_of(
    questions: QuestionSet,
    indexes: Mapping[str, IndexReader],
    rows: Sequence[tuple[QuestionRecord, list[RunAnswer]]],
    k: int,
    version: str = "",
) -> Run:
    """Return a run of what every pipeline answered to every question, by this version of ours."""
    parts = []
    for at, (name, index) in enumerate(indexes.items()):
        stages, settings = "+".join(index.searcher.rerankers), index.settings.fingerprint()
        own = f"{settings}/{stages}" if stages else settings
        parts.append(PipelineRun(name, own, tuple(answers[at] for _, answers in rows)))
    snapshot = next(iter(indexes.values())).snapshot
    return Run(
        questions.name,
        questions.version,
        questions.hash,
        any(question.synthetic for question in questions.questions),
        snapshot.manifest.generation,
        len(snapshot.documents()),
        len(snapshot),
        k,
        clock(),
        version,
        tuple(asked for asked, _ in rows),
        tuple(parts),
    )

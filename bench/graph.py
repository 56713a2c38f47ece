"""What the graph adds to lexical search on Part 97 and on the spells of the SRD, and its cost.

    python bench/graph.py --data ../shared/data [--only WORDS] [--json]

Each line compares one setting with no graph on the same questions: paired differences with 95 %
intervals under resampling (by question on Part 97, by spell on the SRD).
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.part97 import DOCUMENT, read_questions
from node_vectors import NodeNearness
from pincite.api import Index
from pincite.measure.statistics import bootstrap_interval
from pincite.model.settings import SearchSettings, Settings
from pincite.model.tuning import GraphTuning
from pincite.model.types import Query, Span
from pincite.search.build import build
from pincite.search.graph import PRESETS
from pincite.search.neighbours import Neighbours
from pincite.search.pipeline import Searcher
from pincite.update import ingest_files

Array = np.ndarray[Any, np.dtype[Any]]
DEPTH = 40
SEED_COUNTS = 12
_ONLY = {"reference": 0.0, "exception": 0.0, "term": 0.0, "part": 0.0, "next": 0.0, "other": 0.0}
BFS = GraphTuning(mode="bfs", seed_k=12, depth=1)
VARIANTS: dict[str, GraphTuning | str] = {
    "off": GraphTuning(),
    "s1-code": replace(PRESETS["s1-code"], scale="best"),
    "s1-recommended": replace(PRESETS["s1-recommended"], scale="best"),
    "bfs 0.02": replace(BFS, boost=0.02),
    "bfs 0.05": BFS,
    "bfs 0.1": replace(BFS, boost=0.1, cap=0.2),
    "bfs 0.2": replace(BFS, boost=0.2, cap=0.4),
    "bfs 0.05, 3 seeds": replace(BFS, seed_k=3),
    "bfs 0.1, 3 seeds": replace(BFS, seed_k=3, boost=0.1),
    "bfs 0.05, 3 seeds, 2 steps": replace(BFS, seed_k=3, depth=2),
    "bfs 0.05, nothing added": replace(BFS, adds=False),
    "bfs 0.1, references only": replace(BFS, boost=0.1, **{**_ONLY, "reference": 1.0}),
    "bfs 0.1, terms only": replace(BFS, boost=0.1, **{**_ONLY, "term": 1.0}),
    "bfs 0.1, parts only": replace(BFS, boost=0.1, **{**_ONLY, "part": 1.0}),
    "bfs 0.1, next only": replace(BFS, boost=0.1, **{**_ONLY, "next": 1.0}),
    "3 seeds, 2 steps, no damping": replace(BFS, seed_k=3, depth=2, damping=0.0),
    "the same, without next": replace(BFS, seed_k=3, depth=2, damping=0.0, next=0.0),
    "the same, terms only": replace(BFS, seed_k=3, depth=2, damping=0.0, **{**_ONLY, "term": 1.0}),
    "the same, references only": replace(
        BFS, seed_k=3, depth=2, damping=0.0, **{**_ONLY, "reference": 1.0}
    ),
    "ppr 0.02": replace(BFS, mode="ppr", boost=0.02),
    "ppr 0.05": replace(BFS, mode="ppr", boost=0.05),
    "ppr 0.1": replace(BFS, mode="ppr", boost=0.1),
    "ppr 0.1, 2 steps": replace(BFS, mode="ppr", boost=0.1, depth=2),
    "nodes 0.02": "0.02",
    "nodes 0.1": "0.1",
    "entities first": "entities",
}
Asked = tuple[str, str, list[Span]]  # group, question, where the answer stands


def words(index: Index, *, names: bool, graph: GraphTuning) -> Settings:
    """Return settings of a search by words, which is not spread."""
    search = SearchSettings(preset="lexical", without="" if names else "names")
    return index.settings.changed({"search": search, "tuning.spread": 0.0, "tuning.graph": graph})


def part97(data: Path, folder: Path) -> tuple[Index, list[Asked]]:
    settings = Settings()
    settings = replace(settings, ingest=replace(settings.ingest, split_depth=1))
    list(ingest_files([(data / "part97" / DOCUMENT, DOCUMENT)], folder, settings))
    index = Index.open(folder, settings)
    asked = []
    for question in read_questions(data / "part97" / "questions_dev.jsonl"):
        clauses = index.snapshot.found_by(question.clauses)
        gold = [c.span for c in clauses if c.kind in ("section", "clause")]
        if gold:
            asked.append((question.id, question.text, gold))
    return index, asked


def spells(data: Path, folder: Path) -> tuple[Index, list[Asked]]:
    """Each thing stands there twice, alone and grouped by letter: the files of their own count."""
    root = data / "srd-5.1"
    inside = [file.relative_to(root) for file in sorted(root.rglob("*/*.md"))]
    names = [name for name in inside if "(Alt)" not in str(name)]
    list(ingest_files([(root / name, str(name)) for name in names], folder))
    index = Index.open(folder)
    homes = {_slug(name.stem): str(name) for name in names if name.parts[0] == "Spells"}
    asked = []
    for item in json.loads((root / "spell_questions_dev.json").read_text(encoding="utf-8")):
        name = homes.get(_slug(Path(item["source_document"]).stem))
        if name:
            asked.append((name, item["question"], [Span(name, 0, 10**9)]))
    return index, asked


def _slug(name: str) -> str:
    return re.sub(r"[^a-z]+", "", name.lower())


class Bench:
    """An index with its questions, and what all variants share."""

    def __init__(self, index: Index, asked: Sequence[Asked]) -> None:
        self.index = index
        self.asked = asked
        self.groups = [group for group, _, _ in asked]
        documents = index.documents()
        self.spans = {c.id: c.span for d in documents for c in index.snapshot.chunks(d)}

    def searcher(self, variant: GraphTuning | str) -> Searcher:
        """Return search by words, named places first, with what a variant adds."""
        graph = variant if isinstance(variant, GraphTuning) else GraphTuning()
        found = build(
            words(self.index, names=variant == "entities", graph=graph), self.index.opened
        )
        if isinstance(variant, GraphTuning) or variant == "entities":
            return found
        near = NodeNearness(found.reader.neighbours, BFS, weight=float(variant))
        return replace(found, stages=[*found.stages, ("nodes", near)])

    def reciprocal_ranks(self, variant: GraphTuning | str) -> Array:
        """Return the reciprocal rank of the first answer of each question."""
        searcher = self.searcher(variant)
        values = []
        for _, text, gold in self.asked:
            spans = [self.spans[i] for i in searcher.search(Query(text), DEPTH).names()]
            found = (
                1 / rank
                for rank, span in enumerate(spans, 1)
                if any(place.overlap(span) == len(span) for place in gold)
            )
            values.append(next(found, 0.0))
        return np.array(values)


def times(index: Index, asked: Sequence[Asked]) -> Iterator[tuple[str, float]]:
    """Yield the milliseconds of processor time for the neighbours of the best 12 chunks."""
    plain = build(words(index, names=False, graph=GraphTuning()), index.opened)
    seeds = [plain.find(Query(text), SEED_COUNTS).names() for _, text, _ in asked[:200]]
    remembered = Neighbours(index.snapshot)
    rounds = {"first": [], "again": [], "anew": []}  # type: dict[str, list[list[float]]]
    for _ in range(3):
        for name in rounds:
            took = []
            for ids in seeds:
                known = Neighbours(index.snapshot) if name == "anew" else remembered
                start = time.thread_time()
                known.of(ids)
                took.append(1000 * (time.thread_time() - start))
            rounds[name].append(took)
    # A busy machine only ever adds: the best of the rounds. What is remembered has but one first.
    rounds["first"] = rounds["first"][:1]
    for name, runs in rounds.items():
        best = np.min(runs, axis=0)
        yield f"{name} p50", float(np.median(best))
        yield f"{name} p95", float(np.percentile(best, 95))


def compared(bench: Bench, only: str) -> Iterator[dict[str, object]]:
    base = bench.reciprocal_ranks(GraphTuning())
    for name, variant in VARIANTS.items():
        if only not in name:
            continue
        values = bench.reciprocal_ranks(variant)
        line: dict[str, object] = {"variant": name}
        for figure, now, then in (
            ("mrr", values, base),
            ("hit@1", values == 1.0, base == 1.0),
            ("recall@5", values >= 1 / 5, base >= 1 / 5),
            ("recall@20", values >= 1 / 20, base >= 1 / 20),
        ):
            change = now.astype(float) - then.astype(float)
            interval = bootstrap_interval(change, bench.groups)
            line[figure] = float(np.mean(now))
            line[f"{figure} change"] = (float(change.mean()), *interval)
        line["better, worse"] = (int((values > base).sum()), int((values < base).sum()))
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", default="", help="variants with this in their name")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for name, prepare in (("part97 clauses", part97), ("srd spells", spells)):
        with tempfile.TemporaryDirectory(prefix="pincite-") as folder:
            index, asked = prepare(options.data, Path(folder))
            print(f"{name}: {len(asked)} questions")
            print("  ms:", {key: round(value, 2) for key, value in times(index, asked)})
            for line in compared(Bench(index, asked), options.only):
                print(json.dumps(line) if options.json else _row(line), flush=True)
            index.close()


def _row(line: dict[str, object]) -> str:
    parts = [f"{line['variant']!s:28}"]
    for figure in ("mrr", "hit@1", "recall@5", "recall@20"):
        change, low, high = line[f"{figure} change"]  # type: ignore[misc]
        parts.append(f"{figure} {line[figure]:.3f} ({change:+.3f}, {low:+.3f} to {high:+.3f})")
    return "  ".join([*parts, "better {}, worse {}".format(*line["better, worse"])])  # type: ignore[misc]


if __name__ == "__main__":
    main()

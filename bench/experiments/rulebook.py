"""A rulebook assistant's published ablations, on the spells of SRD 5.1 with their names masked.

The published hybrid is BM25 (k1 1.5, b 0.75) and vectors, min-max, 0.4 and 0.6. Around it: the
graph boost with both published parameter sets, other names, chapter routing at three widths,
traversal. Ours stands beside it with the same switches. Every question counts, also where a route
leaves its answer out; what the figures are without those questions is a column of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments import srd
from experiments.collection import DEPTH, Question
from experiments.indexes import opened
from experiments.tables import Cell, Table
from pincite.api import Index
from pincite.index.filters import group_name
from pincite.measure.statistics import bootstrap_interval, compare, holm
from pincite.model.settings import Settings
from pincite.model.tuning import LexicalTuning, RoutingTuning
from pincite.search.graph import PRESETS
from pincite.search.neighbours import Neighbours

# Width of the route → published evaluability, and MRR and hit@1 of the evaluable questions.
PUBLISHED_ROUTES = {3: (0.39, 0.85, 0.80), 8: (0.59, 0.81, 0.75), 12: (0.70, 0.79, 0.73)}
PUBLISHED_EXPANDED = "+0.004 to +0.007"
K = 4  # hits that the published system shows


@dataclass(frozen=True, slots=True)
class Variant:
    """One pipeline, what it is compared with, and what was published about the step."""

    settings: Settings
    base: str = ""
    published: str = ""
    width: int = 0  # of the route; 0: everything is searched


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where a question's answer stands under one variant; 0: not among the hits."""

    group: str
    rank: int
    near_rank: int  # if neighbours of the answer in the graph count too
    is_evaluable: bool  # the route leaves the answer in


def variants(own: Settings) -> dict[str, Variant]:
    """Return the published pipeline and ours, each with its switches, by name."""
    words = LexicalTuning(k1=1.5, b=0.75, content_words=False, bigram_weight=0.0, window_weight=0.0)
    ours = own.changed({"search.preset": "default"})
    published = ours.leaving_out("names").changed(
        {
            "search.meaning_weight": 0.6,
            "tuning.fusion": "minmax",
            "tuning.spread": 0.0,
            "tuning.lexical": words,
            "tuning.graph.mode": "off",
        }
    )
    with_aliases, published = published.taking_in("aliases"), published.leaving_out("aliases")
    found = {
        "published": Variant(published),
        "published + graph (code)": Variant(
            published.changed({"tuning.graph": PRESETS["s1-code"]}), "published", "limited lift"
        ),
        "published + graph (recommended)": Variant(
            published.changed({"tuning.graph": PRESETS["s1-recommended"]}),
            "published",
            "improves MRR",
        ),
        "published + aliases": Variant(with_aliases, "published", "MRR unchanged"),
        "traversal": Variant(own.changed({"search.preset": "traversal"}), "published"),
        "ours": Variant(ours, "published"),
        "ours + graph": Variant(ours.changed({"tuning.graph.mode": "bfs"}), "ours"),
        "ours without aliases": Variant(ours.leaving_out("aliases"), "ours"),
    }
    for width in PUBLISHED_ROUTES:
        # Always narrow, as published; by default an unsure route is not taken.
        routing = RoutingTuning(top_n=width, min_confidence=0.0)
        found[f"ours, {width} chapters"] = Variant(
            ours.changed({"search.route_by": "chapter", "tuning.routing": routing}),
            "ours",
            width=width,
        )
    return found


def run(data: Path, questions: Path, own: Settings) -> Iterator[dict[str, Ranks]]:
    """Yield for each question its ranks under every variant; nothing if its spell is missing."""
    made = variants(own)
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        (collection,) = srd.read(data, questions, Path(scratch))
        fitted = [collection.fitted(each.settings) for each in made.values()]
        with opened(collection.files, fitted) as indexes:
            asking = dict(zip(made, indexes, strict=True))
            neighbours = Neighbours(indexes[0].snapshot)
            for question in collection.questions:
                yield _asked(question, asking, made, neighbours) if question.gold else {}


def _asked(
    question: Question,
    indexes: dict[str, Index],
    made: dict[str, Variant],
    neighbours: Neighbours,
) -> dict[str, Ranks]:
    (document,) = question.gold
    snapshot = next(iter(indexes.values())).snapshot
    gold = {chunk.id for chunk in snapshot.chunks(document)}
    searched = [chunk.id for chunk in snapshot.chunks(document) if chunk.searched]
    edges = (edge for some in neighbours.of(searched).values() for edge in some)
    near = gold | {edge.chunk_id for edge in edges}
    found = {}
    for name, index in indexes.items():
        ids = index.search_ranking(question.text, DEPTH).ids
        found[name] = Ranks(
            question.group,
            _first(ids, gold),
            _first(ids, near),
            _is_on_route(index, question.text, document, made[name].width),
        )
    return found


def _first(ids: Sequence[str], wanted: set[str]) -> int:
    return next((rank for rank, chunk_id in enumerate(ids, 1) if chunk_id in wanted), 0)


def _is_on_route(index: Index, text: str, document: str, width: int) -> bool:
    """Return whether the route of a question leads to the document that answers it."""
    if not width:
        return True
    router = index.searcher.router
    route = router.route(index.parse(text)).top(width) if router else ()
    name = group_name("chapter", document)
    # With no evidence for any chapter, everything is searched.
    return not route or any(each == name or each.startswith(f"{name} > ") for each in route)


def tables(rows: Sequence[dict[str, Ranks]], own: Settings) -> list[Table]:
    """Return the ablations, and what routing does to all questions and to those it leaves."""
    judged = [row for row in rows if row]
    return [_ablations(judged, variants(own)), _routes(judged)]


def _ablations(rows: Sequence[dict[str, Ranks]], made: dict[str, Variant]) -> Table:
    names = [name for name, each in made.items() if not each.width]
    groups = [row["published"].group for row in rows]
    changes = {
        name: compare(
            [_reciprocal(row[made[name].base].rank) for row in rows],
            [_reciprocal(row[name].rank) for row in rows],
            groups,
        )
        for name in names
        if made[name].base
    }
    adjusted = dict(zip(changes, holm([each.p for each in changes.values()]), strict=True))
    found: list[Mapping[str, Cell]] = []
    for name in names:
        own = [row[name] for row in rows]
        mrr = _mean([_reciprocal(each.rank) for each in own])
        near = _mean([_reciprocal(each.near_rank) for each in own])
        change = changes.get(name)
        found.append(
            {
                "pipeline": name,
                "MRR": mrr,
                "hit@1": _mean([float(each.rank == 1) for each in own]),
                f"hit@{K}": _mean([float(0 < each.rank <= K) for each in own]),
                "MRR change": change.difference if change else None,
                "95 %": change.interval if change else None,
                "p (Holm)": adjusted.get(name),
                "published": made[name].published,
                "expanded gold": near - mrr,
                "published expanded": PUBLISHED_EXPANDED if "+ graph" in name else "",
            }
        )
    notes = [
        f"{len(rows)} questions about spells, names masked; a hit is a chunk of the spell's file.",
        "Changes are beside “published”; those of variants of ours beside “ours”.",
        "Expanded gold: what MRR gains if neighbours of the answer count too. Not a result.",
    ]
    return Table("Ablations", found, notes)


def _routes(rows: Sequence[dict[str, Ranks]]) -> Table:
    found: list[Mapping[str, Cell]] = []
    for width in (*PUBLISHED_ROUTES, 0):
        own = [row[f"ours, {width} chapters" if width else "ours"] for row in rows]
        left = [each for each in own if each.is_evaluable]
        share, mrr, hit = PUBLISHED_ROUTES.get(width, (None, None, None))
        all_mrr = [_reciprocal(each.rank) for each in own]
        found.append(
            {
                "chapters": str(width) if width else "all",
                "evaluability": len(left) / len(own),
                "MRR": _mean(all_mrr),
                "95 %": bootstrap_interval(all_mrr, [each.group for each in own]),
                "hit@1": _mean([float(each.rank == 1) for each in own]),
                "MRR if evaluable": _mean([_reciprocal(each.rank) for each in left]),
                "hit@1 if evaluable": _mean([float(each.rank == 1) for each in left]),
                "published evaluability": share,
                "published MRR if evaluable": mrr,
                "published hit@1 if evaluable": hit,
                "published MRR, all questions": mrr * share if mrr and share else None,
                "published hit@1, all questions": hit * share if hit and share else None,
            }
        )
    notes = [
        "MRR and hit@1 count every question. The published figures count those whose answer the "
        "route leaves in; times evaluability, the widest of the published routes is the best.",
    ]
    return Table("Chapter routing", found, notes)


def _reciprocal(rank: int) -> float:
    return 1 / rank if rank else 0.0


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0

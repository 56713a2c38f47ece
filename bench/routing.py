"""What routing buys: OHR-Bench without the oracle of the domain, and chapters of a rulebook.

    python bench/routing.py ohr --data ../shared/data
    python bench/routing.py srd --data ../shared/data

Prints one JSON line for each setting. ``reachable`` is the share of questions whose gold place is
in one of the searched groups: a question that routing makes unanswerable counts as a miss in every
other figure.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.ohr_bench import (
    Scored,
    all_files,
    fixed_pieces,
    read_questions,
    scored,
    summarise,
)
from pincite.api import Index
from pincite.index.filters import group_name
from pincite.measure.words import WordNumbers
from pincite.model.settings import Settings, merged
from pincite.model.tuning import RoutingTuning
from pincite.model.types import Query
from pincite.search.build import build
from pincite.search.pipeline import Searcher
from pincite.search.query import ParsedQuery
from pincite.update import ingest_files

DEPTH = 20


def rule_files(folder: Path) -> list[tuple[Path, str]]:
    """Return the rulebook's files; what is there twice ("(Alt)") is taken once."""
    files = sorted(folder.rglob("*.md"))
    named = [(file, file.relative_to(folder).as_posix()) for file in files]
    skipped = ("README.md", "PROVENANCE.md", "Changelog.md", "Legal.md")
    return [(file, name) for file, name in named if "(Alt)" not in name and name not in skipped]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the document that answers it."""

    text: str
    document: str


def srd_questions(folder: Path) -> list[Asked]:
    items = json.loads((folder / "spell_questions_dev.json").read_text(encoding="utf-8"))
    files = {
        Path(name).stem.casefold().replace(" ", "-").replace("'", "").replace("/", "-"): name
        for _, name in rule_files(folder)
        if name.startswith("Spells/")
    }
    stems = [(item["question"], Path(item["source_document"]).stem.casefold()) for item in items]
    return [Asked(text, files.get(stem, f"missing:{stem}")) for text, stem in stems]


def routed(index: Index, by: str = "off", **routing: Any) -> Searcher:
    """Return a search by words alone with a router before it."""
    values = {"preset": "lexical", "without": "places,names", "route_by": by}
    tuning = {"routing": RoutingTuning(**routing)}
    settings = merged(index.settings, {"search": values, "tuning": tuning}, origin="routing")
    return build(settings, index.opened)


def variants(index: Index, by: str, tops: Sequence[int]) -> Iterator[tuple[str, Searcher]]:
    """Yield names and searches: none, routed with and without a way back."""
    yield "no routing", routed(index)
    for top_n in tops:
        for least in (0.0, 0.3, 0.6):
            searcher = routed(index, by, top_n=top_n, min_confidence=least)
            yield f"top {top_n}, confidence {least}", searcher


def searched_groups(searcher: Searcher, text: str) -> Sequence[str] | None:
    """Return the groups that a question is asked in; None for all."""
    if searcher.router is None:
        return None
    return searcher.router.route(ParsedQuery(Query(text), searcher.reader)).chosen or None


def with_searcher(index: Index, searcher: Searcher) -> Index:
    changed = Index(index.opened, index.settings)
    changed.searcher = searcher
    return changed


def ohr(data: Path) -> None:
    settings = fixed_pieces(Settings())
    questions = read_questions(data / "qas_dev.json")
    with tempfile.TemporaryDirectory(prefix="pincite-") as folder:
        list(ingest_files(all_files(data / "gt"), folder, settings))
        with Index.open(folder, settings) as index:
            known = set(index.documents())
            questions = [each for each in questions if not known.isdisjoint(each.doc_ids)]
            domain = {question.text: question.domain for question in questions}
            words = WordNumbers()
            for name, searcher in [
                *variants(index, "folder", (1, 2, 3)),
                ("oracle domain", oracle(index, lambda text: f"folder:{domain[text]}")),
            ]:
                asked = with_searcher(index, searcher)
                answered = [scored(asked, each, words) for each in questions]
                reached = []
                for each in questions:
                    groups = searched_groups(searcher, each.text)
                    reached.append(groups is None or f"folder:{each.domain}" in groups)
                print_ohr(name, answered, reached)


def oracle(index: Index, gold: Callable[[str], str]) -> Searcher:
    """Return a search that is told the group: for comparison, never for use."""
    searcher = routed(index, "folder", min_confidence=1.0)
    assert searcher.router is not None
    searcher.router.oracle_groups = lambda text: [gold(text)]
    return searcher


def print_ohr(name: str, answered: list[Scored], reached: list[bool]) -> None:
    values = summarise(answered).values
    by_domain = defaultdict(list)
    for each in answered:
        by_domain[each.question.domain].append(float((each.page_rank or DEPTH + 1) <= DEPTH))
    report: dict[str, Any] = {
        "set": "ohr-bench",
        "routing": name,
        "strict_lcs": round(values["strict_lcs"], 2),
        "page_recall@20": round(values["page_recall@20"], 4),
        "reachable": round(fmean(reached), 4) if "oracle" not in name else 1.0,
        "recall_by": {domain: round(fmean(some), 4) for domain, some in sorted(by_domain.items())},
    }
    print(json.dumps(report), flush=True)


def srd(data: Path) -> None:
    questions = srd_questions(data)
    with tempfile.TemporaryDirectory(prefix="pincite-") as folder:
        list(ingest_files(rule_files(data), folder, Settings()))
        with Index.open(folder) as index:
            known = set(index.documents())
            asked = [each for each in questions if each.document in known]
            for by in ("folder", "chapter", "document"):
                tops = (1, 3, 8, 12) if by != "folder" else (1, 3)
                for name, searcher in variants(index, by, tops):
                    print_srd(index, by, name, searcher, asked)


def print_srd(index: Index, by: str, name: str, searcher: Searcher, questions: list[Asked]) -> None:
    ranks, reached = [], []
    for each in questions:
        ids = searcher.find(Query(each.text), DEPTH).names()
        found = [chunk.span.doc_id for chunk in index.snapshot.get(ids)]
        ranks.append(found.index(each.document) + 1 if each.document in found else None)
        groups = searched_groups(searcher, each.text)
        gold = group_name(by, each.document)  # type: ignore[arg-type]
        reached.append(groups is None or any(group.startswith(gold) for group in groups))
    report = {
        "set": "srd-5.1",
        "by": by,
        "routing": name,
        "questions": len(questions),
        "reachable": round(fmean(reached), 4),
        "mrr": round(fmean(1 / rank if rank else 0.0 for rank in ranks), 4),
        "hit@1": round(fmean(rank == 1 for rank in ranks), 4),
    }
    print(json.dumps(report), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=("ohr", "srd"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    if options.set == "ohr":
        ohr(options.data / "ohr-bench")
    else:
        srd(options.data / "srd-5.1")


if __name__ == "__main__":
    main()

"""OHR-Bench: two chunks a question, scored by the evidence they hold.

The corpus is ``gt/<domain>/*.json``; each domain is an index of its own and a question is asked in
the domain of its document (that is the benchmark's protocol: an oracle of the domain). Without
the oracle, all documents are in one index, in a folder for each domain.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.indexes import opened
from figures import Figures
from pincite.api import Index
from pincite.measure.words import WordNumbers, lcs_score
from pincite.model.errors import MALFORMED, SourceError
from pincite.model.settings import Settings
from pincite.model.types import Chunk
from pincite.read.chunks import estimated_tokens
from pincite.read.formats.latex_words import plain_latex

# Questions of "paper" are about documents of two folders; where both have one, "paper" has the
# version the questions were written for.
FOLDERS: dict[str, tuple[str, ...]] = defaultdict(tuple, {"paper": ("academic", "paper")})
_CELL_END = re.compile(r"(?<!\\)&|\\\\")
RETURNED = 2
BUDGET_TOKENS = 2048
RECALL_DEPTHS = (1, 2, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its gold page and evidence."""

    id: str
    text: str
    domain: str
    document: str
    page: int
    evidence: str
    kind: str

    @property
    def doc_ids(self) -> tuple[str, str]:
        """The question's document: in an index of its domain, and in one of all domains."""
        return f"{self.document}.json", f"{self.domain}/{self.document}.json"


@dataclass(frozen=True, slots=True)
class Scored:
    """What one question got."""

    question: Question
    strict: float
    loose: float
    budget: float  # strict, of as many chunks as fit into BUDGET_TOKENS
    page_rank: int | None  # of the first chunk of the gold page


def read_questions(file: Path) -> list[Question]:
    """Return the questions of a file in the benchmark's own format."""
    try:
        items = json.loads(file.read_text(encoding="utf-8"))
        return [_question(item) for item in items]
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"{file} is not a question file of OHR-Bench: {error!r}",
            hint="it is a JSON list with doc_name, questions, evidence_context, evidence_page_no",
        ) from error


def _question(item: Mapping[str, Any]) -> Question:
    domain, _, document = item["doc_name"].partition("/")
    found, kind = item["evidence_context"], str(item["evidence_source"])
    evidence = found if isinstance(found, str) else " ".join(map(str, found))
    return Question(
        id=str(item["ID"]),
        text=item["questions"],
        domain=domain,
        document=document,
        page=int(item["evidence_page_no"]),
        evidence=_as_read(evidence) if kind == "table" else evidence,
        kind=kind,
    )


def _as_read(evidence: str) -> str:
    r"""Return rows of LaTeX as the reader has them, for the measure compares words.

    >>> _as_read(r"Assets & $\mathbf{7 2 9 . 3}$ \\")
    'Assets 729.3 '
    """
    return " ".join(map(plain_latex, _CELL_END.split(evidence)))


def run(
    data: Path, questions: Path, pipelines: Sequence[Settings], *, oracle: bool = True
) -> Iterator[list[Scored]]:
    """Yield what each pipeline got for each question; nothing if its document is missing."""
    fixed = [fixed_pieces(each) for each in pipelines]
    by_domain: dict[str, list[Question]] = {}
    for question in read_questions(questions):
        by_domain.setdefault(question.domain if oracle else "", []).append(question)
    for domain, asked in sorted(by_domain.items()):
        if oracle:
            files = [(file, file.name) for file in domain_files(data / "gt", domain)]
        else:
            files = all_files(data / "gt")
        with opened(files, fixed, lenient=True) as indexes:
            known = set(indexes[0].documents())
            words = WordNumbers()
            for question in asked:
                is_known = not known.isdisjoint(question.doc_ids)
                yield [scored(index, question, words) for index in indexes if is_known]


def fixed_pieces(settings: Settings) -> Settings:
    """Return the settings with the benchmark's chunks."""
    return replace(settings, ingest=replace(settings.ingest, chunking="fixed", profile="none"))


def all_files(corpus: Path) -> list[tuple[Path, str]]:
    """Return the documents of all domains with their ids, which begin with the domain."""
    merged = {name for folders in FOLDERS.values() for name in folders} - FOLDERS.keys()
    domains = sorted({path.name for path in corpus.iterdir() if path.is_dir()} - merged)
    return [
        (file, f"{domain}/{file.name}")
        for domain in domains
        for file in domain_files(corpus, domain)
    ]


def domain_files(corpus: Path, domain: str) -> list[Path]:
    """Return the documents of a domain, one for each name."""
    named: dict[str, Path] = {}
    for folder in FOLDERS[domain] or (domain,):
        named.update({file.name: file for file in sorted((corpus / folder).glob("*.json"))})
    if not named:
        raise SourceError(
            f"no documents of domain {domain!r} in {corpus}", hint="give the folder with --data"
        )
    return [named[name] for name in sorted(named)]


def scored(index: Index, question: Question, words: WordNumbers) -> Scored:
    """Return what one question gets in one index."""
    ranking = index.search_ranking(question.text, max(RECALL_DEPTHS))
    return scored_chunks(index.snapshot.get(ranking.ids), question, words)


def scored_chunks(chunks: Sequence[Chunk], question: Question, words: WordNumbers) -> Scored:
    """Return what a question gets from chunks, best first."""
    on_page = [is_gold(chunk, question) for chunk in chunks]
    evidence = words.of(question.evidence)
    returned = list(zip(chunks, on_page, strict=True))[:RETURNED]
    strict = words.of("\n".join(chunk.text for chunk, gold in returned if gold))
    loose = words.of("\n".join(chunk.text for chunk, _ in returned))
    filled = [chunk.text for chunk in within_budget(chunks) if is_gold(chunk, question)]
    rank = on_page.index(True) + 1 if True in on_page else None
    return Scored(
        question,
        lcs_score(evidence, strict),
        lcs_score(evidence, loose),
        lcs_score(evidence, words.of("\n".join(filled))),
        rank,
    )


def within_budget(chunks: Sequence[Chunk], tokens: int = BUDGET_TOKENS) -> list[Chunk]:
    """Return the best chunks that fit into a budget; one that is too long is passed over."""
    kept, left = [], tokens
    for chunk in chunks:
        cost = estimated_tokens(chunk.text)
        if cost <= left:
            kept.append(chunk)
            left -= cost
    return kept


def is_gold(chunk: Chunk, question: Question) -> bool:
    """Return whether a chunk is on the question's page."""
    return chunk.span.doc_id in question.doc_ids and chunk.page == question.page


def summarise(results: Sequence[Scored]) -> Figures:
    """Return all figures: LCS in percent overall, by domain and by evidence; page recall."""
    figures = Figures()
    groups = [f"{each.question.domain}/{each.question.document}" for each in results]
    figures.add("strict_lcs", [each.strict for each in results], groups, scale=100)
    budget = [each.budget for each in results]
    figures.add(f"strict_lcs_{BUDGET_TOKENS}_tokens", budget, groups, scale=100)
    figures.add("loose_lcs", [each.loose for each in results], groups, scale=100)
    for depth in RECALL_DEPTHS:
        found = [float((each.page_rank or depth + 1) <= depth) for each in results]
        figures.add(f"page_recall@{depth}", found, groups)
    slices: dict[str, list[Scored]] = defaultdict(list)
    for each in results:
        slices[each.question.domain].append(each)
        slices[each.question.kind].append(each)
    for name, part in sorted(slices.items()):
        documents = [each.question.document for each in part]
        for measure in ("strict", "loose"):
            values = [getattr(each, measure) for each in part]
            figures.add(f"{measure}_lcs_by.{name}", values, documents, scale=100)
    return figures

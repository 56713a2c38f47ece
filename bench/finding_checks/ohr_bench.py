"""The evidence of questions about pages (OHR-Bench): strict LCS in percent, two chunks a question.

The 2,719 questions of `ohr-bench/qas_dev.json`, as `python bench/reproduce.py ohr-bench` asks them:
by words alone and by the default search, in the documents of the question's domain as published,
and by words in all documents. Then by words in what a real reader made of the same pages
(`ohr-bench-mineru`), beside the clean text, and how much of that loss is in the pages themselves:
what the whole page of the evidence would score, whatever is found. Nothing is learned from these
questions. A question belongs to the half that was looked at by the hash of its document. Vectors of
all pages take long: `PINCITE_OHR_DOMAINS=law,textbook` measures some domains alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from checks import Figure
from experiments import ohr_bench
from experiments.indexes import Files, opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.measure.words import WordNumbers, lcs_score
from pincite.model.settings import Settings
from pincite.read.formats.latex import read_latex

WORDS = Settings().changed({"search.preset": "lexical"})
MAX_LOSS = 3.0  # points that a real reader's noise may cost
Questions = Sequence[ohr_bench.Question]


def run(data: Path) -> list[Figure]:
    """Return the figures of words and of the default, with and without oracle and noise."""
    clean, noisy = data / "ohr-bench" / "gt", data / "ohr-bench-mineru"
    asked = ohr_bench.read_questions(data / "ohr-bench" / "qas_dev.json")
    domains = sorted({each.domain for each in asked})
    if chosen := os.environ.get("PINCITE_OHR_DOMAINS"):
        domains = chosen.split(",")
    asked = [each for each in asked if each.domain in domains]
    words = _by_domain("ohr", clean, asked, WORDS)
    figures = _figures("words, domain given", words, ">= 89.5")
    files = [file for file in ohr_bench.all_files(clean) if file[1].split("/")[0] in domains]
    everywhere = list(_scored("ohr-all", files, asked, WORDS))
    figures += _figures("words, all documents", everywhere)
    read = _by_domain("ohr-mineru", noisy, asked, WORDS)
    figures += _figures("words, as a real reader reads the pages", read)
    figures.append(_loss("loss to the reader's noise", _strict(words), _strict(read), MAX_LOSS))
    pages = (_of_whole_pages(corpus, [each.question for each in read]) for corpus in (clean, noisy))
    figures.append(_loss("of it in the words of the pages", *pages))
    default = _by_domain("ohr-vectors", clean, asked, Settings())
    return figures + _figures("default, domain given", default, ">= 90.5")


def _by_domain(
    name: str, corpus: Path, asked: Questions, settings: Settings
) -> list[ohr_bench.Scored]:
    found: list[ohr_bench.Scored] = []
    for domain in sorted({each.domain for each in asked}):
        files = [(file, file.name) for file in ohr_bench.domain_files(corpus, domain)]
        own = [each for each in asked if each.domain == domain]
        found += _scored(f"{name}-{domain}", files, own, settings)
    return found


def _scored(
    name: str, files: Files, asked: Questions, settings: Settings
) -> Iterator[ohr_bench.Scored]:
    """Yield what each question gets whose document is there."""
    fixed, words = ohr_bench.fixed_pieces(settings), WordNumbers()
    with index_folder(name, files, [fixed]) as place, opened_at(place, fixed) as index:
        known = set(index.documents())
        for each in asked:
            if not known.isdisjoint(each.doc_ids):
                yield ohr_bench.scored(index, each, words)


def _figures(name: str, found: Sequence[ohr_bench.Scored], wanted: str = "") -> list[Figure]:
    values = [100 * each.strict for each in found]
    return by_half(name, values, [each.question.document for each in found], wanted)


def _strict(found: Sequence[ohr_bench.Scored]) -> dict[str, float]:
    return {each.question.id: each.strict for each in found}


def _of_whole_pages(corpus: Path, asked: Questions) -> dict[str, float]:
    """Return what each question would get from its whole page, by its id."""
    words = WordNumbers()
    scores: dict[str, float] = {}
    for domain in {each.domain for each in asked}:
        files = {file.name: file for file in ohr_bench.domain_files(corpus, domain)}
        own = [each for each in asked if each.domain == domain and each.doc_ids[0] in files]
        for name in {each.doc_ids[0] for each in own}:
            pages = {
                page["page_idx"]: page["text"] for page in json.loads(files[name].read_bytes())
            }
            for each in own:
                if each.doc_ids[0] == name:
                    page, _ = read_latex(pages.get(each.page, ""))
                    scores[each.id] = lcs_score(words.of(each.evidence), words.of(page))
    return scores


def _loss(
    name: str, clean: Mapping[str, float], noisy: Mapping[str, float], most: float | None = None
) -> Figure:
    """Return what the noise costs the questions whose document both have."""
    lost = [100 * (clean[key] - noisy[key]) for key in noisy if key in clean]
    wanted = f"<= {most}" if most is not None else ""
    return Figure(f"  {name}", sum(lost) / max(1, len(lost)), wanted, len(lost))

"""When should an answer be left out? Questions whose answers were taken out of the documents.

    python bench/abstention.py [--data DIR] [--cache FILE] [--fit]

Questions are asked twice: of the whole text, and of a text without what answers them (a fifth of
Part 97's sections is taken out at a time, and of XQuAD's paragraphs; of the samples the whole
document, with its other editions; of OHR-Bench the question's document). Questions about something
else altogether (SciFact's claims, SRD's spells) are asked of Part 97. The confidence of
``answer/reader.py`` is fitted on the questions of half of the sections, articles and documents and
on SciFact's claims (``--fit`` prints it), and measured on the other half, on SRD's questions and on
the samples.

An answer is right if a quotation stands in a section that the question cites, or in its paragraph;
of OHR-Bench, if the short answer is (``bench/answers.py``). ``--cache`` keeps what was asked, which
takes most of the time.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from answers_checks import ohr_bench as answered
from experiments import ohr_bench, part97, squad, srd
from experiments.indexes import make_index, opened_at
from finding_checks._halves import is_open
from finding_checks._indexes import index_folder
from pincite.answer.asker import Asker
from pincite.answer.quotes import ConfidenceModel
from pincite.answer.reader import HERE, RIGHT
from pincite.api import Index
from pincite.index.opened import OpenIndex
from pincite.measure.imports import read_claims
from pincite.measure.words import polar, token_f1
from pincite.model.settings import Answering, Settings
from pincite.model.types import Span

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"
FOLDS = 5
FOREIGN = 60  # questions of each foreign set
PARAGRAPH_QUESTIONS = 160
REPORT_QUESTIONS = 600  # of which half may be looked at
FEATURES = tuple(sorted({*HERE.weights, *RIGHT.weights}))
WRONG_ABSTENTIONS = 0.08  # of the answerable questions that it is fitted on
RIDGE = 1.0


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, what is known of what was found for it, and whether the answer was right."""

    kind: str  # "part97 whole", "part97 taken out", the same of xquad, "foreign fit" and "test"
    group: str  # section or article
    features: Mapping[str, float]
    is_right: bool
    reason: str  # of an abstention that needs no confidence; empty if there was an answer
    by_name: bool

    @property
    def half(self) -> int:
        """Which half of the sections it belongs to: 0 is for fitting."""
        if self.kind.startswith("ohr"):  # the half that may be looked at, as in every check
            return 0 if is_open(self.group) else 1
        return sum(self.group.encode()) % 2

    @property
    def is_answerable(self) -> bool:
        return self.kind.endswith("whole")


def asked(asker: Asker, kind: str, group: str, question: str, gold: Sequence[Span]) -> Asked:
    """Ask a question and keep what decides whether it is answered."""
    found = asker.found(question)
    quotes = [quote.span for quote in found.quotes]
    right = any(place.overlap(quote) for place in gold for quote in quotes)
    reason = found.abstention.reason if found.abstention else ""
    return Asked(kind, group, found.features, right, reason, not found.features and not reason)


def collect(data: Path, scratch: Path) -> Iterator[Asked]:
    """Yield all questions asked; prints nothing."""
    settings = Answering(min_confidence=0.0)
    document = (data / "part97" / part97.DOCUMENT, part97.DOCUMENT)
    make_index([document], scratch / "whole", [Settings()])
    questions = part97.read_questions(data / "part97" / "questions_dev.jsonl")
    once = list({each.text: each for each in questions}.values())
    with Index.open(scratch / "whole") as index:
        whole = Asker(index, settings)
        sections = {
            chunk.locator: chunk.span
            for chunk in index.snapshot.chunks(part97.DOCUMENT)
            if chunk.kind == "section" and chunk.locator.startswith("97.")
        }
        text = index.snapshot.text(part97.DOCUMENT)
        names = sorted(sections)
        random.Random(97).shuffle(names)
        for fold in range(FOLDS):
            gone = set(names[fold::FOLDS])
            mine = [q for q in once if q.sections and set(q.sections) <= gone]
            file = scratch / f"less-{fold}" / part97.DOCUMENT
            file.parent.mkdir()
            file.write_text(_without(text, [sections[name] for name in gone]), encoding="utf-8")
            folder = scratch / f"index-{fold}"
            make_index([(file, part97.DOCUMENT)], folder, [Settings()])
            with Index.open(folder) as rest:
                less = Asker(rest, settings)
                for q in mine:
                    gold = [sections[name] for name in q.sections]
                    yield asked(whole, "part97 whole", q.sections[0], q.text, gold)
                    yield asked(less, "part97 taken out", q.sections[0], q.text, ())
        for kind, group, question in _foreign(data):
            yield asked(whole, kind, group, question, ())
    yield from _paragraphs(data, scratch, settings)
    yield from _documents(scratch, settings)
    yield from _reports(data)


def _reports(data: Path) -> Iterator[Asked]:
    """Yield OHR-Bench's questions, asked of all documents and of all but their own."""
    folder, settings = data / "ohr-bench", Settings()
    settings = replace(settings, search=replace(settings.search, preset="lexical"))
    questions = answered.read_asked(folder / "qas_dev.json")
    questions.sort(key=lambda each: sha256(each.text.encode()).digest())
    files = ohr_bench.all_files(folder / "gt")
    least = Answering(min_confidence=0.0)
    with (
        index_folder("ohr-bench-lexical", files, [settings]) as place,
        opened_at(place, settings) as index,
    ):
        known = set(index.documents())
        mine = [q for q in questions if f"{q.document}.json" in known][:REPORT_QUESTIONS]
        whole = Asker(index, least)
        for q in mine:
            hidden = index.snapshot.hiding(frozenset([f"{q.document}.json"]))
            less = Asker(Index(OpenIndex(hidden), index.settings), least)
            for kind, asker in (("ohr whole", whole), ("ohr taken out", less)):
                found = asker.found(q.text)
                short = found.read[0].short.text if found.read else ""
                wanted = polar(q.answer)
                right = polar(short) == wanted if wanted else token_f1(short, [q.answer]) >= 0.5
                right &= kind == "ohr whole"
                reason = found.abstention.reason if found.abstention else ""
                by_name = not found.features and not reason
                yield Asked(kind, q.document, found.features, right, reason, by_name)


def _documents(scratch: Path, settings: Answering) -> Iterator[Asked]:
    """Yield the samples' questions, asked of all documents and of all but their own."""
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    items = [item for item in map(json.loads, lines) if "none" not in item["gold"]]
    files = [(file, file.name) for file in sorted(SAMPLES.iterdir()) if file.suffix != ".jsonl"]
    make_index(files, scratch / "samples", [Settings()])
    with Index.open(scratch / "samples") as index:
        whole = Asker(index, settings)
        for work in sorted({_work(name) for _, name in files}):
            kept = [(file, name) for file, name in files if _work(name) != work]
            make_index(kept, scratch / f"samples-{work}", [Settings()])
            with Index.open(scratch / f"samples-{work}") as rest:
                less = Asker(rest, settings)
                for item in items:
                    ((_, places),) = item["gold"].items()
                    if {_work(place["document"]) for place in places} != {work}:
                        continue
                    spans = [
                        c.span for p in places for c in index.show(p["locator"], p["document"])
                    ]
                    question = item["question"]
                    yield asked(whole, "samples whole", work, question, spans)
                    yield asked(less, "samples taken out", work, question, ())


def _work(name: str) -> str:
    """Return what the editions of a sample have in common."""
    return name.partition(".")[0].rstrip("-0123456789")


def _paragraphs(data: Path, scratch: Path, settings: Answering) -> Iterator[Asked]:
    """Yield XQuAD's questions, asked of all paragraphs and of all but their own."""
    (made,) = squad.read_xquad(data, data / "xquad" / "xquad.en.json", scratch)
    fitted_to = made.fitted(Settings())
    questions = random.Random(97).sample(list(made.questions), PARAGRAPH_QUESTIONS)
    gold = sorted({place for each in questions for place in each.gold})
    ((file, doc_id),) = made.files
    pages = json.loads(file.read_text(encoding="utf-8"))
    make_index(made.files, scratch / "paragraphs", [fitted_to])
    with Index.open(scratch / "paragraphs", fitted_to) as index:
        whole = Asker(index, settings)
        spans = {str(chunk.page): chunk.span for chunk in index.snapshot.chunks(doc_id)}
        for fold in range(FOLDS):
            gone = set(gold[fold::FOLDS])
            less_file = scratch / f"paragraphs-{fold}.json"
            kept = [page for page in pages if str(page["page_idx"]) not in gone]
            less_file.write_text(json.dumps(kept), encoding="utf-8")
            folder = scratch / f"paragraphs-{fold}"
            make_index([(less_file, doc_id)], folder, [fitted_to])
            with Index.open(folder, fitted_to) as rest:
                less = Asker(rest, settings)
                for each in [q for q in questions if q.gold <= gone]:
                    places = [spans[place] for place in each.gold]
                    yield asked(whole, "xquad whole", each.group, each.text, places)
                    yield asked(less, "xquad taken out", each.group, each.text, ())


def _without(text: str, spans: Sequence[Span]) -> str:
    for span in sorted(spans, reverse=True):
        text = text[: span.start] + text[span.end :]
    return text


def _foreign(data: Path) -> Iterator[tuple[str, str, str]]:
    dice = random.Random(97)
    claims = [claim for claim, _ in read_claims(data / "scifact" / "claims_train.csv")]
    for claim in dice.sample(claims, FOREIGN):
        yield "foreign fit", "scifact", claim
    file = data / "srd-5.1" / "spell_questions_dev.json"
    for question, _ in dice.sample(srd.read_questions(file), FOREIGN):
        yield "foreign test", "srd", question


def fitted(
    examples: Sequence[Asked], is_true: Sequence[bool], names: Sequence[str]
) -> ConfidenceModel:
    """Return the logistic model that makes what is true most likely (Newton's method, a ridge)."""
    x = np.array([[1.0, *(each.features[name] for name in names)] for each in examples])
    y = np.array(is_true, dtype=float)
    best = np.zeros(x.shape[1])
    ridge = RIDGE * np.diag([0.0, *[1.0] * len(names)])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ best))
        slope = x.T @ (p - y) + ridge @ best
        curve = (x * (p * (1 - p))[:, None]).T @ x + ridge
        best -= np.linalg.solve(curve, slope)
    weights = {name: round(float(w), 2) for name, w in zip(names, best[1:], strict=True)}
    return ConfidenceModel(weights, round(float(best[0]), 2))


def threshold_of(model: ConfidenceModel, examples: Sequence[Asked]) -> float:
    """Return the confidence below which few answerable questions lie."""
    sure = [model.probability(e.features) for e in examples if e.is_answerable]
    return float(np.quantile(sure, WRONG_ABSTENTIONS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data")
    parser.add_argument("--cache", type=Path, help="a file that keeps what was asked")
    parser.add_argument("--fit", action="store_true", help="fit the model again and print it")
    options = parser.parse_args()
    examples = _examples(options.data, options.cache)
    model, least = HERE, Answering().min_confidence
    if options.fit:
        fitting = [each for each in examples if _is_read(each) and _is_for_fitting(each)]
        model = fitted(fitting, [each.is_answerable for each in fitting], sorted(HERE.weights))
        least = round(threshold_of(model, fitting), 2)
        # Of the others only quotations are judged: whether a short answer is right, these tell.
        short = [each for each in fitting if each.kind == "ohr whole"]
        right = fitted(short, [each.is_right for each in short], sorted(RIGHT.weights))
        sys.stdout.write(f"HERE = {model}\nRIGHT = {right}\nmin_confidence = {least}\n")
    report(model, least, [each for each in examples if not _is_for_fitting(each)])
    samples(least)


def _is_read(each: Asked) -> bool:
    """Return whether the reader read for it; a bare name is looked up."""
    return set(FEATURES) <= each.features.keys()


def _is_for_fitting(each: Asked) -> bool:
    if each.kind.startswith(("foreign", "samples")):
        return each.kind == "foreign fit"
    return each.half == 0


def _examples(data: Path, cache: Path | None) -> list[Asked]:
    if cache and cache.exists():
        return [Asked(**values) for values in json.loads(cache.read_text())]
    with tempfile.TemporaryDirectory() as scratch:
        found = list(collect(data, Path(scratch)))
    if cache:
        cache.write_text(json.dumps([asdict(each) for each in found]))
    return found


def report(model: ConfidenceModel, least: float, examples: Sequence[Asked]) -> None:
    """Print what is left out at a threshold, and the risk of what is answered at others."""
    sure = [
        1.0 if each.by_name else model.probability(each.features) if _is_read(each) else 0.0
        for each in examples
    ]
    left_out = [p < least for p in sure]
    sys.stdout.write(f"left out below a confidence of {least}:\n")
    for kind in dict.fromkeys(each.kind for each in examples):
        own = [out for out, each in zip(left_out, examples, strict=True) if each.kind == kind]
        sys.stdout.write(f"  {kind:14} {100 * np.mean(own):5.1f} %  of {len(own)}\n")
    asked_here = [(p, e) for p, e in zip(sure, examples, strict=True) if "foreign" not in e.kind]
    asked_here.sort(key=lambda pair: -pair[0])
    sys.stdout.write("risk of what is answered (half with and half without an answer):\n")
    for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        first = asked_here[: max(1, round(share * len(asked_here)))]
        risk = 1 - np.mean([each.is_right for _, each in first])
        sys.stdout.write(
            f"  coverage {share:4.0%}  risk {100 * risk:5.1f} %  p ≥ {first[-1][0]:.2f}\n"
        )


def samples(least: float) -> None:
    """Print how the samples' questions are answered or left out."""
    files = [(file, file.name) for file in sorted(SAMPLES.iterdir()) if file.suffix != ".jsonl"]
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    wrongly, right_reason, count, kept = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        make_index(files, Path(scratch) / "index", [Settings()])
        with Index.open(Path(scratch) / "index") as index:
            asker = Asker(index, Answering(min_confidence=least))
            for item in map(json.loads, lines):
                abstention = asker.answer(item["question"]).abstention
                if "none" not in item["gold"]:
                    kept += 1
                    wrongly += abstention is not None
                    continue
                count += 1
                right_reason += abstention is not None and _fits(item["gold"]["none"], abstention)
    sys.stdout.write(
        f"samples: {wrongly} of {kept} answerable questions left out; of {count} without an answer "
        f"{right_reason} left out with the right reason\n"
    )


def _fits(told: str, abstention: object) -> bool:
    """Return whether the reason is the one that the question file tells in words."""
    reason = getattr(abstention, "reason", "")
    if "edition" in told.partition(":")[0]:
        return bool(reason == "removed_in_this_edition")
    if "missing" in told.partition(":")[0]:
        return bool(reason == "referenced_but_missing")
    return reason in ("not_in_corpus", "low_confidence")


if __name__ == "__main__":
    main()

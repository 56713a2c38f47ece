"""Are true quotations left alone and changed ones caught? Citations found? In what time?

    python bench/check.py [--data DIR] [--most N] [--part 97,canada,docx,cuad] [--half dev|test]
                          [--eyecite PYTHON] [--claims]

Quotations are sentences of Part 97, of Canadian regulations and of Word files, cited by their
place, and of the text of contracts whose PDFs are indexed (a real reader's noise), without a
citation. Each is checked as it is, and with one change (bench/check_changes.py). Documents are
split in halves by their names, Part 97 by its sections; what was developed on is "dev".
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import subprocess
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from check_changes import EXPECTED, Quotation, changed, leaves, quotations
from check_styles import TABLE, UNSEEN, Written, styles
from pincite.check.checker import Checker
from pincite.check.citations import written_citations
from pincite.check.judge import open_judge
from pincite.check.rules import without_polarity
from pincite.check.support import TextPart, TextParts, shared_words, weighed
from pincite.encode.encoders import open_encoder
from pincite.encode.models import Encoder
from pincite.index.tokens import Analyzer
from pincite.model.settings import Settings
from pincite.model.types import section_of
from pincite.search.reader import IndexReader
from pincite.update import ingest_files

SAMPLES = Path(__file__).parents[1] / "samples"
PARTS = {
    "part97": ("part97/part97.md", "47 CFR {}"),
    "canada": ("canada-regs/eng", "{doc}, s. {}"),
    "docx": ("docx", "48 CFR {}"),
    "cuad": ("cuad/pdf", ""),
}


def half_of(name: str) -> str:
    return ("dev", "test")[zlib.crc32(name.encode()) % 2]


def cited(quote: Quotation, form: str, locator: str, doc_id: str = "") -> str:
    doc = (doc_id or quote.doc_id).removesuffix(".xml").replace("-", "/", 1)
    place = form.format(locator, doc=doc)
    return f"It says “{quote.words}” ({place})." if place else f"It says “{quote.words}”."


def gathered(index: IndexReader, part: str, data: Path, half: str) -> list[Quotation]:
    """Return the quotations of one half of a collection."""
    found: list[Quotation] = []
    if part == "cuad":
        for file in sorted((data / "cuad" / "txt").glob("*.txt")):
            if half_of(file.stem) == half:
                text = file.read_text(encoding="utf-8", errors="replace")
                found += quotations(text, f"{file.stem}.pdf")
        return found
    for doc_id in index.documents():
        if part != "part97" and half_of(doc_id) != half:
            continue
        text = index.snapshot.text(doc_id)
        for chunk in leaves(index.snapshot.chunks(doc_id)):
            if part == "part97" and half_of(section_of(chunk.locator)) != half:
                continue
            own = text[chunk.span.start : chunk.own_end]
            found += quotations(own, doc_id, chunk.locator)
    return found


class Figures:
    """Counts what became of quotations."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.caught: Counter[str] = Counter()
        self.named: Counter[str] = Counter()
        self.missed: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, kind: str, verdict: str, is_failed: bool, text: str, reason: str) -> None:
        self.seen[kind] += 1
        good = not is_failed if kind == "true" else is_failed
        self.caught[kind] += good
        right = verdict == "exact" if kind == "true" else verdict in EXPECTED[kind]
        self.named[kind] += right
        if not right:
            self.missed[kind].append(f"{verdict}: {text} [{reason}]")

    def print(self, name: str, shown: int) -> None:
        print(f"{name}")
        for kind, count in self.seen.items():
            word = "left alone" if kind == "true" else "caught"
            good, right = self.caught[kind] / count, self.named[kind] / count
            print(f"  {kind:18} {100 * good:6.2f} % {word}  {100 * right:6.2f} % named  of {count}")
            for line in self.missed[kind][:shown]:
                print(f"      {line[:400]}")


def check_one(checker: Checker, text: str) -> tuple[str, bool, str]:
    claims = [each for each in checker.check(text).claims if each.kind == "quotation"]
    if not claims:
        return "no claim", False, ""
    worst = max(claims, key=lambda each: each.failed)
    return worst.verdict, worst.failed, worst.reason


def measured(index: IndexReader, part: str, args: argparse.Namespace) -> Figures:
    form, dice = PARTS[part][1], random.Random(7)
    every = gathered(index, part, args.data, args.half)
    words = sorted({w.strip(".,;:") for q in every[:400] for w in q.words.split() if w.isalpha()})
    long_words = [word for word in words if len(word) > 4]
    chosen = dice.sample(every, min(args.most, len(every)))
    checker, figures = Checker(index), Figures()
    places = {d: [c.locator for c in leaves(index.snapshot.chunks(d))] for d in index.documents()}
    for quote in chosen:
        figures.add("true", *_told(checker, cited(quote, form, quote.locator)))
        for kind, new in changed(quote, long_words, dice):
            other = Quotation(quote.doc_id, new, quote.locator)
            figures.add(kind, *_told(checker, cited(other, form, quote.locator)))
        other_quote = dice.choice(every)
        if other_quote.doc_id == quote.doc_id and other_quote.locator != quote.locator:
            joined = Quotation(quote.doc_id, f"{quote.words} {other_quote.words}", quote.locator)
            figures.add("spliced", *_told(checker, cited(joined, form, quote.locator)))
        if form:
            near = _beside(quote.locator, places[quote.doc_id])
            if near:
                figures.add("place off by one", *_told(checker, cited(quote, form, near)))
        others = [doc_id for doc_id in places if doc_id != quote.doc_id]
        if "{doc}" in form and others:
            text = cited(quote, form, quote.locator, dice.choice(others))
            figures.add("wrong document", *_told(checker, text))
    return figures


def _told(checker: Checker, text: str) -> tuple[str, bool, str, str]:
    verdict, failed, reason = check_one(checker, text)
    return verdict, failed, text, reason


def _beside(locator: str, places: list[str]) -> str:
    """Return the next place that is not above or below one."""
    at = places.index(locator)
    for other in (*places[at + 1 :], *reversed(places[:at])):
        if not other.startswith(locator) and not locator.startswith(other):
            return other
    return ""


def editions(args: argparse.Namespace) -> Figures:
    """Return what becomes of words of one edition that are cited from the other."""
    names, figures = ("electrical-code-2021.md", "electrical-code-2024.md"), Figures()
    with tempfile.TemporaryDirectory() as folder:
        ingest_files([(SAMPLES / name, name) for name in names], Path(folder), Settings())
        index = IndexReader.open(Path(folder))
        checker = Checker(index)
        texts = {name: index.snapshot.text(name) for name in names}
        for name, other in (names, names[::-1]):
            year, wrong = name[16:20], other[16:20]
            for chunk in leaves(index.snapshot.chunks(name)):
                own = texts[name][chunk.span.start : chunk.own_end]
                for quote in quotations(own, name, chunk.locator):
                    if " ".join(quote.words.split()) in " ".join(texts[other].split()):
                        continue
                    form = "Harbourline Electrical Code {} § {}"
                    good = f"It says “{quote.words}” ({form.format(year, chunk.locator)})."
                    bad = f"It says “{quote.words}” ({form.format(wrong, chunk.locator)})."
                    figures.add("true", *_told(checker, good))
                    figures.add("wrong edition", *_told(checker, bad))
        index.snapshot.close()
    return figures


def found_by_pincite(text: str) -> list[tuple[int, int, str]]:
    return [(c.start, c.end, f"{c.key}–{c.last}" if c.last else c.key or c.page)
            for c in written_citations(text)]  # fmt: skip


_EYECITE = """
import json, sys
from eyecite import get_citations
for line in sys.stdin:
    found = []
    for c in get_citations(json.loads(line)):
        g = c.groups
        part = g.get("section") or g.get("page") or ""
        start, end = c.full_span() if hasattr(c, "full_span") else c.span()
        found.append([start, end, part])
    print(json.dumps(found))
"""


def found_by_eyecite(texts: list[str], python: str) -> list[list[tuple[int, int, str]]]:
    told = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run(
        [python, "-c", _EYECITE], input=told, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def f1(written: list[Written], found: list[list[tuple[int, int, str]]], *, parts: bool) -> float:
    """Return F1 of citations found: overlapping by half, with the right place if parts count."""
    hits = total = 0
    for each, guesses in zip(written, found, strict=True):
        total += len(guesses)
        start, end = each.span
        for low, high, key in guesses:
            shared = min(high, end) - max(low, start)
            is_right = key == each.key or not parts
            if shared >= 0.5 * max(high - low, end - start) and is_right:
                hits += 1
                break
    return 2 * hits / (total + len(written))


def citation_strings(args: argparse.Namespace) -> None:
    for table in (TABLE, UNSEEN):
        _found_citations(list(styles(table)), args)


def _found_citations(written: list[Written], args: argparse.Namespace) -> None:
    texts = [each.text for each in written]
    ours = [found_by_pincite(text) for text in texts]
    kinds = len({each.style for each in written})
    print(f"citations: {len(written)} of {kinds} styles")
    _print_f1("pincite", written, ours)
    if args.eyecite:
        other = found_by_eyecite(texts, args.eyecite)
        plain = [[(a, b, k.replace(" ", "").lower()) for a, b, k in row] for row in other]
        _print_f1("eyecite", written, plain)
    for each, guesses in zip(written, ours, strict=True):
        if args.show and not any(key == each.key for _, _, key in guesses):
            print(f"      {each.style}: {each.text} {guesses}")


def _print_f1(name: str, written: list[Written], found: list[list[tuple[int, int, str]]]) -> None:
    spans, whole = (f1(written, found, parts=parts) for parts in (False, True))
    print(f"  {name}  spans {spans:.3f}, with parts {whole:.3f} F1")


def speed(index: IndexReader, every: list[Quotation], form: str) -> None:
    """Print how long a text of a hundred pages takes, and one that means harm."""
    dice = random.Random(3)
    pages = []
    for _ in range(100):
        quotes = [cited(dice.choice(every), form, dice.choice(every).locator) for _ in range(6)]
        told = [dice.choice(every) for _ in range(2)]  # in words of one's own, nearly
        stated = [
            f"Under {form.format(q.locator)}, {q.words[:1].lower()}{q.words[1:]}" for q in told
        ]
        filler = " ".join(dice.choice(every).words for _ in range(8))
        pages.append("\n\n".join((*quotes, *stated, filler)))
    text = "\n\n".join(pages)
    started, worked = time.perf_counter(), time.process_time()
    report = Checker(index).check(text)
    took, worked = time.perf_counter() - started, time.process_time() - worked
    counts = Counter(claim.kind for claim in report.claims)
    print(f"speed: 100 pages, {len(text):,} characters, {dict(counts)}: {took:.1f} s")
    print(f"  of all processors {worked:.1f} s")
    for piece in ("“ \" ' « ", "§ 97.1(a)(b)(c), ", "“shall not be “ [1] ibid. p. 3 "):
        hostile = piece * (10_000_000 // len(piece))
        started = time.perf_counter()
        report = Checker(index).check(hostile)
        took = time.perf_counter() - started
        print(f"  hostile, 10 MB of {piece!r}: {took:.1f} s, {len(report.claims)} claims")


Judged = tuple[str, str, str, bool]  # id, claim, evidence, whether it bears the claim out
Said = list[tuple[float, bool]]
MAX_EVIDENCE_CHARS = 20_000
COMPARED_UNITS = 4  # of the evidence with most words of the claim, for the encoder


def attribution_bench(data: Path) -> Iterator[Judged]:
    for each in _json_lines(data / "claims" / "attributionbench_dev.jsonl"):
        good = each["attribution_label"] == "attributable"
        yield each["id"], each["claim"], "\n\n".join(each["references"]), good


def fool_me_twice(data: Path) -> Iterator[Judged]:
    for each in _json_lines(data / "claims" / "fool-me-twice_dev.jsonl"):
        evidence = " ".join(part["text"] for part in each["gold_evidence"])
        yield each["id"], each["text"], evidence, each["label"] == "SUPPORTS"


def scifact(data: Path) -> Iterator[Judged]:
    """Yield claims of the train split beside the first abstract that is cited for them."""
    with (data / "scifact" / "corpus.csv").open(encoding="utf-8", newline="") as file:
        abstracts = {
            row["doc_id"]: f"{row['title']}\n\n{row['abstract']}" for row in csv.DictReader(file)
        }
    seen = set()
    with (data / "scifact" / "claims_train.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            named = row["evidence_doc_id"] or row["cited_doc_ids"].strip("[]").split()[0].strip(",")
            if named in abstracts and (row["id"], named) not in seen:
                seen.add((row["id"], named))
                yield row["id"], row["claim"], abstracts[named], row["evidence_label"] == "SUPPORT"


def _json_lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


CLAIM_SETS = {
    "AttributionBench": attribution_bench,
    "fool-me-twice": fool_me_twice,
    "SciFact train": scifact,
}


def claims(data: Path, most: int) -> None:
    """Print how well claims that are borne out are told, beside what simpler ways tell.

    Curves of overlap and cosine are fitted on the half "dev" of each set; all figures are of the
    half "test". The checker is the shipped one: one model for all, which learned from the same
    halves "dev" (models/train_judge.py).
    """
    encoder = open_encoder(Settings().encoding)
    assert encoder is not None
    texts = TextParts(Analyzer())
    for name, read in CLAIM_SETS.items():
        every = sorted(read(data), key=lambda each: zlib.crc32(f"{each[0]} {each[1]}".encode()))
        said: dict[str, dict[str, Said]] = {each: defaultdict(list) for each in ("dev", "test")}
        for key, claim, evidence, good in every[: 2 * most]:
            own = said[half_of(key)]
            words, parts = texts.content(claim), texts.of(evidence[:MAX_EVIDENCE_CHARS])
            own["overlap"].append((shared_words(words, parts), good))
            own["cosine"].append((_cosine(encoder, claim, words, parts), good))
            if half_of(key) == "test":
                said_by = _checked_claim(claim, evidence[:MAX_EVIDENCE_CHARS], texts)
                own["checker"].append((said_by, good))
        for way in ("overlap", "cosine"):
            slope, middle = fitted(said["dev"][way])
            told = said["test"][way]
            said["test"][way] = [
                (1 / (1 + math.exp(-slope * (x - middle))), good) for x, good in told
            ]
        count = len(said["test"]["checker"])
        for way, told in said["test"].items():
            print(
                f"{name}, {count} claims, {way}: "
                f"balanced accuracy {balanced(told):.3f}, ECE {ece(told):.3f}"
            )


def _cosine(
    encoder: Encoder, claim: str, words: frozenset[str], parts: Sequence[TextPart]
) -> float:
    """Return the cosine of a claim and the sentence of the evidence that is nearest to it."""
    best = sorted(parts, key=lambda part: -len(words & part.terms))[:COMPARED_UNITS]
    if not best:
        return 0.0
    vectors = np.asarray(encoder.encode([claim, *(part.text for part in best)]), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return float((vectors[1:] @ vectors[0]).max())


def _checked_claim(claim: str, evidence: str, texts: TextParts) -> float:
    """Return what the checker says of a statement whose place has this text."""
    sure = open_judge().probability(claim, evidence, texts)
    words = texts.content(without_polarity(claim))
    return weighed(claim, texts.of(evidence), words, sure)[2]


def fitted(told: Said, steps: int = 2000, rate: float = 0.5) -> tuple[float, float]:
    """Return slope and middle of the logistic curve that fits best, both verdicts of one weight."""
    x = np.array([value for value, _ in told])
    good = np.array([1.0 if each else 0.0 for _, each in told])
    weight = np.where(good > 0, 0.5 / max(1.0, good.sum()), 0.5 / max(1.0, (1 - good).sum()))
    mean, spread = x.mean(), x.std() or 1.0
    z, slope, offset = (x - mean) / spread, 1.0, 0.0
    for _ in range(steps):
        wrong = weight * (1 / (1 + np.exp(-(slope * z + offset))) - good)
        slope, offset = slope - rate * float(wrong @ z), offset - rate * float(wrong.sum())
    return slope / spread, mean - offset * spread / slope


def balanced(said: list[tuple[float, bool]]) -> float:
    rates = []
    for wanted in (True, False):
        own = [p for p, good in said if good is wanted]
        rates.append(sum((p >= 0.5) is wanted for p in own) / max(1, len(own)))
    return sum(rates) / 2


def ece(said: list[tuple[float, bool]], bins: int = 10) -> float:
    """Return the expected calibration error over bins of equal width."""
    found = 0.0
    for at in range(bins):
        own = [(p, good) for p, good in said if at / bins <= p < (at + 1) / bins]
        if own:
            sure = sum(p for p, _ in own) / len(own)
            found += len(own) / len(said) * abs(sure - sum(good for _, good in own) / len(own))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--most", type=int, default=500, help="quotations of a collection")
    parser.add_argument("--part", default="part97,canada,docx,cuad")
    parser.add_argument("--half", default="test", choices=("dev", "test"))
    parser.add_argument("--indexes", type=Path, help="keep indexes here and use them again")
    parser.add_argument("--eyecite", default="", help="a Python that has eyecite")
    parser.add_argument("--claims", action="store_true", help="paraphrased claims alone")
    parser.add_argument("--show", type=int, default=0, help="examples of each kind that was missed")
    args = parser.parse_args()
    if args.claims:
        claims(args.data, args.most)
        return
    citation_strings(args)
    editions(args).print("editions of the samples", args.show)
    for part in filter(None, args.part.split(",")):
        with tempfile.TemporaryDirectory() as scratch:
            folder = (args.indexes or Path(scratch)) / part
            if not folder.is_dir():
                source = args.data / PARTS[part][0]
                files = sorted(source.iterdir()) if source.is_dir() else [source]
                named = [(file, file.name) for file in files if file.name != "PROVENANCE.md"]
                ingest_files(named, folder, Settings())
            index = IndexReader.open(folder)
            figures = measured(index, part, args)
            figures.print(f"{part}, {args.half}", args.show)
            if part == "part97":
                speed(index, gathered(index, part, args.data, args.half), PARTS[part][1])
            index.snapshot.close()


if __name__ == "__main__":
    main()

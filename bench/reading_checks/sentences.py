"""Where sentences end, against sentences that others cut; and raw Markdown in what people see.

Gold: the abstracts of SciFact come as lists of sentences, 5,183 documents of science; the evidence
of ContractNLI are whole sentences and list items of 234 agreements, marked by annotators. Documents
are parted by a hash of their name: one half was looked at while the splitter was written, and both
are printed. SciFact's sentences joined by spaces are cut again: an end is right if it is one of
theirs (scientific abbreviations and equations among them: some of theirs are wrong). Of ContractNLI
every piece of evidence that its agreement holds word for word and that ends in a full stop, or in a
colon or semicolon at the end of its line, is asked: does a sentence of ours end where it ends, and
is it cut inside? (Items within a sentence, "(i) … (ii) …", are pieces there and none here.)

Raw signs: headings and first words of SRD 5.1, four parts of the FAR as Word files and Part 97 are
searched and asked as questions, 500 of them; of what comes out, those hits and answers are counted
that show stars, low lines or backticks around words, fences, links or entities.

pysbd cuts the same texts if `PINCITE_PEER_PYTHON` names an interpreter that has it.
"""

from __future__ import annotations

import ast
import csv
import gzip
import json
import os
import re
import subprocess
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pincite
from checks import Figure
from pincite.model.sentences import units
from pincite.model.settings import load_settings
from pincite.update import ingest_files

ABSTRACTS = 1200  # of SciFact: enough, and pysbd needs minutes for all
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_PEER = """
import json, sys, pysbd
cutter = pysbd.Segmenter(language="en", clean=False, char_span=True)
for line in sys.stdin:
    text = json.loads(line)
    print(json.dumps([span.start + len(span.sent.rstrip()) for span in cutter.segment(text)]))
"""


@dataclass(frozen=True, slots=True)
class GoldText:
    """A text and where its sentences begin and end, as others cut it."""

    name: str
    text: str
    spans: tuple[tuple[int, int], ...]

    @property
    def is_open(self) -> bool:
        """Whether it belongs to the half that was looked at."""
        return zlib.crc32(self.name.encode()) % 2 == 0


def scifact(data: Path) -> Iterator[GoldText]:
    """Yield abstracts, their sentences joined by spaces."""
    with (data / "scifact" / "corpus.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found = [str(ast.literal_eval(each)) for each in _LITERAL.findall(row["abstract"])]
            text, spans = "", []
            for sentence in (" ".join(each.split()) for each in found):
                if sentence:
                    start = len(text) + bool(text)
                    text = f"{text} {sentence}".strip()
                    spans.append((start, len(text)))
            yield GoldText(row["doc_id"], text, tuple(spans))


def contracts(data: Path) -> Iterator[GoldText]:
    """Yield agreements with the evidence that they hold word for word, once."""
    with gzip.open(data / "training" / "contractnli.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            text, spans = row["document"], set()
            for words in (each.strip() for claim in row["claims"] for each in claim["evidence"]):
                end = text.find(words) + len(words)
                is_ended = words[-1:] in ".!?" or (
                    words[-1:] in ":;" and text[end : end + 1] == "\n"
                )
                if words and is_ended and text.count(words) == 1:
                    spans.add((end - len(words), end))
            yield GoldText(text[:200], text, tuple(sorted(spans)))


def our_ends(texts: Iterable[str]) -> list[set[int]]:
    """Return where our sentences end."""
    return [{unit.end for unit in units(text)} for text in texts]


def peer_ends(texts: Sequence[str]) -> list[set[int]]:
    """Return where pysbd's sentences end; nothing if it is not there."""
    python = os.environ.get("PINCITE_PEER_PYTHON")
    if not python:
        return []
    given = "".join(f"{json.dumps(text)}\n" for text in texts)
    command = [python, "-c", _PEER]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    return [set(json.loads(line)) for line in done.stdout.splitlines()]


def whole_text(name: str, gold: Sequence[GoldText], cut: Sequence[set[int]]) -> Iterator[Figure]:
    """Yield precision and recall of ends where all are known, but for the last of each text."""
    found = right = wanted = 0
    for each, ends in zip(gold, cut, strict=True):
        ends = {end for end in ends if end < len(each.text)}
        known = {end for _, end in each.spans[:-1]}
        found, right, wanted = found + len(ends), right + len(ends & known), wanted + len(known)
    yield Figure(f"SciFact, {name}: precision of ends", right / found, count=found)
    yield Figure(f"SciFact, {name}: recall of ends", right / wanted, count=wanted)


def evidence(name: str, gold: Sequence[GoldText], cut: Sequence[set[int]]) -> Iterator[Figure]:
    """Yield how many pieces of evidence end where a sentence ends, and are not cut inside."""
    ended = whole = count = 0
    for each, ends in zip(gold, cut, strict=True):
        for start, end in each.spans:
            count += 1
            ended += end in ends
            whole += end in ends and not any(start < at < end for at in ends)
    yield Figure(
        f"ContractNLI, {name}: evidence that ends with a sentence", ended / count, "", count
    )
    yield Figure(f"ContractNLI, {name}: and is one sentence or item", whole / count, "", count)


# Signs around words, which no text has otherwise; a single star may be a footnote's.
_RAW = re.compile(
    r"(?<!\w)(\*{1,3}|_{1,3})(?=[^\W\d])[^*_\n|]{1,80}(?<=[\w.,:;)])\1(?!\w)|`[^`\n|]{1,80}`|```|\]\([\w-]+[./:#]"
    r"|&(?:amp|nbsp|lt|gt|quot|#\d+);|^#{1,6} ",
    re.MULTILINE,
)
QUESTIONS = 500


def raw_signs(data: Path) -> Iterator[Figure]:
    """Yield how many hits and answers show signs of Markdown."""
    files = [data / "srd-5.1", data / "docx", data / "part97" / "part97.md"]
    with tempfile.TemporaryDirectory() as folder:  # words alone: vectors change no snippet
        settings = load_settings(overrides=["search.meaning_weight=0"])
        ingest_files(files, Path(folder), settings)
        with pincite.open(folder, settings) as index:
            chunks = [c for doc in index.snapshot.documents() for c in index.snapshot.chunks(doc)]
            chunks = [c for c in chunks if c.title and c.searched]
            some = sorted(chunks, key=lambda c: zlib.crc32(c.id.encode()))[:QUESTIONS]
            hits = [p for c in some for p in index.search(f"{c.title} {c.text[-60:]}").passages]
            told = [index.ask(f"What is {chunk.title}?").text for chunk in some]
    shown = sum(1 for hit in hits if _RAW.search(f"{hit.snippet}\n{hit.citation}"))
    yield Figure("hits that show signs of Markdown", shown, "0", len(hits))
    shown = sum(1 for text in told if _RAW.search(text))
    yield Figure("answers that show signs of Markdown", shown, "0", len(told))


def run(data: Path) -> list[Figure]:
    """Return the figures of both golds, both halves, ours and the peer's."""
    figures: list[Figure] = []
    sets = ((whole_text, list(scifact(data))[:ABSTRACTS]), (evidence, list(contracts(data))))
    for measure, gold in sets:
        for half, is_open in (("half looked at", True), ("other half", False)):
            some = [each for each in gold if each.is_open == is_open]
            texts = [each.text for each in some]
            figures += measure(half, some, our_ends(texts))
            if peer := peer_ends(texts):
                figures += measure(f"{half}, pysbd", some, peer)
    return [*figures, *raw_signs(data)]

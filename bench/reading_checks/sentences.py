"""Where sentences end, against sentences that others cut; and raw Markdown in what people see.

Gold: the abstracts of SciFact come as lists of sentences, 5,183 documents of science; the evidence
of ContractNLI are whole sentences and list items of 234 agreements, marked by annotators. Documents
are parted by a hash of their name: one half was looked at while the splitter was written, and both
are printed. SciFact's sentences joined by spaces are cut again: an end is right if it is one of
theirs (scientific abbreviations and equations among them: some of theirs are wrong). Of ContractNLI
every piece of evidence that its agreement holds word for word and that ends in a full stop, or in a
colon or semicolon at the end of its line, is asked: does a sentence of ours end where it ends, and
is it cut inside? (Items within a sentence, "(i) … (ii) …", are pieces there and none here.)

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
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pincite.model.sentences import units
from reading_checks.figures import Figure

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
    return figures

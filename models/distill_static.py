"""Make the static model that ships with Pincite: one vector a word piece, taught by the encoder.

    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb WORDNET
    python models/distill_static.py texts DATA WORDNET WORK   # what is read, cut and shuffled
    python models/distill_static.py teach WORK                # the encoder's vectors; goes on
    python models/distill_static.py fit WORK                  # token vectors, into the package

Nothing that Pincite is measured on is among the texts; MODEL_CARD.md beside the weights names
them. Needs scipy (the dependency group `models`).
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from pincite.encode.cache import VectorCache
from pincite.encode.encoders import OnnxEncoder
from pincite.encode.models import SHIPPED, STATIC, file_hash, write_hashes
from pincite.encode.static_encoder import StaticEncoder

TARGET = Path(__file__).parents[1] / "src" / "pincite" / "encode" / "static" / "vectors.npz"
Array = np.ndarray[Any, np.dtype[Any]]

SEED = 1
# A text is cut to so many words at most; short ones teach most for the time they take.
LENGTHS = (12, 25, 25, 50, 50, 100)
# How many texts of each source.
COUNTS = {
    "cuad": 9000,
    "contractnli": 2500,
    "canada-regs": 5000,
    "far": 4000,
    "legal-xml": 5000,
    "medquad": 8000,
    "medquad questions": 3000,
    "qamr": 2500,
    "qamr questions": 5000,
    "nli-pairs": 9000,
    "fool-me-twice": 1200,
    "infotabs": 2500,
    "tabfact": 2000,
    "scitab": 800,
}
GLOSSES = 18_000
TEXTS = 50_000  # of all that, by chance
TAUGHT_AT_ONCE = 1000
HELD_OUT = 1000
EPOCHS, BATCH, RATE, PRIOR = 5, 512, 0.003, 3.0
TAG = re.compile(r"<[^<>]*>")
BLANKS = re.compile(r"\s+")
SIGNS = re.compile(r"[\W_]+")
# So many letters tell a stretch of a contract from all others.
LOOKED_AT = 60


def records(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def pieces(text: str, chance: random.Random) -> Iterator[str]:
    """Yield a long text in stretches of some words."""
    words, at = text.split(), 0
    while at < len(words):
        size = chance.choice(LENGTHS)
        yield " ".join(words[at : at + size])
        at += size


def of_xml(folder: Path, chance: random.Random) -> Iterator[str]:
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() == ".xml" and not file.name.startswith("it_"):
            text = TAG.sub(" ", file.read_text(encoding="utf-8", errors="replace"))
            yield from pieces(BLANKS.sub(" ", text), chance)


def of_docx(folder: Path, chance: random.Random) -> Iterator[str]:
    from pincite.model.settings import IngestSettings
    from pincite.read.load import parse

    for file in sorted(folder.glob("*.docx")):
        loaded = parse(file.read_bytes(), file.name, IngestSettings(), source=file.name)
        yield from pieces(loaded.document.text, chance)


def sources(data: Path, chance: random.Random) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield all texts of each source."""
    training = data / "training"

    def of(name: str) -> Iterator[dict[str, Any]]:
        return records(training / f"{name}.jsonl.gz")

    contracts = [each for each in of("cuad") if name_of(each["contract"]) not in names(data)]
    yield "cuad", (piece for each in contracts for piece in pieces(each["text"], chance))
    agreements = (each["document"] for each in of("contractnli"))
    yield "contractnli", (piece for text in agreements for piece in pieces(text, chance))
    yield "canada-regs", of_xml(data / "canada-regs" / "eng", chance)
    yield "far", of_docx(data / "docx", chance)
    yield "legal-xml", of_xml(data / "legal-xml", chance)
    yield "medquad", (piece for each in of("medquad") for piece in pieces(each["passage"], chance))
    yield "medquad questions", (each["query"] for each in of("medquad"))
    yield "qamr", (each["passage"] for each in of("qamr"))
    yield "qamr questions", (each["query"] for each in of("qamr"))
    yield "nli-pairs", (text for each in of("nli-pairs") for text in (each["text"], each["claim"]))
    yield (
        "fool-me-twice",
        (
            text
            for each in of("fool-me-twice")
            if each["split"] == "test"
            for text in (each["claim"], " ".join(each["evidence"]))
        ),
    )
    tables = (
        " | ".join(f"{key}: {', '.join(value)}" for key, value in each["table"].items())
        for each in of("infotabs")
    )
    yield "infotabs", (piece for text in tables for piece in pieces(text, chance))
    tables = (f"{each['title']} {each['csv'].replace('#', ' | ')}" for each in of("tabfact"))
    yield "tabfact", (next(pieces(text, chance), "") for text in tables)
    yield "scitab", (f"{each['caption']} {' '.join(each['columns'])}" for each in of("scitab"))


def name_of(text: str) -> str:
    return SIGNS.sub("", text).lower()


def names(data: Path) -> set[str]:
    """Return the names of the contracts that are measured."""
    return {name_of(file.stem) for file in (data / "cuad" / "txt").iterdir()}


def measured(data: Path) -> str:
    """Return the letters of the contracts that are measured: some have other names elsewhere."""
    files = sorted((data / "cuad" / "txt").iterdir())
    return " ".join(name_of(file.read_text(encoding="utf-8", errors="replace")) for file in files)


def glosses(wordnet: Path) -> Iterator[str]:
    """Yield what words mean: "word, word: gloss"."""
    for file in sorted((wordnet / "usr/share/wordnet").glob("data.*")):
        for line in file.read_text(encoding="utf-8").splitlines():
            facts, bar, gloss = line.partition(" | ")
            if bar and not line.startswith("  "):
                parts = facts.split()
                words = parts[4 : 4 + 2 * int(parts[3], 16) : 2]
                names = ", ".join(word.partition("(")[0].replace("_", " ") for word in words)
                yield f"{names}: {gloss.strip()}"


def make_texts(data: Path, wordnet: Path, work: Path) -> None:
    """Write the texts, one a line."""
    chance = random.Random(SEED)
    chosen: dict[str, None] = {}
    for name, texts in sources(data, chance):
        unique = sorted({BLANKS.sub(" ", text).strip() for text in texts} - {""})
        chance.shuffle(unique)
        chosen |= dict.fromkeys(unique[: COUNTS[name]])
        print(name, len(unique), min(len(unique), COUNTS[name]))
    # Of the glosses, those first that have words which are rare so far.
    tokenizer = OnnxEncoder(SHIPPED)._tokenizer
    seen = np.zeros(tokenizer.get_vocab_size())
    for each in tokenizer.encode_batch(list(chosen), add_special_tokens=False):
        np.add.at(seen, each.ids, 1)
    lines = sorted(set(glosses(wordnet)))
    chance.shuffle(lines)
    kept = 0
    for line, each in zip(
        lines, tokenizer.encode_batch(lines, add_special_tokens=False), strict=True
    ):
        if kept < GLOSSES and seen[each.ids].min() < 12:
            kept += 1
            seen[each.ids] += 1
            chosen[line] = None
    print("wordnet", len(lines), kept)
    print(int((seen == 0).sum()), "of", len(seen), "word pieces in no text")
    whole = list(chosen)
    chance.shuffle(whole)
    known = measured(data)
    lines = (json.dumps(text) + "\n" for text in whole if name_of(text)[:LOOKED_AT] not in known)
    (work / "texts.jsonl").write_text("".join(lines), encoding="utf-8")


def read_texts(work: Path) -> list[str]:
    lines = (work / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:TEXTS]]


def teach(work: Path) -> None:
    """Compute the encoder's vectors of all texts and of all word pieces alone; they are kept."""
    encoder = OnnxEncoder(SHIPPED, threads=1)
    with closing(VectorCache(encoder, work)) as cache:
        for texts in (pieces_alone(encoder), read_texts(work)):
            for at in range(0, len(texts), TAUGHT_AT_ONCE):
                cache.encode(texts[at : at + TAUGHT_AT_ONCE])
                print(min(at + TAUGHT_AT_ONCE, len(texts)), "of", len(texts), flush=True)


def pieces_alone(encoder: OnnxEncoder) -> list[str]:
    words = {number: word for word, number in encoder._tokenizer.get_vocab().items()}
    return [words[number].removeprefix("##") for number in range(len(words))]


def bags(texts: list[str], encoder: StaticEncoder) -> Any:
    """Return how often each text has each word piece, as a sparse matrix."""
    found = [encoder.pieces(text) for text in texts]
    starts = np.concatenate(([0], np.cumsum([len(ids) for ids in found])))
    numbers = np.concatenate([np.array(ids, dtype=np.int64) for ids in found])
    size = encoder.vocabulary
    whole = csr_matrix((np.ones(len(numbers), np.float32), numbers, starts), (len(texts), size))
    whole.sum_duplicates()
    return whole


def unit(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), dtype=np.float32)


def beginning(whole: Any, alone: Array) -> Array:
    """Return the vectors of word pieces alone, without what they share, as long as their idf."""
    seen = np.bincount(whole.indices, minlength=whole.shape[1])
    idf = np.log(1 + whole.shape[0] / (1 + seen))
    vectors = (unit(alone) - unit(alone).mean(axis=0)) * idf[:, None]
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1).mean(), dtype=np.float32)


def fitted(whole: Any, wanted: Array, start: Array) -> Array:
    """Return token vectors whose sums point where the encoder's vectors do (Adam, row by row).

    The loss of a text is one less the cosine. What holds vectors near their beginning matters
    to rare pieces alone.
    """
    chance = np.random.default_rng(SEED)
    vectors, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    count, step = whole.shape[0] // BATCH * BATCH, 0
    for epoch in range(EPOCHS):
        order, cosines = chance.permutation(whole.shape[0])[:count], []
        for at in range(0, count, BATCH):
            some = whole[order[at : at + BATCH]]
            own, places = np.unique(some.indices, return_inverse=True)
            bag = csr_matrix((some.data, places, some.indptr), (BATCH, len(own)))
            sums = bag @ vectors[own]
            lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
            sums /= lengths
            target = wanted[order[at : at + BATCH]]
            near = np.vecdot(sums, target)[:, None]
            gradient = bag.T @ ((near * sums - target) / lengths)
            gradient += PRIOR * (vectors[own] - start[own]) / BATCH
            mean[own] = 0.9 * mean[own] + 0.1 * gradient
            square[own] = 0.99 * square[own] + 0.01 * gradient * gradient
            step += 1
            rate = RATE * (1 - step * BATCH / (EPOCHS * count)) + 1e-5
            vectors[own] -= rate * mean[own] / (np.sqrt(square[own]) + 1e-8)
            cosines.append(near.mean())
        print(f"epoch {epoch + 1}: cosine {np.mean(cosines):.4f}", flush=True)
    return vectors


def fit(work: Path) -> None:
    """Fit the vectors and write them, with their hash, where they ship."""
    encoder, teacher = StaticEncoder(STATIC), OnnxEncoder(SHIPPED, threads=1)
    texts = read_texts(work)
    with closing(VectorCache(teacher, work)) as cache:
        alone = cache.encode(pieces_alone(teacher)).astype(np.float32)
        wanted = unit(cache.encode(texts).astype(np.float32))
    whole = bags(texts, encoder)
    start = beginning(whole[HELD_OUT:], alone)
    vectors = fitted(whole[HELD_OUT:], wanted[HELD_OUT:], start)
    held = np.vecdot(unit(whole[:HELD_OUT] @ vectors), wanted[:HELD_OUT]).mean()
    print(f"cosine to the encoder on {HELD_OUT} texts that were held out: {held:.4f}")
    words = pieces_alone(teacher)
    # Places in the vocabulary that stand for nothing have no vector.
    kept = np.array([n for n, word in enumerate(words) if not re.fullmatch(r"\[\w+\]", word)])
    scales = np.abs(vectors[kept]).max(axis=1, keepdims=True) / 127
    TARGET.parent.mkdir(exist_ok=True)
    np.savez(
        TARGET,
        codes=np.rint(vectors[kept] / scales).astype(np.int8),
        scales=scales[:, 0].astype(np.float16),
        pieces=kept.astype(np.uint16),
    )
    write_hashes(TARGET.parent)
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes, sha256 {file_hash(TARGET)}")


if __name__ == "__main__":
    if sys.argv[1] == "texts":
        make_texts(*map(Path, sys.argv[2:5]))
    else:
        {"teach": teach, "fit": fit}[sys.argv[1]](Path(sys.argv[2]))

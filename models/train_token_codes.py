"""Make the codec of the shipped encoder's token vectors: a projection, code books, word weights.

Texts are those of the cross-encoder's training groups (models/cross_encoder_data.py); nothing that
Pincite is measured on is among them. Needs nothing but Pincite.

    python models/train_token_codes.py GROUPS.jsonl [GROUPS.jsonl ...]
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

from pincite.encode.encoders import OnnxEncoder
from pincite.encode.models import spec_of, write_hashes
from pincite.model.settings import EmbeddingSettings

TARGET = Path(__file__).parents[1] / "src" / "pincite" / "encode" / "minilm" / "token_codes.npz"
DIMENSIONS, PARTS = 84, 14
TEXTS, WEIGHED = 1800, 12_000  # whose tokens are looked at, whose words are counted
SAMPLE, ROUNDS = 40_000, 25
# Inside a sentence they tell nothing; the marks at its end gather what the sentence says.
LEFT_OUT = set(",()[]{}<>-–—\"'`’‘“”/\\§›|*#_=+~^&%$@")

Array = np.ndarray[Any, np.dtype[Any]]


def texts_of(files: list[str]) -> list[str]:
    found: dict[str, None] = {}
    for file in files:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            found[json.loads(line)["texts"][0]] = None
    texts = list(found)
    random.Random(1).shuffle(texts)
    return texts


def tokens_of(texts: list[str], encoder: OnnxEncoder, is_kept: Array) -> Array:
    found = []
    for text in texts:
        _, tokens, ids, _ = encoder._with_tokens(text)
        found.append(tokens[1:-1][is_kept[ids[1:-1]]])
    return np.concatenate(found)


def projection_of(tokens: Array) -> Array:
    """Return the main directions, dealt to the parts like cards: each has as much to tell."""
    _, directions = np.linalg.eigh(tokens.T @ tokens / len(tokens))
    main = directions[:, ::-1][:, :DIMENSIONS]
    dealt = np.argsort(np.tile(np.arange(PARTS), DIMENSIONS // PARTS), kind="stable")
    return np.asarray(main[:, dealt], dtype=np.float32)


def book_of(points: Array, chance: np.random.Generator) -> Array:
    """Return 256 centres of points (k-means)."""
    book = points[chance.choice(len(points), 256, replace=False)].copy()
    for _ in range(ROUNDS):
        nearest = ((book * book).sum(axis=1) - 2 * points @ book.T).argmin(axis=1)
        sums = np.zeros_like(book)
        np.add.at(sums, nearest, points)
        counts = np.bincount(nearest, minlength=256)
        book = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], book)
    return book.astype(np.float32)


def main() -> None:
    spec = spec_of(EmbeddingSettings())
    assert spec is not None
    encoder = OnnxEncoder(spec)
    vocabulary = encoder._tokenizer.get_vocab()
    is_kept = np.ones(max(vocabulary.values()) + 1, dtype=bool)
    for word, number in vocabulary.items():
        is_kept[number] = not set(word) <= LEFT_OUT
    texts = texts_of(sys.argv[1:])
    tokens = tokens_of(texts[:TEXTS], encoder, is_kept)
    print(len(tokens), "tokens")
    projection = projection_of(tokens)
    chance = np.random.default_rng(1)
    short = tokens[chance.choice(len(tokens), SAMPLE, replace=False)] @ projection
    short /= np.linalg.norm(short, axis=1, keepdims=True)
    books = [book_of(part, chance) for part in np.split(short, PARTS, axis=1)]
    count = np.zeros(len(is_kept))
    some = texts[:WEIGHED]
    for encoded in encoder._tokenizer.encode_batch(some):
        count[np.unique(encoded.ids)] += 1
    # The square root of idf: rare words count more, but no single one decides.
    weights = np.sqrt(np.log(1 + len(some) / (1 + count)))
    np.savez_compressed(
        TARGET,
        projection=projection.astype(np.float16),
        books=np.stack(books).astype(np.float16),
        weights=weights.astype(np.float16),
        is_kept=is_kept,
    )
    write_hashes(TARGET.parent)
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()

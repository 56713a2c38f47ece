"""Late interaction: every word of the question is compared with every word of a candidate.

For each token of the question the most similar token of the candidate counts, weighted by what the
question's token tells (MaxSim). The candidates' tokens were encoded when they were ingested: this
takes one short encoding, which search by meaning has done already, and a matrix product.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pincite.encode.models import QueryTokens, TokenEncoder
from pincite.encode.windows import windows_of
from pincite.index.opened import Rows
from pincite.index.vectors import TokenIndex, TokenWindows
from pincite.model.types import Chunk
from pincite.search.candidates import Candidates
from pincite.search.query import ParsedQuery, is_bare_name
from pincite.store.files import Array


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A word of the question, and the word of a text that is nearest to it."""

    word: str
    text: str
    similarity: float
    weight: float  # what the question's word counts; all add up to one


class LateInteraction:
    """Mixes how well the words match into the scores of the best hits."""

    name = "late"

    def __init__(
        self, tokens: TokenIndex, encoder: TokenEncoder, rows: Rows, weight: float
    ) -> None:
        self.tokens = tokens
        self.encoder = encoder
        self.rows = rows
        self.weight = weight

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        """Return the table with scores and matches mixed, each from worst to best candidate.

        What a query names stays before the rest: only likeness is weighed against likeness.
        """
        is_open = ~table.is_named
        likeness = np.flatnonzero(is_open)
        is_named = len(likeness) < len(table)
        if len(likeness) < 2 or (is_named and is_bare_name(query.text)):
            return table
        start = time.perf_counter()
        matches = self.matches(query.text, table.names(likeness))
        seconds = {**table.seconds, "late_words": time.perf_counter() - start}
        known = ~np.isnan(matches)
        if not known.any():
            return table
        low, high = matches[known].min(), matches[known].max()
        shares = np.where(known, (matches - low) / max(high - low, 1e-9), 0.0)
        # In proportion as (1 - weight) × score + weight × match over the candidates' range, but
        # on the scale of the scores, so that tiers stay apart.
        room = np.ptp(table.score[likeness])
        kept = np.where(is_open, 1 - self.weight, 1.0)
        parts = {name: kept * values for name, values in table.parts.items()}
        parts[self.name], raw = np.full(len(table), np.nan), np.full(len(table), np.nan)
        parts[self.name][likeness] = self.weight * shares * room
        raw[likeness] = matches
        return replace(table, parts=parts, raw={**table.raw, self.name: raw}, seconds=seconds)

    def matches(self, question: str, ids: Sequence[str]) -> Array:
        """Return how well the best window of each chunk matches, -1 to 1; NaN without tokens."""
        found = np.full(len(ids), np.nan)
        asked = self.encoder.query_tokens(question)
        if not len(asked.vectors):
            return found
        rows = self.rows.find(ids)
        place = {chunk_id.encode(): number for number, chunk_id in enumerate(ids)}
        order = np.array([place[each] for each in self.rows.ids[rows].tolist()], dtype=np.int64)
        for windows in self.tokens.windows(self.rows.by_segment(rows)):
            if not len(windows.codes):
                continue
            scores = _window_scores(asked, self.encoder.codec.vectors(windows.codes), windows)
            has_tokens = ~np.isnan(scores)
            np.fmax.at(found, order[windows.chosen[has_tokens]], scores[has_tokens])
        return found

    def words(self, question: str, chunk: Chunk) -> list[WordMatch]:
        """Return for each word of the question the word of a chunk that it matches best."""
        asked = self.encoder.query_tokens(question)
        texts = windows_of(chunk, self.encoder)
        if not len(asked.vectors) or not texts:
            return []
        _, codes = self.encoder.encode_with_tokens(texts)
        near = [asked.vectors @ self.encoder.codec.vectors(each).T for each in codes]
        scores = [asked.weights @ each.max(axis=1, initial=-1) for each in near]
        window = int(np.argmax(scores))
        if not near[window].size:
            return []
        offsets = self.encoder.token_offsets(texts[window])
        best = near[window].argmax(axis=1)
        matched = zip(asked.places.tolist(), asked.weights.tolist(), best.tolist(), strict=True)
        return [
            WordMatch(
                question[begin:end],
                texts[window][slice(*offsets[token].tolist())],
                float(near[window][row, token]),
                weight,
            )
            for row, ((begin, end), weight, token) in enumerate(matched)
        ]


def _window_scores(asked: QueryTokens, vectors: Array, windows: TokenWindows) -> Array:
    """Return for each window the weighted mean of the best match of every question token."""
    counts = np.diff(windows.starts)
    filled = np.flatnonzero(counts)
    # Tokens as rows: three times as fast as the other way round.
    near = vectors @ asked.vectors.T
    best = np.maximum.reduceat(near, windows.starts[:-1][filled], axis=0)
    scores = np.full(len(counts), np.nan)
    scores[filled] = best @ asked.weights
    return scores

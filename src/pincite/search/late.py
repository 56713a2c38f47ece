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

# So many of the best candidates are compared. Fixed, so that top 10 is a prefix of top 100.
COMPARED = 30


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
        """Return the table with scores and matches of the best candidates mixed.

        Both go from the worst of those that are compared to the best, so that the others stay
        behind. What a query names stays before the rest: only likeness is weighed against likeness.
        """
        compared = table.open_to_reranking()
        is_named = len(compared) < len(table)
        compared = compared[:COMPARED]
        if len(compared) < 2 or (is_named and is_bare_name(query.text)):
            return table
        start = time.perf_counter()
        matches = self.matches(query.text, table.names(compared))
        seconds = {**table.seconds, "late_words": time.perf_counter() - start}
        known = ~np.isnan(matches)
        if not known.any():
            return table
        score = table.score[compared]
        # Of the last tier: those behind are of it or of a lower one.
        low = float(score[table.tier[compared] == table.tier[compared[-1]]].min())
        room = float(np.ptp(score))
        worst, best = matches[known].min(), matches[known].max()
        # What has no vectors of tokens keeps its score.
        mixed = np.where(known, low + room * (matches - worst) / max(best - worst, 1e-9), score)
        kept = np.ones(len(table))
        kept[compared] = 1 - self.weight
        parts = {name: kept * values for name, values in table.parts.items()}
        parts[self.name], raw = np.full(len(table), np.nan), np.full(len(table), np.nan)
        parts[self.name][compared] = self.weight * mixed
        raw[compared] = matches
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

"""The reader as a torch network, for training: one pass says whether, what, yes or no, and where.

It is the cross-encoder (``training/network.py``) with three more heads: whether the answer is a
stretch of words, yes or no; where that stretch begins and ends; which tokens are its evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pincite.store.files import Array
from reader_data import Example
from training.graph import WIDTH
from training.groups import Batch
from training.network import MATCH, OWN, Network

KINDS = ("span", "yes", "no")
NO_KIND = -100  # torch's own mark of what counts for nothing
READER_OWN = (*OWN, *MATCH, "kind.weight", "kind.bias", "place.weight", "place.bias")
QUESTION_TOKENS = 72  # of a question with its case the end is kept: there it asks
PLACES = 3  # start, end, evidence


@dataclass(frozen=True, slots=True)
class Labelled:
    """Examples side by side: tokens, and what each should say."""

    batch: Batch
    begins: Array  # the first token of the passage behind its headings
    answers: Array  # 1 or 0
    kinds: Array  # number in KINDS, or NO_KIND
    spans: tuple[tuple[tuple[int, int], ...], ...]  # first and last token of each right stretch
    evidence: Array  # 1 or 0 for tokens, -1 where nobody knows


class ReaderTokens:
    """Turns examples into tokens: [CLS] question [SEP] headings, passage [SEP]."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.first, self.last = tokenizer.encode("").ids

    def labelled(self, examples: Sequence[Example]) -> Labelled:
        """Return the examples as arrays."""
        rows = [self._row(each) for each in examples]
        shape = (len(rows), max(len(question) + len(offsets) + 3 for question, _, offsets in rows))
        ids, types = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        masks = np.zeros((3, *shape), dtype=bool)
        evidence = np.full(shape, -1, dtype=np.float32)
        spans, begins = [], []
        for n, ((question, passage, offsets), each) in enumerate(zip(rows, examples, strict=True)):
            begin, end = len(question) + 2, len(question) + len(passage) + 3
            ids[n, :end] = [self.first, *question, self.last, *passage, self.last]
            types[n, begin:end] = 1
            masks[0, n, :end] = True
            masks[1, n, 1 : begin - 1] = True
            masks[2, n, begin : end - 1] = True
            own = next((i for i, (a, _) in enumerate(offsets) if a >= 0), 0)
            begins.append(begin + own)
            found = [tokens_of(offsets, span) for span in each.spans]
            spans.append(tuple((begin + f[0], begin + f[1]) for f in found if f))
            if each.evidence or each.verdict == "none":
                evidence[n, begin + own : end - 1] = 0
            for stretch in filter(None, (tokens_of(offsets, span) for span in each.evidence)):
                evidence[n, begin + stretch[0] : begin + stretch[1] + 1] = 1
        kinds = [
            KINDS.index(each.verdict)
            if each.verdict != "none" and (each.verdict != "span" or each.spans)
            else NO_KIND
            for each in examples
        ]
        answers = np.array([each.verdict != "none" for each in examples], dtype=np.float32)
        return Labelled(
            Batch(ids, types, *masks),
            np.array(begins),
            answers,
            np.array(kinds, dtype=np.int64),
            tuple(spans),
            evidence,
        )

    def _row(self, example: Example) -> tuple[list[int], list[int], list[tuple[int, int]]]:
        """Return question, passage, and where its tokens stand in it; those of headings before."""
        encode = self.tokenizer.encode
        question = encode(example.question, add_special_tokens=False).ids[-QUESTION_TOKENS:]
        path = encode(example.path, add_special_tokens=False).ids[-24:] if example.path else []
        passage = encode(example.passage, add_special_tokens=False)
        room = self.max_tokens - 3 - len(question)
        offsets = [(-1, -1)] * len(path) + list(passage.offsets)
        return question, [*path, *passage.ids][:room], offsets[:room]


def tokens_of(offsets: Sequence[tuple[int, int]], span: tuple[int, int]) -> tuple[int, int] | None:
    """Return the first and the last token of a stretch of characters; None if it was cut off.

    >>> tokens_of([(-1, -1), (0, 3), (4, 8), (9, 12)], (4, 12))
    (2, 3)
    """
    inside = [n for n, (a, b) in enumerate(offsets) if a >= 0 and b > span[0] and a < span[1]]
    if not inside or offsets[inside[-1]][1] < span[1]:
        return None
    return inside[0], inside[-1]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the network says of a batch: logits."""

    answers: Any  # a pair each
    kinds: Any  # pairs, KINDS
    places: Any  # pairs, tokens, PLACES


class ReaderNetwork(Network):
    """Weights by name, and what they compute."""

    def __init__(self, weights: Mapping[str, Array], frozen_layers: int) -> None:
        super().__init__(weights, frozen_layers)
        generator = self.torch.Generator().manual_seed(2)
        for name, size in (("kind", len(KINDS)), ("place", PLACES)):
            start = self.torch.randn((size, WIDTH), generator=generator) * 0.02
            self.weights.setdefault(f"{name}.weight", start)
            self.weights.setdefault(f"{name}.bias", self.torch.zeros(size))
            for part in ("weight", "bias"):
                self.weights[f"{name}.{part}"].requires_grad_(True)

    def read(self, batch: Batch) -> Reading:
        """Return what it says of each pair."""
        value = self.encoded(batch)
        pooled = self.pooled(value, batch)
        answers = self.matched(value, batch) + self._linear(pooled, "out").squeeze(-1)
        return Reading(
            answers.float(),
            self._linear(pooled, "kind").float(),
            self._linear(value, "place").float(),
        )

    def loss(self, reading: Reading, labelled: Labelled) -> dict[str, Any]:
        """Return the loss of each head; one that nothing was asked of is 0."""
        torch, functional = self.torch, self.torch.nn.functional
        answers = torch.from_numpy(labelled.answers)
        kinds = torch.from_numpy(labelled.kinds)
        known = torch.from_numpy(labelled.evidence)
        is_known = (known >= 0).float()
        proof = functional.binary_cross_entropy_with_logits(
            reading.places[..., 2], known.clamp(min=0), reduction="none"
        )
        per_pair = (proof * is_known).sum(1) / is_known.sum(1).clamp(min=1)
        return {
            "answers": functional.binary_cross_entropy_with_logits(reading.answers, answers),
            "kinds": functional.cross_entropy(reading.kinds, kinds, ignore_index=NO_KIND)
            if (kinds >= 0).any()
            else reading.kinds.sum() * 0,
            "spans": self._span_loss(reading.places, labelled),
            "evidence": per_pair.mean(),
        }

    def _span_loss(self, places: Any, labelled: Labelled) -> Any:
        """Return how unlikely the right stretches are, all ways to mark one taken together."""
        torch = self.torch
        allowed = self.allowed(labelled)
        starts = places[..., 0].masked_fill(~allowed, -1e4).log_softmax(-1)
        ends = places[..., 1].masked_fill(~allowed, -1e4).log_softmax(-1)
        losses = [
            -torch.logsumexp(torch.stack([starts[n, a] + ends[n, b] for a, b in spans]), 0)
            for n, spans in enumerate(labelled.spans)
            if spans
        ]
        return torch.stack(losses).mean() if losses else places.sum() * 0

    def allowed(self, labelled: Labelled) -> Any:
        """Return which tokens may be an answer: those of the passage, not of its headings."""
        torch = self.torch
        place = torch.arange(labelled.batch.ids.shape[1])[None, :]
        begins = torch.from_numpy(labelled.begins)[:, None]
        return torch.from_numpy(labelled.batch.is_passage) & (place >= begins)


def best_spans(starts: Array, ends: Array, allowed: Array, longest: int = 40) -> list[Any]:
    """Return for each row the likeliest stretch: first token, last token, log-probability."""
    found = []
    for start, end, is_allowed in zip(starts, ends, allowed, strict=True):
        places = np.flatnonzero(is_allowed)
        a, b = _log_softmax(start[places]), _log_softmax(end[places])
        pair = a[:, None] + b[None, :]
        off = np.arange(len(places))[None, :] - np.arange(len(places))[:, None]
        pair = np.where((off >= 0) & (off < longest), pair, -np.inf)
        first, last = divmod(int(pair.argmax()), len(places))
        found.append((int(places[first]), int(places[last]), float(pair[first, last])))
    return found


def overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Return the F1 of two stretches of tokens."""
    both = min(one[1], other[1]) - max(one[0], other[0]) + 1
    return 2 * both / (one[1] - one[0] + other[1] - other[0] + 2) if both > 0 else 0.0


def _log_softmax(values: Array) -> Array:
    shifted = values - values.max()
    result: Array = shifted - np.log(np.exp(shifted).sum())
    return result

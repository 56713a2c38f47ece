"""Vectors of chunks and of their tokens; arrays of arrays; lists of nearest centroids (IVF)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from pincite.model.errors import ModelError
from pincite.store.files import Array
from pincite.store.segment import Vectors
from pincite.store.snapshot import Snapshot

# The codes of windows behind each other, and where each window's begin, with the end at the end.
Tokens = tuple[Array, Array]


def regrouped(codes: Array, starts: Array, order: Array) -> Tokens:
    """Return the codes of some windows in a given order, and where each window's begin.

    >>> codes, starts = regrouped(np.arange(6), np.array([0, 1, 3, 6]), np.array([2, 0]))
    >>> codes.tolist(), starts.tolist()
    ([3, 4, 5, 0], [0, 3, 4])
    """
    places, new_starts = token_places(starts, order)
    return codes[places], new_starts


def token_places(starts: Array, windows: Array) -> tuple[Array, Array]:
    """Return which codes belong to some windows, and where each window's begin among them."""
    begins = starts[windows].astype(np.int64)
    counts = starts[windows + 1].astype(np.int64) - begins
    ends = np.cumsum(counts)
    new_starts = np.concatenate(([0], ends)).astype(np.int64)
    places: Array = np.repeat(begins - new_starts[:-1], counts) + np.arange(new_starts[-1])
    return places, new_starts


def joined(windows: Sequence[Array]) -> Tokens:
    """Return the codes of all windows behind each other, and where each window's begin."""
    starts = np.concatenate(([0], np.cumsum([len(each) for each in windows], dtype=np.int64)))
    return np.concatenate(windows), starts


def following(parts: Sequence[Tokens]) -> Tokens:
    """Return the windows of several parts as one.

    >>> one, two = (np.arange(3), np.array([0, 1, 3])), (np.arange(2), np.array([0, 2]))
    >>> codes, starts = following([one, two])
    >>> codes.tolist(), starts.tolist()
    ([0, 1, 2, 0, 1], [0, 1, 3, 5])
    """
    sizes = np.cumsum([0, *(len(codes) for codes, _ in parts)])
    starts = [s[:-1] + size for (_, s), size in zip(parts, sizes, strict=False)]
    return (
        np.concatenate([codes for codes, _ in parts]),
        np.concatenate([*starts, sizes[-1:]]).astype(np.int64),
    )


# Segments with more windows get lists: many middling segments would otherwise add up.
LISTED_FROM = 20_000
# An index with fewer windows is looked at as a whole: a few milliseconds, and nothing is missed.
EXACT_UP_TO = 50_000
# At least so many windows are looked at, and in large indexes so many for the root of their number.
MIN_PROBED = 16_000
LOOKED_AT_PER_ROOT = 64
# Short lists hug their centres, so fewer windows are looked at in vain; but centres cost a scan.
LISTS_PER_ROOT = 4
SAMPLED_PER_LIST = 32
ROUNDS = 6
SAMPLE_BYTES = 256_000_000
# Vectors compared with all centres at a time.
CENTRED = 2048


def lists_of(exact: Array) -> dict[str, Array]:
    """Return the arrays that put vectors into lists; none if there are few.

    ``order`` names the vector at each place, list after list; ``starts`` where each list begins.
    """
    count = len(exact)
    if count <= LISTED_FROM:
        return {}
    centres = _centres(exact, round(LISTS_PER_ROOT * count**0.5))
    home = _nearest(exact, centres)
    order = np.argsort(home, kind="stable")
    starts = np.searchsorted(home[order], np.arange(len(centres) + 1))
    return {
        "centres": centres,
        "order": order.astype(np.uint32),
        "starts": starts.astype(np.uint32),
    }


def _centres(exact: Array, wanted: int) -> Array:
    """Return the centres of k-means by cosine; the same vectors always give the same ones."""
    random = np.random.default_rng(0)
    size = min(len(exact), SAMPLED_PER_LIST * wanted, SAMPLE_BYTES // (4 * exact.shape[1]))
    chosen = np.sort(random.choice(len(exact), size, replace=False))
    sample = exact[chosen].astype(np.float32)
    centres: Array = sample[np.sort(random.choice(size, wanted, replace=False))]
    for _ in range(ROUNDS):
        home = _nearest(sample, centres)
        order = np.argsort(home, kind="stable")
        sorted_home = home[order]
        starts = np.flatnonzero(np.concatenate(([True], sorted_home[1:] != sorted_home[:-1])))
        sums = np.add.reduceat(sample[order], starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        # A centre that nobody is near stays where it is: it may be needed outside the sample.
        centres[sorted_home[starts]] = sums / np.maximum(lengths, 1e-9)
    return centres


def _nearest(vectors: Array, centres: Array) -> Array:
    """Return the number of the nearest centre of each vector."""
    found = np.empty(len(vectors), dtype=np.int64)
    for at in range(0, len(vectors), CENTRED):
        block = vectors[at : at + CENTRED].astype(np.float32)
        found[at : at + CENTRED] = (block @ centres.T).argmax(axis=1)
    return found


def looked_at(windows: int) -> int:
    """Return how many of so many windows to look at.

    >>> looked_at(1_000), looked_at(1_000_000)
    (16000, 64000)
    """
    return max(MIN_PROBED, int(LOOKED_AT_PER_ROOT * windows**0.5))


def nearest_lists(nearness: Sequence[Array], sizes: Sequence[Array], enough: int) -> list[Array]:
    """Return which lists of each segment to look at: the nearest of all, with enough in them.

    Segments compete: four of them cost no more than one.

    >>> near = [np.array([0.9, 0.1]), np.array([0.5])]
    >>> sizes = [np.array([9000, 1]), np.array([8000])]
    >>> [each.tolist() for each in nearest_lists(near, sizes, 10_000)]
    [[0], [0]]
    """
    order = np.argsort(-np.concatenate(nearness), kind="stable")
    count = np.searchsorted(np.cumsum(np.concatenate(sizes)[order]), enough) + 1
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[:count]] = True
    ends = np.cumsum([len(each) for each in nearness])[:-1]
    return [np.flatnonzero(part) for part in np.split(chosen, ends)]


# Rows turned into floats at a time: as many as stay in the processor's cache.
BLOCK = 2048
# Below this a cosine means nothing: rows without a vector get it.
NO_VECTOR = -1.0
# So many windows of one row may be among the best before any row is lost by them.
WINDOWS_PER_ROW = 8
# Rows of a segment and their scores.
Pairs = tuple[Array, Array]


def packed(rows: Array, exact: Array, tokens: Tokens | None = None) -> dict[str, Array]:
    """Return the arrays of a vector folder; rows without a vector are left out.

    ``tokens`` are the codes of the windows' tokens and where each window's begin.
    """
    has_vector = np.flatnonzero(exact.any(axis=1))
    order = has_vector[np.argsort(rows[has_vector], kind="stable")]
    rows, exact = rows[order].astype(np.uint32), exact[order].astype(np.float16)
    lists = lists_of(exact)
    codes, scales = _coded(exact, lists.get("order"))
    arrays = {"rows": rows, "exact": exact, "codes": codes, "scales": scales, **lists}
    if tokens is not None:
        arrays["token_codes"], arrays["token_starts"] = regrouped(*tokens, order)
    return arrays


def _coded(exact: Array, order: Array | None) -> tuple[Array, Array]:
    """Return the vectors as int8 and what to multiply them by, in the order of lists if any."""
    codes = np.empty(exact.shape, dtype=np.int8)
    scales = np.empty(len(exact), dtype=np.float32)
    for at in range(0, len(exact), BLOCK):
        place = slice(at, at + BLOCK)
        some = (exact[place] if order is None else exact[order[place]]).astype(np.float32)
        largest = np.abs(some).max(axis=1, initial=0)
        scales[place] = np.where(largest > 0, largest / 127, 1)
        codes[place] = np.rint(some / scales[place][:, None])
    return codes, scales


def check_dimension(part: Vectors, dimension: int, model: str) -> None:
    """Raise ModelError if a model's vectors are not as long as those that are stored."""
    stored = part.exact.shape[1]
    if stored != dimension:
        raise ModelError(
            f"{model} gives vectors of {dimension} numbers, the index has {stored}",
            hint="give the other model another name, or build the index again with --rebuild",
        )


def merged(parts: Sequence[tuple[Vectors | None, Array]]) -> dict[str, Array]:
    """Return the arrays for segments that become one: each with which of its rows live on."""
    rows, exact, tokens, offset = [], [], [], 0
    for vectors, live in parts:
        if vectors is not None:
            kept = np.flatnonzero(live[vectors.rows])
            new_row = np.cumsum(live) - 1 + offset
            rows.append(new_row[vectors.rows[kept]])
            exact.append(vectors.exact[kept])
            if vectors.tokens is not None:
                tokens.append(regrouped(*vectors.tokens, kept))
        offset += int(live.sum())
    # Those of some segments alone would be worth nothing: what lacks them is encoded again.
    whole = following(tokens) if len(tokens) == len(rows) else None
    return packed(np.concatenate(rows), np.concatenate(exact), whole)


class VectorIndex:
    """One model's vectors of a whole snapshot.

    Of segments where they are not complete, those of a stand-in serve: a model of the same space.
    """

    def __init__(self, snapshot: Snapshot, model: str, stand_in: str = "") -> None:
        self.snapshot = snapshot
        self.segments = snapshot.vectors_of(model)
        if stand_in:
            both = zip(self.segments, snapshot.vectors_of(stand_in), strict=True)
            self.segments = [_fuller(own, other) for own, other in both]
        self.models = {part.entry.model for part in self.segments if part is not None} or {model}
        self.stand_in = stand_in
        self.sizes = [segment.entry.chunks for segment in snapshot.segments]
        self._list_rows: dict[int, Array] = {}
        # Where the windows of each row of a segment begin: every scan wants to know.
        self._starts = cache(self._find_starts)

    @property
    def windows(self) -> int:
        """How many vectors there are."""
        return sum(part.entry.windows for part in self.segments if part is not None)

    @property
    def stood_in(self) -> float:
        """The share of vectors that are a stand-in's."""
        parts = [part.entry for part in self.segments if part is not None]
        others = sum(entry.windows for entry in parts if entry.model == self.stand_in)
        return others / max(self.windows, 1)

    def check(self, dimension: int) -> None:
        """Raise ModelError if a query's vector does not fit those of the index."""
        for part in filter(None, self.segments):
            check_dimension(part, dimension, part.entry.model)

    def approximate(self, number: int, query: Array) -> Array:
        """Return every row's best cosine in a segment, from the int8 codes where there are any."""
        best = np.full(self.sizes[number], NO_VECTOR, dtype=np.float32)
        part = self.segments[number]
        if part is None or not len(part.rows):
            return best
        if part.codes is None:
            best[:] = self.exact(number, np.arange(self.sizes[number]), query)
            return best
        scores = _scores(part.codes, part.scales, slice(None), query)
        if part.centres is not None:
            in_lists, scores = scores, np.empty_like(scores)
            scores[part.order] = in_lists
        starts = self._starts(number)
        best[part.rows[starts]] = np.maximum.reduceat(scores, starts)
        return best

    def _find_starts(self, number: int) -> Array:
        part = self.segments[number]
        assert part is not None
        return starts_of(part.rows)

    def nearest(self, query: Array, masks: Sequence[Array | None], wanted: int) -> dict[int, Pairs]:
        """Return for each segment that has lists the best rows of those worth a look, and scores.

        A store that finds the nearest itself answers for all segments. Those rows of a filter that
        leaves few are all looked at. Segments that are not in the answer are to be scanned.
        """
        found = self._found_by_store(query, masks, wanted)
        if found is not None:
            return found
        listed = {
            number: part
            for number, part in enumerate(self.segments)
            if part is not None and part.centres is not None
        }
        if not listed or self.windows <= EXACT_UP_TO:
            return {}
        allowed = [self._allowed(number, masks[number]) for number in listed]
        sizes = [_list_sizes(p, places) for p, places in zip(listed.values(), allowed, strict=True)]
        left = sum(int(each.sum()) for each in sizes)
        if left <= looked_at(left):
            return {number: self._all_of(number, masks[number], query) for number in listed}
        best: dict[int, Pairs] = {}
        nearness = [np.vecdot(p.centres, query) for p in listed.values() if p.centres is not None]
        chosen = nearest_lists(nearness, sizes, looked_at(left))
        for (number, part), lists, places in zip(listed.items(), chosen, allowed, strict=True):
            windows = self._looked_at(number, part, lists, places, query)
            best[number] = _best_rows(*windows, wanted)
        return best

    def _found_by_store(
        self, query: Array, masks: Sequence[Array | None], wanted: int
    ) -> dict[int, Pairs] | None:
        """Return what a store finds itself, of each segment by the model whose vectors serve."""
        whole: dict[int, Pairs] = {}
        for model in sorted(self.models):
            found = self.snapshot.nearest_rows(model, query, masks, wanted)
            if found is None:
                return None
            for number, part in enumerate(self.segments):
                if number in found and (part is None or part.entry.model == model):
                    whole[number] = found[number]
        return whole

    def _looked_at(
        self, number: int, part: Vectors, lists: Array, allowed: Array | None, query: Array
    ) -> Pairs:
        """Return the row of each window in some lists, and its score."""
        assert part.codes is not None
        places = _places(part.starts[lists], part.starts[lists + 1])
        if allowed is not None:
            places = places[allowed[places]]
        return self._rows_in_lists(number)[places], _scores(part.codes, part.scales, places, query)

    def _all_of(self, number: int, mask: Array | None, query: Array) -> Pairs:
        """Return all rows that a filter leaves, compared in full precision."""
        rows = np.arange(self.sizes[number]) if mask is None else np.flatnonzero(mask)
        scores = self.exact(number, rows, query)
        has_vector = scores > NO_VECTOR
        return rows[has_vector], scores[has_vector].astype(np.float32)

    def _allowed(self, number: int, mask: Array | None) -> Array | None:
        """Return which places in a segment's lists a filter leaves; None if all."""
        return None if mask is None else mask[self._rows_in_lists(number)]

    def _rows_in_lists(self, number: int) -> Array:
        """Return the row of each place in a segment's lists, worked out once."""
        part = self.segments[number]
        assert part is not None
        if number not in self._list_rows:
            self._list_rows[number] = part.rows[part.order]
        return self._list_rows[number]

    def exact(self, number: int, rows: Array, query: Array) -> Array:
        """Return the best cosine of each of these rows of a segment, in full precision."""
        found = np.full(len(rows), NO_VECTOR, dtype=np.float64)
        part = self.segments[number]
        if part is None or not len(rows):
            return found
        first = np.searchsorted(part.rows, rows)
        last = np.searchsorted(part.rows, rows, side="right")
        counts = last - first
        known = np.flatnonzero(counts)
        if not len(known):
            return found
        starts = np.cumsum(counts[known]) - counts[known]
        windows = np.repeat(first[known] - starts, counts[known]) + np.arange(counts.sum())
        # Row by row, so that a score never depends on which other rows are asked for.
        scores = np.einsum("ij,j->i", part.exact[windows].astype(np.float32), query)
        found[known] = np.maximum.reduceat(scores, starts)
        return found


def _fuller(own: Vectors | None, other: Vectors | None) -> Vectors | None:
    """Return those of a segment's vectors that more chunks have; its own if as many."""
    if own is None or other is None:
        return other if own is None else own
    return own if own.entry.chunks >= other.entry.chunks else other


def starts_of(rows: Array) -> Array:
    """Return where each row's windows begin."""
    if not len(rows):
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))


def _best_rows(rows: Array, scores: Array, wanted: int) -> Pairs:
    """Return rows of the best windows, each with its best score: those wanted and some more."""
    kept = WINDOWS_PER_ROW * wanted
    if kept < len(rows):
        best = np.argpartition(scores, len(scores) - kept)[len(scores) - kept :]
        rows, scores = rows[best], scores[best]
    order = np.argsort(rows, kind="stable")
    rows, scores = rows[order].astype(np.int64), scores[order]
    starts = starts_of(rows)
    return rows[starts], np.maximum.reduceat(scores, starts) if len(starts) else scores


def _list_sizes(part: Vectors, allowed: Array | None) -> Array:
    """Return how many windows each list has, of those that may be found."""
    if allowed is None:
        return np.diff(part.starts.astype(np.int64))
    before = np.concatenate(([0], np.cumsum(allowed)))
    return np.diff(before[part.starts])


def _places(begins: Array, ends: Array) -> Array:
    """Return all numbers of half-open ranges, one range after the other."""
    begins, counts = begins.astype(np.int64), ends.astype(np.int64) - begins
    before = np.cumsum(counts) - counts
    found: Array = np.repeat(begins - before, counts) + np.arange(counts.sum())
    return found


def _scores(codes: Array, scales: Array, places: Array | slice, query: Array) -> Array:
    """Return the cosines of codes with a query, nearly right."""
    scales = scales[places]
    scores = np.empty(len(scales), dtype=np.float32)
    for at in range(0, len(scores), BLOCK):
        some = slice(at, at + BLOCK)
        block = codes[some] if isinstance(places, slice) else codes[places[some]]
        # Row by row: a product of matrices would wait for threads on a machine with other work.
        np.vecdot(block.astype(np.float32), query, out=scores[some])
    scores *= scales
    return scores


@dataclass(frozen=True, slots=True)
class TokenWindows:
    """The tokens of some rows of one segment, window by window."""

    chosen: Array  # of each window: which of the rows that were asked for it is of
    codes: Array
    starts: Array  # where each window's codes begin, with the end at the end


class TokenIndex:
    """One model's token codes of a whole snapshot."""

    def __init__(self, snapshot: Snapshot, model: str) -> None:
        self.segments = snapshot.vectors_of(model)

    @property
    def is_empty(self) -> bool:
        return not any(part is not None and part.tokens is not None for part in self.segments)

    def windows(
        self, by_segment: Sequence[tuple[int, tuple[Array, Array]]]
    ) -> Iterator[TokenWindows]:
        """Yield the windows of rows, segment by segment, as ``Rows.by_segment`` gives them."""
        for number, (chosen, rows) in by_segment:
            part = self.segments[number]
            if part is None or part.tokens is None:
                continue
            first = np.searchsorted(part.rows, rows)
            counts = np.searchsorted(part.rows, rows, side="right") - first
            before = np.cumsum(counts) - counts
            windows = np.repeat(first - before, counts) + np.arange(counts.sum())
            codes, token_starts = part.tokens
            places, starts = token_places(token_starts, windows)
            yield TokenWindows(np.repeat(chosen, counts), codes[places], starts)

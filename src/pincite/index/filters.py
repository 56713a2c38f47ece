"""Columns of places, groups of documents, and filters as masks over rows."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from pincite.index.postings import narrow
from pincite.model.editions import in_force, parse_date
from pincite.model.errors import ConfigError, StaleIndex, StoreError
from pincite.model.profiles import PROFILES
from pincite.model.types import Enrichment, Filters, ParsedDocument
from pincite.store.files import Array
from pincite.store.segment import Segment
from pincite.store.snapshot import Snapshot

NUMBERS = ("start", "own_end", "end", "page", "searched")
CODES = ("document", "kind", "path", "content", "tags", "traits")
NO_PAGE = 0  # and page 0, which files have whose pages are counted from it, is 1
# These have no facts of their own: they are about the same as what they are a part of.
PARTS = ("row", "piece")


class PlaceColumns:
    """Collects the columns of documents on their way into a segment."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = {name: [] for name in (*NUMBERS, *CODES)}
        self._values: dict[str, dict[str, int]] = {name: {} for name in CODES}

    def add(self, loaded: ParsedDocument) -> None:
        """Add all chunks of a document."""
        nothing = Enrichment()
        for chunk in loaded.chunks:
            owner = chunk.parent if chunk.kind in PARTS and chunk.parent else chunk.id
            facts = loaded.facts.get(owner, nothing)
            self._append(
                start=chunk.span.start,
                own_end=chunk.own_end,
                end=chunk.span.end,
                page=NO_PAGE if chunk.page is None else max(NO_PAGE, chunk.page + 1),
                searched=chunk.searched,
                document=self._code("document", chunk.span.doc_id),
                kind=self._code("kind", chunk.kind),
                path=self._code("path", chunk.path),
                content=self._code("content", facts.content_kind),
                tags=self._code("tags", facts.tags),
                traits=self._code("traits", facts.traits),
            )

    def _append(self, **numbers: int) -> None:
        for name, number in numbers.items():
            self._numbers[name].append(number)

    def _code(self, column: str, value: str | Sequence[str]) -> int:
        known = self._values[column]
        return known.setdefault(json.dumps(value, ensure_ascii=False), len(known))

    def arrays(self) -> dict[str, Array]:
        """Return the columns and their vocabularies as arrays of a segment."""
        columns = {name: np.array(some, dtype=np.int64) for name, some in self._numbers.items()}
        return _as_arrays(columns, self._values)


def merged_places(parts: Iterable[SegmentPlaces]) -> dict[str, Array]:
    """Return the live places of several segments as arrays of one."""
    columns: dict[str, list[Array]] = {name: [] for name in (*NUMBERS, *CODES)}
    values: dict[str, dict[str, int]] = {name: {} for name in CODES}
    for part in parts:
        live = part.live
        for name in NUMBERS:
            columns[name].append(part.column(name)[live])
        for name in CODES:
            codes, inverse = np.unique(part.column(name)[live], return_inverse=True)
            known, mine = values[name], part.values(name)
            texts = (json.dumps(mine[code], ensure_ascii=False) for code in codes.tolist())
            new = [known.setdefault(text, len(known)) for text in texts]
            columns[name].append(np.array(new, dtype=np.int64)[inverse])
    joined = {name: np.concatenate(some) for name, some in columns.items()}
    return _as_arrays(joined, values)


def _as_arrays(columns: dict[str, Array], values: dict[str, dict[str, int]]) -> dict[str, Array]:
    arrays = {f"place_{name}": narrow(column) for name, column in columns.items()}
    for name, known in values.items():
        text = f"[{', '.join(known)}]".encode("utf-8", "surrogatepass")
        arrays[f"place_{name}_values"] = np.frombuffer(text, dtype=np.uint8)
    return arrays


class SegmentPlaces:
    """The columns of one segment, read when they are first asked for."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self._read: dict[str, list[Any]] = {}
        self.numbered: dict[str, tuple[Array, list[str]]] = {}  # groups, see pincite.index.filters

    def column(self, name: str) -> Array:
        """Return a column: one number for each chunk."""
        try:
            column = self.segment.arrays[f"place_{name}"]
        except KeyError as error:
            raise StaleIndex(
                "the index was built by a version that kept nothing to filter by",
                hint="build it again: pincite ingest FILES --rebuild",
            ) from error
        if len(column) != len(self.segment.arrays["place_start"]):
            raise self._damaged()
        return column

    def values(self, name: str) -> list[Any]:
        """Return what the codes of a column mean."""
        if name not in self._read:
            self.column(name)
            raw = self.segment.arrays[f"place_{name}_values"].tobytes()
            try:
                self._read[name] = json.loads(raw.decode("utf-8", "surrogatepass"))
            except ValueError as error:
                raise self._damaged() from error
        return self._read[name]

    def where(self, name: str, wanted: Iterable[bool]) -> Array:
        """Return which chunks have a value that is wanted; ``wanted`` goes along the values."""
        table = np.fromiter(wanted, dtype=bool, count=len(self.values(name)))
        return np.asarray(table[self.column(name)])

    @cached_property
    def searched(self) -> Array:
        """The chunks that are rows of the index, in the order of the rows."""
        return np.flatnonzero(self.column("searched"))

    @cached_property
    def live(self) -> Array:
        """Which chunks belong to documents that are still in the index."""
        dropped = self.segment.dropped
        return self.where("document", (name not in dropped for name in self.values("document")))

    def rows_with(self, chosen: Array) -> Array:
        """Return which rows hold own words of a chosen chunk.

        Rows do not overlap and stand in the order of the text, so those that a stretch touches
        are neighbours: two binary searches a stretch.
        """
        documents = self.column("document").astype(np.int64) << 32
        at = self.searched
        starts = documents[at] + self.column("start")[at]
        ends = documents[at] + self.column("end")[at]
        chosen_at = np.flatnonzero(chosen & (self.column("own_end") > self.column("start")))
        first = documents[chosen_at] + self.column("start")[chosen_at]
        last = documents[chosen_at] + self.column("own_end")[chosen_at]
        size = len(at) + 1
        begun = np.bincount(np.searchsorted(ends, first, side="right"), minlength=size)
        ended = np.bincount(np.searchsorted(starts, last, side="left"), minlength=size)
        return np.asarray(np.cumsum(begun - ended)[:-1] > 0)

    def _damaged(self) -> StoreError:
        name = self.segment.entry.name
        return StoreError(f"segment {name} is damaged", hint="run: pincite doctor")


By = Literal["folder", "document", "chapter"]
KINDS: tuple[By, ...] = ("folder", "document", "chapter")


def group_name(by: By, doc_id: str, path: tuple[str, ...] | list[str] = ()) -> str:
    """Return the name of the group that a place belongs to.

    >>> group_name("folder", "law/eu/act.pdf"), group_name("folder", "act.pdf")
    ('folder:law', 'folder:')
    >>> group_name("chapter", "act.pdf", ("Part 2", "Fees"))
    'chapter:act.pdf > Part 2'
    """
    if by == "folder":
        folder, slash, _ = doc_id.partition("/")
        return f"folder:{folder if slash else ''}"
    if by == "document":
        return f"document:{doc_id}"
    return f"chapter:{doc_id} > {path[0]}" if path else f"chapter:{doc_id}"


def group_mask(part: SegmentPlaces, names: Iterable[str]) -> Array:
    """Return which chunks of a segment belong to one of the groups."""
    wanted = set(names)
    chosen = np.zeros(len(part.column("start")), dtype=bool)
    for by in _kinds_of(wanted):
        codes, known = numbered(part, by)
        table = np.fromiter((name in wanted for name in known), dtype=bool, count=len(known))
        chosen |= table[codes]
    return chosen


def _kinds_of(names: Iterable[str]) -> list[By]:
    kinds = {name.partition(":")[0] for name in names}
    if unknown := sorted(kinds - set(KINDS)):
        raise ConfigError(
            f"no kind of group called {unknown[0]!r}",
            hint="name a group as folder:NAME, document:ID or chapter:ID > HEADING",
        )
    return [by for by in KINDS if by in kinds]


def numbered(part: SegmentPlaces, by: By) -> tuple[Array, list[str]]:
    """Return the group of each chunk of a segment as a number, and the names of the groups.

    Worked out once a segment: a router asks for it with every question.
    """
    if by not in part.numbered:
        part.numbered[by] = _numbered(part, by)
    return part.numbered[by]


def _numbered(part: SegmentPlaces, by: By) -> tuple[Array, list[str]]:
    documents = part.values("document")
    if by != "chapter":
        return part.column("document"), [group_name(by, doc_id) for doc_id in documents]
    paths = part.values("path")
    both = part.column("document").astype(np.int64) * len(paths) + part.column("path")
    pairs, codes = np.unique(both, return_inverse=True)
    named = (divmod(pair, len(paths)) for pair in pairs.tolist())
    return codes, [group_name(by, documents[doc], paths[path]) for doc, path in named]


class Groups:
    """The groups of an index: which one each searched row belongs to."""

    def __init__(self, snapshot: Snapshot, by: By) -> None:
        self.by = by
        self._parts = [SegmentPlaces(segment) for segment in snapshot.segments]

    @cached_property
    def _numbered(self) -> tuple[list[Array], list[str]]:
        """The group of every row of every segment, and the names of all groups."""
        known: dict[str, int] = {}
        rows = []
        for part in self._parts:
            codes, names = numbered(part, self.by)
            of_rows = codes[part.searched]
            # What only dropped documents have is no group any more; no row of theirs is asked for.
            live = set(of_rows[part.live[part.searched]].tolist())
            table = np.array(
                [
                    known.setdefault(name, len(known)) if code in live else 0
                    for code, name in enumerate(names)
                ],
                dtype=np.int64,
            )
            rows.append(table[of_rows])
        return rows, list(known)

    @property
    def names(self) -> list[str]:
        return self._numbered[1]

    @property
    def rows(self) -> list[Array]:
        return self._numbered[0]


REMEMBERED = 32
MAX_VALUES = 1000  # ids in one SQL statement
AUDIENCE = "for:"  # enrichment marks with such a tag for whom something is written
NOTHING = Filters()


class Masks(NamedTuple):
    """What one segment has for some filters."""

    places: Array  # of all chunks
    rows: Array  # of the searched ones


class RowFilter:
    """Answers for one snapshot what filters allow; each distinct Filters is worked out once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.parts = [SegmentPlaces(segment) for segment in snapshot.segments]
        self.masks = lru_cache(maxsize=REMEMBERED)(self._find_masks)
        self._documents = lru_cache(maxsize=REMEMBERED)(self._find_documents)
        self.known = lru_cache(maxsize=REMEMBERED)(self._find_known)

    def keep(self, filters: Filters, ids: Iterable[str]) -> set[str]:
        """Return those of the chunks that may come out of a search."""
        return self.satisfied(filters, ids, as_rows=True)

    def satisfied(self, filters: Filters, ids: Iterable[str], *, as_rows: bool = False) -> set[str]:
        """Return those of the chunks that satisfy the filters by themselves, or as rows do."""
        wanted = list(ids)
        if filters == NOTHING:
            return set(wanted)
        chosen: set[str] = set()
        for part, masks in zip(self.parts, self.masks(filters), strict=True):
            for start in range(0, len(wanted), MAX_VALUES):
                some = wanted[start : start + MAX_VALUES]
                for chunk_id, ordinal, searched in part.segment.ordinals(some):
                    allowed = masks.places[ordinal]
                    if as_rows and searched:
                        allowed = masks.rows[np.searchsorted(part.searched, ordinal)]
                    if allowed:
                        chosen.add(chunk_id)
        return chosen

    def allows_document(self, filters: Filters, doc_id: str) -> bool:
        """Return whether a document may be searched at all."""
        allowed = self.documents(filters)
        return allowed is None or doc_id in allowed

    def documents(self, filters: Filters) -> frozenset[str] | None:
        """Return the documents that may be searched; None if that is all of them."""
        part = Filters(documents=filters.documents, as_of=filters.as_of, access=filters.access)
        return None if part == NOTHING else self._documents(part)

    def _find_known(self, column: str) -> frozenset[str]:
        """Return all words that a column of the places has: kinds, tags, traits, headings."""
        found: set[str] = set()
        for part in self.parts:
            used = np.unique(part.column(column)[part.live]).tolist()
            for value in (part.values(column)[code] for code in used):
                found.update([value] if isinstance(value, str) else value)
        return frozenset(found - {""})

    def audiences(self) -> set[str]:
        """Return the audiences for which something in the index is written."""
        tags = self.known("tags")
        return {tag.removeprefix(AUDIENCE).casefold() for tag in tags if tag.startswith(AUDIENCE)}

    def _find_masks(self, filters: Filters) -> tuple[Masks, ...]:
        documents = self.documents(filters)
        found = []
        for part in self.parts:
            places = _places(part, filters, documents)
            # A row of a document is one of its places: without the others, nothing overlaps.
            only_documents = filters == replace(
                NOTHING,
                documents=filters.documents,
                as_of=filters.as_of,
                access=filters.access,
                groups=filters.groups,
            )
            rows = places[part.searched] if only_documents else part.rows_with(places)
            found.append(Masks(places, rows))
        return tuple(found)

    def _find_documents(self, filters: Filters) -> frozenset[str]:
        allowed = set(self.snapshot.documents())
        if filters.documents:
            allowed = {name for name in allowed if _is_named(name, filters.documents)}
        if filters.as_of:
            allowed &= documents_in_force(self.snapshot, filters.as_of)
        if filters.access is not None:
            mine = {tag.casefold() for tag in filters.access}
            headers = self.snapshot.headers()
            allowed &= {name for name, _, meta in headers if _may_see(meta, mine)}
        return frozenset(allowed)


def _places(part: SegmentPlaces, filters: Filters, documents: frozenset[str] | None) -> Array:
    """Return which chunks of a segment satisfy all filters by themselves."""
    chosen = part.live.copy()
    if documents is not None:
        chosen &= part.where("document", (name in documents for name in part.values("document")))
    if filters.groups:
        chosen &= group_mask(part, filters.groups)
    if filters.kinds:
        kinds = _folded(filters.kinds)
        chosen &= part.where("kind", (kind in kinds for kind in part.values("kind"))) | part.where(
            "content", (kind.casefold() in kinds for kind in part.values("content"))
        )
    for column, wanted in (("tags", filters.tags), ("traits", filters.traits)):
        if wanted:
            names = _folded(wanted)
            chosen &= part.where(column, (bool(names & _folded(s)) for s in part.values(column)))
    if filters.audience:
        mine = f"{AUDIENCE}{filters.audience.casefold()}"
        chosen &= part.where("tags", (_is_for(mine, tags) for tags in part.values("tags")))
    if filters.path:
        words = _folded(filters.path)
        chosen &= part.where("path", (_is_below(path, words) for path in part.values("path")))
    if filters.pages:
        first, last = page_range(filters.pages)
        pages = part.column("page")
        chosen &= (pages != NO_PAGE) & (first < pages) & (pages <= last + 1)
    return chosen


def _folded(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word.casefold() for word in words)


def _is_named(doc_id: str, patterns: Sequence[str]) -> bool:
    return any(doc_id == pattern or fnmatchcase(doc_id, pattern) for pattern in patterns)


def _is_for(mine: str, tags: Sequence[str]) -> bool:
    """Return whether something is for this audience: for all if it names none."""
    named = {tag.casefold() for tag in tags if tag.startswith(AUDIENCE)}
    return not named or mine in named


def _is_below(path: Sequence[str], words: Iterable[str]) -> bool:
    headings = [heading.casefold() for heading in path]
    return any(word in heading for word in words for heading in headings)


def _may_see(meta: Mapping[str, str], mine: set[str]) -> bool:
    """Return whether a document is open to all, or to one who has these tags."""
    tags = meta.get("access", "")
    needed = {tag.strip().casefold() for tag in tags.split(",") if tag.strip()}
    return not needed or bool(needed & mine)


def page_range(pages: Sequence[int]) -> tuple[int, int]:
    """Return the first and the last page; ConfigError if they are no range.

    >>> page_range((3,)), page_range((3, 10))
    ((3, 3), (3, 10))
    """
    first, last = (*pages, *pages)[:2] if len(pages) == 1 else (*pages, -1)[:2]
    if len(pages) > 2 or not 0 <= first <= last:
        shown = "-".join(map(str, pages))
        raise ConfigError(f"pages {shown}: no range", hint="give the first and the last page: 3-10")
    return first, last


def documents_in_force(snapshot: Snapshot, as_of: str) -> set[str]:
    """Return the documents in force on a day: of each work the newest that had begun by then."""
    day = parse_date(as_of)
    if day is None:
        raise ConfigError(f"as of {as_of}: no date", hint="write 2022 or 2022-06-30")
    return in_force(snapshot.editions(), day)


NAMED = 8  # values that a sentence lists


def explain(rows: RowFilter, filters: Filters) -> str | None:
    """Return why the filters allow nothing, or which value of them is unknown; None if all is well.

    Bad dates and page ranges are errors, not explanations.
    """
    if filters == NOTHING:
        return None
    if sentences := list(_unknown(rows, filters)):
        return "; ".join(sentences)
    if _any_row(rows, filters):
        return None
    alone = [field for field in _fields(filters) if not _any_row(rows, _only(filters, field))]
    if alone:
        return f"nothing in the index satisfies the filter {' or '.join(alone)}"
    return f"nothing in the index satisfies these filters together: {', '.join(_fields(filters))}"


def _unknown(rows: RowFilter, filters: Filters) -> Iterator[str]:
    documents = rows.snapshot.documents()
    for pattern in filters.documents:
        if not rows.documents(Filters(documents=(pattern,))):
            listed = _listed(documents, pattern)
            yield f"no document matches {pattern!r}; documents: {listed}"
    kinds = rows.known("kind") | rows.known("content")
    for what, wanted, known in (
        ("kind", filters.kinds, kinds),
        ("tag", filters.tags, rows.known("tags")),
        ("trait", filters.traits, rows.known("traits")),
        ("audience", (filters.audience,) if filters.audience else (), rows.audiences()),
    ):
        folded = {name.casefold() for name in known}
        for name in wanted:
            if name.casefold() not in folded:
                yield f"no {what} is called {name!r}; {what}s: {_listed(known, name)}"


def _listed(names: Iterable[str], near: str) -> str:
    """Return some names, those that look like the wanted one first."""
    known = sorted(names)
    from difflib import get_close_matches

    first = get_close_matches(near, known[:10_000], n=3)
    shown = list(dict.fromkeys([*first, *known]))[:NAMED]
    more = f" and {len(known) - len(shown):,} more" if len(known) > len(shown) else ""
    return (", ".join(shown) or "none") + more


def _fields(filters: Filters) -> list[str]:
    return [name for name in Filters.__slots__ if getattr(filters, name) != getattr(NOTHING, name)]


def _only(filters: Filters, field: str) -> Filters:
    return replace(NOTHING, **{field: getattr(filters, field)})


def _any_row(rows: RowFilter, filters: Filters) -> bool:
    return any(masks.rows.any() for masks in rows.masks(filters))


def audience_of(text: str, filters: RowFilter) -> str:
    """Return the one audience that a question names and the index knows, "" if there is none.

    A question that names two ("what may a player ask the game master?") is for neither.
    """
    shape = filters.snapshot.manifest.shape
    words = _words_of(str(shape.get("ingest", {}).get("profile", "none")))
    known = filters.audiences()
    named = {
        name
        for name, keywords in words.items()
        if name.casefold() in known and _has_any(text, keywords)
    }
    return named.pop() if len(named) == 1 else ""


def _has_any(text: str, keywords: Sequence[str]) -> bool:
    marks = "|".join(re.escape(word) for word in keywords)
    return bool(marks) and re.search(rf"(?<!\w)(?:{marks})s?(?!\w)", text, re.I) is not None


@cache
def _words_of(profile: str) -> Mapping[str, tuple[str, ...]]:
    """Return each audience's words in a profile, or in all that come with Pincite."""
    if profile == "none":
        return {}
    if profile.endswith(".toml"):
        # It was checked when the index was built; if it has gone since, it has no words.
        file = Path(profile)
        return _read(file.read_text(encoding="utf-8")) if file.is_file() else {}
    own = {each.name: each for each in PROFILES.iterdir()}
    names = sorted(own) if profile == "auto" else [f"{profile}.toml"]
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name.endswith(".toml") and name in own:
            for audience, words in _read(own[name].read_text(encoding="utf-8")).items():
                found[audience] = (*found.get(audience, ()), *words)
    return found


def _read(text: str) -> dict[str, tuple[str, ...]]:
    values = tomllib.loads(text)
    found = {name: tuple(words) for name, words in values.get("audiences", {}).items()}
    for name, words in _words_of(str(values.get("extends", "none"))).items():
        found[name] = (*found.get(name, ()), *words)
    return found

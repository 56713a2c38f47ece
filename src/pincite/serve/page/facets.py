"""What a search can be narrowed to, with how many of the places found each choice leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pincite.core.editions import in_force, parse_date
from pincite.core.types import Filters, Query
from pincite.search.reader import IndexReader
from pincite.serve.page.look import Look

# So many candidates are counted; more would only make numbers larger.
POOL = 200
MOST_CHOICES = 14


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter; its address adds or removes it."""

    label: str
    count: int
    url: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter and its choices, most frequent first."""

    title: str
    choices: tuple[Choice, ...]

    @property
    def is_used(self) -> bool:
        return any(choice.is_chosen for choice in self.choices)


def facets(index: IndexReader, look: Look, path: str) -> list[Facet]:
    """Return the filters of a search; each counts with all the others in force."""
    if not look.q:
        return []
    titles = {doc_id: title for doc_id, title, _ in index.snapshot.headers()}
    documents = Counter(doc for doc, _ in _places(index, look.but(within=())))
    kinds, tags = _kinds_and_tags(index, look)
    found = [
        _facet("Document", look, path, "within", documents, titles),
        _edition_facet(index, look, path),
        _facet("Kind", look, path, "kind", kinds),
        _facet("Tag", look, path, "tag", tags),
    ]
    return [each for each in found if len(each.choices) > 1 or each.is_used]


def _pool(index: IndexReader, look: Look) -> tuple[str, ...]:
    """Return the candidates of the first stage under the filters of a look."""
    query = Query(look.q, filters=look.filters())
    return tuple(index.searcher.find(query, POOL).names())


def _places(index: IndexReader, look: Look) -> list[tuple[str, str]]:
    return index.snapshot.places(list(_pool(index, look)))


def _kinds_and_tags(index: IndexReader, look: Look) -> tuple[Counter[str], Counter[str]]:
    kinds: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    for each in _described(index, _pool(index, look.but(kind=()))):
        kinds.update(each[0])
    pool = _pool(index, look.but(tag=())) if look.tag or look.kind else _pool(index, look)
    for each in _described(index, pool):
        tags.update(each[1])
    return kinds, tags


def _described(index: IndexReader, ids: Sequence[str]) -> list[tuple[set[str], set[str]]]:
    """Return kinds and tags of each chunk and of what it holds, as filters understand them."""
    if not ids:
        return []
    inside = index.snapshot.graph_rows().inside(ids)
    owners = {p.id: p.parent if p.kind == "piece" else p.id for ps in inside.values() for p in ps}
    facts = index.snapshot.facts(sorted({owner for owner in owners.values() if owner}))
    found = []
    for places in inside.values():
        known = [facts[o] for p in places if (o := owners[p.id]) and o in facts]
        kinds = {place.kind for place in places} | {each.content_kind for each in known}
        found.append((kinds - {"", "piece", "text"}, {tag for each in known for tag in each.tags}))
    return found


def _facet(
    title: str,
    look: Look,
    path: str,
    field: str,
    counts: Counter[str],
    labels: dict[str, str] | None = None,
) -> Facet:
    chosen: tuple[str, ...] = getattr(look, field)
    names = [name for name, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
    listed = [*chosen, *(name for name in names[:MOST_CHOICES] if name not in chosen)]

    def choice(name: str) -> Choice:
        rest = _toggled(chosen, name)
        url = look.but(**{field: rest}, k=0).url(path)
        return Choice((labels or {}).get(name) or name, counts[name], url, name in chosen)

    return Facet(title, tuple(map(choice, listed)))


def _toggled(chosen: Iterable[str], name: str) -> tuple[str, ...]:
    kept = tuple(each for each in chosen if each != name)
    return kept if len(kept) < len(tuple(chosen)) else (*kept, name)


def _edition_facet(index: IndexReader, look: Look, path: str) -> Facet:
    """Return the days on which another edition of something came into force."""
    editions = index.snapshot.editions()
    works = Counter(each.work for each in editions if each.effective and each.work)
    days = sorted({e.effective.isoformat() for e in editions if e.effective and works[e.work] > 1})
    days = [*days[-MOST_CHOICES:], *([look.as_of] if look.as_of and look.as_of not in days else [])]
    pool = [doc for doc, _ in _places(index, look.but(as_of=""))] if days else []

    def choice(day: str) -> Choice:
        is_chosen = day == look.as_of
        parsed = parse_date(day)
        valid = in_force(editions, parsed) if parsed else set()
        url = look.but(as_of="" if is_chosen else day, k=0).url(path)
        return Choice(f"in force {day}", sum(doc in valid for doc in pool), url, is_chosen)

    return Facet("Edition", tuple(map(choice, days)))


def is_narrowed(filters: Filters) -> bool:
    """Return whether anything is filtered at all."""
    return filters != Filters()

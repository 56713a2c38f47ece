"""What a document's chunks are and how they hang together, by a profile and without any model.

Every chunk is read by itself (fields, terms, aliases, rule words); then kinds are given from the
top of the tree down; then links are drawn, the uses of all terms in one pass. The time is linear
in the length of the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pincite.core.types import Chunk, Document, Facts, Link
from pincite.ingest.enrichment.glossary import Lexicon
from pincite.ingest.enrichment.linking import links_of, uses_of
from pincite.ingest.enrichment.matching import Found, View, any_holds
from pincite.ingest.enrichment.profile import Profile
from pincite.ingest.enrichment.reading import Reading, name_of, read_all


def enrich(
    document: Document, chunks: Sequence[Chunk], profile: Profile
) -> tuple[dict[str, Facts], list[Link]]:
    """Return the facts of every chunk by its id, and the links that the document's words draw.

    A link's target is a name in lower case; its span is the words that say so. Of ``alias_of``
    that is the alias itself, of ``defines`` the term, of ``describes`` the name of the thing.
    """
    readings = read_all(document, chunks, profile)
    _raise_rules(readings)
    traits = Lexicon({name: name for name in profile.traits})
    for reading in readings:
        _classify(reading, profile)
        reading.traits = list(_traits(reading, profile, traits))
    audiences = _Audiences(profile)
    facts = {each.chunk.id: _facts(each, profile, audiences) for each in readings}
    whole = [reading for reading in readings if reading.chunk.kind != "piece"]
    links = [link for reading in whole for link in links_of(reading, profile)]
    return facts, [*links, *uses_of(whole, profile)]


def entity_names(
    document: Document, facts: Mapping[str, Facts], links: Sequence[Link]
) -> dict[str, tuple[str, ...]]:
    """Return the names of the things that a document describes, by content kind, sorted."""
    names: dict[str, set[str]] = {}
    for link in links:
        if link.relation == "describes":
            words = document.text[link.span.start : link.span.end]
            name = words if words.casefold() == link.target else link.target
            names.setdefault(facts[link.source].content_kind, set()).add(name)
    return {kind: tuple(sorted(found)) for kind, found in sorted(names.items())}


def _raise_rules(readings: Sequence[Reading]) -> None:
    """Let what holds a rule-bearing item bear a rule; headings do not answer for subsections."""
    for reading in reversed(readings):
        is_own = reading.chunk.kind not in ("section", "table", "piece")
        if reading.is_rule and is_own and reading.parent is not None:
            reading.parent.is_rule = True


def _classify(reading: Reading, profile: Profile) -> None:
    """Give a chunk its kind: the first that fits, or that it has from what it stands below."""
    parent = reading.parent
    is_piece = reading.chunk.kind == "piece"
    above = parent.rule if parent else None
    if above and not above.inherits and not (is_piece and reading.view.kind != "document"):
        above = None
    known = reading.known
    for rule in profile.kinds:
        is_own = any_holds(rule.when, reading.view, known)
        if is_own or rule is above:
            reading.rule = rule
            reading.is_heir = not is_own or is_piece
            break
    if reading.rule and reading.rule.defines and not reading.is_heir:
        found = name_of(reading.view, profile)
        known_terms = {term.value.casefold() for term in reading.terms}
        if found.value and found.value.casefold() not in known_terms:
            reading.terms.append(found)


def _traits(reading: Reading, profile: Profile, known: Lexicon) -> Iterator[Found]:
    """Yield the traits that the fields give, each once."""
    seen: set[str] = set()
    for rule in profile.fields:
        found = reading.fields.get(rule.name)
        if found is None or rule.traits == "none":
            continue
        text = reading.view.text
        is_list = rule.traits == "all"
        for use in _listed(text, found) if is_list else known.find(text, found.start, found.end):
            if use.value and use.value.casefold() not in seen:
                seen.add(use.value.casefold())
                yield use


def _listed(text: str, found: Found) -> Iterator[Found]:
    start = found.start
    for part in text[found.start : found.end].split(","):
        words = part.strip(" \t\r\n*_.")
        at = start + part.find(words)
        yield Found(words, at, at + len(words))
        start += len(part) + 1


class _Audiences:
    """Finds out for whom a chunk is written, from the headings around it."""

    def __init__(self, profile: Profile) -> None:
        names = {word: name for name, words in profile.audiences.items() for word in words}
        self.lexicon = Lexicon(names, endings=profile.endings)
        self.seen: dict[str, tuple[str, ...]] = {}

    def of(self, view: View) -> list[str]:
        """Return the audiences that the headings name."""
        found = (name for words in (*view.above, view.heading) for name in self._named(words))
        return list(dict.fromkeys(found))

    def _named(self, words: str) -> tuple[str, ...]:
        if words not in self.seen:
            uses = self.lexicon.find(words, 0, len(words))
            self.seen[words] = tuple(dict.fromkeys(use.value for use in uses))
        return self.seen[words]


def _facts(reading: Reading, profile: Profile, audiences: _Audiences) -> Facts:
    known = reading.known
    tags = [tag.name for tag in profile.tags if any_holds(tag.when, reading.view, known)]
    for rule in profile.fields:
        if rule.is_tag and (found := reading.fields.get(rule.name)):
            tags.append(f"{rule.name}:{found.value.casefold()}")
    tags += [f"for:{name}" for name in audiences.of(reading.view)]
    return Facts(
        content_kind=reading.rule.name if reading.rule else profile.default_kind,
        is_rule_bearing=reading.is_rule,
        tags=tuple(dict.fromkeys(tags)),
        traits=tuple(trait.value for trait in reading.traits),
        terms=tuple(term.value for term in reading.terms),
        aliases=tuple(dict.fromkeys(alias.name for alias in reading.aliases)),
    )

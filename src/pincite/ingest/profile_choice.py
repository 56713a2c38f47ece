"""Which profile a document gets: the one that the settings name, or the one it looks like."""

from __future__ import annotations

from collections.abc import Sequence

from pincite.core.types import Chunk, Document
from pincite.ingest.patterns import WINDOW
from pincite.ingest.profile import Profile, Signal
from pincite.ingest.profile_file import load_profile, load_profiles

# A document shows what it is in so many of its clauses, taken evenly from all of it.
SAMPLED = 200


def profile_for(setting: str, document: Document, chunks: Sequence[Chunk]) -> Profile:
    """Return the profile for ``ingest.profile``: "auto", a name, or the path of a TOML file."""
    if setting == "auto":
        return choose_profile(document, chunks, load_profiles())
    return load_profile(setting)


def choose_profile(
    document: Document, chunks: Sequence[Chunk], profiles: Sequence[Profile]
) -> Profile:
    """Return the profile whose signs the document shows best; of equal ones the first."""
    scores = profile_scores(document, chunks, profiles)
    return max(profiles, key=lambda profile: scores[profile.name])


def profile_scores(
    document: Document, chunks: Sequence[Chunk], profiles: Sequence[Profile]
) -> dict[str, float]:
    """Return each profile's score: its base, and for each sign its weight or a part of it."""
    whole = [chunk for chunk in chunks if chunk.kind != "piece"]
    step = max(1, len(whole) // SAMPLED)
    sample = whole[::step]
    texts = [_own_words(document, chunk) for chunk in sample]
    headings = [document.title, *(chunk.title for chunk in sample if chunk.title)]
    return {
        profile.name: profile.base
        + sum(
            signal.weight * _strength(signal, headings if signal.where == "heading" else texts)
            for signal in profile.signals
        )
        for profile in profiles
    }


def _own_words(document: Document, chunk: Chunk) -> str:
    end = min(chunk.own_end, chunk.span.start + WINDOW)
    return document.text[chunk.span.start : end]


def _strength(signal: Signal, texts: Sequence[str]) -> float:
    """Return from 0 to 1 how clearly a sign shows."""
    texts = [text for text in texts if text.strip()]
    shown = sum(bool(signal.pattern.search(text[:WINDOW])) for text in texts)
    if not shown:
        return 0.0
    return min(1.0, shown / len(texts) / signal.share) if signal.share else 1.0

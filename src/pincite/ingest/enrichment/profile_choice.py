"""Which profile a document gets: the one that the settings name, or the one it looks like."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pincite.core.patterns import WINDOW, windows
from pincite.core.types import Chunk, Document
from pincite.ingest.enrichment.profile import Profile, Signal
from pincite.ingest.enrichment.profile_file import load_profile, load_profiles

# A document shows what it is in so many stretches and headings, taken evenly from all of it.
SAMPLED = 200
# A sign that is seen less often than this counts for less.
CLEARLY = 2


def profile_for(setting: str, document: Document, chunks: Sequence[Chunk]) -> Profile:
    """Return the profile for ``ingest.profile``: "auto", a name, or the path of a TOML file."""
    if setting == "auto":
        return choose_profile(document, chunks, load_profiles())
    return load_profile(setting)


def profile_fingerprint(setting: str) -> str:
    """Return what changes when a profile that ``ingest.profile`` means does; "" for "none".

    ConfigError if there is no such profile.
    """
    if setting == "none":
        return ""
    profiles = load_profiles() if setting == "auto" else (load_profile(setting),)
    if len(profiles) == 1:
        return profiles[0].fingerprint
    together = "".join(profile.fingerprint for profile in profiles)
    return hashlib.sha256(together.encode()).hexdigest()[:12]


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
    # Tables look alike in all kinds of books.
    lines = document.text.splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("|"))
    texts = _evenly([text[start:end] for start, end in windows(text, 0, len(text))])
    titles = [chunk.title for chunk in chunks if chunk.kind == "section" and chunk.title]
    headings = [document.title, *_evenly(titles)]
    return {
        profile.name: profile.base
        + sum(
            signal.weight * _strength(signal, headings if signal.where == "heading" else texts)
            for signal in profile.signals
        )
        for profile in profiles
    }


def _evenly(texts: Sequence[str]) -> Sequence[str]:
    return texts[:: max(1, len(texts) // SAMPLED)]


def _strength(signal: Signal, texts: Sequence[str]) -> float:
    """Return from 0 to 1 how clearly a sign shows; seen once, it may be by chance."""
    shown = sum(bool(signal.pattern.search(text[:WINDOW])) for text in texts)
    if not shown:
        return 0.0
    clear = min(1.0, shown / len(texts) / signal.share) if signal.share else 1.0
    return clear * min(1.0, shown / CLEARLY)

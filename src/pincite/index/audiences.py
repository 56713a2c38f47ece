"""For whom a question is asked, from the words that profiles have for their readers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pincite.core.profiles import PROFILES
from pincite.index.filters import RowFilter


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

"""Cleaning a question set: which questions cannot be used, by which rule, and how many.

Rules are asked in order; a question counts for the first that it breaks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pincite.core.errors import ConfigError

REQUIRED = ("questions", "answers", "doc_name", "evidence_context")
# Scripts by the first words of their characters' Unicode names.
SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "chinese": ("CJK",),
    "japanese": ("HIRAGANA", "KATAKANA"),
    "korean": ("HANGUL",),
    "arabic": ("ARABIC",),
    "cyrillic": ("CYRILLIC",),
}
_SPECIAL = re.compile(r"[^\w\s]|_")


@dataclass(frozen=True, slots=True)
class Cleaning:
    """The thresholds; the defaults are the published ones."""

    min_chars: int = 15
    max_chars: int = 500
    max_foreign_share: float = 0.05
    max_special_share: float = 0.35
    # Other languages are questions too: scripts to keep, "all" for every one.
    keep_scripts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What is left, and how many each rule took."""

    kept: Sequence[Mapping[str, Any]]
    removed: Mapping[str, int] = field(default_factory=dict)


def clean(
    questions: Iterable[Mapping[str, Any]],
    rules: Cleaning | None = None,
    *,
    has_document: Callable[[str], bool] | None = None,
) -> Cleaned:
    """Return the questions that can be used, and what each rule removed.

    Args:
        has_document: says whether the document of a name is there; not asked if None.
    """
    rules = rules or Cleaning()
    removed = dict.fromkeys(RULES, 0)
    kept = []
    for item in questions:
        broken = _broken(item, rules, has_document)
        if broken is None:
            kept.append(item)
        else:
            removed[broken] += 1
    return Cleaned(kept, removed)


def _broken(
    item: Mapping[str, Any], rules: Cleaning, has_document: Callable[[str], bool] | None
) -> str | None:
    """Return the first rule that a question breaks."""
    if not all(_has_value(item.get(name)) for name in REQUIRED):
        return "missing_field"
    text = str(item["questions"]).strip()
    if foreign_share(text, rules.keep_scripts) > rules.max_foreign_share:
        return "other_script"
    if len(text) < rules.min_chars:
        return "too_short"
    if len(text) > rules.max_chars:
        return "too_long"
    if len(_SPECIAL.findall(text)) > rules.max_special_share * len(text):
        return "special_characters"
    if has_document is not None and not has_document(str(item["doc_name"])):
        return "no_document"
    return None


RULES = (
    "missing_field",
    "other_script",
    "too_short",
    "too_long",
    "special_characters",
    "no_document",
)


def check_scripts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of scripts to keep; ConfigError for one that is not known."""
    kept = tuple(name.lower() for name in names)
    for name in kept:
        if name != "all" and name not in SCRIPTS:
            raise ConfigError(f"no script {name!r}", hint=f"known: all, {', '.join(SCRIPTS)}")
    return kept


def _has_value(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return bool(value) or value == 0


def foreign_share(text: str, keep: Sequence[str] = ()) -> float:
    """Return the share of characters in scripts other than those of English and those kept.

    >>> foreign_share("что is")
    0.5
    >>> foreign_share("что is", keep=["cyrillic"])
    0.0
    """
    if "all" in keep or not text:
        return 0.0
    names = tuple(n for script, its in SCRIPTS.items() if script not in keep for n in its)
    foreign = sum(
        unicodedata.name(character, "").startswith(names)
        for character in text
        if ord(character) > 127
    )
    return foreign / len(text) if names else 0.0

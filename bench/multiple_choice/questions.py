"""Exam files: questions with options, the right one, and the places that a key cites.

A file is JSON lines, a JSON list, or a JSON object by id. Names vary between exams; these are read:

    question   the question's words
    options    a list, or an object by letter (also: answers, choices)
    answer     a letter, the option's words, or its number from 0 (also: correct)
    gold       places: "97.113(a)", a list of them, {"any": [{"locator": ...}]}; {"none": "why"} or
               an empty list for a question that the documents do not answer. Also: gold_sections
               with cited, as "[97.101(b), (c)]"; section_prefixes with table_ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.measure.imports import cited_clauses
from pincite.model.errors import MALFORMED, SourceError
from pincite.model.locators import locator_key

MOST_BYTES = 64_000_000
MOST_OPTIONS = 26
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HINT = "each question has question, options, answer and gold; see docs/exam.md"
_SECTION = re.compile(r"^[^()]+")
_TABLE_ID = re.compile(r"^table(?=[\dA-Z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ExamQuestion:
    """One multiple-choice question with its key."""

    id: str
    text: str
    options: tuple[str, ...]
    correct: int | None  # None: the key does not say
    sections: tuple[str, ...] = ()  # keys of the sections that answer
    clauses: tuple[str, ...] = ()  # keys of the exact places, where the key names them
    unanswerable: str = ""  # why the documents have no answer, as the key says

    @property
    def letter(self) -> str:
        """The letter of the right option."""
        return "" if self.correct is None else LETTERS[self.correct]

    @property
    def gold(self) -> str:
        return ", ".join(self.clauses or self.sections)


def read_exam(file: Path) -> list[ExamQuestion]:
    """Return the questions of a file; SourceError says which one cannot be read, and why."""
    try:
        if file.stat().st_size > MOST_BYTES:
            raise SourceError(f"{file} is too large for an exam", hint=_HINT)
        items = list(_items(file.read_text(encoding="utf-8")))
    except (OSError, *MALFORMED) as error:
        raise SourceError(f"{file} cannot be read as an exam: {error}", hint=_HINT) from error
    if not items:
        raise SourceError(f"{file} has no questions", hint=_HINT)
    questions = []
    for number, item in enumerate(items, 1):
        try:
            questions.append(_question(item, number))
        except MALFORMED as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise SourceError(f"{file}, question {number}: {reason}", hint=_HINT) from error
    return questions


def _items(text: str) -> Iterator[Any]:
    stripped = text.lstrip("\ufeff \n\r\t")
    whole: Any = None
    if stripped.startswith(("[", "{")):
        try:
            whole = json.loads(stripped)
        except json.JSONDecodeError:
            if stripped.startswith("["):
                raise
    if isinstance(whole, dict):
        whole = whole.get("questions", whole)
    if isinstance(whole, dict) and "question" not in whole:  # {"q01": {...}}
        yield from ({"id": name, **item} for name, item in whole.items())
    elif isinstance(whole, list):
        yield from whole
    else:
        yield from (json.loads(line) for line in stripped.splitlines() if line.strip())


def _question(item: Mapping[str, Any], number: int) -> ExamQuestion:
    options = _first(item, "options", "answers", "choices")
    letters = list(LETTERS)
    if isinstance(options, Mapping):
        letters = [str(name).strip().upper() for name in options]
        options = list(options.values())
    texts = tuple(str(option).strip() for option in options)
    if not 2 <= len(texts) <= MOST_OPTIONS or not all(texts):
        raise ValueError(f"it needs 2 to {MOST_OPTIONS} options with words in them")
    text = str(item["question"]).strip()
    if not text:
        raise ValueError("the question is empty")
    sections, clauses, reason = _gold(item)
    name = str(item.get("id", number))
    return ExamQuestion(
        f"{item['pool']}/{name}" if "pool" in item else name,
        text,
        texts,
        _correct(_first(item, "answer", "correct", default=None), texts, letters),
        sections,
        clauses,
        reason,
    )


def _first(item: Mapping[str, Any], *names: str, **otherwise: Any) -> Any:
    for name in names:
        if name in item:
            return item[name]
    if otherwise:
        return otherwise["default"]
    raise KeyError(names[0])


def _correct(answer: Any, options: tuple[str, ...], letters: list[str]) -> int | None:
    if answer is None or answer == "":
        return None
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(options):
        return answer
    words = str(answer).strip()
    if words in options:
        return options.index(words)
    if words.upper() in letters[: len(options)]:
        return letters.index(words.upper())
    raise ValueError(f"its answer {answer!r} is none of its options")


def _gold(item: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the sections and the exact places of a key, and why there are none."""
    if "gold_sections" in item:  # the exam pools' own format
        sections = tuple(locator_key(str(name)) for name in item["gold_sections"])
        return sections, cited_clauses(str(item.get("cited", ""))), _reason(item, sections)
    if "section_prefixes" in item or "table_ids" in item:
        tables = [_TABLE_ID.sub("Table ", str(name)) for name in item.get("table_ids", [])]
        names = [*map(str, item.get("section_prefixes", [])), *tables]
    elif "gold" in item:
        gold = item["gold"]
        if isinstance(gold, Mapping) and "none" in gold:
            return (), (), str(gold["none"]) or "the key says so"
        names = list(_names(gold))
    else:
        return (), (), str(item.get("unanswerable", "") or "")
    keys = tuple(dict.fromkeys(locator_key(name) for name in names))
    sections = tuple(dict.fromkeys(_section(key) for key in keys))
    return sections, tuple(key for key in keys if key not in sections), _reason(item, keys)


def _reason(item: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    said = item.get("unanswerable", "")
    return "" if keys else (said if isinstance(said, str) and said else "the key names no place")


def _names(gold: Any) -> Iterator[str]:
    if isinstance(gold, str):
        yield gold
    elif isinstance(gold, Mapping):
        if "locator" in gold:
            yield str(gold["locator"])
        for part in ("any", "all"):
            yield from _names(gold.get(part, ()))
    else:
        for each in gold:
            yield from _names(each)


def _section(key: str) -> str:
    match = _SECTION.match(key)
    return match.group().strip() if match and not key.startswith("table") else key

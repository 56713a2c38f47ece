"""Files of judgements: JSON lines or TOML, read strictly, written so that they read back the same.

A file of JSON lines may begin with a line ``{"judgements": {"name": …, "version": …, "changes":
[…]}}``; every other line is a question. ``docs/evaluate.md`` has an example of each.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pincite.core.errors import MALFORMED, ConfigError, SourceError, reason_of
from pincite.core.toml_table import Table
from pincite.evaluate.judgements.questions import Change, Need, Place, Question, QuestionSet

MAX_BYTES = 256_000_000
MAX_GRADE = 100
SUFFIXES = (".jsonl", ".toml")
_HINT = "see docs/evaluate.md"
_NUMBERS = ("start", "end", "page", "grade")
_NAMES = ("document", "edition", "table", "row", "column", "locator", "section", "term")
_SIGNED = ("by", "when")


def question_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files that paths name; a folder stands for the judgements in it, by name."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(file for file in path.glob("*") if file.suffix in SUFFIXES)
        if path.is_dir() and not inside:
            raise SourceError(f"no judgements in {path}", hint="they are .jsonl or .toml files")
        found += inside if path.is_dir() else [path]
    return found


def load(file: Path) -> QuestionSet:
    """Return the questions of a file; SourceError that names line and key if it is not right."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SourceError(f"{file} is larger than {MAX_BYTES:,} bytes", hint="split it")
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        hint = "check the path and its permissions" if is_text else "give a text file"
        raise SourceError(f"cannot read {file}: {reason_of(error)}", hint=hint) from error
    try:
        head, questions = (_toml if file.suffix == ".toml" else _json_lines)(text, str(file))
        made = _with_head(head, file.stem, questions)
    except ConfigError as error:
        hint = _HINT if "profiles" in error.hint else error.hint or _HINT
        raise SourceError(error.message, hint=hint) from error
    twice = _first_twice([question.id for question in made.questions])
    if twice is not None:
        raise SourceError(f"{file}: two questions have the id {twice!r}", hint="rename one")
    return made


def save(questions: QuestionSet, file: Path) -> None:
    """Write the questions as JSON lines; a file that is there is replaced at once or not at all."""
    head = {"name": questions.name, "version": questions.version}
    changes = [change.plain() for change in questions.changes]
    aside = file.with_name(f"{file.name}.tmp-{os.getpid()}")
    try:
        with aside.open("w", encoding="utf-8") as lines:
            lines.write(_json({"judgements": {**head, "changes": changes}}))
            lines.writelines(_json(question.plain()) for question in questions.questions)
        aside.replace(file)
    except OSError as error:
        raise SourceError(
            f"cannot write {file}: {reason_of(error)}", hint="choose another file"
        ) from error


def question(values: dict[str, Any], where: str) -> Question:
    """Return a question from plain values; ConfigError if there is anything else in them."""
    table = Table(values, where)
    labels = {"kind": table.text("kind", "")}
    extra = table.table("labels")
    labels |= {key: extra.text(key) for key in extra.values}
    needs, reason = _gold(table.table("gold"))
    made = Question(
        table.text("id"),
        table.text("question"),
        tuple(tuple(place for place in need if place.grade > 0) for need in needs),
        (*_places(table, "rejected"), *(p for need in needs for p in need if p.grade == 0)),
        reason,
        table.text("answer", ""),
        table.text("evidence", ""),
        table.text("group", ""),
        {key: value for key, value in labels.items() if value},
        table.flag("synthetic"),
    )
    table.finish()
    if not made.id or not made.text.strip():
        raise ConfigError(f"{where}: id and question must not be empty")
    if not all(made.needs):
        raise ConfigError(f"{where}: gold has no place with a grade above 0", hint=_GOLD)
    return made


_GOLD = 'write "gold": {"any": [places]}, {"all": [places]} or {"none": "why"}'


def _gold(gold: Table) -> tuple[list[Need], str]:
    """Return the needs, or none and why."""
    if len(gold.values) != 1 or next(iter(gold.values)) not in ("any", "all", "none"):
        raise ConfigError(f"{gold.where} must have one of any, all, none", hint=_GOLD)
    if "none" in gold.values:
        return [], gold.text("none")
    if "any" in gold.values:
        needs = [tuple(_places(gold, "any"))]
    else:
        needs = [
            tuple(_places(each, "any")) if "any" in each.values else (_place(each),)
            for each in gold.tables("all")
        ]
    if not needs or not all(needs):
        raise ConfigError(f"{gold.where} has no place", hint=_GOLD)
    return needs, ""


def _places(table: Table, key: str) -> list[Place]:
    return [_place(each) for each in table.tables(key)]


def _place(table: Table) -> Place:
    values: dict[str, Any] = {name: table.text(name, "") for name in (*_NAMES, *_SIGNED)}
    for name in _NUMBERS:
        if name in table.values:
            number = table.number(name, 0.0)
            if number != int(number):
                raise ConfigError(f"{table.where}: {name} must be a whole number, got {number:g}")
            values[name] = int(number)
    table.asked += _NUMBERS
    table.finish()
    place = Place(**values)
    if (place.start is None) != (place.end is None) or (place.end or 0) < (place.start or 0):
        raise ConfigError(f"{table.where}: start and end must be given both, in order")
    if place.start is not None and (place.start == place.end or not place.document):
        raise ConfigError(f"{table.where}: characters need a document and a length")
    if place.table and not place.row:
        raise ConfigError(f"{table.where}: a cell needs its row", hint="or name it by locator")
    if place.kind in ("page", "document") and not place.document:
        raise ConfigError(f"{table.where}: a place needs a document, a locator or a section")
    if place.grade > MAX_GRADE:
        raise ConfigError(f"{table.where}: grade must be at most {MAX_GRADE}")
    return place


def _json_lines(text: str, file: str) -> tuple[dict[str, Any], list[Question]]:
    head: dict[str, Any] = {}
    found: list[Question] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        try:
            values = json.loads(line)
        except MALFORMED as error:
            raise SourceError(f"{where}: not JSON: {error}", hint=_HINT) from error
        if not isinstance(values, dict):
            raise SourceError(f"{where}: not a JSON object", hint=_HINT)
        if "judgements" in values and not head and not found:
            head = values
        else:
            found.append(question(values, where))
    return head, found


def _toml(text: str, file: str) -> tuple[dict[str, Any], list[Question]]:
    try:
        values = tomllib.loads(text)
    except MALFORMED as error:
        raise SourceError(f"{file}: not TOML: {error}", hint=_HINT) from error
    table = Table(values, file)
    found = [
        question(dict(each.values), f"{file}, question {each.values.get('id', at)}")
        for at, each in enumerate(table.tables("question"), 1)
    ]
    table.asked.append("judgements")
    table.finish()
    return {"judgements": values.get("judgements", {})}, found


def _with_head(head: dict[str, Any], stem: str, questions: Sequence[Question]) -> QuestionSet:
    outer = Table(head, "head")
    table = outer.table("judgements")
    outer.finish()
    made = QuestionSet(
        table.text("name", "") or stem,
        questions,
        int(table.number("version", 0.0)),
        tuple(_change(each) for each in table.tables("changes")),
    )
    table.finish()
    return made


def _change(table: Table) -> Change:
    made = Change(
        int(table.number("version", 0.0)),
        table.text("reason"),
        table.text("hash", ""),
        table.text("by", ""),
        table.texts("questions"),
    )
    table.finish()
    return made


def _first_twice(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def synthetic_set(records: Iterator[Any]) -> QuestionSet:
    """Return made questions as a set that says so."""
    found = [question(dict(each), f"question {each['id']}") for each in records]
    return QuestionSet("synthetic", found)

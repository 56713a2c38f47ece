"""Questions with the places that answer them, and their files."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pincite.model.errors import MALFORMED, ConfigError, SourceError, reason_of
from pincite.model.profiles import TomlReader

Need = tuple["JudgedPlace", ...]


@dataclass(frozen=True, slots=True)
class JudgedPlace:
    """A place in a document; what is given most exactly decides.

    Characters (``start``, ``end``), else a cell (``table``, ``row``, ``column``), else a clause or
    table by its ``locator``, else everything below a ``section``, else a ``page``, else the whole
    document.
    """

    document: str = ""  # an id or a pattern such as "codes/*.md"; empty: any document
    edition: str = ""  # "2024": only documents that count from that year, month or day
    start: int | None = None
    end: int | None = None
    table: str = ""
    row: str = ""
    column: str = ""
    locator: str = ""
    section: str = ""  # "250.12" is a prefix of "250.12(A)", not of "250.122"
    page: int | None = None
    term: str = ""  # of a definition; for the reader
    grade: int = 1  # 0: judged, and no answer
    by: str = ""  # who judged, as they call themselves
    when: str = ""  # the time of the judgement, ISO 8601

    @property
    def kind(self) -> str:
        """What decides where the place is."""
        if self.start is not None:
            return "span"
        if self.table:
            return "cell"
        if self.locator or self.section:
            return "clause" if self.locator else "section"
        return "document" if self.page is None else "page"

    def __str__(self) -> str:
        name = self.locator or self.section
        if self.table:
            name = " > ".join(part for part in (self.table, self.row, self.column) if part)
        if not name and self.page is not None:
            name = f"p. {self.page}"
        if not name and self.start is not None:
            name = f"characters {self.start}–{self.end}"
        where = " ".join(part for part in (self.document, self.edition) if part)
        return f"{where}, {name}" if where and name else name or where

    def unsigned(self, grade: int | None = None) -> JudgedPlace:
        """Return the place alone: without who judged it and when, with another grade if given."""
        return replace(self, by="", when="", grade=self.grade if grade is None else grade)

    def plain(self) -> dict[str, Any]:
        """Return what differs from the defaults, for files."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != f.default}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what it takes to answer it."""

    id: str
    text: str
    needs: tuple[Need, ...] = ()
    # Judged and found to be no answer: nothing is gained by them, and they count as judged.
    rejected: Need = ()
    unanswerable: str = ""  # why the documents have no answer
    answer: str = ""
    answers: tuple[str, ...] = ()  # other wordings of it that are right as well
    evidence: str = ""  # the words that answer, for measures that compare words
    group: str = ""  # questions of one group are alike and are resampled together
    labels: Mapping[str, str] = field(default_factory=dict)  # kind, domain, evidence, language …
    synthetic: bool = False

    @property
    def wording(self) -> str:
        """Its words, whatever their case and spaces."""
        return " ".join(self.text.casefold().split())

    @property
    def right(self) -> tuple[str, ...]:
        """All wordings of the answer that are right."""
        return tuple(dict.fromkeys(each for each in (self.answer, *self.answers) if each.strip()))

    @property
    def is_answerable(self) -> bool:
        return bool(self.needs or (self.right and not self.unanswerable))

    @property
    def places(self) -> list[JudgedPlace]:
        return [place for need in self.needs for place in need]

    def unsigned(self) -> Question:
        """Return what was judged, each once, whoever did so."""
        needs = tuple(_once(need) for need in self.needs)
        return replace(self, needs=needs, rejected=_once(self.rejected))

    def plain(self) -> dict[str, Any]:
        """Return the question as plain values, which ``files.question`` reads."""
        labels = dict(self.labels)
        values = {
            "id": self.id,
            "question": self.text,
            "gold": self._gold(),
            "kind": labels.pop("kind", ""),
            "answer": self.answer,
            "answers": list(self.answers),
            "evidence": self.evidence,
            "group": self.group,
            "labels": dict(sorted(labels.items())),
            "rejected": [place.plain() for place in self.rejected],
            "synthetic": self.synthetic,
        }
        return {k: v for k, v in values.items() if v or k in ("id", "question")}

    def _gold(self) -> dict[str, Any]:
        if not self.needs:
            return {} if self.is_answerable else {"none": self.unanswerable}
        plain = [[place.plain() for place in need] for need in self.needs]
        if len(plain) == 1:
            return {"any": plain[0]}
        return {"all": [need[0] if len(need) == 1 else {"any": need} for need in plain]}


def _once(need: Need) -> Need:
    return tuple(dict.fromkeys(place.unsigned() for place in need))


@dataclass(frozen=True, slots=True)
class VersionChange:
    """Why a version differs from the one before."""

    version: int
    reason: str
    hash: str = ""  # of the questions as they were in that version
    by: str = ""
    questions: tuple[str, ...] = ()  # ids

    def plain(self) -> dict[str, Any]:
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items() if v}


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions of one file, with their version and how it came about."""

    name: str
    questions: Sequence[Question]
    version: int = 0  # 0: no version was recorded yet
    changes: tuple[VersionChange, ...] = ()

    @property
    def hash(self) -> str:
        """A short hash of what is asked and judged; order, change log and names do not count."""
        plain = [question.unsigned().plain() for question in self.questions]
        lines = sorted(json.dumps(each, sort_keys=True) for each in plain)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    @property
    def is_recorded(self) -> bool:
        """Whether the questions are those of the last recorded version."""
        return bool(self.changes) and self.changes[-1].hash == self.hash

    def recorded(self, reason: str, by: str = "", questions: Sequence[str] = ()) -> QuestionSet:
        """Return the set as a new version, with the reason why."""
        version = self.version + 1
        change = VersionChange(version, reason, self.hash, by, tuple(questions))
        return QuestionSet(self.name, self.questions, version, (*self.changes, change))


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


def read_text(file: Path, max_bytes: int = MAX_BYTES) -> str:
    """Return the words of a file; SourceError if it is too large or cannot be read."""
    try:
        if file.stat().st_size > max_bytes:
            raise SourceError(f"{file} is larger than {max_bytes:,} bytes", hint="split it")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        hint = "check the path and its permissions" if is_text else "give a text file"
        raise SourceError(f"cannot read {file}: {reason_of(error)}", hint=hint) from error


def load(file: Path) -> QuestionSet:
    """Return the questions of a file; SourceError that names line and key if it is not right."""
    text = read_text(file)
    try:
        head, questions = (_toml if file.suffix == ".toml" else _json_lines)(text, str(file))
        made = _with_head(head, file.stem, questions)
    except ConfigError as error:
        hint = _HINT if "profiles" in error.hint else error.hint or _HINT
        raise SourceError(error.message, hint=hint) from error
    seen: set[str] = set()
    for each in made.questions:
        if each.id in seen:
            raise SourceError(f"{file}: two questions have the id {each.id!r}", hint="rename one")
        seen.add(each.id)
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
    table = TomlReader(values, where)
    labels = {"kind": table.text("kind", "")}
    extra = table.table("labels")
    labels |= {key: extra.text(key) for key in extra.values}
    answer, answers = table.text("answer", ""), table.texts("answers")
    # Whoever knows the answer need not say where it stands.
    is_placed = "gold" in table.values or not (answer or answers)
    needs, reason = _gold(table.table("gold")) if is_placed else ([], "")
    made = Question(
        table.text("id"),
        table.text("question"),
        tuple(tuple(place for place in need if place.grade > 0) for need in needs),
        (*_places(table, "rejected"), *(p for need in needs for p in need if p.grade == 0)),
        reason,
        answer,
        answers,
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


def _gold(gold: TomlReader) -> tuple[list[Need], str]:
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


def _places(table: TomlReader, key: str) -> list[JudgedPlace]:
    return [_place(each) for each in table.tables(key)]


def _place(table: TomlReader) -> JudgedPlace:
    values: dict[str, Any] = {name: table.text(name, "") for name in (*_NAMES, *_SIGNED)}
    for name in _NUMBERS:
        if name in table.values:
            number = table.number(name, 0.0)
            if number != int(number):
                raise ConfigError(f"{table.where}: {name} must be a whole number, got {number:g}")
            values[name] = int(number)
    table.asked += _NUMBERS
    table.finish()
    place = JudgedPlace(**values)
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
    table, found = TomlReader(values, file), []
    for at, each in enumerate(table.tables("question"), 1):
        found.append(question(dict(each.values), f"{file}, question {each.values.get('id', at)}"))
    table.asked.append("judgements")
    table.finish()
    return {"judgements": values.get("judgements", {})}, found


def _with_head(head: dict[str, Any], stem: str, questions: Sequence[Question]) -> QuestionSet:
    outer = TomlReader(head, "head")
    table = outer.table("judgements")
    outer.finish()
    name, version = table.text("name", "") or stem, int(table.number("version", 0.0))
    changes = []
    for each in table.tables("changes"):
        number, names = int(each.number("version", 0.0)), each.texts("questions")
        reason, mark, by = each.text("reason"), each.text("hash", ""), each.text("by", "")
        changes.append(VersionChange(number, reason, mark, by, names))
        each.finish()
    table.finish()
    return QuestionSet(name, questions, version, tuple(changes))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def synthetic_set(records: Iterator[Any]) -> QuestionSet:
    """Return made questions as a set that says so."""
    found = [question(dict(each), f"question {each['id']}") for each in records]
    return QuestionSet("synthetic", found)


def write_corpus(folder: Path, file: Path) -> dict[str, int]:
    """Write ``corpus.jsonl`` of BEIR as a document of pages; return the page of each text."""
    pages: dict[str, int] = {}
    written = []
    try:
        with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
            for number, item in enumerate(map(json.loads, lines)):
                pages[str(item["_id"])] = number
                text = "\n\n".join(filter(None, (str(item.get("title", "")), str(item["text"]))))
                written.append({"text": text, "page_idx": number})
        file.write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"cannot make {file} of {folder / 'corpus.jsonl'}: {error!r}",
            hint="a line of corpus.jsonl has _id, title and text",
        ) from error
    return pages


def on_pages(questions: QuestionSet, pages: Mapping[str, int], document: str) -> QuestionSet:
    """Return the judgements with pages of one document in place of documents."""

    def moved(need: Need) -> Need:
        return tuple(
            replace(place, document=document, page=pages[place.document])
            if place.document in pages
            else JudgedPlace(f"missing/{place.document}", grade=place.grade)
            for place in need
        )

    changed = [
        replace(each, needs=tuple(map(moved, each.needs)), rejected=moved(each.rejected))
        for each in questions.questions
    ]
    return replace(questions, questions=changed)

"""Judgements of other people's formats, read into ours.

Each reader takes a file or folder and returns a set. What a format does not say is not made up: a
question without words is an error that asks for the file with the words.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pincite.core.errors import MALFORMED, ConfigError, SourceError, reason_of
from pincite.evaluate.judgements.files import question as checked
from pincite.evaluate.judgements.published import read_part97, read_scifact
from pincite.evaluate.judgements.questions import Need, Place, Question, QuestionSet
from pincite.evaluate.trec import read_qrels

# The words of questions by id, where a format keeps them in another file.
Texts = Mapping[str, str]
_TABLE_ID = re.compile(r"^Table\s*(?=\S)", re.IGNORECASE)


def read_beir(folder: Path, texts: Texts, *, qrels: str = "test") -> QuestionSet:
    """Return a BEIR folder: ``queries.jsonl`` and ``qrels/test.tsv``; a place is a document."""
    words = texts or {
        str(each["_id"]): str(each["text"])
        for each in _json_lines(folder / "queries.jsonl", ("_id", "text"))
    }
    return _of_qrels(folder.name, folder / "qrels" / f"{qrels}.tsv", words)


def read_trec(file: Path, texts: Texts) -> QuestionSet:
    """Return TREC's grades; every graded document is a need of its own, as its measures count."""
    return _of_qrels(file.stem, file, texts)


def _of_qrels(name: str, file: Path, texts: Texts) -> QuestionSet:
    found = []
    for query_id, grades in read_qrels(file).items():
        places = [Place(document, grade=max(0, grade)) for document, grade in grades.items()]
        needs = tuple((place,) for place in places if place.grade)
        rejected = tuple(place for place in places if not place.grade)
        reason = "" if needs else "no document is judged to answer"
        found.append(Question(query_id, _text(query_id, texts, file), needs, rejected, reason))
    return QuestionSet(name, found)


def read_prefixes(file: Path, texts: Texts) -> QuestionSet:
    """Return ``{"q07": {"section_prefixes": ["300.5"], "table_ids": ["Table300.5"]}}``: any of it.

    A question with two empty lists is one that the documents do not answer.
    """
    found = []
    for query_id, gold in _items(file).items():
        if not isinstance(gold, dict) or not {"section_prefixes", "table_ids"} & gold.keys():
            raise _bad(file, query_id, "it needs section_prefixes or table_ids")
        sections = [Place(section=str(name)) for name in gold.get("section_prefixes", [])]
        tables = [Place(locator=_table_name(str(name))) for name in gold.get("table_ids", [])]
        need: Need = (*sections, *tables)
        text = str(gold.get("question", "")) or _text(query_id, texts, file)
        reason = "" if need else str(gold.get("reason", "")) or "no section is given"
        needs = (need,) if need else ()
        found.append(Question(query_id, text, needs, unanswerable=reason))
    return QuestionSet(file.stem, found)


def _table_name(name: str) -> str:
    """Return a table's id as a locator.

    >>> _table_name("Table250.122")
    'Table 250.122'
    """
    return _TABLE_ID.sub("Table ", name)


def read_expected_chunks(file: Path, texts: Texts) -> QuestionSet:
    """Return ``*.evaluation_queries.json``: questions with the chunks that are expected.

    Chunk ids mean nothing elsewhere, so the places of the chunks are taken: from the question
    itself (``section_path``, ``page``), or from ``*.enriched.json`` or ``merged.enriched.json``
    beside the file.
    """
    known = _enriched(file)
    found = []
    for number, item in enumerate(_list(file, "queries"), 1):
        query_id = str(item.get("query_id", item.get("id", f"q{number}")))
        text = str(item.get("query", item.get("question", ""))) or _text(query_id, texts, file)
        ids = item.get("expected_chunk_ids", item.get("expected_chunk_id", []))
        chunks = [known.get(str(i)) for i in (ids if isinstance(ids, list) else [ids])]
        if "section_path" in item or "page" in item:
            chunks.append(item)
        places = tuple(_chunk_place(chunk) for chunk in chunks if chunk is not None)
        if not places:
            raise _bad(
                file,
                query_id,
                "the places of its chunks are not known: put enriched.json beside it",
            )
        labels = {"domain": str(item["book_id"])} if "book_id" in item else {}
        answer = str(item.get("answer", item.get("reference_answer", "")))
        found.append(Question(query_id, text, (places,), answer=answer, labels=labels))
    return QuestionSet(file.stem.removesuffix(".evaluation_queries"), found)


def _enriched(file: Path) -> dict[str, dict[str, Any]]:
    stem = file.name.partition(".")[0]
    names = (f"{stem}.enriched.json", "merged.enriched.json")
    files = [path for name in names if (path := file.with_name(name)).is_file()]
    return {str(c.get("chunk_id")): c for path in files for c in _list(path, "chunks")}


def _chunk_place(chunk: Mapping[str, Any]) -> Place:
    """Return where a chunk of the other system stood: its heading, else its page."""
    path = chunk.get("section_path") or []
    document = str(chunk.get("document", f"{chunk['book_id']}*" if "book_id" in chunk else ""))
    if path:
        return Place(document, locator=str(path[-1] if isinstance(path, list) else path))
    return Place(document or "*", page=int(chunk["page"]))


def read_qas(file: Path, texts: Texts) -> QuestionSet:
    """Return OHR-Bench's questions: pages that hold the evidence; all of them are needed."""
    found = []
    for item in _list(file, "questions"):
        pages = item["evidence_page_no"]
        document = f"{item['doc_name']}.json"
        needs = tuple(
            (Place(document, page=int(page)),)
            for page in (pages if isinstance(pages, list) else [pages])
        )
        context = item["evidence_context"]
        labels = {
            "kind": str(item["evidence_source"]),
            "domain": str(item.get("doc_type", item["doc_name"].partition("/")[0])),
        }
        found.append(
            Question(
                str(item["ID"]),
                str(item["questions"]),
                needs,
                answer=str(item.get("answers", "")),
                evidence=context if isinstance(context, str) else " ".join(map(str, context)),
                group=str(item["doc_name"]),
                labels=labels,
            )
        )
    return QuestionSet(file.stem, found)


def read_csv(file: Path, texts: Texts) -> QuestionSet:
    """Return a table with a line for each place: id, question, and a place's own columns.

    Lines of one id are places of which any is enough; a column ``need`` numbers the needs where
    several are to be met, and ``unanswerable`` says why there is no place.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines, strict=True))
    except (OSError, csv.Error, *MALFORMED) as error:
        raise SourceError(
            f"cannot read {file}: {reason_of(error)}", hint="give a CSV file"
        ) from error
    plain: dict[str, dict[str, Any]] = {}
    needs: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for number, row in enumerate(rows, 2):
        cells = {k: v.strip() for k, v in row.items() if k and isinstance(v, str) and v.strip()}
        if "id" not in cells:
            raise _bad(file, f"line {number}", "it has no id; the first line names the columns")
        query_id = cells.pop("id")
        question = plain.setdefault(query_id, {"id": query_id, "question": texts.get(query_id, "")})
        question |= {k: cells.pop(k) for k in _OF_QUESTION if k in cells}
        need = needs.setdefault(query_id, {}).setdefault(cells.pop("need", "1"), [])
        if reason := cells.pop("unanswerable", ""):
            question["gold"] = {"none": reason}
        else:
            need.append(_numbered(cells, file, number))
    for query_id, question in plain.items():
        every = list(needs[query_id].values())
        gold = {"any": every[0]} if len(every) == 1 else {"all": [{"any": each} for each in every]}
        question.setdefault("gold", gold)
    return QuestionSet(file.stem, [checked(each, f"{file}, {i}") for i, each in plain.items()])


_OF_QUESTION = ("question", "kind", "answer", "evidence", "group")


def _numbered(cells: Mapping[str, str], file: Path, number: int) -> dict[str, Any]:
    numbers = ("start", "end", "page", "grade")
    try:
        return {k: int(v) if k in numbers else v for k, v in cells.items()}
    except ValueError as error:
        raise _bad(file, f"line {number}", str(error)) from error


Reader = Callable[[Path, Texts], QuestionSet]
READERS: dict[str, Reader] = {
    "beir": read_beir,
    "trec": read_trec,
    "prefixes": read_prefixes,
    "expected-chunks": read_expected_chunks,
    "qas": read_qas,
    "csv": read_csv,
    "part97": read_part97,
    "scifact": read_scifact,
}


def read(form: str, path: Path, texts: Texts) -> QuestionSet:
    """Return the judgements of a file in a format; SourceError if it is not in that format."""
    try:
        return READERS[form](path, texts)
    except ConfigError as error:
        raise SourceError(error.message, hint=error.hint) from error
    except MALFORMED as error:
        raise SourceError(
            f"{path} is not in the format {form!r}: {error!r}",
            hint=f"formats: {', '.join(READERS)}; see docs/evaluate.md",
        ) from error


def read_texts(file: Path) -> dict[str, str]:
    """Return the words of questions: ``{"id": "text"}``, JSON lines, or "id TAB text"."""
    if file.suffix == ".json":
        return {key: str(value) for key, value in _items(file).items()}
    if file.suffix == ".jsonl":
        found = _json_lines(file, ())
        return {
            str(x.get("_id", x.get("id"))): str(x.get("text", x.get("question"))) for x in found
        }
    pairs = (line.partition("\t") for line in _words(file).splitlines() if line.strip())
    return {name.strip(): text.strip() for name, _, text in pairs}


def _text(query_id: str, texts: Texts, file: Path) -> str:
    if not texts.get(query_id, "").strip():
        raise _bad(file, query_id, "its words are not known: give them with --texts FILE")
    return texts[query_id]


def _words(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"cannot read {file}: {reason_of(error)}", hint="give a text file"
        ) from error


def _parsed(file: Path) -> Any:
    try:
        return json.loads(_words(file))
    except MALFORMED as error:
        raise SourceError(f"{file} is not JSON: {error}", hint="see docs/evaluate.md") from error


def _items(file: Path) -> dict[str, Any]:
    values = _parsed(file)
    if not isinstance(values, dict):
        raise SourceError(f"{file} is not a JSON object", hint="see docs/evaluate.md")
    return values


def _list(file: Path, key: str) -> Sequence[Any]:
    """Return the list in a file, which may stand under a key."""
    values = _parsed(file)
    found = values.get(key) if isinstance(values, dict) else values
    if not isinstance(found, list):
        raise SourceError(f"{file} has no list of {key}", hint="see docs/evaluate.md")
    return found


def _json_lines(file: Path, keys: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_words(file).splitlines(), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except MALFORMED as error:
                raise _bad(file, f"line {number}", f"not JSON: {error}") from error
            if not isinstance(value, dict) or any(key not in value for key in keys):
                raise _bad(file, f"line {number}", f"it needs {', '.join(keys) or 'an object'}")
            yield value


def _bad(file: Path, where: str, what: str) -> SourceError:
    return SourceError(f"{file}, {where}: {what}", hint="see docs/evaluate.md")

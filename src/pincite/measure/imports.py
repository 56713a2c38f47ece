"""Questions from files of others."""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.measure.questions import JudgedPlace, Need, Question, QuestionSet, read_text
from pincite.measure.questions import question as checked
from pincite.model.errors import MALFORMED, ConfigError, SourceError, reason_of
from pincite.model.locators import locator_key

# Grades by question and document.
Qrels = Mapping[str, Mapping[str, int]]

MAX_BYTES = 512_000_000
_HINT = "see docs/evaluate.md"
_TREC_LINE = "a line is: question 0 document grade, with one whole number for each document"
_SPACE = re.compile(r"\s")


def read_qrels(file: Path) -> dict[str, dict[str, int]]:
    """Return the grades of a file with lines "question iteration document grade".

    The three columns of BEIR, with a heading, are understood as well.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_text(file, MAX_BYTES).splitlines(), 1):
        fields, where = line.split(), f"line {number}"
        if not fields:
            continue
        if number == 1 and fields[-1] in ("score", "relevance", "rel"):
            continue
        if len(fields) not in (3, 4):
            raise _bad_import(file, where, f"{len(fields)} columns", _TREC_LINE)
        try:
            grade = int(fields[-1])
        except ValueError:
            raise _bad_import(file, where, f"grade {fields[-1]!r}", _TREC_LINE) from None
        documents = qrels.setdefault(fields[0], {})
        if documents.setdefault(fields[-2], grade) != grade:
            raise _bad_import(file, where, f"two grades for {fields[-2]!r}", _TREC_LINE)
    return qrels


def write_qrels(qrels: Qrels) -> Iterator[str]:
    """Yield the lines of a file of grades."""
    for question, grades in qrels.items():
        for document, grade in grades.items():
            yield f"{_name(question)} 0 {_name(document)} {grade}\n"


def write_run(rankings: Mapping[str, Iterable[str]], name: str) -> Iterator[str]:
    """Yield the lines of a run; scores count down, so that everybody reads the same order."""
    for question, documents in rankings.items():
        ids = list(documents)
        for rank, document in enumerate(ids, 1):
            score = len(ids) - rank + 1
            yield f"{_name(question)} Q0 {_name(document)} {rank} {score} {_name(name)}\n"


def _name(text: str) -> str:
    """Return a name without spaces, which TREC's columns cannot hold."""
    return _SPACE.sub("_", text) or "_"


PART97 = "part97.md"  # the document that questions of Part 97 cite
SCIFACT_ABSTRACTS = "corpus.csv"
_SECTION = re.compile(r"(?<![\d.])(97\.\d+)|\(([a-z])(?:-([a-z]))?\)")
# A list as an array library prints it: quoted sentences without commas between them.
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CitingQuestion:
    """One exam question with the sections and the lettered clauses that it cites."""

    id: str
    text: str
    sections: tuple[str, ...]
    clauses: tuple[str, ...]


def read_part97(file: Path, texts: Mapping[str, str]) -> QuestionSet:
    """Return the exam questions: any cited lettered clause, or any cited section if none is."""
    found = []
    for each in read_citing_questions(file):
        names = each.clauses or each.sections
        need = tuple(JudgedPlace(PART97, section=name) for name in names)
        labels = {"kind": "clause" if each.clauses else "section"}
        needs = (need,) if need else ()
        reason = "" if needs else "it cites no place"
        found.append(Question(each.id, each.text, needs, unanswerable=reason, labels=labels))
    return QuestionSet("part97", found)


def read_citing_questions(file: Path) -> list[CitingQuestion]:
    """Return the questions of a file of JSON lines in the pools' own format."""
    try:
        items = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
        if any(not isinstance(item["question"], str) for item in items):
            raise TypeError("a question is no text")
        return [
            CitingQuestion(
                id=f"{item['pool']}/{item['id']}",
                text=item["question"],
                sections=tuple(locator_key(name) for name in item["gold_sections"]),
                clauses=cited_clauses(item["cited"]),
            )
            for item in items
        ]
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"{file} is not a question file of Part 97: {error!r}",
            hint="it has one JSON object a line with pool, id, question, cited, gold_sections",
        ) from error


def cited_clauses(cited: str) -> tuple[str, ...]:
    """Return the lettered clauses that a citation names, to the letter.

    >>> cited_clauses("[97.101(b), (c), 97.301(a-b), 97.3(a)(38)]")
    ('97.101(b)', '97.101(c)', '97.301(a)', '97.301(b)', '97.3(a)')
    """
    section, is_open, found = "", False, []
    for match in _SECTION.finditer(cited):
        if match.group(1):
            section, is_open = match.group(1), True
        elif section and (is_open or cited[match.start() - 2 : match.start()] == ", "):
            first, last = match.group(2), match.group(3) or match.group(2)
            found += [f"{section}({chr(code)})" for code in range(ord(first), ord(last) + 1)]
            is_open = False
    return tuple(dict.fromkeys(found))


def read_scifact(file: Path, texts: Mapping[str, str]) -> QuestionSet:
    """Return the claims; every cited abstract is a need of its own, as BEIR counts them."""
    found = []
    for number, (claim, cited) in enumerate(read_claims(file), 1):
        needs = tuple((JudgedPlace(doc_id),) for doc_id in cited)
        reason = "" if needs else "it cites no abstract"
        group = " ".join(sorted(cited))
        found.append(Question(f"claim {number}", claim, needs, unanswerable=reason, group=group))
    return QuestionSet("scifact", found)


def write_abstracts(claims: Path, file: Path) -> dict[str, int]:
    """Write the abstracts beside a claim file as a document of pages; return the page of each."""
    abstracts = read_abstracts(claims.with_name(SCIFACT_ABSTRACTS))
    pages = [{"text": text, "page_idx": number} for number, text in enumerate(abstracts.values())]
    try:
        file.write_text(json.dumps(pages), encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"cannot write {file}: {reason_of(error)}", hint="choose another file"
        ) from error
    return {doc_id: number for number, doc_id in enumerate(abstracts)}


def read_abstracts(file: Path) -> dict[str, str]:
    """Return title and abstract as one text, by document id."""
    rows = _rows(file, ("doc_id", "title", "abstract"), "the abstracts of SciFact")
    return {row["doc_id"]: f"{row['title']}\n\n{sentences(row['abstract'])}" for row in rows}


def read_claims(file: Path) -> list[tuple[str, list[str]]]:
    """Return every claim once, with the ids of the abstracts that it cites."""
    rows = _rows(file, ("id", "claim", "cited_doc_ids"), "a claim file of SciFact")
    once = {row["id"]: row for row in rows}
    return [(row["claim"], re.findall(r"\d+", row["cited_doc_ids"])) for row in once.values()]


def sentences(printed: str) -> str:
    """Return the sentences of a printed list as running text.

    >>> sentences("['New.' 'True.']")
    'New. True.'
    """
    found = _LITERAL.findall(printed)
    return " ".join(str(ast.literal_eval(each)).strip() for each in found)


def _rows(file: Path, columns: Sequence[str], kind: str) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines, strict=True))
        missing = [name for name in columns if any(row.get(name) is None for row in rows)]
        if missing or not rows:
            raise ValueError(f"no column {missing[0]!r}" if missing else "no rows")
        return rows
    except (OSError, ValueError, csv.Error) as error:
        raise SourceError(
            f"{file} does not hold {kind}: {error}", hint=f"its columns are {', '.join(columns)}"
        ) from error


# The words of questions by id, where a format keeps them in another file.
Texts = Mapping[str, str]
_TABLE_ID = re.compile(r"^Table\s*(?=\S)", re.IGNORECASE)


def read_beir(folder: Path, texts: Texts, *, qrels: str = "test") -> QuestionSet:
    """Return a BEIR folder: ``queries.jsonl`` and ``qrels/test.tsv``; a place is a document."""
    asked = folder / "queries.jsonl"
    words = texts or {str(x["_id"]): str(x["text"]) for x in _json_lines(asked, ("_id", "text"))}
    return _of_qrels(folder.name, folder / "qrels" / f"{qrels}.tsv", words)


def read_trec(file: Path, texts: Texts) -> QuestionSet:
    """Return TREC's grades; every graded document is a need of its own, as its measures count."""
    return _of_qrels(file.stem, file, texts)


def _of_qrels(name: str, file: Path, texts: Texts) -> QuestionSet:
    found = []
    for query_id, grades in read_qrels(file).items():
        places = [JudgedPlace(document, grade=max(0, grade)) for document, grade in grades.items()]
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
            raise _bad_import(file, query_id, "it needs section_prefixes or table_ids")
        sections = [JudgedPlace(section=str(name)) for name in gold.get("section_prefixes", [])]
        tables = [JudgedPlace(locator=_table_name(str(name))) for name in gold.get("table_ids", [])]
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
            what = "the places of its chunks are not known: put enriched.json beside it"
            raise _bad_import(file, query_id, what)
        labels = {"domain": str(item["book_id"])} if "book_id" in item else {}
        answer = str(item.get("answer", item.get("reference_answer", "")))
        found.append(Question(query_id, text, (places,), answer=answer, labels=labels))
    return QuestionSet(file.stem.removesuffix(".evaluation_queries"), found)


def _enriched(file: Path) -> dict[str, dict[str, Any]]:
    stem = file.name.partition(".")[0]
    names = (f"{stem}.enriched.json", "merged.enriched.json")
    files = [path for name in names if (path := file.with_name(name)).is_file()]
    return {str(c.get("chunk_id")): c for path in files for c in _list(path, "chunks")}


def _chunk_place(chunk: Mapping[str, Any]) -> JudgedPlace:
    """Return where a chunk of the other system stood: its heading, else its page."""
    path = chunk.get("section_path") or []
    document = str(chunk.get("document", f"{chunk['book_id']}*" if "book_id" in chunk else ""))
    if path:
        return JudgedPlace(document, locator=str(path[-1] if isinstance(path, list) else path))
    return JudgedPlace(document or "*", page=int(chunk["page"]))


def read_qas(file: Path, texts: Texts) -> QuestionSet:
    """Return OHR-Bench's questions: pages that hold the evidence; all of them are needed."""
    found = []
    for item in _list(file, "questions"):
        pages = item["evidence_page_no"]
        document = f"{item['doc_name']}.json"
        every = pages if isinstance(pages, list) else [pages]
        needs = tuple((JudgedPlace(document, page=int(page)),) for page in every)
        context = item["evidence_context"]
        domain = str(item.get("doc_type", item["doc_name"].partition("/")[0]))
        labels = {"kind": str(item["evidence_source"]), "domain": domain}
        more: dict[str, Any] = {
            "answer": str(item.get("answers", "")),
            "evidence": context if isinstance(context, str) else " ".join(map(str, context)),
            "group": str(item["doc_name"]),
        }
        asked = Question(str(item["ID"]), str(item["questions"]), needs, labels=labels, **more)
        found.append(asked)
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
            what = "it has no id; the first line names the columns"
            raise _bad_import(file, f"line {number}", what)
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
        raise _bad_import(file, f"line {number}", str(error)) from error


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
        each = ((x.get("_id", x.get("id")), x) for x in _json_lines(file, ()))
        return {str(name): str(x.get("text", x.get("question"))) for name, x in each}
    pairs = (
        line.partition("\t") for line in read_text(file, MAX_BYTES).splitlines() if line.strip()
    )
    return {name.strip(): text.strip() for name, _, text in pairs}


def _text(query_id: str, texts: Texts, file: Path) -> str:
    if not texts.get(query_id, "").strip():
        raise _bad_import(file, query_id, "its words are not known: give them with --texts FILE")
    return texts[query_id]


def _parsed(file: Path) -> Any:
    try:
        return json.loads(read_text(file, MAX_BYTES))
    except MALFORMED as error:
        raise SourceError(f"{file} is not JSON: {error}", hint=_HINT) from error


def _items(file: Path) -> dict[str, Any]:
    values = _parsed(file)
    if not isinstance(values, dict):
        raise SourceError(f"{file} is not a JSON object", hint=_HINT)
    return values


def _list(file: Path, key: str) -> Sequence[Any]:
    """Return the list in a file, which may stand under a key."""
    values = _parsed(file)
    found = values.get(key) if isinstance(values, dict) else values
    if not isinstance(found, list):
        raise SourceError(f"{file} has no list of {key}", hint=_HINT)
    return found


def _json_lines(file: Path, keys: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_text(file, MAX_BYTES).splitlines(), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except MALFORMED as error:
                raise _bad_import(file, f"line {number}", f"not JSON: {error}") from error
            if not isinstance(value, dict) or any(key not in value for key in keys):
                needed = ", ".join(keys) or "an object"
                raise _bad_import(file, f"line {number}", f"it needs {needed}")
            yield value


def _bad_import(file: Path, where: str, what: str, hint: str = _HINT) -> SourceError:
    return SourceError(f"{file}, {where}: {what}", hint=hint)

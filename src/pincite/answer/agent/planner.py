"""Answers that take several steps, planned without a language model.

    search → clause → the table it names → row and column → cell → arithmetic that it asks for
    search → clause → a share of a quantity in the question → arithmetic
    … → a multiple of the result that the question asks for → arithmetic

Every step is a call of a tool, so the trace shows all of it. What the documents say chooses which
table is looked up, never which tools there are nor how many steps may be taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pincite.answer.agent.tools import AnswerLine, Toolbox, asked_multiple, calculated, times
from pincite.answer.lookup import CellQuery, Pick, pick
from pincite.index.tokens import Analyzer
from pincite.model.markup import plain
from pincite.model.sentences import units
from pincite.model.tables import parse_table, row_spans
from pincite.model.types import Chunk
from pincite.model.units import find_unit, quantities
from pincite.search.lookup import TableCell

HITS = 8
CLAUSES = 3  # hits whose references are followed
TABLES = 6  # tables that are compared
# What a table gains by standing high, and by being named by a clause that was found.
RANK_BONUS, NAMED_BONUS, CAPTION_BONUS = 1.0, 1.0, 1.0
MIN_SCORE = 2.5
MAX_CELLS = 4  # a look-up that gives more was no look-up
_MULTIPLIED = re.compile(r"\bmultipl|\btimes\b|\bproduct of\b", re.IGNORECASE)
_SHARE_OF = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s{0,8}(?:%|percent|per cent)\s+of\b", re.IGNORECASE)
_ADDED = re.compile(r"(?<!\d)(\d+(?:\.\d+)?\s?\S{1,4}) shall be added to\b.*\bbefore\b", re.DOTALL)
_TABLE_NAME = re.compile(r"\btable\s+\S", re.IGNORECASE)
_NUMBER = re.compile(r"^-?\d+(?:\.\d+)?$")


def plan(question: str, tools: Toolbox) -> list[AnswerLine]:
    """Return the lines of an answer; none if the question is no look-up and no calculation."""
    multiple = asked_multiple(question)
    # Its number names no row.
    bare = multiple.rest if multiple else question
    asked = CellQuery.read(bare, _analyzer(tools))
    hits = list(tools.call("search", {"query": bare, "k": HITS}).places)
    lines = [] if _SHARE_OF.search(asked.text) else _look_up(asked, hits, tools)
    lines = lines or _share(asked, hits, tools)
    return [*lines, *times(multiple, lines, tools)] if multiple else lines


def _analyzer(tools: Toolbox) -> Analyzer:
    reader = tools.index.opened.analyzer
    return reader.by_language[reader.languages[0]]


@dataclass(frozen=True, slots=True)
class _PlannedCell:
    table: Chunk
    clause: Chunk | None  # that names it
    pick: Pick
    score: float
    key_name: str  # of the column that the row was found by


@dataclass(frozen=True, slots=True)
class _Named:
    """A table that may answer, and the best hit that leads to it."""

    table: Chunk
    clause: Chunk | None
    rank: int


def _says_itself(asked: CellQuery, hit: Chunk) -> bool:
    """Return whether a clause states the question's own quantities and sends to no table."""
    amounts = [q for q in asked.quantities if q.kind]
    if not amounts or hit.kind in ("table", "row") or _TABLE_NAME.search(hit.text):
        return False
    said = quantities(hit.text)
    return all(any(q.same(other) for other in said) for q in amounts)


def _look_up(asked: CellQuery, hits: Sequence[Chunk], tools: Toolbox) -> list[AnswerLine]:
    if not hits or _says_itself(asked, hits[0]):
        return []
    named = _named_tables(hits, tools)
    candidates = sorted(_candidates(asked, named, tools), key=lambda each: -each.score)
    best = next((each for each in candidates if each.score >= MIN_SCORE), None)
    if best is None or not tools.left or _is_passed_over(named, candidates):
        return []
    clause = best.clause or _clause_around(best, asked, tools)
    sentence = _naming_sentence(clause, best.table.locator) if clause else ""
    words = " ".join(plain(sentence).split())
    raised = _raised(asked, best, words, tools)
    row = best.pick.row
    if raised:
        row = row.replace(asked.words(best.pick.used[0]), raised[0].text.rpartition("= ")[2])
    arguments = {
        "table": best.table.locator,
        "row": row,
        "column": best.pick.column,
        "document": best.table.span.doc_id,
    }
    found = tools.call("lookup_table", arguments)
    cells = _shown_cells(found.data or [], best)
    if not cells or len(cells) > MAX_CELLS:
        return []
    lines = [*raised, *map(_cell_line, cells)]
    if clause is not None and sentence:
        lines.append(AnswerLine(f"{clause.locator}: “{words}”", clause, sentence))
        if len(cells) == 1:
            lines += _multiplied(asked, best, cells[0], words, tools)
    return lines


def _is_passed_over(named: Sequence[_Named], candidates: Sequence[_PlannedCell]) -> bool:
    """Return whether the best clause names tables, and the question names no row of any."""
    first = {each.table.id for each in named if each.clause is not None and each.rank == 0}
    return bool(first) and not first & {each.table.id for each in candidates}


def _shown_cells(cells: Sequence[TableCell], best: _PlannedCell) -> list[TableCell]:
    """Return the cells that say something beyond how the row was found."""
    if best.pick.column:
        return list(cells)
    key = set(best.key_name.casefold().replace(",", "").split())
    shown = []
    for cell in cells:
        name = set(cell.cell.column_name.casefold().replace(",", "").split())
        is_key = 2 * len(key & name) > len(key | name)
        if cell.cell.value and not is_key and cell.cell.column:
            shown.append(cell)
    return shown


def _clause_around(best: _PlannedCell, asked: CellQuery, tools: Toolbox) -> Chunk | None:
    """Return the section that a table stands in, if there is something left to calculate."""
    spare = [q for q in asked.quantities if q.kind and q not in best.pick.used]
    parent = best.table.parent
    if not spare or parent is None or tools.left < 3:
        return None
    (place,) = tools.index.snapshot.get([parent])
    if place.kind == "document":
        return None
    arguments = {"locator": place.locator, "document": place.span.doc_id}
    return None if tools.call("show", arguments).error else place


def _raised(
    asked: CellQuery, best: _PlannedCell, sentence: str, tools: Toolbox
) -> list[AnswerLine]:
    """Return the sum that a clause asks for before its table is used: "18 °C shall be added"."""
    added = _ADDED.search(sentence)
    if not added or not best.pick.used or tools.left < 2:
        return []
    amounts = quantities(added.group(1))
    mine = best.pick.used[0]
    if len(amounts) != 1 or amounts[0].kind != mine.kind:
        return []
    return calculated(f"{asked.words(mine)} + {added.group(1).strip()}", best.clause, tools)


def _named_tables(hits: Sequence[Chunk], tools: Toolbox) -> list[_Named]:
    """Return the tables among the hits, and those that the first clauses name or hold."""
    named: dict[str, _Named] = {}
    for rank, hit in enumerate(hits):
        table = _table_of(hit, tools)
        if table is not None:
            named.setdefault(table.id, _Named(table, None, rank))
    clauses = [(rank, hit) for rank, hit in enumerate(hits) if hit.kind not in ("table", "row")]
    for rank, clause in clauses[:CLAUSES]:
        for table in _referenced(clause, tools):
            known = named.get(table.id)
            if known is None or known.clause is None:
                best = min(rank, known.rank) if known else rank
                named[table.id] = _Named(table, clause, best)
    return list(named.values())[:TABLES]


def _candidates(
    asked: CellQuery, named: Sequence[_Named], tools: Toolbox
) -> Iterator[_PlannedCell]:
    """Yield the tables that have a row for the question."""
    analyzer = _analyzer(tools)
    for each in named:
        parsed = parse_table(each.table.text)
        picked = pick(parsed, asked, analyzer) if parsed else None
        if parsed is None or picked is None:
            continue
        caption = frozenset(analyzer.content(analyzer.terms(parsed.title)))
        shared = len(caption & asked.terms) / max(1, len(caption))
        bonus = RANK_BONUS + (NAMED_BONUS if each.clause is not None else 0.0)
        score = picked.score + bonus / (1 + each.rank) + CAPTION_BONUS * shared
        yield _PlannedCell(each.table, each.clause, picked, score, parsed.columns[picked.key])


def _table_of(hit: Chunk, tools: Toolbox) -> Chunk | None:
    if hit.kind == "table":
        return hit
    if hit.kind == "row" and hit.parent:
        (table,) = tools.index.snapshot.get([hit.parent])
        return table if table.kind == "table" else None
    return None


def _referenced(clause: Chunk, tools: Toolbox) -> list[Chunk]:
    """Return the tables that a clause names or holds; a step only if it seems to name one."""
    below = [each for each in tools.index.children(clause) if each.kind == "table"]
    if not _TABLE_NAME.search(clause.text) or tools.left <= 2:
        return below
    arguments = {"locator": clause.locator, "document": clause.span.doc_id}
    found = tools.call("follow_references", arguments)
    return list({c.id: c for c in (*found.places, *below) if c.kind == "table"}.values())


def _cell_line(cell: TableCell) -> AnswerLine:
    value = f"{cell.cell.value} {cell.cell.unit}".rstrip()
    notes = "".join(f" ({note})" for note in cell.cell.notes)
    start, end = row_spans(cell.table.text)[cell.cell.row]
    unit = _calculable(cell.cell.unit)
    return AnswerLine(
        f"{cell.citation}: {value}{notes}",
        cell.table,
        cell.table.text[start:end].strip(),
        f"{cell.cell.value} {unit}".rstrip() if _NUMBER.match(cell.cell.value) else "",
        "" if unit else cell.cell.unit,
    )


def _naming_sentence(clause: Chunk, table: str) -> str:
    """Return the sentence of a clause that names a table."""
    stretches = [clause.text[unit.start : unit.end] for unit in units(clause.text)]
    naming = (each for each in stretches if table.casefold() in " ".join(each.split()).casefold())
    return next(naming, stretches[0] if stretches else clause.text)


def _multiplied(
    asked: CellQuery, best: _PlannedCell, cell: TableCell, sentence: str, tools: Toolbox
) -> list[AnswerLine]:
    """Return the product that the clause asks for, if the question has the other factor."""
    spare = [q for q in asked.quantities if q.kind and q not in best.pick.used]
    if not _MULTIPLIED.search(sentence) or not spare or not _NUMBER.match(cell.cell.value):
        return []
    factor = f"{cell.cell.value} {_calculable(cell.cell.unit)}".rstrip()
    expression = f"{factor} * {asked.words(spare[0])}"
    return calculated(expression, best.table, tools)


def _calculable(unit: str) -> str:
    parts = unit.split("/")
    return unit if unit and all(find_unit(part.strip()) for part in parts) else ""


def _share(asked: CellQuery, hits: Sequence[Chunk], tools: Toolbox) -> list[AnswerLine]:
    """Return a share of a quantity: one that the question states, or that the best clause does."""
    amounts = [q for q in asked.quantities if q.kind not in ("", "share")]
    if len(amounts) != 1 or not hits:
        return []
    amount = asked.words(amounts[0])
    stated = _SHARE_OF.search(asked.text)
    clause, share = (_clause_with(hits, stated.group(1)), stated.group(1)) if stated else (None, "")
    if not stated and _asks_for_share(asked):
        clause, share = _first_share(hits)
    if not share:
        return []
    lines = calculated(f"{share} % of {amount}", clause, tools)
    if lines and clause is not None:
        sentence = _sentence_with(clause, share)
        lines.append(AnswerLine(f"{clause.locator}: “{plain(sentence)}”", clause, sentence))
    return lines


def _asks_for_share(asked: CellQuery) -> bool:
    return bool(re.search(r"\b(?:how (?:many|much)|what|which)\b", asked.text, re.IGNORECASE))


def _first_share(hits: Sequence[Chunk]) -> tuple[Chunk | None, str]:
    """Return the share that the best clause states, if it states one only."""
    shares = set(_SHARE_OF.findall(hits[0].text))
    return (hits[0], shares.pop()) if len(shares) == 1 else (None, "")


def _clause_with(hits: Sequence[Chunk], share: str) -> Chunk | None:
    """Return the first clause that states the same share."""
    return next((hit for hit in hits if share in _SHARE_OF.findall(hit.text)), None)


def _sentence_with(clause: Chunk, share: str) -> str:
    stretches = [clause.text[unit.start : unit.end] for unit in units(clause.text)]
    holding = (each for each in stretches if share in _SHARE_OF.findall(each))
    return next(holding, clause.text)

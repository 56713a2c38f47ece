"""Examples for the reader from tables, whose rows are read as "group > label | head: value"."""

from __future__ import annotations

import csv
import io
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pincite.model.tables import BELOW, Table, groups_of
from reader_claims import VERDICTS, as_question
from reader_data import Example, lines, words_of

TABLE_CHARS = 480  # figures cost more tokens than words
FETAQA_CELLS = 3
STATEMENTS = 6000
CLAIMS = 3  # of a key-value table


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table as lines, and where in its line each cell's value stands."""

    lines: tuple[str, ...]
    cells: tuple[Mapping[int, tuple[int, int]], ...]


def as_rows(table: Table) -> Rows:
    """Return the rows as a reader gets them; those that only open a group are named in the others.

    >>> rows = (("Sales:", "", ""), ("Goods", "9", "8"))
    >>> as_rows(Table("", ("", "2021", "2020"), rows)).lines
    ('Sales > Goods | 2021: 9 | 2020: 8',)
    """
    made, cells = [], []
    for row, groups in zip(table.rows, groups_of(table), strict=True):
        if not any(row[1:]):
            continue
        line, places = BELOW.join([*groups, row[0]]), {}
        places[0] = (len(line) - len(row[0]), len(line))
        for at, value in enumerate(row[1:], 1):
            if value:
                head = table.columns[at] if at < len(table.columns) else ""
                line += f" | {head}: " if head else " | "
                places[at] = (len(line), len(line) + len(value))
                line += value
        made.append(line)
        cells.append(places)
    return Rows(tuple(made), tuple(cells))


def shown(
    rows: Rows, wanted: Sequence[tuple[int, int]], head: str, chance: random.Random
) -> tuple[str, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Return some rows with the wanted ones among them: the text, the cells, and the rows."""
    first, last = min(row for row, _ in wanted), max(row for row, _ in wanted)
    size = sum(len(line) + 1 for line in rows.lines[first : last + 1])
    while True:
        above = first > 0 and size + len(rows.lines[first - 1]) < TABLE_CHARS
        below = last + 1 < len(rows.lines) and size + len(rows.lines[last + 1]) < TABLE_CHARS
        if not above and not below:
            break
        if above and (not below or chance.random() < 0.5):
            first -= 1
            size += len(rows.lines[first]) + 1
        else:
            last += 1
            size += len(rows.lines[last]) + 1
    text, starts = f"{head}\n" if head else "", {}
    for number in range(first, last + 1):
        starts[number] = len(text)
        text += rows.lines[number] + "\n"
    spans = tuple(
        (starts[row] + rows.cells[row][at][0], starts[row] + rows.cells[row][at][1])
        for row, at in wanted
    )
    proof = tuple(
        (starts[r], starts[r] + len(rows.lines[r])) for r in sorted({r for r, _ in wanted})
    )
    return text.rstrip("\n"), spans, proof


def cell_example(
    source: str,
    document: str,
    question: str,
    *,
    path: str,
    rows: Rows,
    wanted: Sequence[tuple[int, int]],
    chance: random.Random,
) -> Iterator[Example]:
    """Yield a question with the rows that answer it, and sometimes with rows that do not."""
    text, spans, proof = shown(rows, wanted, "", chance)
    if len(text) > 2.5 * TABLE_CHARS:
        return
    yield Example(source, document, question, path, text, "span", spans, proof)
    others = [n for n in range(len(rows.lines)) if all(abs(n - row) > 6 for row, _ in wanted)]
    if others and chance.random() < 0.6:
        far = Rows(tuple(rows.lines[n] for n in others), tuple(rows.cells[n] for n in others))
        start = chance.randrange(len(others))
        text, _, _ = shown(far, [(start, 0)], "", chance)
        answers = {rows.lines[r][slice(*rows.cells[r][at])] for r, at in wanted}
        if len(text) <= 2.5 * TABLE_CHARS and not any(answer in text for answer in answers):
            yield Example(source, document, question, path, text, "none")


def wikitables(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Questions on tables whose answer is one cell, found by its row's other words."""
    for entry in lines(folder / "wikitablequestions.jsonl.gz"):
        read = [row for row in csv.reader(io.StringIO(entry["csv"]), escapechar="\\") if row]
        if len(read) < 2 or len(read[0]) < 2:
            continue
        width = len(read[0])
        body = tuple(
            tuple(c.replace("\n", " ").strip() for c in r) for r in read[1:] if len(r) == width
        )
        rows = as_rows(Table("", tuple(c.replace("\n", " ") for c in read[0]), body))
        for asked in entry["questions"]:
            if asked["split"] != "training" or len(asked["answers"]) != 1:
                continue
            question = f"{asked['question'].strip().rstrip('?').capitalize()}?"
            place = _cell_of(rows, question, asked["answers"][0])
            if place:
                yield from cell_example(
                    "wikitables",
                    entry["table"],
                    question,
                    path="",
                    rows=rows,
                    wanted=[place],
                    chance=chance,
                )


def _cell_of(rows: Rows, question: str, answer: str) -> tuple[int, int] | None:
    """Return the cell that is the answer; of several the one whose row the question speaks of."""
    asked, found = words_of(question), []
    for number, (line, cells) in enumerate(zip(rows.lines, rows.cells, strict=True)):
        for at, (start, end) in cells.items():
            if line[start:end].lower() == answer.lower():
                rest = words_of(line[:start]) | words_of(line[end:])
                found.append((len(asked & rest), number, at))
    found.sort(reverse=True)
    if not found or (len(found) > 1 and found[0][0] == found[1][0]):
        return None  # nothing says which
    return found[0][1], found[0][2]


def fetaqa(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Questions on tables with marked cells; those that the written answer names are the answer."""
    for number, entry in enumerate(lines(folder / "fetaqa.jsonl.gz")):
        head, *body = entry["table_array"]
        width = len(head)
        kept = [tuple(" ".join(c.split()) for c in row) for row in body]
        if not kept or any(len(row) != width for row in kept) or width < 2:
            continue
        rows = as_rows(Table("", tuple(head), tuple(kept)))
        if len(rows.lines) != len(kept):
            continue  # rows that open groups are no rows here, and marks count them
        path = f"{entry['table_page_title']} › {entry['table_section_title']}"
        cells = defaultdict(list)
        for row, at in entry["highlighted_cell_ids"]:
            value = kept[row - 1][at] if 0 < row <= len(kept) and at < width else ""
            if len(value) > 1 and value in entry["answer"] and value not in entry["question"]:
                cells[value].append((row - 1, at))
        wanted = [places[0] for places in cells.values() if len(places) == 1]
        if 0 < len(wanted) <= FETAQA_CELLS and all(at in rows.cells[row] for row, at in wanted):
            yield from cell_example(
                "fetaqa",
                str(number),
                entry["question"],
                path=path,
                rows=rows,
                wanted=wanted,
                chance=chance,
            )


def infotabs(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Tables of keys and values: what is the value of a key, and is a claim true."""
    for number, entry in enumerate(lines(folder / "infotabs.jsonl.gz")):
        values = {key: ", ".join(map(str.strip, each)) for key, each in entry["table"].items()}
        title = values.pop("title", "")
        body = tuple((key, value) for key, value in values.items() if value)
        if len(body) < 3:
            continue
        rows = as_rows(Table(title, ("", ""), body))
        if len(rows.lines) != len(body):
            continue
        row = chance.randrange(len(body))
        asked = chance.choice(("What is the {} of {}?", "{1}: {0}?", "{0} of {1}"))
        question = asked.format(body[row][0].lower(), title)
        yield from cell_example(
            "infotabs",
            str(number),
            question,
            path=title,
            rows=rows,
            wanted=[(row, 1)],
            chance=chance,
        )
        text = "\n".join(rows.lines)[: 2 * TABLE_CHARS]
        for claim in chance.sample(entry["claims"], min(CLAIMS, len(entry["claims"]))):
            question = as_question(claim["claim"])
            if question and claim["verdict"] in VERDICTS:
                verdict = VERDICTS[claim["verdict"]]
                yield Example("infotabs", str(number), question, title, text, verdict)


# Lines of statements and reports, written here: what companies and offices count.
GROUPS = {
    "Revenue": ("Product sales", "Services", "Licensing", "Subscriptions", "Other revenue"),
    "Operating expenses": (
        "Cost of goods sold", "Research and development", "Selling and marketing",
        "General and administrative", "Depreciation and amortization", "Restructuring charges",
        "Fuel", "Wages and benefits", "Rent", "Maintenance",
    ),
    "Current assets": (
        "Cash and cash equivalents", "Short-term investments", "Accounts receivable",
        "Inventories", "Prepaid expenses", "Other current assets",
    ),
    "Liabilities": (
        "Accounts payable", "Accrued liabilities", "Deferred revenue", "Long-term debt",
        "Lease obligations", "Deferred income taxes", "Pension obligations",
    ),
    "Results": (
        "Gross profit", "Operating income", "Interest expense", "Income before taxes",
        "Provision for income taxes", "Net income", "Diluted earnings per share",
    ),
    "Cash flows": (
        "Net cash from operating activities", "Capital expenditures", "Dividends paid",
        "Share repurchases", "Proceeds from borrowings", "Repayment of debt",
    ),
    "Operations": (
        "Employees at year end", "Stores", "Passengers carried", "Units shipped",
        "Average price per unit", "Market share", "Capacity", "Load factor",
    ),
    "Regions": ("North America", "Europe", "Asia Pacific", "Latin America", "Middle East"),
}  # fmt: skip
TITLES = (
    "Consolidated statements of operations", "Consolidated balance sheets",
    "Selected financial data", "Statements of cash flows", "Key figures", "Segment results",
    "Summary of operations", "Five-year overview",
)  # fmt: skip
ASKED = (
    "What was the {row} in {head}?", "What were {row} for {head}?", "How much was {row} in {head}?",
    "{row} {head}", "How high was {row} in {head}?", "What is the value of {row} for {head}?",
    "What was the {row} under {group} in {head}?",
)  # fmt: skip


def statements(folder: Path, chance: random.Random) -> Iterator[Example]:
    """Tables of invented figures: a row and a column are named, and one cell is both."""
    for number in range(STATEMENTS):
        table = _statement(chance)
        rows = as_rows(table)
        row = chance.randrange(len(rows.lines))
        at = chance.choice([each for each in rows.cells[row] if each])
        label = rows.lines[row][slice(*rows.cells[row][0])]
        group = rows.lines[row].partition(BELOW)[0]
        asked = chance.choice(ASKED[:-1] if group == rows.lines[row] else ASKED)
        question = asked.format(row=label.lower(), head=table.columns[at], group=group.lower())
        wanted = [(row, at)]
        made = cell_example(
            "statements", str(number), question,
            path=table.title, rows=rows, wanted=wanted, chance=chance,
        )  # fmt: skip
        yield from made
        if chance.random() < 0.35:  # a year or a line that the table lacks
            year = next(y for y in range(2001, 2060) if str(y) not in " ".join(table.columns))
            lacks = chance.choice([v for names in GROUPS.values() for v in names])
            if lacks.lower() in " ".join(rows.lines).lower():
                question = ASKED[0].format(row=label.lower(), head=year)
            else:
                question = ASKED[0].format(row=lacks.lower(), head=table.columns[at])
            text, _, _ = shown(rows, wanted, "", chance)
            yield Example("statements", str(number), question, table.title, text, "none")


def _statement(chance: random.Random) -> Table:
    first, step = chance.randrange(2004, 2023), chance.choice((1, -1))
    years = [first + step * n for n in range(chance.choice((2, 2, 3, 3, 5)))]
    form = chance.choice(("{}", "{}", "{}", "FY{}", "December 31, {}", "Fiscal {}"))
    columns = ("", *(form.format(year) for year in years))
    rows: list[tuple[str, ...]] = []
    for group in chance.sample(sorted(GROUPS), chance.choice((1, 2, 2, 3))):
        names = chance.sample(GROUPS[group], chance.randrange(2, len(GROUPS[group])))
        if chance.random() < 0.7:
            rows.append((f"{group}:", *("" for _ in years)))
        sign = chance.choice(("$ ", "", "", "$"))
        rows += [(name, *(_figure(name, sign, chance) for _ in years)) for name in names]
    scale = chance.choice(
        ("", "", " (in millions)", " (in thousands)", " (in millions, except shares)")
    )
    return Table(chance.choice(TITLES) + scale, columns, tuple(rows))


def _figure(name: str, sign: str, chance: random.Random) -> str:
    if name in ("Market share", "Load factor", "Capacity"):
        return f"{chance.uniform(2, 95):.1f}%"
    if "per" in name.split():
        return f"{sign}{chance.uniform(0.1, 60):.2f}"
    value = int(10 ** chance.uniform(1.3, 5.6))
    return f"{sign}({value:,})" if chance.random() < 0.12 else f"{sign}{value:,}"


SOURCES: Mapping[str, Callable[[Path, random.Random], Iterator[Example]]] = {
    "wikitables": wikitables,
    "fetaqa": fetaqa,
    "infotabs": infotabs,
    "statements": statements,
}

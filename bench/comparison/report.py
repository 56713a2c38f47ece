"""What a comparison says: tables for a terminal and for Markdown, and a page with plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pincite.measure.charts import Spot
from pincite.measure.report import render

Line = dict[str, Any]
FOOTER = (
    "Engines get the words that Pincite indexes: each chunk below its headings and introductions; "
    "“bare chunk” is what they find without these. "
    "Times are milliseconds of processor time, one thread for every engine, of each question the "
    "best round. Ready is the time to import, to index where an engine keeps its index in memory, "
    "and to give the first answer. Intervals are 95 %, over whole groups of questions."
)
BARE = "nDCG@10, bare chunk"
NO_PEERS, PEERS = "Speed and quality of Pincite", "Pincite beside other engines"


class Table(NamedTuple):
    title: str
    heads: list[str]
    rows: list[list[str]]
    notes: Sequence[str] = ()  # who could not be measured, and why


TITLES = {
    "words": "by words",
    "meaning": "by meaning",
    "hybrid": "by words and meaning",
    "re-ranked": "re-ranked, end to end",
    "pairs": "re-ranking alone, ten candidates",
}


def tables(lines: Sequence[Line]) -> list[Table]:
    """Return all tables of a comparison in the order of its jobs."""
    found = [_installs(lines)] if any(line["job"] == "install" for line in lines) else []
    for corpus in dict.fromkeys(line["corpus"] for line in lines if "corpus" in line):
        of_corpus = [line for line in lines if line.get("corpus") == corpus]
        for job in TITLES:
            if of_job := [line for line in of_corpus if line["job"] == job]:
                found.append(_job(corpus, job, of_job))
        if rates := [line for line in of_corpus if line["job"] == "encoding"]:
            heads = ["encoder", "texts per CPU second"]
            rows = [[each["engine"], _number(each, "texts_per_cpu_s", 1)] for each in rates]
            found.append(Table(f"{corpus}, encoding", heads, rows))
        found += [_profile(line) for line in of_corpus if line["job"] == "profile"]
    return found


def _profile(line: Line) -> Table:
    heads = ["function", "calls", "share of the time"]
    rows = [
        [each["function"], f"{each['calls']:,}", f"{100 * each['share']:.1f} %"]
        for each in line["functions"]
    ]
    return Table(f"{line['corpus']}, where the time of {line['engine']} goes", heads, rows)


def _job(corpus: str, job: str, lines: Sequence[Line]) -> Table:
    measures = list(next((line["quality"] for line in lines if "quality" in line), {}))
    heads = ["engine", *measures]
    has_bare = any("bare" in line for line in lines)
    heads += [BARE] if has_bare else []
    heads += ["nDCG@10 beside ours", "p50 ms", "p95 ms", "× ours"]
    heads += ["ready s", "disk MB", "peak MB"]
    first = next((line for line in lines if "cpu_p50_ms" in line), None)
    rows = [
        _row(line, measures, first, has_bare=has_bare)
        for line in lines
        if first and "missing" not in line
    ]
    some = first or lines[0]
    size = f"{some['chunks']} chunks, {some.get('questions', 0)} questions"
    return Table(f"{corpus}, {TITLES[job]} ({size})", heads, rows, _missing(lines))


def _missing(lines: Iterable[Line]) -> list[str]:
    return [f"{x['engine']} not measured: {x['missing']}" for x in lines if "missing" in x]


def _row(line: Line, measures: Sequence[str], first: Line, *, has_bare: bool) -> list[str]:
    cells = [line["engine"], *(f"{line['quality'][each]:.3f}" for each in measures)]
    if has_bare:
        cells.append(f"{line['bare']['nDCG@10']:.3f}" if "bare" in line else "")
    low, high = line["beside_first_intervals"]["nDCG@10"]
    change = f"{line['beside_first']['nDCG@10']:+.3f} [{low:+.3f}, {high:+.3f}]"
    cells.append("" if line is first else change)
    cells += [
        _number(line, key, 2 if line[key] >= 1 else 3) for key in ("cpu_p50_ms", "cpu_p95_ms")
    ]
    cells.append(f"{line['cpu_p50_ms'] / first['cpu_p50_ms']:.2f}")
    cells += [_number(line, "ready_cpu_s", 2), _number(line, "disk_mb", 1)]
    return [*cells, _number(line, "peak_mb", 0)]


def _installs(lines: Sequence[Line]) -> Table:
    heads = ["installed", "MB", "packages", "import, CPU s"]
    rows = [
        [
            line["engine"],
            _number(line, "install_mb", 0),
            _number(line, "packages", 0),
            _number(line, "import_cpu_s", 2),
        ]
        for line in lines
        if line["job"] == "install" and "missing" not in line
    ]
    missing = _missing(line for line in lines if line["job"] == "install")
    return Table("installing and importing", heads, rows, missing)


def _number(line: Line, key: str, digits: int) -> str:
    return f"{line[key]:,.{digits}f}" if key in line else "not measured"


def markdown(lines: Sequence[Line]) -> str:
    """Return the tables as Markdown."""
    return "\n".join(_markdown(table) for table in tables(lines))


def _markdown(table: Table) -> str:
    body = "".join(f"| {' | '.join(row)} |\n" for row in table.rows)
    head = f"| {' | '.join(table.heads)} |\n|{'---|' * len(table.heads)}\n"
    notes = "".join(f"\n{note}\n" for note in table.notes)
    return f"**{table.title}**\n\n{head}{body}{notes}"


def page(lines: Sequence[Line]) -> str:
    """Return the comparison as one page."""
    of = next((line for line in lines if line["job"] == "machine"), {})
    named = f"Pincite {of.get('pincite', '')}, {of.get('date', '')}, {of.get('processor', '')}"
    # Our own engines are called "pincite", with or without more words behind it.
    has_peers = any(not line.get("engine", "pincite").startswith("pincite") for line in lines)
    return render(
        "tables.html.j2",
        title=PEERS if has_peers else NO_PEERS,
        below=named,
        tables=tables(lines),
        spots=_spots(lines),
        measure="nDCG@10",
        footer=FOOTER,
    )


def _spots(lines: Sequence[Line]) -> dict[str, list[Spot]]:
    """Return quality and time of each engine for each table of a job."""
    found = {}
    for corpus in dict.fromkeys(line["corpus"] for line in lines if "corpus" in line):
        for job in TITLES:
            of_job = [x for x in lines if x.get("corpus") == corpus and x["job"] == job]
            spots: list[Spot] = [
                (
                    line["engine"],
                    line["cpu_p50_ms"],
                    line["cpu_p95_ms"],
                    line["quality"]["nDCG@10"],
                    *line["intervals"]["nDCG@10"],
                )
                for line in of_job
                if "quality" in line
            ]
            if spots:
                found[_job(corpus, job, of_job).title] = spots
    return found

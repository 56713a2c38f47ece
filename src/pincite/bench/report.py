"""What a comparison says: tables for a terminal and for Markdown, and a page with plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from pincite.evaluate.report import charts
from pincite.evaluate.report.page import whole_page

Line = dict[str, Any]
Table = tuple[str, list[str], list[list[str]]]  # title, heads, rows
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
            found.append((f"{corpus}, encoding", heads, rows))
        found += [_profile(line) for line in of_corpus if line["job"] == "profile"]
    return found


def _profile(line: Line) -> Table:
    heads = ["function", "calls", "share of the time"]
    rows = [
        [each["function"], f"{each['calls']:,}", f"{100 * each['share']:.1f} %"]
        for each in line["functions"]
    ]
    return f"{line['corpus']}, where the time of {line['engine']} goes", heads, rows


def _job(corpus: str, job: str, lines: Sequence[Line]) -> Table:
    measures = list(next((line["quality"] for line in lines if "quality" in line), {}))
    heads = ["engine", *measures, "nDCG@10 beside ours", "p50 ms", "p95 ms", "× ours"]
    heads += ["ready s", "disk MB", "peak MB"]
    first = next((line for line in lines if "cpu_p50_ms" in line), None)
    rows = [_row(line, measures, first, len(heads)) for line in lines]
    some = first or lines[0]
    size = f"{some['chunks']} chunks, {some.get('questions', 0)} questions"
    return f"{corpus}, {TITLES[job]} ({size})", heads, rows


def _row(line: Line, measures: Sequence[str], first: Line | None, width: int) -> list[str]:
    if "missing" in line or first is None:
        why = f"not measured: {line.get('missing', '')}"
        return [line["engine"], why, *[""] * (width - 2)]
    cells = [line["engine"], *(f"{line['quality'][each]:.3f}" for each in measures)]
    low, high = line["beside_first_intervals"]["nDCG@10"]
    change = f"{line['beside_first']['nDCG@10']:+.3f} [{low:+.3f}, {high:+.3f}]"
    cells.append("" if line is first else change)
    cells += [_number(line, "cpu_p50_ms", 2), _number(line, "cpu_p95_ms", 2)]
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
        if line["job"] == "install"
    ]
    return "installing and importing", heads, rows


def _number(line: Line, key: str, digits: int) -> str:
    return f"{line[key]:,.{digits}f}" if key in line else "not measured"


def markdown(lines: Sequence[Line]) -> str:
    """Return the tables as Markdown."""
    return "\n".join(_markdown(*table) for table in tables(lines))


def _markdown(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"**{title}**\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n{body}\n"


def page(lines: Sequence[Line]) -> str:
    """Return the comparison as one page."""
    of = next((line for line in lines if line["job"] == "machine"), {})
    named = f"Pincite {of.get('pincite', '')}, {of.get('date', '')}, {of.get('processor', '')}"
    parts = [f"<h1>Pincite beside other engines</h1><p class='soft'>{escape(named)}</p>"]
    plots = _plots(lines)
    for title, heads, rows in tables(lines):
        parts.append(f'<h2>{escape(title)}</h2><div class="card">{plots.get(title, "")}')
        head = "".join(f"<th>{escape(each)}</th>" for each in heads)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")
    footer = (
        "Times are milliseconds of processor time, one thread for every engine, of each question "
        "the best round. Ready is the time to import, to index where an engine keeps its index in "
        "memory, and to give the first answer. Intervals are 95 %, over whole groups of questions."
    )
    return whole_page("Pincite beside other engines", "".join(parts), footer)


def _plots(lines: Sequence[Line]) -> dict[str, str]:
    """Return quality over time for each table of a job."""
    found = {}
    for corpus in dict.fromkeys(line["corpus"] for line in lines if "corpus" in line):
        for job in TITLES:
            of_job = [x for x in lines if x.get("corpus") == corpus and x["job"] == job]
            spots = [
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
                keys = "".join(
                    f'<span class="key s{at % 8}">{escape(spot[0])}</span> '
                    for at, spot in enumerate(spots)
                )
                plot = charts.cost(spots, y_title="nDCG@10")
                found[_job(corpus, job, of_job)[0]] = f"<p>{keys}</p>{plot}"
    return found

"""The tables of a report."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from pincite.evaluate.report import charts


def keys(pipelines: Sequence[dict[str, Any]]) -> str:
    """Return which colour is which pipeline."""
    each = "".join(
        f"<span class='key s{at % 8}'>{escape(one['name'])}</span>"
        for at, one in enumerate(pipelines)
    )
    return f'<div class="keys">{each}</div>'


def says(values: dict[str, Any], headline: str) -> str:
    """Return in plain words what may be said of the main figure."""
    first = values["pipelines"][0]
    figure = first["figures"][headline]
    lines = [
        f"<b>{escape(first['name'])}</b> reaches {escape(headline)} <b>{figure['value']:.3f}</b> "
        f"[{figure['low']:.3f}, {figure['high']:.3f}]."
    ]
    for row in [*values["comparisons"], *values["baseline"]]:
        if row["measure"] != headline:
            continue
        low, high = row["interval"]
        if not row["wins"] and not row["losses"]:
            pair = f"<b>{escape(row['pipeline'])}</b> and {escape(row['to'])}"
            lines.append(f"{pair} get the same for every question.")
            continue
        what = (
            "does not differ significantly from"
            if row["verdict"] == "no significant difference"
            else f"is <span class='{row['verdict']}'>{row['verdict']}</span> than"
        )
        seen = ""
        if row["verdict"] == "no significant difference" and row["detectable"] is not None:
            seen = f" These questions would show a difference of {row['detectable']:.3f} or more."
        lines.append(
            f"<b>{escape(row['pipeline'])}</b> {what} {escape(row['to'])}: "
            f"{row['difference']:+.3f} [{low:+.3f}, {high:+.3f}], p = {row['adjusted_p']:.3f}; "
            f"{row['wins']} better, {row['losses']} worse.{seen}"
        )
    union = values["union"]
    if len(values["pipelines"]) > 1:
        lines.append(
            f"Together the pipelines find {union['any']} of {union['of']} among their first "
            f"{union['k']}; all of them find {union['all']}."
        )
    return '<ul class="says">' + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"


def figure_table(values: dict[str, Any]) -> str:
    """Return every measure of every pipeline with its interval and what changed."""
    changes = {(row["pipeline"], row["measure"]): row for row in values["comparisons"]}
    rows = []
    for measure in values["pipelines"][0]["figures"]:
        for at, each in enumerate(values["pipelines"]):
            figure = each["figures"][measure]
            drawn = charts.interval(figure["low"], figure["value"], figure["high"], at % 8)
            name = f"<b>{escape(measure)}</b>" if at == 0 else ""
            rows.append(
                f"<tr{' class=group' if at == 0 else ''}><td>{name}</td>"
                f"<td><span class='key s{at % 8}'>{escape(each['name'])}</span></td>"
                f"<td class='n value'>{figure['value']:.3f}</td>"
                f"<td>{drawn}</td>"
                f"<td class='n soft'>{figure['low']:.3f} – {figure['high']:.3f}</td>"
                f"<td class='n'>{_change(changes.get((each['name'], measure)))}</td>"
                f"<td class='n soft'>{figure['n']}</td></tr>"
            )
    return html_table(
        ("measure", "pipeline", "value", "", "95 %", "change from the first", "questions"),
        rows,
        numbers=(2, 4, 5, 6),
    )


def _change(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["verdict"] == "no significant difference":
        return f"<span class='soft'>{row['difference']:+.3f}</span>"
    mark = "▲" if row["verdict"] == "better" else "▼"
    return f"<span class='{row['verdict']}'>{row['difference']:+.3f} {mark}</span>"


def breakdown_tables(values: dict[str, Any]) -> str:
    """Return the figures by every label that the questions have."""
    first = values["pipelines"][0]["breakdowns"]
    if not first:
        return ""
    parts = []
    for label, slices in first.items():
        rows = []
        measure = next(iter(next(iter(slices.values()))))
        for value, figures in slices.items():
            for at, each in enumerate(values["pipelines"]):
                figure = each["breakdowns"][label][value][measure]
                drawn = charts.interval(figure["low"], figure["value"], figure["high"], at % 8)
                name = escape(value) if at == 0 else ""
                rows.append(
                    f"<tr{' class=group' if at == 0 else ''}><td>{name}</td>"
                    f"<td><span class='key s{at % 8}'>{escape(each['name'])}</span></td>"
                    f"<td class='n value'>{figure['value']:.3f}</td><td>{drawn}</td>"
                    f"<td class='n soft'>{figures[measure]['n'] if at == 0 else ''}</td></tr>"
                )
        table = html_table((label, "pipeline", measure, "", "questions"), rows, numbers=(2, 4))
        parts.append(f'<div class="card">{table}</div>')
    return f"<h2>By kind of question</h2>{''.join(parts)}"


def significance_table(values: dict[str, Any]) -> str:
    """Return every comparison with its test."""
    rows: list[str] = []
    last = ("", "")
    for row in [*values["comparisons"], *values["baseline"]]:
        low, high = row["interval"]
        found = "" if row["detectable"] is None else f"{row['detectable']:.3f}"
        verdict = row["verdict"]
        shown = verdict if verdict != "no significant difference" else "not significant"
        name = verdict if shown == verdict else "soft"
        pair = (row["pipeline"], row["to"])
        is_next, last = pair != last, pair
        rows.append(
            f"<tr{' class=group' if is_next else ''}><td>{escape(row['measure'])}</td>"
            f"<td>{escape(row['pipeline'])}</td><td>{escape(row['to'])}</td>"
            f"<td class='n'>{row['difference']:+.3f}</td>"
            f"<td class='n soft'>{low:+.3f} – {high:+.3f}</td><td class='n'>{row['p']:.4f}</td>"
            f"<td class='n'>{row['adjusted_p']:.4f}</td>"
            f"<td class='n'>{row['wins']} / {row['ties']} / {row['losses']}</td>"
            f"<td class='n'>{found}</td><td class='verdict {name}'>{escape(shown)}</td></tr>"
        )
    if not rows:
        return ""
    head = ("measure", "pipeline", "beside", "change", "95 %", "p", "p (Holm)")
    table = html_table(
        (*head, "better / same / worse", "would be seen", "verdict"), rows, numbers=range(3, 9)
    )
    return (
        "<h2>Is it chance?</h2><p class='soft'>Paired, question by question. “Would be seen” is "
        "the true difference that a set like this one shows in 80 % of cases.</p>"
        f'<div class="card">{table}</div>'
    )


def beside_table(values: dict[str, Any]) -> str:
    """Return figures that are not to be quoted: softer targets, and easier questions only."""
    rows = []
    for at, each in enumerate(values["pipelines"]):
        for measure, figure in each["figures"].items():
            near = each["expanded"].get(measure)
            only = each["if_evaluable"][measure]
            if near is None and (only is None or values["evaluability"] == 1.0):
                continue
            rows.append(
                f"<tr><td><span class='key s{at % 8}'>{escape(each['name'])}</span></td>"
                f"<td>{escape(measure)}</td><td class='n value'>{figure['value']:.3f}</td>"
                f"<td class='n soft'>{_number(only)}</td>"
                f"<td class='n soft'>{_number(near)}</td></tr>"
            )
    table = html_table(
        (
            "pipeline",
            "measure",
            "all questions",
            "only those the index can answer",
            "expanded gold",
        ),
        rows,
        numbers=(2, 3, 4),
    )
    share = values["evaluability"]
    return (
        f"<h2>Beside the figures</h2><p class='soft'>The index can answer {100 * share:.0f} % of "
        "the questions that count. Figures over those alone rise when a pipeline or an index makes "
        "questions impossible; “expanded gold” also counts neighbours of the gold in the graph. "
        "Neither is a result.</p>"
        f'<div class="card">{table}</div>{_times(values)}'
    )


def _times(values: dict[str, Any]) -> str:
    rows = []
    for at, each in enumerate(values["pipelines"]):
        for stage, spent in each["seconds"].items():
            rows.append(
                f"<tr><td><span class='key s{at % 8}'>{escape(each['name'])}</span></td>"
                f"<td>{escape(stage)}</td><td class='n'>{1000 * spent['p50']:.1f}</td>"
                f"<td class='n'>{1000 * spent['p95']:.1f}</td></tr>"
            )
    table = html_table(("pipeline", "stage", "ms p50", "ms p95"), rows, numbers=(2, 3))
    return f"<h2>Time of each stage</h2><div class='card'>{table}</div>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def html_table(heads: Sequence[str], rows: Sequence[str], *, numbers: Sequence[int]) -> str:
    cells = "".join(
        f"<th{' class=n' if at in numbers else ''}>{escape(head)}</th>"
        for at, head in enumerate(heads)
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

"""The report of an exam as one page."""

from __future__ import annotations

from html import escape
from typing import Any

from pincite.evaluate.report import charts
from pincite.evaluate.report.page import whole_page
from pincite.evaluate.report.sections import table_of

QUOTE_CHARS = 300


def page(values: dict[str, Any], program: str) -> str:
    """Return the page of an exam; every text of questions and documents is escaped."""
    body = "".join([_head(values), _says(values), _figures(values), _outcomes(values)])
    footer = (
        f"Made by Pincite {program}. Intervals are 95 %, from 2,000 bootstrap samples of whole "
        "groups: questions that share a section or their words. p values are from paired "
        "randomisation."
    )
    return whole_page(f"Exam: {values['exam']}", body + _questions(values), footer)


def _head(values: dict[str, Any]) -> str:
    apart = values["unanswerable"]
    marked = (
        f" {apart['by_key']} have no answer by the key, and of these it abstained in "
        f"{apart['abstained']}."
        if apart["by_key"]
        else ""
    )
    missing = (
        f" {apart['place_missing']} cite a place that the documents do not have; they count, and "
        "are marked."
        if apart["place_missing"]
        else ""
    )
    return (
        f"<header><div><h1>{escape(values['exam'])}</h1><div class='meta'>{values['counted']} of "
        f"{values['questions']} questions count, in {values['groups']} groups.{marked}{missing} "
        f"Chooser: {escape(values['chooser'])}.</div></div></header>"
    )


def _says(values: dict[str, Any]) -> str:
    figure = values["figures"].get("accuracy")
    if figure is None:
        return "<p>No question has a key to compare with.</p>"
    lines = [
        f"<b>{100 * figure['value']:.1f} %</b> of the choices are right "
        f"[{100 * figure['low']:.1f}, {100 * figure['high']:.1f}]."
    ]
    for row in values["comparisons"]:
        low, high = (100 * each for each in row["interval"])
        lines.append(
            f"Against {escape(row['to'])}: {100 * row['difference']:+.1f} points "
            f"[{low:+.1f}, {high:+.1f}], p = {row['p']:.4f}."
        )
    return '<ul class="says">' + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"


def _figures(values: dict[str, Any]) -> str:
    rows = [
        f"<tr><td>{escape(name)}</td><td class='n value'>{each['value']:.3f}</td>"
        f"<td>{charts.interval(each['low'], each['value'], each['high'], 0)}</td>"
        f"<td class='n soft'>{each['low']:.3f} – {each['high']:.3f}</td>"
        f"<td class='n soft'>{each['n']}</td></tr>"
        for name, each in values["figures"].items()
    ]
    drawn = table_of(("figure", "value", "", "95 %", "questions"), rows, numbers=(1, 3, 4))
    return f'<h2>Figures</h2><div class="card">{drawn}</div>'


def _outcomes(values: dict[str, Any]) -> str:
    total = values["counted"]
    rows = [
        f"<tr><td>{escape(name)}</td><td class='n value'>{count}</td>"
        f"<td class='n soft'>{100 * count / max(1, total):.1f} %</td></tr>"
        for name, count in values["outcomes"].items()
    ]
    drawn = table_of(("outcome", "questions", "share"), rows, numbers=(1, 2))
    return (
        "<h2>What came of it</h2><p class='soft'>Evidence counts as found if one of the chunks "
        "that the chooser reads lies in a place of the key, or holds it. A choice below a "
        f"probability of {values['guess_below']} is called a guess.</p>"
        f'<div class="card">{drawn}</div>'
    )


def _questions(values: dict[str, Any]) -> str:
    rows = [
        f"<tr><td>{escape(row['id'])}</td><td class='text'>{escape(row['question'])}"
        f"<br><span class='soft'>{_quote(row)}</span></td>"
        f"<td class='n'>{_rank(row, 'rank')}</td><td class='n'>{_rank(row, 'rank_with_options')}"
        f"</td><td>{escape(row['gold'])}</td><td>{escape(row['chosen'] or '–')}</td>"
        f"<td>{escape(row['right'] or '–')}</td><td>{_outcome(row)}</td></tr>"
        for row in values["rows"]
    ]
    heads = ("id", "question", "rank", "rank with options", "gold", "chosen", "right", "outcome")
    drawn = table_of(heads, rows, numbers=(2, 3))
    return f'<h2>Question by question</h2><div class="card">{drawn}</div>'


def _rank(row: dict[str, Any], name: str) -> str:
    if row["unanswerable"] or not row["gold"]:
        return "n/a"
    return f"#{row[name]}" if row[name] else "MISS"


def _outcome(row: dict[str, Any]) -> str:
    kind = "better" if row["outcome"].startswith("right") else "worse"
    note = row["unanswerable"] or row["reason"]
    after = f"<br><span class='soft'>{escape(note)}</span>" if note else ""
    return f"<span class='{kind}'>{escape(row['outcome'])}</span>{after}"


def _quote(row: dict[str, Any]) -> str:
    if not row["place"]:
        return ""
    quote = row["quote"] or ""
    cut = "…" if len(quote) > QUOTE_CHARS else ""
    return escape(f"{row['answer'] or 'no choice'} — {row['place']}: {quote[:QUOTE_CHARS]}{cut}")

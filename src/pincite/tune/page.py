"""A tuning as one page, in the frame of the evaluation's report; every text is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

from pincite.evaluate.report import charts
from pincite.evaluate.report.page import whole_page
from pincite.evaluate.report.sections import keys, table_of

SHOWN_TRIALS = 300


def page(values: dict[str, Any]) -> str:
    """Return the page of a tuning's summary."""
    footer = (
        f"Made by Pincite {escape(values['program'])}. Intervals are 95 %, from 2,000 bootstrap "
        "samples of whole groups; p values are from paired randomisation of whole groups. "
        "“Tuned” is the procedure: each question is answered with what was chosen without its fold."
    )
    body = "".join(
        [
            _head(values),
            _warnings(values),
            _says(values),
            _figures(values),
            f'<div class="pair"><div>{_cost(values)}</div><div>{_ablations(values)}</div></div>',
            _folds(values),
            _hold_out(values),
            _tried(values),
        ]
    )
    return whole_page(f"Tuning: {values['questions']['name']}", body, footer)


def _head(values: dict[str, Any]) -> str:
    asked, folds = values["questions"], values["folds"]
    return (
        f"<header><div><h1>Tuning on {escape(asked['name'])}</h1><div class='meta'>"
        f"{asked['counted']} questions that have an answer ({escape(asked['hash'])}), "
        f"{values['trials']} settings tried; {folds['count']} folds over {folds['groups']} groups "
        f"by {folds['by']}, the largest with {folds['largest']} questions; "
        f"{escape(values['made'])}.</div></div></header>"
    )


def _warnings(values: dict[str, Any]) -> str:
    found = [note[:1].upper() + note[1:] for note in values["notes"]]
    if values["hold_out"].get("warning"):
        found.append(values["hold_out"]["warning"])
    return "".join(f'<div class="banner">{escape(each)}</div>' for each in found)


def _says(values: dict[str, Any]) -> str:
    tuned, gain = values["pipelines"][0], values["gain"]
    default = values["pipelines"][1]
    low, high = gain["interval"]
    lines = [
        f"On folds that the choice had not seen, tuning reaches {escape(values['measure'])} "
        f"<b>{tuned['value']:.3f}</b>; the default <b>{default['value']:.3f}</b>.",
        f"That is {gain['difference']:+.3f} [{low:+.3f}, {high:+.3f}], p = {gain['p']:.3f}: "
        f"<b class='{gain['verdict'] if gain['verdict'] in ('better', 'worse') else 'soft'}'>"
        f"{escape(gain['verdict'])}</b>; {gain['wins']} better, {gain['losses']} worse.",
    ]
    if values["verdict"] == "better":
        lines.append(f"Written down: <b>{escape(values['kept'])}</b>.")
    else:
        lines.append(
            "So the default is kept. What would have been chosen: "
            f"{escape(values['choice']['settings'])}."
        )
        if gain["detectable"] is not None:
            lines.append(
                f"These questions would show a difference of {gain['detectable']:.3f} or more."
            )
    return '<ul class="says">' + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"


def _figures(values: dict[str, Any]) -> str:
    rows = []
    for at, each in enumerate(values["pipelines"]):
        gains = each.get("tuned_gains")
        cost = each["cost"]
        drawn = charts.interval(each["low"], each["value"], each["high"], at % 8)
        change, verdict = "", ""
        if gains:
            low, high = gains["interval"]
            change = f"{gains['difference']:+.3f} [{low:+.3f}, {high:+.3f}]"
            verdict = f"{gains['adjusted_p']:.3f} {escape(gains['verdict'])}"
        rows.append(
            f"<tr><td><span class='key s{at % 8}'>{escape(each['name'])}</span></td>"
            f"<td class='n value'>{each['value']:.3f}</td><td>{drawn}</td>"
            f"<td class='n soft'>{each['low']:.3f} – {each['high']:.3f}</td>"
            f"<td class='n'>{change}</td><td class='n soft'>{verdict}</td>"
            f"<td class='n'>{cost['p50']:.1f}</td><td class='n'>{cost['p95']:.1f}</td></tr>"
        )
    heads = ("pipeline", values["measure"], "", "95 %", "tuned gains over it", "p (Holm)")
    table = table_of((*heads, "ms p50", "ms p95"), rows, numbers=(1, 3, 4, 5, 6, 7))
    n = values["pipelines"][0]["cost"]["n"]
    return (
        "<h2>Tuned beside every fixed pipeline</h2><p class='soft'>On the same questions, tuned "
        f"always by a choice made without them. Times are of whole searches, {n} questions, one "
        "after the other; those of “tuned” are of the choice from all questions.</p>"
        f'<div class="card">{table}</div>'
    )


def _cost(values: dict[str, Any]) -> str:
    spots = [
        (e["name"], e["cost"]["p50"], e["cost"]["p95"], e["value"], e["low"], e["high"])
        for e in values["pipelines"]
    ]
    return (
        f"<h2>{escape(values['measure'])} and its time</h2>"
        f'<div class="card">{keys(values["pipelines"])}'
        f"{charts.cost(spots, y_title=values['measure'])}</div>"
    )


def _folds(values: dict[str, Any]) -> str:
    names = list(values["by_fold"][0]["fixed"])
    rows = []
    for each in values["by_fold"]:
        fixed = "".join(f"<td class='n'>{each['fixed'][name]:.3f}</td>" for name in names)
        rows.append(
            f"<tr><td class='n'>{each['fold']}</td><td class='n'>{each['questions']}</td>"
            f"<td class='n value'>{each['tuned']:.3f}</td>{fixed}"
            f"<td class='soft'>{escape(each['choice'])}</td></tr>"
        )
    heads = ("fold", "questions", "tuned", *names, "chosen without this fold")
    table = table_of(heads, rows, numbers=range(len(names) + 3))
    return f"<h2>Fold by fold</h2><div class='card'>{table}</div>"


def _ablations(values: dict[str, Any]) -> str:
    if not values["ablations"]:
        return ""
    rows = []
    for each in values["ablations"]:
        low, high = each["interval"]
        rows.append(
            f"<tr><td>{escape(each['change'])}</td><td class='n'>{each['difference']:+.3f}</td>"
            f"<td class='n soft'>{low:+.3f} – {high:+.3f}</td><td class='n'>{each['ms']:+.1f}</td>"
            "</tr>"
        )
    table = table_of(("change", "buys", "95 %", "ms"), rows, numbers=(1, 2, 3))
    return (
        "<h2>What each change of the choice buys</h2><p class='soft'>The choice beside itself with "
        "this change undone, on the questions it was chosen on: rather too good. Milliseconds are "
        f"of the median search.</p><div class='card'>{table}</div>"
    )


def _hold_out(values: dict[str, Any]) -> str:
    found = values["hold_out"]
    if not found:
        return ""
    low, high = found["interval"]
    return (
        f"<h2>Hold-out</h2><p>{found['default']['n']} questions kept apart, looked at "
        f"{found['peeks']} times: default <b>{found['default']['value']:.3f}</b>, what is written "
        f"down <b>{found['kept']['value']:.3f}</b>; {found['difference']:+.3f} "
        f"[{low:+.3f}, {high:+.3f}], p = {found['p']:.3f}: {escape(found['verdict'])}.</p>"
    )


def _tried(values: dict[str, Any]) -> str:
    rows = [
        f"<tr><td class='n value'>{each['mean']:.3f}</td><td class='n'>{each['change']:+.3f}</td>"
        f"<td class='n'>{each['parts']}</td><td class='soft'>{escape(each['settings'])}</td></tr>"
        for each in values["tried"][:SHOWN_TRIALS]
    ]
    table = table_of(("mean", "change", "parts", "settings"), rows, numbers=(0, 1, 2))
    untried = "".join(
        f"<li>{escape(name)}: {escape(why)}</li>" for name, why in values["untried"].items()
    )
    return (
        f"<h2>What was tried</h2><p class='soft'>All questions, the best first: these means are "
        "what the choice was made by, and the first ones owe something to luck.</p>"
        f"<details><summary>{values['trials']} settings</summary><div class='card'>{table}</div>"
        "</details>" + (f"<p>Not tried:</p><ul>{untried}</ul>" if untried else "")
    )

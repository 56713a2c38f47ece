"""A report as one page: markup, styles and script in one file that asks nobody for anything.

Questions and documents are untrusted: every text is escaped, the table's data are JSON that the
script puts in as text, and the page's own policy allows no script but ours and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from pincite.evaluate.report import charts
from pincite.evaluate.report.sections import (
    beside_table,
    breakdown_tables,
    figure_table,
    keys,
    says,
    significance_table,
)
from pincite.evaluate.runs import Run

TOP_HITS = 5


def page(runs: Sequence[tuple[Run, dict[str, Any]]]) -> str:
    """Return the page of some runs with their summaries."""
    title = "Evaluation: " + ", ".join(run.questions for run, _ in runs)
    body = "".join(_section(run, values) for run, values in runs)
    footer = (
        f"Made by Pincite {runs[0][0].program}. Intervals are 95 %, from 2,000 bootstrap samples "
        "of whole groups; p values are from paired randomisation, adjusted by Holm. Every "
        "question that has an answer counts; one without hits counts 0."
    )
    return whole_page(title, body, footer)


def whole_page(title: str, body: str, footer: str) -> str:
    """Return a page around markup; title and footer are plain words."""
    style, script = _text("page.css"), _text("page.js")
    policy = (
        f"default-src 'none'; style-src 'sha256-{_digest(style)}'; "
        f"script-src 'sha256-{_digest(script)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
        f"<style>{style}</style></head><body>"
        f'<button id="theme" type="button">light / dark</button><main>{body}'
        f"<footer>{escape(footer)}</footer>"
        f"</main><script>{script}</script></body></html>\n"
    )


def _section(run: Run, values: dict[str, Any]) -> str:
    pipelines = values["pipelines"]
    asked = values["questions"]
    made = (
        '<div class="banner">These questions were made from the documents themselves. They show '
        "whether places are found at all, not what people ask.</div>"
        if asked["is_synthetic"]
        else ""
    )
    if not asked["counted"]:
        return f"{_head(values)}{made}<p>No question has an answer to look for.</p>"
    headline = _headline(values)
    spots = [
        (
            each["name"],
            1000 * each["seconds"]["search"]["p50"],
            1000 * each["seconds"]["search"]["p95"],
            each["figures"][headline]["value"],
            each["figures"][headline]["low"],
            each["figures"][headline]["high"],
        )
        for each in pipelines
    ]
    curves = {each["name"]: each["recall_curve"] for each in pipelines}
    return "".join(
        [
            _head(values),
            made,
            says(values, headline),
            "<h2>Figures</h2><p class='soft'>The dot is the mean over all questions that count, "
            "the bar its 95 % interval, the axis goes from 0 to 1. A change is marked only where "
            "it is significant.</p>",
            f'<div class="card">{figure_table(values)}</div>',
            '<div class="pair"><div><h2>Recall by rank</h2><div class="card">',
            keys(pipelines),
            charts.lines(curves, x_title="hits looked at", y_title="share of what is needed"),
            f"</div></div><div><h2>{escape(headline)} and its time</h2>",
            f'<div class="card">{keys(pipelines)}{charts.cost(spots, y_title=headline)}</div>',
            "</div></div>",
            _losses(run, values),
            breakdown_tables(values),
            significance_table(values),
            beside_table(values),
            _questions(run, values),
        ]
    )


def _head(values: dict[str, Any]) -> str:
    asked, index = values["questions"], values["index"]
    states = {k: v for k, v in asked["states"].items() if k != "judged"}
    apart = "".join(f", {count} {escape(state)}" for state, count in states.items())
    return (
        f"<header><div><h1>{escape(asked['name'])}</h1><div class='meta'>"
        f"{asked['counted']} of {asked['asked']} questions count{apart}. Judgements version "
        f"{asked['version']} ({escape(asked['hash'])}); index generation {index['generation']} "
        f"with {index['documents']:,} documents and {index['chunks']:,} chunks; run of "
        f"{escape(values['made'])}.</div></div></header>"
    )


def _headline(values: dict[str, Any]) -> str:
    figures = list(values["pipelines"][0]["figures"])
    return str(next((name for name in figures if name.startswith("nDCG")), figures[0]))


def _losses(run: Run, values: dict[str, Any]) -> str:
    cards = []
    for series, each in enumerate(values["pipelines"]):
        lost = each["losses"]
        found = values["questions"]["counted"] - sum(lost.values())
        drawn = charts.waterfall(list(lost.items()), values["questions"]["counted"], found, series)
        name = f"<h3><span class='key s{series % 8}'>{escape(each['name'])}</span></h3>"
        cards.append(f'<div class="card">{name}{drawn}</div>')
    return (
        f"<h2>Where answers are lost</h2><p class='soft'>From all questions down to those with an "
        f"answer among the first {run.k}. “First stage”: nobody proposed it; “fusion”: one of "
        "several retrievers had it among the first, together they have not; “order”: a candidate "
        "that no stage put among the first; other names are stages that had it and lost it.</p>"
        f'<div class="pair">{"".join(cards)}</div>'
    )


def _questions(run: Run, values: dict[str, Any]) -> str:
    names = [part.name for part in run.parts]
    labels = sorted({f"{k}={v}" for asked in run.asked for k, v in asked.labels.items()})
    heads = "".join(
        f'<th><button type="button" data-key="{key}">{escape(text)}</button></th>'
        for key, text in [
            ("id", "id"),
            ("text", "question"),
            ("gold", "gold"),
            *((f"p{at}", name) for at, name in enumerate(names)),
            *([("change", "2nd beside 1st")] if len(names) > 1 else []),
        ]
    )
    choose = "".join(f'<option value="{escape(each)}">{escape(each)}</option>' for each in labels)
    data = {"pipelines": names, "k": run.k, "rows": [_row(run, at) for at in range(len(run.asked))]}
    options = (
        ("all", "all questions"),
        ("missed", f"missed in the first {run.k}"),
        ("better", "2nd pipeline better than 1st"),
        ("worse", "2nd pipeline worse than 1st"),
        ("unanswerable", "unanswerable"),
    )
    kept = "".join(f'<option value="{value}">{escape(text)}</option>' for value, text in options)
    by_label = (
        '<select class="label" aria-label="label"><option value="">any label</option>'
        f"{choose}</select>"
        if labels
        else ""
    )
    return (
        '<section class="questions"><h2>Question by question</h2><p class="soft">The rank of the '
        "first hit that answers: after the first stage → in the end. MISS: not among the hits. A "
        "click on a line shows what was found instead.</p>"
        '<div class="tools"><input type="search" placeholder="words of question or gold" '
        f'aria-label="filter"><select class="keep" aria-label="which">{kept}</select>{by_label}'
        '<span class="count soft"></span></div><div class="card"><table><thead><tr>'
        f"{heads}</tr></thead><tbody></tbody></table>"
        '<button type="button" class="show-more" hidden>show more</button></div>'
        f'<script type="application/json">{_embedded(data)}</script></section>'
    )


def _row(run: Run, at: int) -> dict[str, Any]:
    asked = run.asked[at]
    answers = []
    for part in run.parts:
        answer = part.answers[at]
        first = next(iter(answer.ranks.values()), None)
        hits = [
            (f"{hit.locator} · {hit.document}", bool(hit.meets)) for hit in answer.hits[:TOP_HITS]
        ]
        answers.append(
            {
                "first": first,
                "last": answer.rank,
                "stages": len(answer.ranks),
                "lost": answer.lost,
                "hits": hits,
            }
        )
    return {
        "id": asked.id,
        "text": asked.text,
        "state": asked.state,
        "gold": list(asked.gold),
        "labels": dict(asked.labels),
        "answers": answers,
    }


def _embedded(data: Any) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _text(name: str) -> str:
    return files("pincite.evaluate.report").joinpath(name).read_text(encoding="utf-8")

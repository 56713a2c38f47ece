"""Write measures.json: what ir_measures (trec_eval inside) and ranx say about made runs.

Run it by hand, in an environment of its own:
pip install ir_measures ranx && python tests/reference/make_measures.py
"""

from __future__ import annotations

import json
import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

NAMES = {
    "nDCG": "nDCG",
    "nDCG@3": "nDCG@3",
    "nDCG@10": "nDCG@10",
    "Recall@1": "R@1",
    "Recall@10": "R@10",
    "P@5": "P@5",
    "P@10": "P@10",
    "RR": "RR",
    "RR@10": "RR@10",
    "hit@5": "Success@5",
    "AP": "AP",
    "AP@10": "AP@10",
    "Judged@10": "Judged@10",
}
RANX = {"nDCG(exp)@10": "ndcg_burges@10", "nDCG@10": "ndcg@10", "Recall@10": "recall@10"}
DOCUMENTS = [f"d{number}" for number in range(40)]


def cases() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return grades and scores of 1,000 questions: ties, grades from -1 to 3, empty rankings."""
    chance = random.Random(5)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for number in range(1000):
        name = f"q{number}"
        judged = chance.sample(DOCUMENTS, chance.choice([1, 2, 5, 12, 30]))
        grades = [chance.choice([-1, 0, 1, 1, 2, 3]) for _ in judged]
        qrels[name] = dict(zip(judged, grades, strict=True))
        found = chance.sample(DOCUMENTS, chance.choice([0, 1, 4, 12, 40]))
        steps = 4 if number % 2 else 10**6  # every second question has many ties
        if found:  # a question without hits is not in the run at all
            run[name] = {document: chance.randrange(steps) / 8 for document in found}
    return qrels, run


def has_ties(scores: dict[str, float]) -> bool:
    return len(set(scores.values())) < len(scores)


def main() -> None:
    import ir_measures
    from ranx import Qrels, Run, evaluate

    qrels, run = cases()
    values: dict[str, dict[str, float]] = {name: {} for name in qrels}
    ours = {str(ir_measures.parse_measure(theirs)): name for name, theirs in NAMES.items()}
    wanted = [ir_measures.parse_measure(theirs) for theirs in NAMES.values()]
    for result in ir_measures.iter_calc(wanted, qrels, run):
        values[result.query_id][ours[str(result.measure)]] = round(result.value, 11)
    # ranx says nothing about ties, needs every question in both, and grades above 0.
    plain = [q for q in qrels if q in run and not has_ties(run[q]) and max(qrels[q].values()) > 0]
    positive = {q: {d: g for d, g in qrels[q].items() if g > 0} for q in plain}
    made = Qrels(positive), Run({q: run[q] for q in plain})
    ranx: dict[str, dict[str, float]] = {}
    for name, theirs in RANX.items():
        found = evaluate(*made, theirs, return_mean=False)
        ranx[name] = {q: round(float(v), 11) for q, v in zip(made[0].keys(), found, strict=True)}
    packages = ("ir_measures", "pytrec_eval-terrier", "ranx")
    content: dict[str, Any] = {
        "versions": {name: version(name) for name in packages},
        "measures": list(NAMES),
        "trec_eval": {q: [each.get(name, 0.0) for name in NAMES] for q, each in values.items()},
        "ranx": ranx,
    }
    text = json.dumps(content, separators=(",", ":")).replace('"q', '\n"q')
    Path(__file__).with_name("measures.json").write_text(text + "\n")


if __name__ == "__main__":
    main()

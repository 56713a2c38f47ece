"""Write measures.json: what ir_measures (trec_eval inside) says about made rankings.

Run it by hand: pip install ir_measures && python tests/reference/make_measures.py
"""

from __future__ import annotations

import json
import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

PLACES = "abcdefghijklmnopqrst"


def cases() -> list[dict[str, Any]]:
    """Return rankings of one-letter places with the letters that answer; some find nothing."""
    chance = random.Random(5)
    drawn = []
    for _ in range(40):
        found = chance.sample(PLACES, chance.choice([1, 4, 12, 20]))
        gold = chance.sample(PLACES, chance.choice([1, 1, 2, 5, 12]))
        drawn.append({"found": "".join(found), "gold": "".join(sorted(gold))})
    return drawn


def main() -> None:
    import ir_measures
    from ir_measures import RR, R, Success, nDCG

    names = {
        **{f"ndcg@{k}": nDCG @ k for k in (3, 10)},
        **{f"recall@{k}": R @ k for k in (1, 5, 10)},
        **{f"hit@{k}": Success @ k for k in (1, 5)},
        "mrr": RR,
    }
    made = cases()
    gold = {str(i): dict.fromkeys(case["gold"], 1) for i, case in enumerate(made)}
    run = {
        str(i): {place: 100.0 - rank for rank, place in enumerate(case["found"])}
        for i, case in enumerate(made)
    }
    by_measure = {measure: name for name, measure in names.items()}
    for result in ir_measures.iter_calc(list(names.values()), gold, run):
        values = made[int(result.query_id)].setdefault("values", {})
        values[by_measure[result.measure]] = round(result.value, 12)
    packages = ("ir_measures", "pytrec_eval-terrier")
    content = {"versions": {name: version(name) for name in packages}, "cases": made}
    Path(__file__).with_name("measures.json").write_text(json.dumps(content) + "\n")


if __name__ == "__main__":
    main()

"""Tables of reproductions on narrow screens: names are folded, numbers are never cut."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from experiments.table_printing import _part


def test_no_number_is_cut() -> None:
    row = {
        "pipeline": "published + graph (recommended)",
        "MRR": 0.443,
        "hit@1": 0.372,
        "MRR change": -0.017,
        "95 %": "-0.017 – -0.002",
        "p (Holm)": 0.012,
        "expanded gold": 0.004,
    }
    to = StringIO()
    Console(file=to, width=72).print(_part([row], list(row), 1))
    told = to.getvalue()
    assert "…" not in told
    for number in ("0.443", "0.372", "-0.017 – -0.002", "0.012", "0.004"):
        assert number in told

"""Tables of reproductions on narrow screens: names are folded, numbers are never cut."""

from __future__ import annotations

from experiments.table_printing import _part


def test_names_and_heads_take_several_lines_and_numbers_stay_whole() -> None:
    row = {
        "pipeline": "published + graph (recommended)",
        "MRR": 0.443,
        "95 %": "-0.017 – -0.002",
        "p (Holm)": 0.012,
    }
    assert _part([row], list(row), 1) == [
        ["", "", "95", "p"],
        ["pipeline", "MRR", "%", "(Holm)"],
        ["published + graph", "", "", ""],
        ["(recommended)", "0.443", "-0.017 – -0.002", "0.012"],
    ]

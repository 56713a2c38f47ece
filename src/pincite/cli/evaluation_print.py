"""A run's summary in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pincite.cli.options import out

if TYPE_CHECKING:
    from rich.table import Table

_VERDICTS = {
    "better": "better ▲",
    "worse": "worse ▼",
    "no significant difference": "not significant",
}


def print_summary(values: dict[str, Any]) -> None:
    """Print the head, the figures, what they lose and how long they take."""
    _print_head(values)
    out.print(_figures(values))
    if values["comparisons"] or values["baseline"]:
        _print_differences([*values["comparisons"], *values["baseline"]])
    out.print()
    out.print(_losses(values))
    union = values["union"]
    if len(values["pipelines"]) > 1 and union:
        out.print(
            f"together they find {union['any']} of {union['of']} among their first {union['k']}; "
            + ", ".join(f"{n} only by {name}" for name, n in union["only"].items()),
            markup=False,
            soft_wrap=True,
        )


def _print_head(values: dict[str, Any]) -> None:
    asked, index = values["questions"], values["index"]
    made = "made from the documents, judged by nobody; " if asked["is_synthetic"] else ""
    states = asked["states"]
    apart = [f"{states[state]} {state}" for state in states if state != "judged" and states[state]]
    out.print(
        f"{asked['name']} (version {asked['version']}, {asked['hash']}): {made}"
        f"{asked['counted']} questions count" + "".join(f", {each}" for each in apart),
        markup=False,
        soft_wrap=True,
        style="bold",
    )
    out.print(
        f"index generation {index['generation']}: {index['documents']} documents, "
        f"{index['chunks']} chunks; {100 * (values['evaluability'] or 0):.0f} % evaluable",
        style="dim",
        markup=False,
        soft_wrap=True,
    )


def _columns(*titles: str, left: int = 1) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for at, title in enumerate(titles):
        table.add_column(
            title, justify="left" if at < left else "right", no_wrap=at > 0, overflow="fold"
        )
    return table


def _figures(values: dict[str, Any]) -> Table:
    """Return a line for each measure and pipeline, with the times at the end."""
    names = [each["name"] for each in values["pipelines"]]
    table = _columns("measure", "pipeline", "value", "95 %", "n", left=2)
    figures = [each["figures"] for each in values["pipelines"]]
    for measure in figures[0]:
        for at, name in enumerate(names):
            each = figures[at][measure]
            interval = f"{each['low']:.3f} – {each['high']:.3f}"
            shown = measure if at == 0 else ""
            table.add_row(shown, name, f"{each['value']:.3f}", interval, str(each["n"]))
    for at, each in enumerate(values["pipelines"]):
        spent = each["seconds"].get("search", {"p50": 0.0, "p95": 0.0})
        table.add_row(
            "ms p50 – p95" if at == 0 else "",
            each["name"],
            f"{1000 * spent['p50']:.1f}",
            f"– {1000 * spent['p95']:.1f}",
            str(values["questions"]["asked"]),
        )
    return table


def _print_differences(rows: list[dict[str, Any]]) -> None:
    """Print a table for every two that are compared."""
    pairs = dict.fromkeys((row["pipeline"], row["to"]) for row in rows)
    for pipeline, other in pairs:
        out.print(f"\n{pipeline} beside {other}", markup=False, soft_wrap=True)
        table = _columns("measure", "change", "95 %", "p (Holm)", "+/=/−", "verdict")
        for row in rows:
            if (row["pipeline"], row["to"]) != (pipeline, other):
                continue
            low, high = row["interval"]
            table.add_row(
                row["measure"],
                f"{row['difference']:+.3f}",
                f"{low:+.3f} – {high:+.3f}",
                f"{row['adjusted_p']:.3f}",
                f"{row['wins']}/{row['ties']}/{row['losses']}",
                _VERDICTS[row["verdict"]],
            )
        out.print(table)


def _losses(values: dict[str, Any]) -> Table:
    pipelines = values["pipelines"]
    table = _columns(f"lost at (first {values['k']})", *(each["name"] for each in pipelines))
    causes = list(dict.fromkeys(cause for each in pipelines for cause in each["losses"]))
    for cause in causes:
        table.add_row(cause, *(str(each["losses"].get(cause, 0)) for each in pipelines))
    return table

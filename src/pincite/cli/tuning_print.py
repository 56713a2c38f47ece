"""A tuning's summary in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pincite.cli.options import err, out

if TYPE_CHECKING:
    from rich.table import Table


def print_tuning(values: dict[str, Any]) -> None:
    """Print tuned beside every fixed pipeline, the folds, and what changes buy."""
    _print_head(values)
    out.print(_pipelines(values))
    out.print()
    out.print(_gains(values))
    out.print()
    out.print(_folds(values))
    if values["ablations"]:
        out.print("\nwhat each change of the choice buys, on the questions it was chosen on")
        out.print(_ablations(values))
    if values["hold_out"]:
        _print_hold_out(values["hold_out"])
    _print_verdict(values)


def _line(text: str, style: str = "") -> None:
    out.print(text, markup=False, soft_wrap=True, style=style)


def _print_head(values: dict[str, Any]) -> None:
    asked, folds = values["questions"], values["folds"]
    _line(
        f"{asked['name']} ({asked['hash']}): {asked['counted']} questions, {values['trials']} "
        f"trials, {values['measure']}",
        "bold",
    )
    _line(
        f"{folds['count']} folds over {folds['groups']} groups by {folds['by']}, the largest with "
        f"{folds['largest']} questions",
        "dim",
    )
    for note in values["notes"]:
        _line(note, "yellow")
    for name, why in values["untried"].items():
        _line(f"not tried: {name} ({why})", "dim")


def _columns(*titles: str, left: int = 1) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for at, title in enumerate(titles):
        table.add_column(
            title, justify="left" if at < left else "right", no_wrap=at > 0, overflow="fold"
        )
    return table


def _pipelines(values: dict[str, Any]) -> Table:
    table = _columns("held out", values["measure"], "95 %", "ms p50", "p95")
    for each in values["pipelines"]:
        cost = each["cost"]
        table.add_row(
            each["name"],
            f"{each['value']:.3f}",
            f"{each['low']:.3f} – {each['high']:.3f}",
            f"{cost['p50']:.1f}",
            f"{cost['p95']:.1f}",
        )
    return table


def _gains(values: dict[str, Any]) -> Table:
    table = _columns("tuned gains over", "", "95 %", "p (Holm)", "+/=/−", "verdict")
    for each in values["pipelines"][1:]:
        gains = each["tuned_gains"]
        low, high = gains["interval"]
        verdict = gains["verdict"]
        table.add_row(
            each["name"],
            f"{gains['difference']:+.3f}",
            f"{low:+.3f} – {high:+.3f}",
            f"{gains['adjusted_p']:.3f}",
            f"{gains['wins']}/{gains['ties']}/{gains['losses']}",
            "not significant" if verdict == "no significant difference" else verdict,
        )
    return table


def _folds(values: dict[str, Any]) -> Table:
    table = _columns("fold", "n", "tuned", "default", "chosen without it", left=0)
    table.columns[-1].justify = "left"
    table.columns[-1].no_wrap = False
    for each in values["by_fold"]:
        table.add_row(
            str(each["fold"]),
            str(each["questions"]),
            f"{each['tuned']:.3f}",
            f"{each['fixed']['default']:.3f}",
            each["choice"],
        )
    return table


def _ablations(values: dict[str, Any]) -> Table:
    table = _columns("change", "buys", "95 %", "ms")
    for each in values["ablations"]:
        low, high = each["interval"]
        table.add_row(
            each["change"],
            f"{each['difference']:+.3f}",
            f"{low:+.3f} – {high:+.3f}",
            f"{each['ms']:+.1f}",
        )
    return table


def _print_hold_out(found: dict[str, Any]) -> None:
    low, high = found["interval"]
    _line(
        f"\nhold-out, {found['default']['n']} questions, look {found['peeks']}: default "
        f"{found['default']['value']:.3f}, written down {found['kept']['value']:.3f}; "
        f"{found['difference']:+.3f} [{low:+.3f}, {high:+.3f}], p {found['p']:.3f}: "
        f"{found['verdict']}"
    )
    if found["warning"]:
        err.print(f"warning: {found['warning']}", style="yellow", markup=False, soft_wrap=True)


def _print_verdict(values: dict[str, Any]) -> None:
    gain = values["gain"]
    low, high = gain["interval"]
    _line(
        f"\ntuned beside default: {gain['difference']:+.3f} [{low:+.3f}, {high:+.3f}], p "
        f"{gain['p']:.3f}: {gain['verdict']}",
        "bold",
    )
    if values["verdict"] == "better":
        _line(f"written down: {values['kept']}")
    else:
        _line(f"the default is kept; the choice would have been: {values['choice']['settings']}")

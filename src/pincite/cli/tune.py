"""pincite tune: settings chosen on your own questions, with figures on questions not seen."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from pincite import __version__
from pincite.cli.options import PATH, Call, argument, command, option
from pincite.cli.terminal import Bar, print_json, print_table, say, tell
from pincite.model.errors import ConfigError


@command("tune", index=False)
@argument(
    "sources",
    nargs=-1,
    required=True,
    type=PATH,
    help="An index, or files and folders of documents.",
)
@argument("questions", type=PATH, help="A file of judgements (.jsonl or .toml).")
@option("--measure", default="nDCG@10", help="What is to become better.")
@option("--folds", type=click.IntRange(2, 20), default=5, help="Parts to leave out.")
@option("--chunking", is_flag=True, help="Also try other chunks and terms: an index for each.")
@option("--skip", multiple=True, help="Do not try this, e.g. 'cross-encoder'.")
@option(
    "--budget-ms",
    type=click.IntRange(min=0),
    default=0,
    help="Choose nothing whose 95th percentile is above this.",
)
@option(
    "--passes", type=click.IntRange(1, 5), default=1, help="How often everything is gone through."
)
@option("--hold-out", type=PATH, help="Questions asked once at the end; every look is counted.")
@option(
    "--out",
    "-o",
    "folder",
    type=PATH,
    default=Path("pincite-tune"),
    help="Folder for settings, report and state.",
)
@option("--restart", is_flag=True, help="Forget what an earlier run has worked out.")
def tune(
    call: Call,
    sources: tuple[Path, ...],
    questions: Path,
    hold_out: Path | None,
    folder: Path,
    restart: bool,
    **wishes: Any,
) -> None:
    """Choose settings by nested cross-validation; Ctrl-C is safe, the same command goes on."""
    from pincite.measure.harness import clock
    from pincite.measure.questions import load
    from pincite.measure.tune.report import looked_at, write
    from pincite.measure.tune.session import Sources, about, apart, check, run, state_file
    from pincite.measure.tune.space import State

    wish, asked = _wish(**wishes), load(questions)
    check(asked, wish)
    kept_apart = load(hold_out) if hold_out is not None else None
    if kept_apart is not None:
        apart(asked.questions, kept_apart.questions)
    _make(folder, restart=restart)
    with ExitStack() as stack:
        opened = Sources(list(sources), folder, call.settings, _silent if call.as_json else _tell)
        stack.callback(opened.close)
        state = stack.enter_context(State(state_file(folder), about(asked, opened, wish)))
        session = run(opened, asked, wish, state, stack.enter_context(_Trials()))
        if hold_out is not None and kept_apart is not None:
            session = looked_at(session, hold_out, kept_apart, clock())
        values = write(session, folder, __version__, clock())
    if call.as_json:
        print_json({**values, "folder": str(folder)})
        return
    _print_tuning(values)
    say(f"\nsettings: {folder / 'pincite.toml'}")
    say(f"report:   {folder / 'report.html'}")


def _wish(
    *, measure: str, folds: int, chunking: bool, skip: tuple[str, ...], budget_ms: int, passes: int
) -> Any:
    from pincite.measure.grades import parse
    from pincite.measure.tune.session import Wish

    return Wish(parse(measure), folds, skip, chunking, float(budget_ms), passes)


def _make(folder: Path, *, restart: bool) -> None:
    """Make the folder, without the state of an earlier run if that is wanted."""
    from pincite.measure.tune.session import state_file

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if restart:
            state_file(folder).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot use {folder}: {error}", hint="choose --out") from error


def _tell(text: str) -> None:
    tell(text, style="dim")


def _silent(_: str) -> None:
    """Say nothing: programs listen."""


class _Trials:
    """Draws how many trials were made, and how far the present ones are."""

    def __init__(self) -> None:
        self.trials = self.done = 0
        self._bar = Bar("getting ready", None)

    def __enter__(self) -> _Trials:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.clear()

    def begin(self, trials: int, questions: int) -> None:
        self.trials, self.done = self.trials + trials, 0
        self._bar = Bar(f"{self.trials} trials, {trials} at once", questions)
        if not self._bar.is_drawn and self.trials // 50 > (self.trials - trials) // 50:
            tell(f"{self.trials} trials")

    def asked(self, trials: int) -> None:
        self.done += 1
        self._bar.update(self.done)


def _print_tuning(values: dict[str, Any]) -> None:
    """Print tuned beside every fixed pipeline, the folds, and what changes buy."""
    _print_head(values)
    print_table(_pipelines(values))
    say()
    print_table(_gains(values))
    say()
    print_table(_folds(values), left=[4])
    if values["ablations"]:
        say("\nwhat each change of the choice buys, on the questions it was chosen on")
        print_table(_ablations(values))
    if values["hold_out"]:
        _print_hold_out(values["hold_out"])
    _print_verdict(values)


def _print_head(values: dict[str, Any]) -> None:
    asked, folds = values["questions"], values["folds"]
    say(
        f"{asked['name']} ({asked['hash']}): {asked['counted']} questions, {values['trials']} "
        f"trials, {values['measure']}",
        style="bold",
    )
    say(
        f"{folds['count']} folds over {folds['groups']} groups by {folds['by']}, the largest with "
        f"{folds['largest']} questions",
        style="dim",
    )
    for note in values["notes"]:
        say(note, style="yellow")
    for name, why in values["untried"].items():
        say(f"not tried: {name} ({why})", style="dim")


def _pipelines(values: dict[str, Any]) -> list[list[str]]:
    rows = [["held out", values["measure"], "95 %", "ms p50", "p95"]]
    for each in values["pipelines"]:
        cost = each["cost"]
        rows.append(
            [
                each["name"],
                f"{each['value']:.3f}",
                f"{each['low']:.3f} – {each['high']:.3f}",
                f"{cost['p50']:.1f}",
                f"{cost['p95']:.1f}",
            ]
        )
    return rows


def _gains(values: dict[str, Any]) -> list[list[str]]:
    rows = [["tuned gains over", "", "95 %", "p (Holm)", "+/=/−", "verdict"]]
    for each in values["pipelines"][1:]:
        gains = each["tuned_gains"]
        low, high = gains["interval"]
        verdict = gains["verdict"]
        rows.append(
            [
                each["name"],
                f"{gains['difference']:+.3f}",
                f"{low:+.3f} – {high:+.3f}",
                f"{gains['adjusted_p']:.3f}",
                f"{gains['wins']}/{gains['ties']}/{gains['losses']}",
                "not significant" if verdict == "no significant difference" else verdict,
            ]
        )
    return rows


def _folds(values: dict[str, Any]) -> list[list[str]]:
    rows = [["fold", "n", "tuned", "default", "chosen without it"]]
    for each in values["by_fold"]:
        rows.append(
            [
                str(each["fold"]),
                str(each["questions"]),
                f"{each['tuned']:.3f}",
                f"{each['fixed']['default']:.3f}",
                each["choice"],
            ]
        )
    return rows


def _ablations(values: dict[str, Any]) -> list[list[str]]:
    rows = [["change", "buys", "95 %", "ms"]]
    for each in values["ablations"]:
        low, high = each["interval"]
        rows.append(
            [
                each["change"],
                f"{each['difference']:+.3f}",
                f"{low:+.3f} – {high:+.3f}",
                f"{each['ms']:+.1f}",
            ]
        )
    return rows


def _print_hold_out(found: dict[str, Any]) -> None:
    low, high = found["interval"]
    say(
        f"\nhold-out, {found['default']['n']} questions, look {found['peeks']}: default "
        f"{found['default']['value']:.3f}, written down {found['kept']['value']:.3f}; "
        f"{found['difference']:+.3f} [{low:+.3f}, {high:+.3f}], p {found['p']:.3f}: "
        f"{found['verdict']}"
    )
    if found["warning"]:
        tell(f"warning: {found['warning']}", style="yellow")


def _print_verdict(values: dict[str, Any]) -> None:
    gain = values["gain"]
    low, high = gain["interval"]
    say(
        f"\ntuned beside default: {gain['difference']:+.3f} [{low:+.3f}, {high:+.3f}], p "
        f"{gain['p']:.3f}: {gain['verdict']}",
        style="bold",
    )
    if values["verdict"] == "better":
        say(f"written down: {values['kept']}")
    else:
        say(f"the default is kept; the choice would have been: {values['choice']['settings']}")

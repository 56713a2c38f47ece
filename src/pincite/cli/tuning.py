"""pincite tune: settings chosen on your own questions, with figures on questions not seen."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite import __version__
from pincite.cli.options import (
    ConfigOption,
    JsonOption,
    SetOption,
    err,
    out,
    print_json,
    settings_from,
    told,
)
from pincite.core.errors import ConfigError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DEFAULT_FOLDER = Path("pincite-tune")


def tune(
    sources: Annotated[
        list[Path], typer.Argument(help="An index, or files and folders of documents.")
    ],
    questions: Annotated[Path, typer.Argument(help="A file of judgements (.jsonl or .toml).")],
    measure: Annotated[
        str, typer.Option("--measure", help="What is to become better.")
    ] = "nDCG@10",
    folds: Annotated[int, typer.Option("--folds", min=2, max=20, help="Parts to leave out.")] = 5,
    chunking: Annotated[
        bool,
        typer.Option("--chunking", help="Also try other chunks and terms: an index for each."),
    ] = False,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", help="Do not try this, e.g. 'cross-encoder'.")
    ] = None,
    budget_ms: Annotated[
        int,
        typer.Option(
            "--budget-ms", min=0, help="Choose nothing whose 95th percentile is above this."
        ),
    ] = 0,
    passes: Annotated[
        int, typer.Option("--passes", min=1, max=5, help="How often everything is gone through.")
    ] = 1,
    hold_out: Annotated[
        Path | None,
        typer.Option("--hold-out", help="Questions asked once at the end; every look is counted."),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for settings, report and state.")
    ] = DEFAULT_FOLDER,
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget what an earlier run has worked out.")
    ] = False,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose settings by nested cross-validation; Ctrl-C is safe, the same command goes on."""
    with told(as_json=as_json), ExitStack() as stack:
        from pincite.cluster import connected
        from pincite.evaluate.harness import clock
        from pincite.evaluate.judgements.files import load
        from pincite.evaluate.measures import parse
        from pincite.tune.files import write
        from pincite.tune.holdout import apart
        from pincite.tune.holdout_figures import looked_at
        from pincite.tune.session import Wish, about, check, run, state_file
        from pincite.tune.sources import Sources
        from pincite.tune.state import State

        wish = Wish(parse(measure), folds, tuple(skip or ()), chunking, float(budget_ms), passes)
        asked = load(questions)
        check(asked, wish)
        kept_apart = load(hold_out) if hold_out is not None else None
        if kept_apart is not None:
            apart(asked.questions, kept_apart.questions)
        _make(folder, restart=restart)
        tell = _silent if as_json else _tell
        settings = settings_from(config, sets)
        stack.enter_context(connected(settings.cluster))  # once, for all that follows
        opened = Sources(sources, folder, settings, tell)
        try:
            with State(state_file(folder), about(asked, opened, wish)) as state, _Bar() as bar:
                session = run(opened, asked, wish, state, bar)
                if hold_out is not None and kept_apart is not None:
                    session = looked_at(session, hold_out, kept_apart, clock())
                values = write(session, folder, __version__, clock())
        finally:
            opened.close()
    if as_json:
        print_json({**values, "folder": str(folder)})
        return
    from pincite.cli.tuning_print import print_tuning

    print_tuning(values)
    out.print(f"\nsettings: {folder / 'pincite.toml'}", markup=False, soft_wrap=True)
    out.print(f"report:   {folder / 'report.html'}", markup=False, soft_wrap=True)


def _make(folder: Path, *, restart: bool) -> None:
    """Make the folder, without the state of an earlier run if that is wanted."""
    from pincite.tune.session import state_file

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if restart:
            state_file(folder).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot use {folder}: {error}", hint="choose --out") from error


def _tell(text: str) -> None:
    err.print(text, style="dim", markup=False, soft_wrap=True)


def _silent(_: str) -> None:
    """Say nothing: programs listen."""


class _Bar:
    """Draws how many trials were made, how far the present ones are, and the time."""

    def __init__(self) -> None:
        self.trials = 0
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> _Bar:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns: tuple[Any, ...] = (
            TextColumn("{task.fields[trials]} trials"),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
        )
        self._progress = Progress(
            *columns, console=err, transient=True, disable=not err.is_terminal
        )
        self._progress.start()
        self._task = self._progress.add_task("getting ready", total=None, trials=0)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._progress is not None
        self._progress.stop()

    def begin(self, trials: int, questions: int) -> None:
        assert self._progress is not None and self._task is not None
        self.trials += trials
        self._progress.reset(
            self._task,
            start=False,
            total=questions,
            trials=self.trials,
            description=f"{trials} at once, {questions} questions",
        )
        if not err.is_terminal and self.trials // 50 > (self.trials - trials) // 50:
            err.print(f"{self.trials} trials", soft_wrap=True)

    def asked(self, trials: int) -> None:
        assert self._progress is not None and self._task is not None
        self._progress.advance(self._task)

"""What all commands share: one definition of each option, settings, and how errors are told."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from pincite.cli.terminal import print_json, tell
from pincite.model.errors import ConfigError, PinciteError, StoreError

if TYPE_CHECKING:
    from pincite.model.settings import Settings
    from pincite.model.types import Filters
    from pincite.store.snapshot import Snapshot

DEFAULT_INDEX = "pincite-index"
VARIABLE = "PINCITE_INDEX"
PARTIAL = 3  # exit code: some documents are not in, the rest is
_URL = "store.url"
COMPLETED = 50  # places that a shell offers
PATH = click.Path(path_type=Path)
argument = click.argument
option = click.option


@dataclass(frozen=True)
class Call:
    """What a command was told beside its own arguments: which index, settings, and how to print."""

    given: str  # of --index; empty if there was none
    config: Path | None
    sets: tuple[str, ...]
    as_json: bool
    is_full: bool = False  # JSON with everything, not only what most programs need

    @cached_property
    def index(self) -> str:
        """Where the index is: a folder, or the URL of its server."""
        return self.given or location_from(self.config, self.sets)

    @cached_property
    def settings(self) -> Settings:
        """The settings of this call: file, environment, then --set."""
        return settings_from(self.config, self.sets)

    @property
    def reading(self) -> Settings:
        """Settings that say how to reach the index, for commands that need no others."""
        from pincite.model.settings import Settings

        return Settings(store=self.settings.store)

    def folder(self, command: str) -> Path:
        """Return the folder of the index; ConfigError if a command cannot use one in a server."""
        from pincite.model.errors import is_server, redact_url

        if is_server(self.index):
            raise ConfigError(
                f"pincite {command} needs an index in a folder",
                hint=f"make a copy of it: pincite copy {redact_url(self.index)} FOLDER",
            )
        return Path(self.index)


def command(
    name: str, *, index: bool = True, settings: bool = True, as_json: bool = True
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a function a command with the options that all have; it returns its exit code or None.

    What it raises is told in plain words. The options that it does without are left out.
    """
    wanted = {"index": index, "config": settings, "sets": settings, "as_json": as_json}

    def make(function: Callable[..., int | None]) -> click.Command:
        @wraps(function)
        def run(**values: Any) -> None:
            call = Call(
                values.pop("index", None) or "",
                values.pop("config", None),
                values.pop("sets", ()),
                values.pop("as_json", False),
                click.get_current_context().meta.get(_FULL, False),
            )
            with report_errors(call, is_index=index):
                code = function(call, **values)
            if code:
                raise click.exceptions.Exit(code)

        made = click.command(name, cls=JsonCommand)(run)
        made.params += [make_option() for key, make_option in _SHARED.items() if wanted[key]]
        return made

    return make


_FULL = "pincite.json_full"


class JsonCommand(click.Command):
    """A command whose flag ``--json`` may also be written ``--json=full``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = args[: args.index("--")] if "--" in args else args
        if "--json=full" in own:
            ctx.meta[_FULL] = True
            at = own.index("--json=full")
            args = [*args[:at], "--json", *args[at + 1 :]]
        return super().parse_args(ctx, args)


def _index_option() -> click.Option:
    # A text, for a path would make one slash of the two in a URL.
    help_text = "Folder of the index, or the URL of its server."
    return click.Option(
        ["--index", "-i"],
        metavar="FOLDER|URL",
        help=help_text,
        envvar=None,
        show_default=f"{VARIABLE}, store.url, or {DEFAULT_INDEX}",
    )


_SHARED: dict[str, Callable[[], click.Option]] = {
    "index": _index_option,
    "config": lambda: click.Option(
        ["--config"], type=PATH, help="Settings file; ./pincite.toml if it is there."
    ),
    "sets": lambda: click.Option(
        ["--set", "sets"], multiple=True, help="One setting, e.g. --set search.k=5."
    ),
    "as_json": lambda: click.Option(
        ["--json", "as_json"],
        is_flag=True,
        help="Print JSON for programs; =full: all of it.",
    ),
}
_FILTERS: dict[str, tuple[tuple[str, ...], bool, str]] = {  # flags, several times, help
    "documents": (("--document", "-d"), True, "Only these documents: an id, or 'manuals/*'."),
    "as_of": (("--as-of",), False, "Only editions in force then: 2022-06-30, or 2022."),
    "kinds": (("--kind",), True, "Only such places: table, exception, spell, …"),
    "tags": (("--tag",), True, "Only places with this tag."),
    "traits": (("--trait",), True, "Only places with this trait."),
    "pages": (("--pages",), False, "Only these pages: 3-10, or 7."),
    "path": (("--path",), True, "Only below a heading with these words."),
    "audience": (
        ("--audience",),
        False,
        "Leave out what is written for others only: player, gm.",
    ),
    "access": (
        ("--access",),
        True,
        "Only what one with these access tags may see; '' for none.",
    ),
}


def documents_from(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Return the documents whose ids begin so, for a shell that completes them."""
    with _snapshot_for(context) as snapshot:
        names = snapshot.documents() if snapshot else []
    return [name for name in names if name.startswith(begun)]


def places_from(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Return places whose names begin so, for a shell that completes them."""
    with _snapshot_for(context) as snapshot:
        return snapshot.locators_from(begun, COMPLETED) if snapshot else []


@contextmanager
def _snapshot_for(context: click.Context) -> Iterator[Snapshot | None]:
    """Give the index of a command that is being typed; None if it cannot be read at once."""
    from pincite.model.errors import is_server
    from pincite.store.snapshot import Snapshot

    given = {name: context.params.get(name) for name in ("index", "config", "sets")}
    try:
        call = Call(given["index"] or "", given["config"], given["sets"] or (), False)
        snapshot = None if is_server(call.index) else Snapshot.open(Path(call.index))
    except PinciteError:
        snapshot = None
    yield snapshot
    if snapshot:
        snapshot.close()


def filter_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options that keep it to a part of the index, as ``filters``."""
    wanted = names or tuple(_FILTERS)

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(call: Call, **values: Any) -> Any:
            found = filters_from(**{name: values.pop(name) for name in wanted})
            return function(call, filters=found, **values)

        for name in reversed(wanted):
            flags, is_many, help_text = _FILTERS[name]
            default = None if is_many else ""
            known = documents_from if name == "documents" else None
            run = option(
                *flags,
                name,
                multiple=is_many,
                default=default,
                help=help_text,
                shell_complete=known,
            )(run)
        return run

    return make


document_option = option(
    "--document", "-d", help="Only in this document.", shell_complete=documents_from
)
as_of_option = option(
    "--as-of", help="In force on this day: 2022-07-15, or 2022 for its 1 January."
)
pipeline_option = option(
    "--pipeline",
    multiple=True,
    help="Name of a pipeline, or a settings file; several are compared to the first.",
)


def filters_from(
    *, pages: str = "", access: tuple[str, ...] = (), **values: str | tuple[str, ...]
) -> Filters:
    """Return the filters of this call."""
    from pincite.model.types import Filters

    # Options that were not given are an empty tuple; for access, no tag is a meaning of its own.
    seen = tuple(tag for tag in access if tag) if access else None
    return Filters(pages=_pages(pages), access=seen, **values)  # type: ignore[arg-type]


def _pages(text: str) -> tuple[int, ...]:
    """Return the first and the last page of "3-10" or "7"."""
    if not text:
        return ()
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?", text)
    if match is None:
        raise ConfigError(f"--pages {text}: no range", hint="write --pages 3-10 or --pages 7")
    return int(match[1]), int(match[2] or match[1])


def set_filters(filters: Filters) -> dict[str, Any]:
    """Return the filters that are set, as plain values."""
    from dataclasses import asdict

    unset = asdict(type(filters)())
    return {name: value for name, value in asdict(filters).items() if value != unset[name]}


def parse_day(text: str | None) -> date | None:
    """Return the day that --as-of names; ConfigError if it names none."""
    from pincite.model.editions import parse_date

    day = parse_date(text) if text is not None else None
    if text is not None and day is None:
        raise ConfigError(f"--as-of {text}: no date", hint="write --as-of 2022 or 2022-07-15")
    return day


def settings_from(config: Path | None, overrides: tuple[str, ...] | list[str]) -> Settings:
    """Return the settings of this call: file, environment, then --set."""
    from pincite.model.settings import load_settings

    default = Path("pincite.toml")
    file = config if config is not None else (default if default.is_file() else None)
    return load_settings(file, os.environ, overrides)


def location_from(config: Path | None, overrides: tuple[str, ...] | list[str]) -> str:
    """Return where the index is that no --index names.

    It is what --set store.url says, then PINCITE_INDEX, then store.url of the environment, then of
    the file, then the usual folder.
    """
    is_set = any(each.partition("=")[0].strip() == _URL for each in overrides)
    named = os.environ.get(VARIABLE, "")
    if named and not is_set:
        return named
    return settings_from(config, overrides).store.url or DEFAULT_INDEX


def pipelines_from(names: tuple[str, ...] | list[str], call: Call) -> dict[str, Settings]:
    """Return the settings of each pipeline, which is a preset's name or a file of settings."""
    if len(names) < 2:
        settings = _pipeline(names[0] if names else "", call)
        return {settings.search.preset: settings}
    labels = [Path(name).stem if name.endswith(".toml") else name for name in names]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise ConfigError(f"two pipelines are called {twice[0]!r}", hint="rename one of the files")
    return {label: _pipeline(name, call) for label, name in zip(labels, names, strict=True)}


def _pipeline(name: str, call: Call) -> Settings:
    if name.endswith(".toml"):
        return settings_from(Path(name), call.sets)
    named = [f"search.preset={name}"] if name else []
    return settings_from(call.config, [*named, *call.sets])


def write_text(file: Path, text: str) -> None:
    """Write a file; SourceError if that cannot be."""
    from pincite.model.errors import SourceError, reason_of

    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"cannot write {file}: {reason_of(error)}", hint="choose another file"
        ) from error


def fail(error: PinciteError, *, as_json: bool) -> NoReturn:
    """Tell an error in plain words and leave with its exit code."""
    if as_json:
        kind = type(error).__name__
        print_json({"error": {"kind": kind, "message": error.message, "hint": error.hint}})
    else:
        tell(("error: ", "bold red"), error.message)
        if error.hint:
            tell(("hint:  ", "bold"), error.hint)
    raise click.exceptions.Exit(error.exit_code)


@contextmanager
def report_errors(call: Call, *, is_index: bool = True) -> Iterator[None]:
    """Tell our own errors around a command's work, and what else a damaged index leads to."""
    try:
        yield
    except PinciteError as error:
        fail(error, as_json=call.as_json)
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except Exception:
        # A search is not worth reading every checksum; an error that nobody expected is.
        problems = _damage(call.index) if is_index else []
        if not problems:
            raise
        broken = StoreError(f"the index is damaged: {problems[0]}", hint="run: pincite doctor")
        fail(broken, as_json=call.as_json)


def _damage(index: str) -> list[str]:
    from pincite.model.errors import is_server
    from pincite.store.manifest import damage

    return [] if is_server(index) else damage(Path(index))

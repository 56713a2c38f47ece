"""What all commands share: options, settings, output, and how errors are told."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.text import Text

from pincite.cli.terminal import SafeConsole, json_line
from pincite.core.editions import parse_date
from pincite.core.errors import ConfigError, PinciteError, StoreError
from pincite.core.locations import is_server, redact_url
from pincite.core.settings import Settings, load_settings

DEFAULT_INDEX = "pincite-index"
VARIABLE = "PINCITE_INDEX"
_URL = "store.url"


def _located(context: typer.Context, value: str) -> str:
    """Return where the index is, if no option says it: see :func:`location_from`."""
    source = context.get_parameter_source("index")
    is_option = source is not None and source.name == "COMMANDLINE"
    if context.resilient_parsing or is_option:
        return value
    known = context.params  # what is eager was read before
    with told(as_json=bool(known.get("as_json"))):
        return location_from(known.get("config"), known.get("sets"))


# A text, for a path would make one slash of the two in a URL.
IndexOption = Annotated[
    str,
    typer.Option(
        "--index",
        "-i",
        envvar=VARIABLE,
        callback=_located,
        metavar="FOLDER|URL",
        help="Folder of the index, or the URL of its server.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.", is_eager=True)]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="Settings file; ./pincite.toml if it is there.", is_eager=True),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="One setting, e.g. --set search.k=5.", is_eager=True),
]
DocumentOption = Annotated[
    str | None, typer.Option("--document", "-d", help="Only in this document.")
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", help="In force on this day: 2022-07-15, or 2022 for its 1 January."),
]

out = SafeConsole(highlight=False, soft_wrap=False)
err = SafeConsole(stderr=True, highlight=False)


def settings_from(config: Path | None, overrides: list[str] | None) -> Settings:
    """Return the settings of this call: file, environment, then --set."""
    default = Path("pincite.toml")
    file = config if config is not None else (default if default.is_file() else None)
    return load_settings(file, os.environ, overrides or ())


def location_from(config: Path | None, overrides: list[str] | None) -> str:
    """Return where the index is that no --index names.

    It is what --set store.url says, then PINCITE_INDEX, then store.url of the environment, then of
    the file, then the usual folder.
    """
    is_set = any(each.partition("=")[0].strip() == _URL for each in overrides or ())
    named = os.environ.get(VARIABLE, "")
    if named and not is_set:
        return named
    return settings_from(config, overrides).store.url or DEFAULT_INDEX


def store_alone() -> Settings:
    """Return settings that say how to reach the index, for commands that need no others."""
    return Settings(store=settings_from(None, None).store)


def folder_of(index: str, command: str) -> Path:
    """Return the folder of an index; ConfigError if a command cannot use one in a server."""
    if is_server(index):
        raise ConfigError(
            f"pincite {command} needs an index in a folder",
            hint=f"make a copy of it: pincite copy {redact_url(index)} FOLDER",
        )
    return Path(index)


def parse_day(text: str | None) -> date | None:
    """Return the day that --as-of names; ConfigError if it names none."""
    day = parse_date(text) if text is not None else None
    if text is not None and day is None:
        raise ConfigError(f"--as-of {text}: no date", hint="write --as-of 2022 or 2022-07-15")
    return day


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "chunk"), counted(2000, "chunk"), counted(0, "entry", "entries")
    ('1 chunk', '2,000 chunks', '0 entries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def print_json(value: Any) -> None:
    """Print one JSON value on standard output."""
    sys.stdout.write(json_line(value) + "\n")


def fail(error: PinciteError, *, as_json: bool) -> NoReturn:
    """Tell an error in plain words and leave with its exit code."""
    if as_json:
        kind = type(error).__name__
        print_json({"error": {"kind": kind, "message": error.message, "hint": error.hint}})
    else:
        err.print(Text.assemble(("error: ", "bold red"), error.message), soft_wrap=True)
        if error.hint:
            err.print(Text.assemble(("hint:  ", "bold"), error.hint), soft_wrap=True)
    raise typer.Exit(error.exit_code)


@contextmanager
def told(*, as_json: bool, index: str | Path | None = None) -> Iterator[None]:
    """Tell our own errors around a command's work, and what else a damaged index leads to."""
    from pincite.store.manifest import damage

    try:
        yield
    except PinciteError as error:
        fail(error, as_json=as_json)
    except Exception:
        # A search is not worth reading every checksum; an error that nobody expected is.
        is_folder = index is not None and not is_server(index)
        problems = damage(Path(index)) if index is not None and is_folder else []
        if not problems:
            raise
        broken = StoreError(f"the index is damaged: {problems[0]}", hint="run: pincite doctor")
        fail(broken, as_json=as_json)

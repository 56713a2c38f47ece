"""Write the references, the man page and the completions from the program; `make docs` runs it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click

from pincite import __version__
from pincite.cli.completion import script
from pincite.cli.main import app
from pincite.model.errors import PinciteError
from pincite.model.settings import Settings

HERE = Path(__file__).parent
FAILED = (
    "`replay` found something else, `eval` something worse than its baseline; or an error "
    "that nobody foresaw"
)
_FIELD = re.compile(r"((?:    #[^\n]*\n)*)    (\w+): ([^=\n]+) = ([^\n]+)\n")


def cli_page() -> str:
    """Return the reference of all commands: what `--help` says, independent of its layout."""
    parts = ["# Commands\n\nMade from the program by `make docs`; `--help` says the same.\n"]
    for name, command in _commands(app):
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        options = [each for each in command.params if each.param_type_name == "option"]
        usage = " ".join(["pincite", name, *(_usage(each) for each in arguments), "[OPTIONS]"])
        parts.append(f"## pincite {name}\n\n{inspect.cleandoc(command.help)}\n\n    {usage}\n")
        parts += [f"- `{_usage(each)}`: {each.help}" for each in arguments]
        parts += [f"- `{', '.join(each.opts)}`: {each.help}{_more(each)}" for each in options]
        parts.append("")
    parts.append(f"## Exit codes\n\n- 0: done\n- 1: {FAILED}")
    kinds = {kind.exit_code: kind for kind in _errors(PinciteError)}
    parts += [f"- {code}: {_first_line(kinds[code])}" for code in sorted(kinds) if code > 1]
    parts.append("\n`ingest` also ends with 3 if some files were rejected and the rest is in.")
    return "\n".join(parts) + "\n"


def _commands(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its whole name; those of a group stand behind its name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def _errors(kind: type[PinciteError]) -> list[type[PinciteError]]:
    below = [each for sub in kind.__subclasses__() for each in _errors(sub)]
    return [*below, kind]


def _first_line(kind: type[PinciteError]) -> str:
    return (kind.__doc__ or "").splitlines()[0]


def _usage(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _more(option: Any) -> str:
    words = option.show_default if isinstance(option.show_default, str) else ""
    default = words or option.to_info_dict()["default"]
    default = f" Default: `{default}`." if default not in (None, False, "") else ""
    return default + (f" Environment: `{option.envvar}`." if option.envvar else "")


def settings_page() -> str:
    """Return the reference of all settings, made from the comments beside their defaults."""
    parts = [
        "# Settings\n\nMade from `model/settings.py` and `model/tuning.py` by `make docs`. Put "
        "what you change into\n`pincite.toml`, the environment (`PINCITE_SEARCH__K=5`) or "
        "`--set search.k=5`; later ones win.\n\nWhat is below `tuning` carries no promise: "
        "[`pincite tune`](tune.md) chooses it, and any version may change it.\nA name of an "
        "earlier version is an error that tells the new one.\n"
    ]
    for name, section in _sections(Settings()):
        kind = type(section)
        parts.append(f"## [{name}]\n\n{inspect.getdoc(kind)}\n\n```toml")
        for comments, key, _, _ in _FIELD.findall(inspect.getsource(kind)):
            if not is_dataclass(getattr(section, key)):
                parts.extend(line.strip() for line in comments.splitlines())
                parts.append(f"{key} = {_toml(getattr(section, key))}")
        parts.append("```\n")
    return "\n".join(parts)


def _sections(node: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every section with its name as a settings file has it, outer ones first."""
    for each in fields(node):
        section = getattr(node, each.name)
        if is_dataclass(section):
            yield f"{above}{each.name}", section
            yield from _sections(section, f"{above}{each.name}.")


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def man_page() -> str:
    """Return the manual of all commands for `man pincite`."""
    group = app
    parts = [
        f'.TH PINCITE 1 "" "pincite {__version__}" "User Commands"',
        ".SH NAME\npincite \\- find the exact clause, table row or rule and cite it",
        ".SH SYNOPSIS\n.B pincite\n.I COMMAND\n[ARGUMENTS] [OPTIONS]\n.br\n"
        ".B pincite \\-\\-version\n[\\-\\-json]",
        f".SH DESCRIPTION\n{_roff(group.help or '')}\nIt needs no server, no key and no network.",
        ".SH COMMANDS",
    ]
    for name, command in _commands(group):
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        options = [each for each in command.params if each.param_type_name == "option"]
        usage = " ".join([name, *(_usage(each) for each in arguments)])
        parts.append(f".SS pincite {_roff(usage)}\n{_roff(command.help or '')}")
        for each in arguments:
            parts.append(f".TP\n.I {_roff(_usage(each))}\n{_roff(each.help or '')}")
        for each in options:
            flags = ", ".join(each.opts)
            parts.append(f".TP\n.B {_roff(flags)}\n{_roff((each.help or '') + _more(each))}")
    parts.append(f".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\n{_roff(FAILED)}")
    kinds = {kind.exit_code: kind for kind in _errors(PinciteError)}
    for code in sorted(kinds):
        if code > 1:
            parts.append(f".TP\n.B {code}\n{_roff(_first_line(kinds[code]))}")
    parts.append(
        ".SH FILES\n.TP\n.I pincite.toml\nSettings, read from the current folder."
        "\n.TP\n.I pincite\\-index\nThe index, unless \\-\\-index names another."
        "\n.SH ENVIRONMENT\n.TP\n.B PINCITE_INDEX\nThe index to use."
        "\n.TP\n.B PINCITE_SECTION__KEY\nOne setting, e.g. PINCITE_SEARCH__K=5."
        "\n.TP\n.B PINCITE_CACHE\nWhere computed vectors are kept."
    )
    return "\n".join(parts) + "\n"


def _roff(text: str) -> str:
    """Return text as roff shows it: nothing in it is a request or an escape."""
    plain = " ".join(text.replace("`", "").split())
    safe = plain.replace("\\", "\\e").replace("-", "\\-")
    safe = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in safe)
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


PAGES = {"cli.md": cli_page, "settings.md": settings_page, "man/pincite.1": man_page}
# Where each shell looks for them below share/; their text is click's own.
COMPLETIONS = {"bash": "pincite", "zsh": "_pincite", "fish": "pincite.fish"}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_text(page(), encoding="utf-8")
    for shell, name in COMPLETIONS.items():
        file = HERE / "completions" / shell / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script(app, shell), encoding="utf-8")

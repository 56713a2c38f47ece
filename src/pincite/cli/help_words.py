"""What ``--help`` calls values: words of its readers, where Typer names types of Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

WORDS: dict[Any, str] = {bool: "", str: "TEXT", int: "INTEGER", float: "NUMBER", Path: "PATH"}


class PlainGroup(TyperGroup):
    """Commands whose help shows TEXT and INTEGER, no type for a flag, and ARGUMENTS in capitals."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _plain(command.get_params(ctx))  # with --help, which is made once and kept
        return command


def _plain(params: Iterable[Any]) -> list[Any]:
    """Return the parameters, each told how it is shown.

    Typer offers no setting for this, so that its answers are replaced on each parameter. A version
    that does not ask these questions shows what it shows.
    """
    found = list(params)
    for param in found:
        kind = getattr(param, "type_descriptor", None)
        if kind is None:  # of a Typer that shows such words by itself
            continue
        word = _word(kind)
        answers: dict[str, Any] = {"_get_number_range_help_str": _answer(_range(param))}
        if word is not None:
            answers["display_type"] = _answer(word)
        if param.param_type_name == "argument":
            name = param.metavar or param.name.upper() + ("..." if param.nargs != 1 else "")
            param.metavar = name
            answers["display_type"] = _answer("")  # its name says it
            answers["_usage_display_name"] = _answer(name if param.required else f"[{name}]")
        vars(param).update(answers)
    return found


def _answer(text: str) -> Any:
    return lambda *_, **__: text


def _word(kind: Any) -> str | None:
    """Return what values of a type are called; None for what is better left to Typer: choices."""
    if any(getattr(kind, name, False) for name in ("is_choice", "is_tuple", "is_datetime")):
        return None
    annotation = getattr(kind, "annotation", None)
    (inner,) = get_args(annotation)[:1] or (annotation,)  # of a list: what is in it
    return WORDS.get(inner)


def _range(param: Any) -> str:
    low, high = getattr(param, "min", None), getattr(param, "max", None)
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"from {low}"
    return f"up to {high}" if high is not None else ""

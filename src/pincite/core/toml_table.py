"""One table of a TOML file, read strictly: wrong types and keys that nobody asks for are errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pincite.core.errors import ConfigError
from pincite.core.patterns import Pattern, compiled_pattern


class Table:
    """Hands out the values of a table by name and type; ``finish`` refuses what is left.

    >>> table = Table({"wieght": 2}, "signal")
    >>> table.number("weight", 1.0)
    1.0
    >>> table.finish()
    Traceback (most recent call last):
    pincite.core.errors.ConfigError: signal: unknown key wieght
    """

    def __init__(self, values: Mapping[str, Any], where: str, *, is_shipped: bool = False) -> None:
        self.values = values
        self.where = where
        self.is_shipped = is_shipped  # its patterns need no watch
        self.asked: list[str] = []

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string; without a default it has to be there."""
        return str(self._value(key, str, default))

    def choice(self, key: str, choices: Sequence[str]) -> Any:
        """Return one of the choices; the first is the default."""
        value = self.text(key, choices[0])
        if value not in choices:
            raise ConfigError(
                f"{self.where}: {key} must be one of {', '.join(choices)}, got {value!r}"
            )
        return value

    def flag(self, key: str) -> bool:
        """Return a boolean, false by default."""
        return bool(self._value(key, bool, False))

    def maybe(self, key: str) -> bool | None:
        """Return a boolean, None when nothing is said."""
        self.asked.append(key)
        return self.flag(key) if key in self.values else None

    def number(self, key: str, default: float) -> float:
        """Return a number that is not negative."""
        value = self.values.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            # A whole number may be too large to be a float at all: it is refused below.
            self.values = {**self.values, key: float(max(-1, min(value, 10**9)))}
        found = float(self._value(key, float, default))
        if not 0 <= found < 1e9:
            raise ConfigError(f"{self.where}: {key} must be from 0 to 1e9, got {found:g}")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings, empty by default."""
        values = self._value(key, list, [])
        for value in values:
            if not isinstance(value, str):
                raise ConfigError(f"{self.where}: {key} must be a list of texts, got {value!r}")
        return tuple(values)

    def pattern(self, key: str, *, groups: int | None = None) -> Pattern:
        """Return a pattern with so many groups; it has to be there."""
        return self._compiled(key, self.text(key), groups)

    def maybe_pattern(self, key: str) -> Pattern | None:
        """Return a pattern, None when there is none."""
        self.asked.append(key)
        return self.pattern(key) if key in self.values else None

    def patterns(self, key: str, *, groups: int | None = None) -> tuple[Pattern, ...]:
        """Return the patterns of a list."""
        return tuple(self._compiled(key, text, groups) for text in self.texts(key))

    def table(self, key: str) -> Table:
        """Return a table inside this one, empty by default."""
        where = f"{self.where}: {key}"
        return Table(self._value(key, dict, {}), where, is_shipped=self.is_shipped)

    def tables(self, key: str) -> list[Table]:
        """Return a list of tables, each called by its name or its place in the list."""
        found = []
        for number, value in enumerate(self._value(key, list, []), 1):
            if not isinstance(value, dict):
                raise ConfigError(f"{self.where}: {key} must be a list of tables, got {value!r}")
            where = f"{self.where}: {key} {value.get('name', number)}"
            found.append(Table(value, where, is_shipped=self.is_shipped))
        return found

    def finish(self) -> None:
        """Raise a ConfigError for the first key that is unknown."""
        for key in self.values:
            if key not in self.asked:
                from difflib import get_close_matches

                near = get_close_matches(key, self.asked, n=1)
                known = ", ".join(self.asked)
                hint = f"did you mean {near[0]}?" if near else f"known here: {known}"
                raise ConfigError(f"{self.where}: unknown key {key}", hint=hint)

    def _value(self, key: str, type_: type, default: Any) -> Any:
        self.asked.append(key)
        value = self.values.get(key, default)
        if value is None:
            raise ConfigError(f"{self.where}: {key} is missing", hint="see docs/profiles.md")
        # bool is an int to Python, but a flag is no number.
        if type(value) is not type_:
            kinds = {str: "a text", bool: "true or false", float: "a number", list: "a list"}
            raise ConfigError(
                f"{self.where}: {key} must be {kinds.get(type_, 'a table')}, got {value!r}"
            )
        return value

    def _compiled(self, key: str, text: str, groups: int | None) -> Pattern:
        compiled = compiled_pattern(text, where=f"{self.where}: {key}", is_shipped=self.is_shipped)
        if groups is not None and compiled.groups != groups:
            raise ConfigError(
                f"{self.where}: {key}: {text}: {groups} group wanted, {compiled.groups} found",
                hint="put parentheses around the value, and write (?:…) for all others",
            )
        return compiled

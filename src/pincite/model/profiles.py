"""Files that users write, read with errors that name the key: profiles of enrichment."""

from __future__ import annotations

import hashlib
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pincite.model.errors import MALFORMED, ConfigError

MAX_CHARS = 500
MAX_SECONDS = 0.5
WINDOW = 1_000
END = 2**31 - 1


class Pattern(Protocol):
    """What is asked of a compiled pattern."""

    @property
    def groups(self) -> int: ...
    @property
    def pattern(self) -> str: ...
    @property
    def groupindex(self) -> Mapping[str, int]: ...
    def search(self, text: str, start: int = 0, end: int = END, /) -> Any: ...
    def finditer(self, text: str, start: int = 0, end: int = END, /) -> Iterator[Any]: ...
    def sub(self, words: str, text: str, /) -> str: ...


class WatchedPattern:
    """A pattern that stops, with an error that names it, when it takes too long on a text."""

    def __init__(self, pattern: str, where: str) -> None:
        import regex

        self.pattern = pattern
        try:
            self._compiled = regex.compile(pattern, regex.MULTILINE | regex.VERSION0)
        except regex.error as error:
            raise re.error(str(error)) from error
        self.groups: int = self._compiled.groups
        self.groupindex: Mapping[str, int] = self._compiled.groupindex
        self._where = where

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WatchedPattern) and self.pattern == other.pattern

    def __hash__(self) -> int:
        return hash(self.pattern)

    def search(self, text: str, start: int = 0, end: int = END, /) -> Any:
        return self._timed(self._compiled.search, text, start, end)

    def finditer(self, text: str, start: int = 0, end: int = END, /) -> Iterator[Any]:
        find = self._compiled.finditer
        return iter(
            self._timed(lambda *found, **limit: list(find(*found, **limit)), text, start, end)
        )

    def sub(self, words: str, text: str, /) -> str:
        return str(self._timed(self._compiled.sub, words, text))

    def _timed(self, find: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return find(*arguments, timeout=MAX_SECONDS)
        except TimeoutError:
            slow = f"took more than {MAX_SECONDS:g} seconds on one text"
            raise _refused(self._where, self.pattern, slow) from None


def compiled_pattern(pattern: str, *, where: str, is_shipped: bool = False) -> Pattern:
    """Return the compiled pattern; ConfigError if it is none, and later if it is slow on a text.

    ``^`` and ``$`` match at lines. Case counts, unless the pattern begins with ``(?i)``.

    >>> compiled_pattern(r"^[*]{2}Level[*]{2} (\\d+)", where="example").search("**Level** 3")[1]
    '3'
    >>> compiled_pattern(r"(a|aa)+$", where="example").search("a" * 50 + "!")
    Traceback (most recent call last):
    pincite.model.errors.ConfigError: example: (a|aa)+$: took more than 0.5 seconds on one text
    """
    if len(pattern) > MAX_CHARS:
        shown = f"{pattern[:40]}…"
        raise _refused(where, shown, f"{len(pattern)} characters, at most {MAX_CHARS} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "[[" may mean something else some day
            compiled = re.compile(pattern, re.MULTILINE)
            return compiled if is_shipped else WatchedPattern(pattern, where)
    except (re.error, OverflowError, RecursionError) as error:
        raise _refused(where, pattern, f"no valid pattern: {error}") from error


def windows(text: str, start: int, end: int, size: int = WINDOW) -> Iterator[tuple[int, int]]:
    """Yield stretches of at most ``size`` characters, cut between paragraphs, lines or words.

    >>> list(windows("one\\n\\ntwo", 0, 8))
    [(0, 8)]
    """
    while end - start > size:
        least = start + size // 2
        for sign in ("\n\n", "\n", " "):
            cut = text.rfind(sign, least, start + size)
            if cut >= 0:
                break
        stop = cut + 1 if cut >= 0 else start + size
        yield start, stop
        start = stop
    if start < end:
        yield start, end


def _refused(where: str, pattern: str, reason: str) -> ConfigError:
    return ConfigError(
        f"{where}: {pattern}: {reason}",
        hint="keep repeats apart by a character that only one of them takes, or bound them: "
        r"'[*]{2}Level[*]{2} (\d{1,2})', 'Range: (\S.{0,80})'",
    )


class TomlReader:
    """Hands out the values of a table by name and type; ``finish`` refuses what is left.

    >>> table = TomlReader({"wieght": 2}, "signal")
    >>> table.number("weight", 1.0)
    1.0
    >>> table.finish()
    Traceback (most recent call last):
    pincite.model.errors.ConfigError: signal: unknown key wieght
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

    def table(self, key: str) -> TomlReader:
        """Return a table inside this one, empty by default."""
        where = f"{self.where}: {key}"
        return TomlReader(self._value(key, dict, {}), where, is_shipped=self.is_shipped)

    def tables(self, key: str) -> list[TomlReader]:
        """Return a list of tables, each called by its name or its place in the list."""
        found = []
        for number, value in enumerate(self._value(key, list, []), 1):
            if not isinstance(value, dict):
                raise ConfigError(f"{self.where}: {key} must be a list of tables, got {value!r}")
            where = f"{self.where}: {key} {value.get('name', number)}"
            found.append(TomlReader(value, where, is_shipped=self.is_shipped))
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


# Those that come with Pincite, in src/pincite/profiles.
PROFILES = Path(__file__).parents[1] / "profiles"
PROFILE_NAMES = ("code", "contract", "filing", "manual", "report", "rulebook")


def profile_text(name: str) -> str:
    """Return the TOML of a profile by its name, or by the path of a file."""
    if name.endswith(".toml"):
        try:
            return Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{name} cannot be read: {error}", hint="check the path") from error
    if name not in PROFILE_NAMES:
        from difflib import get_close_matches

        near = get_close_matches(name, PROFILE_NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(PROFILE_NAMES)}"
        raise ConfigError(f"no profile {name!r}", hint=f"{hint} Or give the path of a .toml file.")
    return (PROFILES / f"{name}.toml").read_text(encoding="utf-8")


def profile_values(text: str, *, origin: str) -> tuple[dict[str, Any], str]:
    """Return what a profile says, with what it extends, and a hash of both."""
    try:
        values = tomllib.loads(text)
    except MALFORMED as error:
        raise ConfigError(f"{origin} is no TOML: {error}", hint="see docs/profiles.md") from error
    if base := values.pop("extends", ""):
        if base not in PROFILE_NAMES:
            known = ", ".join(PROFILE_NAMES)
            raise ConfigError(f"{origin}: extends must be one of {known}, got {base!r}")
        under = profile_text(base)
        values = laid_over(values, tomllib.loads(under))
        text += under
    return values, hashlib.sha256(text.encode()).hexdigest()[:12]


def laid_over(values: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, where the upper one's lists come first and its single values win."""
    merged = {**under, **values}
    for key in values.keys() & under.keys():
        if isinstance(values[key], dict) and isinstance(under[key], dict):
            merged[key] = laid_over(values[key], under[key])
        elif isinstance(values[key], list) and isinstance(under[key], list):
            merged[key] = [*values[key], *under[key]]
    return merged

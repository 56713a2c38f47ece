"""Regular expressions of profiles: those of others run with a time limit.

A profile's author is trusted to mean well, the documents are not. So patterns never see more than a
window of ``WINDOW`` characters, and one that takes longer than ``MAX_SECONDS`` there is an error:
reading a document is linear in its length, whatever it holds. The profiles that come with Pincite
are known to be quick (``fuzz/hostile.py``) and run without that watch, which costs time.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from pincite.core.errors import ConfigError

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
    pincite.core.errors.ConfigError: example: (a|aa)+$: took more than 0.5 seconds on one text
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

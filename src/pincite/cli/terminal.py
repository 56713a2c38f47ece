"""What is written to a terminal: words of strangers never become commands to it.

Titles, cells, file names and snippets come from documents. A terminal takes some characters for
commands (change the title, move the cursor, paste keys) and others turn the order of letters round,
so that a line reads as something else. They are shown as what they are: ``\\x1b``, ``\\u202e``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import click

# Control characters but tab and line feed, ends of lines that are none to a terminal, and signs
# that change the direction of what follows. Marks for a single letter (ZWJ, LRM) are harmless.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile("\r\n|\f")

T = TypeVar("T")
Part = str | tuple[str, str]  # words, or words with their style: "bold cyan"


def safe(text: str) -> str:
    """Return a text that a terminal only shows.

    >>> safe("fees\x1b]0;owned\x07 \u202etxt.exe")
    'fees\\\\x1b]0;owned\\\\x07 \\\\u202etxt.exe'
    """
    return _UNSAFE.sub(_escape, _LINE_ENDS.sub("\n", text))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json_line(value: Any) -> str:
    """Return a value as one line of JSON; unsafe characters are escapes, which mean the same.

    >>> json_line({"title": "a\x9bb"})
    '{"title": "a\\\\u009bb"}'
    """
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def print_json(value: Any) -> None:
    """Print one JSON value on standard output."""
    sys.stdout.write(json_line(value) + "\n")


def styled(*parts: Part, style: str = "") -> str:
    """Return words made safe and given their colours; one style for all that have none.

    >>> styled(("rank 1", "bold"), " a\x1b[5m")
    '\\x1b[1mrank 1\\x1b[0m a\\\\x1b[5m'
    """
    pairs = (part if isinstance(part, tuple) else (part, style) for part in parts)
    return "".join(_in_style(safe(text), names) for text, names in pairs)


def _in_style(text: str, names: str) -> str:
    if not names:
        return text
    flags = {"bold", "dim", "italic", "strikethrough"}
    words = names.split()
    colour = next((word for word in words if word not in flags), None)
    return click.style(text, fg=colour, **{word: True for word in words if word in flags})


def say(*parts: Part, style: str = "") -> None:
    """Print a line of results on standard output; colours only where a terminal shows them."""
    click.echo(styled(*parts, style=style), color=_colour(sys.stdout))


def tell(*parts: Part, style: str = "") -> None:
    """Print a line about the work on standard error."""
    click.echo(styled(*parts, style=style), err=True, color=_colour(sys.stderr))


def _colour(stream: Any) -> bool:
    """Return whether colours are shown; NO_COLOR and dumb terminals have none."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or bool(stream.isatty())


def has_colour() -> bool:
    """Return whether results are printed in colours."""
    return _colour(sys.stdout)


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "chunk"), counted(2000, "chunk"), counted(0, "entry", "entries")
    ('1 chunk', '2,000 chunks', '0 entries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def print_table(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> None:
    """Print rows in columns, figures to the right; the columns of ``left`` to the left."""
    safe_rows = [[safe(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe_rows, strict=True)]
    for row in safe_rows:
        cells = [
            text.ljust(width) if at in left else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())


def follow(items: Iterable[T], words: str, total: int | None = None) -> Iterator[T]:
    """Yield items and draw how many there were."""
    with Bar(words, total) as bar:
        for done, item in enumerate(items, 1):
            bar.update(done)
            yield item


class Bar:
    """One line at the foot of a terminal: a bar, figures and the time that is left."""

    def __init__(self, words: str, total: int | None) -> None:
        self.words, self.total = words, total
        self.is_drawn = sys.stderr.isatty()
        self._start = self._last = time.perf_counter()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the line away, so that something else can be written."""
        if self.is_drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def update(self, done: int, total: int | None = None, note: str = "") -> None:
        """Draw the line anew, at most ten times a second."""
        self.total, now = total or self.total, time.perf_counter()
        if not self.is_drawn or (now - self._last < 0.1 and done != self.total):
            return
        self._last = now
        line = safe(f"{self.words} {self._figures(done, now)}  {note}".rstrip())
        sys.stderr.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()

    def _figures(self, done: int, now: float) -> str:
        if not self.total:
            return f"{done:,}"
        part = min(1.0, done / self.total)
        left = (now - self._start) * (1 - part) / part if part else 0.0
        drawn = "█" * round(24 * part) + "░" * (24 - round(24 * part))
        return f"{drawn} {done:,}/{self.total:,}  {left:.0f} s left"

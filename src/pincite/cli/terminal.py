"""What is written to a terminal: words of strangers never become commands to it.

Titles, cells, file names and snippets come from documents. A terminal takes some characters for
commands (change the title, move the cursor, paste keys) and others turn the order of letters round,
so that a line reads as something else. They are shown as what they are: ``\\x1b``, ``\\u202e``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Control characters but tab and line feed, ends of lines that are none to a terminal, and signs
# that change the direction of what follows. Marks for a single letter (ZWJ, LRM) are harmless.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile("\r\n|\f")


def safe(text: str) -> str:
    """Return a text that a terminal only shows.

    >>> safe("fees\x1b]0;owned\x07 \u202etxt.exe")
    'fees\\\\x1b]0;owned\\\\x07 \\\\u202etxt.exe'
    """
    return _UNSAFE.sub(_shown, _LINE_ENDS.sub("\n", text))


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json_line(value: Any) -> str:
    """Return a value as one line of JSON; unsafe characters are escapes, which mean the same.

    >>> json_line({"title": "a\x9bb"})
    '{"title": "a\\\\u009bb"}'
    """
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


class SafeConsole(Console):
    """A console whose own commands are the only ones that reach the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is to be written; colours are no part of a segment's text."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else safe(text), style, control)

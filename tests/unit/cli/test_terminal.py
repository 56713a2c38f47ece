"""What documents say is shown on a terminal, and never obeyed."""

from __future__ import annotations

import ast
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from pincite.cli import options
from pincite.cli.terminal import SafeConsole, json_line, safe

SOURCE = Path(options.__file__).parents[1]


@given(st.text())
def test_nothing_unsafe_is_left(text: str) -> None:
    shown = safe(text)
    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert not set(shown) & set("\u2028\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert safe(shown) == shown


@given(st.recursive(st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner)))
def test_json_means_the_same(value: object) -> None:
    assert json.loads(json_line(value)) == value
    assert "\x9b" not in json_line(value) and "\u202e" not in json_line(value)


def test_tables_and_styled_words_are_safe_and_styles_stay() -> None:
    told = io.StringIO()
    console = SafeConsole(file=told, force_terminal=True, color_system="standard", width=80)
    grid = Table("a\x1b]0;t\x07")
    grid.add_row("b\x9b2J")
    console.print(grid)
    console.print(Text.assemble(("evil\x1b[5m", "bold red")))
    text = told.getvalue()
    assert "\x1b[1;31m" in text and "\\x1b[5m" in text and "a\\x1b" in text
    assert "\x1b]0" not in text and "\x1b[5m" not in text and "\x9b" not in text


def test_every_command_prints_through_the_safe_console() -> None:
    """A console, or text for standard output, that is made elsewhere is not seen to."""
    for file in (SOURCE / "cli").glob("*.py"):
        if file.name == "terminal.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("Console", "rich.print", "print"), f"{file.name}: {called}"


@pytest.mark.parametrize("name", ["csv.writer", "csv.DictWriter"])
def test_no_export_is_a_sheet_in_which_words_become_formulas(name: str) -> None:
    """There is no CSV to open in a spreadsheet; one that is added has to mind =, +, - and @."""
    for file in SOURCE.rglob("*.py"):
        assert name not in file.read_text(), file

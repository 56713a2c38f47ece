"""What documents say is shown on a terminal, and never obeyed."""

from __future__ import annotations

import ast
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pincite
from pincite.cli.terminal import Bar, json_line, print_table, safe, say, styled

SOURCE = Path(pincite.__file__).parent


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


def test_tables_and_styled_words_are_safe_and_styles_stay(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert styled(("evil\x1b[5m", "bold red")) == "\x1b[31m\x1b[1mevil\\x1b[5m\x1b[0m"
    print_table([["a\x1b]0;t\x07", "n"], ["b\x9b2J", "12"]])
    say(("where\x1b[2J", "cyan"))
    assert capsys.readouterr().out == "a\\x1b]0;t\\x07   n\nb\\x9b2J        12\nwhere\\x1b[2J\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    say(("where", "cyan"))
    monkeypatch.setenv("NO_COLOR", "1")
    say(("where", "cyan"))
    assert capsys.readouterr().out == "\x1b[36mwhere\x1b[0m\nwhere\n"


def test_a_bar_is_drawn_for_terminals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    monkeypatch.setattr("sys.stderr", told)
    with Bar("reading", 4) as bar:
        bar.update(4, note="a\x1b[5m")
    assert told.getvalue() == ""
    monkeypatch.setattr(told, "isatty", lambda: True, raising=False)
    with Bar("reading", 4) as bar:
        bar.update(4, note="a\x1b[5m")
    assert "4/4" in told.getvalue() and "\x1b[5m" not in told.getvalue()
    assert told.getvalue().endswith("\r\x1b[K")


def test_every_command_prints_through_what_is_safe() -> None:
    """A line that is written otherwise is not seen to; standard output takes JSON or safe()."""
    for file in (SOURCE / "cli").glob("*.py"):
        if file.name == "terminal.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                unsafe = ("click.echo", "click.secho", "print", "Console", "rich.print")
                assert called not in unsafe, f"{file.name}: {called}"


@pytest.mark.parametrize("name", ["csv.writer", "csv.DictWriter"])
def test_no_export_is_a_sheet_in_which_words_become_formulas(name: str) -> None:
    """There is no CSV to open in a spreadsheet; one that is added has to mind =, +, - and @."""
    for file in SOURCE.rglob("*.py"):
        assert name not in file.read_text(), file

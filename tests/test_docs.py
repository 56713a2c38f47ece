"""The documentation tells the truth: generated pages are fresh, examples run, names exist."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pincite
from pincite.cli.main import COMMANDS
from pincite.model import errors
from pincite.model.settings import setting_names

ROOT = Path(__file__).parent.parent
PACKAGE = Path(pincite.__file__).parent  # also where the tests are of a wheel, without src
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def generator() -> dict[str, object]:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.PAGES)


@pytest.mark.parametrize("name", ["cli.md", "settings.md", "man/pincite.1"])
def test_generated_pages_are_fresh(name: str) -> None:
    make = generator()[name]
    assert callable(make)
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == make(), "run: make docs"


def test_the_man_page_is_good_roff() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    page = (ROOT / "docs/man/pincite.1").read_bytes()
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, check=True
    )
    assert done.stderr == b""
    shown = re.sub(r"\x1b\[[\d;]*m|.\x08", "", done.stdout.decode())
    for name in COMMANDS:
        assert f"   pincite {name}" in shown, name
    assert "--rebuild" in shown and "EXIT STATUS" in shown


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    for name in setting_names():
        assert f"\n{name.split('.')[-1]} = " in page, name


def test_every_command_is_in_the_reference() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert re.search(rf"^## pincite {name}\b", page, re.MULTILINE), name


def test_every_error_is_in_the_tree() -> None:
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, errors.PinciteError):
            line = next(line for line in (errors.__doc__ or "").splitlines() if name in line)
            assert line.rstrip().endswith(f"{value.exit_code} / {value.http_status}"), name


def test_readme_python_runs(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "250.56(B)" in done.stdout


def test_the_page_on_python_runs(tmp_path: Path) -> None:
    """Its blocks, one after the other as a reader would type them."""
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    first = [line for line in blocks[0].splitlines() if line]
    assert len(first) <= 8
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    command = [sys.executable, "-W", "error", "-c", "\n".join(blocks)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for shown in ("250.56(B) ", "2.4 m apart", "16 mm²", "**250.56(B)**", "@misc{electrical-code"):
        assert shown in done.stdout, shown


def _as_script(page: Path) -> str:
    """Return the blocks of a page that are run, in order, as one script of a shell."""
    text = textwrap.dedent(re.sub(r"(?m)^ {3}(?=\S|$| )", "", page.read_text(encoding="utf-8")))
    parts = ["set -e"]
    for kind, block in re.findall(r"```(sh|python)\n(.*?)```", text, re.DOTALL):
        lines = [line for line in block.splitlines() if not line.startswith("pip install")]
        code = "\n".join(lines)
        parts.append(
            f"python - <<'END_OF_BLOCK'\n{code}\nEND_OF_BLOCK" if kind == "python" else code
        )
    return "\n".join(parts)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("README.md", ("250.56(B)", "2.4 m")),
        ("SKILL.md", ("250.56(B)", '"state": "found"', '"verdict": "exact"', "35")),
        pytest.param(
            "docs/start.md",
            ("2.4 m", "Not in these documents", "something does not hold", "@", "nDCG@10"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_blocks_of_a_page_run(name: str, shown: tuple[str, ...], tmp_path: Path) -> None:
    """In a folder with the samples and nothing else, as somebody would type them."""
    programs = tmp_path / "programs"
    programs.mkdir()
    call = "from pincite.cli.main import run; run()"
    for each, words in (("pincite", f'-c "{call}" "$@"'), ("python", '"$@"')):
        (programs / each).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}\n')
        (programs / each).chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    (home / "samples").symlink_to(ROOT / "samples")
    if name == "SKILL.md":
        subprocess.run([programs / "pincite", "ingest", "samples"], cwd=home, check=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PINCITE_")}
    done = subprocess.run(
        ["bash", "-c", _as_script(ROOT / name)],
        cwd=home,
        env={**kept, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    for words in shown:
        assert words in done.stdout, words


def test_every_link_of_llms_txt_leads_somewhere() -> None:
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 15 and text.startswith("# Pincite\n\n> ")
    for target in [*links, *re.findall(r"\b(?:docs/)?\w+\.md\b", text)]:
        assert (ROOT / target).exists(), target


def test_readme_shows_what_one_sees(tmp_path: Path) -> None:
    """The commands of the first screen print exactly what stands below them."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    screen = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)[0]
    program = [sys.executable, "-c", "from pincite.cli.main import run; run()"]
    index = str(tmp_path / "index")
    subprocess.run([*program, "ingest", str(ROOT / "samples"), "--index", index], check=True)
    shown = re.findall(r"\$ pincite (.*)\n((?:(?!\$ ).*\n)*)", screen)
    assert len(shown) == 3
    for command, expected in shown:
        done = subprocess.run(
            [*program, *shlex.split(command), "--index", index], capture_output=True, text=True
        )
        assert _without_numbers(done.stdout) == _without_numbers(expected), command
        for found, told in zip(_numbers(done.stdout), _numbers(expected), strict=True):
            # Processors round the encoder's sums in ways of their own.
            assert found == pytest.approx(told, abs=0.03), command


def _without_numbers(text: str) -> str:
    """Return what is shown with the numbers of its reasons left out."""
    lines = (re.sub(r"[\d.]+", "0", x) if " why:" in x else x for x in text.strip().splitlines())
    return "\n".join(lines)


def _numbers(text: str) -> list[float]:
    reasons = (line for line in text.splitlines() if " why:" in line)
    return [float(number) for line in reasons for number in re.findall(r"\d+\.\d+", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_placeholder_is_left(page: Path) -> None:
    assert not re.search(r"\b(?:BENCH_TABLE|TODO|FIXME|XXX|TBD)\b", page.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_exist(page: Path) -> None:
    """Paths in code font name something: from the root, or from the package."""
    for name in re.findall(r"`((?:[a-z_]+/)+[\w.-]*)`", page.read_text(encoding="utf-8")):
        inside = name.removeprefix("src/pincite/")
        places = (ROOT / name, PACKAGE / inside, ROOT / "docs" / name)
        assert any(place.exists() for place in places), name


SEEDS = (ROOT / "docs/seeds.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split("|") for line in SEEDS.splitlines() if re.match(r"\| E?\d", line)]
LATER = {"35"}


def _numbers_of(items: str) -> set[str]:
    """Return the numbers of a row: `19, 23–27, E17–E19`."""
    found = set()
    for letter, first, last in re.findall(r"(E?)(\d+)(?:–E?(\d+))?", items):
        found |= {f"{letter}{number}" for number in range(int(first), int(last or first) + 1)}
    return found


def test_every_capability_has_its_row() -> None:
    wanted = {str(number) for number in range(1, 114)} | {f"E{number}" for number in range(1, 54)}
    assert set().union(*(_numbers_of(row[0]) for row in ROWS)) == wanted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip())
def test_the_tests_of_a_capability_exist(row: list[str]) -> None:
    named = re.findall(r"`([^`]+)`", row[3] if len(row) > 3 else "")
    tests = [each for each in named if each.startswith("tests/")]
    assert tests or _numbers_of(row[0]) <= LATER, "a capability without a test"
    for each in named:
        path, _, name = each.partition("::")
        files = list(ROOT.glob(path))
        assert files or path.startswith("pincite "), each
        if name:
            assert f"def {name}(" in files[0].read_text(encoding="utf-8"), each

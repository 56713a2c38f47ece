"""The shape of the package: who may import whom, what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pincite

ROOT = Path(pincite.__file__).parent
# Upper lines may import lower ones; names on one line never import each other.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"adapters", "serve"},
    {"client"},
    {"mcp"},
    {"api"},
    {"measure"},
    {"answer", "maintain"},
    {"check"},
    {"search"},
    {"update"},
    {"index", "read"},
    {"encode", "store"},
    {"cluster"},
    {"model"},
]
FILES = sorted(path for path in ROOT.rglob("*.py"))


def layer(part: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if part in names)


def part_of(file: Path) -> str:
    inside = file.relative_to(ROOT).parts
    return inside[0].removesuffix(".py")


def imports(file: Path) -> set[str]:
    """Return the modules of ours that a file names anywhere, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return {name for name in found if name.split(".")[0] == "pincite"}


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_go_downwards(file: Path) -> None:
    if file.name == "__init__.py" and file.parent == ROOT:
        return  # the front door names its homes
    mine = part_of(file)
    for name in imports(file):
        parts = name.split(".")
        if len(parts) < 2 or parts[1] in ("__version__",):
            assert mine == "cli", f"{file} imports the package root"
            continue
        theirs = parts[1]
        if theirs == mine:
            continue
        assert layer(theirs) > layer(mine), f"{file.relative_to(ROOT)} imports {name}"


def test_no_import_cycles() -> None:
    graph = {}
    for file in FILES:
        name = ".".join(("pincite", *file.relative_to(ROOT).with_suffix("").parts))
        graph[name.removesuffix(".__init__")] = imports(file)
    graph.pop("pincite")
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " → ".join((*trail, name))
        if name in graph and name not in done:
            for each in graph[name]:
                visit(each, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_public_names_are_what_they_say() -> None:
    assert sorted(pincite.__all__) == sorted(pincite._HOMES)
    for name in pincite.__all__:
        assert getattr(pincite, name).__name__ == name
    assert len(pincite.__all__) <= 24


@pytest.mark.alone
def test_import_is_light_and_fast() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import pincite;"
        "took = time.perf_counter() - start;"
        "heavy = {'numpy', 'click', 'rich', 'markdown_it', 'sqlite3', 'Stemmer', 'rapidfuzz',"
        "'httpx', 'jinja2', 'regex', 'prometheus_client'};"
        "print(took, sorted(heavy & set(sys.modules)))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    assert all(run.stdout.split(" ", 1)[1].strip() == "[]" for run in runs)
    assert min(float(run.stdout.split()[0]) for run in runs) < 0.2


def test_searching_does_not_load_the_readers() -> None:
    """Reading files takes many modules and patterns; a search needs none of them."""
    code = (
        "import sys, pincite.api;"
        "print([m for m in sys.modules if 'pincite.read' in m or m in ('httpx', 'jinja2')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def loaded(code: str) -> set[str]:
    """Return the modules that some code leaves loaded, in an interpreter of its own."""
    told = f"import sys; {code}; sys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_opening_the_door_loads_no_room_above() -> None:
    names = {name.split(".")[1] for name in loaded("import pincite.api") if "pincite." in name}
    assert not names & {"answer", "cli", "measure", "read", "serve", "update"}


def test_the_version_loads_nothing_heavy() -> None:
    code = "from pincite.cli.main import app; app(['--version'], standalone_mode=False)"
    heavy = {"numpy", "rich", "pygments", "typer", "pydantic", "importlib.metadata", "sqlite3"}
    assert not loaded(code) & heavy


def test_a_search_loads_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "rods.md").write_text("# Rods\n\n## 1.1 Spacing\n\nRods stand 2.4 m apart.\n")
    pincite.open(tmp_path / "index").ingest(tmp_path / "rods.md")
    call = ["search", "how far apart are rods", "--index", str(tmp_path / "index")]
    found = loaded(f"from pincite.cli.main import app; app({call!r}, standalone_mode=False)")
    heavy = {"rich", "pygments", "typer", "pydantic", "importlib.metadata", "zipfile", "rapidfuzz"}
    heavy |= {"asyncio", "multiprocessing", "concurrent.futures", "subprocess", "tempfile"}
    heavy |= {"http.client", "urllib.request", "email", "ssl", "socket", "httpx", "xml", "lxml"}
    assert not found & heavy
    rooms = {name.split(".")[1] for name in found if name.startswith("pincite.")}
    assert not rooms & {"answer", "measure", "read", "serve", "update"}
    commands = {name for name in found if name.startswith("pincite.cli.")}
    assert commands == {f"pincite.cli.{name}" for name in ("main", "options", "search", "terminal")}


def test_no_code_is_loaded_from_data() -> None:
    for file in FILES:
        for name in ("pickle", "marshal", "shelve", "joblib"):
            assert f"import {name}" not in file.read_text(encoding="utf-8"), file

"""Figures of the code's shape against their limits: python scripts/house.py [--offenders] [--json]

Lengths are lines of the file as it stands, with blank lines, docstrings and decorators; a function
inside another one counts for both. tests/test_house.py holds the package to ``LIMITS``.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pincite

PACKAGE = Path(pincite.__file__).parent
LIMITS = {
    "files": 315,  # 300 when the rooms were made; an engine and the desk came after
    "lines": 50_000,
    "lines of a file": 600,
    "lines of a function, p90": 25,
    "lines of a function, longest": 80,
    "class names twice": 0,
    "MOST_, LEAST_, FEWEST_": 0,
    "modules that import each other": 0,
}
HOUSE_WORDS = re.compile(r"_?(MOST|LEAST|FEWEST)_")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class House:
    """What was counted; every list holds (place, value)."""

    files: dict[str, int] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    classes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    house_words: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    imports: dict[str, set[str]] = field(default_factory=dict)

    @property
    def both_ways(self) -> list[tuple[str, str]]:
        return sorted(
            (one, other)
            for one, named in self.imports.items()
            for other in named
            if one < other and one in self.imports.get(other, ())
        )

    def offenders(self) -> dict[str, list[str]]:
        """Return who is over a limit, by the name of the limit; the worst first."""
        long_files = _over(self.files, LIMITS["lines of a file"])
        longest = LIMITS["lines of a function, longest"]
        twice = {name: homes for name, homes in self.classes.items() if len(homes) > 1}
        return {
            "lines of a file": long_files,
            "lines of a function, longest": _over(self.functions, longest),
            "class names twice": [f"{name}: {', '.join(twice[name])}" for name in sorted(twice)],
            "MOST_, LEAST_, FEWEST_": [
                f"{name}: {', '.join(sorted(homes))}"
                for name, homes in sorted(self.house_words.items())
            ],
            "modules that import each other": [f"{a} <-> {b}" for a, b in self.both_ways],
        }

    def figures(self) -> dict[str, int]:
        """Return the value of every limit."""
        offenders = self.offenders()
        lengths = sorted(self.functions.values()) or [0]
        return {
            "files": len(self.files),
            "lines": sum(self.files.values()),
            "lines of a file": max(self.files.values(), default=0),
            "lines of a function, p90": lengths[int(0.9 * (len(lengths) - 1))],
            "lines of a function, longest": lengths[-1],
            **{
                name: len(offenders[name])
                for name in LIMITS
                if name in offenders and not name.startswith("lines")
            },
        }

    def rooms(self) -> dict[str, dict[str, int]]:
        """Return files and lines of every package."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for name, lines in self.files.items():
            room = name.split("/")[0] if "/" in name else "(root)"
            found[room].update(files=1, lines=lines)
        return {room: dict(found[room]) for room in sorted(found)}


def _over(lengths: dict[str, int], limit: int) -> list[str]:
    over = sorted((-length, name) for name, length in lengths.items() if length > limit)
    return [f"{name}: {-length}" for length, name in over]


def measure(package: Path = PACKAGE) -> House:
    """Return what is counted in the files of a package."""
    house = House()
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package).as_posix()
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        house.files[name] = len(text.splitlines())
        module = _module(file, package)
        house.imports[module] = set(_imports(tree, package)) - {module}
        for node in ast.walk(tree):
            if isinstance(node, Function):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                place = f"{name}:{node.lineno} {node.name}"
                house.functions[place] = (node.end_lineno or first) - first + 1
            elif isinstance(node, ast.ClassDef):
                house.classes[node.name].append(name)
            for word in _names(node):
                if HOUSE_WORDS.match(word):
                    house.house_words[word].add(name)
    return house


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node uses or makes."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.ClassDef | Function):
        yield node.name


def _module(file: Path, package: Path) -> str:
    parts = [package.name, *file.relative_to(package).with_suffix("").parts]
    return ".".join(parts).removesuffix(".__init__")


def _imports(tree: ast.AST, package: Path) -> Iterator[str]:
    """Yield the modules of the package that a file imports anywhere, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--offenders", action="store_true", help="also print who is over a limit")
    parser.add_argument("--json", action="store_true", dest="as_json")
    chosen = parser.parse_args()
    house = measure()
    if chosen.as_json:
        values = {
            "figures": house.figures(),
            "rooms": house.rooms(),
            "offenders": house.offenders(),
        }
        print(json.dumps(values, indent=2))
        return
    for name, value in house.figures().items():
        mark = "" if value <= LIMITS[name] else "  over"
        print(f"{name:32}{value:8,}  of {LIMITS[name]:,}{mark}")
    print()
    for room, counted in house.rooms().items():
        print(f"{room:32}{counted['files']:8,} files{counted['lines']:8,} lines")
    if chosen.offenders:
        for name, found in house.offenders().items():
            print(f"\n{name}:", *found, sep="\n  ")


if __name__ == "__main__":
    main()

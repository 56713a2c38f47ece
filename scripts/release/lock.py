"""Resolve the base and all extras to exact versions: `make lock`.

    lock/packages.json       what pip chose: version, checksum, licence, who needs it
    lock/requirements.txt    the same for pip: `pip install --require-hashes -r`

Neither has an address: the files come from whatever index pip is set to, and must have these
checksums. They are of one platform, which the first line names.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "lock/packages.json"
REQUIREMENTS = ROOT / "lock/requirements.txt"
BASE = "base"
Package = dict[str, Any]


def project() -> tuple[list[str], dict[str, list[str]]]:
    """Return what pyproject.toml asks for: of everybody, and of each extra."""
    values = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return values["dependencies"], values["optional-dependencies"]


def resolve() -> list[dict[str, Any]]:
    """Return pip's report of what it would install for the base and every extra."""
    _, extras = project()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--report", str(report)]
        subprocess.run([*command, f".[{','.join(extras)}]"], cwd=ROOT, check=True)
        found: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
    return found


def packages_of(report: Sequence[Mapping[str, Any]]) -> dict[str, Package]:
    """Return each package of a report but our own, by its canonical name."""
    found: dict[str, Package] = {}
    for item in report:
        told = item["metadata"]
        name = canonicalize_name(told["name"])
        if name == "pincite":
            continue
        found[name] = {
            "version": told["version"],
            "sha256": item["download_info"]["archive_info"]["hashes"]["sha256"],
            "licence": declared(
                told.get("license_expression"), told.get("classifier", ()), told.get("license")
            ),
            "requires": sorted(told.get("requires_dist", ())),
        }
    base, extras = project()
    users, needs = walked(found, {BASE: base, **extras})
    for name, package in found.items():
        package |= {"for": users[name], "requires": sorted(needs[name])}
    return dict(sorted(found.items()))


def declared(expression: str | None, classifiers: Sequence[str], text: str | None) -> str:
    """Return what a package says of its licence: an SPDX expression, or else its own words."""
    if expression:
        return expression
    of_licence = [each.split(" :: ")[-1] for each in classifiers if each.startswith("License ::")]
    known = [each for each in of_licence if each not in ("OSI Approved", "Freely Distributable")]
    if known:
        return " AND ".join(sorted(f'"{each}"' for each in known))
    words = " ".join((text or "").split())
    return words if len(words) <= 60 else f"{words[:57]}..."


def walked(
    packages: Mapping[str, Package], wanted: Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Return for each package who brings it along (the base, an extra), and what it needs."""
    users: dict[str, list[str]] = {name: [] for name in packages}
    needs: dict[str, set[str]] = {name: set() for name in packages}
    for user, lines in wanted.items():
        seen: set[tuple[str, frozenset[str]]] = set()
        todo = list(_needs(lines, frozenset()))
        while todo:
            name, extras = todo.pop()
            if (name, extras) in seen or name not in packages:
                continue
            seen.add((name, extras))
            further = _needs(packages[name]["requires"], extras)
            needs[name] |= {each for each, _ in further} & set(packages) - {name}
            todo += further
        for name in {name for name, _ in seen}:
            users[name].append(user)
    return users, needs


def _needs(lines: Sequence[str], extras: frozenset[str]) -> set[tuple[str, frozenset[str]]]:
    """Return the packages that lines ask for here, each with the extras of it that they want."""
    found = set()
    for line in lines:
        need = Requirement(line)
        chosen = extras or {""}
        if need.marker is None or any(need.marker.evaluate({"extra": one}) for one in chosen):
            found.add((canonicalize_name(need.name), frozenset(need.extras)))
    return found


def needed_names(lines: Sequence[str]) -> set[str]:
    """Return the names of the packages that lines ask for on this platform."""
    return {name for name, _ in _needs(lines, frozenset())}


def requirements(packages: Mapping[str, Package], where: str) -> str:
    """Return the packages in the form that pip reads, with who needs each."""
    lines = [f"# Versions that a release was tested with, on {where}. Made by `make lock`."]
    for name, package in packages.items():
        lines.append(f"{name}=={package['version']} \\")
        lines.append(f"    --hash=sha256:{package['sha256']}  # {', '.join(package['for'])}")
    return "\n".join(lines) + "\n"


def write(packages: Mapping[str, Package], where: str) -> None:
    """Write both files; a package is a line, so that a change of the lock can be read."""
    PACKAGES.parent.mkdir(exist_ok=True)
    lines = [f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in packages.items()]
    head = f'{{\n "platform": {json.dumps(where)},\n "packages": {{\n'
    PACKAGES.write_text(head + ",\n".join(lines) + "\n }\n}\n", encoding="utf-8")
    REQUIREMENTS.write_text(requirements(packages, where), encoding="utf-8")


def load() -> dict[str, Package]:
    """Return the packages of the lock."""
    packages: dict[str, Package] = json.loads(PACKAGES.read_text(encoding="utf-8"))["packages"]
    return packages


def problems() -> list[str]:
    """Return where the lock and pyproject.toml say different things."""
    packages = load()
    base, extras = project()
    found = []
    for user, lines in {BASE: base, **extras}.items():
        for line in lines:
            need = Requirement(line)
            package = packages.get(canonicalize_name(need.name))
            if package is None or user not in package["for"]:
                found.append(f"{need.name} of {user} is not in the lock")
            elif not need.specifier.contains(package["version"], prereleases=True):
                found.append(f"{line} of {user}: the lock has {package['version']}")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Write the lock again, or check it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with pyproject.toml only")
    if parser.parse_args(words).check:
        found = problems()
        print("\n".join(found) or f"the lock fits pyproject.toml: {len(load())} packages")
        return 1 if found else 0
    packages = packages_of(resolve())
    where = f"{platform.python_implementation()} {platform.python_version()}, "
    where += f"{platform.system()} {platform.machine()}"
    write(packages, where)
    print(f"{len(packages)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

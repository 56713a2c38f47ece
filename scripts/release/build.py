"""Build wheel and source archive twice, compare the bytes, check what is inside: `make release`.

    dist/pincite-V-py3-none-any.whl, dist/pincite-V.tar.gz    what is published
    dist/sbom.cdx.json                                        every package that it can bring along
    dist/requirements.txt                                     the versions that it was tested with
    dist/SHA256SUMS

The second wheel is built from the source archive, so that both are known to be whole.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.metadata import Metadata
from scripts.release import lock, sbom

ROOT = Path(__file__).parents[2]
LARGEST_WHEEL = 85_000_000
KINDS = {
    *(".py", ".typed", ".md", ".txt", ".toml", ".json", ".jsonl", ".sql"),
    *(".onnx", ".npz", ".css", ".js", ".svg", ".html", ".j2"),
}
# Of pincite/, of share/, and of the source archive.
NEEDED = [
    "py.typed",
    "build.json",
    "samples/questions.jsonl",
    "samples/electrical-code-2024.md",
    "encode/minilm/model.onnx",
    "encode/minilm/tokenizer.json",
    "encode/minilm/token_codes.npz",
    "encode/minilm/MODEL_CARD.md",
    "search/minilm/model.onnx",
    "search/minilm/model.json",
    "search/minilm/MODEL_CARD.md",
    "profiles/code.toml",
    "serve/page/static/main.js",
    "measure/page.css",
    "store/postgres/migrations/0001_tables.sql",
]
SHARED = [
    "man/man1/pincite.1",
    "bash-completion/completions/pincite",
    "zsh/site-functions/_pincite",
    "fish/vendor_completions.d/pincite.fish",
]
SDIST = [
    *("pyproject.toml", "hatch_build.py", "Makefile", "LICENSE", "README.md", "CHANGELOG.md"),
    *("tests/conftest.py", "docs/generate.py", "lock/packages.json"),
]


def build(root: Path, out: Path, target: str) -> Path:
    """Return the `wheel` or `sdist` that hatchling makes of a source tree."""
    out.mkdir(parents=True, exist_ok=True)
    before = set(out.glob("*"))
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch()}
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"hatchling cannot build the {target}:\n{done.stderr}")
    (made,) = set(out.glob("*")) - before
    return made


def epoch() -> str:
    """Return the time that all files of a release bear: when the commit was made."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return os.environ["SOURCE_DATE_EPOCH"]
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive of ours, with the filter for strangers' ones where Python has it."""
    options: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **options)


def rebuilt(sdist: Path, out: Path) -> Path:
    """Return the wheel made from an unpacked source archive."""
    unpack(sdist, out)
    (tree,) = (each for each in out.iterdir() if each.is_dir())
    return build(tree, out, "wheel")


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def wheel_problems(wheel: Path, version: str) -> list[str]:
    """Return what is in a wheel and should not be, or is not and should be."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = f"pincite-{version}.dist-info"
        share = f"pincite-{version}.data/data/share"
        problems = [f"damaged: {name}" for name in [archive.testzip()] if name]
        needed = [f"pincite/{name}" for name in NEEDED] + [f"{share}/{name}" for name in SHARED]
        needed += [f"{about}/licenses/LICENSE", f"{about}/METADATA"]
        problems += [f"missing: {name}" for name in needed if name not in names]
        for name in names:
            if not name.startswith(("pincite/", f"{about}/", f"{share}/")):
                problems.append(f"outside the package: {name}")
            elif name.startswith("pincite/") and PurePosixPath(name).suffix not in KINDS:
                problems.append(f"of no known kind: {name}")
        if f"{about}/METADATA" in names:
            problems += metadata_problems(archive.read(f"{about}/METADATA"), version)
    if wheel.stat().st_size > LARGEST_WHEEL:
        problems.append(f"larger than {LARGEST_WHEEL} bytes: {wheel.stat().st_size}")
    return problems


def metadata_problems(text: bytes, version: str) -> list[str]:
    """Return what a registry or a reader would object to in the description of a package."""
    try:
        told = Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        return [f"metadata: {error}" for error in group.exceptions]
    problems = []
    if (told.name, str(told.version)) != ("pincite", version):
        problems.append(f"metadata of {told.name} {told.version}, not of pincite {version}")
    if told.license_expression != "Apache-2.0" or told.license_files != ["LICENSE"]:
        problems.append(f"licence: {told.license_expression}, files {told.license_files}")
    if told.description_content_type != "text/markdown" or not told.description:
        problems.append("no description in Markdown")
    if not told.summary or told.requires_python is None:
        problems.append("no summary, or no version of Python")
    problems += [f"an address: {each}" for each in told.requires_dist or () if each.url]
    return problems


def sdist_problems(sdist: Path, tracked: Iterable[str]) -> list[str]:
    """Return files of a source archive that are not of the repository, and what it lacks."""
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    names = {each.name.partition("/")[2] for each in members if each.isfile()}
    made = {"PKG-INFO", "src/pincite/build.json"}
    problems = [f"not of the repository: {name}" for name in sorted(names - set(tracked) - made)]
    problems += [f"a link: {each.name}" for each in members if each.issym() or each.islnk()]
    return problems + [f"missing: {name}" for name in SDIST if name not in names]


def tracked_files(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "-z"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split("\0")


def version_of(root: Path) -> str:
    """Return the version, from the one place that states it."""
    text = (root / "src/pincite/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def release(out: Path) -> list[str]:
    """Fill a folder with what is published; return what is wrong with it."""
    version = version_of(ROOT)
    shutil.rmtree(out, ignore_errors=True)
    sdist, wheel = build(ROOT, out, "sdist"), build(ROOT, out, "wheel")
    with tempfile.TemporaryDirectory() as scratch:
        problems = []
        if sha256(build(ROOT, Path(scratch, "again"), "sdist")) != sha256(sdist):
            problems.append("two builds of the source archive differ")
        if sha256(rebuilt(sdist, Path(scratch, "tree"))) != sha256(wheel):
            problems.append("the wheel of the source archive is not the wheel of the tree")
    problems += [f"{wheel.name}: {each}" for each in wheel_problems(wheel, version)]
    problems += [f"{sdist.name}: {each}" for each in sdist_problems(sdist, tracked_files(ROOT))]
    shutil.copy(lock.REQUIREMENTS, out / "requirements.txt")
    (out / "sbom.cdx.json").write_text(sbom.written(version, sha256(wheel), epoch()))
    lines = [f"{sha256(file)}  {file.name}\n" for file in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(lines), encoding="ascii")
    return problems


def main(words: Sequence[str] | None = None) -> int:
    """Build, say what came of it, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out: Path = parser.parse_args(words).out
    problems = release(out)
    for file in sorted(out.iterdir()):
        print(f"{file.stat().st_size:>12,}  {sha256(file)[:12]}  {file.name}")
    for problem in problems:
        print(f"problem: {problem}")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"\n## {version_of(ROOT)} - 20" not in changes:
        print(f"a trial: CHANGELOG.md has no dated section for {version_of(ROOT)}")
    if not problems:
        print("built twice with the same bytes; contents and metadata are in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

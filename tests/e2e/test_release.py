"""A release as its user meets it: built, installed in a clean environment, run without network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from scripts.release import build

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # installs packages
ROOT = Path(__file__).parents[2]
# Fails whatever asks for another machine, in this process and in those that it starts.
GUARD = """
import socket
def guarded(connect):
    def checked(self, address):
        if self.family != socket.AF_UNIX and str(address[0]) not in ("127.0.0.1", "::1"):
            raise SystemExit(f"asked for the network: {address}")
        return connect(self, address)
    return checked
socket.socket.connect = guarded(socket.socket.connect)
socket.socket.connect_ex = guarded(socket.socket.connect_ex)
def unresolved(*words, **more):
    raise SystemExit(f"asked for the network: {words}")
socket.getaddrinfo = unresolved
"""


@dataclass(frozen=True)
class Release:
    """What was built, and an environment that has the wheel and what it asks for, no more."""

    out: Path
    problems: list[str]
    environment: Path
    run: Callable[..., subprocess.CompletedProcess[str]]

    @property
    def wheel(self) -> Path:
        return next(self.out.glob("*.whl"))

    @property
    def sdist(self) -> Path:
        return next(self.out.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    if not (ROOT / ".git").exists():
        pytest.skip("a release is built from the repository")
    folder = tmp_path_factory.mktemp("release")
    problems = build.release(folder / "dist")
    environment = folder / "clean"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    wheel = next((folder / "dist").glob("*.whl"))
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin/python"), "install"]
    done = subprocess.run(
        [*pip, "--quiet", "--no-compile", "--disable-pip-version-check", str(wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    return Release(folder / "dist", problems, environment, _runner(folder, environment))


def _runner(folder: Path, environment: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a program of the environment where there is no network."""
    (folder / "guard").mkdir()
    (folder / "guard/sitecustomize.py").write_text(GUARD)
    apart = ["unshare", "--map-root-user", "--net"]
    may = shutil.which("unshare") is not None
    may = may and not subprocess.run([*apart, "true"], capture_output=True).returncode
    variables = {
        "PATH": f"{environment / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "PYTHONPATH": str(folder / "guard"),
        "PINCITE_CACHE": os.environ["PINCITE_CACHE"],
        "COLUMNS": "200",
    }

    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*(apart if may else []), *words],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done

    return run


def test_two_builds_give_the_same_bytes_and_the_right_content(release: Release) -> None:
    git = ["git", "-C", str(ROOT), "status", "--porcelain"]
    is_edited = subprocess.run(git, capture_output=True, text=True, check=True).stdout
    problems = [
        each for each in release.problems if not (is_edited and "not of the repository" in each)
    ]
    assert problems == []
    sums = (release.out / "SHA256SUMS").read_text().split()[1::2]
    assert sums == sorted(each.name for each in release.out.iterdir() if each.name != "SHA256SUMS")


def test_the_environment_has_no_network(release: Release) -> None:
    program = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)"
    asked = release.run("python", "-c", program, code=1)
    assert "asked for the network" in asked.stderr or "unreachable" in asked.stderr


def test_the_wheel_does_the_main_job(release: Release) -> None:
    facts = json.loads(release.run("pincite", "--version", "--json").stdout)
    samples = Path(facts["samples"])
    assert samples.is_relative_to(release.environment)
    told = release.run("pincite", "ingest", str(samples)).stdout
    assert "5 added" in told and "vectors in" in told
    found = json.loads(release.run("pincite", "search", "how far apart are rods", "--json").stdout)
    assert any("250.56(B)" in hit["citation"] for hit in found["hits"][:3])
    answer = release.run("pincite", "ask", "how far apart do two earth rods have to be").stdout
    assert "at least 2.4 m apart. [1]" in answer
    assert "Harbourline Electrical Code, 2024 Edition, 250.56(B)" in answer
    assert "all is well" in release.run("pincite", "doctor").stdout


def test_the_version_says_what_was_built(release: Release) -> None:
    git = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    facts = json.loads(release.run("pincite", "--version", "--json").stdout)
    assert facts["version"] == build.version_of(ROOT)
    assert facts["commit"].split()[0] == commit
    assert facts["extras"] == []
    for name, model in facts["models"].items():
        folder = {"encoder": "encode", "reader": "answer"}.get(name.split()[0], "search")
        assert model["sha256"] == build.sha256(ROOT / f"src/pincite/{folder}/minilm/model.onnx")
    shown = release.run("pincite", "--version").stdout
    assert shown.startswith(f"pincite {facts['version']} (commit {commit[:12]}")


def test_the_man_page_is_installed(release: Release) -> None:
    page = release.environment / "share/man/man1/pincite.1"
    assert page.read_bytes() == (ROOT / "docs/man/pincite.1").read_bytes()


COMPLETE = {
    # The shell's own machinery, as a key press would start it.
    "bash": """source share/bash-completion/completions/pincite
        COMP_WORDS=(pincite {line}); COMP_CWORD={count}; COMP_LINE="pincite {line}"
        COMP_POINT=${{#COMP_LINE}}; _pincite_completion pincite
        printf '%s\\n' "${{COMPREPLY[@]}}" """,
    "fish": """source share/fish/vendor_completions.d/pincite.fish
        complete -C 'pincite {line}' """,
    "zsh": """export COMP_WORDS='pincite {line}' COMP_CWORD={count}
        _PINCITE_COMPLETE=zsh_complete pincite""",
}


@pytest.mark.parametrize("shell", COMPLETE)
def test_shells_complete(release: Release, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    def completed(line: str) -> set[str]:
        script = COMPLETE[shell].format(line=line, count=len(line.split()))
        found = release.run(shell, "-c", f"cd {release.environment}\n{script}").stdout
        return set(re.findall(r"[\w-]+", found))

    assert "search" in completed("sea") and "ingest" not in completed("sea")
    assert "--rebuild" in completed("ingest --reb")


def test_tests_of_the_source_archive_run(release: Release, tmp_path: Path) -> None:
    """Some of them, against the wheel; `make test-wheel` runs all that are fast."""
    build.unpack(release.sdist, tmp_path)
    (tree,) = tmp_path.iterdir()
    shutil.rmtree(tree / "src")
    (site,) = release.environment.glob("lib/python*/site-packages")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/unit/model/test_settings.py"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]

"""The checks of a release find what they look for."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest
from scripts.release import build

METADATA = """Metadata-Version: 2.4
Name: pincite
Version: 1.0
Summary: finds clauses
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.11
Description-Content-Type: text/markdown

Words.
"""


def wheel(folder: Path, metadata: str = METADATA, *, without: str = "", more: str = "") -> Path:
    """Write a wheel that has all it needs, or lacks something, or has something more."""
    names = [f"pincite/{name}" for name in build.NEEDED]
    names += [f"pincite-1.0.data/data/share/{name}" for name in build.SHARED]
    names += ["pincite-1.0.dist-info/licenses/LICENSE", "pincite/api.py"]
    file = folder / "pincite-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for name in [*names, *filter(None, [more])]:
            if name != without:
                archive.writestr(name, "x")
        archive.writestr("pincite-1.0.dist-info/METADATA", metadata)
    return file


def test_a_whole_wheel_has_no_problem(tmp_path: Path) -> None:
    assert build.wheel_problems(wheel(tmp_path), "1.0") == []


@pytest.mark.parametrize(
    "name", ["pincite/encode/minilm/model.onnx", "pincite-1.0.dist-info/licenses/LICENSE"]
)
def test_what_is_missing_is_named(tmp_path: Path, name: str) -> None:
    assert build.wheel_problems(wheel(tmp_path, without=name), "1.0") == [f"missing: {name}"]


@pytest.mark.parametrize("name", ["tests/test_a.py", "pincite/rules.pdf", "pincite/a.pkl", "x.py"])
def test_what_does_not_belong_is_named(tmp_path: Path, name: str) -> None:
    (problem,) = build.wheel_problems(wheel(tmp_path, more=name), "1.0")
    assert name in problem


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Version: 1.0", "Version: 1.1", "not of pincite 1.0"),
        ("Version: 1.0", "Version: one", "version"),
        ("Expression: Apache-2.0", "Expression: MIT", "licence: MIT"),
        ("License-File: LICENSE\n", "", "licence:"),
        ("text/markdown", "text/plain", "no description in Markdown"),
        ("\nWords.", "\nWords.", ""),
        ("Summary", "Requires-Dist: a @ https://example.org/a.whl\nSummary", "an address: a"),
    ],
)
def test_metadata_are_read(tmp_path: Path, old: str, new: str, said: str) -> None:
    problems = build.wheel_problems(wheel(tmp_path, METADATA.replace(old, new, 1)), "1.0")
    assert said in " ".join(problems) and bool(problems) == bool(said)


def test_a_source_archive_has_files_of_the_repository_only(tmp_path: Path) -> None:
    file = tmp_path / "pincite-1.0.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name in [*build.SDIST[1:], "PKG-INFO", "tests/somebody-elses.pdf"]:
            archive.add(__file__, f"pincite-1.0/{name}")
    assert build.sdist_problems(file, build.SDIST) == [
        "not of the repository: tests/somebody-elses.pdf",
        f"missing: {build.SDIST[0]}",
    ]

"""pincite --version: what this program is made of, for a report of a problem."""

from __future__ import annotations

import json
import platform
import re
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

from pincite import __version__
from pincite.cli.options import out, print_json

HOME = Path(str(files("pincite")))
MODELS = {"encoder minilm": "embed/minilm", "cross-encoder minilm": "search/minilm"}
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w.-]+)["']""")


def show_version(*, as_json: bool) -> None:
    """Print the version with the facts of this build and this machine."""
    facts = build_facts()
    if as_json:
        print_json(facts)
        return
    commit, _, changed = facts["commit"].partition(" ")
    made = f"commit {commit[:12]} {changed}".strip() if commit else "a source tree"
    out.print(f"pincite {__version__} ({made})", markup=False)
    lines = {
        "python": facts["python"],
        "platform": facts["platform"],
        "index format": facts["index_format"],
        **{name: f"sha256 {model['sha256'][:12]}" for name, model in facts["models"].items()},
        "extras": ", ".join(facts["extras"]) or "none",
        "samples": facts["samples"],
    }
    for name, value in lines.items():
        out.print(f"  {name:<21} {value}", markup=False, soft_wrap=True)


def build_facts() -> dict[str, Any]:
    """Return version, commit, platform, index format, models with checksums, and extras."""
    from pincite.store.manifest import FORMAT

    return {
        "version": __version__,
        "commit": _commit(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "index_format": FORMAT,
        "models": {name: _model(HOME / folder) for name, folder in MODELS.items()},
        "extras": extras_present(),
        "samples": str(_samples()),
    }


def _commit() -> str:
    """Return the commit that a package was built from; empty in a source tree."""
    file = HOME / "build.json"  # written by hatch_build.py
    if not file.is_file():
        return ""
    return str(json.loads(file.read_text(encoding="utf-8"))["commit"])


def _model(folder: Path) -> dict[str, Any]:
    from pincite.store.files import sha256_of

    weights = folder / "model.onnx"
    if not weights.is_file():
        return {"sha256": "missing", "bytes": 0}
    return {"sha256": sha256_of(weights), "bytes": weights.stat().st_size}


def _samples() -> Path:
    packed = HOME / "samples"
    return packed if packed.is_dir() else HOME.parents[1] / "samples"


def extras_present() -> list[str]:
    """Return the extras all of whose packages are here, by what the package itself asks for."""
    try:
        package = metadata.distribution("pincite")
    except metadata.PackageNotFoundError:  # a source tree that was never installed
        return []
    needs: dict[str, list[str]] = {}
    for line in package.requires or ():
        if found := _EXTRA.search(line):
            name = re.match(r"[\w.-]+", line)
            needs.setdefault(found[1], []).append(name[0] if name else line)
    return sorted(extra for extra, names in needs.items() if all(map(_is_here, names)))


def _is_here(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True

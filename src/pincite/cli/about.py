"""pincite --version: what this program is made of, for a report of a problem."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pincite import __version__
from pincite.cli.options import location_from, settings_from
from pincite.cli.terminal import counted, print_json, say
from pincite.model.errors import redact_url

HOME = Path(__file__).parents[1]
MODELS = {
    "encoder minilm": "encode/minilm",
    "cross-encoder minilm": "search/minilm",
    "reader minilm": "answer/minilm",
}
# What each extra of the package brings, by the modules that it is imported as. The metadata of
# the package says it too, and takes ten times as long to read.
EXTRAS = {
    "haystack": ("haystack",),
    "hub": ("sentence_transformers",),
    "langchain": ("langchain_core",),
    "learn": ("lightgbm", "sklearn"),
    "llama-index": ("llama_index.core",),
    "local-llm": ("xllamacpp",),
    "mcp": ("mcp",),
    "mongodb": ("pymongo",),
    "ocr": ("rapidocr",),
    "postgres": ("psycopg",),
    "ray": ("ray",),
    "serve": ("fastapi", "uvicorn", "python_multipart", "prometheus_client"),
}


def show_version(*, as_json: bool) -> None:
    """Print the version with the facts of this build and this machine."""
    facts = build_facts()
    if as_json:
        print_json(facts)
        return
    commit, _, changed = facts["commit"].partition(" ")
    made = f"commit {commit[:12]} {changed}".strip() if commit else "a source tree"
    say(f"pincite {__version__} ({made})")
    lines = {
        "python": facts["python"],
        "platform": facts["platform"],
        "index format": facts["index_format"],
        **{name: f"sha256 {model['sha256'][:12]}" for name, model in facts["models"].items()},
        "extras": ", ".join(facts["extras"]) or "none",
        "samples": facts["samples"],
    }
    for name, value in lines.items():
        say(f"  {name:<21} {value}")


COLUMN = 24  # of commands, before what they do


def show_start() -> None:
    """Say which index a command would use, what is in it, and what to do next."""
    from pincite.store.location import exists, open_snapshot

    say(f"Pincite {__version__} finds the exact place in your documents, and cites it.\n")
    index = location_from(None, ())
    if exists(index, settings_from(None, ()).store):
        with open_snapshot(index, settings_from(None, ()).store) as snapshot:
            names = snapshot.documents()
            generation = snapshot.manifest.generation
        say(f"index: {redact_url(index)}, {counted(len(names), 'document')}, state {generation}\n")
        steps = [
            ('pincite search "WORDS"', "find passages, each with its citation"),
            (
                'pincite ask "QUESTION"',
                "an answer in the documents' own words, if they have one",
            ),
            ("pincite check DRAFT", "does what somebody wrote stand in the documents?"),
            ("pincite list", "what is in the index"),
            ("pincite serve", "the same in a browser"),
        ]
    else:
        say(f"index: none yet in {redact_url(index)}\n")
        steps = [
            ("pincite ingest FOLDER", "read your documents: PDF, Word, HTML, Markdown and more"),
            (f"pincite ingest {_shown(_samples())}", "or try it with the samples"),
        ]
    steps.append(("pincite --help", "all commands"))
    for command, what in steps:
        say((f"  {command:<{COLUMN}}", "bold"), (f"  {what}", "dim"))


def _shown(path: Path) -> str:
    """Return a path as one would type it from here."""
    return shlex.quote(os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path))


def build_facts() -> dict[str, Any]:
    """Return version, commit, platform, index format, models with checksums, and extras."""
    from pincite.store.format import FORMAT

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
    weights = folder / "model.onnx"
    if not weights.is_file():
        return {"sha256": "missing", "bytes": 0}
    with weights.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return {"sha256": digest, "bytes": weights.stat().st_size}


def _samples() -> Path:
    packed = HOME / "samples"
    return packed if packed.is_dir() else HOME.parents[1] / "samples"


def extras_present() -> list[str]:
    """Return the extras all of whose packages are here."""
    return sorted(extra for extra, modules in EXTRAS.items() if all(map(_is_here, modules)))


def _is_here(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False

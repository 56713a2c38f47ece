"""Hashes of a model's files: what was changed since it was exported is not run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.core.errors import MALFORMED
from pincite.embed.onnx_files import Broken

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FACTS = "model.json"


def listed_hashes(home: Traversable, broken: Broken) -> Mapping[str, str]:
    """Return the hashes by file that a model's folder lists; a stranger's folder lists none."""
    file = home.joinpath(FACTS)
    if not file.is_file():
        return {}
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): str(value) for name, value in dict(values.get("sha256", {})).items()}
    except (OSError, *MALFORMED) as error:
        raise broken(f"{FACTS} cannot be read: {error}") from error


def write_hashes(home: Path) -> None:
    """List a model's files with their hashes; what is changed afterwards is not loaded."""
    files = [file for file in sorted(home.iterdir()) if file.suffix in (".onnx", ".npz", ".json")]
    hashes = {f.name: sha256(f.read_bytes()).hexdigest() for f in files if f.name != FACTS}
    text = json.dumps({"sha256": hashes}, indent=1, sort_keys=True)
    (home / FACTS).write_text(text + "\n", encoding="utf-8")


def check_hash(name: str, data: bytes, hashes: Mapping[str, str], broken: Broken) -> None:
    """Raise the model's error if a file is not the one that was listed."""
    if name in hashes and sha256(data).hexdigest() != hashes[name]:
        raise broken(f"{name} is not the file that {FACTS} lists: it was damaged or changed")

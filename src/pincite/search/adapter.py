"""A linear map that turns the vectors of questions towards what answers them in one corpus."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pincite.encode.models import Array
from pincite.model.errors import MALFORMED, ModelError

MAX_BYTES = 64_000_000


@dataclass(frozen=True)
class QueryAdapter:
    """What `pincite adapt` learned: it is added to a question's vector. Documents stay as they are.

    It belongs to the encoder whose vectors it was learned from.
    """

    model: str  # the encoder's id
    change: Array  # width of the encoder twice: a question's vector times this is added to it
    about: dict[str, Any] = field(default_factory=dict)

    def __call__(self, vector: Array) -> Array:
        """Return the vector of a question as this corpus wants it, of length one."""
        moved = vector + vector @ self.change
        scaled: Array = (moved / max(float(np.linalg.norm(moved)), 1e-9)).astype(np.float32)
        return scaled

    def save(self, file: Path) -> None:
        """Write it to a file."""
        facts = json.dumps({"model": self.model, "about": self.about}, sort_keys=True)
        with file.open("wb") as stream:
            np.savez_compressed(stream, change=self.change.astype(np.float16), facts=facts)

    @classmethod
    def load(cls, file: str | Path, model: str) -> QueryAdapter:
        """Return the adapter of a file; ModelError if it is none, or of another encoder."""
        try:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_BYTES)
            arrays = np.load(BytesIO(data), allow_pickle=False)
            change, facts = arrays["change"].astype(np.float32), json.loads(str(arrays["facts"]))
            if change.ndim != 2 or len(change) != change.shape[1] or not np.isfinite(change).all():
                raise ValueError("its numbers make no map")
            found = cls(str(facts["model"]), change, dict(facts["about"]))
        except (OSError, *MALFORMED) as error:
            raise ModelError(
                f"{file} is no adapter: {error}", hint="make one: pincite adapt QUESTIONS"
            ) from error
        if found.model != model:
            raise ModelError(
                f"{file} was learned from vectors of {found.model}, the search uses {model}",
                hint="learn another one for this encoder: pincite adapt QUESTIONS",
            )
        return found

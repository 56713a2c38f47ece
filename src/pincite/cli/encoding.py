"""Vectors for chunks that lack them, with progress: for every command that makes such chunks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pincite.cli.terminal import Bar, counted, tell

if TYPE_CHECKING:
    from pincite.model.settings import Settings

LONG_WORK = 2000  # chunks to encode: about half a minute


def embed(index: str, settings: Settings, *, as_json: bool) -> dict[str, float] | None:
    """Give new chunks their vectors, and return how many; None if all have them."""
    from pincite.update import embed_index

    start = time.perf_counter()
    last = None
    with Bar("encoding", None) as bar:
        for step in embed_index(index, settings):
            if last is None and step.total > LONG_WORK and not as_json:
                tell(
                    f"search by words works now; encoding {step.total:,} chunks for search by "
                    "meaning (Ctrl-C is safe: the next ingest goes on)"
                )
            last = step
            bar.update(step.done, step.total)
    if last is None:
        return None
    if last.without and not as_json:
        have = counted(last.without, "chunk has", "chunks have")
        tell(f"{have} no vector; search by words still works")
    seconds = time.perf_counter() - start
    return {"chunks": last.done - last.without, "without": last.without, "seconds": seconds}

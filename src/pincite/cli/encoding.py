"""Vectors for chunks that lack them, with progress: for every command that makes such chunks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pincite.cli.options import counted, err

if TYPE_CHECKING:
    from pincite.core.settings import Settings

LONG_WORK = 2000  # chunks to encode: about half a minute


def embed(index: str, settings: Settings, *, as_json: bool) -> dict[str, float] | None:
    """Give new chunks their vectors, and return how many; None if all have them."""
    from rich.progress import Progress

    from pincite.vectorise import embed_index

    start = time.perf_counter()
    last = None
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("encoding", total=None)
        for step in embed_index(index, settings):
            if last is None and step.total > LONG_WORK and not as_json:
                bar.console.print(
                    f"search by words works now; encoding {step.total:,} chunks for search by "
                    "meaning (Ctrl-C is safe: the next ingest goes on)",
                    soft_wrap=True,
                )
            last = step
            bar.update(task, total=step.total, completed=step.done)
    if last is None:
        return None
    seconds = time.perf_counter() - start
    if last.without and not as_json:
        have = counted(last.without, "chunk has", "chunks have")
        err.print(f"{have} no vector; search by words still works", soft_wrap=True)
    return {"chunks": last.done - last.without, "without": last.without, "seconds": seconds}

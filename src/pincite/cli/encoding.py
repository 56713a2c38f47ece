"""Vectors for chunks that lack them, with progress: for every command that makes such chunks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pincite.cli.terminal import Bar, counted, tell

if TYPE_CHECKING:
    from pincite.model.settings import Settings
    from pincite.update import EncodingProgress

LONG_WORK = 2000  # chunks to encode: about half a minute


def embed(index: str, settings: Settings, *, as_json: bool) -> dict[str, float | str] | None:
    """Give new chunks their vectors, and return how many; None if all have them."""
    from pincite.update import embed_index

    start = time.perf_counter()
    last = None
    with Bar("encoding", None) as bar:
        for step in embed_index(index, settings):
            is_first = last is None or last.model != step.model
            if is_first and step.total > LONG_WORK and not as_json:
                _tell_beginning(step, settings)
            last = step
            bar.update(step.done, step.total)
    if last is None:
        return None
    if not as_json:
        _tell_end(last)
    seconds = time.perf_counter() - start
    done = 0 if last.seconds_left else last.done - last.without
    model = "static" if last.seconds_left else last.model
    return {"chunks": done, "without": last.without, "seconds": seconds, "model": model}


def _tell_beginning(step: EncodingProgress, settings: Settings) -> None:
    """Say what works now, and what takes some time."""
    if step.model != settings.embedding.model:
        tell(f"search by words works now; quick vectors for {step.total:,} chunks")
        return
    tell(
        f"search works now; encoding {step.total:,} chunks for a better search by "
        "meaning (Ctrl-C is safe: the next ingest goes on)"
    )


def _tell_end(last: EncodingProgress) -> None:
    """Say what search by meaning lacks."""
    if last.seconds_left:
        tell(
            f"search by meaning uses static vectors: {last.model} would take about "
            f"{_duration(last.seconds_left)} more (pincite ingest --patience 0 waits for it)"
        )
    elif last.without:
        have = counted(last.without, "chunk has", "chunks have")
        tell(f"{have} no vector; search by words still works")


def _duration(seconds: float) -> str:
    """Return a time in words.

    >>> _duration(1900), _duration(9000)
    ('32 minutes', '2.5 hours')
    """
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 100 else f"{minutes / 60:.1f} hours"

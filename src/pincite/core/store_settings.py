"""The settings of an index in a server; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """An index in a server (``--index postgresql://...``). A folder needs none of these."""

    # An answer that takes longer is an error, not a hang.
    timeout_seconds: float = 10.0
    # Compare all vectors instead of asking the server's own approximate index.
    exact: bool = False
    # So many questions are asked at a time; more wait.
    connections: int = 8

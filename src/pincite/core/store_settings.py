"""The settings of an index in a server; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the index is, and how to talk to a server. A folder needs none of the others."""

    # The index that commands use without --index and PINCITE_INDEX: the URL of a server, or a
    # folder. Empty: the folder pincite-index. It is never shown with its password.
    url: str = field(default="", repr=False)
    # Where files are kept that belong to an index in a server and do not come from documents: runs
    # of `eval`, uploads, judgements. Replicas that share uploads share it. Empty: pincite-files.
    folder: str = ""
    # An answer that takes longer is an error, not a hang.
    timeout_seconds: float = 10.0
    # Compare all vectors instead of asking the server's own approximate index.
    exact: bool = False
    # So many questions are asked at a time; more wait.
    connections: int = 8

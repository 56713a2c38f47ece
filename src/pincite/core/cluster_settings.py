"""Settings of work on several machines: which cluster, and what is done when a node is lost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Where long work is done (docs/cluster.md, extra ``ray``). Changes no result."""

    # "": processes of this machine; "auto": the Ray cluster that this machine belongs to;
    # "host:6379": the one with this head; "ray://host:10001": one that this machine is no part of;
    # "local": a Ray of its own on this machine, to try it out.
    address: str = ""
    # How often a task is given to another node after its own was lost.
    retries: int = 3
    # Shared memory of a "local" Ray, in megabytes; what does not fit is kept on disk.
    object_store_mb: int = 200

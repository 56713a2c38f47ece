"""All targets by name."""

from __future__ import annotations

from fuzz.harness import Target
from fuzz.targets import documents, judged, places, service, stored, talk, written

_PARTS = (documents, places, written, judged, stored, talk, service)
PARTS = {each.name: part.__name__.rpartition(".")[2] for part in _PARTS for each in part.TARGETS}
TARGETS: dict[str, Target] = {each.name: each for part in _PARTS for each in part.TARGETS}

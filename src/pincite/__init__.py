"""Pincite finds the exact clause, table row or rule in reference documents and cites it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.api import Index, open
    from pincite.model.errors import PinciteError
    from pincite.model.settings import Settings, load_settings
    from pincite.model.types import Chunk, Document, Filters, Hit, Judgement, Query, Ranking, Span
    from pincite.read.load import find_files
    from pincite.search.passages import Passage, cite
    from pincite.search.pipeline import Searcher
    from pincite.search.reader import Result
    from pincite.update import IngestReport, Outcome, embed_index, ingest_files, iter_ingest, remove

# The one place that states the version; pyproject.toml reads it here.
__version__ = "0.2.0"

# Names are imported when they are first used: `import pincite` loads nothing heavy.
_HOMES = {
    "Chunk": "pincite.model.types",
    "Document": "pincite.model.types",
    "Filters": "pincite.model.types",
    "Hit": "pincite.model.types",
    "Index": "pincite.api",
    "IngestReport": "pincite.update",
    "Judgement": "pincite.model.types",
    "Outcome": "pincite.update",
    "Passage": "pincite.search.passages",
    "PinciteError": "pincite.model.errors",
    "Query": "pincite.model.types",
    "Ranking": "pincite.model.types",
    "Result": "pincite.search.reader",
    "Searcher": "pincite.search.pipeline",
    "Settings": "pincite.model.settings",
    "Span": "pincite.model.types",
    "cite": "pincite.search.passages",
    "embed_index": "pincite.update",
    "find_files": "pincite.update",
    "ingest_files": "pincite.update",
    "iter_ingest": "pincite.update",
    "load_settings": "pincite.model.settings",
    "open": "pincite.api",
    "remove": "pincite.update",
}

__all__ = [
    "Chunk",
    "Document",
    "Filters",
    "Hit",
    "Index",
    "IngestReport",
    "Judgement",
    "Outcome",
    "Passage",
    "PinciteError",
    "Query",
    "Ranking",
    "Result",
    "Searcher",
    "Settings",
    "Span",
    "cite",
    "embed_index",
    "find_files",
    "ingest_files",
    "iter_ingest",
    "load_settings",
    "open",
    "remove",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pincite' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

"""Pincite finds the exact clause, table row or rule in reference documents and cites it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.answer.citing import cite
    from pincite.answer.passage import Passage
    from pincite.api import Index, open
    from pincite.core.errors import PinciteError
    from pincite.core.settings import Settings, load_settings
    from pincite.core.types import Chunk, Document, Filters, Hit, Judgement, Query, Ranking, Span
    from pincite.search.pipeline import Searcher
    from pincite.search.reader import Result
    from pincite.update import IngestReport, Outcome, find_files, ingest_files, iter_ingest, remove
    from pincite.vectorise import embed_index

# The one place that states the version; pyproject.toml reads it here.
__version__ = "0.2.0"

# Names are imported when they are first used: `import pincite` loads nothing heavy.
_HOMES = {
    "Chunk": "pincite.core.types",
    "Document": "pincite.core.types",
    "Filters": "pincite.core.types",
    "Hit": "pincite.core.types",
    "Index": "pincite.api",
    "IngestReport": "pincite.update",
    "Judgement": "pincite.core.types",
    "Outcome": "pincite.update",
    "Passage": "pincite.answer.passage",
    "PinciteError": "pincite.core.errors",
    "Query": "pincite.core.types",
    "Ranking": "pincite.core.types",
    "Result": "pincite.search.reader",
    "Searcher": "pincite.search.pipeline",
    "Settings": "pincite.core.settings",
    "Span": "pincite.core.types",
    "cite": "pincite.answer.citing",
    "embed_index": "pincite.vectorise",
    "find_files": "pincite.update",
    "ingest_files": "pincite.update",
    "iter_ingest": "pincite.update",
    "load_settings": "pincite.core.settings",
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

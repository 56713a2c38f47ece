"""Where an index lives: a folder of this machine, or a server named by a URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from pincite.model.errors import ConfigError, has_stray_password, is_server, redact_url
from pincite.model.settings import StoreSettings
from pincite.store.manifest import Manifest, current, has_pointer, pointer_text
from pincite.store.snapshot import Snapshot
from pincite.store.writer import IndexWriter

if TYPE_CHECKING:
    from pincite.store.server.contract import StoreEngine

Location = str | Path
# Who opens an engine for a scheme: module and name. Loaded when such a URL is first used.
ENGINES = {
    "chroma": "pincite.store.chroma.engine:ChromaEngine",
    "mongodb": "pincite.store.mongodb.engine:MongoEngine",
    "mongodb+srv": "pincite.store.mongodb.engine:MongoEngine",
    "opensearch": "pincite.store.opensearch.engine:OpenSearchEngine",
    "postgresql": "pincite.store.postgres.engine:PostgresEngine",
    "postgres": "pincite.store.postgres.engine:PostgresEngine",
}
# Their URLs name an index by the path; others by what stands behind #.
NAMED_BY_PATH = ("chroma", "opensearch")
DEFAULT_NAME = "pincite"


def open_engine(location: Location, settings: StoreSettings | None = None) -> StoreEngine:
    """Return the engine behind a URL; ConfigError if nobody knows its scheme."""
    scheme = str(location).partition("://")[0].lower()
    if scheme == "milvus":
        raise ConfigError(
            "an index can no longer live in Milvus",
            hint="use postgresql://, which searches vectors, too, or a folder: see docs/scale.md",
        )
    if scheme not in ENGINES:
        named = f"{scheme}://" if scheme.isalnum() else "this URL"  # who knows what is in it
        known = ", ".join(sorted(ENGINES))
        raise ConfigError(f"no store for {named}", hint=f"known: {known}, or a folder")
    _check_url(str(location))
    module, _, name = ENGINES[scheme].partition(":")
    make: Callable[..., StoreEngine] = getattr(import_module(module), name)
    return make(str(location), settings)


def place_in(url: str, name: str) -> str:
    """Return the URL of an index of some name in a server; ConfigError if it names one already.

    >>> place_in("postgresql://host/laws", "acts"), place_in("chroma://host:8000?tls=true", "acts")
    ('postgresql://host/laws#acts', 'chroma://host:8000/acts?tls=true')
    """
    parts = urlsplit(url)
    is_path = parts.scheme in NAMED_BY_PATH
    if parts.fragment or (is_path and parts.path.strip("/")):
        raise ConfigError(
            f"{redact_url(url)} names an index, and a server is wanted",
            hint="leave out what is behind the host" if is_path else "leave out what is behind #",
        )
    return urlunsplit(parts._replace(**({"path": f"/{name}"} if is_path else {"fragment": name})))


def place_beside(url: str, ending: str) -> str:
    """Return the URL of another index of the same server: its name has an ending.

    >>> place_beside("postgresql://host/db#laws", "_plan"), place_beside("chroma://host", "_plan")
    ('postgresql://host/db#laws_plan', 'chroma://host/pincite_plan')
    """
    parts = urlsplit(url)
    name = parts.path.strip("/") if parts.scheme in NAMED_BY_PATH else parts.fragment
    bare = urlunsplit(parts._replace(fragment=""))
    if parts.scheme in NAMED_BY_PATH:
        bare = urlunsplit(parts._replace(path=""))
    return place_in(bare, f"{name or DEFAULT_NAME}{ending}")


def _check_url(url: str) -> None:
    """Raise ConfigError for what a driver would not understand, and repeat in its own error."""
    hosts = urlsplit(url).netloc.rpartition("@")[2].split(",")
    ports = [host.rpartition("]")[2].rpartition(":")[2] for host in hosts if ":" in host]
    if has_stray_password(url) or not all(port.isdecimal() or not port for port in ports):
        raise ConfigError(
            f"the URL {url.partition(':')[0]}://… has no host and port that can be read",
            hint="signs of a password that mean something in a URL are written %2F, %3A, %40, %23",
        )


def open_snapshot(location: Location, settings: StoreSettings | None = None) -> Snapshot:
    """Return the current generation of an index."""
    if not is_server(location):
        return Snapshot.open(Path(location))
    engine = open_engine(location, settings)
    try:
        # Loaded here: an index in a folder needs nothing of servers.
        from pincite.store.server.snapshot import ServerSnapshot

        return ServerSnapshot.of(engine)
    except BaseException:
        engine.close()
        raise


def open_writer(
    location: Location,
    shape: Mapping[str, Any],
    *,
    rebuild: bool = False,
    settings: StoreSettings | None = None,
    begin: Callable[[], Manifest] | None = None,
) -> IndexWriter:
    """Return the one writer of an index, to be used in a ``with`` statement.

    For a folder ``begin`` may say what to build on (see :class:`IndexWriter`).
    """
    if not is_server(location):
        return IndexWriter(Path(location), shape, rebuild=rebuild, begin=begin)
    from pincite.store.server.writer import ServerWriter

    return ServerWriter(open_engine(location, settings), shape, rebuild=rebuild)


def shape_of(location: Location, settings: StoreSettings | None = None) -> Mapping[str, Any]:
    """Return the settings that an index was built with."""
    if not is_server(location):
        return current(Path(location)).shape
    with open_snapshot(location, settings) as snapshot:
        return snapshot.manifest.shape


def exists(location: Location, settings: StoreSettings | None = None) -> bool:
    """Tell whether there is an index."""
    if not is_server(location):
        return has_pointer(Path(location))
    engine = open_engine(location, settings)
    try:
        return engine.head() is not None
    finally:
        engine.close()


def server_of(location: Location, settings: StoreSettings | None = None) -> str:
    """Return name and version of the server of a URL, or its scheme if it does not tell them."""
    engine = open_engine(location, settings)
    try:
        return engine.server()
    finally:
        engine.close()


def remove_index(location: str, settings: StoreSettings | None = None) -> bool:
    """Remove an index from its server, if that can; False if it cannot."""
    engine = open_engine(location, settings)
    try:
        return engine.remove()
    finally:
        engine.close()


class GenerationPoller:
    """Tells again and again, at little cost, whether an index is another one than before."""

    def __init__(self, location: Location, settings: StoreSettings | None = None) -> None:
        self._location = location
        self._engine = open_engine(location, settings) if is_server(location) else None

    def stamp(self) -> str:
        """Return what only the current generation has; empty if there is no index yet."""
        if self._engine is not None:
            return self._engine.stamp()
        folder = Path(self._location)
        return pointer_text(folder) if has_pointer(folder) else ""

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

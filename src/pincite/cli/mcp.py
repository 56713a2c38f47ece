"""pincite mcp: the documents as tools for agents."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    SetOption,
    err,
    settings_from,
    told,
)
from pincite.core.errors import ConfigError
from pincite.core.extras import require
from pincite.core.locations import is_server

if TYPE_CHECKING:
    from pincite.api import Index
    from pincite.serve.collections import Collection

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN = "PINCITE_MCP_TOKEN"
MIN_TOKEN_CHARS = 16


def mcp(
    http: Annotated[
        str, typer.Option("--http", help="Serve HTTP at HOST:PORT; standard input without.")
    ] = "",
    access: Annotated[
        list[str] | None,
        typer.Option("--access", help="Only what one with these access tags may see; '' for none."),
    ] = None,
    links: Annotated[
        str, typer.Option("--links", help="Where the documents are on the web: https://…/docs/.")
    ] = "",
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
) -> None:
    """Serve the documents to agents by the Model Context Protocol."""
    with told(as_json=False, index=index):
        require("mcp", extra="mcp")
        host, port = _address(http) if http else ("", 0)
        token = _token(os.environ, host)
        settings = settings_from(config, sets)
        # Standard output belongs to the protocol.
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="pincite: %(message)s")
        from pincite.mcp.server import make_server
        from pincite.serve.collections import Collection
        from pincite.store.location import open_snapshot

        open_snapshot(index, settings.store).close()  # without an index there is nothing to serve
        tags = None if access is None else tuple(tag for tag in access if tag)
        collection = Collection("documents", index, settings)
        server = make_server(partial(_lent, collection, tags), links=links)
        if http:
            _serve(server, host, port, token)
        else:
            server.run("stdio")
        collection.close()


def _lent(
    collection: Collection, access: tuple[str, ...] | None, _request: object
) -> AbstractContextManager[Index]:
    """Lend the newest generation; a server is not asked before every call."""
    seconds = collection.settings.serve.reload_seconds
    collection.refresh(within=seconds if is_server(collection.location) else 0.0)
    return collection.lease(access)


def _serve(server: Any, host: str, port: int, token: str) -> None:
    import uvicorn

    from pincite.mcp.server import WithToken, http_app

    app = http_app(server, is_local=host in LOOPBACK)
    shown = f"[{host}]" if ":" in host else host
    err.print(f"MCP at http://{shown}:{port}/mcp; stop with ctrl-c", markup=False)
    guarded: Any = WithToken(app, token) if token else app
    uvicorn.run(guarded, host=host, port=port, log_config=None, lifespan="on")


def _address(text: str) -> tuple[str, int]:
    """Return host and port; ConfigError if the text is not HOST:PORT."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(f"--http {text}: no address", hint="write --http 127.0.0.1:8848")
    return host, int(port)


def _token(environment: Mapping[str, str], host: str) -> str:
    """Return the token that callers need; without one, only this machine may call."""
    token = environment.get(TOKEN, "")
    if token and len(token) < MIN_TOKEN_CHARS:
        raise ConfigError(
            f"{TOKEN} has {len(token)} characters", hint=f"use {MIN_TOKEN_CHARS} or more"
        )
    if host and host not in LOOPBACK and not token:
        raise ConfigError(
            f"--http {host} can be reached from other machines, and nobody has to say who they are",
            hint=f"set {TOKEN} to a long random word, or use --http 127.0.0.1:PORT",
        )
    return token

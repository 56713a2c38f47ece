"""pincite serve, keys and mcp: the documents over HTTP, who may see them, and as tools."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.options import PATH, Call, argument, command, location_from, option
from pincite.cli.terminal import print_json, say, tell
from pincite.model.errors import ConfigError, is_server, require

if TYPE_CHECKING:
    from pincite.search.reader import IndexReader
    from pincite.serve.collections import ServedCollection

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN = "PINCITE_MCP_TOKEN"
MIN_TOKEN_CHARS = 16


@command("serve", index=False)
@option(
    "--index", "-i", "places", multiple=True, help="FOLDER or URL; NAME=FOLDER for each of several."
)
@option("--host", default="127.0.0.1", help="Address to listen at.")
@option("--port", "-p", type=click.IntRange(0, 65535), default=8321, help="Port to listen at.")
@option("--workers", type=click.IntRange(1, 64), default=1, help="Processes; they share the index.")
@option("--keys", type=PATH, help="File of keys; ./pincite-keys.json if it is there.")
@option("--open", "is_open", is_flag=True, help="Serve other machines without keys.")
@option("--audit-log", type=PATH, help="Append a JSON line for each request.")
def serve(
    call: Call,
    places: tuple[str, ...],
    host: str,
    port: int,
    workers: int,
    keys: Path | None,
    is_open: bool,
    audit_log: Path | None,
) -> None:
    """Serve one index or several over HTTP until it is interrupted."""
    for module in ("fastapi", "uvicorn", "python_multipart", "prometheus_client"):
        require(module, extra="serve")
    from pincite.serve.access import DEFAULT_FILE
    from pincite.serve.run import ListenAddress, places_from, run
    from pincite.serve.service import Options

    usual = "" if places else location_from(call.config, call.sets)
    served = places_from(list(places), usual)
    file = keys or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    who = f"keys of {file}" if file else "no keys: everybody who reaches it may do everything"

    def announce() -> None:
        _warn_of_none(served)
        tell(f"http://{host}:{port}  ({', '.join(served)}; {who})")

    options, address = Options(file, audit_log, workers), ListenAddress(host, port)
    run(served, call.settings, options, address, is_open=is_open, announce=announce)


def _warn_of_none(places: Mapping[str, str]) -> None:
    """Say which folders have no index; it is no error, for an upload makes one."""
    from pincite.store.location import exists

    for place in places.values():
        if not is_server(place) and not exists(place):
            hint = f"or run: pincite ingest FILES --index {place}"
            words = f"warning: there is no index in {place} yet; upload documents, {hint}"
            tell(words, style="yellow")


@click.group("keys", help="Keys of the service: make, list and revoke them.")
def keys() -> None:
    """Keys of the service."""


key_file_option = option(
    "--file",
    type=PATH,
    default=Path("pincite-keys.json"),
    envvar="PINCITE_KEYS",
    help="File of keys.",
)


@command("add", index=False, settings=False)
@argument("name", help="Whose key it is, in your own words.")
@option("--scope", "scopes", multiple=True, help="read (default), write or admin.")
@option("--collection", "collections", multiple=True, help="Only these; all if none is named.")
@option("--access", multiple=True, help="Sees documents with this access tag.")
@option(
    "--all-documents",
    "everything",
    is_flag=True,
    help="Sees every document, whatever its tags.",
)
@option("--days", type=click.FloatRange(min=0), help="Expires after.")
@option("--rate", type=click.IntRange(min=0), help="Requests a minute; 0: no limit.")
@key_file_option
def add_key(
    call: Call,
    name: str,
    scopes: tuple[str, ...],
    collections: tuple[str, ...],
    access: tuple[str, ...],
    everything: bool,
    days: float | None,
    rate: int | None,
    file: Path,
) -> None:
    """Make a key and show it, this once: the file holds only its hash.

    A key sees documents without access tags, and those with a tag that it is given.
    """
    from pincite.serve.access import add_key as keep
    from pincite.serve.access import new_key

    if everything and access:
        raise ConfigError("--all-documents and --access exclude each other")
    key, secret = new_key(
        name,
        scopes or ["read"],
        collections=collections,
        access=None if everything else access,
        rate_per_minute=rate,
        days=days,
    )
    keep(file, key)
    if call.as_json:
        print_json({"id": key.id, "key": secret, "expires": key.expires or None})
        return
    say(secret)
    tell(f"{key.id}: {name} ({', '.join(key.scopes)}) → {file}")


@command("list", index=False, settings=False)
@key_file_option
def list_keys(call: Call, file: Path) -> None:
    """List the keys, without their secrets."""
    from pincite.serve.access import read_keys

    rows: list[dict[str, Any]] = [
        {
            "id": key.id,
            "name": key.name,
            "scopes": list(key.scopes),
            "collections": list(key.collections),
            "access": None if key.access is None else list(key.access),
            "rate_per_minute": key.rate_per_minute,
            "created": key.created,
            "expires": key.expires or None,
        }
        for key in read_keys(file).keys
    ]
    if call.as_json:
        print_json(rows)
        return
    for row in rows:
        sees = "all documents" if row["access"] is None else ", ".join(row["access"]) or "untagged"
        where = ", ".join(row["collections"]) or "all collections"
        until = f"; expires {row['expires']}" if row["expires"] else ""
        say(f"{row['id']}  {row['name']}  {', '.join(row['scopes'])}; {where}; {sees}{until}")


@command("revoke", index=False, settings=False)
@argument("key", help="Id of the key, as 'keys list' shows it.")
@key_file_option
def revoke_key(call: Call, key: str, file: Path) -> None:
    """Take a key out; a running service forgets it within a second or so."""
    from pincite.serve.access import revoke_key as take_out

    gone = take_out(file, key)
    if call.as_json:
        print_json({"revoked": gone.id})
    else:
        say(f"revoked {gone.id} ({gone.name})")


for _each in (add_key, list_keys, revoke_key):
    keys.add_command(_each)


@command("mcp", as_json=False)
@option("--http", default="", help="Serve HTTP at HOST:PORT; standard input without.")
@option(
    "--access",
    multiple=True,
    help="Only what one with these access tags may see; '' for none.",
)
@option("--links", default="", help="Where the documents are on the web: https://…/docs/.")
def mcp(call: Call, http: str, access: tuple[str, ...], links: str) -> None:
    """Serve the documents to agents by the Model Context Protocol."""
    require("mcp", extra="mcp")
    host, port = _address(http) if http else ("", 0)
    token = _token(os.environ, host)
    # Standard output belongs to the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="pincite: %(message)s")
    from pincite.mcp.server import make_server
    from pincite.serve.collections import ServedCollection
    from pincite.store.location import open_snapshot

    # Without an index there is nothing to serve.
    open_snapshot(call.index, call.settings.store).close()
    tags = tuple(tag for tag in access if tag) if access else None
    collection = ServedCollection("documents", call.index, call.settings)
    server = make_server(partial(_lent, collection, tags), links=links)
    if http:
        _serve_tools(server, host, port, token)
    else:
        server.run("stdio")
    collection.close()


def _lent(
    collection: ServedCollection, access: tuple[str, ...] | None, _request: object
) -> AbstractContextManager[IndexReader]:
    """Lend the newest generation; a server is not asked before every call."""
    seconds = collection.settings.tuning.serve.reload_seconds
    collection.refresh(within=seconds if is_server(collection.location) else 0.0)
    return collection.lease(access)


def _serve_tools(server: Any, host: str, port: int, token: str) -> None:
    import uvicorn

    from pincite.mcp.server import WithToken, http_app

    app = http_app(server, is_local=host in LOOPBACK)
    written = f"[{host}]" if ":" in host else host
    tell(f"MCP at http://{written}:{port}/mcp; stop with ctrl-c")
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

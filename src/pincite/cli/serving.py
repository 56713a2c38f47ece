"""pincite serve: search, ask and documents over HTTP."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from pincite.cli.options import (
    ConfigOption,
    JsonOption,
    SetOption,
    err,
    location_from,
    settings_from,
    told,
)
from pincite.core.locations import is_server


def serve(
    index: Annotated[
        list[str] | None,
        typer.Option("--index", "-i", help="FOLDER or URL; NAME=FOLDER for each of several."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", help="Port to listen at.", min=0, max=65535)
    ] = 8321,
    workers: Annotated[
        int, typer.Option("--workers", help="Processes; they share the index.", min=1, max=64)
    ] = 1,
    keys: Annotated[
        Path | None,
        typer.Option("--keys", help="File of keys; ./pincite-keys.json if it is there."),
    ] = None,
    is_open: Annotated[
        bool, typer.Option("--open", help="Serve other machines without keys.")
    ] = False,
    audit_log: Annotated[
        Path | None, typer.Option("--audit-log", help="Append a JSON line for each request.")
    ] = None,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve one index or several over HTTP until it is interrupted."""
    from pincite.core.extras import require

    with told(as_json=as_json):
        require("fastapi", extra="serve")
        require("uvicorn", extra="serve")
        require("python_multipart", extra="serve")
        require("prometheus_client", extra="serve")
        from pincite.serve.keys import DEFAULT_FILE
        from pincite.serve.run import Address, places_from, run
        from pincite.serve.service import Options

        settings = settings_from(config, sets)
        places = places_from(index or [], "" if index else location_from(config, sets))
        file = keys or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
        options = Options(file, audit_log, workers)
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        logging.getLogger("httpx").setLevel(logging.WARNING)
        who = f"keys of {file}" if file else "no keys: everybody who reaches it may do everything"

        def announce() -> None:
            _warn_of_none(places)
            line = f"http://{host}:{port}  ({', '.join(places)}; {who})"
            err.print(line, markup=False, soft_wrap=True)

        run(places, settings, options, Address(host, port), is_open=is_open, announce=announce)


def _warn_of_none(places: dict[str, str]) -> None:
    """Say which folders have no index; it is no error, for an upload makes one."""
    from pincite.store.location import exists

    for place in places.values():
        if not is_server(place) and not exists(place):
            err.print(
                f"warning: there is no index in {place} yet; upload documents, "
                f"or run: pincite ingest FILES --index {place}",
                markup=False,
                style="yellow",
                soft_wrap=True,
            )

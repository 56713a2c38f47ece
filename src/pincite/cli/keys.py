"""pincite keys: who may use the service, and for what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pincite.cli.options import JsonOption, err, out, print_json, told

app = typer.Typer(help="Keys of the service: make, list and revoke them.", no_args_is_help=True)
FileOption = Annotated[Path, typer.Option("--file", envvar="PINCITE_KEYS", help="File of keys.")]
FILE = Path("pincite-keys.json")


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Whose key it is, in your own words.")],
    scopes: Annotated[
        list[str] | None, typer.Option("--scope", help="read (default), write or admin.")
    ] = None,
    collections: Annotated[
        list[str] | None, typer.Option("--collection", help="Only these; all if none is named.")
    ] = None,
    access: Annotated[
        list[str] | None, typer.Option("--access", help="Sees documents with this access tag.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all-documents", help="Sees every document, whatever its tags.")
    ] = False,
    days: Annotated[float | None, typer.Option("--days", help="Expires after.", min=0)] = None,
    rate: Annotated[
        int | None, typer.Option("--rate", help="Requests a minute; 0: no limit.", min=0)
    ] = None,
    file: FileOption = FILE,
    as_json: JsonOption = False,
) -> None:
    """Make a key and show it, this once: the file holds only its hash.

    A key sees documents without access tags, and those with a tag that it is given.
    """
    from pincite.core.errors import ConfigError
    from pincite.serve.keys import add_key, new_key

    with told(as_json=as_json):
        if everything and access:
            raise ConfigError("--all-documents and --access exclude each other")
        key, secret = new_key(
            name,
            scopes or ["read"],
            collections=collections or (),
            access=None if everything else access or (),
            rate_per_minute=rate,
            days=days,
        )
        add_key(file, key)
    if as_json:
        print_json({"id": key.id, "key": secret, "expires": key.expires or None})
        return
    out.print(secret, markup=False, soft_wrap=True)
    err.print(f"{key.id}: {name} ({', '.join(key.scopes)}) → {file}", markup=False)


@app.command("list")
def listing(file: FileOption = FILE, as_json: JsonOption = False) -> None:
    """List the keys, without their secrets."""
    from pincite.serve.keys import read_keys

    with told(as_json=as_json):
        keys = read_keys(file).keys
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
        for key in keys
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        sees = "all documents" if row["access"] is None else ", ".join(row["access"]) or "untagged"
        where = ", ".join(row["collections"]) or "all collections"
        until = f"; expires {row['expires']}" if row["expires"] else ""
        line = f"{row['id']}  {row['name']}  {', '.join(row['scopes'])}; {where}; {sees}{until}"
        out.print(line, markup=False, soft_wrap=True)


@app.command("revoke")
def revoke(
    key: Annotated[str, typer.Argument(help="Id of the key, as 'keys list' shows it.")],
    file: FileOption = FILE,
    as_json: JsonOption = False,
) -> None:
    """Take a key out; a running service forgets it within a second or so."""
    from pincite.serve.keys import revoke_key

    with told(as_json=as_json):
        gone = revoke_key(file, key)
    if as_json:
        print_json({"revoked": gone.id})
    else:
        out.print(f"revoked {gone.id} ({gone.name})", markup=False)

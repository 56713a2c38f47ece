"""/mcp inside the service: a real MCP client, with the service's keys and tenants."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason='needs: pip install "pincite[mcp]"')

import httpx
import httpx2
from mcp.client.streamable_http import streamable_http_client

from pincite.read.load import find_files
from pincite.serve.access import add_key, new_key
from pincite.serve.service import Options
from pincite.update import ingest_files

from .conftest import served, settings

OPEN = "# Rules\n\n## 1 Rods\n\nRods are 2 m apart.\n\n## 2 Wires\n\nThin.\n"
SECRET = "---\naccess: staff\n---\n# Vault\n\n## 7 Code\n\nThe vault code is zanzibar.\n"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream"}


def build(folder: Path, **texts: str) -> Path:
    files = folder / "files"
    files.mkdir(parents=True)
    for name, text in texts.items():
        (files / f"{name}.md").write_text(text)
    list(ingest_files(find_files([files]), folder / "index"))
    return folder / "index"


def call(url: str, key: str, tool: str, **arguments: Any) -> Any:
    """Call one tool as a client with this key; an error of the tool is its text."""

    async def main() -> Any:
        headers = {"authorization": f"Bearer {key}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            streamable_http_client(url, http_client=http) as streams,
            mcp.ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            told = await session.call_tool(tool, arguments)
            return told.content[0].text if told.is_error else told.structured_content

    return asyncio.run(main())


def test_each_caller_sees_its_own(tmp_path: Path) -> None:
    main = build(tmp_path / "main", rules=OPEN, vault=SECRET)
    other = build(tmp_path / "other", pumps=OPEN.replace("Rods", "Pumps"))
    file = tmp_path / "keys.json"
    shown = {}
    for name, access, collections in (
        ("guest", (), ("main",)),
        ("staff", ("staff",), ("main",)),
        ("owner", None, ()),
    ):
        key, shown[name] = new_key(name, access=access, collections=collections)
        add_key(file, key)
    log = tmp_path / "audit.jsonl"
    options = Options(keys=file, audit_log=log)
    with served({"main": main, "other": other}, settings(), options) as url:
        at = url + "/mcp"
        assert call(at, shown["guest"], "documents")["total"] == 1
        assert call(at, shown["staff"], "documents")["total"] == 2
        found = call(at, shown["guest"], "search", query="vault code zanzibar")
        assert not any(each["document"] == "vault.md" for each in found["results"])
        assert "zanzibar" in call(at, shown["staff"], "fetch", id="vault.md#7 Code")["text"]
        assert "no place with id" in call(at, shown["guest"], "fetch", id="vault.md#7 Code")
        # A collection is chosen by the address; a forbidden one looks like an unknown one.
        assert call(f"{at}?collection=other", shown["owner"], "documents")["total"] == 1
        told = call(f"{at}?collection=other", shown["guest"], "documents")
        assert "no collection 'other'" in told and str(tmp_path) not in told
        assert "which collection?" in call(at, shown["owner"], "documents")
        assert httpx.post(at, json=LIST, headers=ACCEPT).status_code == 401
        wrong = {**ACCEPT, "authorization": "Bearer nobody"}
        assert httpx.post(at, json=LIST, headers=wrong).status_code == 401
    lines = log.read_text().splitlines()
    assert any('"/mcp"' in line and '"main"' in line for line in lines)
    assert not any("zanzibar" in line for line in lines)


def test_rates_and_strange_pages(tmp_path: Path) -> None:
    index = build(tmp_path, rules=OPEN)
    with served(index, settings(rate_per_minute=60, burst=2)) as url:
        at = url + "/mcp"
        statuses = [httpx.post(at, json=LIST, headers=ACCEPT).status_code for _ in range(4)]
        assert statuses[0] == 200 and statuses[-1] == 429
        strange = {**ACCEPT, "origin": "http://evil.example"}
        assert httpx.post(at, json=LIST, headers=strange).status_code == 403
        assert (
            httpx.post(at, json=LIST, headers={**ACCEPT, "host": "evil.example"}).status_code == 421
        )

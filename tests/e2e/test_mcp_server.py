"""`pincite mcp` as programs start it: a child on standard input, and a server on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason='needs: pip install "pincite[mcp]"')

from click.testing import CliRunner
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from pincite import __version__
from pincite.cli.main import app
from pincite.index.builder import IndexBuilder
from pincite.model.settings import Settings
from pincite.read.load import parse

SOURCE = Path(__file__).parents[2] / "src"
PROGRAM = ["-c", "from pincite.cli.main import run; run()", "mcp"]
RULES = "# Rules\n\n## 1 Rods\n\nRods are 2 m apart.\n\n## 2 Wires\n\nWires are thin, see 1.\n"
TOKEN = "a-long-random-word-of-our-own"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("mcp")
    with IndexBuilder(home, Settings()) as builder:
        builder.put(parse(RULES.encode(), "rules.md", Settings().ingest))
        builder.flush()
    return home


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PINCITE_")}
    return {**kept, "PYTHONPATH": str(SOURCE), **more}


async def visit(read: Any, write: Any) -> dict[str, Any]:
    """Use a connection as an agent does, and return what it saw."""
    async with mcp.ClientSession(read, write) as session:
        hello = await session.initialize()
        listed = await session.list_tools()
        found = await session.call_tool("search", {"query": "how far apart are rods?"})
        first = found.structured_content["results"][0]
        fetched = await session.call_tool("fetch", {"id": first["id"]})
        wrong = await session.call_tool("fetch", {"id": "nothing"})
        read_back = await session.read_resource("pincite://document/rules.md")
        return {
            "server": hello.server_info.name,
            "version": hello.server_info.version,
            "tools": {tool.name for tool in listed.tools},
            "text": json.loads(fetched.content[0].text)["text"],
            "wrong": (wrong.is_error, wrong.content[0].text),
            "document": read_back.contents[0].text,
        }


def check(seen: dict[str, Any]) -> None:
    assert (seen["server"], seen["version"]) == ("pincite", __version__)
    assert {
        "search",
        "fetch",
        "show",
        "cell",
        "follow_references",
        "ask",
        "outline",
        "grep",
    } <= seen["tools"]
    assert seen["text"] == "## 1 Rods\n\nRods are 2 m apart.\n\n"
    assert seen["wrong"][0] and "Call search" in seen["wrong"][1]
    assert seen["document"] == RULES


def test_over_standard_input(folder: Path, tmp_path: Path) -> None:
    """A real client starts the program; whatever is no protocol goes to standard error."""

    async def main() -> dict[str, Any]:
        child = mcp.StdioServerParameters(
            command=sys.executable,
            args=[*PROGRAM, "--index", str(folder)],
            env=environment(),
        )
        with (tmp_path / "talk").open("w") as talk:
            async with stdio_client(child, errlog=talk) as (read, write):
                return await visit(read, write)

    check(asyncio.run(main()))
    assert (tmp_path / "talk").read_text() == ""


@contextmanager
def serving(folder: Path, *arguments: str, **env: str) -> Iterator[str]:
    """Run the server on loopback; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = subprocess.Popen(
        [sys.executable, *PROGRAM, "--index", folder, "--http", f"127.0.0.1:{port}", *arguments],
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and child.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        assert child.poll() is None, child.communicate()
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.terminate()
        out, err = child.communicate(timeout=30)
    assert out == "" and "Traceback" not in err, err


def post(url: str, **headers: str) -> int:
    """Return the status of a request that asks for the tools."""
    import httpx2

    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json, text/event-stream"}
    return int(httpx2.post(url, json=body, headers={**accept, **headers}).status_code)


def test_over_http_with_a_token(folder: Path) -> None:
    """With a token nobody gets in without it; a web page of another name gets in never."""

    async def main(url: str) -> dict[str, Any]:
        import httpx2

        headers = {"authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers) as client,
            streamable_http_client(url, http_client=client) as streams,
        ):
            return await visit(streams[0], streams[1])

    with serving(folder, PINCITE_MCP_TOKEN=TOKEN) as url:
        check(asyncio.run(main(url)))
        assert post(url) == 401
        assert post(url, authorization=f"Bearer {TOKEN}x") == 401
        assert post(url, authorization=f"Bearer {TOKEN}") == 200
        assert post(url, authorization=f"Bearer {TOKEN}", host="evil.example:80") == 421
        assert post(url, authorization=f"Bearer {TOKEN}", origin="http://evil.example") == 403


@pytest.mark.parametrize(
    ("arguments", "env", "message"),
    [
        (["--http", "0.0.0.0:8848"], {}, "set PINCITE_MCP_TOKEN"),
        (["--http", "8848"], {}, "write --http 127.0.0.1:8848"),
        (["--http", "127.0.0.1:0"], {}, "no address"),
        (["--http", "127.0.0.1:99999"], {}, "no address"),
        ([], {"PINCITE_MCP_TOKEN": "short"}, "use 16 or more"),
        (["--index", "nowhere"], {}, "no index in nowhere"),
    ],
)
def test_what_cannot_be_served_is_told(
    folder: Path, arguments: list[str], env: dict[str, str], message: str
) -> None:
    told = CliRunner().invoke(app, ["mcp", "--index", str(folder), *arguments], env=env)
    assert told.exit_code in (2, 4) and message in told.stderr
    assert told.stdout == ""

"""The examples of docs/service.md do what the page says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, served, settings

PAGE = (ROOT / "docs/service.md").read_text(encoding="utf-8")
CURL = shutil.which("curl")


@pytest.fixture(scope="module")
def address(sample_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("page") / "index"
    shutil.copytree(sample_index, folder)
    with served(folder, settings()) as found:
        yield found


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    joined = "".join(blocks).replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.startswith("curl")]


@pytest.mark.skipif(CURL is None, reason="needs curl")
def test_every_call_of_the_page_is_answered(address: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\n## 1 Zebras\n\nZebras have stripes.\n")
    expected: dict[str, Any] = {
        "/v1/search": lambda told: told["hits"][0]["locator"].startswith("250.56"),
        "/v1/explain": lambda told: told["why_not"],
        "/v1/show": lambda told: "2.4 m" in told["places"][0]["text"],
        "/v1/cell": lambda told: told["cells"][0]["value"] == "35",
        "/v1/similar": lambda told: told["places"],
        "/sessions/my-chat/messages": lambda told: told["sources"],
        "/v1/feedback": lambda told: told["judged"] >= 1,
        "/v1/documents": lambda told: told.get("documents") or told["state"] == "queued",
        "/v1/documents/rulebook.md": lambda told: told["places"],
    }
    seen = set()
    for command in commands():
        if "-X DELETE" in command:
            continue  # the upload may not be done yet
        line = command.replace("localhost:8321", address.removeprefix("http://"))
        done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, timeout=60)
        text = done.stdout.decode()
        path = re.search(r"localhost:8321(\S*)", command)[1]  # type: ignore[index]
        seen.add(path)
        if path == "/v1/ask":
            assert "event: search" in text and "event: complete" in text, text
        else:
            assert expected[path](json.loads(text)), (command, text[:300])
    assert seen == {*expected, "/v1/ask"}


def test_the_client_of_the_page_runs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai", reason="needs the OpenAI client")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code.replace("http://127.0.0.1:8321", address) + "\nclient.close()\n", {})
    assert "2.4 m" in capsys.readouterr().out

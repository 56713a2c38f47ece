"""Makes the pictures of docs/page.md again: python docs/page/screenshots.py [AREA ...].

They show the samples, and one of them printed as a PDF by the browser, so that there are pages.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Literal

import uvicorn
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, sync_playwright

from pincite.api import Index
from pincite.read.load import find_files
from pincite.serve.app import create_app
from pincite.update import embed_index, ingest_files

HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "samples"
PORT = 8397
SIZE = {"width": 1440, "height": 800}
RODS = "q=how+far+apart+do+two+earth+rods+have+to+be"
# Name of the picture, address, what has to be there before it is taken.
SHOTS = {
    "search": ("/?c=default&q=earth+rod", "#reader .clauses"),
    "ask": (f"/?{RODS}&ask=1&c=default", "#answer[data-done]"),
    "page": ("/?c=default&q=misting+pressure+low&doc=controller.pdf&place=5.1", ".sheet img"),
    "changes": (
        "/?c=default&doc=electrical-code-2024.md&place=250.56"
        "&view=changes&with=electrical-code-2021.md&all=1",
        ".change",
    ),
    "library": ("/library?c=default", ".shelf"),
    "why": (f"/why?{RODS}&c=default&b=lexical", ".side"),
    "judge": (f"/judge?{RODS}&c=default&by=anna", "[data-key]"),
    "measure": ("/measure?c=default", "table"),
    "graph": ("/library?c=default&doc=electrical-code-2024.md&at={at}", "svg"),
    "welcome": ("/?c=empty", ".drop"),
    "phone": ("/?c=default&q=earth+rod", ".hit"),
}
SIZES = {"phone": {"width": 390, "height": 780}}
# What two people say of the first three hits: keys of the buttons.
JUDGED = {"anna": "33n", "ben": "332"}
CSS = "body{font:11pt/1.4 serif;margin:2cm} table{border-collapse:collapse} td,th{border:1px solid}"


def main(wanted: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        files = Path(shutil.copytree(SAMPLES, Path(scratch) / "files"))
        print_manual(browser, files / "controller.pdf")
        index = Path(scratch) / "index"
        list(ingest_files(find_files([files]), index))
        list(embed_index(index))
        measure(index)
        serve({"default": index, "empty": Path(scratch) / "empty"})
        judge(browser)
        with Index.open(index) as opened:
            (table,) = opened.show("Table 310.16", "electrical-code-2024.md")
        at = f"{table.span.start}-{table.span.end}"
        for name in wanted or SHOTS:
            take(browser, name, "light", at)
            take(browser, name, "dark", at)
        browser.close()


def print_manual(browser: Browser, file: Path) -> None:
    text = (SAMPLES / "manual.md").read_text(encoding="utf-8")
    page = browser.new_page()
    body = MarkdownIt().enable("table").render(text)
    page.set_content(f"<title>Greenhouse Controller</title><style>{CSS}</style>{body}")
    page.pdf(path=file, format="A5")
    page.close()


def measure(index: Path) -> None:
    pipelines = ["--pipeline", "hybrid", "--pipeline", "lexical"]
    questions = str(SAMPLES / "questions.jsonl")
    command = [sys.executable, "-m", "pincite", "eval", questions, "--index", str(index)]
    subprocess.run([*command, *pipelines], check=True, stdout=subprocess.DEVNULL)


def judge(browser: Browser) -> None:
    for who, keys in JUDGED.items():
        page = browser.new_page()
        page.goto(
            f"http://127.0.0.1:{PORT}/judge?{RODS}&by={who}&c=default", wait_until="networkidle"
        )
        for number, key in enumerate(keys):
            page.locator(f'[data-key="{key}"]').nth(number).click()
            page.wait_for_load_state("networkidle")
        page.close()


def serve(folders: dict[str, Path]) -> None:
    server = uvicorn.Server(uvicorn.Config(create_app(folders), port=PORT, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)


def take(browser: Browser, name: str, theme: Literal["light", "dark"], at: str) -> None:
    address, there = SHOTS[name]
    address = address.replace("{at}", at)
    context = browser.new_context(
        viewport=SIZES.get(name, SIZE), color_scheme="dark" if theme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{PORT}{address}", wait_until="networkidle")
    page.wait_for_selector(there)
    page.wait_for_timeout(300)
    file = HERE / f"{name}-{theme}.png"
    page.screenshot(path=file)
    print(file.name, file.stat().st_size // 1000, "KB")
    context.close()


if __name__ == "__main__":
    main(sys.argv[1:])

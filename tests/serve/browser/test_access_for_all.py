"""axe-core finds nothing serious on any area, in either theme."""

from __future__ import annotations

import pytest

from .conftest import AXE, PDF, Opener

AREAS = {
    "start": ("/", {}),
    "search": ("/", {"q": "earth rod", "kind": "clause"}),
    "answer": ("/", {"q": "how far apart do two earth rods have to be", "ask": "1"}),
    "read beside": ("/", {"q": "earth rod", "doc": "electrical-code-2024.md", "at": "30940-31038"}),
    "changes": (
        "/read",
        {"doc": "electrical-code-2024.md", "view": "changes", "with": "electrical-code-2021.md"},
    ),
    "documents": ("/read", {}),
    "page": ("/read", {"c": "pdf", "doc": PDF.name, "at": "18608-21571"}),
    "why": ("/why", {"q": "earth rod", "b": "lexical", "place": "110.26(E)"}),
    "error": ("/", {"k": "many"}),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_keeps_people_out(open_page: Opener, theme: str) -> None:
    told = []
    page = open_page("/", theme=theme)
    base = page.url
    for name, (path, asked) in AREAS.items():
        if asked.get("c") == "pdf" and not PDF.exists():
            continue
        page = open_page(path, theme=theme, **asked) if name != "error" else page
        if name == "error":
            continue
        if name == "answer":
            page.wait_for_selector("pincite-answer[data-done]")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run({ resultTypes: ['violations'] }).then((r) => r.violations)")
        told += [
            (name, each["id"], each["nodes"][0]["html"][:200], each["nodes"][0]["failureSummary"])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
    assert base and not told

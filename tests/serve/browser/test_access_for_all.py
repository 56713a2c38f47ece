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
        "/",
        {"doc": "electrical-code-2024.md", "view": "changes", "with": "electrical-code-2021.md"},
    ),
    "library": ("/library", {}),
    "page": ("/", {"c": "pdf", "doc": PDF.name, "at": "18608-21571"}),
    "why": ("/why", {"c": "default", "q": "earth rod", "b": "lexical", "place": "110.26(E)"}),
}


# All rules in one theme, with the size of targets; in the other only what depends on it.
RULES = {
    "light": "{ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }",
    "dark": "{ runOnly: ['color-contrast'] }",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_keeps_people_out(open_page: Opener, theme: str) -> None:
    told: list[tuple[str, ...]] = []
    for name, (path, asked) in AREAS.items():
        if asked.get("c") == "pdf" and not PDF.exists():
            continue
        # Targets are nearest to each other on a phone.
        page = open_page(path, theme=theme, width=390 if theme == "light" else 1280, **asked)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            told.append((name, "too wide"))
        if name == "answer":
            page.wait_for_selector("#answer[data-done]")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate(f"axe.run({RULES[theme]}).then((r) => r.violations)")
        told += [
            (name, each["id"], each["nodes"][0]["html"][:200], each["nodes"][0]["failureSummary"])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
    assert not told

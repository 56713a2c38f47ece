"""The documentation as a site of plain files in site/, made and read without network: `make site`.

The pages are docs/*.md and the files beside README.md, as they are; only links between them are
set right. What comes out is checked: links lead somewhere, every page can be reached from the
first one, and no page loads anything from elsewhere.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
FRONT = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
FRONT |= {"SKILL.md": "skill.md"}
FRONT |= {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md"}
# The order of the first pages; what is not named here follows under "More".
ORDER = {
    "Use": [
        "index",
        "start",
        "formats",
        "search",
        "answers",
        "check",
        "cite",
        "page",
        "cli",
        "settings",
        "upgrade",
    ],
    "Serve and connect": [
        "service",
        "python",
        "mcp",
        "skill",
        "integrate",
        "scale",
        "mongodb",
        "cluster",
    ],
    "Measure and improve": [
        "bench",
        "evaluate",
        "tune",
        "rerank",
        "learned",
        "exam",
        "agent",
        "profiles",
    ],
    "Change": ["architecture", "contributing", "release", "changelog"],
}
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
# In files that are loaded: what the page's program or style would fetch by itself.
_LOADED = re.compile(r"""(?:@import\s+|url\(\s*)["']?https?://""")


def gather(folder: Path) -> None:
    """Copy all pages into one folder and set the links between them right."""
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.py", "completions"))
    for name, page in FRONT.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        (folder / page).write_text(_LINK.sub(_from_front, text), encoding="utf-8")
    decisions = sorted((folder / "decisions").glob("[0-9]*.md"))
    lines = [f"- [{_title(file)}]({file.name})" for file in decisions]
    (folder / "decisions/index.md").write_text("# Decisions\n\n" + "\n".join(lines) + "\n")


def _from_front(found: re.Match[str]) -> str:
    """Return a link of a page beside README.md as it is from the folder of all pages."""
    target = FRONT.get(found[1]) or found[1].removeprefix("docs/")
    target = "decisions/index.md" if target.rstrip("/") == "decisions" else target
    return f"]({target}{found[2] or ''})"


def _title(file: Path) -> str:
    first = file.read_text(encoding="utf-8").splitlines()[0]
    return first.removeprefix("# ").replace('"', "'")


def navigation(folder: Path) -> list[dict[str, object]]:
    """Return titles and files of all pages, in the order in which they are shown."""
    rest = {file.stem for file in folder.glob("*.md")}
    sections: dict[str, list[str]] = {}
    for section, names in ORDER.items():
        sections[section] = [name for name in names if name in rest]
        rest -= set(names)
    sections["More"] = sorted(rest)
    shown: list[dict[str, object]] = [
        {section: [{_title(folder / f"{name}.md"): f"{name}.md"} for name in names]}
        for section, names in sections.items()
        if names
    ]
    decisions = ["index.md", *sorted(f.name for f in folder.glob("decisions/[0-9]*.md"))]
    pages = [{_title(folder / "decisions" / n): f"decisions/{n}"} for n in decisions]
    return [*shown, {"Decisions": pages}]


def configuration(folder: Path, out: Path) -> str:
    """Return the settings of Zensical; fonts of other machines are off."""
    lines = [
        "[project]",
        'site_name = "Pincite"',
        f"docs_dir = {json.dumps(folder.name)}",
        f"site_dir = {json.dumps(str(out))}",
        "use_directory_urls = false",
        f"nav = {_toml(navigation(folder))}",
        "[project.theme]",
        "font = false",
        "[project.extra]",
        "generator = false",
    ]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """Return lists, tables and texts as an inline value of TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def build(out: Path) -> None:
    """Write the site; what Zensical warns of is an error."""
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        pages = Path(scratch, "pages")
        gather(pages)
        config = Path(scratch, "zensical.toml")
        # Zensical takes the folder of the site from the file's own.
        config.write_text(configuration(pages, Path("site")), encoding="utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(config)]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the site cannot be built:\n{done.stdout}{done.stderr}")
        shutil.move(Path(scratch, "site"), out)


@dataclass
class Page(HTMLParser):
    """What a page links to, loads, and can be linked to by."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("next", "prev", "canonical"):
            self.loads.append(values.get("href", ""))
        elif "src" in values:
            self.loads.append(values["src"])


def problems(site: Path) -> Iterator[str]:
    """Yield broken links, pages that cannot be reached, and what is loaded from elsewhere."""
    pages: dict[Path, Page] = {}
    for file in sorted(site.rglob("*.html")):
        if file.name != "404.html":  # shown at any address, so its links are absolute
            pages[file] = Page()
            pages[file].feed(file.read_text(encoding="utf-8"))
    for file, page in pages.items():
        where = file.relative_to(site)
        yield from (f"{where} loads {each}" for each in page.loads if urlsplit(each).netloc)
        yield from (f"{where}: {problem}" for problem in _broken(file, pages))
    alone = pages.keys() - _reached(site / "index.html", pages)
    yield from (f"{file.relative_to(site)} cannot be reached" for file in sorted(alone))
    for file in site.rglob("*.css"):
        if _LOADED.search(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(site)} loads from elsewhere"


def _broken(file: Path, pages: dict[Path, Page]) -> Iterator[str]:
    for link in pages[file].links:
        target, anchor = _target(file, link)
        if target is None:
            continue
        if not target.is_file():
            yield f"no page {link}"
        elif anchor and target in pages and anchor not in pages[target].anchors:
            yield f"no place {link}"


def _reached(first: Path, pages: dict[Path, Page]) -> set[Path]:
    """Return the pages that links lead to from the first one."""
    reached: set[Path] = set()
    todo = [first]
    while todo:
        file = todo.pop()
        if file in pages and file not in reached:
            reached.add(file)
            todo += [t for t, _ in (_target(file, link) for link in pages[file].links) if t]
    return reached


def _target(page: Path, link: str) -> tuple[Path | None, str]:
    """Return the file and the place in it that a link means; None for other sites."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None, ""
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return (path / "index.html" if path.is_dir() else path), unquote(parts.fragment)


def main(words: Sequence[str] | None = None) -> int:
    """Build, check and say what came of it; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    out: Path = parser.parse_args(words).out.resolve()
    build(out)
    found = list(problems(out))
    print("\n".join(found) or f"{len(list(out.rglob('*.html')))} pages in {out}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

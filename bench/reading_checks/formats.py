"""The same work as text, HTML, EPUB and PDF: are its sections found, and where they belong?

Works are those of Debian's packages, fetched once (`apt-get download`, `dpkg -x`; nothing is
installed) into `~/.cache/pincite-bench`, or `PINCITE_BENCH_CACHE`. What a work's sections are is
told by its own table of contents in HTML, which the reader leaves out; the other formats are held
against the same list. A section is found if a place has its number and its words as title; it is
wrongly nested if the place above it is not that of the section above. Of several HTML files each
is a document, held against the entries that lead into it.

Looked at while the reader was written: `LOOKED_AT` (from debmake-doc on, only after figures of all
had been seen; the last two after a second time: what they miss are numbers that the PDF of
debian-reference and three pages of postgresql do not print). Of the others nothing but these
figures was seen.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from checks import Figure
from pincite.model.errors import SourceError
from pincite.model.locators import HEADING_WORD, NUMBER_WORDS
from pincite.read.extracted import Clause
from pincite.read.load import reader_of
from pincite.read.structure.clauses import clause_tree

ASKED_FOUND, ASKED_NESTED = ">= .98", "< .01"


@dataclass(frozen=True, slots=True)
class Work:
    """A work: its packages, the page that has its contents, and its files by format."""

    name: str
    packages: tuple[str, ...]
    contents: str  # the page, below /usr/share
    selector: str  # of the contents on it
    files: dict[str, str]  # patterns below /usr/share; those of HTML may be several files


_SPHINX, _DOCBOOK, _TEXINFO = ".toctree-wrapper", ".toc", ".contents, .shortcontents"


def _policy(name: str, contents: str, **files: str) -> Work:
    home = "doc/debian-policy/"
    named = {key: home + pattern for key, pattern in files.items()}
    return Work(name, ("debian-policy",), home + contents, _DOCBOOK, named)


def _gnu(name: str) -> Work:
    at = f"doc/gnu-standards/{name}"
    files = {"text": f"{at}.text.gz", "html": f"{at}.html", "pdf": f"{at}.pdf.gz"}
    return Work(f"GNU {name}", ("gnu-standards",), f"{at}.html", _TEXINFO, files)


def _r(name: str) -> Work:
    html = f"doc/r-doc-html/manual/{name}.html"
    files = {"html": html, "pdf": f"R/doc/manual/{name}.pdf"}
    return Work(name, ("r-doc-html", "r-doc-pdf"), html, _TEXINFO, files)


def _install(language: str) -> Work:
    home = f"doc/installation-guide-amd64/{language}/"
    files = {"text": "install.{}.txt.gz", "html": "*.html", "pdf": "install.{}.pdf.gz"}
    named = {key: home + pattern.format(language) for key, pattern in files.items()}
    name = f"installation-guide.{language}"
    return Work(name, ("installation-guide-amd64",), home + "index.html", _DOCBOOK, named)


_AT = "developers-reference/"
_BOOK = {"text": "txt.gz", "epub": "epub", "pdf": "pdf"}
LOOKED_AT = (
    Work(
        "developers-reference",
        ("developers-reference",),
        _AT + "index.html",
        _SPHINX,
        {key: f"{_AT}developers-reference.{end}" for key, end in _BOOK.items()}
        | {"html": _AT + "*.html"},
    ),
    Work(
        "debian-policy",
        ("debian-policy",),
        "doc/debian-policy/policy.html/index.html",
        _SPHINX,
        {
            "text": "doc/debian-policy/policy.txt.gz",
            "html": "doc/debian-policy/policy.html/*.html",
            "epub": "doc/debian-policy/policy.epub",
            "pdf": "doc/debian-policy/policy.pdf.gz",
        },
    ),
    _policy(
        "fhs",
        "fhs/fhs-3.0.html",
        text="fhs/fhs-3.0.txt.gz",
        html="fhs/fhs-3.0.html",
        pdf="fhs/fhs-3.0.pdf.gz",
    ),
    _policy(
        "menu-policy", "menu-policy-1.html", text="menu-policy.txt.gz", html="menu-policy-1.html"
    ),
    _policy(
        "perl-policy", "perl-policy-1.html", text="perl-policy.txt.gz", html="perl-policy-1.html"
    ),
    _policy(
        "debconf-specification",
        "debconf_specification.html",
        text="debconf_specification.txt.gz",
        html="debconf_specification.html",
    ),
    Work(
        "bash",
        ("bash-doc",),
        "doc/bash/bashref.html",
        _TEXINFO,
        {"html": "doc/bash/bashref.html", "pdf": "doc/bash/bashref.pdf"},
    ),
    Work(
        "maint-guide",
        ("maint-guide",),
        "doc/maint-guide/html/index.en.html",
        _DOCBOOK,
        {
            "text": "doc/maint-guide/maint-guide.en.txt.gz",
            "html": "doc/maint-guide/html/*.en.html",
            "pdf": "doc/maint-guide/maint-guide.en.pdf",
        },
    ),
    Work(
        "debmake-doc",
        ("debmake-doc",),
        "doc/debmake-doc/html/index.en.html",
        _DOCBOOK,
        {key: f"doc/debmake-doc/debmake-doc.en.{end}" for key, end in _BOOK.items()}
        | {"html": "doc/debmake-doc/html/*.en.html"},
    ),
    Work(
        "debian-faq",
        ("debian-faq",),
        "doc/debian/FAQ/index.en.html",
        _DOCBOOK,
        {
            "text": "doc/debian/FAQ/debian-faq.en.txt.gz",
            "html": "doc/debian/FAQ/*.en.html",
            "pdf": "doc/debian/FAQ/debian-faq.en.pdf.gz",
        },
    ),
    _r("R-admin"),
    _install("en"),
    _install("de"),
    _install("it"),
    Work(
        "debian-reference",
        ("debian-reference-en",),
        "debian-reference/index.en.html",
        _DOCBOOK,
        {
            "text": "debian-reference/debian-reference.en.txt.gz",
            "html": "debian-reference/*.en.html",
            "pdf": "debian-reference/debian-reference.en.pdf",
        },
    ),
    Work(
        "postgresql",
        ("postgresql-doc-15",),
        "doc/postgresql-doc-15/html/index.html",
        _DOCBOOK,
        {"html": "doc/postgresql-doc-15/html/*.html"},
    ),
)
NOT_LOOKED_AT = (
    Work(
        "developers-reference.fr",
        ("developers-reference-fr",),
        _AT + "fr/index.html",
        _SPHINX,
        {key: f"{_AT}fr/developers-reference.{end}" for key, end in _BOOK.items()}
        | {"html": _AT + "fr/*.html"},
    ),
    Work(
        "valgrind",
        ("valgrind",),
        "doc/valgrind/html/manual.html",
        _DOCBOOK,
        {"html": "doc/valgrind/html/*.html"},  # its PDF holds other books as well
    ),
    Work(
        "kernel-handbook",
        ("debian-kernel-handbook",),
        "doc/debian-kernel-handbook/kernel-handbook.html/index.html",
        _DOCBOOK,
        {"html": "doc/debian-kernel-handbook/kernel-handbook.html/*.html"},
    ),
    Work(
        "aptitude",
        ("aptitude-doc-en",),
        "doc/aptitude/html/en/index.html",
        _DOCBOOK,
        {"html": "doc/aptitude/html/en/*.html"},
    ),
    _gnu("standards"),
    _gnu("maintain"),
    *(_r(name) for name in ("R-intro", "R-data", "R-exts", "R-ints", "R-lang")),
    *(
        Work(
            f"apt-{name}",
            ("apt-doc",),
            f"doc/apt-doc/{name}.html/index.html",
            _DOCBOOK,
            {
                "text": f"doc/apt-doc/{name}.text.gz",
                "html": f"doc/apt-doc/{name}.html/*.html",
            },
        )
        for name in ("guide", "offline", "guide.de", "guide.fr")
    ),
)


class GoldSection(NamedTuple):
    """A line of a table of contents."""

    number: str
    title: str
    parent: int  # in the list; -1 at the top
    file: str  # that it leads to; empty for its own


_NUMBER = re.compile(
    rf"(?:{HEADING_WORD}\s+(?P<named>[0-9]+(?:\.[0-9]+)*|[A-Z](?:\.[0-9]+)*|[IVXLC]+)"
    r"|(?P<plain>[0-9]+(?:\.[0-9]+)*|[A-Z](?:\.[0-9]+)+|[A-Z](?=\.\s)|[IVXLC]+(?=\.\s)))[.:)]?\s+",
    re.IGNORECASE,
)


def named(words: str) -> tuple[str, str]:
    """Return number and title of a heading, both without signs.

    >>> named("Chapter 4. The /usr Hierarchy"), named("3.1 Fees and *more*"), named("Index")
    (('4', 'theusrhierarchy'), ('3.1', 'feesandmore'), ('', 'index'))
    """
    words = " ".join(words.split())
    found = _NUMBER.match(words)
    number = (found["named"] or found["plain"]) if found else ""
    title = words[found.end() :] if found else words
    plain = unicodedata.normalize("NFKC", title).casefold()
    return number.casefold(), "".join(sign for sign in plain if sign.isalnum())


def gold_sections(page: LexborHTMLParser, selector: str) -> list[GoldSection]:
    """Return the entries of a page's table of contents; the first list of a kind counts."""
    sections: list[GoldSection] = []
    roots = [root for root in page.css(selector) if root.css_first("a[href]")]
    if roots and selector != _SPHINX:
        roots = roots[:1]
    for root in roots:
        open_: list[tuple[int, int]] = []  # depth and place
        for link in root.css("a[href]"):
            href = (link.attributes or {}).get("href") or ""
            number, title = named(link.text())
            if not title or href.startswith(("http:", "https:", "mailto:")):
                continue
            depth = _depth(link, root)
            while open_ and open_[-1][0] >= depth:
                open_.pop()
            parent = open_[-1][1] if open_ else -1
            open_.append((depth, len(sections)))
            sections.append(GoldSection(number, title, parent, href.partition("#")[0]))
    return sections


def _depth(link: LexborNode, root: LexborNode) -> int:
    depth, node = 0, link.parent
    while node is not None and node.mem_id != root.mem_id:
        depth += node.tag in ("ul", "ol", "dl")
        node = node.parent
    return depth


class _Count(NamedTuple):
    gold: int = 0
    found: int = 0
    nested: int = 0  # wrongly
    extra: int = 0  # places with a number that the contents do not have
    told: tuple[str, ...] = ()  # each of them, for who may look

    def plus(self, other: _Count) -> _Count:
        return _Count(*(a + b for a, b in zip(self, other, strict=True)))  # type: ignore[operator]


def compared(gold: Sequence[GoldSection], clauses: Sequence[Clause]) -> _Count:
    """Hold the places of a document against a table of contents."""
    at_of = _found(gold, clauses)
    entry_of = {at: entry for entry, at in at_of.items()}
    sections = [at for at, clause in enumerate(clauses) if clause.kind == "section"]
    wrong = []
    for entry, at in at_of.items():
        above = clauses[at].parent
        # What a book is called may stand above all of it.
        if above in sections[:1] and above not in entry_of:
            above = clauses[above].parent
        is_right = entry_of.get(above, -1) == _found_above(gold, at_of, entry)
        if not (is_right and (above in entry_of or above <= 0)):
            wrong.append(f"nested: {clauses[at].locator} in {clauses[above].locator}")
    missed = [f"missed: {e.number} {e.title}" for i, e in enumerate(gold) if i not in at_of]
    extra = [clauses[at] for at in sections if at not in entry_of and clauses[at].label]
    told = (*wrong, *missed, *(f"extra: {each.locator} {each.title}" for each in extra))
    return _Count(len(gold), len(at_of), len(wrong), len(extra), told)


def _found(gold: Sequence[GoldSection], clauses: Sequence[Clause]) -> dict[int, int]:
    """Return at which place each entry is found; of places that are too many the last count."""
    places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for at, clause in enumerate(clauses):
        if clause.kind in ("section", "document"):  # a page may be called as its one chapter
            places[named(_heading(clause))].append(at)
    wanted = Counter((each.number, each.title) for each in gold)
    found: dict[int, int] = {}
    for entry, each in enumerate(gold):
        key = each.number, each.title
        if len(places[key]) >= wanted[key]:
            found[entry] = places[key][-wanted[key]]
        wanted[key] -= 1
    return found


def _heading(clause: Clause) -> str:
    word, _, number = clause.label.rstrip(".:").rpartition(" ")
    if number.lower() in NUMBER_WORDS:  # "CHAPTER ONE"
        number = str(NUMBER_WORDS.index(number.lower()) + 1)
    return f"{word} {number}. {clause.title}" if number else clause.title


def counted_on(gold: Sequence[GoldSection]) -> list[GoldSection]:
    """Return the sections as Sphinx prints them: where chapters begin anew, PDFs count on."""
    done: list[GoldSection] = []
    chapter = 0
    for each in gold:
        chapter += each.parent < 0
        rest = each.number.partition(".")[1:]
        done.append(each._replace(number="".join((str(chapter), *rest)) if each.number else ""))
    return done


def _found_above(gold: Sequence[GoldSection], at_of: dict[int, int], entry: int) -> int:
    """Return the nearest entry above that was found."""
    above = gold[entry].parent
    while above >= 0 and above not in at_of:
        above = gold[above].parent
    return above


def unpacked(package: str) -> Path:
    """Return the folder of a package's files; it is fetched if it is not there."""
    home = Path(os.environ.get("PINCITE_BENCH_CACHE") or Path.home() / ".cache" / "pincite-bench")
    folder = home / package
    if not folder.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        fetch = ["apt-get", "-q", "download", package]
        subprocess.run(fetch, cwd=home, check=True, capture_output=True)
        (file,) = home.glob(f"{package}_*.deb")
        subprocess.run(["dpkg", "-x", str(file), str(folder)], check=True)
        file.unlink()
    return folder / "usr" / "share"


def _clauses(file: Path) -> list[Clause]:
    try:
        read = reader_of(file.name)(file.read_bytes(), file.name)
    except SourceError:
        return []  # as a page of frames has no text
    return clause_tree(read.text, read.blocks, read.title)


def measured(work: Work) -> Iterator[tuple[str, _Count]]:
    """Yield what was counted for each format of a work."""
    homes = [unpacked(package) for package in work.packages]
    (page,) = [home / work.contents for home in homes if (home / work.contents).is_file()]
    gold = gold_sections(LexborHTMLParser(page.read_bytes()), work.selector)
    for form, pattern in work.files.items():
        files = sorted(file for home in homes for file in home.glob(pattern))
        if len(files) == 1:
            is_sphinx = form == "pdf" and work.selector == _SPHINX
            asked = counted_on(gold) if is_sphinx else gold
            yield form, compared(asked, _clauses(files[0]))
            continue
        total = _Count()
        for file in files:
            inside = [at for at, each in enumerate(gold) if (each.file or page.name) == file.name]
            place = {at: new for new, at in enumerate(inside)}
            own = [gold[at]._replace(parent=place.get(gold[at].parent, -1)) for at in inside]
            if own:
                total = total.plus(compared(own, _clauses(file)))
        yield form, total


def run(data: Path) -> list[Figure]:
    """Return the shares of all works and formats, works not looked at last."""
    figures: list[Figure] = []
    for which, works in (("looked at", LOOKED_AT), ("not looked at", NOT_LOOKED_AT)):
        totals: defaultdict[str, _Count] = defaultdict(_Count)
        for work in works:
            try:
                for form, count in measured(work):
                    totals[form] = totals[form].plus(count)
                    figures += _figures(f"{work.name}, {form}", count)
            except (subprocess.CalledProcessError, OSError, ValueError) as error:
                figures.append(Figure(f"{work.name}: not measured", 0, note=str(error)))
        for form, count in totals.items():
            figures += _figures(f"all works {which}, {form}", count)
    return figures


def _figures(name: str, count: _Count) -> list[Figure]:
    note = f"{count.extra} numbered places that the contents do not have"
    found = count.found / max(1, count.gold)
    nested = count.nested / max(1, count.found)
    return [
        Figure(f"{name}: sections found", found, ASKED_FOUND, count.gold, note),
        Figure(f"{name}: wrongly nested", nested, ASKED_NESTED, count.found),
    ]


if __name__ == "__main__":  # what went wrong, of works that may be looked at
    for each in LOOKED_AT:
        if each.name in sys.argv[1:]:
            for form, count in measured(each):
                print(each.name, form, *count[:4], *count.told, sep="\n  ")

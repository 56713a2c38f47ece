"""The documentation as a site: every page can be reached, no link is broken, nothing is fetched."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import website

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_is_whole(tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="needs: pip install --group dev")
    website.build(tmp_path / "site")
    assert list(website.problems(tmp_path / "site")) == []
    written = {str(f.relative_to(ROOT / "docs")) for f in ROOT.glob("docs/**/*.md")}
    for page in {*written, *website.FRONT.values()}:
        assert (tmp_path / "site" / page).with_suffix(".html").exists(), page


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="other.html">o</a>', ""),
        ('<a href="other.html#here">o</a>', ""),
        ('<a href="other.html#there">o</a>', "index.html: no place other.html#there"),
        ('<a href="other.html"></a><a href="gone.html">o</a>', "index.html: no page gone.html"),
        ("", "other.html cannot be reached"),
        (
            '<a href="other.html"></a><script src="https://example.org/a.js"></script>',
            "index.html loads https://example.org/a.js",
        ),
        (
            '<a href="other.html"></a><link rel="stylesheet" href="//example.org/a.css">',
            "index.html loads //example.org/a.css",
        ),
        ('<a href="other.html"></a><a href="https://example.org/">elsewhere</a>', ""),
    ],
)
def test_the_check_finds_what_is_wrong(tmp_path: Path, body: str, problem: str) -> None:
    (tmp_path / "index.html").write_text(f"<html><body>{body}</body></html>")
    (tmp_path / "other.html").write_text('<h1 id="here">Other</h1>')
    assert list(website.problems(tmp_path)) == ([problem] if problem else [])


def test_a_style_that_fetches_is_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>hello")
    (tmp_path / "a.css").write_text("@import 'https://example.org/font.css';")
    assert list(website.problems(tmp_path)) == ["a.css loads from elsewhere"]

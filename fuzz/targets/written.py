"""Files that people write or copy: settings, profiles, patterns, judgements, runs, exams, keys."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable

from fuzz.harness import ROOT, Target, filed, halves, text_of
from pincite.model.profiles import WINDOW, compiled_pattern
from pincite.model.settings import load_settings
from pincite.read.enrich.profile import parse_profile
from pincite.serve.access import read_keys


def settings(data: bytes) -> None:
    whole, lines = halves(data)
    file = filed(whole, "pincite.toml")
    made = load_settings(file)
    assert load_settings(file) == made and made.fingerprint()
    load_settings(overrides=text_of(lines).split("\n") if lines else ())


def environment(data: bytes) -> None:
    """Settings as words of the environment and of --set."""
    pairs = [line.partition("=") for line in text_of(data).split("\n")]
    named = {f"PINCITE_{name}".replace("\0", ""): value for name, _, value in pairs}
    load_settings(environment=named).fingerprint()


def profile(data: bytes) -> None:
    made = parse_profile(text_of(data), origin="x.toml")
    assert made.name and made.fingerprint


def pattern(data: bytes) -> None:
    """A pattern that is accepted is quick, or stopped, on whatever a document may hold."""
    text = text_of(data)
    made = compiled_pattern(text, where="x")
    signs = [c for c in dict.fromkeys(text) if c not in "\\[](){}?*+|^$"][:6] or ["a"]
    for sign in (*signs, "".join(signs[:3]), "a", " "):
        words = (sign * WINDOW)[: WINDOW - 1] + "!"
        made.search(words)


def keys(data: bytes) -> None:
    found = read_keys(filed(data, "keys.json"))
    assert found.find("pk_x_y") is None
    for key in found.keys:
        assert isinstance(key.scopes, tuple)


def _profiles() -> list[bytes]:
    listed = sorted((ROOT / "src/pincite/profiles").glob("*.toml"))
    own = (
        b'name = "x"\nextends = "code"\n[[signal]]\npattern = "shall"\n[[field]]\nname = "level"\n'
    )
    return [
        own + b"patterns = ['^L (\\d+)']\n[traversal]\n[[traversal.intent]]\nname='a'\n",
        *(file.read_bytes()[:6000] for file in listed),
    ]


def _toml_values(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


def _patterns() -> list[bytes]:
    found: list[str] = []
    for data in _profiles():
        found += re.findall(r"pattern = '([^'\n]+)'", data.decode())
    return [each.encode() for each in found[:40]] + [b"(a+)+b", b"^x{1,5}(?=y)", b"(?i)[^|]*\\|"]


def _target(
    name: str,
    law: str,
    check: Callable[[bytes], object],
    seeds: list[bytes],
    words: tuple[str, ...],
    **more: int,
) -> Target:
    return Target(name, law, check, lambda: seeds, words, **more)  # type: ignore[arg-type]


_RUN = json.dumps(
    {"format": 1, "questions": "q", "hash": "h", "generation": 1, "k": 1, "parts": []}
)
_KEYS = json.dumps(
    {
        "format": 1,
        "keys": [
            {
                "id": "a",
                "name": "b",
                "salt": "c",
                "hash": "d",
                "scopes": ["read"],
                "collections": [],
                "access": [],
                "rate_per_minute": None,
                "created": "",
                "expires": "",
            }
        ],
    }
)
_JSON_WORDS = ("null", "[[", "1e999", "NaN", "true", '"scopes":', '"access":')
TARGETS = [
    _target(
        "settings",
        "settings, the same each time, or ConfigError",
        settings,
        [b"[search]\nk = 3\n[rerank]\nenabled = true\n", b"\0search.k=5\ntuning.fusion=rrf"],
        ("[search]", "k = ", "inf", "nan", "1e308", "[[", "{", "'''", "embedding.url="),
        smoke=300,
    ),
    _target(
        "settings-words",
        "settings of the environment, or ConfigError",
        environment,
        [b"SEARCH__K=5\nINGEST__LANGUAGE=english", b"LIMITS__FILE_MB=1e400"],
        ("SEARCH__K", "=", "__", "inf", "true", "[", "'"),
        smoke=300,
    ),
    _target(
        "profiles",
        "a profile with every pattern checked, or ConfigError",
        profile,
        _profiles(),
        ("[[kind]]", "[[link]]", "pattern = ", "extends = ", "(?i)", "[traversal]"),
        most_bytes=8192,
        smoke=60,
    ),
    Target(
        "patterns",
        "a pattern that is accepted is quick on any window, or stopped",
        pattern,
        _patterns,
        ("(?:", ")*", "{1,9}", "(?=", "\\s", "[^", "(?i)", "|", "++", "(?>"),
        200,
        seconds=6.0,  # up to eleven windows, each within the limit of a pattern
        smoke=200,
    ),
    _target(
        "keys",
        "keys that nobody's guess fits, or StoreError",
        keys,
        [_KEYS.encode()],
        _JSON_WORDS,
        smoke=300,
    ),
]

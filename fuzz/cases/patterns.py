"""Patterns that a profile may hold: each is refused, stopped, or quick on whatever a document holds."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from fuzz.hostile import Case
from pincite.model.profiles import MAX_SECONDS, WINDOW, compiled_pattern

EVIL = [
    *(
        r"(a+)+$",
        r"(a*)*$",
        r"(a|a)*$",
        r"(a|aa)+$",
        r"(.*a){20}$",
        r"(a?){30}a{30}",
        r"([a-z]+)*!",
    ),
    *(r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(x+x+)+y", r"(\w+\s?)*$", r"(\s*\w+)*:", r"^(\w+)+@"),
    *(r"(a+){2,}b", r"(a{1,9}){1,9}b", r"((a{1,3}){1,3}){1,3}b", r"(?:a|b|ab)*c", r"(\d+|\w+)*;"),
    *(r"\s+$", r"\s*\s*\s*x", r".*.*.*x", r".*,.*,.*,.*;", r"\w*\d*\w*!", r"[a-z]*[a-y]*[a-x]*!"),
    *(
        r"a.*b.*c.*d",
        r"\d+\d+\d+x",
        r"(?i)[A-Z]+[a-z]+!",
        r"^.*?.*?.*?$x",
        r"(.+)\1",
        r"(a)(b)?(?(2)c)",
    ),
    *(
        r"(?=(a+))a*b\1",
        r"(?<=a+)b",
        r"(?:(?:a+)+)+",
        r"(?:a+b?)+c",
        r"(?P<x>a+)(?P=x)",
        r"a{1,65535}b",
    ),
    *(
        r"a{2000}{2000}",
        r"(" * 200 + r"a" + r")" * 200,
        r"[",
        r"(",
        r"*a",
        r"a{9999999999}",
        r"(?P<a>",
    ),
    *(r"x" * 501, r"(?:a{0,30}){0,30}b", r"[^\n]*[^\n]*\n", r"(?s).*.*z", r"(?>a+)+b", r"a++a*+b"),
    *(r"^\|.*\|.*\|.*\|$", r"(?:[^|]*\|)*x", r"(([a-z]*)+)!", r"(.|\n)*z"),
]


def tried(pattern: str, _: Path) -> None:
    compiled = compiled_pattern(pattern, where="profile")
    for sign in ("a", "ab", " ", "1", "x", "aA", "a|", "a,", "\n", "abcxyz "):
        text = (sign * WINDOW)[: WINDOW - 1] + "!"
        started = time.thread_time()
        compiled.search(text)
        took = time.thread_time() - started
        assert took < 2 * MAX_SECONDS, f"{sign!r}: {took:.3f} s"


CASES = [Case("patterns of profiles", each[:60], partial(tried, each)) for each in EVIL]

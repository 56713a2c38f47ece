"""Are all packages that Pincite can bring along under licences that we accept? `make security`.

Checked are those of the lock and those that are installed here. A licence that is not on the list
needs a line in EXCEPTIONS with a reason, and is refused again when the package changes its licence.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scripts.release import lock

# Permissive ones, and MPL-2.0, which asks for changes of its own files only.
ACCEPTED = {
    *("0BSD", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MIT-CMU", "HPND", "Zlib"),
    *("Apache-2.0", "Apache-2.0-WITH-LLVM-exception", "BSL-1.0", "CC0-1.0", "Unlicense"),
    *("PSF-2.0", "Python-2.0", "CNRI-Python", "MPL-2.0"),
}
# What packages say that do not use SPDX, as what they mean.
MEANS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
# By package: the licence that was looked at, and why it is accepted.
_LGPL = "used unchanged as a library of its own, by the extra postgres only; none of it is in ours"
_CUDA = "torch's own wheels for Linux bring it, for the extra hub; none of it is in ours"
EXCEPTIONS = {
    "cuda-toolkit": ("", f"names NVIDIA's packages and has no code; {_CUDA}"),
    "dirtyjson": ('"Academic Free License (AFL)" AND "MIT License"', "one may choose: MIT"),
    "nvidia-*": ("LicenseRef-NVIDIA-Proprietary", _CUDA),
    "nvidia-cusparselt-*": ("NVIDIA Proprietary Software", _CUDA),
    "psycopg": ("LGPL-3.0-only", _LGPL),
    "psycopg-binary": ("LGPL-3.0-only", _LGPL),
    "pypdfium2": (
        "BSD-3-Clause, Apache-2.0, dependency licenses",
        "PDFium's own parts are under BSD, MIT, Zlib, FreeType and the like",
    ),
    "tiktoken": (
        "MIT License Copyright (c) 2022 OpenAI, Shantanu Jain Perm...",
        "the text of the MIT licence in place of its name",
    ),
}


def problems(name: str, licence: str) -> Iterator[str]:
    """Yield why a package's licence is not accepted."""
    if is_accepted(licence):
        return
    excepted = [seen for each, (seen, _) in EXCEPTIONS.items() if fnmatchcase(name, each)]
    if licence not in excepted:
        before = f" (was {excepted[0]!r} when it was accepted)" if excepted else ""
        yield f"{name}: {licence or 'says nothing of its licence'}{before}"


def is_accepted(licence: str) -> bool:
    """Say whether an SPDX expression, or what stands for one, can be kept with accepted licences.

    >>> is_accepted("MIT AND (GPL-3.0-only OR BSD-3-Clause)"), is_accepted("MIT AND AGPL-3.0-only")
    (True, False)
    """
    if licence in MEANS:
        return True
    words = [
        (f'"{quoted}"' if quoted else word)
        for quoted, word in re.findall(r'"([^"]*)"|([()]|[^\s()"]+)', licence)
    ]
    joined = " ".join(words).replace(" WITH ", "-WITH-")
    tokens = re.findall(r'"[^"]*"|[()]|[^\s()"]+', joined)
    value, rest = _any(tokens)
    return value and not rest


def _any(tokens: list[str]) -> tuple[bool, list[str]]:
    value, rest = _all(tokens)
    while rest and rest[0].upper() == "OR":
        other, rest = _all(rest[1:])
        value = value or other
    return value, rest


def _all(tokens: list[str]) -> tuple[bool, list[str]]:
    value, rest = _one(tokens)
    while rest and rest[0].upper() == "AND":
        other, rest = _one(rest[1:])
        value = value and other
    return value, rest


def _one(tokens: list[str]) -> tuple[bool, list[str]]:
    if not tokens:
        return False, []
    if tokens[0] == "(":
        value, rest = _any(tokens[1:])
        return (value, rest[1:]) if rest[:1] == [")"] else (False, rest)
    word = tokens[0].strip('"')
    return MEANS.get(word, word) in ACCEPTED, tokens[1:]


def installed() -> dict[str, str]:
    """Return the licences of what is installed here and the base or an extra brings along."""
    here = {canonicalize_name(each.name): each for each in metadata.distributions()}
    packages = {name: {"requires": each.requires or []} for name, each in here.items()}
    base, extras = lock.project()
    users, _ = lock.walked(packages, {lock.BASE: base, **extras})
    return {
        name: lock.declared(
            each.metadata.get("License-Expression"),
            each.metadata.get_all("Classifier") or (),
            each.metadata.get("License"),
        )
        for name, each in here.items()
        if users[name]
    }


def not_installed() -> list[str]:
    """Return the extras that are not whole here, so that only the lock tells of them."""
    here = {canonicalize_name(each.name) for each in metadata.distributions()}
    _, extras = lock.project()
    return [
        extra
        for extra, lines in extras.items()
        if not {canonicalize_name(Requirement(line).name) for line in lines} <= here
    ]


def main() -> int:
    """Check all and say what was found; return the exit code."""
    locked = {name: package["licence"] for name, package in lock.load().items()}
    here = installed()
    found = [each for name, licence in locked.items() for each in problems(name, licence)]
    found += [f"{each} (installed here)" for name in here for each in problems(name, here[name])]
    for problem in dict.fromkeys(found):
        print(f"not accepted: {problem}")
    for name, (licence, reason) in EXCEPTIONS.items():
        print(f"exception: {name} ({licence}): {reason}")
    print(f"licences of {len(locked)} packages of the lock and {len(here)} installed ones checked")
    if missing := not_installed():
        print(f"by the lock only: {', '.join(missing)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Profiles as files: where they are, and what one says once it is laid over another."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pincite.core.errors import MALFORMED, ConfigError

# Those that come with Pincite, in src/pincite/profiles.
PROFILES = Path(__file__).parents[1] / "profiles"
PROFILE_NAMES = ("code", "manual", "report", "rulebook")


def profile_text(name: str) -> str:
    """Return the TOML of a profile by its name, or by the path of a file."""
    if name.endswith(".toml"):
        try:
            return Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{name} cannot be read: {error}", hint="check the path") from error
    if name not in PROFILE_NAMES:
        from difflib import get_close_matches

        near = get_close_matches(name, PROFILE_NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(PROFILE_NAMES)}"
        raise ConfigError(f"no profile {name!r}", hint=f"{hint} Or give the path of a .toml file.")
    return (PROFILES / f"{name}.toml").read_text(encoding="utf-8")


def profile_values(text: str, *, origin: str) -> tuple[dict[str, Any], str]:
    """Return what a profile says, with what it extends, and a hash of both."""
    try:
        values = tomllib.loads(text)
    except MALFORMED as error:
        raise ConfigError(f"{origin} is no TOML: {error}", hint="see docs/profiles.md") from error
    if base := values.pop("extends", ""):
        if base not in PROFILE_NAMES:
            known = ", ".join(PROFILE_NAMES)
            raise ConfigError(f"{origin}: extends must be one of {known}, got {base!r}")
        under = profile_text(base)
        values = laid_over(values, tomllib.loads(under))
        text += under
    return values, hashlib.sha256(text.encode()).hexdigest()[:12]


def laid_over(values: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, where the upper one's lists come first and its single values win."""
    merged = {**under, **values}
    for key in values.keys() & under.keys():
        if isinstance(values[key], dict) and isinstance(under[key], dict):
            merged[key] = laid_over(values[key], under[key])
        elif isinstance(values[key], list) and isinstance(under[key], list):
            merged[key] = [*values[key], *under[key]]
    return merged

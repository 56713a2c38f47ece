"""Stored runs: one JSON file each, and nothing in it is believed before its type is checked."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pincite.core.errors import MALFORMED, SourceError, reason_of
from pincite.evaluate.runs import Found, Part, Run
from pincite.store.files import write_durably

FORMAT = 1
MAX_BYTES = 1_000_000_000
_HINT = "make one: pincite eval QUESTIONS"


def run_name(run: Run) -> str:
    """Return the file name of a run: the same questions, index and settings have the same one."""
    what = [run.hash, run.generation, run.k, *(f"{p.name} {p.settings}" for p in run.parts)]
    mark = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:8]
    name = re.sub(r"[^\w.-]+", "-", run.questions)[:60]
    return f"{name}-g{run.generation}-{mark}.json"


def save_run(run: Run, file: Path) -> None:
    """Write a run; a file that is there is replaced at once or not at all."""
    bare = asdict(replace(run, parts=()))
    plain = {"format": FORMAT, **bare, "parts": [_plain(part) for part in run.parts]}
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_durably(file, text.encode("utf-8"))
    except OSError as error:
        hint = "choose another folder with --runs"
        raise SourceError(f"cannot write {file}: {reason_of(error)}", hint=hint) from error


def _plain(part: Part) -> dict[str, Any]:
    """Return a part as plain values; a run has many hits, so each is a short list."""
    answers = [
        {**asdict(replace(answer, hits=())), "hits": [_row(hit) for hit in answer.hits]}
        for answer in part.answers
    ]
    return {"name": part.name, "settings": part.settings, "answers": answers}


def _row(hit: Found) -> list[Any]:
    return [getattr(hit, each.name) for each in fields(hit)]


def load_run(file: Path) -> Run:
    """Return a stored run; SourceError if the file is none."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SourceError(f"{file} is too large for a run", hint=_HINT)
        values = json.loads(file.read_text(encoding="utf-8"))
        if values.pop("format") != FORMAT:
            raise ValueError("another format")
        run: Run = _typed(Run, values)
    except (OSError, *MALFORMED) as error:
        raise SourceError(f"{file} is not a run: {error!r}", hint=_HINT) from error
    if not run.parts or any(len(part.answers) != len(run.asked) for part in run.parts):
        raise SourceError(f"{file} is not a whole run", hint=_HINT)
    return run


def _typed(kind: Any, value: Any) -> Any:
    """Return a value of JSON as the type that is wanted; ValueError if it is none."""
    if is_dataclass(kind):
        return _made(kind, value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else _typed(inner[0], value)
    if origin is tuple and isinstance(value, list):
        return tuple(_typed(inner[0], each) for each in value)
    if origin is Mapping and isinstance(value, dict):
        name, content = inner
        return {name(key): _typed(content, each) for key, each in value.items()}
    if origin is Literal and isinstance(value, str) and value in inner:
        return value
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind in (str, int, bool) and type(value) is kind and (kind is not int or 0 <= value < 2**53):
        return value
    raise ValueError(f"{kind} wanted, {str(value)[:40]!r} found")


def _made(kind: Any, value: Any) -> Any:
    hints = _hints(kind)
    if isinstance(value, list):
        value = dict(zip(hints, value, strict=True))
    if value.keys() - hints.keys():
        raise ValueError(f"unknown {sorted(value.keys() - hints.keys())}")
    return kind(**{name: _typed(hints[name], each) for name, each in value.items()})


@lru_cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)

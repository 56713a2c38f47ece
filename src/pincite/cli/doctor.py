"""pincite doctor: is everything in order here?"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pincite import __version__
from pincite.cli.options import PARTIAL, Call, command, option
from pincite.cli.terminal import counted, print_json, say
from pincite.model.errors import PinciteError, StaleIndex, StoreError, is_server, redact_url
from pincite.model.settings import Settings

if TYPE_CHECKING:
    from pincite.maintain.repair import Repair
    from pincite.model.settings import Settings
    from pincite.store.manifest import Manifest


@command("doctor")
@option("--repair", is_flag=True, help="Mend what can be mended, and name what cannot.")
def doctor(call: Call, repair: bool) -> int:
    """Check the installation and the index: every checksum of a folder, or what a server has."""
    facts = {"pincite": __version__, "python": platform.python_version()}
    done = _repair(call) if repair else None
    problems, hint = _check(call.index, call.settings, facts)
    report = {"ok": not problems, "facts": facts, "problems": problems, "hint": hint}
    if call.as_json:
        print_json(report | ({"repair": asdict(done)} if done else {}))
    else:
        _print(facts, problems, hint, done)
    if problems:
        return StoreError.exit_code
    return PARTIAL if done and (done.lost or done.lost_unnamed) else 0


def _print(facts: dict[str, str], problems: list[str], hint: str, done: Repair | None) -> None:
    for name, value in facts.items():
        say(f"{name:<12} {value}")
    for line in _repaired(done) if done else ():
        say(f"repair       {line}")
    for problem in problems:
        say(("problem      ", "bold red"), problem)
    if done and not problems and not done.is_complete:
        hint = "read the documents again: pincite ingest FILES"
    if hint:
        say(("hint         ", "bold"), hint)
    else:
        say("all is well", style="green")


def _repair(call: Call) -> Repair:
    """Mend the index, and give chunks vectors that lost them or never had any."""
    from pincite.cli.encoding import embed
    from pincite.maintain.repair import repair_index

    done = repair_index(call.folder("doctor --repair"))
    encoded = embed(call.index, call.settings, as_json=call.as_json)
    done.vectors = int(encoded["chunks"]) if encoded else 0
    return done


def _repaired(done: Repair) -> Iterator[str]:
    """Yield what was done and what could not be, in words."""
    yield from (f"found: {problem}" for problem in done.problems)
    if done.fell_back_to:
        yield f"the newest generation that can be read is {done.fell_back_to}: it is served now"
    yield from (f"written again: {name}" for name in done.listings)
    if done.rebuilt:
        yield f"search data made again for {counted(len(done.rebuilt), 'document')}"
    if done.vectors:
        yield f"vectors of {counted(done.vectors, 'chunk')} computed"
    yield from (f"as it was in an older generation: {name}" for name in done.older)
    yield from (f"lost: {name}" for name in done.lost)
    if done.lost_unnamed:
        yield f"lost: {counted(done.lost_unnamed, 'document')} whose names are gone too"
    if not done.problems and not done.vectors:
        yield "nothing to do"


def _check(index: str, settings: Settings, facts: dict[str, str]) -> tuple[list[str], str]:
    """Return what is wrong and what to do about it; fill in what is known."""
    from pincite.store.location import exists
    from pincite.store.manifest import current, damage

    facts["index"] = redact_url(index)
    hint = f"build it again: pincite ingest FILES --index {redact_url(index)} --rebuild"
    if not is_server(index):
        hint = f"mend it: pincite doctor --repair --index {redact_url(index)}; or {hint}"
    try:
        if is_server(index):
            problems = _check_server(index, settings, facts)
        else:
            _count(current(Path(index)), facts)
            problems = damage(Path(index))
    except PinciteError as error:
        is_there = not is_server(index) and exists(index)
        is_stale = isinstance(error, StaleIndex)
        return [error.message], hint if is_there and not is_stale else error.hint
    return problems, hint if problems else _lacking(index, settings)


def _lacking(index: str, settings: Settings) -> str:
    """Return what search by meaning lacks though the settings want it, and what to do."""
    from pincite.update import without_vectors

    try:
        count, stood_in = without_vectors(index, settings)
    except PinciteError as error:  # of the model: search by words works all the same
        return f"{error.message}; {error.hint}"
    if not count:
        return ""
    have = f"{counted(count, 'chunk has', 'chunks have')} no vector of {settings.embedding.model}"
    if stood_in >= count:
        patient = f"pincite ingest FILES --patience 0 --index {redact_url(index)}"
        return f"{have}, static ones stand in for them; compute the better ones: {patient}"
    remedy = "ingest FILES" if is_server(index) else "doctor --repair"
    return (
        f"{have}, so that only words find them; compute them: "
        f"pincite {remedy} --index {redact_url(index)}"
    )


def _check_server(index: str, settings: Settings, facts: dict[str, str]) -> list[str]:
    """Return what is missing in a server; it answers for its own bytes."""
    from pincite.store.location import open_snapshot, server_of

    facts["server"] = server_of(index, settings.store)
    with open_snapshot(index, settings.store) as snapshot:
        _count(snapshot.manifest, facts)
        return [
            f"segment {part.entry.name} has {found} documents, not {part.entry.documents}"
            for part in snapshot.segments
            if (found := len(part.doc_ids()) + len(part.dropped)) != part.entry.documents
        ]


def _count(manifest: Manifest, facts: dict[str, str]) -> None:
    facts["generation"] = str(manifest.generation)
    facts["segments"] = str(len(manifest.segments))
    live = sum(entry.documents - len(entry.dropped) for entry in manifest.segments)
    facts["documents"] = str(live)
    facts["chunks"] = str(sum(entry.chunks for entry in manifest.segments))
    facts["vectors"] = str(sum(entry.windows for entry in manifest.vectors))

"""Starting the service: one process, or several that share the mapped files of a folder."""

from __future__ import annotations

import errno
import ipaddress
import json
import os
import socket
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.model.errors import ConfigError
from pincite.model.settings import Settings, merged
from pincite.serve.app import create_app
from pincite.serve.errors import AddressTaken
from pincite.serve.service import DEFAULT, Options

if TYPE_CHECKING:
    from fastapi import FastAPI

# What the parent tells its workers.
VARIABLE = "PINCITE_SERVE_PLAN"
BACKLOG = 2048
# A worker that does not answer its parent for so long is replaced. On a busy machine it takes some
# seconds to load its modules, and five, as uvicorn has it, would begin anew again and again.
WORKER_SECONDS = 60
DRAIN_SECONDS = 10  # shutting down waits this long for requests that were begun


@dataclass(frozen=True, slots=True)
class ListenAddress:
    host: str = "127.0.0.1"
    port: int = 8321

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def places_from(written: list[str], default: str) -> dict[str, str]:
    """Return indexes by name from ``NAME=PLACE`` or one plain ``PLACE``, a folder or a URL.

    >>> places_from(["law=a/b", "postgresql://host/db?sslmode=require"], "d")
    {'law': 'a/b', 'default': 'postgresql://host/db?sslmode=require'}
    """
    named: dict[str, str] = {}
    for each in written or [default]:
        name, equals, place = each.partition("=")
        if not equals or "://" in name:  # a URL has such signs of its own
            name, place = DEFAULT, each
        if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
            raise ConfigError(f"no name of a collection: {name!r}", hint="write NAME=FOLDER")
        if name in named:
            raise ConfigError(f"two collections are called {name!r}", hint="write NAME=FOLDER")
        named[name] = place
    return named


def check_exposure(address: ListenAddress, keys: Path | None, *, is_open: bool) -> None:
    """Refuse to serve everybody everything by mistake."""
    if keys is None and not address.is_loopback and not is_open:
        raise ConfigError(
            f"no keys are configured, and {address.host} can be reached from other machines",
            hint="make one with: pincite keys add NAME; or say --open if everybody may do all",
        )


def check_free(address: ListenAddress) -> None:
    """Bind the address for a moment: what uvicorn says of one that is taken helps nobody."""
    where = f"{address.host}:{address.port}"
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise AddressTaken(
            f"cannot listen at {where}: {error.strerror}",
            hint="name an address of this machine with --host",
        ) from error
    problems = [problem for each in found if (problem := _refusal(each[0], each[4]))]
    # A name may have an address of a kind that this machine lacks; another of its addresses does.
    grave = [x for x in problems if x.errno in (errno.EADDRINUSE, errno.EACCES)]
    if grave or len(problems) == len(found):
        first = (grave or problems)[0]
        raise AddressTaken(
            f"cannot listen at {where}: {first.strerror}",
            hint="choose another port with --port, or end the program that has this one"
            if first.errno == errno.EADDRINUSE
            else "choose a port from 1024 on with --port, or another address with --host",
        ) from first


def _refusal(family: int, place: tuple[Any, ...]) -> OSError | None:
    """Return why nothing can listen there; None if something can."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            # As uvicorn does it: connections that ended lately are no reason to wait.
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            tried.bind(place)
    except OSError as error:
        return error
    return None


def run(
    places: Mapping[str, str],
    settings: Settings,
    options: Options,
    address: ListenAddress,
    *,
    is_open: bool = False,
    announce: Callable[[], None] = lambda: None,
) -> None:
    """Serve until a signal comes; requests that were begun are ended first.

    ``announce`` is called when nothing that can be known beforehand is in the way.
    """
    import uvicorn

    from pincite.serve.connections import BoundedConnection

    check_exposure(address, options.keys, is_open=is_open)
    app = create_app(places, settings, options)  # before binding: mistakes are told at once
    check_free(address)
    if options.keys is not None:  # what some may not read is not for all users of this machine
        os.umask(os.umask(0) | 0o007)
    announce()
    common: dict[str, Any] = {
        "host": address.host,
        "port": address.port,
        "log_level": "warning",
        "access_log": False,  # the audit log is ours, without the words of questions
        "server_header": False,
        "backlog": BACKLOG,
        "http": BoundedConnection,
        "proxy_headers": False,  # anybody on this machine could say who it is
        "ws": "none",
        "timeout_graceful_shutdown": DRAIN_SECONDS,
        "timeout_keep_alive": 15,
    }
    if options.workers == 1:
        uvicorn.run(app, **common)
        return
    with tempfile.TemporaryDirectory(prefix="pincite-serve-") as scratch:  # for this user alone
        shared = replace(options, sessions=Path(scratch) / "sessions.sqlite")
        os.environ[VARIABLE] = _plan(places, settings, shared)
        factory = "pincite.serve.run:planned_app"
        uvicorn.run(
            factory,
            factory=True,
            workers=options.workers,
            timeout_worker_healthcheck=WORKER_SECONDS,
            **common,
        )


def _plan(places: Mapping[str, str], settings: Settings, options: Options) -> str:
    files = {"keys": options.keys, "audit_log": options.audit_log, "sessions": options.sessions}
    return json.dumps(
        {
            "places": dict(places),
            "settings": asdict(settings),
            "workers": options.workers,
            "files": {name: str(file.absolute()) for name, file in files.items() if file},
        }
    )


def planned_app() -> FastAPI:
    """Return the application in a worker, as its parent planned it."""
    plan = json.loads(os.environ[VARIABLE])
    settings = merged(Settings(), plan["settings"], origin="parent")
    files = {name: Path(file) for name, file in plan["files"].items()}
    return create_app(plan["places"], settings, Options(workers=plan["workers"], **files))

"""/mcp: the tools of `pincite mcp`, where each call is a request of its caller.

Keys, rates and the audit log are those of the service; the address may choose a collection:
`/mcp?collection=NAME`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from pincite.mcp.server import http_app, make_server
from pincite.search.reader import IndexReader
from pincite.serve.errors import overloaded
from pincite.serve.requests import caller_with
from pincite.serve.service import Service

PATH = "/mcp"


class Agents:
    """An ASGI application that lets a caller in and hands the call to the MCP server."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._server = make_server(self._lent)
        self._app = http_app(self._server, path=PATH)
        self._find = caller_with("read")
        self._calls = 0

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return the context in which calls are answered."""
        return self._server.session_manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        caller: Any = self._find(request)
        scope["state"]["caller"] = await caller
        # The threads of the SDK have no queue of their own that says when it is too long.
        if self._calls >= self._service.limits.queue:
            raise overloaded()
        self._calls += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._calls -= 1

    @contextmanager
    def _lent(self, request: Request) -> Iterator[IndexReader]:
        """Lend the index as the caller of this request sees it."""
        caller = request.state.caller
        chosen = self._service.collection(caller, request.query_params.get("collection", ""))
        request.state.asked.collection = chosen.name
        with chosen.lease(caller.access) as index:
            yield index

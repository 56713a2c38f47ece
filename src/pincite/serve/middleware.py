"""Around every request: an id, limits on its body, safe headers, its line in the audit log."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from pincite.serve.errors import ServiceError, error_body, status_of
from pincite.serve.service import Asked, Service

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = {"localhost", "127.0.0.1", "[::1]", "::1"}
# Paths that take whole documents.
UPLOADS = ("/v1/documents",)
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
logger = logging.getLogger("pincite.serve")


class Envelope:
    """The outermost part of the service: nothing leaves or enters without passing here."""

    def __init__(self, app: App, service: Service) -> None:
        self.app = app
        self.service = service
        allowed = {each.strip().casefold() for each in service.limits.hosts.split(",")} - {""}
        # Without keys a page of any site could reach the service through a name of its own.
        self.hosts = allowed or (set() if service.has_keys else LOCAL)
        origins = service.limits.cors_origins.split(",")
        self.origins = {each.strip().casefold().rstrip("/") for each in origins} - {""}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = _Request(scope, receive, send, self.service)
        metrics = self.service.metrics
        metrics.in_flight += 1
        try:
            request.check(self.hosts, self.origins)
            await self.app(scope, request.receive, request.send)
        except ServiceError as error:
            await request.refuse(error)
        except asyncio.CancelledError:
            request.status = request.status or 499  # the client has gone
            raise
        except Exception:
            # The one place where everything is caught: a request must not end without an answer.
            logger.exception("request %s failed", request.id)
            await request.refuse(ServiceError("something went wrong here", 500))
        finally:
            metrics.in_flight -= 1
            request.finish()


class _Request:
    """One request on its way."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, service: Service) -> None:
        self.id = secrets.token_hex(8)
        self.status = 0
        self._scope, self._receive, self._send = scope, receive, send
        self._service = service
        self._started = time.monotonic()
        self._bytes = 0
        limits = service.limits
        is_upload = scope["method"] == "POST" and scope["path"] in UPLOADS
        self._most = int(1e6 * (limits.upload_mb if is_upload else limits.body_mb))
        self._due = self._started + limits.body_seconds
        self._is_read = False
        self._is_told = False
        self._refusal: ServiceError | None = None  # who reads the body may catch it
        scope.setdefault("state", {})["request_id"] = self.id
        scope["state"]["asked"] = self.asked = Asked()

    def check(self, hosts: set[str], origins: set[str]) -> None:
        """Refuse what need not be read: strange names, a body that says it is too large."""
        headers = {name.lower(): value for name, value in self._scope["headers"]}
        host = headers.get(b"host", b"").decode("latin-1").casefold()
        name = host if host.startswith("[") and host.endswith("]") else host.rpartition(":")[0]
        if hosts and host not in hosts and name not in hosts:
            raise ServiceError("not served under this name", 421, hint="see serve.hosts")
        origin = headers.get(b"origin", b"").decode("latin-1").casefold().rstrip("/")
        # A browser sends some requests of other sites without asking first.
        is_foreign = bool(origin) and origin.partition("://")[2] != host and origin not in origins
        if is_foreign and self._scope["method"] not in _SAFE:
            raise ServiceError("pages of other sites may not do this", 403)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._most:
            raise self._too_large()

    async def receive(self) -> Message:
        """Return the next part of the body; too much or too slow is refused."""
        if self._is_read:
            return await self._receive()  # what comes now is that the client goes
        try:
            left = max(0.0, self._due - time.monotonic())
            message = await asyncio.wait_for(self._receive(), left)
        except TimeoutError:
            self._refusal = ServiceError("the body came too slowly", 408)
            raise self._refusal from None
        if message["type"] == "http.request":
            self._bytes += len(message.get("body", b""))
            self._is_read = not message.get("more_body", False)
            if self._bytes > self._most:
                self._refusal = self._too_large()
                raise self._refusal
        return message

    def _too_large(self) -> ServiceError:
        return ServiceError(f"the body is larger than {self._most / 1e6:g} MB", 413)

    async def send(self, message: Message) -> None:
        if self._refusal is not None and not self.status:
            refusal, self._refusal = self._refusal, None
            await self.refuse(refusal)
            self._is_told = True
        if self._is_told:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            known = {name.lower() for name, _ in message["headers"]}
            added = {"x-request-id": self.id, **HEADERS}
            message["headers"] = [
                *message["headers"],
                *((n.encode(), v.encode()) for n, v in added.items() if n.encode() not in known),
            ]
        await self._send(message)

    async def refuse(self, error: ServiceError) -> None:
        """Answer with an error, if nothing was answered yet."""
        if self.status:
            return
        body = json.dumps(error_body(error, self.id)).encode()
        headers = [(b"content-type", b"application/json")]
        headers.append((b"content-length", str(len(body)).encode()))
        if error.retry_after is not None:
            headers.append((b"retry-after", str(max(1, round(error.retry_after))).encode()))
        start = {"type": "http.response.start", "status": status_of(error), "headers": headers}
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})

    def finish(self) -> None:
        """Count the request and write its line."""
        seconds = time.monotonic() - self._started
        method = self._scope["method"] if self._scope["method"] in _METHODS else "OTHER"
        # The pattern, not the path: ids of documents belong in no figure.
        route = getattr(self._scope.get("route"), "path", "unknown")
        self._service.metrics.finished(method, route, self.status, seconds)
        asked, audit = self.asked, self._service.audit
        audit.write(
            request=self.id,
            key=asked.caller,
            method=method,
            route=route,
            collection=asked.collection,
            status=self.status,
            seconds=round(seconds, 4),
            query_length=None if asked.query is None else len(asked.query),
            query=asked.query if audit.log_queries else None,
            **asked.facts,
        )


_SAFE = {"GET", "HEAD", "OPTIONS"}
_METHODS = {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"}

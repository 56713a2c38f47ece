"""One POST to a model's service: its address, its key, and what is done when it fails."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from pincite.core.errors import MALFORMED, ConfigError, ModelError, PinciteError

T = TypeVar("T")
OPENAI, OPENAI_KEY = "https://api.openai.com/v1", "OPENAI_API_KEY"
AZURE_VERSION = "2024-10-21"
# The longest pause between two attempts, whatever the service asks for.
MOST_SECONDS = 60.0
MOST_BYTES = 256_000_000
# Worth another try: too many requests, too slow, or broken for a moment.
PASSING = {408, 409, 425, 429, 500, 502, 503, 504, 529}
# The texts are at fault: too long, empty, or otherwise not what the model takes.
REFUSED = {400, 413, 422}
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Refused(ModelError):
    """The service does not take these texts; others it may."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a service is asked for, in the words of its address and of our messages."""

    section: str  # of the settings
    path: str  # the last part of its address
    name: str
    too_many: str  # settings to look at when it has too much to do
    refused: str  # and when it does not take what it gets


EMBEDDING = Purpose(
    "embedding",
    "embeddings",
    "the embedding service",
    too_many="embedding.batch and embedding.threads",
    refused="check embedding.model and embedding.dimension, or lower embedding.batch",
)


class Service:
    """A service that speaks JSON, also Azure's; knows how to ask, not what answers mean.

    The key is read from the environment for each request and is never kept nor shown.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str,
        api_key_env: str = "",
        timeout_seconds: float = 60.0,
        retries: int = 5,
        sleep: Callable[[float], None] = time.sleep,
        purpose: Purpose = EMBEDDING,
        patience: float = MOST_SECONDS,
    ) -> None:
        parts = _checked(url, purpose.section)
        self._is_azure = (parts.hostname or "").endswith(".azure.com") or (
            "/openai/deployments/" in parts.path
        )
        last = f"/{purpose.path}"
        path, query = parts.path.rstrip("/").removesuffix(last), parts.query
        path = path.removesuffix("/openai")
        if self._is_azure and "/openai/" not in f"{path}/":
            path += f"/openai/deployments/{quote(model, safe='')}"
        if "/openai/deployments/" in path and "api-version" not in dict(parse_qsl(query)):
            query = "&".join(filter(None, [query, urlencode({"api-version": AZURE_VERSION})]))
        self._url = urlunsplit((parts.scheme, parts.netloc, path + last, query, ""))
        # What messages show: a query may hold what is not for everybody.
        self.address = urlunsplit((parts.scheme, parts.netloc, path + last, "", ""))
        self._is_local = parts.hostname in _LOOPBACK
        self.model = model
        self._key_name = api_key_env
        self._timeout = max(timeout_seconds, 0.05)
        self._retries = retries
        self._sleep = sleep
        self._patience = patience
        self._section = purpose.section
        self._purpose = purpose
        self.name = f"{purpose.name} at {self.address}"

    def ask(self, body: Mapping[str, Any]) -> Any:
        """Return the answer to a request, as JSON; tries again what may pass."""
        data = json.dumps({"model": self.model, **body}).encode()
        return self.tried(lambda: self._once(data))

    def tried(self, once: Callable[[], T]) -> T:
        """Return what an attempt gives; one that fails in a way that may pass is made again."""
        for attempt in range(self._retries + 1):
            problem, wait = "", 0.0
            try:
                return once()
            except HTTPError as error:
                if error.code not in PASSING:
                    raise self._explained(error) from None
                problem, wait = f"HTTP {error.code}", _wanted(error.headers.get("Retry-After"))
                error.close()
            except (OSError, http.client.HTTPException) as error:
                problem = self.reason(error)
            if wait > self._patience:
                break  # it wants to be left alone for longer than anybody waits
            if attempt < self._retries:
                # Full jitter: many clients that failed together do not come back together.
                pause = random.uniform(0, min(MOST_SECONDS, 0.5 * 2**attempt))
                self._sleep(min(MOST_SECONDS, wait + pause))
        raise ModelError(
            f"{self.name} failed {attempt + 1} times: {problem}",
            hint=f"is it running, and {self._section}.url right? See also "
            f"{self._section}.timeout_seconds, {self._section}.retries and, at HTTP 429, "
            f"{self._purpose.too_many}",
        )

    @cached_property
    def _opener(self) -> OpenerDirector:
        handlers = [HTTPSHandler(context=ssl.create_default_context()), _NoRedirect()]
        # What runs on this machine is never behind a proxy.
        return build_opener(*handlers, ProxyHandler({}) if self._is_local else ProxyHandler())

    def open(self, data: bytes, timeout: float) -> Any:
        """Send a body and return the response, unread; the time-out is for each wait."""
        headers = {"Content-Type": "application/json", "User-Agent": "pincite", **self._secret()}
        request = Request(self._url, data=data, headers=headers, method="POST")
        return self._opener.open(request, timeout=timeout)

    def _once(self, data: bytes) -> Any:
        deadline = time.monotonic() + self._timeout
        received = bytearray()
        with self.open(data, self._timeout) as response:
            while piece := response.read1(1_000_000):
                received += piece
                if time.monotonic() > deadline:
                    raise TimeoutError("the answer came too slowly")
                if len(received) > MOST_BYTES:
                    raise self.strange("an answer without end")
        try:
            return json.loads(bytes(received))
        except MALFORMED:
            raise self.strange("no JSON") from None

    def _secret(self) -> dict[str, str]:
        """Return the header with the key; no error tells what is in it."""
        if not self._key_name:
            return {}
        if not _VARIABLE.fullmatch(self._key_name):
            raise ConfigError(
                f"{self._section}.api_key_env is not the name of an environment variable",
                hint="it names the variable, as OPENAI_API_KEY; the key itself is no setting",
            )
        key = os.environ.get(self._key_name, "").strip()
        if not key:
            raise ConfigError(
                f"the environment variable {self._key_name} is not set",
                hint=f"export {self._key_name}=..., or change {self._section}.api_key_env",
            )
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(
                f"the environment variable {self._key_name} holds no key: it has characters that "
                "no key has",
                hint="copy the key again",
            )
        return {"api-key": key} if self._is_azure else {"Authorization": f"Bearer {key}"}

    def _explained(self, error: HTTPError) -> PinciteError:
        """Return what an answer that will not change means, and what to do about it."""
        code, where, section = error.code, self.name, self._section
        said = self._said(error)
        if code in (401, 403):  # these answers like to repeat the key
            name = self._key_name or "none is set"
            return ConfigError(
                f"{where} does not accept the key: HTTP {code}",
                hint=f"check {section}.api_key_env ({name}) and what that variable holds",
            )
        if code == 404:
            return ConfigError(
                f"{where} has no such address or model ({self.model}): HTTP 404{said}",
                hint=f"check {section}.model and {section}.url (most services end in /v1); "
                "some want the model to be loaded first, as: ollama pull MODEL",
            )
        if code in REFUSED:
            return Refused(
                f"{where} refused the request: HTTP {code}{said}",
                hint=self._purpose.refused,
            )
        return ModelError(f"{where} answered HTTP {code}{said}", hint=f"check {section}.url")

    def _said(self, error: HTTPError) -> str:
        """Return the start of a service's own words, without anything secret."""
        try:
            words = error.read(2000).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            return ""
        finally:
            error.close()
        for secret in self._secret().values():
            words = words.replace(secret.removeprefix("Bearer "), "…")
        words = " ".join("".join(c if c.isprintable() else " " for c in words).split())
        return f": {words[:300]}" if words else ""

    def reason(self, error: OSError | http.client.HTTPException) -> str:
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise ModelError(
                f"the certificate of {self.address} is not valid: {cause.verify_message}",
                hint="set SSL_CERT_FILE to your organisation's certificates",
            ) from None
        if isinstance(cause, TimeoutError):
            return f"no answer in {self._timeout:g} seconds"
        return str(cause) or type(cause).__name__

    def strange(self, what: str) -> ModelError:
        return ModelError(f"{self.name} gave {what}", hint=f"check {self._section}.url")


class _NoRedirect(HTTPRedirectHandler):
    """A redirect is an error: it would carry the key to another place."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _checked(url: str, section: str) -> Any:
    """Return the parts of an address; an address with a password in it is refused."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = None
    if not usable or any(not c.isprintable() or c.isspace() or not c.isascii() for c in url):
        raise ConfigError(
            f"{section}.url is no address of a service", hint="as http://localhost:11434/v1"
        )
    if "@" in parts.netloc:
        raise ConfigError(
            f"{section}.url holds a name or password", hint=f"use {section}.api_key_env"
        )
    return parts


def _wanted(retry_after: str | None) -> float:
    """Return how long a service asks to be left alone: seconds or a date, within bounds."""
    text = (retry_after or "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return 0.0
    return min(max(seconds, 0.0), MOST_SECONDS) if seconds == seconds else 0.0

"""One POST to an embedding service: its address, its key, and what is done when it fails."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any
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

from pincite.core.errors import ConfigError, ModelError, PinciteError

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


class Service:
    """An OpenAI-compatible service, or Azure's; knows how to ask, not what vectors are.

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
    ) -> None:
        parts = _checked(url)
        self._is_azure = (parts.hostname or "").endswith(".azure.com") or (
            "/openai/deployments/" in parts.path
        )
        path, query = parts.path.rstrip("/").removesuffix("/embeddings"), parts.query
        path = path.removesuffix("/openai")
        if self._is_azure and "/openai/" not in f"{path}/":
            path += f"/openai/deployments/{quote(model, safe='')}"
        if "/openai/deployments/" in path and "api-version" not in dict(parse_qsl(query)):
            query = "&".join(filter(None, [query, urlencode({"api-version": AZURE_VERSION})]))
        self._url = urlunsplit((parts.scheme, parts.netloc, f"{path}/embeddings", query, ""))
        # What messages show: a query may hold what is not for everybody.
        self.address = urlunsplit((parts.scheme, parts.netloc, f"{path}/embeddings", "", ""))
        self._is_local = parts.hostname in _LOOPBACK
        self.model = model
        self._key_name = api_key_env
        self._timeout = max(timeout_seconds, 0.05)
        self._retries = retries
        self._sleep = sleep

    def ask(self, body: Mapping[str, Any]) -> Any:
        """Return the answer to a request, as JSON; tries again what may pass."""
        data = json.dumps({"model": self.model, **body}).encode()
        for attempt in range(self._retries + 1):
            problem, wait = "", 0.0
            try:
                return self._once(data)
            except HTTPError as error:
                if error.code not in PASSING:
                    raise self._explained(error) from None
                problem, wait = f"HTTP {error.code}", _wanted(error.headers.get("Retry-After"))
                error.close()
            except (OSError, http.client.HTTPException) as error:
                problem = self._reason(error)
            if attempt < self._retries:
                # Full jitter: many clients that failed together do not come back together.
                pause = random.uniform(0, min(MOST_SECONDS, 0.5 * 2**attempt))
                self._sleep(min(MOST_SECONDS, wait + pause))
        raise ModelError(
            f"the embedding service at {self.address} failed {self._retries + 1} times: {problem}",
            hint="is it running, and embedding.url right? See also embedding.timeout_seconds, "
            "embedding.retries and, at HTTP 429, embedding.batch and embedding.threads",
        )

    @cached_property
    def _opener(self) -> OpenerDirector:
        handlers = [HTTPSHandler(context=ssl.create_default_context()), _NoRedirect()]
        # What runs on this machine is never behind a proxy.
        return build_opener(*handlers, ProxyHandler({}) if self._is_local else ProxyHandler())

    def _once(self, data: bytes) -> Any:
        headers = {"Content-Type": "application/json", "User-Agent": "pincite", **self._secret()}
        request = Request(self._url, data=data, headers=headers, method="POST")
        deadline = time.monotonic() + self._timeout
        received = bytearray()
        with self._opener.open(request, timeout=self._timeout) as response:
            while piece := response.read1(1_000_000):
                received += piece
                if time.monotonic() > deadline:
                    raise TimeoutError("the answer came too slowly")
                if len(received) > MOST_BYTES:
                    raise self._strange("an answer without end")
        try:
            return json.loads(bytes(received))
        except (ValueError, RecursionError):
            raise self._strange("no JSON") from None

    def _secret(self) -> dict[str, str]:
        """Return the header with the key; no error tells what is in it."""
        if not self._key_name:
            return {}
        if not _VARIABLE.fullmatch(self._key_name):
            raise ConfigError(
                "embedding.api_key_env is not the name of an environment variable",
                hint="it names the variable, as OPENAI_API_KEY; the key itself is no setting",
            )
        key = os.environ.get(self._key_name, "").strip()
        if not key:
            raise ConfigError(
                f"the environment variable {self._key_name} is not set",
                hint=f"export {self._key_name}=..., or change embedding.api_key_env",
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
        code, where = error.code, f"the embedding service at {self.address}"
        said = self._said(error)
        if code in (401, 403):  # these answers like to repeat the key
            name = self._key_name or "none is set"
            return ConfigError(
                f"{where} does not accept the key: HTTP {code}",
                hint=f"check embedding.api_key_env ({name}) and what that variable holds",
            )
        if code == 404:
            return ConfigError(
                f"{where} has no such address or model ({self.model}): HTTP 404{said}",
                hint="check embedding.model and embedding.url (most services end in /v1); "
                "some want the model to be loaded first, as: ollama pull MODEL",
            )
        if code in REFUSED:
            return Refused(
                f"{where} refused the request: HTTP {code}{said}",
                hint="check embedding.model and embedding.dimension, or lower embedding.batch",
            )
        return ModelError(f"{where} answered HTTP {code}{said}", hint="check embedding.url")

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

    def _reason(self, error: OSError | http.client.HTTPException) -> str:
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise ModelError(
                f"the certificate of {self.address} is not valid: {cause.verify_message}",
                hint="set SSL_CERT_FILE to your organisation's certificates",
            ) from None
        if isinstance(cause, TimeoutError):
            return f"no answer in {self._timeout:g} seconds"
        return str(cause) or type(cause).__name__

    def _strange(self, what: str) -> ModelError:
        return ModelError(
            f"the embedding service at {self.address} gave {what}", hint="check embedding.url"
        )


class _NoRedirect(HTTPRedirectHandler):
    """A redirect is an error: it would carry the key to another place."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _checked(url: str) -> Any:
    """Return the parts of an address; an address with a password in it is refused."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = None
    if not usable or any(not c.isprintable() or c.isspace() or not c.isascii() for c in url):
        raise ConfigError(
            "embedding.url is no address of a service", hint="as http://localhost:11434/v1"
        )
    if "@" in parts.netloc:
        raise ConfigError(
            "embedding.url holds a name or password", hint="use embedding.api_key_env"
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

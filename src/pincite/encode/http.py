"""The one HTTP client of encoders, re-rankers and language models: address, key, retry policy."""

from __future__ import annotations

import json
import logging
import os
import random
import re
import socket
import ssl
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from threading import Timer
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from pincite.model.errors import MALFORMED, ConfigError, ModelError, PinciteError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
OPENAI, OPENAI_KEY = "https://api.openai.com/v1", "OPENAI_API_KEY"
AZURE_VERSION = "2024-10-21"
# The longest pause between two attempts, whatever the service asks for.
MAX_WAIT_SECONDS = 60.0
MAX_ANSWER_BYTES = 256_000_000
MAX_LINE_BYTES = 1_000_000
# Worth another try: too many requests, too slow, or broken for a moment.
TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 529}
# The texts are at fault: too long, empty, or otherwise not what the model takes.
REFUSED = {400, 413, 422}
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class TextsRefused(ModelError):
    """The service does not take these texts; others it may."""


class _BadStatus(Exception):
    """An answer that is no success, with the start of its words."""

    def __init__(self, status: int, retry_after: str, words: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.retry_after = retry_after
        self.words = words


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
    too_many="tuning.threads",
    refused="check embedding.model and embedding.dimension",
)


class HttpService:
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
        patience: float = MAX_WAIT_SECONDS,
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
        return self.tried(lambda: self._once(body))

    def tried(self, once: Callable[[], T]) -> T:
        """Return what an attempt gives; one that fails in a way that may pass is made again."""
        for attempt in range(self._retries + 1):
            problem, wait = "", 0.0
            try:
                return once()
            except _BadStatus as error:
                if error.status not in TRANSIENT:
                    raise self._explained(error) from None
                problem, wait = f"HTTP {error.status}", _retry_after_seconds(error.retry_after)
            except OSError as error:
                problem = self.reason(error)
            if wait > self._patience:
                break  # it wants to be left alone for longer than anybody waits
            if attempt < self._retries:
                # Full jitter: many clients that failed together do not come back together.
                pause = random.uniform(0, min(MAX_WAIT_SECONDS, 0.5 * 2**attempt))
                self._sleep(min(MAX_WAIT_SECONDS, wait + pause))
        raise ModelError(
            f"{self.name} failed {attempt + 1} times: {problem}",
            hint=f"is it running, and {self._section}.url right? See also "
            f"http.timeout_seconds, http.retries and, at HTTP 429, {self._purpose.too_many}",
        )

    def open(self, body: Mapping[str, Any], max_bytes: int = MAX_ANSWER_BYTES) -> Incoming:
        """Send a request and return its answer, unread and to be closed."""
        # Half characters, which JSON cannot carry everywhere, become question marks.
        text = json.dumps({"model": self.model, **body}, ensure_ascii=False)
        data, client = text.encode("utf-8", "replace"), self._client
        with _plain_errors():
            request = client.build_request("POST", self._url, content=data, headers=self._secret())
            answer = Incoming(self, client.send(request, stream=True), max_bytes)
            if not answer.response.is_success:
                with closing(answer):
                    raise answer.as_error(time.monotonic() + self._timeout)
            return answer

    @cached_property
    def _client(self) -> httpx.Client:
        import httpx

        # It would log whole addresses, and these may hold what is not for everybody.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        try:
            return httpx.Client(
                verify=ssl.create_default_context(),  # the system's certificates, SSL_CERT_FILE
                trust_env=not self._is_local,  # what runs on this machine is behind no proxy
                timeout=self._timeout,
                limits=httpx.Limits(max_keepalive_connections=0),
                headers={
                    "Content-Type": "application/json",
                    "User-Agent": "pincite",
                    "Accept-Encoding": "identity",  # a limit of bytes is one of what they hold
                },
            )
        except (ImportError, ValueError) as error:
            raise ConfigError(
                f"the proxy for {self.address} cannot be used: {error}",
                hint="see the environment variables HTTPS_PROXY, ALL_PROXY and NO_PROXY",
            ) from error

    def _once(self, body: Mapping[str, Any]) -> Any:
        deadline = time.monotonic() + self._timeout
        with closing(self.open(body)) as answer:
            content = answer.read_all(deadline)
        try:
            return json.loads(content)
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

    def _explained(self, error: _BadStatus) -> PinciteError:
        """Return what an answer that will not change means, and what to do about it."""
        code, where, section = error.status, self.name, self._section
        words = error.words.decode("utf-8", "replace")
        for secret in self._secret().values():
            words = words.replace(secret.removeprefix("Bearer "), "…")
        said = f": {words}" if (words := in_one_line(words)) else ""
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
            return TextsRefused(
                f"{where} refused the request: HTTP {code}{said}", hint=self._purpose.refused
            )
        return ModelError(f"{where} answered HTTP {code}{said}", hint=f"check {section}.url")

    def reason(self, error: OSError) -> str:
        """Return why a connection failed; a bad certificate is raised, it will not pass."""
        if isinstance(error, ssl.SSLCertVerificationError):
            raise ModelError(
                f"the certificate of {self.address} is not valid: {error.verify_message}",
                hint="set SSL_CERT_FILE to your organisation's certificates",
            ) from None
        if isinstance(error, TimeoutError):
            return f"no answer in {self._timeout:g} seconds"
        return str(error) or type(error).__name__

    def strange(self, what: str) -> ModelError:
        return ModelError(f"{self.name} gave {what}", hint=f"check {self._section}.url")


class Incoming:
    """An answer on its way: bytes, or events of a stream; no wait is longer than its deadline."""

    def __init__(self, service: HttpService, response: httpx.Response, max_bytes: int) -> None:
        self.service = service
        self.response = response
        self.is_stream = "event-stream" in response.headers.get("Content-Type", "")
        self._left = max_bytes
        self._pieces = response.iter_raw()
        self._rest = bytearray()
        self._is_cut = False

    def read(self, deadline: float) -> bytes:
        """Return what comes next; empty at the end."""
        # The library has one time-out for all reads of an answer; ours change while it comes.
        watch = Timer(max(0.0, deadline - time.monotonic()), self._cut)
        watch.daemon = True
        watch.start()
        piece = b""
        try:
            with _plain_errors():
                piece = next(self._pieces, b"")
        except OSError:
            if not self._is_cut:
                raise
        finally:
            watch.cancel()
        if self._is_cut:
            raise TimeoutError
        self._left -= len(piece)
        if self._left < 0:
            raise self.service.strange("an answer without end")
        return piece

    def read_all(self, deadline: float) -> bytes:
        """Return all that is left."""
        return b"".join(iter(lambda: self.read(deadline), b""))

    def event(self, deadline: float) -> str | None:
        """Return the data of the next event; None if there is none any more."""
        data: list[str] = []
        while line := self._line(deadline):
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text.startswith("data:"):
                data.append(text[5:].removeprefix(" "))
            elif not text and data:
                break
            # Comments, names and ids of events say nothing here.
        return "\n".join(data) if data else None

    def _line(self, deadline: float) -> bytes:
        """Return the next line with its end; empty if there is none any more."""
        while (end := self._rest.find(b"\n")) < 0:
            if len(self._rest) > MAX_LINE_BYTES:
                raise self.service.strange("a line without end")
            if not (piece := self.read(deadline)):
                end = len(self._rest) - 1
                break
            self._rest += piece
        line = bytes(self._rest[: end + 1])
        del self._rest[: end + 1]
        return line

    def as_error(self, deadline: float) -> _BadStatus:
        """Return an answer that is no success, with the start of what it says."""
        words = b""
        with suppress(OSError, PinciteError):
            while len(words) < 2000 and (piece := self.read(deadline)):
                words += piece
        retry_after = self.response.headers.get("Retry-After", "")
        return _BadStatus(self.response.status_code, retry_after, words[:2000])

    def close(self) -> None:
        with _plain_errors():
            self.response.close()

    def _cut(self) -> None:
        """Wake whoever waits for the connection: it is at its end."""
        self._is_cut = True
        stream = self.response.extensions.get("network_stream")
        connection = stream.get_extra_info("socket") if stream else None
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def _plain_errors() -> Generator[None]:
    """Raise what the library raises as the OSError that it is."""
    import httpx

    try:
        yield
    except httpx.TimeoutException:
        raise TimeoutError from None
    except httpx.RequestError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
            cause = cause.__cause__ or cause.__context__
        raise cause or ConnectionError(str(error) or type(error).__name__) from None


def in_one_line(words: str) -> str:
    """Return the start of what a service says, without what would move a terminal's cursor."""
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())[:300]


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


def _retry_after_seconds(header: str | None) -> float:
    """Return how long a service asks to be left alone: seconds or a date, within bounds."""
    text = (header or "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return 0.0
    return min(max(seconds, 0.0), MAX_WAIT_SECONDS) if seconds == seconds else 0.0

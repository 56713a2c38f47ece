"""The settings of the service; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What `pincite serve` allows; limits are those of one worker process."""

    # Threads that search, show and read at the same time; 0: two for each processor.
    threads: int = 0
    # Threads that answers are made in; one is needed only while the next event of a stream is made.
    ask_threads: int = 8
    # Requests that may wait for a thread; the next one gets 503 and is asked to come back.
    queue: int = 256
    # A search is given up after this time, an answer after that; 504 says so.
    search_seconds: float = 30.0
    ask_seconds: float = 120.0
    # Answers that may be streamed at the same time.
    streams: int = 128
    # Largest body of a request; of an uploaded document.
    body_mb: float = 2.0
    upload_mb: float = 64.0
    # A body has to arrive in this time.
    body_seconds: float = 30.0
    # Uploads that may wait to be ingested, for each collection.
    jobs: int = 16
    # Requests a minute of one key that does not say otherwise, and how many at once; 0: no limit.
    rate_per_minute: int = 1200
    burst: int = 200
    # Texts of one request for scores or vectors.
    texts: int = 1000
    # How often to look for a new generation of an index, and for changed keys.
    reload_seconds: float = 1.0
    # Shutting down waits this long for requests that were begun.
    drain_seconds: float = 10.0
    # Names by which browsers may call the service, with commas: "docs.example.org". Empty: the
    # names of this machine where no keys are configured, any name where they are.
    hosts: str = ""
    # Pages of other origins that may call it from a browser, with commas; empty: none.
    cors_origins: str = ""
    # Write the words of questions into the audit log. They may be private.
    log_queries: bool = False
    # File of judgements that feedback is added to, beside each index; empty: no feedback.
    feedback: str = "feedback.jsonl"
    # Chat sessions kept in memory, and messages of each.
    sessions: int = 1000
    session_messages: int = 40

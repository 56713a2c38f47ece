"""A door before a server: TLS by a private authority, and a user with a password.

For servers whose own plugin for that is in no registry of packages.
"""

from __future__ import annotations

import base64
import http.client
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def make_authority(folder: Path) -> tuple[Path, Path]:
    """Make a private authority; return its certificate, and one with a key for 127.0.0.1."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(
        *("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2"),
        *("-subj", "/CN=Private authority", "-addext", "keyUsage=critical,keyCertSign"),
    )
    openssl("req", *curve, "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=search")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl(
        *("x509", "-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2"),
        *("-CAcreateserial", "-extfile", "names", "-out", "own.crt"),
    )
    own = folder / "own.pem"
    own.write_text((folder / "own.crt").read_text() + (folder / "own.key").read_text())
    return folder / "ca.pem", own


class Door(ThreadingHTTPServer):
    """Lets in who names one of these, and asks the server behind it."""

    daemon_threads = True

    def __init__(self, behind: str, certificate: Path, allowed: set[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = behind
        self.allowed = allowed
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.host = f"127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Door:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Door

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, answer = 401, b"Unauthorized"
        if self.headers.get("Authorization") in self.server.allowed:
            connection = http.client.HTTPConnection(self.server.behind, timeout=60)
            headers = {"Content-Type": "application/json"}
            connection.request(self.command, self.path, body or None, headers)
            reply = connection.getresponse()
            status, answer = reply.status, reply.read()
            connection.close()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do_DELETE = _pass_on

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

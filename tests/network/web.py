"""A web server for all names: HTTP on 80, HTTPS on 443, on every address of the internet.

  /hello             "hello from HOST over http(s)"
  /echo              the request as JSON: method, path, fields, body
  /redirect?to=URL   302
  /big?bytes=N       so many zeros
  /git/...           git's own http-backend
  else               a file below the directory of that host
"""

from __future__ import annotations

import http.server
import json
import os
import socket
import ssl
import subprocess
import threading
import urllib.parse
from pathlib import Path
from typing import Any

BLOCK = b"\0" * 65536
BACKEND = "/usr/lib/git-core/git-http-backend"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "WebServer"
    scheme = "http"

    def setup(self) -> None:
        # In the connection's own thread: a slow handshake delays no other.
        self.request.settimeout(60)
        self.sni = ""
        if self.server.tls is not None:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
            self.sni = getattr(self.request, "server_name", "")
            self.scheme = "https"
        super().setup()

    def finish(self) -> None:
        super().finish()
        if isinstance(self.request, ssl.SSLSocket):
            try:
                self.request.unwrap()
            except OSError:
                pass

    def log_message(self, *words: object) -> None:
        pass

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def say(self, status: int, body: bytes, kind: str = "text/plain", **fields: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer(self) -> None:
        body = self.body()
        host = self.headers.get("Host", "").partition(":")[0]
        path, _, query = self.path.partition("?")
        address = self.request.getsockname()[0].removeprefix("::ffff:")
        self.server.note(
            {
                "scheme": self.scheme,
                "method": self.command,
                "host": host,
                "path": self.path,
                "at": address,
                "sni": self.sni,
                "fields": list(self.headers.items()),
                "body": body.decode("latin-1")[:1000],
            }
        )
        words = dict(urllib.parse.parse_qsl(query))
        if path == "/hello":
            self.say(200, f"hello from {host} over {self.scheme}\n".encode())
        elif path == "/echo":
            told = {"method": self.command, "path": self.path, "fields": list(self.headers.items())}
            self.say(
                200,
                json.dumps(told | {"body": body.decode("latin-1")}).encode(),
                "application/json",
            )
        elif path == "/redirect":
            self.say(302, b"", Location=words["to"])
        elif path == "/big":
            self.big(int(words["bytes"]))
        elif path.startswith("/git/"):
            self.git(path.removeprefix("/git"), query, body)
        else:
            self.file(Path(self.server.files, host), path)

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def big(self, left: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        while left > 0:
            self.server.sent += self.wfile.write(BLOCK[:left])
            left -= len(BLOCK)

    def file(self, root: Path, path: str) -> None:
        wanted = (root / urllib.parse.unquote(path).lstrip("/")).resolve()
        if wanted.is_dir():
            wanted /= "index.html"
        if root.resolve() not in wanted.parents or not wanted.is_file():
            return self.say(404, b"no such file\n")
        kinds = {".html": "text/html", ".json": "application/json"}
        self.say(200, wanted.read_bytes(), kinds.get(wanted.suffix, "application/octet-stream"))

    def git(self, path: str, query: str, body: bytes) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "GIT_PROJECT_ROOT": f"{self.server.files}/../git",
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_USER": "",
            "REMOTE_ADDR": "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run([BACKEND], input=body, env=environment, capture_output=True)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(fields.pop("Status", "200 OK").split()[0])
        self.say(status, answer, fields.pop("Content-Type", "text/plain"), **fields)


class WebServer(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    request_queue_size = 1024
    daemon_threads = True

    def __init__(self, port: int, files: str, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("::", port), Handler)
        self.files, self.tls, self.sent = files, tls, 0
        self.requests: list[dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def note(self, request: dict[str, Any]) -> None:
        self.requests = [*self.requests[-999:], request]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that ends in the middle, or does not like the certificate, is no news."""


def tls_context(certificate: str, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])

    def note_name(connection: ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        connection.server_name = name or ""  # type: ignore[attr-defined]

    context.sni_callback = note_name  # type: ignore[assignment]
    return context

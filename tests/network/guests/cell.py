"""For tests' code in a cell: the proxy and the transparent way, by bare sockets."""

from __future__ import annotations

import os
import select
import socket
import ssl
import time
import urllib.parse

SOON = 20.0


def proxy() -> tuple[str, int]:
    parts = urllib.parse.urlsplit(os.environ["http_proxy"])
    assert parts.hostname and parts.port
    return parts.hostname, parts.port


def to_proxy() -> socket.socket:
    return socket.create_connection(proxy(), SOON)


def read_head(stream: socket.socket) -> bytes:
    """Byte by byte, so that what follows stays in the socket. Ends early if the other side does."""
    head = b""
    while not head.endswith(b"\r\n\r\n") and (byte := stream.recv(1)):
        head += byte
    return head


def read_all(stream: socket.socket, seconds: float = SOON) -> bytes:
    """Until the end, a reset, or silence of that time; read_all.ended says which."""
    stream.settimeout(seconds)
    got = b""
    read_all.ended = "end"  # type: ignore[attr-defined]
    try:
        while piece := stream.recv(65536):
            got += piece
    except TimeoutError:
        read_all.ended = "silence"  # type: ignore[attr-defined]
    except OSError:
        read_all.ended = "reset"  # type: ignore[attr-defined]
    return got


def connecting(target: str) -> bytes:
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()


def plain(target: str, path: str = "/hello") -> bytes:
    return f"GET http://{target}{path} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()


def direct(host: str, port: int) -> socket.socket:
    """Past the proxy."""
    return socket.create_connection((host, port), SOON)


def status(head: bytes) -> int:
    words = head.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") else 0


def ask(raw: bytes, seconds: float = SOON) -> bytes:
    """Everything that the proxy says to these bytes."""
    with to_proxy() as stream:
        stream.sendall(raw)
        return read_all(stream, seconds)


def tunnel(target: str) -> tuple[int, socket.socket, bytes]:
    """By CONNECT: the status, the socket, and the answer's head."""
    stream = to_proxy()
    stream.sendall(connecting(target))
    head = read_head(stream)
    return status(head), stream, head


def tls(stream: socket.socket, name: str | None) -> ssl.SSLSocket:
    """A handshake with that server name, over a stream that is connected to anyone."""
    context = ssl.create_default_context(cafile=os.environ["CA"])
    context.check_hostname = False
    return context.wrap_socket(stream, server_hostname=name)


def get(stream: socket.socket, host: str, path: str = "/hello") -> bytes:
    stream.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    return read_all(stream)


def reach(target: str) -> str:
    """Past the proxy: "open" if the other side says something, or keeps it open; else its end."""
    host, port = target.rsplit(":", 1)
    try:
        stream = socket.create_connection((host.strip("[]"), int(port)), SOON)
    except OSError as error:
        return type(error).__name__
    with stream:
        # A listener of brig's accepts, and then closes what it denies.
        ready, _, _ = select.select([stream], [], [], 3)
        if ready:
            try:
                return "open" if stream.recv(1) else "closed"
            except OSError as error:
                return type(error).__name__
    return "open"


def wait_for(holds, seconds: float = SOON) -> bool:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True

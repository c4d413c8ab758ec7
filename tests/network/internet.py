"""The servers' side of the ground: starts the servers, and does what tests ask through a socket.

usage: internet.py TAP READY [--quick], two descriptors. On READY it writes "ready", or what failed.

The socket is CONTROL. A request is a line of JSON, and so is its answer:
{"do": "dns.script", "name": ..., "steps": [...]}. See `do` for the others.
"""

from __future__ import annotations

import json
import os
import socketserver
import sys
from pathlib import Path
from typing import Any

import addresses as at
import certificates
import dns_server
import real_servers
import sites
import talkers
import web
import wire


class Internet:
    def __init__(self, tap: int, quick: bool) -> None:
        self.wire = wire.Wire(tap)
        certificates.make()
        sites.make(quick)
        self.zone = dns_server.Zone(at.HOSTS)
        self.dns = dns_server.DnsServer(self.zone, [at.RESOLVER4, at.RESOLVER6])
        tls = web.tls_context(certificates.CERTIFICATE, certificates.KEY)
        self.http = web.WebServer(80, sites.FILES)
        self.https = web.WebServer(443, sites.FILES, tls)
        self.talkers = talkers.Talkers()
        if not quick:
            real_servers.start_all()

    def do(self, request: dict[str, Any]) -> Any:
        word = request["do"]
        if word == "reset":  # to how it was at the start; connections that are open stay so
            self.zone.reset()
            self.wire.clear()
            self.http.requests, self.https.requests, self.talkers.raw = [], [], []
            self.talkers.sent = self.talkers.opened = self.http.sent = self.https.sent = 0
        elif word == "dns.script":
            self.zone.script(request["name"], request["steps"])
        elif word == "dns.counts":  # {"api.example.org A": 1}
            return self.zone.counts()
        elif word == "wire.seen":  # [["tcp", "203.0.113.10", 443, 1]]
            return self.wire.seen()
        elif word == "web.requests":
            return self.http.requests + self.https.requests
        elif word == "raw.seen":  # what each connection to RAW sent
            return [text.decode("latin-1") for text in self.talkers.raw]
        elif word == "talkers":
            return {
                "open": self.talkers.open,
                "opened": self.talkers.opened,
                "sent": self.talkers.sent,
            }
        elif word == "web.sent":
            return self.http.sent + self.https.sent
        else:
            raise ValueError(f"no such request: {word}")
        return True


class Control(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    internet: Internet


class Connection(socketserver.StreamRequestHandler):
    server: Control

    def handle(self) -> None:
        for line in self.rfile:
            try:
                answer = {"is": self.server.internet.do(json.loads(line))}
            except Exception as error:
                answer = {"error": repr(error)}
            self.wfile.write(json.dumps(answer).encode() + b"\n")


def main() -> None:
    tap, ready = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (tap, ready):
        os.set_inheritable(descriptor, False)
    try:
        server = Control(at.CONTROL, Connection)
        os.chmod(at.CONTROL, 0o666)
        server.internet = Internet(tap, "--quick" in sys.argv)
    except Exception as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
        os.write(ready, (text.replace("\n", "\n  ") + "\n").encode())
        raise SystemExit(1)
    os.write(ready, b"ready\n")
    os.close(ready)
    server.serve_forever()


if __name__ == "__main__":
    main()

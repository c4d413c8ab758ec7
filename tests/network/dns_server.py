"""A DNS server that does what a test says, and counts what it is asked.

A name has a list of steps: the first question of a type (A, AAAA, ...) is answered by the first
step, the second by the second, and all after the last by the last. A step is a dictionary:

  {"a": ["203.0.113.9"], "aaaa": [...], "cname": "other.example.org", "ttl": 0}
                                      the records; a CNAME is followed
  {"fault": "nxdomain" | "servfail" | "refused" | "silence" | "truncated" | "garbage" | "other_id"}

"truncated" says so over UDP, and answers over TCP with the step's records. "*.pypi.test" stands for
all names below it.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from typing import Any

Step = dict[str, Any]

A, CNAME, AAAA, TYPES = (
    1,
    5,
    28,
    {1: "A", 5: "CNAME", 28: "AAAA", 65: "HTTPS", 16: "TXT", 33: "SRV", 12: "PTR"},
)
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
FAULTS = {"nxdomain": NXDOMAIN, "servfail": SERVFAIL, "refused": REFUSED}


def wire_name(name: str) -> bytes:
    return (
        b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"
    )


def read_name(message: bytes, at: int) -> tuple[str, int]:
    labels = []
    while size := message[at]:
        if size > 63:
            raise ValueError("a question needs no compression")
        labels.append(message[at + 1 : at + 1 + size].decode("latin-1"))
        at += 1 + size
    return ".".join(labels).lower(), at + 1


def record(name: str, kind: int, ttl: int, data: bytes) -> bytes:
    return wire_name(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


class Zone:
    def __init__(self, hosts: dict[str, tuple[str, str]]) -> None:
        self.lock = threading.Lock()
        self.hosts = hosts
        self.reset()

    def reset(self) -> None:
        with self.lock:
            self.steps: dict[str, list[Step]] = {}
            self.asked: Counter[str] = Counter()  # "api.example.org A"
            for name, (four, six) in self.hosts.items():
                self.steps[name] = [{"a": [four] if four else [], "aaaa": [six] if six else []}]

    def script(self, name: str, steps: list[Step]) -> None:
        with self.lock:
            self.steps[name] = steps
            for kind in TYPES.values():
                self.asked.pop(f"{name} {kind}", None)

    def counts(self) -> dict[str, int]:
        with self.lock:
            return dict(self.asked)

    def find(self, name: str) -> list[Step] | None:
        labels = name.split(".")
        wild = ("*." + ".".join(labels[cut:]) for cut in range(1, len(labels)))
        return next((self.steps[each] for each in (name, *wild) if each in self.steps), None)

    def step(self, name: str, kind: int) -> Step | None:
        """What to do about this question, which is counted."""
        with self.lock:
            key = f"{name} {TYPES.get(kind, kind)}"
            self.asked[key] += 1
            steps = self.find(name)
            return steps[min(self.asked[key], len(steps)) - 1] if steps else None

    def records(self, name: str, kind: int, step: Step, depth: int = 0) -> list[bytes]:
        ttl = step.get("ttl", 60)
        if target := step.get("cname"):
            found = [record(name, CNAME, ttl, wire_name(target))]
            steps = self.find(target)
            if steps and kind != CNAME and depth < 8:
                found += self.records(target, kind, steps[0], depth + 1)
            return found
        family, key = (socket.AF_INET6, "aaaa") if kind == AAAA else (socket.AF_INET, "a")
        if kind not in (A, AAAA):
            return []
        return [
            record(name, kind, ttl, socket.inet_pton(family, each)) for each in step.get(key, [])
        ]

    def answer(self, message: bytes, udp: bool) -> bytes | None:
        ident, flags, questions = struct.unpack("!HHH", message[:6])
        if flags & 0x8000 or questions != 1:
            return None
        name, end = read_name(message, 12)
        kind = struct.unpack("!H", message[end : end + 2])[0]
        question = message[12 : end + 4]
        step = self.step(name, kind)
        fault = "nxdomain" if step is None else step.get("fault", "")
        if fault == "silence":
            return None
        if fault == "garbage":
            return message[:2] + b"\xff" * 40
        code = FAULTS.get(fault, NOERROR)
        cut = fault == "truncated" and udp
        records = self.records(name, kind, step) if step and code == NOERROR and not cut else []
        if fault == "other_id":
            ident ^= 1
        flags = 0x8080 | (flags & 0x0100) | (0x0200 if cut else 0) | code
        return (
            struct.pack("!HHHHHH", ident, flags, 1, len(records), 0, 0)
            + question
            + b"".join(records)
        )


class DnsServer:
    """On UDP and TCP, in threads of its own."""

    def __init__(self, zone: Zone, addresses: list[str]) -> None:
        self.zone = zone
        for address in addresses:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            packets = socket.socket(family, socket.SOCK_DGRAM)
            packets.bind((address, 53))
            streams = socket.create_server((address, 53), family=family)
            for target, on in ((self.packets, packets), (self.streams, streams)):
                threading.Thread(target=target, args=(on,), daemon=True).start()

    def try_answer(self, message: bytes, udp: bool) -> bytes | None:
        try:
            return self.zone.answer(message, udp)
        except (ValueError, IndexError, struct.error):
            return None

    def packets(self, on: socket.socket) -> None:
        while True:
            message, sender = on.recvfrom(4096)
            if answer := self.try_answer(message, udp=True):
                on.sendto(answer, sender)

    def streams(self, on: socket.socket) -> None:
        while True:
            stream, _ = on.accept()
            threading.Thread(target=self.stream, args=(stream,), daemon=True).start()

    def stream(self, stream: socket.socket) -> None:
        with stream, stream.makefile("rb") as source:
            while len(size := source.read(2)) == 2:
                message = source.read(struct.unpack("!H", size)[0])
                if answer := self.try_answer(message, udp=False):
                    stream.sendall(struct.pack("!H", len(answer)) + answer)

"""Runs commands in cells of `brig run`, and outside of them; and asks the internet what it saw."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

import addresses as at

PROGRAM = os.environ.get("BRIG_PROGRAM", "brig")
SOON = 60.0
PATH = "/usr/local/bin:/usr/bin:/bin"
VARIABLES = [
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "NODE_USE_ENV_PROXY",
    "GRPC_PROXY",
    "grpc_proxy",
    "JAVA_TOOL_OPTIONS",
    "GIT_SSH_COMMAND",
]
BARE = ["env", *(word for name in VARIABLES for word in ("-u", name))]
# Where nothing listens.
DEAD_PROXY = {name: "http://127.0.0.1:9" for name in VARIABLES[:4]}

PLACES6 = "[{}]/{}".format(*at.NETWORKS6[0].split("/"))
MARKER = ("udp", at.ROUTER4, 9)

numbers = itertools.count()


class Internet:
    """What tests ask of internet.py, see there."""

    def __init__(self) -> None:
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.connect(at.CONTROL)
        self.lines = self.stream.makefile("rwb")

    def ask(self, word: str, **more: Any) -> Any:
        self.lines.write(json.dumps({"do": word, **more}).encode() + b"\n")
        self.lines.flush()
        answer = json.loads(self.lines.readline())
        assert "is" in answer, answer
        return answer["is"]

    def script(self, name: str, *steps: dict[str, Any]) -> None:
        self.ask("dns.script", name=name, steps=list(steps))

    def asked(self, name: str) -> int:
        """How many questions about that name came to the resolver, of whichever type."""
        return sum(count for key, count in self.ask("dns.counts").items() if key.split()[0] == name)

    def seen(self, *addresses: str) -> list[tuple[str, str, int]]:
        """What was begun on the wire: protocol, address and port; with addresses, only to those."""
        self.flush()
        rows = [(row[0], row[1], row[2]) for row in self.ask("wire.seen")]
        return [row for row in rows if row != MARKER and (not addresses or row[1] in addresses)]

    def flush(self) -> None:
        """Until the tap has read all that went out: a packet of this test's own comes last."""

        def markers() -> int:
            return sum(row[3] for row in self.ask("wire.seen") if tuple(row[:3]) == MARKER)

        before, end = markers(), time.monotonic() + SOON
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as packets:
            packets.sendto(b"marker", MARKER[1:])
        while markers() == before:
            assert time.monotonic() < end, "the tap is dead"
            time.sleep(0.01)

    def dialled(self) -> list[tuple[str, str, int]]:
        """All but questions to the resolver."""
        return [row for row in self.seen() if row[1] not in (at.RESOLVER4, at.RESOLVER6)]


@dataclass
class Result:
    status: int
    out: str
    err: str
    report: dict[str, Any]

    def connections(self, host: str, port: int) -> list[dict[str, Any]]:
        return [
            each
            for each in self.report["connections"]
            if (each["host"], each["port"]) == (host, port)
        ]

    def verdicts(self, host: str, port: int) -> set[str]:
        return {each["verdict"] for each in self.connections(host, port)}

    def refusals(self) -> list[dict[str, Any]]:
        return [each for each in self.report["violations"] if each["code"] == "network.refused"]

    def told(self) -> str:
        return json.dumps(self.report, indent=1) + self.err


def given(env: dict[str, str]) -> dict[str, str]:
    return {"CA": at.CA, "PYTHONDONTWRITEBYTECODE": "1", **env}


def with_networks(rules: Sequence[str]) -> list[str]:
    """With the addresses of the internet, on the ports of rules with names.

    They are all from documents, and a name may lead to such a place only if a rule lists it.
    """
    ports = sorted(
        {rule.rpartition(":")[2] for rule in rules if not rule[0].isdigit() and rule[0] != "["}
    )
    return [*rules, *(f"{each}:{port}" for port in ports for each in (at.NETWORKS4[1], PLACES6))]


def brig_words(rules: Sequence[str], env: dict[str, str], options: Sequence[str]) -> list[str]:
    words = [PROGRAM, "run", "--json", *options, "--read", at.PUBLIC]
    for rule in rules:
        words += ["--allow", rule]
    for name, value in given(env).items():
        words += ["--env", f"{name}={value}"]
    return words


def in_cell(
    argv: Sequence[str],
    allow: Sequence[str],
    env: dict[str, str] = {},
    options: Sequence[str] = (),
    stdin: str = "",
    alone: bool = False,
) -> Result:
    """`options` come before --allow and can hold a policy. `alone`: these rules and no others."""
    rules = allow if alone else with_networks(allow)
    done = subprocess.run(
        [*brig_words(rules, env, options), "--", *argv],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        env={"PATH": PATH, "HOME": at.OWN, "LANG": "C.UTF-8"},
    )
    assert done.stdout.startswith("{"), f"no report: {done.stdout}{done.stderr}"
    report = json.loads(done.stdout)
    return Result(done.returncode, report["stdout"], report["stderr"] + done.stderr, report)


def python_in_cell(
    code: str, allow: Sequence[str], *words: str, options: Sequence[str] = (), alone: bool = False
) -> Result:
    """`code` can import guests/cell.py; its words are sys.argv[1:]."""
    argv = ["/usr/bin/python3", "-c", code, *words]
    return in_cell(argv, allow, {"PYTHONPATH": at.GUESTS}, options, alone=alone)


def outside(script: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    place = Path(at.OWN, f"outside-{next(numbers)}")
    place.mkdir()
    environment = {"PATH": PATH, "HOME": str(place), "LANG": "C.UTF-8", **given(env)}
    return subprocess.run(
        ["sh", "-ec", script],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )

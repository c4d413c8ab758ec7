"""A server whose tools have a way out: they can't reach it, it serves all, and keeps nothing."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

import pytest

import addresses as at
from cells import PATH, PROGRAM, SOON, Internet, with_networks

pytestmark = pytest.mark.usefixtures("internet", "brig")

RULES = ["api.example.org:80", "talk.example.org:7002", "talk.example.org:7003"]
HELLO = """
import urllib.request
print(urllib.request.urlopen("http://api.example.org/hello", timeout=20).read().decode(), end="")
"""


class Server:
    def __init__(self, place: Path) -> None:
        manifest = place / "brig.toml"
        manifest.write_text(
            f"""
[policy]
files = {{ read = ["{at.PUBLIC}"] }}
environment = {{ set = {{ PYTHONPATH = "{at.GUESTS}", PYTHONDONTWRITEBYTECODE = "1" }} }}
[policy.network]
allow = {json.dumps(with_networks(RULES))}
"""
        )
        argv = [
            PROGRAM,
            "serve",
            "--manifest",
            str(manifest),
            "--builtins",
            "--listen",
            f"{at.HERE4}:0",
            "--audit",
            "none",
            "--token-file",
            str(place / "token"),
            "--concurrency",
            "16",
        ]
        (place / "token").write_text("a-token-of-the-tests-of-the-network\n")
        (place / "token").chmod(0o600)
        argv[argv.index(f"{at.HERE4}:0")] = "127.0.0.1:0"
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": PATH, "HOME": str(place)},
        )
        assert self.process.stderr
        said = ""
        for line in self.process.stderr:
            said += line
            if found := re.search(r"127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return
        raise AssertionError(said)

    def call(self, code: str, *words: str) -> dict[str, Any]:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        body = json.dumps({"arguments": {"argv": ["/usr/bin/python3", "-c", code, *words]}})
        fields = {
            "Content-Type": "application/json",
            "Authorization": "Bearer a-token-of-the-tests-of-the-network",
        }
        client.request("POST", "/v1/tools/run_command/call", body, fields)
        answer = client.getresponse()
        told = json.loads(answer.read())
        assert answer.status == 200, told
        return dict(told)

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(SOON) == 0

    def counts(self) -> tuple[int, int]:
        """Descriptors and threads."""
        place = f"/proc/{self.process.pid}"
        return len(os.listdir(f"{place}/fd")), len(os.listdir(f"{place}/task"))


@pytest.fixture
def server() -> Iterator[Server]:
    # Not below a directory of pytest's: brig looks at who may write where a manifest lies.
    place = Path(at.OWN, "serve")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700)
    server = Server(place)
    yield server
    server.end()


def test_tools_use_the_way_out(server: Server) -> None:
    result = server.call(HELLO)
    assert (
        result["ok"] and result["output"]["stdout"] == "hello from api.example.org over http\n"
    ), result
    assert [(each["host"], each["verdict"]) for each in result["report"]["connections"]] == [
        ("api.example.org", "allowed")
    ], result


def test_a_tool_can_not_call_its_server(server: Server) -> None:
    result = server.call(
        """
import cell, sys
port = sys.argv[1]
for host in sys.argv[2:]:
    answer = cell.ask(cell.connecting(f"{host}:{port}"), 5)
    plain = cell.ask(cell.plain(f"{host}:{port}", "/healthz"), 5)
    print(cell.status(answer), cell.status(plain), cell.reach(f"{host}:{port}"))
""",
        str(server.port),
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        at.HERE4,
        f"[{at.HERE6}]",
        "here.example.org",
    )
    words = result["output"]["stdout"].split()
    assert (
        len(words) == 21
        and set(words[0::3] + words[1::3]) <= {"400", "403"}
        and "open" not in words[2::3]
    ), result


def test_greedy_and_slow_cells_hold_up_no_other(server: Server, internet: Internet) -> None:
    """Eight cells read nothing of what never ends, and say nothing; forty calls run beside them."""
    greedy = """
import cell, time
streams = [cell.tunnel("talk.example.org:7003")[1] for _ in range(20)]
streams += [cell.to_proxy() for _ in range(20)]
time.sleep(8)
"""
    with ThreadPoolExecutor(24) as pool:
        held = [pool.submit(server.call, greedy) for _ in range(8)]
        end = time.monotonic() + SOON
        while internet.ask("talkers")["open"] < 100:
            assert time.monotonic() < end, internet.ask("talkers")
            time.sleep(0.02)
        for result in pool.map(server.call, [HELLO] * 40):
            assert result["ok"], result
        assert internet.ask("talkers")["open"] >= 100, "they were there all the time"
        assert all(each.result()["report"]["outcome"] == "ok" for each in held)


def test_nothing_stays_of_a_hundred_calls_with_open_connections(
    server: Server, internet: Internet
) -> None:
    leave = """
import cell, os, socket
streams = [cell.tunnel("talk.example.org:7002")[1], cell.direct("talk.example.org", 7002)]
streams += [cell.to_proxy(), socket.create_connection(("denied.example.net", 80), 20)]
assert all(stream.recv(5) == b"hello" for stream in streams[:2])
os.kill(os.getpid(), 9)
"""
    with ThreadPoolExecutor(8) as pool:
        for _ in range(2):
            list(pool.map(server.call, [leave] * 50))
            end = time.monotonic() + SOON
            while internet.ask("talkers")["open"]:
                assert time.monotonic() < end, internet.ask("talkers")
                time.sleep(0.05)
            counts = [server.counts()]
            # Cells that are made ahead come and go: wait until nothing changes.
            while len(counts) < 5 or len(set(counts[-5:])) > 1:
                assert time.monotonic() < end, counts
                time.sleep(0.2)
                counts.append(server.counts())
            if _ == 0:
                before = counts[-1]
    assert internet.ask("talkers")["opened"] == 200
    descriptors, threads = counts[-1]
    assert descriptors <= before[0] + 4 and threads <= before[1] + 1, (before, counts[-1])


def test_a_call_meets_nothing_of_the_one_before(server: Server) -> None:
    """Neither its names nor connections that it left in a listener's queue."""
    ask = (
        "import socket; print(socket.gethostbyname('{}'), socket.gethostbyname('talk.example.org'))"
    )
    first = server.call(
        ask.format("first.example.net")
        + "; [socket.create_connection(('198.18.0.1', 80)) for _ in range(8)]"
    )
    second = server.call(ask.format("second.example.net"))
    assert first["output"]["stdout"] == second["output"]["stdout"], (first, second)
    assert {each["host"] for each in second["report"]["connections"]} <= {
        "second.example.net",
        "talk.example.org",
    }, second

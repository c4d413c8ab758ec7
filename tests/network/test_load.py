"""Peers that are slow, silent or greedy, on both sides, and what brig holds for them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

import addresses as at
from cells import PATH, SOON, Internet, brig_words, python_in_cell, with_networks

pytestmark = pytest.mark.usefixtures("internet", "brig")

MIB = 1 << 20


def talk(port: int) -> list[str]:
    return [f"talk.example.org:{port}"]


@pytest.mark.quick
@pytest.mark.parametrize("way", ["connect", "past"])
def test_a_server_may_speak_first(way: str) -> None:
    result = python_in_cell(
        f"""
import cell, socket, sys
host, port = "talk.example.org", {at.GREETS}
by_proxy = sys.argv[1] == "connect"
stream = cell.tunnel(f"{{host}}:{{port}}")[1] if by_proxy else cell.direct(host, port)
stream.settimeout(20)
print(stream.recv(100).decode(), end="")
""",
        talk(at.GREETS),
        way,
    )
    assert result.out == "hello, who is there?\n", result.told()


@pytest.mark.parametrize("way", ["connect", "past"])
def test_half_an_end_is_passed_on(way: str) -> None:
    """Who has said everything can still listen."""
    result = python_in_cell(
        f"""
import cell, socket, sys
host, port = "talk.example.org", {at.SINK}
by_proxy = sys.argv[1] == "connect"
stream = cell.tunnel(f"{{host}}:{{port}}")[1] if by_proxy else cell.direct(host, port)
for _ in range(100):
    stream.sendall(bytes(65536))
stream.shutdown(socket.SHUT_WR)
print(cell.read_all(stream).decode(), end="")
""",
        talk(at.SINK),
        way,
    )
    assert result.out == f"{100 * 65536}\n", result.told()
    (connection,) = result.connections("talk.example.org", at.SINK)
    assert connection["sent_bytes"] >= 100 * 65536, result.told()


def test_a_server_that_hangs_up_ends_the_connection() -> None:
    result = python_in_cell(
        f"""
import cell, socket
host, port = "talk.example.org", {at.HANGS_UP}
for stream in (cell.tunnel(f"{{host}}:{{port}}")[1], cell.direct(host, port)):
    print(cell.read_all(stream), cell.read_all.ended)
""",
        talk(at.HANGS_UP),
    )
    assert set(result.out.splitlines()) <= {"b'' end", "b'' reset"}, result.told()


def test_nobody_listens_there(internet: Internet) -> None:
    result = python_in_cell(
        """
import cell
print(cell.ask(cell.connecting("talk.example.org:7999")).decode())
print(cell.reach("talk.example.org:7999"))
""",
        talk(7999),
    )
    assert (
        result.out.startswith("HTTP/1.1 502 ") and "open" not in result.out.split("\n")[-2]
    ), result.told()
    assert result.verdicts("talk.example.org", 7999) == {"failed"}, result.told()


def test_half_a_request_is_not_waited_for(internet: Internet) -> None:
    """Connections that say nothing, or half, are closed; others of the same cell work."""
    result = python_in_cell(
        """
import cell, socket, time
idle = [cell.to_proxy() for _ in range(8)]
for n, stream in enumerate(idle):
    stream.sendall(b"CONNECT api.example.org:443 HTTP/1.1\\r\\nHost: api"[:n * 6])
with cell.to_proxy() as stream:
    stream.sendall(cell.plain("api.example.org"))
    print(cell.status(cell.read_all(stream)))
begun = time.monotonic()
for stream in idle:
    cell.read_all(stream, 60)
    assert cell.read_all.ended != "silence"
print("closed")
""",
        ["api.example.org:443", "api.example.org:80"],
        options=["--timeout", "120s"],
    )
    assert result.out == "200\nclosed\n", result.told()
    assert {row[2] for row in internet.dialled()} == {80}


def test_five_thousand_connections(internet: Internet) -> None:
    """Most are refused; what matters is that the proxy lives, and that each of them gets an end."""
    result = python_in_cell(
        """
import cell, resource, socket, time
kept, lost = [], 0
for n in range(5000):
    try:
        stream = cell.direct("talk.example.org", 7002) if n % 2 else cell.to_proxy()
        kept.append(stream)
    except OSError:
        lost += 1
    if len(kept) > 900:
        kept.pop(0).close()
for stream in kept:
    stream.close()
time.sleep(0.5)
with cell.to_proxy() as stream:
    stream.sendall(cell.plain("api.example.org"))
    print(cell.status(cell.read_all(stream)))
""",
        ["talk.example.org:7002", "api.example.org:80"],
        options=["--open-files", "1024", "--timeout", "120s"],
    )
    assert result.out == "200\n", result.told()[-3000:]
    assert len(result.report["connections"]) < 2000, "the report is bounded"
    end = time.monotonic() + SOON
    while internet.ask("talkers")["open"] and time.monotonic() < end:
        time.sleep(0.05)
    assert internet.ask("talkers")["open"] == 0, "brig's side of them is closed with the cell"


def memory_below(pid: int) -> int:
    """Resident bytes of that process and of its descendants that are brig's, not a cell's."""
    pids, total = [pid], 0
    while pids:
        each = pids.pop()
        try:
            pids += [
                int(child)
                for child in Path(f"/proc/{each}/task/{each}/children").read_text().split()
            ]
            if Path(f"/proc/{each}/comm").read_text().startswith("brig"):
                total += int(Path(f"/proc/{each}/statm").read_text().split()[1]) * os.sysconf(
                    "SC_PAGE_SIZE"
                )
        except OSError:
            continue
    return total


def greatest(code: str, rules: list[str]) -> tuple[int, str, str]:
    """The most memory of brig's own at any time, the output, and the report."""
    argv = [
        *brig_words(with_networks(rules), {"PYTHONPATH": at.GUESTS}, []),
        "--",
        "/usr/bin/python3",
        "-c",
        code,
    ]
    cell = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": PATH, "HOME": at.OWN},
    )
    most = 0
    while cell.poll() is None:
        most = max(most, memory_below(cell.pid))
        time.sleep(0.02)
    assert cell.stdout
    told = cell.stdout.read()
    return most, json.loads(told)["stdout"], told


def test_a_gigabyte_that_is_not_read(internet: Internet) -> None:
    """In a tunnel, past the proxy, and as an answer's body: what is not read is not fetched."""
    idle, out, told = greatest("print('fine')", ["talk.example.org:7003"])
    assert out == "fine\n", told
    most, out, told = greatest(
        """
import cell, socket, time
streams = [cell.tunnel("talk.example.org:7003")[1], cell.direct("talk.example.org", 7003)]
streams.append(cell.to_proxy())
streams[2].sendall(cell.plain("api.example.org", "/big?bytes=1073741824"))
time.sleep(3)
print("fine")
""",
        ["talk.example.org:7003", "api.example.org:80"],
    )
    assert out == "fine\n", told
    assert internet.ask("talkers")["sent"] < 64 * MIB and internet.ask("web.sent") < 64 * MIB, told
    assert most < idle + 8 * MIB, f"{most} after {idle}"


def test_a_server_that_does_not_read(internet: Internet) -> None:
    idle, _, _ = greatest("print('fine')", ["talk.example.org:7003"])
    most, out, told = greatest(
        """
import cell, socket, time
stream = cell.tunnel("talk.example.org:7003")[1]
stream.setblocking(False)
sent, end = 0, time.monotonic() + 3
while time.monotonic() < end:
    try:
        sent += stream.send(bytes(65536))
    except BlockingIOError:
        time.sleep(0.01)
print(sent)
""",
        ["talk.example.org:7003"],
    )
    assert 0 < int(out) < 64 * MIB, told
    assert most < idle + 8 * MIB, f"{most} after {idle}"


def test_a_gigabyte_goes_through() -> None:
    result = python_in_cell(
        """
import cell
with cell.tunnel("talk.example.org:7003")[1] as stream:
    left, room = 1 << 30, bytearray(1 << 20)
    while left > 0:
        left -= stream.recv_into(room)
print("fine")
""",
        talk(at.FLOOD),
        options=["--timeout", "120s"],
    )
    assert result.out == "fine\n", result.told()
    (connection,) = result.connections("talk.example.org", at.FLOOD)
    assert connection["received_bytes"] >= 1 << 30, result.told()


def test_connections_end_with_their_cell(internet: Internet) -> None:
    """Twenty calls, each of which ends in the middle of four connections."""
    for _ in range(20):
        result = python_in_cell(
            """
import cell, os, socket
streams = [cell.tunnel("talk.example.org:7002")[1], cell.direct("talk.example.org", 7002)]
for stream in streams:
    assert stream.recv(5) == b"hello"
print("up", flush=True)
os.kill(os.getpid(), 9)
""",
            talk(at.GREETS),
        )
        assert result.out == "up\n", result.told()
    end = time.monotonic() + SOON
    while internet.ask("talkers")["open"]:
        assert time.monotonic() < end, internet.ask("talkers")
        time.sleep(0.05)
    assert internet.ask("talkers")["opened"] == 40

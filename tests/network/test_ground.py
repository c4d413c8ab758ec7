"""The ground itself: the internet is there, the tap sees what goes out, and nothing of it stays."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import addresses as at
from cells import SOON, Internet, outside

GROUND = str(Path(__file__).with_name("ground.py"))
# In the environment of every process of a ground that a test starts.
MARK = "BRIG_SERVERS=/nonexistent/mark-of-a-test"


def lookup(name: str, family: socket.AddressFamily) -> list[str]:
    try:
        return sorted(
            {str(each[4][0]) for each in socket.getaddrinfo(name, 80, family, socket.SOCK_STREAM)}
        )
    except socket.gaierror:
        return []


@pytest.mark.quick
def test_names_have_their_addresses(internet: Internet) -> None:
    for name, (four, six) in at.HOSTS.items():
        assert lookup(name, socket.AF_INET) == ([four] if four else []), name
        assert lookup(name, socket.AF_INET6) == ([six] if six else []), name


def test_a_name_can_change_its_mind(internet: Internet) -> None:
    internet.script("turn.example.org", {"a": ["203.0.113.77"]}, {"a": ["169.254.169.254"]})
    internet.script("mixed.example.org", {"a": ["203.0.113.78", "10.66.0.1"]})
    internet.script("alias.example.org", {"cname": "api.example.org"})
    internet.script("gone.example.org", {"fault": "nxdomain"})
    internet.script("broken.example.org", {"fault": "servfail"})
    internet.script("long.example.org", {"fault": "truncated", "a": ["203.0.113.79"]})
    assert [lookup("turn.example.org", socket.AF_INET) for _ in range(3)] == [
        ["203.0.113.77"],
        ["169.254.169.254"],
        ["169.254.169.254"],
    ]
    assert lookup("mixed.example.org", socket.AF_INET) == ["10.66.0.1", "203.0.113.78"]
    assert lookup("alias.example.org", socket.AF_INET) == [at.HOSTS["api.example.org"][0]]
    assert lookup("gone.example.org", socket.AF_INET) == []
    assert lookup("broken.example.org", socket.AF_INET) == []
    assert lookup("long.example.org", socket.AF_INET) == ["203.0.113.79"]
    assert internet.asked("turn.example.org") == 3
    assert internet.asked("api.example.org") == 0


@pytest.mark.quick
def test_the_tap_sees_what_goes_out(internet: Internet) -> None:
    for address in [*at.FORBIDDEN4, *at.FORBIDDEN6, "203.0.113.200", "2001:db8:1::200"]:
        socket.create_connection((address, 80), SOON).close()
        with socket.socket(
            socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM
        ) as packets:
            packets.sendto(b"x", (address, 443))
        assert sorted(internet.seen(address)) == [("tcp", address, 80), ("udp", address, 443)]


def test_every_talker_has_its_manner(internet: Internet) -> None:
    def talk(port: int, said: bytes, size: int = 65536, end: bool = False) -> bytes:
        with socket.create_connection((at.HOSTS["talk.example.org"][0], port), SOON) as stream:
            stream.sendall(said)
            if end:
                stream.shutdown(socket.SHUT_WR)
            stream.settimeout(1)
            try:
                return stream.recv(size)
            except TimeoutError:
                return b"silence"

    assert talk(at.SMTP, b"").startswith(b"220 ")
    assert talk(at.SILENT, b"x") == b"silence"
    assert talk(at.GREETS, b"") == b"hello, who is there?\n"
    assert set(talk(at.FLOOD, b"")) == {0}
    assert talk(at.DRIP, b"", 1) == b"."
    assert talk(at.ECHO, b"abc") == b"abc"
    assert talk(at.SINK, b"abc", end=True) == b"3\n"
    assert talk(at.HANGS_UP, b"") == b""
    assert talk(at.RAW, b"GET / HTTP/1.1\r\n\r\n").endswith(b"raw\n")
    assert internet.ask("raw.seen") == ["GET / HTTP/1.1\r\n\r\n"]


def marked() -> list[int]:
    """Processes of the ground that has the mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if MARK.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("way", ["the command ends", "SIGTERM", "SIGKILL"])
def test_nothing_of_it_stays(way: str, tmp_path: Path) -> None:
    mounts = Path("/proc/self/mounts").read_text()
    links = outside("ip -o link | wc -l", {}).stdout
    name, value = MARK.split("=", 1)
    ground = subprocess.Popen(
        [sys.executable, GROUND, "--quick", "--", "sh", "-c", "echo up; read end"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, name: value},
    )
    assert ground.stdin and ground.stdout
    assert ground.stdout.readline() == "up\n"
    assert len(marked()) >= 3
    if way == "the command ends":
        ground.stdin.write("\n")
        ground.stdin.flush()
    else:
        ground.send_signal(signal.Signals[way])
    ground.wait(SOON)
    end = time.monotonic() + SOON
    while marked():
        assert time.monotonic() < end, "processes stay"
        time.sleep(0.02)
    assert Path("/proc/self/mounts").read_text() == mounts
    assert outside("ip -o link | wc -l", {}).stdout == links


def test_a_ground_says_what_it_lacks() -> None:
    done = subprocess.run(
        [sys.executable, GROUND, "--", "no-such-program"],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": "/nonexistent"},
    )
    assert done.returncode != 0 and done.stderr.startswith("ground: "), done.stderr

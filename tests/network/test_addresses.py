"""Addresses that no tool may reach, in every spelling, and names that lead to them."""

from __future__ import annotations

import json
import socket
import threading
from typing import Iterator

import pytest

import addresses as at
from cells import SOON, Internet, in_cell, python_in_cell

pytestmark = pytest.mark.usefixtures("internet", "brig")

PORT = 7800


class Canary:
    """A server of the host's own, on all of its addresses, that no cell may reach."""

    def __init__(self) -> None:
        self.listener = socket.create_server(
            ("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True
        )
        self.visits: list[str] = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                stream, who = self.listener.accept()
            except OSError:
                return
            self.visits.append(str(who))
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncanary\n")
            stream.close()


@pytest.fixture
def canary() -> Iterator[Canary]:
    bird = Canary()
    yield bird
    bird.listener.shutdown(socket.SHUT_RDWR)
    bird.listener.close()


OWN = [
    "127.0.0.1",
    "127.1",
    "127.0.0.53",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "2130706433",
    "017700000001",
    "0.0.0.0",
    "0",
    "127.0.0.1.",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[::1%25lo]",
    "localhost",
    "LOCALHOST.",
    at.HERE4,
    f"[{at.HERE6}]",
    f"[::ffff:{at.HERE4}]",
    "here.example.org",
    "127.0.0.1%00.api.example.org",
    "[fe80::1]",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
]


@pytest.mark.parametrize("spelling", OWN)
def test_the_host_itself_is_out_of_reach(spelling: str, canary: Canary, internet: Internet) -> None:
    """By CONNECT, as a plain request, by SOCKS, and past the proxy, on a port that a rule names."""
    with socket.create_connection(("127.0.0.1", PORT), SOON) as control:
        assert control.recv(100)
    before = list(canary.visits)
    result = python_in_cell(
        """
import cell, json, socket, sys
host, port = sys.argv[1:]
said = []
for raw in (f"CONNECT {host}:{port} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n",
            f"GET http://{host}:{port}/ HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n"):
    said.append(cell.ask(raw.encode(), 5).decode("latin-1"))
with cell.to_proxy() as stream:
    name = host.strip("[]").encode()
    stream.sendall(b"\\x05\\x01\\x00")
    stream.recv(2)
    ask = b"\\x05\\x01\\x00\\x03" + bytes([len(name)]) + name + int(port).to_bytes(2, "big")
    stream.sendall(ask)
    said.append("socks " + str(stream.recv(2)[1:]))
try:
    said.append(cell.reach(f"{host}:{port}"))
except Exception as error:
    said.append(repr(error))
print(json.dumps(said))
""",
        ["api.example.org:443", f"api.example.org:{PORT}"],
        spelling,
        str(PORT),
    )
    assert result.status == 0, result.told()
    connect, plain, socks, past = json.loads(result.out)
    for answer in (connect, plain):
        assert answer[9:12] in ("400", "403"), answer
        assert "canary" not in answer
    assert socks != "socks b'\\x00'", result.told()
    assert past != "open", result.told()
    assert canary.visits == before
    assert internet.dialled() == []


@pytest.mark.parametrize(
    "address",
    [
        *at.FORBIDDEN4,
        *(f"[{each}]" for each in at.FORBIDDEN6),
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "2852039166",
        "0xa9fea9fe",
    ],
)
def test_private_places_are_out_of_reach(address: str, internet: Internet) -> None:
    result = python_in_cell(
        """
import cell, sys
host = sys.argv[1]
for port in (80, 443):
    target = f"{host}:{port}"
    print(cell.status(cell.ask(cell.connecting(target), 5)), cell.reach(target))
""",
        ["api.example.org:443", "*.example.org:80"],
        address,
    )
    words = result.out.split()
    assert set(words[0::2]) <= {"400", "403"} and "open" not in words, result.told()
    assert internet.seen() == []


BAD = {
    "metadata": {"a": ["169.254.169.254"]},
    "loopback": {"a": ["127.0.0.1"]},
    "nowhere": {"a": ["0.0.0.0"]},
    "here": {"a": [at.HERE4]},
    "here-ipv6": {"aaaa": [at.HERE6]},
    "private": {"a": ["10.66.0.1"]},
    "loopback-ipv6": {"aaaa": ["::1"]},
    "mapped": {"aaaa": ["::ffff:127.0.0.1"]},
    "mapped-here": {"aaaa": [f"::ffff:{at.HERE4}"]},
    "nat64": {"aaaa": ["64:ff9b::a9fe:a9fe"]},
    "unique-local": {"aaaa": ["fd66::1"]},
    "link-local": {"aaaa": ["fe80::1"]},
    "multicast": {"a": ["224.0.0.1"]},
    "made-up": {"a": ["198.18.0.1"]},
    "mixed": {"a": ["203.0.113.10", "169.254.169.254"]},
    "mixed-last": {"a": ["169.254.169.254", "203.0.113.10"]},
    "mixed-families": {"a": ["203.0.113.10"], "aaaa": ["fd66::1"]},
    "alias": {"cname": "meta.example.net"},
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("way", ["variables", "bare"])
def test_a_name_that_leads_there_is_not_dialled(
    kind: str, way: str, canary: Canary, internet: Internet
) -> None:
    """Of a mixed answer the good address may be dialled; the other one never."""
    internet.script("evil.example.org", BAD[kind])
    internet.script("meta.example.net", {"a": ["169.254.169.254"]})
    ports = [443, PORT] if way == "variables" else [PORT]
    for port in ports:
        script = "unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY\n" if way == "bare" else ""
        script += f"curl -sS -m 20 -p -o page http://evil.example.org:{port}/; cat page 2>/dev/null"
        result = in_cell(["sh", "-c", script], [f"evil.example.org:{port}"])
        assert "canary" not in result.out, result.told()
        good = {row for row in internet.dialled() if row[1] == "203.0.113.10"}
        assert set(internet.dialled()) == good, result.told()
        verdicts = result.verdicts("evil.example.org", port)
        assert verdicts and (good or verdicts <= {"denied", "failed"}), result.told()
    assert canary.visits == []


def test_a_name_is_resolved_for_each_connection_and_what_was_checked_is_dialled(
    internet: Internet,
) -> None:
    internet.script(
        "turn.example.org", {"a": ["203.0.113.10"], "ttl": 0}, {"a": ["169.254.169.254"], "ttl": 0}
    )
    once = "curl -sS -m 20 -w '%{http_code}\\n' -o page http://turn.example.org/hello"
    script = f"for i in 1 2 3; do {once}; done"
    result = in_cell(["sh", "-c", script], ["turn.example.org:80"])
    assert result.out.split()[0] == "200" and "169.254.169.254" not in str(
        internet.dialled()
    ), result.told()
    assert {row[1] for row in internet.dialled()} == {"203.0.113.10"}


def test_a_rule_that_lists_the_address_allows_it(internet: Internet) -> None:
    internet.script("inside.example.org", {"a": ["10.66.0.1"]})
    rules = ["inside.example.org:80", "10.66.0.0/16:80"]
    result = in_cell(["curl", "-fsS", "http://inside.example.org/hello"], rules)
    assert result.out == "hello from inside.example.org over http\n", result.told()


def test_a_name_is_no_way_to_an_address_nor_back(internet: Internet) -> None:
    api = at.HOSTS["api.example.org"][0]
    result = in_cell(
        ["curl", "-sS", "-w", "%{http_code}", "-o", "page", f"http://{api}/hello"],
        ["api.example.org:80"],
        alone=True,
    )
    assert result.out == "403" and internet.seen() == [], result.told()
    result = in_cell(
        ["curl", "-sS", "-w", "%{http_code}", "-o", "page", "http://api.example.org/hello"],
        [f"{api}/32:80"],
        alone=True,
    )
    assert result.out == "403" and internet.seen() == [], result.told()


FAULTS = {
    "nxdomain": {"fault": "nxdomain"},
    "servfail": {"fault": "servfail"},
    "refused": {"fault": "refused"},
    "silence": {"fault": "silence"},
    "garbage": {"fault": "garbage"},
    "other id": {"fault": "other_id", "a": ["203.0.113.10"]},
    "no records": {},
    "alias of nothing": {"cname": "nothing.example.net"},
    "alias of itself": {"cname": "broken.example.org"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_name_without_addresses_fails_and_says_so(fault: str, internet: Internet) -> None:
    internet.script("broken.example.org", FAULTS[fault])
    result = in_cell(
        ["curl", "-sS", "-m", "60", "-w", "%{http_code}", "http://broken.example.org/hello"],
        ["broken.example.org:80"],
        options=["--timeout", "90s"],
    )
    assert result.verdicts("broken.example.org", 80) == {"failed"}, result.told()
    # An answer of the proxy's, and not a hang or a bare end.
    assert "broken.example.org" in result.out and result.out[-3:] in (
        "502",
        "503",
        "504",
    ), result.told()
    assert not result.refusals(), result.told()
    assert internet.dialled() == []


def test_a_long_answer_comes_over_tcp(internet: Internet) -> None:
    internet.script(
        "long.example.org", {"fault": "truncated", "a": [f"203.0.113.{n}" for n in range(100, 180)]}
    )
    result = in_cell(["curl", "-fsS", "http://long.example.org/hello"], ["long.example.org:80"])
    assert result.out == "hello from long.example.org over http\n", result.told()


@pytest.mark.parametrize("dead", [at.GONE, at.LOST])
def test_a_dead_address_is_followed_by_the_next(dead: str, internet: Internet) -> None:
    internet.script("two.example.org", {"a": [dead, at.HOSTS["api.example.org"][0]]})
    for _ in range(3):
        result = in_cell(["curl", "-fsS", "http://two.example.org/hello"], ["two.example.org:80"])
        assert result.out == "hello from two.example.org over http\n", result.told()


@pytest.mark.parametrize("dead", [at.GONE, at.LOST])
def test_a_host_that_is_gone_fails_and_says_so(dead: str, internet: Internet) -> None:
    internet.script("gone.example.org", {"a": [dead]})
    script = "curl -sS -m 60 -w '%{http_code}' http://gone.example.org/"
    result = in_cell(["sh", "-c", script], ["gone.example.org:80"], options=["--timeout", "90s"])
    assert result.verdicts("gone.example.org", 80) == {"failed"}, result.told()
    assert "gone.example.org" in result.out and result.out[-3:] in ("502", "504"), result.told()

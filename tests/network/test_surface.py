"""What a cell with a way out looks like from inside, and what it can and can't reach."""

from __future__ import annotations

import json

import pytest

import addresses as at
from cells import Internet, in_cell, python_in_cell

pytestmark = pytest.mark.usefixtures("internet", "brig")

API = ["api.example.org:443"]


@pytest.mark.quick
def test_variables_name_the_proxy() -> None:
    result = python_in_cell("import json, os; print(json.dumps(dict(os.environ)))", API)
    env = json.loads(result.out)
    proxies = {env.get(name) for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    assert len(proxies) == 1, env
    assert str(proxies.pop()).startswith("http://127.0.0.1:"), env
    assert "all_proxy" not in env and "ALL_PROXY" not in env
    for name in ("NO_PROXY", "no_proxy"):
        assert set(env.get(name, "localhost").split(",")) <= {"localhost", "127.0.0.1", "::1"}, env


@pytest.mark.quick
def test_every_name_has_a_made_up_address(internet: Internet) -> None:
    result = python_in_cell(
        """
import ipaddress, socket
made_up = ipaddress.ip_network("198.18.0.0/15")
for name in ("api.example.org", "denied.example.net", "no-such-name.example.net"):
    for flags in (0, socket.AI_ADDRCONFIG):
        for family in (socket.AF_INET, socket.AF_UNSPEC):
            rows = socket.getaddrinfo(name, 443, family, socket.SOCK_STREAM, 0, flags)
            (found,) = {each[4][0] for each in rows}
            assert ipaddress.ip_address(found) in made_up, (name, flags, family)
    try:
        print(socket.getaddrinfo(name, 443, socket.AF_INET6))
    except socket.gaierror:
        pass
assert socket.gethostbyname("api.example.org") == socket.gethostbyname("API.Example.ORG.")
assert socket.gethostbyname("api.example.org") != socket.gethostbyname("denied.example.net")
print("fine")
""",
        API,
    )
    assert result.out == "fine\n", result.told()
    assert internet.seen() == []


def test_questions_of_other_types_stay_inside(internet: Internet) -> None:
    """A question is a message to whoever owns the name."""
    result = python_in_cell(
        """
import socket, struct
def question(name, kind):
    labels = b"".join(bytes([len(each)]) + each.encode() for each in name.split("."))
    head = struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0)
    return head + labels + bytes(1) + struct.pack("!HH", kind, 1)
codes = []
for kind in (1, 2, 5, 6, 12, 15, 16, 28, 33, 65, 252, 255):
    for name in ("secret.denied.example.net", "secret.api.example.org"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as packets:
            packets.settimeout(10)
            packets.sendto(question(name, kind), ("127.0.0.1", 53))
            try:
                answer = packets.recv(4096)
                assert answer[:2] == struct.pack("!H", 7) and answer[2] & 0x80, answer
            except TimeoutError:
                print("silence", kind)
with socket.create_connection(("127.0.0.1", 53), 10) as stream:
    message = question("secret.denied.example.net", 1)
    stream.sendall(struct.pack("!H", len(message)) + message)
    assert len(stream.recv(2)) == 2
for junk in (b"", b"x", bytes(12), b"\\xff" * 512, question("a" * 63 + "." + "b" * 63, 1)[:40]):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as packets:
        packets.sendto(junk, ("127.0.0.1", 53))
assert socket.gethostbyname("api.example.org").startswith("198.18.")
print("fine")
""",
        API,
    )
    assert result.out == "fine\n", result.told()
    assert internet.seen() == []


def test_other_ports_and_packets_go_nowhere(internet: Internet) -> None:
    four, six = at.HOSTS["api.example.org"]
    result = python_in_cell(
        f"""
import cell, socket
for port in (22, 25, 8081, 5432, 7005):
    print(cell.reach(f"api.example.org:{{port}}"), cell.reach(f"{four}:{{port}}"))
for family, address in ((socket.AF_INET, "{four}"), (socket.AF_INET6, "{six}")):
    with socket.socket(family, socket.SOCK_DGRAM) as packets:
        for port in (53, 443, 123):
            try:
                packets.sendto(b"x", (address, port))
            except OSError:
                pass
for kind in (socket.SOCK_RAW,):
    try:
        socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP)
        print("a raw socket")
    except OSError:
        pass
for family in (socket.AF_PACKET, 40):  # packets, and virtual machines
    try:
        socket.socket(family, socket.SOCK_RAW)
        print("a socket of family", family)
    except OSError:
        pass
""",
        API,
    )
    assert set(result.out.split()) <= {
        "ConnectionRefusedError",
        "closed",
        "ConnectionResetError",
    }, result.told()
    assert internet.seen() == []


@pytest.mark.quick
def test_a_refusal_can_be_read(internet: Internet) -> None:
    """By a client of the proxy, and by one that pays no attention to it."""
    result = python_in_cell(
        """
import cell, json, socket
said = [cell.ask(cell.connecting("denied.example.net:443"))]
said.append(cell.ask(cell.plain("denied.example.net")))
with socket.create_connection(("denied.example.net", 80), 20) as stream:
    said.append(cell.get(stream, "denied.example.net"))
print(json.dumps([each.decode() for each in said]))
""",
        API,
    )
    said = json.loads(result.out)
    for answer, wanted in zip(
        said, ("denied.example.net:443", "denied.example.net:80", "denied.example.net:80")
    ):
        head, _, body = answer.partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 403 "), answer
        assert wanted in body and "allow" in body, answer
    grants = {each["grant"] for each in result.refusals()}
    assert grants == {
        "--allow denied.example.net:443",
        "--allow denied.example.net:80",
    }, result.told()
    assert internet.seen() == []


def test_the_record_says_what_went_through() -> None:
    result = in_cell(
        ["curl", "-fsS", "-o", "page", "http://api.example.org/big?bytes=1000000"],
        ["api.example.org:80"],
    )
    (connection,) = result.connections("api.example.org", 80)
    assert (
        connection["verdict"] == "allowed" and connection["rule"] == "api.example.org:80"
    ), result.told()
    down, up = connection["received_bytes"], connection["sent_bytes"]
    assert 1_000_000 <= down < 1_002_000 and 50 < up < 1000, result.told()
    assert connection["duration_ms"] > 0, result.told()


@pytest.mark.parametrize("way", ["variables", "bare"])
def test_deny_wins(way: str, internet: Internet) -> None:
    policy = (
        "[network]\nallow = ['*.example.org:80', '203.0.113.0/24:80', '[2001:db8:1::]/48:80']\n"
    )
    policy += "deny = ['www.example.org']\n"
    script = "unset http_proxy HTTP_PROXY\n" if way == "bare" else ""
    script += (
        "curl -fsS http://api.example.org/hello; curl -fsS http://www.example.org/ || echo denied"
    )
    result = in_cell(["sh", "-c", script], [], options=["--policy", "-"], stdin=policy)
    assert result.out == "hello from api.example.org over http\ndenied\n", result.told()
    assert result.verdicts("www.example.org", 80) == {"denied"}, result.told()
    assert internet.asked("www.example.org") == 0


@pytest.mark.parametrize(
    "rule, host, works",
    [
        ("*.example.org:80", "api.example.org", True),
        ("*.example.org:80", "example.org", False),
        ("*.org:80", "api.example.org", True),
        ("API.Example.ORG.:80", "api.example.org", True),
        ("api.example.org:80", "API.EXAMPLE.ORG", True),
        ("api.example.org:80", "api.example.org.", True),
        ("api.example.org:80", "xapi.example.org", False),
        ("api.example.org:80", "api.example.org.example.net", False),
        ("api.example.org:8081", "api.example.org", False),
    ],
)
def test_a_rule_covers_what_it_says(rule: str, host: str, works: bool, internet: Internet) -> None:
    for name in ("example.org", "xapi.example.org", "api.example.org.example.net"):
        internet.script(name, {"a": ["203.0.113.99"]})
    for way in ("", "unset http_proxy HTTP_PROXY; "):
        result = in_cell(["sh", "-c", f"{way}curl -fsS http://{host}/hello"], [rule])
        assert (result.status == 0) == works, result.told()
        assert result.out.lower().startswith("hello from") == works, result.told()


def test_socks_is_there_for_those_who_ask(internet: Internet) -> None:
    script = 'curl -fsS --socks5-hostname "${http_proxy#http://}" http://$1/hello'
    result = in_cell(["sh", "-c", script, "sh", "api.example.org"], ["api.example.org:80"])
    assert result.out == "hello from api.example.org over http\n", result.told()
    internet.ask("reset")
    result = in_cell(["sh", "-c", script, "sh", "denied.example.net"], ["api.example.org:80"])
    assert result.status != 0 and result.verdicts("denied.example.net", 80) == {
        "denied"
    }, result.told()
    assert internet.seen() == []

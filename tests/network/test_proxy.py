"""The proxy as an attacker's client sees it: smuggling, fronting, forms of requests, redirects."""

from __future__ import annotations

import json
import re

import pytest

import addresses as at
from cells import Internet, in_cell, python_in_cell

pytestmark = pytest.mark.usefixtures("internet", "brig")

RAW = [f"raw.example.org:{at.RAW}"]
# Ends in a request to a host that is not allowed.
HIDDEN = "GET http://denied.example.net/smuggled HTTP/1.1\r\nHost: denied.example.net\r\n\r\n"
HOST = f"Host: raw.example.org:{at.RAW}\r\n"
LINE = f"POST http://raw.example.org:{at.RAW}/ HTTP/1.1\r\n"
GET = LINE.replace("POST", "GET")

# None of them may be read by a server in another way than by the proxy, so all of them are refused.
AMBIGUOUS = {
    "length and chunked": LINE
    + HOST
    + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + HIDDEN,
    "chunked and length": LINE
    + HOST
    + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"
    + HIDDEN,
    "two lengths": LINE + HOST + "Content-Length: 0\r\nContent-Length: 4\r\n\r\n" + HIDDEN,
    "a list of lengths": LINE + HOST + "Content-Length: 0, 4\r\n\r\n" + HIDDEN,
    "the same length twice": LINE
    + HOST
    + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n"
    + HIDDEN,
    "a signed length": LINE + HOST + "Content-Length: +0\r\n\r\n" + HIDDEN,
    "a hexadecimal length": LINE + HOST + "Content-Length: 0x0\r\n\r\n" + HIDDEN,
    "an unknown coding": LINE + HOST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "two codings": LINE + HOST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunked twice": LINE
    + HOST
    + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + HIDDEN,
    "identity": LINE + HOST + "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n" + HIDDEN,
    "a space before the colon": LINE
    + HOST
    + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"
    + HIDDEN,
    "a folded line": LINE + HOST + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "bare line feeds": (LINE + HOST + "X: y\n\n" + HIDDEN),
    "one bare line feed": LINE
    + HOST
    + "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + HIDDEN,
    "a bare return": LINE + HOST + "X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "two hosts": GET + HOST + "Host: denied.example.net\r\n\r\n",
    "another host": GET + "Host: denied.example.net\r\n\r\n",
    "no host": GET + "\r\n",
    "a NUL in a field": GET + HOST + "X: a\0b\r\n\r\n",
    "a NUL in the name": GET.replace("raw.example.org", "raw.example.org\0.denied.example.net")
    + HOST
    + "\r\n",
    "user information": GET.replace("//", "//denied.example.net@") + HOST + "\r\n",
    "a fragment": GET.replace("/ HTTP", "/#x HTTP") + HOST + "\r\n",
    "a tab in the target": GET.replace("/ HTTP", "/\tx HTTP") + HOST + "\r\n",
    "a second version": GET.replace(" HTTP/1.1", " HTTP/1.1 HTTP/1.1") + HOST + "\r\n",
    "HTTP/2 in words": GET.replace("1.1", "2.0") + HOST + "\r\n",
    "HTTP/0.9": f"GET http://raw.example.org:{at.RAW}/\r\n\r\n",
    "TRACE": LINE.replace("POST", "TRACE") + HOST + "\r\n",
    "a space before the name": GET + " " + HOST + "\r\n",
    "https by a plain request": GET.replace("http:", "https:") + HOST + "\r\n",
    "ftp": GET.replace("http:", "ftp:") + HOST + "\r\n",
    "a backslash": GET.replace("/ HTTP", "\\@denied.example.net/ HTTP") + HOST + "\r\n",
    "an encoded name": GET.replace("raw.", "r%61w.") + HOST + "\r\n",
    "port 0": GET.replace(":8081", ":0") + HOST + "\r\n",
    "port 65617": GET.replace(":8081", ":73617") + HOST + "\r\n",
    "a signed port": GET.replace(":8081", ":+8081") + HOST + "\r\n",
    "a port with a zero": GET.replace(":8081", ":008081x") + HOST + "\r\n",
    "a field of 64 KiB": GET + HOST + f"X: {'y' * 65536}\r\n\r\n",
    "a thousand fields": GET
    + HOST
    + "".join(f"X-{n}: {'y' * 60}\r\n" for n in range(1000))
    + "\r\n",
    "a target of 64 KiB": GET.replace("/ HTTP", "/" + "x" * 65536 + " HTTP") + HOST + "\r\n",
}

SEND = """
import cell, sys
answer = cell.ask(sys.stdin.buffer.read(), 15)
print(cell.status(answer), cell.read_all.ended)
print(answer.decode("latin-1"))
"""


def send(raw: str, rules: list[str]) -> tuple[int, str, str, str]:
    """The first status, how the connection ended, all that came, and the report."""
    result = in_cell(["/usr/bin/python3", "-c", SEND], rules, {"PYTHONPATH": at.GUESTS}, stdin=raw)
    assert result.status == 0, result.told()
    first, _, answer = result.out.partition("\n")
    return int(first.split()[0]), first.split()[1], answer, result.told()


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_refused(name: str, internet: Internet) -> None:
    status, ended, answer, told = send(AMBIGUOUS[name], RAW)
    assert status in (400, 403, 405, 414, 431, 501, 505), told
    assert (
        len(re.findall(r"(?m)^HTTP/1\.[01] \d", answer)) == 1 and ended != "silence"
    ), f"the connection must end: {told}"
    assert internet.ask("raw.seen") in ([], [""]), "nothing of it goes out"
    assert internet.dialled() == [], "a request that is refused needs no connection"


# Begins well: what was right may have gone out before; what comes then may not.
BROKEN_BODIES = {
    "an extension of 1 MiB": "5;x=" + "y" * (1 << 20) + "\r\nhello\r\n0\r\n\r\n",
    "a size that is none": "zz\r\nhello\r\n0\r\n\r\n",
    "a signed size": "+5\r\nhello\r\n0\r\n\r\n",
    "a size of twenty digits": "F" * 20 + "\r\nhello\r\n0\r\n\r\n",
    "a line feed alone": "5\nhello\r\n0\r\n\r\n",
    "no line end behind the data": "5\r\nhelloX0\r\n\r\n",
    "a trailer": "5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
}


@pytest.mark.parametrize("name", BROKEN_BODIES)
def test_a_broken_body_ends_the_connection(name: str, internet: Internet) -> None:
    raw = LINE + HOST + "Transfer-Encoding: chunked\r\n\r\n" + BROKEN_BODIES[name] + HIDDEN
    _, ended, _, told = send(raw, RAW)
    assert ended != "silence", told
    for text in internet.ask("raw.seen"):
        assert "smuggled" not in text and len(text) < 32768, text[:500]
    assert [row for row in internet.dialled() if row[2] != at.RAW] == []


def test_what_follows_a_request_is_judged_by_itself(internet: Internet) -> None:
    """A request behind a good one may be refused or dropped; the first host never gets it."""
    for first in (
        GET + HOST + "\r\n",
        LINE + HOST + "Content-Length: 5\r\n\r\nhello",
        LINE + HOST + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ):
        internet.ask("reset")
        status, _, answer, told = send(first + HIDDEN, RAW)
        assert status == 200 and "raw\n" in answer, told
        (text,) = internet.ask("raw.seen")
        assert "smuggled" not in text, text
        assert {row[2] for row in internet.dialled()} == {at.RAW}


def test_a_server_never_sees_what_was_for_the_proxy(internet: Internet) -> None:
    fields = "Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\n"
    fields += "Connection: X-Hop\r\nX-Hop: secret\r\nX-End: yes\r\n"
    status, _, _, told = send(
        GET.replace("/ HTTP", "/path?query=1 HTTP") + HOST + fields + "\r\n", RAW
    )
    assert status == 200, told
    (text,) = internet.ask("raw.seen")
    assert text.startswith("GET /path?query=1 HTTP/1.1\r\n"), text
    assert "proxy-" not in text.lower() and "secret" not in text and "X-End: yes" in text, text
    assert f"host: raw.example.org:{at.RAW}\r\n" in text.lower(), text


FRONTS = {"another allowed host": "www.example.org", "a denied host": "denied.example.net"}


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("way", ["connect", "past", "socks"])
def test_the_name_inside_must_be_the_name_outside(front: str, way: str, internet: Internet) -> None:
    """One certificate is for all of them, and one server: what an edge network is."""
    result = python_in_cell(
        """
import cell, socket, sys
name, way = sys.argv[1:]
def open_stream():
    if way == "connect":
        code, stream, head = cell.tunnel("api.example.org:443")
        assert code == 200, head
        return stream
    if way == "past":
        return socket.create_connection(("api.example.org", 443), 20)
    stream = cell.to_proxy()
    stream.sendall(b"\\x05\\x01\\x00")
    assert stream.recv(2) == b"\\x05\\x00"
    stream.sendall(b"\\x05\\x01\\x00\\x03\\x0fapi.example.org\\x01\\xbb")
    assert stream.recv(10)[1] == 0
    return stream
stream = cell.tls(open_stream(), "api.example.org")
print(cell.get(stream, "api.example.org").decode().splitlines()[-1])
try:
    print("inside", cell.get(cell.tls(open_stream(), name), name))
except OSError as error:
    print("closed")
""",
        ["api.example.org:443", "www.example.org:443"],
        FRONTS[front],
        way,
    )
    assert result.out == "hello from api.example.org over https\nclosed\n", result.told()
    assert [each["sni"] for each in internet.ask("web.requests")] == ["api.example.org"]
    assert any(each["verdict"] == "denied" for each in result.report["connections"]), result.told()
    assert result.refusals(), result.told()


def test_a_hello_in_pieces_is_read_all_the_same(internet: Internet) -> None:
    result = python_in_cell(
        """
import cell, socket, ssl, sys, time
def hello(name):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    wrapped = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        wrapped.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
def send(name, pieces):
    _, stream, _ = cell.tunnel("api.example.org:443")
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for piece in pieces(hello(name)):
        stream.sendall(piece)
        time.sleep(0.002)
    stream.settimeout(15)
    try:
        return stream.recv(1) == b"\\x16"
    except OSError:
        return False
def bytewise(text):
    return [text[n:n + 1] for n in range(len(text))]
def records(text):
    # Each byte of the handshake message in a record of its own.
    return [text[:3] + b"\\x00\\x01" + text[n:n + 1] for n in range(5, len(text))]
for pieces in (bytewise, records):
    print(send("api.example.org", pieces), send("denied.example.net", pieces))
""",
        ["api.example.org:443"],
        options=["--timeout", "90s"],
    )
    # OpenSSL's server may refuse records of one byte; the other name must not pass in either.
    lines = result.out.split("\n")
    assert lines[0] == "True False" and lines[1] in ("True False", "False False"), result.told()


def test_a_plain_request_in_a_tunnel_must_name_the_same_host(internet: Internet) -> None:
    result = python_in_cell(
        """
import cell, socket
for name in ("api.example.org", "denied.example.net", "www.example.org"):
    for way in ("tunnel", "direct"):
        connect = (lambda: cell.tunnel("api.example.org:80")[1]) if way == "tunnel" else (
            lambda: cell.direct("api.example.org", 80))
        with connect() as stream:
            try:
                print(name, cell.status(cell.get(stream, name)))
            except OSError:
                print(name, 0)
""",
        ["api.example.org:80", "www.example.org:80"],
    )
    lines = result.out.splitlines()
    assert lines[:2] == ["api.example.org 200"] * 2, result.told()
    assert not any(line.endswith(" 200") for line in lines[2:]), result.told()
    assert {each["host"] for each in internet.ask("web.requests")} == {"api.example.org"}


def test_the_second_request_of_a_connection_is_judged_too(internet: Internet) -> None:
    result = python_in_cell(
        """
import cell, socket
for way in (lambda: cell.to_proxy(), lambda: socket.create_connection(("api.example.org", 80), 20),
            lambda: cell.tunnel("api.example.org:80")[1]):
    with way() as stream:
        try:
            for host in ("api.example.org", "denied.example.net"):
                whole = stream.getpeername() == cell.proxy()
                target = f"http://{host}/hello" if whole else "/hello"
                stream.sendall(f"GET {target} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
                head = cell.read_head(stream)
                fields = [line.split() for line in head.lower().split(b"\\r\\n")]
                size = [int(each[1]) for each in fields if each[:1] == [b"content-length:"]]
                body = stream.recv(size[0], socket.MSG_WAITALL) if size else b""
                print(host, cell.status(head))
        except OSError:
            print("closed")
""",
        ["api.example.org:80"],
    )
    assert (
        "denied.example.net 200" not in result.out and result.out.count("api.example.org 200") >= 2
    ), result.told()
    assert {each["host"] for each in internet.ask("web.requests")} == {"api.example.org"}


@pytest.mark.parametrize("way", ["variables", "bare"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_redirect_is_a_request_of_its_own(scheme: str, way: str, internet: Internet) -> None:
    port = {"http": 80, "https": 443}[scheme]
    target = f"{scheme}://www.example.org/redirect?to={scheme}://denied.example.net/hello"
    script = "unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY\n" if way == "bare" else ""
    url = f"{scheme}://api.example.org/redirect?to={target}"
    script += f'curl -sSL --cacert "$CA" -w "%{{http_code}} %{{url_effective}}" "{url}"'
    result = in_cell(["sh", "-c", script], [f"*.example.org:{port}"])
    assert "hello from" not in result.out and "denied.example.net" in result.out, result.told()
    for host in ("api.example.org", "www.example.org"):
        assert result.verdicts(host, port) == {"allowed"}, result.told()
    assert result.verdicts("denied.example.net", port) == {"denied"}, result.told()
    assert (
        internet.asked("denied.example.net") == 0
        and internet.seen(*at.HOSTS["denied.example.net"]) == []
    )


def test_connect_takes_a_host_and_a_port_only(internet: Internet) -> None:
    targets = [
        "",
        "api.example.org",
        "api.example.org:",
        ":443",
        "api.example.org:0",
        "api.example.org:99999",
        "api.example.org:443:443",
        "http://api.example.org:443/",
        "/hello",
        "*",
        "user@api.example.org:443",
        "api.example.org:443/x",
        "api..example.org:443",
        "-api.example.org:443",
        ".api.example.org:443",
        f"{'a' * 64}.example.org:443",
        f"{'a.' * 130}org:443",
        "[api.example.org]:443",
        "api.example.org:https",
        "api_example\u00fc.org:443",
    ]
    result = python_in_cell(
        """
import cell, json, sys
end = " HTTP/1.1\\r\\nHost: api.example.org:443\\r\\n\\r\\n"
answers = [cell.ask(f"CONNECT {each}{end}".encode(), 10) for each in sys.argv[1:]]
print(json.dumps([cell.status(each) for each in answers]))
""",
        ["*.example.org:443", "api.example.org:443"],
        *targets,
    )
    statuses = dict(zip(targets, json.loads(result.out)))
    assert set(statuses.values()) <= {400, 403}, statuses
    assert internet.seen() == []


def test_bytes_behind_connect_are_of_the_tunnel(internet: Internet) -> None:
    """A client that sends at once what it would send after the 200."""
    result = python_in_cell(
        f"""
import cell
with cell.to_proxy() as stream:
    stream.sendall(cell.connecting("talk.example.org:{at.ECHO}") + b"early bird\\n")
    assert cell.status(cell.read_head(stream)) == 200
    print(stream.recv(100).decode(), end="")
""",
        [f"talk.example.org:{at.ECHO}"],
    )
    assert result.out == "early bird\n", result.told()

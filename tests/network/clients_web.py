"""Web clients: programs, and the libraries of Python, Node.js, Go and Java."""

from __future__ import annotations

import addresses as at
from client import API4, BUILT, ROOMY, Client, hello

WEB = [
    Client(
        "curl",
        "curl",
        "HTTPS",
        "api.example.org",
        443,
        """
curl -fsS https://api.example.org/hello
""",
        hello("api.example.org"),
        True,
        env={"CURL_CA_BUNDLE": at.CA},
        quick=True,
    ),
    Client(
        "curl-http",
        "curl",
        "HTTP",
        "api.example.org",
        80,
        """
curl -fsS http://api.example.org/hello
""",
        hello("api.example.org", "http"),
        True,
        quick=True,
    ),
    Client(
        "curl-http2",
        "curl",
        "HTTP/2",
        "nginx.example.org",
        at.NGINX,
        """
curl -fsS --http2 -w '%{http_version}\\n' https://nginx.example.org:8444/
""",
        "<p>hello from nginx\n2",
        True,
        env={"CURL_CA_BUNDLE": at.CA},
    ),
    Client(
        "curl-ipv6",
        "curl",
        "a host that has IPv6 only",
        "six.example.org",
        443,
        """
curl -fsS https://six.example.org/hello
""",
        hello("six.example.org"),
        True,
        env={"CURL_CA_BUNDLE": at.CA},
        quick=True,
    ),
    Client(
        "curl-address",
        "curl",
        "an address",
        API4,
        443,
        f"""
curl -fsS https://{API4}/hello
""",
        hello(API4),
        True,
        [f"{at.NETWORKS4[1]}:443"],
        env={"CURL_CA_BUNDLE": at.CA},
    ),
    Client(
        "wget",
        "wget",
        "HTTPS",
        "www.example.org",
        443,
        """
wget -q -t 1 -T 20 -O - --ca-certificate="$CA" https://www.example.org/
""",
        "<p>hello from a page",
        True,
    ),
    Client(
        "urllib",
        "python3",
        "`urlopen`",
        "api.example.org",
        443,
        """
python3 -c '
import urllib.request
print(urllib.request.urlopen("https://api.example.org/hello", timeout=20).read().decode(), end="")'
""",
        hello("api.example.org"),
        True,
        env={"SSL_CERT_FILE": at.CA},
        quick=True,
    ),
    Client(
        "requests",
        "python3-requests",
        "`requests.get`",
        "api.example.org",
        443,
        """
python3 -c '
import requests
print(requests.get("https://api.example.org/hello", timeout=20).text, end="")'
""",
        hello("api.example.org"),
        True,
        env={"REQUESTS_CA_BUNDLE": at.CA},
    ),
    Client(
        "httpx",
        "python3-httpx",
        "`httpx.get`",
        "api.example.org",
        443,
        """
python3 -c '
import httpx
print(httpx.get("https://api.example.org/hello", timeout=20).text, end="")'
""",
        hello("api.example.org"),
        True,
        env={"SSL_CERT_FILE": at.CA},
    ),
    Client(
        "aiohttp",
        "python3-aiohttp",
        "`ClientSession`",
        "api.example.org",
        443,
        """
python3 -c '
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session:
        async with session.get("https://api.example.org/hello") as answer:
            print(await answer.text(), end="")
asyncio.run(main())'
""",
        hello("api.example.org"),
        False,
        env={"SSL_CERT_FILE": at.CA},
    ),
    Client(
        "aiohttp-trust-env",
        "python3-aiohttp",
        "with `trust_env=True`",
        "api.example.org",
        443,
        """
python3 -c '
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.get("https://api.example.org/hello") as answer:
            print(await answer.text(), end="")
asyncio.run(main())'
""",
        hello("api.example.org"),
        True,
        env={"SSL_CERT_FILE": at.CA},
    ),
    Client(
        "node-fetch",
        "nodejs",
        "`fetch` of Node.js 18 and 20",
        "api.example.org",
        443,
        """
node -e '
fetch("https://api.example.org/hello").then(answer => answer.text())
  .then(text => process.stdout.write(text))'
""",
        hello("api.example.org"),
        False,
        env={"NODE_EXTRA_CA_CERTS": at.CA},
        options=ROOMY,
        quick=True,
    ),
    Client(
        "node-https",
        "nodejs",
        "`https.get` of Node.js 18 and 20",
        "api.example.org",
        443,
        """
node -e '
require("https").get("https://api.example.org/hello", answer => answer.pipe(process.stdout))'
""",
        hello("api.example.org"),
        False,
        env={"NODE_EXTRA_CA_CERTS": at.CA},
        options=ROOMY,
    ),
    Client(
        "go",
        "golang-go",
        "`net/http`",
        "api.example.org",
        443,
        f"""
{BUILT}/go/get https://api.example.org/hello
""",
        hello("api.example.org"),
        True,
        env={"SSL_CERT_FILE": at.CA},
        options=ROOMY,
        build=f"""
cp {at.GUESTS}/get.go .
GOCACHE="$PWD/cache" GO111MODULE=off CGO_ENABLED=0 go build -o get get.go
""",
    ),
    Client(
        "java",
        "default-jdk-headless",
        "`HttpClient`",
        "api.example.org",
        443,
        f"""
java -Djavax.net.ssl.trustStore={BUILT}/java/trust -Djavax.net.ssl.trustStorePassword=changeit \\
  -cp {BUILT}/java Get https://api.example.org/hello
""",
        hello("api.example.org"),
        False,
        options=ROOMY,
        build=f"""
javac -d . {at.GUESTS}/Get.java
keytool -importcert -noprompt -alias tests -file {at.CA} -keystore trust -storepass changeit \\
  2>/dev/null
""",
    ),
]

"""Programs that people use, each with what it takes to reach one host of the ground: a row per client.

`script` is run by a shell in an empty directory and prints `output`: first without brig, then in cells whose policy
allows the host, and in cells whose policy allows another. It is the same script each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import addresses as at

BUILT = f"{at.OWN}/built"
DB4 = at.HOSTS["db.example.org"][0]
API4 = at.HOSTS["api.example.org"][0]


@dataclass
class Client:
    name: str
    debian: str
    what: str  # in docs/network.md
    host: str
    port: int
    script: str
    output: str
    # Whether it takes http_proxy and https_proxy; if not, the connection comes to a transparent listener.
    heeds: bool
    allow: list[str] = field(default_factory=list)  # host:port, if empty
    env: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)  # for brig
    quick: bool = False
    # Made once, outside of cells, in a directory that they may read: BUILT.
    build: str = ""

    @property
    def rules(self) -> list[str]:
        return self.allow or [f"{self.host}:{self.port}"]


def hello(host: str, scheme: str = "https") -> str:
    return f"hello from {host} over {scheme}"


ROOMY = ["--timeout", "120s", "--memory", "2G", "--processes", "512", "--scratch", "256M", "--open-files", "1024"]
APT = """
mkdir -p apt/lists/partial apt/archives/partial apt/etc/preferences.d apt/etc/apt.conf.d apt/etc/trusted.gpg.d
: > apt/status
echo "deb [trusted=yes] $URL ./" > apt/sources
cat > apt.conf <<END
Dir "$PWD/apt"; Dir::Etc "$PWD/apt/etc"; Dir::Etc::SourceList "$PWD/apt/sources"; Dir::Etc::SourceParts "/dev/null";
Dir::State "$PWD/apt"; Dir::State::status "$PWD/apt/status"; Dir::Cache "$PWD/apt"; APT::Sandbox::User "";
APT::Update::Error-Mode "any"; Acquire::Retries "0"; Acquire::https::CaInfo "$CA"; Dir::Log "$PWD/apt";
END
export APT_CONFIG="$PWD/apt.conf"
apt-get -qq update
apt-get -qq download tinydeb
dpkg-deb --fsys-tarfile tinydeb_1.0_all.deb | tar -xO ./usr/share/tinydeb/greeting
"""

CLIENTS = [
    Client("curl", "curl", "HTTPS", "api.example.org", 443, """
curl -fsS https://api.example.org/hello
""", hello("api.example.org"), True, env={"CURL_CA_BUNDLE": at.CA}, quick=True),
    Client("curl-http", "curl", "HTTP", "api.example.org", 80, """
curl -fsS http://api.example.org/hello
""", hello("api.example.org", "http"), True, quick=True),
    Client("curl-http2", "curl", "HTTP/2", "nginx.example.org", at.NGINX, """
curl -fsS --http2 -w '%{http_version}\\n' https://nginx.example.org:8444/
""", "<p>hello from nginx\n2", True, env={"CURL_CA_BUNDLE": at.CA}),
    Client("curl-ipv6", "curl", "a host that has IPv6 only", "six.example.org", 443, """
curl -fsS https://six.example.org/hello
""", hello("six.example.org"), True, env={"CURL_CA_BUNDLE": at.CA}, quick=True),
    Client("curl-address", "curl", "an address", API4, 443, f"""
curl -fsS https://{API4}/hello
""", hello(API4), True, [f"{at.NETWORKS4[1]}:443"], env={"CURL_CA_BUNDLE": at.CA}),
    Client("wget", "wget", "HTTPS", "www.example.org", 443, """
wget -q -t 1 -T 20 -O - --ca-certificate="$CA" https://www.example.org/
""", "<p>hello from a page", True),
    Client("git", "git", "`git clone` over HTTPS", "git.example.org", 443, """
git clone -q https://git.example.org/git/repo.git
cat repo/greeting
""", "hello from a repository", True, env={"GIT_SSL_CAINFO": at.CA}, quick=True),
    Client("git-ssh", "git, openssh-client", "`git clone` over SSH", "git.example.org", at.SSH, f"""
(umask 077; cat {at.PUBLIC}/ssh_key > key)
export GIT_SSH_COMMAND="ssh -F none -i $PWD/key -o UserKnownHostsFile={at.PUBLIC}/known_hosts -o ConnectTimeout=20"
git clone -q ssh://server@git.example.org{at.PRIVATE}/git/repo.git
cat repo/greeting
""", "hello from a repository", False),
    Client("pip", "python3-pip", "`pip install` from one index", "index.pypi.test", 443, """
python3 -m pip install -q --no-input --retries 0 --no-cache-dir --disable-pip-version-check --target lib \
  --index-url https://index.pypi.test/simple/ tinywheel
PYTHONPATH=lib python3 -c 'import tinywheel'
""", "hello from a wheel", True, ["*.pypi.test:443"], {"PIP_CERT": at.CA}, ROOMY),
    Client("npm", "npm", "`npm install` from one registry", "registry.npm.test", 443, """
export npm_config_cache="$PWD/cache" npm_config_cafile="$CA" npm_config_update_notifier=false npm_config_fetch_retries=0
npm install --loglevel=error --no-audit --no-fund --registry https://registry.npm.test/ tinypackage >&2
node -p 'require("tinypackage")'
""", "hello from a package", True, options=ROOMY),
    Client("apt", "apt", "`apt-get update` and `download` over HTTPS", "deb.example.org", 443, """
URL=https://deb.example.org
""" + APT, "hello from a deb", True, options=ROOMY),
    Client("apt-http", "apt", "the same over HTTP", "deb.example.org", 80, """
URL=http://deb.example.org
""" + APT, "hello from a deb", True, options=ROOMY),
    Client("urllib", "python3", "`urlopen`", "api.example.org", 443, """
python3 -c '
import urllib.request
print(urllib.request.urlopen("https://api.example.org/hello", timeout=20).read().decode(), end="")'
""", hello("api.example.org"), True, env={"SSL_CERT_FILE": at.CA}, quick=True),
    Client("requests", "python3-requests", "`requests.get`", "api.example.org", 443, """
python3 -c '
import requests
print(requests.get("https://api.example.org/hello", timeout=20).text, end="")'
""", hello("api.example.org"), True, env={"REQUESTS_CA_BUNDLE": at.CA}),
    Client("httpx", "python3-httpx", "`httpx.get`", "api.example.org", 443, """
python3 -c '
import httpx
print(httpx.get("https://api.example.org/hello", timeout=20).text, end="")'
""", hello("api.example.org"), True, env={"SSL_CERT_FILE": at.CA}),
    Client("aiohttp", "python3-aiohttp", "`ClientSession`", "api.example.org", 443, """
python3 -c '
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session, session.get("https://api.example.org/hello") as answer:
        print(await answer.text(), end="")
asyncio.run(main())'
""", hello("api.example.org"), False, env={"SSL_CERT_FILE": at.CA}),
    Client("aiohttp-trust-env", "python3-aiohttp", "with `trust_env=True`", "api.example.org", 443, """
python3 -c '
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session, session.get("https://api.example.org/hello") as answer:
        print(await answer.text(), end="")
asyncio.run(main())'
""", hello("api.example.org"), True, env={"SSL_CERT_FILE": at.CA}),
    Client("node-fetch", "nodejs", "`fetch` of Node.js 18 and 20", "api.example.org", 443, """
node -e 'fetch("https://api.example.org/hello").then(async answer => process.stdout.write(await answer.text()))'
""", hello("api.example.org"), False, env={"NODE_EXTRA_CA_CERTS": at.CA}, options=ROOMY, quick=True),
    Client("node-https", "nodejs", "`https.get` of Node.js 18 and 20", "api.example.org", 443, """
node -e 'require("https").get("https://api.example.org/hello", answer => answer.pipe(process.stdout))'
""", hello("api.example.org"), False, env={"NODE_EXTRA_CA_CERTS": at.CA}, options=ROOMY),
    Client("go", "golang-go", "`net/http`", "api.example.org", 443, f"""
{BUILT}/go/get https://api.example.org/hello
""", hello("api.example.org"), True, env={"SSL_CERT_FILE": at.CA}, options=ROOMY, build=f"""
cp {at.GUESTS}/get.go .
GOCACHE="$PWD/cache" GO111MODULE=off CGO_ENABLED=0 go build -o get get.go
"""),
    Client("java", "default-jdk-headless", "`HttpClient`", "api.example.org", 443, f"""
java -Djavax.net.ssl.trustStore={BUILT}/java/trust -Djavax.net.ssl.trustStorePassword=changeit \\
  -cp {BUILT}/java Get https://api.example.org/hello
""", hello("api.example.org"), False, options=ROOMY, build=f"""
javac -d . {at.GUESTS}/Get.java
keytool -importcert -noprompt -alias tests -file {at.CA} -keystore trust -storepass changeit 2>/dev/null
"""),
    Client("psql", "postgresql-client-15", "PostgreSQL, with TLS", "db.example.org", at.POSTGRES, """
/usr/lib/postgresql/15/bin/psql -XAtc "select 'hello from ' || current_database() || ' ' || ssl from pg_stat_ssl where pid = pg_backend_pid()" \\
  "host=db.example.org user=tester password=public dbname=postgres sslmode=verify-full sslrootcert=$CA connect_timeout=20"
""", "hello from postgres true", False),
    Client("psql-address", "postgresql-client-15", "PostgreSQL, by its address", DB4, at.POSTGRES, f"""
/usr/lib/postgresql/15/bin/psql -XAtc "select 'hello from ' || current_database()" \\
  "host={DB4} user=tester password=public dbname=postgres sslmode=disable connect_timeout=20"
""", "hello from postgres", False, [f"{at.NETWORKS4[1]}:{at.POSTGRES}"]),
    Client("redis-cli", "redis-tools", "Redis", "db.example.org", at.REDIS, """
export REDISCLI_AUTH=public
redis-cli -h db.example.org set greeting "hello from redis" >/dev/null
redis-cli -h db.example.org get greeting
""", "hello from redis", False),
    Client("grpc", "python3-grpcio", "gRPC without TLS", "grpc.example.org", at.GRPC, """
python3 -c '
import grpc
channel = grpc.insecure_channel("grpc.example.org:50051")
print(channel.unary_unary("/Greeter/Hello")(b"grpc", timeout=20).decode())'
""", "hello, grpc", True, options=ROOMY),
    Client("grpc-tls", "python3-grpcio", "gRPC with TLS", "grpc.example.org", at.GRPC_TLS, """
python3 -c '
import grpc, os
given = grpc.ssl_channel_credentials(open(os.environ["CA"], "rb").read())
channel = grpc.secure_channel("grpc.example.org:50052", given)
print(channel.unary_unary("/Greeter/Hello")(b"grpc", timeout=20).decode())'
""", "hello, grpc", True, options=ROOMY),
    Client("websocket", "python3-websockets", "`ws:`", "ws.example.org", at.WS, """
python3 -c '
import asyncio, websockets
async def main():
    async with websockets.connect("ws://ws.example.org:8080/") as connection:
        await connection.send("hello")
        print(await connection.recv())
asyncio.run(main())'
""", "echo: hello", False),
    Client("websocket-tls", "python3-websockets", "`wss:`", "ws.example.org", at.WSS, """
python3 -c '
import asyncio, websockets
async def main():
    async with websockets.connect("wss://ws.example.org:8443/") as connection:
        await connection.send("hello")
        print(await connection.recv())
asyncio.run(main())'
""", "echo: hello", False, env={"SSL_CERT_FILE": at.CA}),
    Client("smtplib", "python3", "SMTP, where the server speaks first", "mail.example.org", at.SMTP, """
python3 -c '
import smtplib
with smtplib.SMTP("mail.example.org", timeout=20) as server:
    print(server.ehlo()[1].decode().split()[0])'
""", "mail.example.org", False, quick=True),
]


def table() -> list[str]:
    """The rows of docs/network.md."""
    return [
        f"| {each.name} | {each.debian} | {each.what} | `{each.rules[0]}` | {'proxy' if each.heeds else 'by itself'} |"
        for each in CLIENTS
    ]


if __name__ == "__main__":
    print(*table(), sep="\n")

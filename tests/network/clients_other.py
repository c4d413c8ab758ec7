"""Package managers, git, databases, gRPC, WebSocket and mail."""

from __future__ import annotations

import addresses as at
from client import DB4, ROOMY, Client

APT = """
mkdir -p apt/lists/partial apt/archives/partial
mkdir -p apt/etc/preferences.d apt/etc/apt.conf.d apt/etc/trusted.gpg.d
: > apt/status
echo "deb [trusted=yes] $URL ./" > apt/sources
cat > apt.conf <<END
Dir "$PWD/apt"; Dir::Log "$PWD/apt"; Dir::Cache "$PWD/apt"; APT::Sandbox::User "";
Dir::Etc "$PWD/apt/etc"; Dir::Etc::SourceList "$PWD/apt/sources"; Dir::Etc::SourceParts "/dev/null";
Dir::State "$PWD/apt"; Dir::State::status "$PWD/apt/status";
APT::Update::Error-Mode "any"; Acquire::Retries "0"; Acquire::https::CaInfo "$CA";
END
export APT_CONFIG="$PWD/apt.conf"
apt-get -qq update
apt-get -qq download tinydeb
dpkg-deb --fsys-tarfile tinydeb_1.0_all.deb | tar -xO ./usr/share/tinydeb/greeting
"""

OTHER = [
    Client(
        "git",
        "git",
        "`git clone` over HTTPS",
        "git.example.org",
        443,
        """
git clone -q https://git.example.org/git/repo.git
cat repo/greeting
""",
        "hello from a repository",
        True,
        env={"GIT_SSL_CAINFO": at.CA},
        quick=True,
    ),
    Client(
        "git-ssh",
        "git, openssh-client",
        "`git clone` over SSH",
        "git.example.org",
        at.SSH,
        f"""
(umask 077; cat {at.PUBLIC}/ssh_key > key)
known={at.PUBLIC}/known_hosts
export GIT_SSH_COMMAND="ssh -F none -i $PWD/key -o UserKnownHostsFile=$known -o ConnectTimeout=20"
git clone -q ssh://server@git.example.org{at.PRIVATE}/git/repo.git
cat repo/greeting
""",
        "hello from a repository",
        False,
    ),
    Client(
        "pip",
        "python3-pip",
        "`pip install` from one index",
        "index.pypi.test",
        443,
        """
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m pip install -q --no-input --retries 0 --no-cache-dir --target lib \
  --index-url https://index.pypi.test/simple/ tinywheel
PYTHONPATH=lib python3 -c 'import tinywheel'
""",
        "hello from a wheel",
        True,
        ["*.pypi.test:443"],
        {"PIP_CERT": at.CA},
        ROOMY,
    ),
    Client(
        "npm",
        "npm",
        "`npm install` from one registry",
        "registry.npm.test",
        443,
        """
export npm_config_cache="$PWD/cache" npm_config_cafile="$CA" npm_config_fetch_retries=0
export npm_config_update_notifier=false npm_config_registry=https://registry.npm.test/
npm install --loglevel=error --no-audit --no-fund tinypackage >&2
node -p 'require("tinypackage")'
""",
        "hello from a package",
        True,
        options=ROOMY,
    ),
    Client(
        "apt",
        "apt",
        "`apt-get update` and `download` over HTTPS",
        "deb.example.org",
        443,
        """
URL=https://deb.example.org
"""
        + APT,
        "hello from a deb",
        True,
        options=ROOMY,
    ),
    Client(
        "apt-http",
        "apt",
        "the same over HTTP",
        "deb.example.org",
        80,
        """
URL=http://deb.example.org
"""
        + APT,
        "hello from a deb",
        True,
        options=ROOMY,
    ),
    Client(
        "psql",
        "postgresql-client-15",
        "PostgreSQL, with TLS",
        "db.example.org",
        at.POSTGRES,
        """
export PGPASSWORD=public PGCONNECT_TIMEOUT=20 PGSSLMODE=verify-full PGSSLROOTCERT="$CA"
/usr/lib/postgresql/15/bin/psql -XAt -h db.example.org -U tester postgres <<'END'
select 'hello from ' || current_database() || ' ' || ssl
from pg_stat_ssl where pid = pg_backend_pid();
END
""",
        "hello from postgres true",
        False,
    ),
    Client(
        "psql-address",
        "postgresql-client-15",
        "PostgreSQL, by its address",
        DB4,
        at.POSTGRES,
        f"""
/usr/lib/postgresql/15/bin/psql -XAtc "select 'hello from ' || current_database()" \\
  "host={DB4} user=tester password=public dbname=postgres sslmode=disable connect_timeout=20"
""",
        "hello from postgres",
        False,
        [f"{at.NETWORKS4[1]}:{at.POSTGRES}"],
    ),
    Client(
        "redis-cli",
        "redis-tools",
        "Redis",
        "db.example.org",
        at.REDIS,
        """
export REDISCLI_AUTH=public
redis-cli -h db.example.org set greeting "hello from redis" >/dev/null
redis-cli -h db.example.org get greeting
""",
        "hello from redis",
        False,
    ),
    Client(
        "grpc",
        "python3-grpcio",
        "gRPC without TLS",
        "grpc.example.org",
        at.GRPC,
        """
python3 -c '
import grpc
channel = grpc.insecure_channel("grpc.example.org:50051")
print(channel.unary_unary("/Greeter/Hello")(b"grpc", timeout=20).decode())'
""",
        "hello, grpc",
        True,
        options=ROOMY,
    ),
    Client(
        "grpc-tls",
        "python3-grpcio",
        "gRPC with TLS",
        "grpc.example.org",
        at.GRPC_TLS,
        """
python3 -c '
import grpc, os
given = grpc.ssl_channel_credentials(open(os.environ["CA"], "rb").read())
channel = grpc.secure_channel("grpc.example.org:50052", given)
print(channel.unary_unary("/Greeter/Hello")(b"grpc", timeout=20).decode())'
""",
        "hello, grpc",
        True,
        options=ROOMY,
    ),
    Client(
        "websocket",
        "python3-websockets",
        "`ws:`",
        "ws.example.org",
        at.WS,
        """
python3 -c '
import asyncio, websockets
async def main():
    async with websockets.connect("ws://ws.example.org:8080/") as connection:
        await connection.send("hello")
        print(await connection.recv())
asyncio.run(main())'
""",
        "echo: hello",
        False,
    ),
    Client(
        "websocket-tls",
        "python3-websockets",
        "`wss:`",
        "ws.example.org",
        at.WSS,
        """
python3 -c '
import asyncio, websockets
async def main():
    async with websockets.connect("wss://ws.example.org:8443/") as connection:
        await connection.send("hello")
        print(await connection.recv())
asyncio.run(main())'
""",
        "echo: hello",
        False,
        env={"SSL_CERT_FILE": at.CA},
    ),
    Client(
        "smtplib",
        "python3",
        "SMTP, where the server speaks first",
        "mail.example.org",
        at.SMTP,
        """
python3 -c '
import smtplib
with smtplib.SMTP("mail.example.org", timeout=20) as server:
    print(server.ehlo()[1].decode().split()[0])'
""",
        "mail.example.org",
        False,
        quick=True,
    ),
]

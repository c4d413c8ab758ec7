"""Servers of Debian's, each as a process of the servers' own user, which ends with the internet.

BRIG_SERVERS names a directory below which packages were unpacked and not installed, so that no
machine gets a daemon for the sake of these tests (scripts/test-network).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import addresses as at
import certificates
import sites

HERE = Path(__file__).parent
PLACES = ["/usr/sbin", "/usr/bin", "/usr/lib/postgresql/15/bin"]


class Missing(OSError):
    def __init__(self, package: str) -> None:
        super().__init__(0, f"missing package: {package}")


def find(name: str, package: str) -> str:
    aside = os.environ.get("BRIG_SERVERS", "")
    places = [*PLACES, *(aside + place for place in PLACES if aside)]
    path = shutil.which(name, path=os.pathsep.join(places))
    if path is None:
        raise Missing(package)
    return path


def start(name: str, *argv: str, executable: str | None = None) -> None:
    with open(f"{at.PRIVATE}/{name}.log", "wb") as log:
        subprocess.Popen(
            argv,
            executable=executable,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=at.PRIVATE,
        )


def answers(port: int, seconds: float = 60) -> None:
    """Waits for a listener."""
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("203.0.113.1", port), 5).close()
            return
        except OSError:
            if time.monotonic() > end:
                logs = "".join(
                    f"\n{log.name}: {log.read_text()}" for log in Path(at.PRIVATE).glob("*.log")
                )
                raise OSError(0, f"nothing listens on port {port}{logs}") from None
            time.sleep(0.02)


def write(name: str, text: str, mode: int = 0o600) -> str:
    path = Path(at.PRIVATE, name)
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def ssh() -> None:
    """The client's key is public here: cells must be able to read it."""
    sshd = find("sshd", "openssh-server")
    for key in (f"{at.PRIVATE}/host_key", f"{at.PUBLIC}/ssh_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    shutil.copy(f"{at.PUBLIC}/ssh_key.pub", f"{at.PRIVATE}/authorized")
    os.chmod(f"{at.PUBLIC}/ssh_key", 0o644)
    host_key = Path(at.PRIVATE, "host_key.pub").read_text().split()
    Path(at.PUBLIC, "known_hosts").write_text(
        f"git.example.org,{at.HOSTS['git.example.org'][0]} {' '.join(host_key[:2])}\n"
    )
    settings = write(
        "sshd_config",
        f"""
Port {at.SSH}
HostKey {at.PRIVATE}/host_key
AuthorizedKeysFile {at.PRIVATE}/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
""",
    )
    start("sshd", sshd, "-D", "-e", "-f", settings)
    answers(at.SSH)


def postgres() -> None:
    initdb = find("initdb", "postgresql-15")
    data = f"{at.PRIVATE}/postgres"
    password = write("postgres.password", "public\n")
    done = subprocess.run(
        [
            initdb,
            "-D",
            data,
            "-U",
            "tester",
            "--pwfile",
            password,
            "--auth=scram-sha-256",
            "-E",
            "UTF8",
            "--no-sync",
        ],
        capture_output=True,
        text=True,
        cwd=at.PRIVATE,
    )
    if done.returncode:
        raise OSError(0, f"initdb: {done.stdout}{done.stderr}")
    with open(f"{data}/postgresql.conf", "a") as settings:
        settings.write(
            f"""
listen_addresses = '*'
port = {at.POSTGRES}
unix_socket_directories = ''
ssl = on
ssl_cert_file = '{certificates.CERTIFICATE}'
ssl_key_file = '{certificates.KEY}'
dynamic_shared_memory_type = mmap
shared_buffers = 2MB
max_connections = 20
fsync = off
"""
        )
    with open(f"{data}/pg_hba.conf", "w") as rules:
        rules.write("host all all all scram-sha-256\n")
    start("postgres", find("postgres", "postgresql-15"), "-D", data)


def redis() -> None:
    # redis-tools has the program, by its other name.
    program = find("redis-check-rdb", "redis-tools")
    settings = write(
        "redis.conf",
        f'port {at.REDIS}\nbind * -::*\nprotected-mode no\nsave ""\nrequirepass public\n',
    )
    start("redis", "redis-server", settings, executable=program)


def nginx() -> None:
    program = find("nginx", "nginx")
    temporary = "".join(
        f"  {kind}_temp_path {at.PRIVATE}/nginx_{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    settings = write(
        "nginx.conf",
        f"""
daemon off;
worker_processes 1;
pid {at.PRIVATE}/nginx.pid;
error_log stderr;
events {{ worker_connections 512; }}
http {{
  access_log off;
{temporary}
  server {{
    listen {at.NGINX} ssl http2;
    listen [::]:{at.NGINX} ssl http2;
    ssl_certificate {certificates.CERTIFICATE};
    ssl_certificate_key {certificates.KEY};
    root {sites.FILES}/nginx.example.org;
  }}
}}
""",
    )
    start("nginx", program, "-e", "stderr", "-p", at.PRIVATE, "-c", settings)


def python_servers() -> None:
    for name, module, package in (
        ("grpc", "grpc", "python3-grpcio"),
        ("websocket", "websockets", "python3-websockets"),
    ):
        if subprocess.run(
            [sys.executable, "-c", f"import {module}"], capture_output=True
        ).returncode:
            raise Missing(package)
        start(name, sys.executable, str(HERE / f"serve_{name}.py"))


def start_all() -> None:
    """Those that are missing are all named at once."""
    missing = []
    for server in (ssh, postgres, redis, nginx, python_servers):
        try:
            server()
        except Missing as error:
            missing.append(error.strerror)
    if missing:
        raise OSError(0, "; ".join(missing))
    for port in (at.POSTGRES, at.REDIS, at.NGINX, at.GRPC, at.GRPC_TLS, at.WS, at.WSS):
        answers(port)

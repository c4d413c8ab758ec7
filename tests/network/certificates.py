"""An authority of the tests' own, and one certificate for all hosts; made with openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

import addresses as at

CERTIFICATE, KEY = f"{at.PRIVATE}/server.pem", f"{at.PRIVATE}/server.key"
AUTHORITY_KEY = f"{at.PRIVATE}/ca.key"
CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*words: str) -> None:
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, cwd=at.PRIVATE)
    if done.returncode:
        raise OSError(0, f"openssl {words[0]}: {done.stderr}")


def make() -> None:
    openssl(
        "req",
        "-x509",
        *CURVE,
        "-keyout",
        AUTHORITY_KEY,
        "-out",
        at.CA,
        "-days",
        "2",
        "-subj",
        "/CN=The tests' authority",
        "-addext",
        "basicConstraints=critical,CA:TRUE",
        "-addext",
        "keyUsage=critical,keyCertSign,cRLSign",
    )
    openssl("req", *CURVE, "-keyout", KEY, "-out", "server.csr", "-subj", "/CN=example.org")
    names = [f"DNS:{name}" for name in at.HOSTS] + [
        "DNS:*.example.org",
        "DNS:*.example.net",
        "DNS:*.pypi.test",
    ]
    names += [f"IP:{address}" for pair in at.HOSTS.values() for address in pair if address]
    Path(at.PRIVATE, "server.ext").write_text(
        f"subjectAltName={','.join(names)}\nextendedKeyUsage=serverAuth\n"
    )
    openssl(
        "x509",
        "-req",
        "-in",
        "server.csr",
        "-CA",
        at.CA,
        "-CAkey",
        AUTHORITY_KEY,
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        "server.ext",
        "-out",
        CERTIFICATE,
    )
    with open(CERTIFICATE, "a") as chain:
        chain.write(Path(at.CA).read_text())

"""What the servers serve: a git repository, and a package each for pip, npm and apt."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import addresses as at

FILES, GIT = f"{at.PRIVATE}/www", f"{at.PRIVATE}/git"


def run(*words: str, cwd: str, **more: str) -> bytes:
    done = subprocess.run(words, cwd=cwd, capture_output=True, env={**os.environ, **more})
    if done.returncode:
        raise OSError(0, f"{' '.join(words)}: {done.stderr.decode()}")
    return done.stdout


def put(path: str, content: bytes) -> None:
    place = Path(FILES, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def make_git() -> None:
    os.makedirs(GIT)
    run("git", "init", "-q", "-b", "main", "work", cwd=GIT)
    work = f"{GIT}/work"
    Path(work, "greeting").write_text("hello from a repository\n")
    run("git", "add", "greeting", cwd=work)
    who = ("-c", "user.name=Tests", "-c", "user.email=tests@example.org")
    run("git", *who, "commit", "-q", "-m", "A greeting", cwd=work)
    run("git", "clone", "-q", "--bare", "work", "repo.git", cwd=GIT)


def make_pip() -> None:
    """The index and the file are on two hosts, as those of the public index are."""
    wheel = io.BytesIO()
    files = {
        "tinywheel.py": 'print("hello from a wheel")\n',
        "tinywheel-1.0.dist-info/METADATA": "Metadata-Version: 2.1\n"
        "Name: tinywheel\nVersion: 1.0\n",
        "tinywheel-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    listed = ""
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
            digest = (
                base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
                .rstrip(b"=")
                .decode()
            )
            listed += f"{name},sha256={digest},{len(text)}\n"
        archive.writestr(
            "tinywheel-1.0.dist-info/RECORD", listed + "tinywheel-1.0.dist-info/RECORD,,\n"
        )
    name = "tinywheel-1.0-py3-none-any.whl"
    put(f"files.pypi.test/{name}", wheel.getvalue())
    digest = hashlib.sha256(wheel.getvalue()).hexdigest()
    link = f'<a href="https://files.pypi.test/{name}#sha256={digest}">{name}</a>'
    put(
        "index.pypi.test/simple/tinywheel/index.html",
        f"<!DOCTYPE html><html><body>{link}</body></html>".encode(),
    )


def make_npm() -> None:
    package = {"name": "tinypackage", "version": "1.0.0", "main": "index.js"}
    tarball = io.BytesIO()
    with tarfile.open(fileobj=tarball, mode="w:gz") as archive:
        for name, text in (
            ("package.json", json.dumps(package)),
            ("index.js", 'module.exports = "hello from a package"\n'),
        ):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    name = "tinypackage-1.0.0.tgz"
    put(f"registry.npm.test/tinypackage/-/{name}", tarball.getvalue())
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball.getvalue()).digest()).decode()
    dist = {"tarball": f"https://registry.npm.test/tinypackage/-/{name}", "integrity": integrity}
    told = {
        "name": "tinypackage",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": package | {"dist": dist}},
    }
    put("registry.npm.test/tinypackage/index.html", json.dumps(told).encode())


def make_apt() -> None:
    root = f"{at.PRIVATE}/deb"
    os.makedirs(f"{root}/DEBIAN")
    Path(root, "DEBIAN/control").write_text(
        "Package: tinydeb\nVersion: 1.0\nArchitecture: all\n"
        "Maintainer: Tests <tests@example.org>\nDescription: a greeting\n"
    )
    Path(root, "usr/share/tinydeb").mkdir(parents=True)
    Path(root, "usr/share/tinydeb/greeting").write_text("hello from a deb\n")
    place = f"{FILES}/deb.example.org"
    os.makedirs(place)
    run(
        "dpkg-deb", "--root-owner-group", "--build", root, f"{place}/tinydeb_1.0_all.deb", cwd=place
    )
    put("deb.example.org/Packages", run("apt-ftparchive", "packages", ".", cwd=place))
    put("deb.example.org/Release", run("apt-ftparchive", "release", ".", cwd=place))


def make(quick: bool) -> None:
    put("www.example.org/index.html", b"<p>hello from a page\n")
    put("nginx.example.org/index.html", b"<p>hello from nginx\n")
    make_git()
    if not quick:
        make_pip()
        make_npm()
        make_apt()

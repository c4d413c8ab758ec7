"""Builds brig's wheel and sdist for pip, with the standard library alone (PEP 517 and 660).

If the source tree around this folder has a built libbrig, the wheel carries it. Otherwise the
package will look for an installed one. Nothing is written but the archive, which is the same each
time.

`make package` gives three settings: "libraries", a folder with libbrig and what it is linked to, to
be carried in its place; "licenses", a folder with theirs; "platform", the machines for which they
are. """

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, Optional

HERE = Path(__file__).resolve().parent
LIBRARY = HERE.parent / "build" / "release" / "lib" / "libbrig.so.0"

Contents = Dict[str, bytes]  # of an archive, by name
Settings = Optional[Dict[str, Any]]  # pip's --config-settings

METADATA = """\
Metadata-Version: 2.1
Name: brig
Version: {version}
Summary: Every tool call of an agent in a fresh, locked cell
License: Apache-2.0
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.9
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: brig ({version})
Root-Is-Purelib: {pure}
Tag: {tag}
"""


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None
) -> str:
    settings = config_settings or {}
    contents = _read(_package_files())
    libraries = [LIBRARY] if LIBRARY.exists() else []
    if "libraries" in settings:
        libraries = sorted(Path(settings["libraries"]).iterdir())
    for path in libraries:
        contents[f"brig/_lib/{path.name}"] = path.read_bytes()
    platform = settings.get("platform", sysconfig.get_platform()) if libraries else "any"
    licenses = sorted(Path(settings["licenses"]).iterdir()) if "licenses" in settings else []
    about = {f"licenses/{path.name}": path.read_bytes() for path in licenses}
    return _write_wheel(
        Path(wheel_directory), "py3-none-" + re.sub("[-.]", "_", platform), contents, about
    )


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None
) -> str:
    return _write_wheel(Path(wheel_directory), "py3-none-any", {"brig.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    version = _version()
    contents = {
        **_read(_package_files()),
        **_read(["build_backend.py", "files.cmake", "pyproject.toml"]),
        **_license(),
        "PKG-INFO": METADATA.format(version=version).encode(),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in contents.items():
            entry = tarfile.TarInfo(f"brig-{version}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    filename = f"brig-{version}.tar.gz"
    # Not by tarfile, which would write the time.
    (Path(sdist_directory) / filename).write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return filename


def _read(names: list[str]) -> Contents:
    return {name: (HERE / name).read_bytes() for name in names}


def _package_files() -> list[str]:
    """CMake's list is the only one."""
    return _found(r"set\(brig_python_files([^)]*)\)", HERE / "files.cmake").split()


def _version() -> str:
    return _found(r'\n__version__ = "(.+)"\n', HERE / "brig" / "__init__.py")


def _found(pattern: str, path: Path) -> str:
    match = re.search(pattern, path.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{path} has nothing like {pattern}")
    return match[1]


def _license() -> Contents:
    """From the source tree, or from beside this file, where an sdist has it."""
    for path in (HERE / "LICENSE", HERE.parent / "LICENSE"):
        if path.exists():
            return {"LICENSE": path.read_bytes()}
    return {}  # pip before 21.3 copies this folder away before it builds


def _write_wheel(directory: Path, tag: str, contents: Contents, about: Contents = {}) -> str:
    version = _version()
    pure = "true" if tag.endswith("-any") else "false"
    about = {
        **about,
        "METADATA": METADATA.format(version=version).encode(),
        "WHEEL": WHEEL.format(version=version, pure=pure, tag=tag).encode(),
        **_license(),
    }
    folder = f"brig-{version}.dist-info"
    contents = {**contents, **{f"{folder}/{name}": data for name, data in about.items()}}
    contents[f"{folder}/RECORD"] = _record(contents, f"{folder}/RECORD")
    filename = f"brig-{version}-{tag}.whl"
    with zipfile.ZipFile(directory / filename, "w") as archive:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name)  # its time is a constant
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return filename


def _record(contents: Contents, own_name: str) -> bytes:
    lines = []
    for name, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{own_name},,\n"]).encode()

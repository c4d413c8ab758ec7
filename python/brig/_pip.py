"""Answers %pip in a cell without a network."""

from __future__ import annotations

import os
from typing import Iterable

from brig._usage_error import UsageError

ONLINE = {"install", "download", "wheel", "search", "index"}  # commands of pip that need a network


def has_network() -> bool:
    """Returns whether there is a way to any network. Sends nothing."""
    import socket

    if any(os.environ.get(name) for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")):
        return True
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
                return True
        except OSError:
            continue
    return False


def refuse_pip(wanted: Iterable[str], command: str) -> None:
    """Raises UsageError, unless all wanted packages are installed already."""
    from importlib import metadata

    missing, there, names = [], [], [each for each in wanted if not each.startswith("-")]
    for name in names:
        try:
            there.append(f"{name} {metadata.version(name)}")
        except Exception:
            missing.append(name)
    if command == "install" and names and not missing:
        print(f"Already installed: {', '.join(there)}")
        return
    what = f" {', '.join(missing)}" if missing and command == "install" else ""
    raise UsageError(
        f"%pip can't {command}{what}: there is no network in this cell. Use the packages that are installed (%pip list), "
        "or ask the operator to install what is missing."
    )

"""Answers %pip, and lines of the shell that run pip, in a cell without a network."""

from __future__ import annotations

import os
import re
import shlex
from typing import Iterable, Optional

from brig._usage_error import UsageError

ONLINE = {"install", "download", "wheel", "search", "index"}  # commands of pip that need a network


def has_network() -> bool:
    """Returns whether there is a way to any network. Sends nothing."""
    import socket

    if any(
        os.environ.get(name) for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    ):
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
    there, missing = _parted(wanted)
    if command == "install" and there and not missing:
        print(f"Already installed: {', '.join(there)}")
        return
    raise UsageError(_refusal("%pip", command, missing))


def refusal_of(line: str) -> Optional[str]:
    """Returns why a line of the shell that runs pip alone can't work here, or None: then the shell
    runs it. pip itself would try again and again before it says that it found no such package."""
    words = _words_of_pip(line)
    command = next((each for each in words if not each.startswith("-")), "")
    if command not in ONLINE or "--no-index" in words:
        return None
    wanted = words[words.index(command) + 1 :]
    _, missing = _parted(wanted)
    # A file or a directory that is there may need no network.
    if (command == "install" and not missing) or any(map(os.path.exists, wanted)) or has_network():
        return None
    return _refusal("pip", command, missing)


# More than one command, or one in the background.
_OF_SHELL = re.compile(r"[;`\n]|&&|\|\||\$\(|&\s*$")


def _words_of_pip(line: str) -> list[str]:
    """Returns pip's own words in a line that runs nothing else, or nothing."""
    try:
        words = [] if _OF_SHELL.search(line) else shlex.split(line)
    except ValueError:
        return []
    end = next((at for at, each in enumerate(words) if re.match(r"\d*[<>|]", each)), len(words))
    words = words[:end]
    if words[:1] in (["pip"], ["pip3"]):
        return words[1:]
    return words[3:] if words[:1] in (
        ["python"], ["python3"]
    ) and words[1:3] == ["-m", "pip"] else []


def _parted(wanted: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns the packages that are installed, with their versions, and those that are not."""
    from importlib import metadata

    there, missing = [], []
    for name in wanted:
        if name.startswith("-"):
            continue
        try:
            there.append(f"{name} {metadata.version(name)}")
        except Exception:
            missing.append(name)
    return there, missing


def _refusal(said: str, command: str, missing: list[str]) -> str:
    what = f" {', '.join(missing)}" if missing and command == "install" else ""
    return (
        f"{said} can't {command}{what}: there is no network in this cell. Use the packages that "
        "are installed (%pip list), "
        "or ask the operator to install what is missing."
    )

"""What code has left in its cell's own directory, for run_python to give back. Runs in the cell: the host bounds it
again."""

from __future__ import annotations

import base64
import os
from typing import Any, Iterator

_WORKSPACE = "/workspace"
_MOST_FILES = 16
_MOST_BYTES = 6 << 20  # as base64, half of what a result may be
_MOST_SEEN = 2000
_MOST_DEPTH = 32


def own_workspace() -> str:
    """The working directory if it is the cell's own, or "": what lies in another is not of this call alone. On floors
    without mounts the cell's own is HOME and TMPDIR as well."""
    here = os.getcwd()
    is_own = here == _WORKSPACE or here == os.environ.get("HOME") == os.environ.get("TMPDIR")
    return here if is_own else ""


def regular_files(workspace: str) -> Iterator[tuple[str, str]]:
    """The path of each below the workspace, and its whole path. The code may have gone elsewhere and left anything: no
    link is followed, no other file system is entered, and what can't be looked at is no error."""
    seen = 0
    for folder, folders, names in os.walk(workspace):
        below = os.path.relpath(folder, workspace)
        folders[:] = sorted(each for each in folders if not os.path.ismount(os.path.join(folder, each)))
        if below.count(os.sep) + 1 >= _MOST_DEPTH:
            folders.clear()
        for name in names:
            seen += 1
            if seen > _MOST_SEEN:
                return
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.normpath(os.path.join(below, name)), path


def is_utf8(text: str) -> bool:
    try:
        text.encode()
        return True
    except UnicodeEncodeError:
        return False


def _is_private(path: str) -> bool:
    return any(part.startswith(".") or part in ("__pycache__", "node_modules") for part in path.split(os.sep))


def _entry(told: str, path: str, most: int) -> dict[str, Any]:
    """Raises OSError if it can't be read."""
    size = os.path.getsize(path)
    if size > most:
        return {"path": told, "size": size}
    with open(path, "rb") as file:
        data = file.read(most)
    return {"path": told, "size": len(data), "data": base64.b64encode(data).decode()}


def left_files(workspace: str, not_these: set[str]) -> dict[str, Any]:
    """{"files": [{"path", "size", "data"}], "files_left_out": number}; members that would be empty are left out."""
    files: list[dict[str, Any]] = []
    left, left_out = _MOST_BYTES, 0
    for told, path in sorted(regular_files(workspace)):
        if told in not_these or _is_private(told):
            continue
        if len(files) == _MOST_FILES or not is_utf8(told):
            left_out += 1
            continue
        try:
            entry = _entry(told, path, left)
        except OSError:
            left_out += 1
            continue
        if "data" in entry:
            left -= entry["size"]
        files.append(entry)
    answer: dict[str, Any] = {}
    if files:
        answer["files"] = files
    if left_out:
        answer["files_left_out"] = left_out
    return answer

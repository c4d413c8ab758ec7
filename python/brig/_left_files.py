"""Files that code has left in its working directory, for run_python to give back. Runs in the cell: the host bounds it again."""

from __future__ import annotations

import base64
import os
from typing import Any

_MOST_FILES = 16
_MOST_BYTES = 6 << 20  # as base64, half of what a result may be
_MOST_SEEN = 2000


def _is_private(name: str) -> bool:
    return name.startswith(".") or name in ("__pycache__", "node_modules")


def left_files(not_these: set[str]) -> dict[str, Any]:
    """{"files": [{"path", "size", "data"}], "files_left_out": number}; members that would be empty are left out."""
    found: list[str] = []
    seen = 0
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(each for each in folders if not _is_private(each))
        for name in names:
            seen += 1
            path = os.path.normpath(os.path.join(folder, name))
            if path not in not_these and not _is_private(name) and os.path.isfile(path) and not os.path.islink(path):
                found.append(path)
        if seen > _MOST_SEEN:
            break
    files: list[dict[str, Any]] = []
    left = _MOST_BYTES
    for path in sorted(found)[:_MOST_FILES]:
        size = os.path.getsize(path)
        if size > left:
            files.append({"path": path, "size": size})
            continue
        with open(path, "rb") as file:
            data = file.read(left)
        left -= len(data)
        files.append({"path": path, "size": size, "data": base64.b64encode(data).decode()})
    answer: dict[str, Any] = {}
    if files:
        answer["files"] = files
    if len(found) > _MOST_FILES:
        answer["files_left_out"] = len(found) - _MOST_FILES
    return answer

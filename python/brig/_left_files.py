"""Collects the files that code has left in its cell's own directory, for run_python to give back. Runs in the cell; the
host checks the limits again."""

from __future__ import annotations

import base64
import mimetypes
import os
from typing import Any, Iterator, Optional

from brig._budget import Budget

_WORKSPACE = "/workspace"
_MOST_FILES = 16
_MOST_IMAGES = 8
_LARGEST_IMAGE = 4 << 20
_MOST_SEEN = 2000
_MOST_DEPTH = 32
Mark = tuple[int, ...]  # the state of a file when the call began


def own_workspace() -> str:
    """Returns the working directory if it is the cell's own, else "": another directory has files of other calls. On floors
    without mounts the cell's own directory is HOME and TMPDIR as well."""
    here = os.getcwd()
    is_own = here == _WORKSPACE or here == os.environ.get("HOME") == os.environ.get("TMPDIR")
    return here if is_own else ""


def mark_of(path: str) -> Mark:
    info = os.lstat(path)
    return (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def is_utf8(text: str) -> bool:
    try:
        text.encode()
        return True
    except UnicodeEncodeError:
        return False


def _is_private(path: str) -> bool:
    return any(part.startswith(".") or part in ("__pycache__", "node_modules") for part in path.split(os.sep))


def comes_back(workspace: str, path: str) -> bool:
    """Returns whether run_python gives back a file of that name."""
    below = os.path.relpath(path, workspace)
    return not below.startswith(os.pardir) and not _is_private(below) and below.count(os.sep) < _MOST_DEPTH


def image_type(head: bytes) -> Optional[str]:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def _type_of(path: str, data: bytes) -> str:
    """Returns the MIME type by the content of the file, or else by its name."""
    named = mimetypes.types_map.get(os.path.splitext(path)[1].lower())
    found = image_type(data) or named
    if found:
        return found
    try:
        data.decode()
        return "text/plain"
    except UnicodeDecodeError as error:
        # A text that was cut within a character is a text.
        is_cut = error.start >= len(data) - 3 and len(data) == _HEAD
        return "text/plain" if is_cut else "application/octet-stream"


_HEAD = 4096


def _read(path: str, most: int) -> bytes:
    """Reads a file. Waits for nothing and follows no link, even if another file has that name by now. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        return file.read(most)


class LeftFiles:
    """Reads the files of the workspace when it is made. Leaves out those that are as they were given."""

    def __init__(self, workspace: str, given: dict[str, Mark], budget: Budget) -> None:
        self._workspace, self._given, self._budget = workspace, given, budget
        self._images: list[dict[str, Any]] = []
        self._files: list[dict[str, Any]] = []
        self._unreadable = self._too_many = self._unnamed = 0
        self._saw_all = True
        for name, path in sorted(self._regular_files()):
            if not self._is_as_given(name, path):
                try:
                    self._add(name, path)
                except OSError:
                    self._unreadable += not _is_private(name)

    def answer(self) -> dict[str, Any]:
        """Returns {"images": [{"path", "mime_type", "data"}], "files": [{"path", "mime_type", "size", "data"}],
        "files_left_out": number, "files_left_out_why": [sentence]} without the members that would be empty. A file
        whose data does not fit has "why" in the place of "data"."""
        answer: dict[str, Any] = {}
        if self._images:
            answer["images"] = self._images
        if self._files:
            answer["files"] = self._files
        why = []
        if self._too_many:
            why.append(f"{self._too_many}: there are more than {_MOST_FILES} files")
        if self._unreadable:
            why.append(f"{self._unreadable}: the file can't be read")
        if self._unnamed:
            why.append(f"{self._unnamed}: the name is not UTF-8")
        if not self._saw_all:
            why.append(f"brig looked only at the first {_MOST_SEEN} names")
        left_out = self._too_many + self._unreadable + self._unnamed
        if left_out:
            answer["files_left_out"] = left_out
        if why:
            answer["files_left_out_why"] = why
        return answer

    def _regular_files(self) -> Iterator[tuple[str, str]]:
        """Yields the path of each file below the workspace, and its whole path. The code may have changed the directory and
        left anything: no link is followed, no other file system is entered, and an unreadable directory is no error."""
        seen = 0
        for folder, folders, names in os.walk(self._workspace, onerror=self._on_error):
            below = os.path.relpath(folder, self._workspace)
            folders[:] = sorted(each for each in folders if not os.path.ismount(os.path.join(folder, each)))
            if below.count(os.sep) + 1 >= _MOST_DEPTH:
                folders.clear()
            for name in names:
                seen += 1
                if seen > _MOST_SEEN:
                    self._saw_all = False
                    return
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    yield os.path.normpath(os.path.join(below, name)), path

    def _on_error(self, error: OSError) -> None:
        below = os.path.relpath(str(error.filename), self._workspace)
        self._unreadable += not _is_private(below)

    def _is_as_given(self, name: str, path: str) -> bool:
        try:
            return name in self._given and self._given[name] == mark_of(path)
        except OSError:
            return True

    def _add(self, name: str, path: str) -> None:
        """Adds a file. Raises OSError if it can't be read."""
        size = os.lstat(path).st_size
        head = _read(path, _HEAD)
        kind = _type_of(name, head)
        if not is_utf8(name):
            self._unnamed += not _is_private(name)
            return
        is_image = image_type(head) is not None
        if is_image and len(self._images) < _MOST_IMAGES and size <= _LARGEST_IMAGE and size <= self._budget.left:
            data = _read(path, size)
            self._budget.take(len(data))
            self._images.append({"path": name, "mime_type": kind, "data": base64.b64encode(data).decode()})
            return
        if _is_private(name):
            return
        if len(self._files) == _MOST_FILES:
            self._too_many += 1
            return
        entry: dict[str, Any] = {"path": name, "mime_type": kind, "size": size}
        if size <= self._budget.left:
            data = _read(path, size)
            self._budget.take(len(data))
            entry.update(size=len(data), data=base64.b64encode(data).decode())
        else:
            entry["why"] = f"it is too large: only {self._budget.left} bytes are left for files"
        self._files.append(entry)

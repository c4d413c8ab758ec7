"""Collects the files that code has left in its cell's own directory, for run_python to give back.
Runs in the cell; the host checks the limits again."""

from __future__ import annotations

import base64
import mimetypes
import os
from typing import Any, Callable, Iterator, NamedTuple, Optional

from brig._budget import Budget

_WORKSPACE = "/workspace"
_MOST_FILES = 16
_MOST_IMAGES = 8
_LARGEST_IMAGE = 4 << 20
LARGEST_READ = 8 << 20  # as a server gives it back
_MOST_SEEN = 2000
_MOST_DEPTH = 32
# Bytes and pixels of an image that a model is shown; as in mcp_content.cc.
LARGEST_SHOWN, MOST_SIDE = 1 << 20, 8000
IMAGE_HEAD = 1 << 16  # bytes: the width and height stand there, but in some photographs
Mark = tuple[int, ...]  # the state of a file when the call began


def own_workspace() -> str:
    """Returns the working directory if it is the cell's own, else "": another directory has files
    of other calls. On floors without mounts the cell's own directory is HOME and TMPDIR as well."""
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
    return any(
        part.startswith(".") or part in ("__pycache__", "node_modules")
        for part in path.split(os.sep)
    )


def comes_back(workspace: str, path: str) -> bool:
    """Returns whether run_python gives back a file of that name."""
    below = os.path.relpath(path, workspace)
    if below.startswith(os.pardir) or _is_private(below):
        return False
    return below.count(os.sep) < _MOST_DEPTH


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


def image_size(head: bytes) -> tuple[int, int]:
    """Returns the width and height of a PNG or JPEG in pixels, or (0, 0) if it is another image or
    they are not found."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    at = 2 if head.startswith(b"\xff\xd8") else len(head)
    while at + 9 <= len(head) and head[at] == 0xFF:
        mark, length = head[at + 1], int.from_bytes(head[at + 2 : at + 4], "big")
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(head[at + 7 : at + 9], "big"), int.from_bytes(
                head[at + 5 : at + 7], "big"
            )
        at += 1 if mark == 0xFF else 2 + length
    return 0, 0


def is_large(taken: int, size: tuple[int, int]) -> bool:
    """Returns whether an image of `taken` bytes is too large for a model: MCP links it."""
    return taken > LARGEST_SHOWN or max(size) > MOST_SIDE


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


def read_file(path: str, most: int) -> bytes:
    """Reads a file. Waits for nothing and follows no link, even if another file has that name by
    now. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        return file.read(most)


def _regular_files(
    workspace: str,
    on_error: Optional[Callable[[OSError], None]] = None,
    on_more: Callable[[], None] = lambda: None,
) -> Iterator[tuple[str, str]]:
    """Yields the path of each file below the workspace, and its whole path. The code may have
    changed the directory and left anything: no link is followed, no other file system is entered,
    and an unreadable directory is no error. `on_more`: there are too many names to look at."""
    seen = 0
    for folder, folders, names in os.walk(workspace, onerror=on_error):
        below = os.path.relpath(folder, workspace)
        folders[:] = sorted(
            each for each in folders if not os.path.ismount(os.path.join(folder, each))
        )
        if below.count(os.sep) + 1 >= _MOST_DEPTH:
            folders.clear()
        for name in names:
            seen += 1
            if seen > _MOST_SEEN:
                on_more()
                return
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.normpath(os.path.join(below, name)), path


def _is_as_given(given: dict[str, Mark], name: str, path: str) -> bool:
    try:
        return name in given and given[name] == mark_of(path)
    except OSError:
        return True


class Image(NamedTuple):
    path: str
    name: str  # below the workspace
    mime_type: str
    size: tuple[int, int]


def large_images(workspace: str, given: dict[str, Mark]) -> Iterator[Image]:
    """Yields the PNGs and JPEGs that come back from the workspace, but are too large to be shown to
    a model."""
    for name, path in sorted(_regular_files(workspace)):
        if _is_private(name) or not is_utf8(name) or _is_as_given(given, name, path):
            continue
        try:
            kind, taken = image_type(read_file(path, 16)), os.lstat(path).st_size
            size = image_size(
                read_file(path, IMAGE_HEAD)
            ) if kind and taken <= LARGEST_READ else (0, 0)
        except OSError:
            continue
        if kind and size != (0, 0) and is_large(taken, size):
            yield Image(path, name, kind, size)


class LeftFiles:
    """Reads the files of the workspace when it is made. Leaves out those that are as they were
    given."""

    def __init__(self, workspace: str, given: dict[str, Mark], budget: Budget) -> None:
        self._workspace, self._budget = workspace, budget
        self._images: list[dict[str, Any]] = []
        self._files: list[dict[str, Any]] = []
        self._unreadable = self._too_many = self._unnamed = 0
        self._saw_all = True
        for name, path in sorted(_regular_files(workspace, self._on_error, self._on_more)):
            if not _is_as_given(given, name, path):
                try:
                    self._add(name, path)
                except OSError:
                    self._unreadable += not _is_private(name)

    def answer(self) -> dict[str, Any]:
        """Returns {"images": [{"path", "mime_type", "data"}], "files": [{"path", "mime_type",
        "size", "data"}], "files_left_out": number, "files_left_out_why": [sentence]} without the
        members that would be empty. A file whose data does not fit has "why" in the place of
        "data"."""
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

    def _on_error(self, error: OSError) -> None:
        below = os.path.relpath(str(error.filename), self._workspace)
        self._unreadable += not _is_private(below)

    def _on_more(self) -> None:
        self._saw_all = False

    def _add(self, name: str, path: str) -> None:
        """Adds a file. Raises OSError if it can't be read."""
        size = os.lstat(path).st_size
        head = read_file(path, _HEAD)
        kind = _type_of(name, head)
        if not is_utf8(name):
            self._unnamed += not _is_private(name)
            return
        is_image = image_type(head) is not None
        largest = min(_LARGEST_IMAGE, self._budget.left)
        if is_image and len(self._images) < _MOST_IMAGES and size <= largest:
            data = read_file(path, size)
            self._budget.take(len(data))
            self._images.append(
                {"path": name, "mime_type": kind, "data": base64.b64encode(data).decode()}
            )
            return
        if _is_private(name):
            return
        if len(self._files) == _MOST_FILES:
            self._too_many += 1
            return
        entry: dict[str, Any] = {"path": name, "mime_type": kind, "size": size}
        if size <= self._budget.left:
            data = read_file(path, size)
            self._budget.take(len(data))
            entry.update(size=len(data), data=base64.b64encode(data).decode())
        else:
            entry["why"] = f"it is too large: only {self._budget.left} bytes are left for files"
        self._files.append(entry)

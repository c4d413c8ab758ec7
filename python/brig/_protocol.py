"""What a cell and its host agree on. C++ headers hold the same values; tests/test_constants.py
compares them."""

from __future__ import annotations

import struct

# src/helper/helper.h, RuntimeFd: the descriptors of an interpreter that starts in the jail.
CATALOG, IMAGE, FILES = 5, 6, 7

# src/cell/answer.h: frames.
PROGRESS, RESULT, ERROR = 1, 2, 3
_HEADER = struct.Struct("=II")  # kind and size
MAX_PROGRESS = 4096 - _HEADER.size  # payload
MAX_ERROR = 64 * 1024 - _HEADER.size  # payload, so that the frame fits into a pipe
MAX_CATALOG = 16 * 1024 * 1024  # frame


def header(kind: int, size: int) -> bytes:
    return _HEADER.pack(kind, size)


def frame(kind: int, payload: bytes) -> bytes:
    return header(kind, len(payload)) + payload


def progress_frame(fraction: float, text: bytes) -> bytes:
    """`text` is UTF-8. What does not fit is cut off, at the end of a character."""
    text = text[: MAX_PROGRESS - 8].decode("utf-8", "ignore").encode()
    return frame(PROGRESS, struct.pack("=d", fraction) + text)


def catalog_has_room(payload: bytes) -> bool:
    return len(payload) + _HEADER.size <= MAX_CATALOG

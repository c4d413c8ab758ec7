"""What an interpreter says to the host: frames on the catalog's descriptor, or on that of a call."""

from __future__ import annotations

import json
import os
from typing import Optional

from brig._protocol import CATALOG, ERROR, MAX_ERROR, frame, header

_PIPE, _LARGE_PIPE, _F_SETPIPE_SZ = 64 * 1024, 1 << 20, 1031
_MAX_TEXT = 16 * 1024


def text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return f"<a {type(error).__name__} that can't be printed>"


def trimmed_traceback(error: BaseException) -> str:
    """The traceback from the tool's own first line on."""
    import traceback

    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__", "").startswith(("brig._", "importlib.")):
        frames = frames.tb_next
    try:
        lines = traceback.format_exception(type(error), error, frames)
    except Exception:  # one that can't be printed
        lines = ["Traceback (most recent call last):\n", *traceback.format_tb(frames), text_of(error)]
    text = "".join(line for line in lines if "brig/_cell.py" not in line).rstrip()
    return text if len(text) <= _MAX_TEXT else "...\n" + text[-_MAX_TEXT:]


def tell(kind: int, text: str) -> None:
    os.pwrite(CATALOG, frame(kind, text.encode("utf-8", "backslashreplace")[:MAX_ERROR]), 0)


def error_answer(kind: str, message: str, error: Optional[BaseException]) -> tuple[int, bytes]:
    told = {"type": kind, "message": message[:_MAX_TEXT]}
    if error is not None:
        told["traceback"] = trimmed_traceback(error)
    text = json.dumps(told, ensure_ascii=True).encode()
    if len(text) > MAX_ERROR:  # of what is not ASCII, six bytes each
        told = {key: value[-2000:] for key, value in told.items()}
        text = json.dumps(told).encode()
    return ERROR, text


def send(answer: int, kind: int, payload: bytes) -> None:
    if len(payload) > _PIPE:
        import fcntl

        try:
            fcntl.fcntl(answer, _F_SETPIPE_SZ, _LARGE_PIPE)
        except OSError:
            pass
    head = header(kind, len(payload))
    if len(payload) <= _PIPE:
        head, payload = head + payload, b""
        sent = os.write(answer, head)
        if sent == len(head):
            return  # as nearly always: it has touched little
        head = head[sent:]
    for each in (head, payload):
        rest = memoryview(each)
        while rest:
            rest = rest[os.write(answer, rest) :]

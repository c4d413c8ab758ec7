"""Sends frames to the host: from a zygote to the catalog, from a cell to the descriptor of its
call."""

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
    """Returns the traceback from the tool's own first line on."""
    import traceback

    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__", "").startswith(
        ("brig._", "importlib.")
    ):
        frames = frames.tb_next
    try:
        lines = traceback.format_exception(type(error), error, frames)
    except Exception:  # the exception can't be printed
        lines = [
            "Traceback (most recent call last):\n", *traceback.format_tb(frames), text_of(error)
        ]
    text = "".join(line for line in lines if "brig/_cell.py" not in line).rstrip()
    return text if len(text) <= _MAX_TEXT else "...\n" + text[-_MAX_TEXT:]


def tell(kind: int, text: str) -> None:
    os.pwrite(CATALOG, frame(kind, text.encode("utf-8", "backslashreplace")[:MAX_ERROR]), 0)


def error_answer(kind: str, message: str, error: Optional[BaseException]) -> tuple[int, bytes]:
    described = {"type": kind, "message": message[:_MAX_TEXT]}
    if error is not None:
        described["traceback"] = trimmed_traceback(error)
    text = json.dumps(described, ensure_ascii=True).encode()
    if len(text) > MAX_ERROR:  # a character that is not ASCII takes six bytes
        described = {key: value[-2000:] for key, value in described.items()}
        text = json.dumps(described).encode()
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
            return  # nearly always: this touches little memory
        head = head[sent:]
    for each in (head, payload):
        rest = memoryview(each)
        while rest:
            rest = rest[os.write(answer, rest) :]

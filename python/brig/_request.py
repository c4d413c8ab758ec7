"""Request: a call in the form that the library takes."""

from __future__ import annotations

import secrets
from json.encoder import encode_basestring_ascii as _quoted  # type: ignore[attr-defined]
from typing import Any

from brig._native import Blob, blob_of
from brig._values import dumps

LARGE = 64 * 1024  # the request holds only the size of a string that is longer
# Stands for such a string until the text is made; no argument can hold it, since it is random.
_TOKEN = secrets.token_hex(8)

_NO_BLOBS: Any = (Blob * 0)()


class Request:
    """A call as brig_c_sandbox_call() takes it. Long strings are passed beside the text, without a
    copy."""

    def __init__(self, tool: str, arguments: Any, call_id: str, caller: str) -> None:
        self._kept: list[Any] = []
        head = f'{{"tool":{_quoted(tool)},"call_id":{_quoted(call_id)},"caller":{_quoted(caller)}'
        text = head.encode()
        if arguments != {}:
            text += b',"arguments":' + dumps(self._lift(arguments, 0), subject="the request")
        text += b"}"
        if not self._kept:
            self.text, self.blobs, self.size = text, _NO_BLOBS, len(text)
            return
        blobs = []
        for i, value in enumerate(self._kept):
            blob = blob_of(value)
            text = text.replace(f"{_TOKEN}:{i}:".encode(), b"\x01%d\x01" % blob.size)
            blobs.append(blob)
        self.text = text
        self.blobs = (Blob * len(blobs))(*blobs)
        self.size = len(text) + sum(blob.size for blob in blobs)

    def _lift(self, value: Any, depth: int) -> Any:
        if isinstance(value, (str, bytes)):
            if len(value) < LARGE:
                return value
            self._kept.append(value)
            return f"{_TOKEN}:{len(self._kept) - 1}:"
        if isinstance(value, (bytearray, memoryview)):
            return self._lift(bytes(value), depth)
        if depth < 64 and type(value) is dict:
            return {key: self._lift(each, depth + 1) for key, each in value.items()}
        if depth < 64 and type(value) in (list, tuple):
            return [self._lift(each, depth + 1) for each in value]
        return value

    def arguments(self) -> tuple[Any, ...]:
        return self.text, len(self.text), self.blobs, len(self.blobs)

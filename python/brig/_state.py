"""Says whether this process is a host, an interpreter that loads tools, or a cell."""

from __future__ import annotations

import os

from brig._errors import UnsupportedError
from brig._protocol import progress_frame


class StopLoading(BaseException):
    """Raised in a script that is loaded for its functions, at the first line that would use
    them."""


class State:
    inside = False  # this process is in a jail, and no host
    loading = False  # this process is a zygote that imports tools
    answer = -1  # in a cell: the descriptor for frames


state = State()


class HostOnly:
    """In a jail this stands in for what only a host can use."""

    def __init__(self, *_: object, **__: object) -> None:
        if state.loading:
            raise StopLoading()
        raise UnsupportedError(
            f"brig.{type(self).__name__} can't be used inside of a cell: return the result to the "
            "host, which can use it"
        )


def progress(fraction: float, message: str = "") -> None:
    """Shows the watchers of this call how far it is: a fraction from 0 to 1, and a message. Does
    nothing outside of a cell."""
    if state.answer < 0:
        return
    # One atomic write: several threads of a tool may call this at once.
    os.write(state.answer, progress_frame(fraction, str(message).encode("utf-8", "replace")))

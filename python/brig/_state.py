"""Where this process stands: a host, an interpreter that loads tools, or a cell."""

from __future__ import annotations

import os

from brig._errors import UnsupportedError
from brig._protocol import progress_frame


class StopLoading(BaseException):
    """A script that is being loaded for its functions has come to where it would use them."""


class State:
    inside = False  # of a jail: no host
    loading = False  # in a zygote, which imports tools
    answer = -1  # in a cell: where to say something


state = State()


class HostOnly:
    """In a jail, in the place of what only a host can use."""

    def __init__(self, *_: object, **__: object) -> None:
        if state.loading:
            raise StopLoading()
        raise UnsupportedError(f"brig.{type(self).__name__} can't be used inside of a cell")


def progress(fraction: float, message: str = "") -> None:
    """Tells the watchers of this call how far it is: 0 to 1, and perhaps a word. Outside of a cell: nothing."""
    if state.answer < 0:
        return
    # One atomic write: threads of a tool may tell it at once.
    os.write(state.answer, progress_frame(fraction, str(message).encode("utf-8", "replace")))

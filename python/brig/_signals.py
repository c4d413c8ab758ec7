"""Ctrl-C while the library waits."""

from __future__ import annotations

import threading
from typing import Any, Iterator, Optional

from brig._native import Interrupted


class Signals:
    """Python's signal handlers run when the interpreter is back in charge. So that Ctrl-C ends a call, it is for
    a moment whenever a signal interrupts one, in the main thread."""

    def __init__(self) -> None:
        self._raised: Optional[BaseException] = None
        # A generator's: a handler that raises does so where it was left off, and not in the entrance of a
        # function, before any `try`, where ctypes would swallow it.
        watching = self._watch()
        next(watching)
        self._check = Interrupted(watching.__next__)
        self._nobody = Interrupted(0)

    def _watch(self) -> Iterator[int]:
        while True:
            try:
                yield int(self._raised is not None)
            except GeneratorExit:
                return
            except BaseException as raised:
                self._raised = raised

    def asked_here(self) -> Any:
        """What the library is to ask on this thread: handlers run in the main one alone."""
        return self._check if threading.current_thread() is threading.main_thread() else self._nobody

    def throw(self, asked: Any) -> None:
        """Raises what a handler has raised meanwhile, if that was asked for."""
        if asked is self._check and self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised


signals = Signals()

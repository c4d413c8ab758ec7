"""Lets Ctrl-C end a call while the library waits for it."""

from __future__ import annotations

import threading
from typing import Any, Iterator, Optional

from brig._native import Interrupted


class Signals:
    """Runs Python's signal handlers while a call waits in the main thread.

    Python runs them only when the interpreter has control. So the library calls the interpreter for
    a moment whenever a signal interrupts the wait."""

    def __init__(self) -> None:
        self._raised: Optional[BaseException] = None
        # This is a generator: a handler that raises does so at its `yield`, inside the `try`. In a
        # function it would raise before any `try`, where ctypes would swallow the exception.
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
        """Returns the function that the library is to call on this thread. Handlers run in the main
        thread alone."""
        if threading.current_thread() is threading.main_thread():
            return self._check
        return self._nobody

    def throw(self, asked: Any) -> None:
        """Raises what a handler has raised meanwhile, if `asked` is the function that runs
        handlers."""
        if asked is self._check and self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised


signals = Signals()

"""Drop-ins for three sandboxes that others wrote: change the import, keep the rest.

``brig.compat.jeeves`` stands for JeevesAgent's ``SubprocessSandbox``, ``brig.compat.calute`` for
Calute's ``SubprocessSandboxBackend``, ``brig.compat.openjarvis`` for OpenJarvis' ``run_sandboxed``.
Names, arguments, defaults and messages are theirs; the isolation is brig's. Who starts afresh is
better served by :class:`brig.Sandbox` and :func:`brig.run`.
"""

from __future__ import annotations

import functools
import itertools
import re
import threading
from typing import Any, Callable, Dict, Optional

import brig
from brig._errors import ConfigError
from brig._state import state

LONGEST = 86_400.0  # seconds; brig has no longer timeout

_numbers = itertools.count(1)


def require_host() -> None:
    """Stop a script here that is loaded for its functions; and refuse to make cells in a cell."""
    if state.inside:
        brig.Sandbox()  # raises either


def typed_tool(function: Callable[..., Any], name: str = "") -> brig.Tool:
    """A tool that takes whatever the function takes, under a name that no other has."""
    readable = re.sub(r"\W", "_", name or getattr(function, "__name__", "function"), flags=re.ASCII)
    return brig.Tool(function, name=f"{readable[:40]}_{next(_numbers)}", typed=True)


class NotCarried(ConfigError):
    """A function can be neither imported in a cell nor sent there."""


class _Generation:
    """A sandbox, and how each of its functions was sent there."""

    def __init__(self, sandbox: brig.Sandbox) -> None:
        self.sandbox = sandbox
        self.sent: Dict[str, Dict[str, Any]] = {}


class FunctionSandbox:
    """A sandbox into which functions are loaded when they are first called. Thread-safe.

    Who loads more than `capacity` of them starts afresh. A sandbox that is no longer used ends with
    the last call in it.
    """

    def __init__(self, capacity: int, **options: Any) -> None:
        self._capacity = capacity
        # Wide where the seeds have no limit at all: what they could do should still be possible.
        self._options: Dict[str, Any] = {
            "concurrency": 40,
            "processes": 256,
            "result": "128M",
            **options,
        }
        self._loading = threading.Lock()
        self._current: Optional[_Generation] = None
        self._remembered = functools.lru_cache(capacity)(typed_tool)

    def tool_of(self, function: Callable[..., Any]) -> brig.Tool:
        """The same one for the same function, so that it is loaded once."""
        try:
            return self._remembered(function)
        except TypeError:  # it can't be hashed, so not be remembered
            return typed_tool(function)

    def ready(self, tool: brig.Tool) -> Optional[brig.Sandbox]:
        """The sandbox that has it, if that can be told without waiting."""
        current = self._current
        where = current.sent.get(tool.name, {}) if current else {}
        # What is imported stays as it is. What is sent by value may have changed meanwhile.
        return current.sandbox if current and "qualname" in where else None

    def load(self, tool: brig.Tool) -> brig.Sandbox:
        """The sandbox that has it, as it is now. Raises brig.Error if it can't be had there."""
        from brig._spec import where_found

        with self._loading:
            try:
                where = where_found(tool, True)
            except ConfigError as error:
                raise NotCarried(str(error)) from error
            if self._current is None or not self._has(self._current, tool, where):
                self._current = _Generation(brig.Sandbox([tool], **self._options))
            self._current.sent[tool.name] = where
            return self._current.sandbox

    def _has(self, current: _Generation, tool: brig.Tool, where: Dict[str, Any]) -> bool:
        try:
            if tool.name not in current.sent:
                if len(current.sent) == self._capacity:
                    return False
                current.sandbox.add(tool)
            elif current.sent[tool.name] != where:
                current.sandbox.replace(tool)
            return True
        except brig.Error:
            return False  # it may be another's fault: alone it gets a reason of its own

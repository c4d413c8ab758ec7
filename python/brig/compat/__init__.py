"""Drop-ins for three sandboxes that others wrote: change the import, keep the rest.

``brig.compat.jeeves`` stands for JeevesAgent's ``SubprocessSandbox``, ``brig.compat.calute`` for
Calute's ``SubprocessSandboxBackend``, ``brig.compat.openjarvis`` for OpenJarvis' ``run_sandboxed``.
Names, arguments, defaults and messages are theirs; the isolation is brig's. New programs are better
served by :class:`brig.Sandbox` and :func:`brig.run`.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import threading
import weakref
from typing import Any, Callable, Dict, Mapping, Optional

import brig
from brig._errors import ConfigError
from brig._state import state
from brig._values import Packed

LONGEST = 86_400.0  # seconds; brig has no longer timeout

_numbers = itertools.count(1)


def require_host() -> None:
    """Stop a script here if brig loads it for its functions. Refuse to make cells in a cell."""
    if state.inside:
        brig.Sandbox()  # raises either


def typed_tool(
    function: Callable[..., Any], name: str = "", relays_exit: bool = False
) -> brig.Tool:
    """Return a tool that takes whatever the function takes, under a name that no other tool has."""
    readable = re.sub(r"\W", "_", name or getattr(function, "__name__", "function"), flags=re.ASCII)
    made = brig.Tool(function, name=f"{readable[:40]}_{next(_numbers)}", typed=True)
    made.relays_exit = relays_exit
    return made


def seconds_of(timeout: Optional[float]) -> float:
    """Return a timeout as brig takes it: None and infinity mean its longest. Raises ConfigError."""
    if timeout is None:
        return LONGEST
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout != timeout:
        raise ConfigError(f"the timeout must be a number of seconds, not {timeout!r}")
    return min(float(timeout), LONGEST) if timeout < LONGEST else LONGEST


def with_policy(policy: Optional[Mapping[str, Any]], **own: Any) -> Dict[str, Any]:
    """Return the keywords for brig.Sandbox: a drop-in's `own`, and what the user's policy adds.

    Files and variables come from both. Network, processes and result come from the policy if it has
    them. Timeout, memory and working directory come from the drop-in, which has arguments for them.
    """
    if policy is None:
        return own
    if not isinstance(policy, Mapping):
        raise ConfigError("policy: expected a mapping, as brig.Sandbox takes it")
    limits = {**_table(policy, "limits"), **policy}
    both = ("read", "write", "read_optional", "write_optional", "noexec", "protect")
    for table, key in (*(("files", key) for key in both), ("environment", "passthrough")):
        listed = [*(_table(policy, table).get(key) or ()), *(own.pop(key, None) or ())]
        if listed:
            own[key] = listed
    variables = _table(policy, "environment").get("set")
    if isinstance(variables, Mapping):
        own["environment"] = {**variables, **(own.get("environment") or {})}
    for key in ("network", "processes", "result"):
        if key in limits:
            own.pop(key, None)
    return {"policy": policy, **own}


def _table(policy: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = policy.get(name)
    return found if isinstance(found, Mapping) else {}  # brig.Sandbox reports a wrong one


_inheritable: "weakref.WeakSet[Any]" = weakref.WeakSet()


def renewed_by_fork(item: Any) -> None:
    """Have ``item.renew()`` called in a child of a fork, where its locks and sandboxes are of no
    use."""
    _inheritable.add(item)


def _renew_all() -> None:
    for item in list(_inheritable):
        item.renew()


if not state.inside:
    os.register_at_fork(after_in_child=_renew_all)


class NotCarried(ConfigError):
    """A function can neither be imported in a cell nor sent there."""


class _Generation:
    """A sandbox, and how each of its functions was sent there."""

    def __init__(self, sandbox: brig.Sandbox) -> None:
        self.sandbox = sandbox
        self.sent: Dict[str, Dict[str, Any]] = {}


class FunctionSandbox:
    """A sandbox into which functions are loaded when they are first called. Thread-safe.

    When more than `capacity` of them have been loaded it starts afresh. A sandbox that is no longer
    used ends with the last call in it. A child of a fork gets a sandbox of its own.
    """

    def __init__(
        self,
        capacity: int,
        policy: Optional[Mapping[str, Any]] = None,
        relays_exit: bool = False,
        **options: Any,
    ) -> None:
        self._capacity = capacity
        # Wide where the seeds have no limit at all: what they could do should still be possible.
        wide = {"concurrency": 40, "processes": 256, "result": "128M"}
        self._options = with_policy(policy, **{**wide, **options})
        # Neither of them refers to this object, so the sandbox ends with its last use.
        self._tool_of = functools.partial(typed_tool, relays_exit=relays_exit)
        self._remembered = functools.lru_cache(capacity)(self._tool_of)
        self.renew()
        renewed_by_fork(self)

    def renew(self) -> None:
        self._loading = threading.Lock()
        self._current: Optional[_Generation] = None

    def tool_of(self, function: Callable[..., Any]) -> brig.Tool:
        """Return the same tool for the same function, so that it is loaded once."""
        try:
            return self._remembered(function)
        except TypeError:  # a function that can't be hashed is not remembered
            return self._tool_of(function)

    def ready(self, tool: brig.Tool, arguments: Packed) -> Optional[brig.Sandbox]:
        """Return the sandbox that has the tool, or None if finding that out takes time."""
        current = self._current
        where = current.sent.get(tool.name, {}) if current else {}
        # An imported function stays as it is. One that was sent by value may have changed since.
        known = "qualname" in where and arguments.modules.issubset(where["needs"])
        return current.sandbox if current and known else None

    def load(self, tool: brig.Tool, arguments: Packed) -> brig.Sandbox:
        """Return a sandbox that has the tool as it is now.

        Raises brig.Error if it can't be loaded.
        """
        from brig._spec import where_found

        with self._loading:
            try:
                where = where_found(tool, True)
            except ConfigError as error:
                raise NotCarried(str(error)) from error
            tool.needs |= arguments.modules
            where["needs"] = sorted(tool.needs)
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
            return False  # another tool may be the cause: alone this one gets its own reason

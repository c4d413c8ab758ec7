"""The tools and the sandboxes of JeevesAgent (now LoomFlow), on brig's cells.

Change the imports from ``jeevesagent`` or ``loomflow`` to ``brig.compat.jeeves``, all of them or
only that of ``SubprocessSandbox``. Where the framework is loaded, its own tools, hosts, results and
errors are what these names give. What differs, because it was broken there:

* A tool runs in a jail: no network, none of your files, variables or processes, 512 MiB. `policy`
  gives it more, as :class:`brig.Sandbox` takes it.
* A result is data and never unpickled here, so it can't run code in the agent. It may be any
  nesting of what JSON has, bytes, tuples, sets, dates and Decimals; a dataclass comes as a dict.
* ``@tool`` functions, lambdas and closures can be called, and big results arrive.
* What a tool prints does not reach the agent's stdout; what it started is gone when it has ended.
* The first call of a tool starts an interpreter; later ones take one that is ready.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any, AsyncIterator, List, Mapping, Optional

import brig
from brig._values import pack_arguments
from brig.compat import FunctionSandbox, NotCarried, _jeeves_tools, _jeeves_types, require_host
from brig.compat import seconds_of as _seconds_of
from brig.compat._jeeves_files import FilesystemSandbox, NoSandbox
from brig.compat._jeeves_types import JEEVES, results_for

if TYPE_CHECKING:
    from brig.compat._jeeves_tools import InProcessToolHost, Tool, ToolCallable, tool
    from brig.compat._jeeves_types import (
        ConfigError,
        JeevesAgentError,
        LoomError,
        SandboxError,
        ToolCall,
        ToolDef,
        ToolError,
        ToolEvent,
        ToolHost,
        ToolResult,
    )

__all__ = [
    "ConfigError",
    "FilesystemSandbox",
    "InProcessToolHost",
    "JeevesAgentError",
    "LoomError",
    "NoSandbox",
    "SandboxError",
    "SubprocessSandbox",
    "Tool",
    "ToolCall",
    "ToolCallable",
    "ToolDef",
    "ToolError",
    "ToolEvent",
    "ToolHost",
    "ToolResult",
    "tool",
]

_WARM_TOOLS = 128


def __getattr__(name: str) -> Any:
    """Return the framework's own object where it is loaded, else the one that stands in for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("JeevesAgentError", "LoomError"):  # of each framework one
        both = JEEVES.all("JeevesAgentError") + JEEVES.all("LoomError")
        return both[0] if both else _jeeves_types.JeevesAgentError
    home = _jeeves_types if hasattr(_jeeves_types, name) else _jeeves_tools
    return JEEVES.own(name, getattr(home, name))


class SubprocessSandbox:
    """A host whose tools run in cells, each call in one of its own. Thread-safe.

    It runs under asyncio and under trio. A call never raises: its result holds the error.
    """

    def __init__(
        self,
        inner: ToolHost,
        *,
        timeout_seconds: float = 30.0,
        policy: Optional[Mapping[str, Any]] = None,
    ) -> None:
        if timeout_seconds <= 0:
            raise ValueError("timeout_seconds must be positive")
        if not any(kind.__name__ == "InProcessToolHost" for kind in type(inner).__mro__):
            raise JEEVES.joined(_jeeves_types.ConfigError)(
                "SubprocessSandbox wraps InProcessToolHost only "
                "(it needs access to the registered Tool.fn callable). "
                f"Got {type(inner).__name__}."
            )
        self._inner: Any = inner
        self._timeout = timeout_seconds
        self._functions = FunctionSandbox(
            _WARM_TOOLS,
            copy.deepcopy(policy),
            relays_exit=True,
            timeout=_seconds_of(timeout_seconds),
        )

    @property
    def inner(self) -> ToolHost:
        host: ToolHost = self._inner
        return host

    @property
    def timeout_seconds(self) -> float:
        return self._timeout

    async def list_tools(self, *, query: Optional[str] = None) -> List[ToolDef]:
        listed: List[ToolDef] = await self._inner.list_tools(query=query)
        return listed

    async def call(self, tool: str, args: Mapping[str, Any], *, call_id: str = "") -> ToolResult:
        """Call a tool that the host has now. Cancelling the task ends the call at once."""
        require_host()
        made: ToolResult = await self._call(results_for(self._inner), tool, args, call_id)
        return made

    async def watch(self) -> AsyncIterator[ToolEvent]:
        async for event in self._inner.watch():
            yield event

    async def _call(self, results: Any, tool: str, args: Any, call_id: str) -> Any:
        registered = self._inner.get(tool)
        if registered is None:
            return results.error_(call_id, f"unknown tool: {tool}")
        try:
            packed = pack_arguments(_jeeves_tools.coerced(args, registered))
            result = await self._run(registered, packed)
        except NotCarried as error:
            return results.error_(call_id, _not_carried(tool, error))
        except (brig.Error, RuntimeError) as error:
            return results.error_(call_id, f"SubprocessSandbox: {error}")
        except (TypeError, ValueError) as error:
            return results.error_(call_id, _not_carried(tool, error))
        times = {"duration_ms": result.duration_ms, "started_at": result.started_at}
        if result.ok:
            return results.success(call_id, result.output, **times)
        if result.denied:
            return results.denied_(call_id, result.reason or "", **times)
        return results.error_(call_id, self._error(tool, result), **times)

    async def _run(self, registered: Any, arguments: Any) -> brig.ToolResult:
        from brig.compat import _async  # not above: the interpreters of sandboxes need it not

        made = self._functions.tool_of(registered.fn)
        sandbox = self._functions.ready(made, arguments)
        if sandbox is None:
            load = functools.partial(self._functions.load, made, arguments)
            sandbox = await _async.in_thread(load)
        return await _async.call(sandbox, made.name, arguments)

    def _error(self, tool: str, result: brig.ToolResult) -> str:
        report = result.report
        if report.outcome == "timeout":
            return f"SubprocessSandbox: tool exceeded {self._timeout}s"
        if report.outcome == "tool_error" and result.error_type not in (None, "InvalidResult"):
            return f"SubprocessSandbox: tool raised {result.error}"
        if report.outcome == "invalid_arguments":
            return _not_carried(tool, result.error)
        if report.outcome in ("exit", "signal"):
            how = report.signal_name if report.signal else f"exit code {report.exit_code}"
            return f"SubprocessSandbox: subprocess exited without producing a result ({how})"
        return f"SubprocessSandbox: {result.error_message}"


def _not_carried(tool: str, why: object) -> str:
    return (
        f"SubprocessSandbox: tool {tool!r} or its arguments are not picklable ({why}). "
        "Use a module-level function and primitive args."
    )

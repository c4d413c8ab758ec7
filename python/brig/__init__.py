"""brig: every tool call of an agent in a fresh, locked cell.

    import brig

    @brig.tool
    def add(a: int, b: int = 1) -> int:
        '''Adds two integers.'''
        return a + b

    with brig.Sandbox([add], timeout=5.0, memory="256M") as box:
        result = box.call_sync("add", {"a": 2, "b": 3})  # result.ok, result.output == 5

docs/python.md is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Each module is imported when one of its names is first used: the interpreters of sandboxes import
# this package, too, and need little of it.
_HOMES = {
    "ConfigError": "_errors",
    "Error": "_errors",
    "InternalError": "_errors",
    "PermissionError": "_errors",
    "ResourceError": "_errors",
    "UnsupportedError": "_errors",
    "Connection": "_result",
    "Event": "_result",
    "Report": "_result",
    "ToolResult": "_result",
    "Sandbox": "_sandbox",
    "ToolInfo": "_sandbox",
    "Tool": "_tool",
    "tool": "_tool",
    "arun": "_run",
    "build_safe_env": "_run",
    "capabilities": "_run",
    "kill_process_tree": "_run",
    "run": "_run",
    "run_async": "_run",
    "progress": "_state",
}

if TYPE_CHECKING:
    from brig._errors import ConfigError as ConfigError
    from brig._errors import Error as Error
    from brig._errors import InternalError as InternalError
    from brig._errors import PermissionError as PermissionError
    from brig._errors import ResourceError as ResourceError
    from brig._errors import UnsupportedError as UnsupportedError
    from brig._result import Connection as Connection
    from brig._result import Event as Event
    from brig._result import Report as Report
    from brig._result import ToolResult as ToolResult
    from brig._run import arun as arun
    from brig._run import build_safe_env as build_safe_env
    from brig._run import capabilities as capabilities
    from brig._run import kill_process_tree as kill_process_tree
    from brig._run import run as run
    from brig._run import run_async as run_async
    from brig._sandbox import Sandbox as Sandbox
    from brig._sandbox import ToolInfo as ToolInfo
    from brig._state import progress as progress
    from brig._tool import Tool as Tool
    from brig._tool import tool as tool

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'brig' has no attribute {name!r}")
    from importlib import import_module

    from brig import _state

    if _state.state.inside and home in ("_run", "_sandbox"):
        value: Any = type(name, (_state.HostOnly,), {})
    else:
        value = getattr(import_module(f"brig.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

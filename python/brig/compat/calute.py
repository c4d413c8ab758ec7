"""The sandbox of Calute (now Xerxes), its router and its backend registry, on brig's cells.

Change ``from calute.security.sandbox import ...`` and ``from calute.security.sandbox_backends
import ...`` to ``from brig.compat.calute import ...``. What differs, because it was broken there:

* A function runs in a jail: no network unless ``sandbox_network_access``, no file of yours but the
  working directory and ``backend_config.mount_paths``, no variable but ``backend_config.env_vars``.
* ``sandbox_memory_limit_mb`` holds for all of a call's processes together, and counts memory in
  use, not address space.
* A result is data and never unpickled here, so it can't run code in the host. It may be any nesting
  of what JSON has, bytes, tuples, sets, dates and Decimals; a dataclass comes as a dict.
* Whatever a function prints, its result arrives. What it started is gone when it has ended.
* Async functions, lambdas and functions of ``__main__`` can be called.
* Every failure is a RuntimeError. A function that was called before is warm: the first call of one
  starts an interpreter, the next takes well under a millisecond.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Dict, List, Optional, Protocol, Set, Tuple

import brig
from brig.compat import LONGEST, FunctionSandbox, require_host

__all__ = [
    "ExecutionContext",
    "ExecutionDecision",
    "SandboxBackend",
    "SandboxBackendConfig",
    "SandboxConfig",
    "SandboxExecutionUnavailableError",
    "SandboxMode",
    "SandboxRouter",
    "SubprocessSandboxBackend",
    "get_backend",
    "list_backends",
    "register_backend",
]

_log = logging.getLogger(__name__)

_WARM_FUNCTIONS = 32


class SandboxMode(Enum):
    """Whether the router asks for a sandbox: never, only in the log, or for the listed tools."""

    OFF = "off"
    WARN = "warn"
    STRICT = "strict"


class ExecutionContext(Enum):
    """Where a tool is to run."""

    HOST = "host"
    SANDBOX = "sandbox"


@dataclass
class ExecutionDecision:
    """Where a tool is to run, and why."""

    context: ExecutionContext
    tool_name: str
    reason: str


class SandboxExecutionUnavailableError(RuntimeError):
    """A tool must run in a sandbox, and the router has no backend."""

    def __init__(self, tool_name: str) -> None:
        self.tool_name = tool_name
        super().__init__(
            f"Tool '{tool_name}' requires sandbox execution, but no sandbox backend is configured"
        )


@dataclass
class SandboxBackendConfig:
    """What a backend may be told besides the limits.

    `mount_paths` maps a host's path to where it is seen; in a cell that is the same path. `image`
    and `extra_args` are for backends of your own.
    """

    image: str = "python:3.12-slim"
    mount_paths: Dict[str, str] = field(default_factory=dict)
    mount_readonly: bool = True
    env_vars: Dict[str, str] = field(default_factory=dict)
    extra_args: Dict[str, Any] = field(default_factory=dict)


@dataclass
class SandboxConfig:
    """Which tools run in a sandbox, and what they may use there."""

    mode: SandboxMode = SandboxMode.OFF
    sandboxed_tools: Set[str] = field(default_factory=set)
    elevated_tools: Set[str] = field(default_factory=set)
    sandbox_timeout: float = 30.0
    sandbox_memory_limit_mb: int = 512
    sandbox_network_access: bool = False
    working_directory: Optional[str] = None
    backend_type: Optional[str] = None
    backend_config: SandboxBackendConfig = field(default_factory=SandboxBackendConfig)


class SandboxBackend(Protocol):
    """What a router needs of a backend."""

    def execute(
        self, tool_name: str, func: Callable[..., Any], arguments: Dict[str, Any]
    ) -> Any:
        """The result of ``func(**arguments)``. Any failure is a RuntimeError."""

    def is_available(self) -> bool:
        """Whether this machine can run it."""

    def get_capabilities(self) -> Dict[str, Any]:
        """At least "backend", its name, and "available"."""


class SandboxRouter:
    """Decides where tools run, and runs them in its backend. It never falls back to the host."""

    def __init__(
        self, config: Optional[SandboxConfig] = None, backend: Optional[SandboxBackend] = None
    ) -> None:
        self.config = config or SandboxConfig()
        self.backend = backend

    def decide(self, tool_name: str) -> ExecutionDecision:
        context, reason = self._place(tool_name)
        return ExecutionDecision(context=context, tool_name=tool_name, reason=reason)

    def _place(self, tool_name: str) -> Tuple[ExecutionContext, str]:
        if tool_name in self.config.elevated_tools:
            return ExecutionContext.HOST, "Tool is marked as elevated"
        if self.config.mode is SandboxMode.OFF:
            return ExecutionContext.HOST, "Sandbox mode is off"
        if tool_name not in self.config.sandboxed_tools:
            return ExecutionContext.HOST, "Tool not designated for sandbox"
        if self.config.mode is SandboxMode.STRICT:
            return ExecutionContext.SANDBOX, "Strict sandbox enforcement"
        _log.warning("Tool '%s' would run in sandbox (mode=warn, running on host)", tool_name)
        return (
            ExecutionContext.HOST,
            "Warn mode advisory: tool would run in sandbox, executing on host",
        )

    def execute_in_sandbox(
        self, tool_name: str, func: Callable[..., Any], arguments: Dict[str, Any]
    ) -> Any:
        if self.backend is None:
            raise SandboxExecutionUnavailableError(tool_name)
        return self.backend.execute(tool_name, func, arguments)


class SubprocessSandboxBackend:
    """Runs each call of a function in a cell of its own. Thread-safe."""

    def __init__(self, sandbox_config: SandboxConfig) -> None:
        self._config = sandbox_config
        self._changing = threading.Lock()
        self._made_for: Any = None
        self._functions: Optional[FunctionSandbox] = None

    def execute(
        self, tool_name: str, func: Callable[..., Any], arguments: Dict[str, Any]
    ) -> Any:
        """The result of ``func(**arguments)`` in a cell. Whatever goes wrong is a RuntimeError."""
        require_host()
        _log.debug("Subprocess sandbox executing tool %r", tool_name)
        try:
            result = self._call(func, arguments)
        except brig.Error as error:
            raise RuntimeError(f"{_execution_of(tool_name)} failed: {error}") from error
        if not result.ok:
            raise RuntimeError(self._failure(tool_name, result))
        return result.output

    def is_available(self) -> bool:
        """Whether this machine can make a jail."""
        return bool(brig.capabilities()["available"])

    def get_capabilities(self) -> Dict[str, Any]:
        return {
            "backend": "subprocess",
            "available": self.is_available(),
            "isolation_level": "jail",
            "filesystem_isolation": True,
            "network_isolation": not self._config.sandbox_network_access,
            "memory_limit_mb": self._config.sandbox_memory_limit_mb,
            "timeout": self._config.sandbox_timeout,
        }

    def _call(self, func: Callable[..., Any], arguments: Dict[str, Any]) -> brig.ToolResult:
        functions = self._current()
        tool = functions.tool_of(func)
        sandbox = functions.ready(tool) or functions.load(tool)
        return sandbox.call_sync(tool.name, arguments)

    def _current(self) -> FunctionSandbox:
        """The sandbox for the configuration as it is now."""
        with self._changing:
            settings = _settings(self._config)
            wanted = settings, [_identity(p) for p in settings["read"] + settings["write"]]
            if self._functions is None or wanted != self._made_for:
                self._functions = FunctionSandbox(_WARM_FUNCTIONS, **settings)
                self._made_for = wanted
            return self._functions

    def _failure(self, tool_name: str, result: brig.ToolResult) -> str:
        report = result.report
        if report.outcome == "timeout":
            timeout = self._config.sandbox_timeout
            return f"{_execution_of(tool_name)} timed out after {timeout}s"
        if report.outcome == "tool_error" and result.error_type in (None, "InvalidResult"):
            return (
                f"Failed to deserialise subprocess sandbox result for tool {tool_name!r}: "
                f"{result.error_message}"
            )
        if report.outcome == "tool_error":
            return (
                f"Tool {tool_name!r} raised {result.error_type} inside subprocess sandbox: "
                f"{result.error_message}"
            )
        how, why = report.outcome, report.message
        if report.outcome in ("exit", "signal"):
            how = f"exit {-report.signal if report.signal else report.exit_code}"
            why = report.stderr.decode("utf-8", "replace").strip() or why
        return f"{_execution_of(tool_name)} failed ({how}): {why}"


def _execution_of(tool_name: str) -> str:
    return f"Subprocess sandbox execution of tool {tool_name!r}"


def _settings(config: SandboxConfig) -> Dict[str, Any]:
    """What brig.Sandbox is told."""
    backend = config.backend_config
    mounts = [os.path.realpath(path) for path in backend.mount_paths]
    for path, place in backend.mount_paths.items():
        if os.path.realpath(path) != os.path.normpath(place):
            raise brig.ConfigError(
                f"mount_paths: {path} can't be seen at {place}, only at its own place"
            )
    directory = config.working_directory and os.path.realpath(config.working_directory)
    writable = [] if backend.mount_readonly else mounts
    return {
        "timeout": min(config.sandbox_timeout, LONGEST),
        "memory": config.sandbox_memory_limit_mb << 20,
        "network": "host" if config.sandbox_network_access else "none",
        "read": mounts if backend.mount_readonly else [],
        "write": [*writable, directory] if directory else writable,
        "working_directory": directory or None,
        "environment": dict(backend.env_vars),
    }


def _identity(path: str) -> Optional[Tuple[int, int]]:
    """Cells would go on to see a directory that was removed, and not the one made in its place."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


_backends: Dict[str, Callable[[SandboxConfig], SandboxBackend]] = {
    "subprocess": SubprocessSandboxBackend
}


def register_backend(name: str, cls: Callable[[SandboxConfig], SandboxBackend]) -> None:
    """Make a backend known by `name`, in place of another of that name."""
    _backends[name] = cls


def get_backend(name: str, sandbox_config: SandboxConfig) -> SandboxBackend:
    """A new backend of that name. ValueError if there is none."""
    if name not in _backends:
        names = ", ".join(list_backends())
        message = f"Unknown sandbox backend {name!r}. Available backends: {names}"
        if name == "docker":
            message += "; use 'subprocess': its cells keep files and network apart without Docker"
        raise ValueError(message)
    return _backends[name](sandbox_config)


def list_backends() -> List[str]:
    return sorted(_backends)

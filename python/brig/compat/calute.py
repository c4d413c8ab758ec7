"""The sandbox of Calute (now Xerxes), its router and its backend registry, on brig's cells.

Change ``from calute.security.sandbox import ...`` and ``from calute.security.sandbox_backends
import ...`` to ``from brig.compat.calute import ...``. Where Calute is loaded, its own modes,
configurations, decisions and errors are what these names give, and its runtime's "subprocess"
backend is brig's. What differs, because it was broken there:

* A function runs in a jail: no network unless ``sandbox_network_access``, no file of yours but the
  working directory and ``backend_config.mount_paths``, no variable but ``backend_config.env_vars``.
* An unknown mode is refused, where it once meant the host; by Calute's own router too.
* ``sandbox_memory_limit_mb`` counts memory in use, not address space. It holds for all of a call's
  processes together where brig has a memory cgroup, else for each of them.
* A result is data and never unpickled here, so it can't run code in the host. It may be any nesting
  of what JSON has, bytes, tuples, sets, dates and Decimals; a dataclass comes as a dict.
* Whatever a function prints, its result arrives. What it started is gone when it has ended.
* Async functions, lambdas and functions of ``__main__`` can be called.
* Every failure is a RuntimeError. The first call of a function starts an interpreter; later ones
  take one that is ready.
"""

from __future__ import annotations

import copy
import importlib
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple

import brig
from brig._values import pack_arguments
from brig.compat import (
    FunctionSandbox,
    _calute_config,
    renewed_by_fork,
    require_host,
    seconds_of,
)
from brig.compat._calute_config import (
    CALUTE,
    SandboxBackend,
    SandboxRouter,
    logger,
    logger_of,
    route_carefully,
)

if TYPE_CHECKING:
    from brig.compat._calute_config import (
        DockerSandboxBackend,
        ExecutionContext,
        ExecutionDecision,
        SandboxBackendConfig,
        SandboxConfig,
        SandboxExecutionUnavailableError,
        SandboxMode,
    )

__all__ = [
    "DockerSandboxBackend",
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
    "logger",
    "register_backend",
]

_WARM_FUNCTIONS = 32
_SHORTEST = 0.01  # seconds; Calute's interpreter never starts in less, so these always timed out
_MODULE = "security.sandbox_backends.subprocess_backend"


def __getattr__(name: str) -> Any:
    """Return the framework's own class where it is loaded, else the one that stands in for it."""
    if name == "subprocess":  # programs patch it here, in their tests
        return importlib.import_module(name)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _take_part()
    return CALUTE.own(name, getattr(_calute_config, name))


class SubprocessSandboxBackend:
    """Runs each call of a function in a cell of its own. Thread-safe.

    ``policy`` is as :class:`brig.Sandbox` takes it, and gives the functions files, variables or a
    network beside those of the configuration.
    """

    def __new__(cls, *_: Any, **__: Any) -> SubprocessSandboxBackend:
        # Where Calute is loaded it is an instance of Calute's class too.
        return object.__new__(CALUTE.joined(cls) if cls is SubprocessSandboxBackend else cls)

    def __init__(
        self, sandbox_config: SandboxConfig, *, policy: Optional[Mapping[str, Any]] = None
    ) -> None:
        self._config = sandbox_config
        self._policy = copy.deepcopy(policy)
        self.renew()
        renewed_by_fork(self)

    def renew(self) -> None:
        self._changing = threading.Lock()
        self._made_for: Any = None
        self._functions: Optional[FunctionSandbox] = None

    def execute(
        self, tool_name: str, func: Callable[..., Any], arguments: Dict[str, Any]
    ) -> Any:
        """Return the result of ``func(**arguments)`` in a cell. Every failure is a RuntimeError."""
        require_host()
        logger_of(_MODULE, self._config).debug(
            "Subprocess sandbox executing tool %r", tool_name
        )
        timeout = self._config.sandbox_timeout
        if isinstance(timeout, (int, float)) and timeout < _SHORTEST:
            raise RuntimeError(f"{_execution_of(tool_name)} timed out after {timeout}s")
        try:
            result = self._call(func, arguments)
        except (brig.Error, ValueError, TypeError, ArithmeticError) as error:
            raise RuntimeError(f"{_execution_of(tool_name)} failed: {error}") from error
        if not result.ok:
            raise RuntimeError(self._failure(tool_name, result))
        return result.output

    def is_available(self) -> bool:
        """Return whether this machine can make a jail."""
        return bool(brig.capabilities()["available"])

    def get_capabilities(self) -> Dict[str, Any]:
        """Return what Calute's own backend returns, and what brig adds in "cell"."""
        return {
            "backend": "subprocess",
            "available": self.is_available(),
            "isolation_level": "process",
            "filesystem_isolation": False,
            "network_isolation": False,
            "memory_limit_mb": self._config.sandbox_memory_limit_mb,
            "timeout": self._config.sandbox_timeout,
            "cell": {
                "isolation_level": "jail",
                "filesystem_isolation": True,
                "network_isolation": not self._config.sandbox_network_access
                and "network" not in (self._policy or {}),
            },
        }

    def _call(self, func: Callable[..., Any], arguments: Dict[str, Any]) -> brig.ToolResult:
        functions, packed = self._current(), pack_arguments(arguments)
        tool = functions.tool_of(func)
        sandbox = functions.ready(tool, packed) or functions.load(tool, packed)
        return sandbox.call_sync(tool.name, packed)

    def _current(self) -> FunctionSandbox:
        """Return the sandbox for the configuration as it is now."""
        with self._changing:
            settings = _settings(self._config)
            wanted = settings, [_identity(p) for p in settings["read"] + settings["write"]]
            if self._functions is None or wanted != self._made_for:
                self._functions = FunctionSandbox(_WARM_FUNCTIONS, self._policy, **settings)
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
    """Return the keywords for brig.Sandbox."""
    backend = config.backend_config
    mounts = _mounts(config)
    directory = config.working_directory and os.path.realpath(config.working_directory)
    writable = [] if backend.mount_readonly else mounts
    return {
        "timeout": seconds_of(config.sandbox_timeout),
        "memory": int(config.sandbox_memory_limit_mb * (1 << 20)),
        "network": "host" if config.sandbox_network_access else "none",
        "read": mounts if backend.mount_readonly else [],
        "write": [*writable, directory] if directory else writable,
        "working_directory": directory or None,
        "environment": dict(backend.env_vars),
    }


def _mounts(config: SandboxConfig) -> List[str]:
    """Return the paths to mount: each at its own place, where Calute's subprocess had it too."""
    found = []
    for path, place in config.backend_config.mount_paths.items():
        real = os.path.realpath(path)
        if not os.path.exists(real):
            logger_of(_MODULE, config).debug("mount_paths: %s does not exist", path)
            continue
        if real != os.path.normpath(place):
            logger_of(_MODULE, config).debug("mount_paths: %s is seen at its own place", path)
        found.append(real)
    return found


def _identity(path: str) -> Optional[Tuple[int, int]]:
    """Return what tells a directory from one made in its place: cells go on to see the first."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


Backends = Dict[str, Callable[..., SandboxBackend]]
_backends: Backends = {
    "docker": _calute_config.DockerSandboxBackend,
    "subprocess": SubprocessSandboxBackend,
}


def register_backend(name: str, cls: Callable[..., SandboxBackend]) -> None:
    """Register a backend as `name`, also in Calute's runtime. It replaces another of that name."""
    for registry in _registries():
        registry[name] = cls


def get_backend(name: str, sandbox_config: SandboxConfig) -> SandboxBackend:
    """Return a new backend of that name. Raises ValueError if there is none."""
    for registry in _registries():
        if name in registry:
            return registry[name](sandbox_config=sandbox_config)
    names = ", ".join(list_backends())
    raise ValueError(f"Unknown sandbox backend {name!r}. Available backends: {names}")


def list_backends() -> List[str]:
    return sorted(set().union(*_registries()))


def _registries() -> List[Backends]:
    """Return the registries of the loaded framework, and ours. Its runtime uses its own only.

    Calute's own subprocess backend gives way to brig's there: otherwise a program that changed its
    imports would still have its tools run in a plain process. Its router refuses unknown modes.
    """
    for router in CALUTE.all("SandboxRouter"):
        route_carefully(router)
    found: List[Backends] = CALUTE.all("_BACKEND_REGISTRY")
    for registry in found:
        if registry.get("subprocess") in CALUTE.all("SubprocessSandboxBackend"):
            registry["subprocess"] = CALUTE.joined(SubprocessSandboxBackend)
    return [*found, _backends]


def _take_part() -> None:
    _registries()


CALUTE.used = _take_part
_take_part()

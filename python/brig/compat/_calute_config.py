"""Calute's configuration and router. ``brig.compat.calute`` is the module to import."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Dict, Optional, Protocol, Set, Tuple, Type, TypeVar

from brig.compat._framework import Framework, StandIn, StandInEnum

CALUTE = Framework(
    ("calute", "xerxes"),
    {
        **dict.fromkeys(
            (
                "ExecutionContext",
                "ExecutionDecision",
                "SandboxBackendConfig",
                "SandboxConfig",
                "SandboxExecutionUnavailableError",
                "SandboxMode",
                "SandboxRouter",
            ),
            "security.sandbox",
        ),
        "DockerSandboxBackend": "security.sandbox_backends.docker_backend",
        "SubprocessSandboxBackend": "security.sandbox_backends.subprocess_backend",
        "_BACKEND_REGISTRY": "security.sandbox_backends",
    },
)

logger = logging.getLogger("calute.security.sandbox")


def logger_of(module: str, config: object) -> logging.Logger:
    """Returns the logger that the framework of `config` has for this module."""
    root = CALUTE.root_of(config) or next(iter(CALUTE.loaded()), "calute")
    found = logging.getLogger(f"{root}.{module}")
    return logger if found.name == "calute.security.sandbox" else found


class SandboxMode(StandInEnum):
    """When the router uses a sandbox: never, only in the log, or for the listed tools."""

    OFF = "off"
    WARN = "warn"
    STRICT = "strict"


class ExecutionContext(StandInEnum):
    """Where a tool is to run."""

    HOST = "host"
    SANDBOX = "sandbox"


@dataclass
class ExecutionDecision(metaclass=StandIn):
    """Where a tool is to run, and why.

    Raises ValueError for an unknown context: what is not the sandbox would mean the host.
    """

    _framework = CALUTE
    context: ExecutionContext
    tool_name: str
    reason: str

    def __post_init__(self) -> None:
        self.context = _member_of(ExecutionContext, self.context, "execution context")


class SandboxExecutionUnavailableError(RuntimeError):
    """A tool must run in a sandbox, and the router has no backend."""

    def __init__(self, tool_name: str) -> None:
        self.tool_name = tool_name
        # Not by super(), which may be the framework's own class: that makes the same text of it.
        RuntimeError.__init__(
            self,
            f"Tool '{tool_name}' requires sandbox execution, but no sandbox backend is configured",
        )


@dataclass
class SandboxBackendConfig(metaclass=StandIn):
    """Options of a backend besides the limits.

    `mount_paths` maps a host's path to its place in a container; in a cell a path keeps its own
    place. `image` is for the docker backend, `extra_args` for backends of your own.
    """

    _framework = CALUTE
    image: str = "python:3.12-slim"
    mount_paths: Dict[str, str] = field(default_factory=dict)
    mount_readonly: bool = True
    env_vars: Dict[str, str] = field(default_factory=dict)
    extra_args: Dict[str, Any] = field(default_factory=dict)


@dataclass
class SandboxConfig(metaclass=StandIn):
    """Which tools run in a sandbox, and what they may use there."""

    _framework = CALUTE
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
    """The methods that a router calls on a backend."""

    def execute(
        self, tool_name: str, func: Callable[..., Any], arguments: Dict[str, Any]
    ) -> Any:
        """Return the result of ``func(**arguments)``. Any failure is a RuntimeError."""

    def is_available(self) -> bool:
        """Return whether this machine can run the backend."""

    def get_capabilities(self) -> Dict[str, Any]:
        """Return at least "backend", its name, and "available"."""


def mode_of(value: object) -> SandboxMode:
    """Return the mode that `value` means: a member of any SandboxMode, or its text.

    Raises ValueError for everything else: an unknown mode must not run a tool on the host.
    """
    return _member_of(SandboxMode, value, "sandbox mode")


_Kind = TypeVar("_Kind", bound=StandInEnum)


def _member_of(kind: Type[_Kind], value: object, what: str) -> _Kind:
    for each in kind:
        if value == each.value if isinstance(value, str) else _means(value, each):
            return each
    known = ", ".join(repr(each.value) for each in kind)
    raise ValueError(f"Unknown {what} {value!r}. Available {what.split()[-1]}s: {known}")


def _means(value: object, member: Enum) -> bool:
    return isinstance(value, Enum) and (value.name, value.value) == (member.name, member.value)


class SandboxRouter:
    """Decides where tools run, and runs them in its backend. It never falls back to the host."""

    def __init__(
        self, config: Optional[SandboxConfig] = None, backend: Optional[SandboxBackend] = None
    ) -> None:
        self.config = config or SandboxConfig()
        self.backend = backend

    def decide(self, tool_name: str) -> ExecutionDecision:
        """Return where the tool runs.

        Raises ValueError if the configuration has an unknown mode.
        """
        context, reason = self._place(tool_name)
        root = CALUTE.root_of(self.config)
        contexts = CALUTE.own("ExecutionContext", ExecutionContext, root)
        decision: ExecutionDecision = CALUTE.own("ExecutionDecision", ExecutionDecision, root)(
            context=contexts[context.name], tool_name=tool_name, reason=reason
        )
        return decision

    def _place(self, tool_name: str) -> Tuple[ExecutionContext, str]:
        mode = mode_of(self.config.mode)
        if tool_name in self.config.elevated_tools:
            return ExecutionContext.HOST, "Tool is marked as elevated"
        if mode is SandboxMode.OFF:
            return ExecutionContext.HOST, "Sandbox mode is off"
        if tool_name not in self.config.sandboxed_tools:
            return ExecutionContext.HOST, "Tool not designated for sandbox"
        if mode is SandboxMode.STRICT:
            return ExecutionContext.SANDBOX, "Strict sandbox enforcement"
        logger_of("security.sandbox", self.config).warning(
            "Tool '%s' would run in sandbox (mode=warn, running on host)", tool_name
        )
        return (
            ExecutionContext.HOST,
            "Warn mode advisory: tool would run in sandbox, executing on host",
        )

    def execute_in_sandbox(
        self, tool_name: str, func: Callable[..., Any], arguments: Dict[str, Any]
    ) -> Any:
        if self.backend is None:
            root = CALUTE.root_of(self.config)
            raise CALUTE.joined(SandboxExecutionUnavailableError, root)(tool_name)
        return self.backend.execute(tool_name, func, arguments)


def route_carefully(router: Any) -> None:
    """Have the framework's class of routers refuse unknown modes, as ours does.

    It takes what it does not know, text too, for the host.
    """
    decide = vars(router).get("decide")
    if decide is None or hasattr(decide, "_brig"):
        return

    @functools.wraps(decide)
    def careful(self: Any, tool_name: str) -> Any:
        mode = mode_of(self.config.mode)
        modes = CALUTE.own("SandboxMode", SandboxMode, CALUTE.root_of(self))
        if self.config.mode != modes[mode.name]:
            return SandboxRouter(self.config).decide(tool_name)
        return decide(self, tool_name)

    careful._brig = True  # type: ignore[attr-defined]
    router.decide = careful


class DockerSandboxBackend:
    """A stand-in that refuses every call: brig starts no containers.

    Where Calute is loaded its own class is what this name gives.
    """

    def __init__(self, sandbox_config: SandboxConfig) -> None:
        self._config = sandbox_config

    def execute(
        self, tool_name: str, func: Callable[..., Any], arguments: Dict[str, Any]
    ) -> Any:
        """Raises RuntimeError: it never runs the function elsewhere instead."""
        raise RuntimeError(
            f"Docker sandbox execution of tool {tool_name!r} failed: brig starts no containers; "
            "use the backend 'subprocess', whose cells keep files and network apart"
        )

    def is_available(self) -> bool:
        return False

    def get_capabilities(self) -> Dict[str, Any]:
        return {
            "backend": "docker",
            "available": False,
            "image": self._config.backend_config.image,
            "network_access": self._config.sandbox_network_access,
            "memory_limit_mb": self._config.sandbox_memory_limit_mb,
            "timeout": self._config.sandbox_timeout,
        }

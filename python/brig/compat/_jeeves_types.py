"""JeevesAgent's errors and data. ``brig.compat.jeeves`` is the module to import.

Where JeevesAgent or LoomFlow is loaded, these classes make its own objects.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import secrets
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import (
    Any,
    AsyncIterator,
    Dict,
    List,
    Mapping,
    Optional,
    Protocol,
    cast,
    runtime_checkable,
)

from brig.compat._framework import Framework, StandIn

JEEVES = Framework(
    ("jeevesagent", "loomflow"),
    {
        **dict.fromkeys(
            ("JeevesAgentError", "LoomError", "ConfigError", "SandboxError", "ToolError"),
            "core.errors",
        ),
        **dict.fromkeys(("ToolCall", "ToolDef", "ToolEvent", "ToolResult"), "core.types"),
        **dict.fromkeys(("InProcessToolHost", "Tool", "tool", "ToolCallable"), "tools.registry"),
        "ToolHost": "core.protocols",
    },
)


class JeevesAgentError(Exception):
    """The base class of the framework's errors. LoomFlow calls it LoomError."""


LoomError = JeevesAgentError


class ConfigError(JeevesAgentError):
    """A sandbox can't wrap this host."""


class ToolError(JeevesAgentError):
    """A tool failed."""


class SandboxError(JeevesAgentError):
    """A sandbox failed, or refused a tool."""


def _now() -> datetime:
    return datetime.now(timezone.utc)


_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def _call_id() -> str:
    """"tcall_" and a ULID: 48 bits of time and 80 random ones."""
    number = int(time.time() * 1000) << 80 | secrets.randbits(80)
    return "tcall_" + "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


def _dumped(value: Any, as_json: bool) -> Any:
    if isinstance(value, _Model):
        return value.model_dump(mode="json" if as_json else "python")
    if isinstance(value, Mapping):
        return {key: _dumped(each, as_json) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        made = [_dumped(each, as_json) for each in value]
        return made if as_json else type(value)(made)
    if not as_json:
        return value
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return value.decode()
    from brig._values import to_json

    return to_json(value, subject="the value")


class _Model:
    """The part of pydantic's BaseModel that callers use.

    The framework's classes derive from that.
    """

    def model_dump(
        self,
        *,
        mode: str = "python",
        include: Any = None,
        exclude: Any = None,
        exclude_none: bool = False,
        exclude_defaults: bool = False,
    ) -> Dict[str, Any]:
        made = {}
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if include is not None and each.name not in include or each.name in (exclude or ()):
                continue
            if exclude_none and value is None or exclude_defaults and value == each.default:
                continue
            made[each.name] = _dumped(value, mode == "json")
        return made

    def model_dump_json(self, *, indent: Optional[int] = None, **options: Any) -> str:
        separators = None if indent else (",", ":")
        made = self.model_dump(mode="json", **options)
        return json.dumps(made, indent=indent, separators=separators, ensure_ascii=False)

    def model_copy(
        self, *, update: Optional[Mapping[str, Any]] = None, deep: bool = False
    ) -> Any:
        made = copy.deepcopy(self) if deep else copy.copy(self)
        for name, value in (update or {}).items():
            object.__setattr__(made, name, value)
        return made

    @classmethod
    def model_validate(cls, value: Any) -> Any:
        return value if isinstance(value, cls) else cls(**value)


@dataclass(frozen=True)
class ToolDef(_Model, metaclass=StandIn):
    """The description of a tool that a model gets."""

    _framework = JEEVES
    name: str
    description: str
    input_schema: Dict[str, Any] = field(default_factory=dict)
    server: Optional[str] = None
    destructive: bool = False


@dataclass
class ToolCall(_Model, metaclass=StandIn):
    """A call of a tool that a model asks for."""

    _framework = JEEVES
    id: str = field(default_factory=_call_id)
    tool: str = cast(str, None)  # required, though it comes after one that is not
    args: Dict[str, Any] = field(default_factory=dict)
    tool_def: Optional[ToolDef] = None
    destructive: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.tool, str):
            raise ValueError(f"tool: expected a string, not {self.tool!r}")

    def is_destructive(self) -> bool:
        return self.destructive

    def idempotency_key(self) -> str:
        """The same for the same tool and arguments."""
        import hashlib

        text = json.dumps((self.tool, self.args), sort_keys=True, default=_hashable)
        return hashlib.sha256(text.encode()).hexdigest()


def _hashable(value: Any) -> Any:
    if isinstance(value, _Model):
        return value.model_dump()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


@dataclass
class ToolResult(_Model, metaclass=StandIn):
    """How a call ended."""

    _framework = JEEVES
    call_id: str
    ok: bool
    output: Any = None
    error: Optional[str] = None
    denied: bool = False
    reason: Optional[str] = None
    duration_ms: Optional[float] = None
    started_at: datetime = field(default_factory=_now)

    @classmethod
    def success(cls, call_id: str, output: Any, **fields: Any) -> ToolResult:
        return cls(call_id=call_id, ok=True, output=output, **fields)

    @classmethod
    def error_(cls, call_id: str, message: str, **fields: Any) -> ToolResult:
        return cls(call_id=call_id, ok=False, error=message, **fields)

    @classmethod
    def denied_(cls, call_id: str, reason: str, **fields: Any) -> ToolResult:
        return cls(call_id=call_id, ok=False, denied=True, reason=reason, **fields)


@dataclass
class ToolEvent(_Model, metaclass=StandIn):
    """A change of a host's tools. `kind` is "added", "removed" or "updated"."""

    _framework = JEEVES
    kind: str
    tool: str
    server: Optional[str] = None
    at: datetime = field(default_factory=_now)


@runtime_checkable
class ToolHost(Protocol):
    """The methods that an agent calls on the holder of its tools."""

    async def list_tools(self, *, query: Optional[str] = None) -> List[ToolDef]: ...

    async def call(
        self, tool: str, args: Mapping[str, Any], *, call_id: str = ""
    ) -> ToolResult: ...

    def watch(self) -> AsyncIterator[ToolEvent]: ...


def results_for(host: Any) -> Any:
    """Return the class of results in the framework of `host`, or of the host that it wraps."""
    root, seen = "", 0
    while host is not None and not root and seen < 16:
        root, seen, host = JEEVES.root_of(host), seen + 1, getattr(host, "inner", None)
    return JEEVES.own("ToolResult", ToolResult, root)

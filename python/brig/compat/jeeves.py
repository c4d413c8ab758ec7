"""The tools and the ``SubprocessSandbox`` of JeevesAgent, on brig's cells.

Change the imports from ``jeevesagent`` to ``brig.compat.jeeves``, or only that of
``SubprocessSandbox``: it takes JeevesAgent's own ``InProcessToolHost`` too. What differs, because
it was broken there:

* A tool runs in a jail: no network, none of your files, variables or processes, 512 MiB. One that
  needs more is better served by :class:`brig.Sandbox`, whose policy can be said.
* A result is data and never unpickled here, so it can't run code in the agent. It may be any
  nesting of what JSON has, bytes, tuples, sets, dates and Decimals; a dataclass comes as a dict.
* ``@tool`` functions, lambdas and closures can be called, and big results arrive.
* What a tool prints does not reach the agent's stdout; what it started is gone when it has ended.
* A first call starts an interpreter. The later ones take well under a millisecond.
"""

from __future__ import annotations

import inspect
import types
import typing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Dict,
    List,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    Tuple,
    Union,
    overload,
)

import brig
from brig.compat import LONGEST, FunctionSandbox, NotCarried, require_host, typed_tool

__all__ = [
    "ConfigError",
    "InProcessToolHost",
    "JeevesError",
    "SubprocessSandbox",
    "Tool",
    "ToolDef",
    "ToolEvent",
    "ToolHost",
    "ToolResult",
    "tool",
]

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "")
_WARM_TOOLS = 128


class JeevesError(Exception):
    """Anything that these classes raise of their own."""


class ConfigError(JeevesError):
    """A sandbox was asked to wrap what it can't."""


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True)
class ToolDef:
    """What a model is told about a tool."""

    name: str
    description: str
    input_schema: Dict[str, Any] = field(default_factory=dict)
    server: Optional[str] = None
    destructive: bool = False


@dataclass(frozen=True)
class ToolResult:
    """How a call ended."""

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


@dataclass(frozen=True)
class ToolEvent:
    """A change of a host's tools. `kind` is "added", "removed" or "updated"."""

    kind: str
    tool: str
    server: Optional[str] = None
    at: datetime = field(default_factory=_now)


class ToolHost(Protocol):
    """What an agent needs of whatever holds its tools."""

    async def list_tools(self, *, query: Optional[str] = None) -> List[ToolDef]: ...

    async def call(
        self, tool: str, args: Mapping[str, Any], *, call_id: str = ""
    ) -> ToolResult: ...

    def watch(self) -> AsyncIterator[ToolEvent]: ...


@dataclass
class Tool:
    """A function with the name, description and schema that a model sees."""

    name: str
    description: str
    fn: Callable[..., Any]
    input_schema: Dict[str, Any] = field(default_factory=dict)
    destructive: bool = False

    def to_def(self) -> ToolDef:
        return ToolDef(
            name=self.name,
            description=self.description,
            input_schema=self.input_schema,
            destructive=self.destructive,
        )

    @property
    def __brig_tool__(self) -> brig.Tool:
        """Where brig finds the function, whose place in its module @tool has taken."""
        made: Optional[brig.Tool] = self.__dict__.get("_made")
        if made is None or made.function is not self.fn:
            made = self.__dict__["_made"] = typed_tool(self.fn, self.name)
        return made

    async def execute(self, args: Mapping[str, Any]) -> Any:
        """Call the function here, in this process: an async one on the loop, others on a thread."""
        import asyncio  # not above: interpreters of sandboxes import this module, and need it not

        arguments = _coerced(args, self.input_schema)
        if inspect.iscoroutinefunction(self.fn):
            return await self.fn(**arguments)
        return await asyncio.to_thread(self.fn, **arguments)


@overload
def tool(fn: Callable[..., Any]) -> Tool: ...


@overload
def tool(
    *, name: Optional[str] = None, description: Optional[str] = None, destructive: bool = False
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    fn: Optional[Callable[..., Any]] = None,
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    destructive: bool = False,
) -> Union[Tool, Callable[[Callable[..., Any]], Tool]]:
    """Make a :class:`Tool` of a function; ``@tool`` and ``@tool(name=...)`` both work.

    The schema comes from the type hints, the description from the docstring's first line.
    """

    def make(function: Callable[..., Any]) -> Tool:
        text = (description or function.__doc__ or "").strip()
        return Tool(
            name=name or function.__name__,
            description=text.partition("\n")[0],
            fn=function,
            input_schema=_schema(function),
            destructive=destructive,
        )

    return make if fn is None else make(fn)


def _schema(function: Callable[..., Any]) -> Dict[str, Any]:
    """The schema of a function's parameters: "string" for those of which none is known."""
    properties: Dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("self", "cls") or parameter.kind in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        ):
            continue
        properties[name] = parameter
    hints = {name: _hint(function, each.annotation) for name, each in properties.items()}
    deduced = _deduced(hints)
    return {
        "type": "object",
        "properties": deduced["properties"],
        "required": [n for n, each in properties.items() if each.default is each.empty],
        **({"$defs": deduced["$defs"]} if "$defs" in deduced else {}),
    }


def _hint(function: Callable[..., Any], annotation: Any) -> Any:
    """The type that a parameter is said to have; str if that is none that has a schema."""
    if annotation is inspect.Parameter.empty:
        return str
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    names = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        hint = typing.get_type_hints(holder, names, include_extras=True)["it"]
        _deduced({"it": hint})
        return hint
    except Exception:  # an annotation is any expression
        return str


def _deduced(hints: Dict[str, Any]) -> Dict[str, Any]:
    """What brig makes of parameters with these hints."""

    def function() -> None: ...

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, kind, annotation=hint) for name, hint in hints.items()]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = dict(hints)
    return brig.Tool(function).signature.input_schema


def _coerced(args: Mapping[str, Any], schema: Mapping[str, Any]) -> Dict[str, Any]:
    """The arguments, with strings that stand for a number or a boolean turned into that."""
    properties = schema.get("properties", {})
    return {
        name: _primitive(value, properties.get(name)) if isinstance(value, str) else value
        for name, value in args.items()
    }


def _primitive(text: str, schema: Any) -> Any:
    """`text` itself if it stands for nothing that the schema wants: the tool will say it better."""
    kinds = _kinds(schema)
    for kind, read in _READERS:
        if kind in kinds and "string" not in kinds:
            try:
                return read(text)
            except ValueError:
                continue
    return text


def _kinds(schema: Any) -> List[Any]:
    """The types that a schema names."""
    kinds: List[Any] = []
    if isinstance(schema, Mapping):
        kind = schema.get("type")
        kinds += kind if isinstance(kind, list) else [kind]
        for each in schema.get("anyOf", ()):
            kinds += _kinds(each)
    return kinds


def _integer(text: str) -> int:
    number = float(text)
    if not number.is_integer():
        raise ValueError(text)
    try:
        return int(text)
    except ValueError:
        return int(number)


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE + _FALSE:
        raise ValueError(text)
    return word in _TRUE


_READERS: List[Tuple[str, Callable[[str], Any]]] = [
    ("integer", _integer),
    ("number", float),
    ("boolean", _boolean),
]


class InProcessToolHost:
    """Tools by name. A call of one runs in this process: wrap the host to change that."""

    def __init__(self, tools: Optional[Sequence[Union[Tool, Callable[..., Any]]]] = None) -> None:
        self._tools: Dict[str, Tool] = {}
        for item in tools or ():
            self.register(item)

    def register(self, item: Union[Tool, Callable[..., Any]]) -> Tool:
        """Take a tool, or make one of a function; in place of another of that name."""
        if not isinstance(item, Tool) and not callable(item):
            raise TypeError(f"cannot coerce {item!r} to a Tool")
        made = item if isinstance(item, Tool) else tool(item)
        self._tools[made.name] = made
        return made

    def unregister(self, name: str) -> bool:
        """False if there is none of that name."""
        return self._tools.pop(name, None) is not None

    def get(self, name: str) -> Optional[Tool]:
        return self._tools.get(name)

    async def list_tools(self, *, query: Optional[str] = None) -> List[ToolDef]:
        """All, or those with `query` in their name or description, whatever the case."""
        wanted = (query or "").lower()
        return [
            each.to_def()
            for each in self._tools.values()
            if wanted in each.name.lower() or wanted in each.description.lower()
        ]

    async def call(self, tool: str, args: Mapping[str, Any], *, call_id: str = "") -> ToolResult:
        registered = self.get(tool)
        if registered is None:
            return ToolResult.error_(call_id, f"unknown tool: {tool}")
        try:
            return ToolResult.success(call_id, await registered.execute(args))
        except Exception as error:
            return ToolResult.error_(call_id, str(error))

    async def watch(self) -> AsyncIterator[ToolEvent]:
        """Ends at once: nobody is told of changes here."""
        nothing: Sequence[ToolEvent] = ()
        for event in nothing:
            yield event


class SubprocessSandbox:
    """Runs each call of a host's tools in a cell of its own."""

    def __init__(self, inner: ToolHost, *, timeout_seconds: float = 30.0) -> None:
        if timeout_seconds <= 0:
            raise ValueError("timeout_seconds must be positive")
        # By the name of its class: the framework's own need not be importable here.
        if not any(kind.__name__ == "InProcessToolHost" for kind in type(inner).__mro__):
            raise ConfigError(
                "SubprocessSandbox wraps InProcessToolHost only "
                "(it needs access to the registered Tool.fn callable). "
                f"Got {type(inner).__name__}."
            )
        self._inner: Any = inner
        self._timeout = timeout_seconds
        self._functions = FunctionSandbox(_WARM_TOOLS, timeout=min(timeout_seconds, LONGEST))

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
        registered = self._inner.get(tool)
        if registered is None:
            return ToolResult.error_(call_id, f"unknown tool: {tool}")
        try:
            result = await self._run(registered, _coerced(args, registered.input_schema))
        except NotCarried as error:
            return ToolResult.error_(call_id, _not_carried(tool, error))
        except brig.Error as error:
            return ToolResult.error_(call_id, f"SubprocessSandbox: {error}")
        told = {"duration_ms": result.duration_ms, "started_at": result.started_at}
        if result.ok:
            return ToolResult.success(call_id, result.output, **told)
        if result.denied:
            return ToolResult.denied_(call_id, result.reason or "", **told)
        return ToolResult.error_(call_id, self._error(tool, result), **told)

    async def watch(self) -> AsyncIterator[ToolEvent]:
        async for event in self._inner.watch():
            yield event

    async def _run(self, registered: Any, arguments: Dict[str, Any]) -> brig.ToolResult:
        import asyncio

        if isinstance(registered, Tool):
            made = registered.__brig_tool__
        else:  # the framework's own
            made = self._functions.tool_of(registered.fn)
        sandbox = self._functions.ready(made)
        if sandbox is None:
            sandbox = await asyncio.to_thread(self._functions.load, made)
        return await sandbox.call(made.name, arguments)

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

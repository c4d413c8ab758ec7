"""JeevesAgent's tools and the host that holds them. ``brig.compat.jeeves`` is the module to import.

Where JeevesAgent or LoomFlow is loaded, these make its own objects.
"""

from __future__ import annotations

import inspect
import types
import typing
from dataclasses import dataclass, field
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
    overload,
)

import brig
from brig.compat import typed_tool
from brig.compat._framework import StandIn
from brig.compat._jeeves_types import JEEVES, ToolDef, ToolEvent, ToolResult

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "")

ToolCallable = Union[Callable[..., Awaitable[Any]], Callable[..., Any]]


@dataclass
class Tool(metaclass=StandIn):
    """A function with the name, description and schema that a model sees."""

    _framework = JEEVES
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
        """brig finds the function here: @tool has taken its place in the module."""
        made: Optional[brig.Tool] = self.__dict__.get("_made")
        if made is None or made.function is not self.fn:
            made = self.__dict__["_made"] = typed_tool(self.fn, self.name)
        return made

    async def execute(self, args: Mapping[str, Any]) -> Any:
        """Call the function here, in this process: an async one on the loop, others on a thread."""
        from brig.compat._async import in_thread

        arguments = coerced(args, self)
        if inspect.iscoroutinefunction(self.fn):
            return await self.fn(**arguments)
        return await in_thread(lambda: self.fn(**arguments))


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

    for theirs in JEEVES.all("tool"):
        made: Union[Tool, Callable[[Callable[..., Any]], Tool]] = theirs(
            *([] if fn is None else [fn]),
            name=name,
            description=description,
            destructive=destructive,
        )
        return made

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
    """Return the schema of a function's parameters: "string" where the type is unknown."""
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
    """Return the type of a parameter by its annotation, or str if that has no schema."""
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
    """Return the properties that brig makes from parameters with these hints."""

    def function() -> None: ...

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, kind, annotation=hint) for name, hint in hints.items()]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = dict(hints)
    return brig.Tool(function).signature.input_schema


def coerced(args: Mapping[str, Any], tool: Any) -> Dict[str, Any]:
    """Return the arguments, with strings that stand for numbers or booleans turned into those.

    LoomFlow's tools have validators for the rest, which make what the hints say of it.
    """
    schema = getattr(tool, "input_schema", None)
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        properties = {}
    made = {
        name: _primitive(value, properties.get(name)) if isinstance(value, str) else value
        for name, value in dict(args).items()
    }
    for name, adapter in (getattr(tool, "param_adapters", None) or {}).items():
        if name in made:
            made[name] = _validated(adapter, args[name])
    return made


def _validated(adapter: Any, value: Any) -> Any:
    """Return the validated value, or `value` itself if it does not fit: the tool reports it better.
    """
    import json

    try:
        return adapter.validate_python(value)
    except Exception:  # of pydantic, or of the hint's own validators
        pass
    try:
        return adapter.validate_python(json.loads(value))
    except Exception:
        return value


def _primitive(text: str, schema: Any) -> Any:
    """Return the value that `text` stands for, or `text` if the schema wants none: the tool reports
    it better."""
    kinds = _kinds(schema)
    for kind, read in _READERS:
        if kind in kinds and "string" not in kinds:
            try:
                return read(text)
            except ValueError:
                continue
    return text


def _kinds(schema: Any) -> List[Any]:
    """Return the types that a schema names."""
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


class InProcessToolHost(metaclass=StandIn):
    """Tools by name. A call of one runs in this process: wrap the host to change that."""

    _framework = JEEVES

    def __init__(self, tools: Optional[Sequence[Union[Tool, Callable[..., Any]]]] = None) -> None:
        self._tools: Dict[str, Tool] = {}
        for item in tools or ():
            self.register(item)

    def register(self, item: Union[Tool, Callable[..., Any]]) -> Tool:
        """Add a tool, or make one from a function. It replaces a tool of the same name."""
        if not isinstance(item, Tool) and not callable(item):
            raise TypeError(f"cannot coerce {item!r} to a Tool")
        made = item if isinstance(item, Tool) else tool(item)
        self._tools[made.name] = made
        return made

    def unregister(self, name: str) -> bool:
        """Remove a tool. Return False if no tool has that name."""
        return self._tools.pop(name, None) is not None

    def get(self, name: str) -> Optional[Tool]:
        return self._tools.get(name)

    async def list_tools(self, *, query: Optional[str] = None) -> List[ToolDef]:
        """Return all tools, or those with `query` in their name or description in any case."""
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
        """End at once: this host reports no changes."""
        nothing: Sequence[ToolEvent] = ()
        for event in nothing:
            yield event

"""Modules of the shape that those of JeevesAgent 0.2 and LoomFlow 0.11 have, each class one of its own.

What a program sees of the originals is the same here: fields and their defaults, what pydantic refuses, how it copies and
dumps, the methods, the texts of errors. The framework's loop is there too, as short as it can be.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import datetime
import functools
import inspect
import json
import sys
import types
from typing import Any, AsyncIterator, Callable, Dict, List, Mapping, Optional, Protocol, runtime_checkable

import pytest

FRAMEWORKS = [("jeevesagent", "JeevesAgentError"), ("loomflow", "LoomError")]
PRIMITIVES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def module(name: str, **members: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    for member in members.values():
        if isinstance(member, (type, types.FunctionType)):
            member.__module__ = name
    vars(made).update(members)
    return made


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


class Model:
    """What these tests need of pydantic's: it checks fields, copies, dumps, and may be frozen."""

    fields: Mapping[str, Any] = {}  # a default, a function that makes one, or ... for none
    kinds: Mapping[str, Any] = {}  # a type, or the values that there are
    frozen = False

    def __init__(self, **values: Any) -> None:
        for name, default in self.fields.items():
            if name not in values and default is ...:
                raise ValueError(f"{name}: Field required")
            value = values[name] if name in values else default() if callable(default) else copy.deepcopy(default)
            kind = self.kinds.get(name, object)
            if not (isinstance(value, kind) if isinstance(kind, type) else value in kind):
                raise ValueError(f"{name}: Input should be {kind}")
            vars(self)[name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        if self.frozen:
            raise ValueError(f"{name}: Instance is frozen")
        if name not in self.fields:
            raise ValueError(f"{type(self).__name__} has no field {name!r}")
        vars(self)[name] = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        if not self.frozen:
            raise TypeError(f"unhashable type: {type(self).__name__!r}")
        return hash(tuple(vars(self).values()))

    def model_dump(self, *, mode: str = "python") -> Dict[str, Any]:
        made = {name: getattr(self, name) for name in self.fields}
        return {name: _json(value) for name, value in made.items()} if mode == "json" else made

    def model_dump_json(self) -> str:
        return json.dumps(self.model_dump(mode="json"))

    def model_copy(self, *, update: Optional[Mapping[str, Any]] = None, deep: bool = False) -> Any:
        made = copy.deepcopy(self) if deep else copy.copy(self)
        vars(made).update(update or {})
        return made


def _json(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Model):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple, set)):
        return [_json(each) for each in value]
    return {key: _json(each) for key, each in value.items()} if isinstance(value, dict) else value


def doubles(root: str, base: str) -> Dict[str, types.ModuleType]:
    new = root == "loomflow"

    class ToolDef(Model):
        frozen = True
        fields = {"name": ..., "description": ..., "input_schema": dict, "server": None, **({"destructive": False} if new else {})}
        kinds = {"name": str, "description": str, "input_schema": dict}

    class ToolResult(Model):
        fields = {
            "call_id": ..., "ok": ..., "output": None, "error": None, "denied": False,
            "reason": None, "duration_ms": None, "started_at": now,
        }  # fmt: skip
        kinds = {"call_id": str, "ok": bool, "denied": bool, "started_at": datetime.datetime}

        @classmethod
        def success(cls, call_id: str, output: Any, **more: Any) -> Any:
            return cls(call_id=call_id, ok=True, output=output, **more)

        @classmethod
        def error_(cls, call_id: str, message: str, **more: Any) -> Any:
            return cls(call_id=call_id, ok=False, error=message, **more)

        @classmethod
        def denied_(cls, call_id: str, reason: str, **more: Any) -> Any:
            return cls(call_id=call_id, ok=False, denied=True, reason=reason, **more)

    class ToolEvent(Model):
        fields = {"kind": ..., "tool": ..., "server": None, "at": now}
        kinds = {"kind": ("added", "removed", "updated"), "tool": str}

    class ToolCall(Model):
        fields = {"id": lambda: "tcall_1", "tool": ..., "args": dict, "tool_def": None, "destructive": False}
        kinds = {"id": str, "tool": str, "args": dict, "destructive": bool}

        def is_destructive(self) -> Any:
            return self.destructive  # type: ignore[attr-defined]

        def idempotency_key(self) -> str:
            return json.dumps([self.tool, self.args], sort_keys=True)  # type: ignore[attr-defined]

    async def execute(self: Any, args: Mapping[str, Any]) -> Any:
        kwargs = dict(args)
        for name, adapter in getattr(self, "param_adapters", {}).items():
            if name in kwargs:
                kwargs[name] = adapter.validate_python(kwargs[name])
        if inspect.iscoroutinefunction(self.fn):
            return await self.fn(**kwargs)
        return await asyncio.get_running_loop().run_in_executor(None, functools.partial(self.fn, **kwargs))

    def to_def(self: Any) -> Any:
        more = {"destructive": self.destructive} if new else {}
        return ToolDef(name=self.name, description=self.description, input_schema=self.input_schema, **more)

    fields = [
        ("name", str), ("description", str), ("fn", object),
        ("input_schema", dict, dataclasses.field(default_factory=dict)),
        ("destructive", bool, dataclasses.field(default=False)),
    ]  # fmt: skip
    if new:
        fields.append(("param_adapters", dict, dataclasses.field(default_factory=dict, repr=False)))
    Tool: Any = dataclasses.make_dataclass("Tool", fields, namespace={"to_def": to_def, "execute": execute})

    def schema_of(function: Callable[..., Any]) -> Dict[str, Any]:
        parameters = inspect.signature(function).parameters.values()
        return {
            "type": "object",
            "properties": {each.name: {"type": PRIMITIVES.get(each.annotation, "string")} for each in parameters},
            "required": [each.name for each in parameters if each.default is each.empty],
        }

    def tool(
        fn: Any = None, *, name: Any = None, description: Any = None, destructive: Any = False
    ) -> Any:
        def make(function: Any) -> Any:
            text = (description or (function.__doc__ or "")).strip().split("\n")[0]
            return Tool(name or function.__name__, text, function, schema_of(function), destructive)

        return make if fn is None else make(fn)

    def coerced(item: Any) -> Any:
        if isinstance(item, Tool):
            return item
        if callable(item):
            return tool(item)
        if not new:
            raise TypeError(f"cannot coerce {item!r} to a Tool")
        raise TypeError(
            "tools= entries must be Tool instances or callables (decorate with @tool or pass a plain function); "
            f"got {type(item).__name__}: {item!r}."
        )

    class InProcessToolHost:
        def __init__(self, tools: Optional[List[Any]] = None) -> None:
            self._tools = {each.name: each for each in map(coerced, tools or [])}

        def register(self, item: Any) -> Any:
            made = coerced(item)
            self._tools[made.name] = made
            return made

        def unregister(self, name: str) -> bool:
            return self._tools.pop(name, None) is not None

        def get(self, name: str) -> Any:
            return self._tools.get(name)

        async def list_tools(self, *, query: Any = None) -> List[Any]:
            found = [each.to_def() for each in self._tools.values()]
            wanted = (query or "").lower()
            return [each for each in found if wanted in each.name.lower() or wanted in each.description.lower()]

        async def call(self, tool: str, args: Mapping[str, Any], *, call_id: str = "") -> Any:
            registered = self._tools.get(tool)
            if registered is None:
                return ToolResult.error_(call_id=call_id, message=f"unknown tool: {tool}")
            try:
                output = await registered.execute(args)
            except Exception as error:
                return ToolResult.error_(call_id=call_id, message=str(error))
            return ToolResult.success(call_id=call_id, output=output)

        async def watch(self) -> AsyncIterator[Any]:
            for event in ():
                yield event

    @runtime_checkable
    class ToolHost(Protocol):
        async def list_tools(self, *, query: Any = None) -> Any: ...

        async def call(self, tool: str, args: Mapping[str, Any], *, call_id: str = "") -> Any: ...

        def watch(self) -> Any: ...

    error = type(base, (Exception,), {"__module__": f"{root}.core.errors"})
    errors = {
        name: type(name, (error,), {}) for name in ("ConfigError", "SandboxError", "ToolError")
    }
    made = [
        module(root),
        module(f"{root}.core"),
        module(f"{root}.tools"),
        module(f"{root}.core.errors", **{base: error}, **errors),
        module(
            f"{root}.core.types",
            ToolDef=ToolDef,
            ToolResult=ToolResult,
            ToolEvent=ToolEvent,
            ToolCall=ToolCall,
        ),
        module(f"{root}.core.protocols", ToolHost=ToolHost),
        module(
            f"{root}.tools.registry", Tool=Tool, tool=tool, InProcessToolHost=InProcessToolHost
        ),
    ]
    return {each.__name__: each for each in made}


class Framework:
    """Its public names."""

    def __init__(self, root: str, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Loads the modules."""
        self.root = root
        made = doubles(root, base)
        self.base = getattr(made[f"{root}.core.errors"], base)
        for each in made.values():
            for name, value in vars(each).items():
                if not name.startswith("_"):
                    setattr(self, name, value)
        for name, each in made.items():
            monkeypatch.setitem(sys.modules, name, each)


# --- the framework's loop ---


class ScriptedModel:
    """Says what it was given, a turn for each question; remembers what it was asked."""

    def __init__(self, *turns: List[Any]) -> None:
        self.turns = list(turns)
        self.tools: List[Dict[str, Any]] = []
        self.asked: List[List[Dict[str, Any]]] = []

    async def complete(self, messages: List[Dict[str, Any]], tools: List[Any]) -> List[Any]:
        self.tools = [each.model_dump(mode="json") for each in tools]
        json.dumps([messages, self.tools])  # they go to a model by HTTP
        self.asked.append(list(messages))
        return self.turns.pop(0) if self.turns else []


class ExtendedToolHost:
    """A host and more tools, which win."""

    def __init__(self, theirs: Any, base: Any, extras: List[Any]) -> None:
        self.theirs, self.base = theirs, base
        self.extras = {each.name: each for each in extras}

    async def list_tools(self, *, query: Optional[str] = None) -> List[Any]:
        below = [each for each in await self.base.list_tools(query=query) if each.name not in self.extras]
        return below + [each.to_def() for each in self.extras.values()]

    async def call(self, tool: str, args: Mapping[str, Any], *, call_id: str = "") -> Any:
        extra = self.extras.get(tool)
        if extra is None:
            return await self.base.call(tool, args, call_id=call_id)
        try:
            output = await extra.execute(args)
        except Exception as error:
            return self.theirs.ToolResult.error_(call_id=call_id, message=str(error))
        if isinstance(output, self.theirs.ToolResult):
            return output.model_copy(update={"call_id": call_id})
        return self.theirs.ToolResult.success(call_id=call_id, output=output)

    async def watch(self) -> AsyncIterator[Any]:
        async for event in self.base.watch():
            yield event


class Agent:
    """Asks the model, makes the calls that it asks for at once, tells it the results, until it asks for none."""

    def __init__(self, theirs: Any, model: ScriptedModel, host: Any) -> None:
        if not isinstance(host, theirs.ToolHost):
            raise TypeError(f"tools= takes a ToolHost, not {type(host).__name__}")
        self.theirs, self.model, self.host = theirs, model, host

    async def run(self, prompt: str) -> List[Dict[str, Any]]:
        """Returns what the journal has of each result."""
        messages: List[Dict[str, Any]] = [{"role": "user", "content": prompt}]
        journal = []
        while True:
            calls = await self.model.complete(messages, await self.host.list_tools())
            if not calls:
                return journal
            for call in calls:
                if not isinstance(call, self.theirs.ToolCall):
                    raise TypeError(type(call))
            results = await asyncio.gather(*(self.host.call(each.tool, each.args, call_id=each.id) for each in calls))
            for result in results:
                if not isinstance(result, self.theirs.ToolResult):
                    raise TypeError(type(result))
                journal.append(json.loads(result.model_dump_json()))
                said = str(result.output) if result.ok else f"error: {result.error or result.reason}"
                messages.append({"role": "tool", "tool_call_id": result.call_id, "content": said})

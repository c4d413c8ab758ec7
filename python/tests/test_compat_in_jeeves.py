"""brig.compat.jeeves inside of JeevesAgent and LoomFlow: their own classes come and go."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import datetime
import json
import os
import sys
import types
from typing import Any, Callable, Dict, List, Mapping, Optional

import pytest

import brig.compat.jeeves as drop_in
from brig.compat import _jeeves_tools, _jeeves_types


def where(x: int = 0) -> List[int]:
    return [os.getpid(), x]


@dataclasses.dataclass
class Order:
    count: int


def count_of(order: Order) -> List[Any]:
    return [type(order).__name__, order.count + 1]


def module(name: str, **members: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    for member in members.values():
        if isinstance(member, (type, types.FunctionType)):
            member.__module__ = name
    vars(made).update(members)
    return made


class Model:
    """What these tests need of pydantic's: it checks fields, copies, dumps, and may be frozen."""

    fields: Mapping[str, Any] = {}
    frozen = False

    def __init__(self, **values: Any) -> None:
        for name, default in self.fields.items():
            if name not in values and default is ...:
                raise ValueError(f"{name}: field required")
            vars(self)[name] = values[name] if name in values else copy.deepcopy(default)

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
        return {name: getattr(self, name) for name in self.fields}

    def model_dump_json(self) -> str:
        return json.dumps(self.model_dump(), default=datetime.datetime.isoformat)

    def model_copy(self, *, update: Optional[Mapping[str, Any]] = None, deep: bool = False) -> Any:
        values = copy.deepcopy(vars(self)) if deep else vars(self)
        return type(self)(**{**values, **(update or {})})


def doubles(root: str, base: str) -> Dict[str, types.ModuleType]:
    """Modules of the shape that the framework's have. Each class is one of its own."""

    class ToolDef(Model):
        frozen = True
        fields = {"name": ..., "description": ..., "input_schema": {}, "server": None}

    class ToolResult(Model):
        fields = {
            "call_id": ..., "ok": ..., "output": None, "error": None, "denied": False,
            "reason": None, "duration_ms": None, "started_at": None,
        }  # fmt: skip

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
        fields = {"kind": ..., "tool": ..., "server": None}

    class ToolCall(Model):
        fields = {"id": "tcall_1", "tool": ..., "args": {}}

    @dataclasses.dataclass
    class Tool:
        name: str
        description: str
        fn: Callable[..., Any]
        input_schema: Any = dataclasses.field(default_factory=dict)
        destructive: bool = False

    def tool(
        fn: Any = None, *, name: Any = None, description: Any = None, destructive: Any = False
    ) -> Any:
        def make(function: Any) -> Tool:
            return Tool(name or function.__name__, description or "", function)

        return make if fn is None else make(fn)

    class InProcessToolHost:
        def __init__(self, tools: Optional[List[Any]] = None) -> None:
            self.tools = {}
            for each in tools or []:
                if not isinstance(each, Tool) and not callable(each):
                    raise TypeError(each)
                made = each if isinstance(each, Tool) else tool(each)
                self.tools[made.name] = made

        def get(self, name: str) -> Any:
            return self.tools.get(name)

        async def list_tools(self, *, query: Any = None) -> List[Any]:
            return [ToolDef(name=each.name, description="") for each in self.tools.values()]

        async def watch(self) -> Any:
            yield ToolEvent(kind="added", tool="t")

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
        module(f"{root}.core.protocols"),
        module(
            f"{root}.tools.registry", Tool=Tool, tool=tool, InProcessToolHost=InProcessToolHost
        ),
    ]
    return {each.__name__: each for each in made}


class Framework:
    def __init__(self, root: str, base: str, made: Mapping[str, types.ModuleType]) -> None:
        self.base = getattr(made[f"{root}.core.errors"], base)
        for each in made.values():
            for name, value in vars(each).items():
                if not name.startswith("_"):
                    setattr(self, name, value)


@pytest.fixture(params=[("jeevesagent", "JeevesAgentError"), ("loomflow", "LoomError")])
def theirs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The framework's names; it is loaded after brig."""
    root, base = request.param
    made = doubles(root, base)
    for name, each in made.items():
        monkeypatch.setitem(sys.modules, name, each)
    return Framework(root, base, made)


class Names:
    """brig's names as a program has them that imported brig first."""

    def __getattr__(self, name: str) -> Any:
        home = _jeeves_types if hasattr(_jeeves_types, name) else _jeeves_tools
        return getattr(home, name)


SOURCES = {
    "theirs": lambda theirs: theirs,
    "drop_in": lambda _: drop_in,
    "before": lambda _: Names(),
}


async def agent_run(theirs: Any, host: Any, *calls: Any) -> List[Dict[str, Any]]:
    """What an agent's loop does with the calls of a scripted model."""
    journal = []
    for call in calls:
        result = await host.call(call.tool, call.args, call_id=call.id)
        if not isinstance(result, theirs.ToolResult):
            raise TypeError(type(result))
        journal.append(result.model_dump(mode="json"))
    return journal


@pytest.mark.parametrize("source", SOURCES)
def test_an_agent_runs_its_tools_in_cells(theirs: Any, source: str) -> None:
    names = SOURCES[source](theirs)
    made = names.Tool(name="where", description="", fn=where, input_schema={"type": "object"})
    box = drop_in.SubprocessSandbox(names.InProcessToolHost([made]))
    calls = [
        names.ToolCall(id="c1", tool="where", args={"x": 7}),
        names.ToolCall(id="c2", tool="ghost"),
        names.ToolCall(id="c3", tool="where", args={"x": {1, 2}, "y": 0}),
    ]
    ran, unknown, wrong = asyncio.run(agent_run(theirs, box, *calls))
    assert (ran["call_id"], ran["ok"], ran["output"][1]) == ("c1", True, 7)
    assert ran["output"][0] != os.getpid()
    assert ran["duration_ms"] > 0
    assert isinstance(ran["started_at"], datetime.datetime)
    assert (unknown["call_id"], unknown["error"]) == ("c2", "unknown tool: ghost")
    assert wrong["error"].startswith("SubprocessSandbox: tool raised TypeError: where() got an")


@pytest.mark.parametrize("source", SOURCES)
def test_a_path_outside_of_the_roots_is_denied_by_the_frameworks_result(
    theirs: Any, source: str, tmp_path: Any
) -> None:
    box = drop_in.SubprocessSandbox(SOURCES[source](theirs).InProcessToolHost([where]))
    files = drop_in.FilesystemSandbox(drop_in.NoSandbox(box), roots=[tmp_path])
    result: Any = asyncio.run(files.call("where", {"path": "/etc"}, call_id="c"))
    assert type(result) is theirs.ToolResult
    assert (result.denied, result.call_id) == (True, "c")


def test_the_names_give_the_frameworks_classes(theirs: Any) -> None:
    for name in ("ToolDef", "ToolResult", "ToolEvent", "ToolCall", "Tool", "tool",
                 "InProcessToolHost", "ConfigError", "SandboxError", "ToolError"):  # fmt: skip
        assert getattr(drop_in, name) is getattr(theirs, name)
    assert drop_in.JeevesAgentError is drop_in.LoomError is theirs.base


def test_names_that_were_imported_before_make_and_accept_its_objects(theirs: Any) -> None:
    before = Names()
    assert type(before.tool(where)) is theirs.Tool
    assert type(before.tool(name="n")(where)) is theirs.Tool
    assert type(before.ToolResult.success("c", 1)) is theirs.ToolResult
    assert type(before.InProcessToolHost([where])) is theirs.InProcessToolHost
    assert isinstance(theirs.Tool("n", "", where), before.Tool)
    assert isinstance(theirs.ToolResult.success("c", 1), before.ToolResult)
    assert not isinstance(theirs.Tool("n", "", where), before.ToolResult)


def test_its_objects_are_the_frameworks_in_full(theirs: Any) -> None:
    box = drop_in.SubprocessSandbox(theirs.InProcessToolHost([where]))
    result: Any = asyncio.run(box.call("where", {"x": 3}, call_id="c"))
    copied = result.model_copy(update={"call_id": "d"})
    assert type(copied) is theirs.ToolResult
    assert (copied.call_id, copied.output) == ("d", result.output)
    assert result.model_copy(deep=True) == result
    assert json.loads(result.model_dump_json())["output"] == result.output
    (listed,) = asyncio.run(box.list_tools())
    assert type(listed) is theirs.ToolDef
    with pytest.raises(ValueError, match="frozen"):
        listed.name = "other"


def test_a_class_that_derives_from_a_stand_in_is_left_alone(theirs: Any) -> None:
    class Mine(_jeeves_tools.InProcessToolHost):
        pass

    host = Mine([_jeeves_tools.tool(where)])
    assert type(host) is Mine
    result: Any = asyncio.run(drop_in.SubprocessSandbox(host).call("where", {"x": 1}))
    assert type(result) is theirs.ToolResult
    assert result.output[1] == 1


def test_every_name_of_the_error_catches_it(theirs: Any) -> None:
    for kind in (theirs.ConfigError, theirs.base, _jeeves_types.ConfigError):
        with pytest.raises(kind, match="wraps InProcessToolHost only"):
            drop_in.SubprocessSandbox(object())  # type: ignore[arg-type]


def test_the_result_is_of_the_framework_that_the_host_is_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = []
    for root, base in (("jeevesagent", "JeevesAgentError"), ("loomflow", "LoomError")):
        made = doubles(root, base)
        for name, each in made.items():
            monkeypatch.setitem(sys.modules, name, each)
        both.append(Framework(root, base, made))
    for framework in both:
        names: Any = framework
        box = drop_in.SubprocessSandbox(names.InProcessToolHost([where]))
        result = asyncio.run(box.call("ghost", {}))
        assert type(result) is framework.ToolResult  # type: ignore[attr-defined]
    with pytest.raises(both[1].ConfigError) as caught:  # type: ignore[attr-defined]
        drop_in.SubprocessSandbox(object())  # type: ignore[arg-type]
    assert isinstance(caught.value, both[0].ConfigError)  # type: ignore[attr-defined]


def test_a_framework_that_is_still_being_loaded_is_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    loading = types.ModuleType("jeevesagent")
    loading.__spec__ = types.SimpleNamespace(_initializing=True)  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "jeevesagent", loading)
    assert drop_in.ToolResult is _jeeves_types.ToolResult
    assert drop_in.JeevesAgentError is _jeeves_types.JeevesAgentError


class Validator:
    """Of a parameter, as LoomFlow's tools have them."""

    def validate_python(self, value: Any) -> Order:
        return Order(**value)


@pytest.mark.parametrize("order", [{"count": 2}, '{"count": 2}'])
def test_a_parameter_arrives_as_its_validator_makes_it(order: Any) -> None:
    made: Any = _jeeves_tools.Tool("count_of", "", count_of, {"properties": {"order": {}}})
    made.param_adapters = {"order": Validator(), "other": Validator()}
    box = drop_in.SubprocessSandbox(drop_in.InProcessToolHost([made]))
    result = asyncio.run(box.call("count_of", {"order": order}))
    assert result.output == ["Order", 3], result.error


def test_what_does_not_validate_is_passed_on() -> None:
    made: Any = _jeeves_tools.Tool("where", "", where)
    made.param_adapters = {"x": Validator()}
    assert _jeeves_tools.coerced({"x": "[1"}, made) == {"x": "[1"}

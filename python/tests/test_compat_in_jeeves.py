"""brig.compat.jeeves inside of JeevesAgent and LoomFlow: their own classes come and go."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import json
import os
import sys
import types
from typing import Any, List

import pytest
from jeeves_doubles import FRAMEWORKS, Agent, ExtendedToolHost, Framework, ScriptedModel

import brig.compat.jeeves as drop_in
from brig.compat import _jeeves_tools, _jeeves_types


def where(x: int = 0) -> List[int]:
    return [os.getpid(), x]


@dataclasses.dataclass
class Order:
    count: int


def count_of(order: Order) -> List[Any]:
    return [type(order).__name__, order.count + 1]


@pytest.fixture(params=FRAMEWORKS)
def theirs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The framework's names; it is loaded after brig."""
    return Framework(*request.param, monkeypatch)


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
    model = ScriptedModel(calls[:2], calls[2:])
    ran, unknown, wrong = asyncio.run(Agent(theirs, model, box).run("Where are you?"))
    assert (ran["call_id"], ran["ok"], ran["output"][1]) == ("c1", True, 7)
    assert ran["output"][0] != os.getpid()
    assert ran["duration_ms"] > 0
    began = datetime.datetime.fromisoformat(ran["started_at"].replace("Z", "+00:00"))
    assert began.utcoffset() == datetime.timedelta(0)
    assert (unknown["call_id"], unknown["error"]) == ("c2", "unknown tool: ghost")
    assert wrong["error"].startswith("SubprocessSandbox: tool raised TypeError: where() got an")
    # What the model was told.
    assert [each["name"] for each in model.tools] == ["where"]
    assert [[each.get("tool_call_id") for each in asked] for asked in model.asked] == [
        [None], [None, "c1", "c2"], [None, "c1", "c2", "c3"],
    ]  # fmt: skip
    assert model.asked[1][1]["content"] == str(ran["output"])
    assert model.asked[1][2]["content"] == "error: unknown tool: ghost"


@pytest.mark.parametrize("source", SOURCES)
def test_an_agent_may_add_tools_to_the_sandbox(theirs: Any, source: str) -> None:
    """As LoomFlow does for skills and agents that call each other: they run in the agent, the
    sandbox's in cells."""
    names = SOURCES[source](theirs)
    box = drop_in.SubprocessSandbox(names.InProcessToolHost([where]))

    async def inner() -> Any:
        return await box.call("where", {"x": 2}, call_id="inner")

    host = ExtendedToolHost(theirs, box, [theirs.tool(inner), theirs.tool(where, name="here")])
    calls = [
        names.ToolCall(id=f"c{n}", tool=tool) for n, tool in enumerate(["where", "inner", "here"])
    ]
    model = ScriptedModel(calls)
    cell, through, here = asyncio.run(Agent(theirs, model, host).run("Where are you?"))
    assert [each["name"] for each in model.tools] == ["where", "inner", "here"]
    assert [each["call_id"] for each in (cell, through, here)] == ["c0", "c1", "c2"]
    assert cell["output"][0] != os.getpid()
    assert (through["output"][0] != os.getpid(), through["output"][1]) == (True, 2)
    assert here["output"] == [os.getpid(), 0]


def test_an_agent_takes_brigs_sandboxes_for_hosts(theirs: Any) -> None:
    box = drop_in.SubprocessSandbox(theirs.InProcessToolHost([where]))
    for host in (box, drop_in.NoSandbox(box), drop_in.FilesystemSandbox(box, roots=["/usr"])):
        assert isinstance(host, theirs.ToolHost)
        assert asyncio.run(Agent(theirs, ScriptedModel(), host).run("")) == []


def test_tools_that_were_made_before_the_framework_was_loaded_are_brigs_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """docs/compat.md says so."""
    made, host = _jeeves_tools.tool(where), _jeeves_tools.InProcessToolHost([where])
    theirs: Any = Framework("loomflow", "LoomError", monkeypatch)
    assert not isinstance(made, theirs.Tool)
    with pytest.raises(TypeError, match="^tools= entries must be Tool instances or callables"):
        theirs.InProcessToolHost([made])
    # brig's sandbox takes the host, and its results are the framework's.
    result: Any = asyncio.run(drop_in.SubprocessSandbox(host).call("where", {"x": 1}))
    assert (type(result), result.output[1]) == (theirs.ToolResult, 1)


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
                 "InProcessToolHost", "ToolHost", "ConfigError", "SandboxError", "ToolError"):  # fmt: skip
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
    both = [Framework(*each, monkeypatch) for each in FRAMEWORKS]
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

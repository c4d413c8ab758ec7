"""brig.compat.jeeves: what JeevesAgent's SubprocessSandbox promised. The letters are the rows of
the defects table in notes/seeds.md."""

from __future__ import annotations

import asyncio
import collections
import ctypes
import dataclasses
import datetime
import decimal
import enum
import functools
import gc
import importlib.util
import json
import multiprocessing.resource_tracker
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional

import pytest
from conftest import alive, comes_true, gone, marker

from brig.compat import jeeves
from brig.compat.jeeves import (
    ConfigError,
    FilesystemSandbox,
    InProcessToolHost,
    JeevesAgentError,
    LoomError,
    NoSandbox,
    SandboxError,
    SubprocessSandbox,
    Tool,
    ToolCall,
    ToolDef,
    ToolError,
    ToolEvent,
    ToolHost,
    ToolResult,
    tool,
)

AT_ONCE = 15.0  # seconds; tells at once from never

by_value = pytest.mark.skipif(
    importlib.util.find_spec("cloudpickle") is None,
    reason="functions that no module has by name need cloudpickle",
)


# --- tools ---


def add(a: int, b: int = 1) -> int:
    """Adds two integers.

    With a longer story below.
    """
    return a + b


@tool
def decorated(text: str) -> str:
    """Shouts."""
    return text.upper()


async def slowly(value: int) -> int:
    await asyncio.sleep(0.01)
    return value * 2


def half(value: float) -> float:
    return value / 2


def blob(size: int) -> bytes:
    return b"x" * size


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: Any
    y: Any


class Pair(NamedTuple):
    a: Any
    b: Any


class Count(int):
    def __repr__(self) -> str:
        return f"Count({int(self)})"


class Zone(datetime.tzinfo):
    def utcoffset(self, _: Any) -> datetime.timedelta:
        return datetime.timedelta(hours=1)

    def __repr__(self) -> str:
        return "Zone()"


def looks(value: Any) -> List[str]:
    return [type(value).__name__, repr(value)]


def keys(**named: Any) -> List[Any]:
    return [list(named), named]


def exits(code: Any) -> None:
    raise SystemExit(code)


def leaves_and_sleeps(mark: str) -> None:
    subprocess.run(["sleep", mark])


def echo(value: Any) -> Any:
    return value


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def shout(text: str) -> str:
    print(text)
    os.write(1, text.encode())
    os.write(2, b"\xff\xfe")
    subprocess.run(["echo", text], check=True)
    return "said"


def fails(text: str) -> None:
    raise KeyError(text)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def fails_unprintably() -> None:
    raise Unprintable


def crash() -> None:
    ctypes.string_at(0)


def leave(code: int) -> None:
    os._exit(code)


REDUCED: List[str] = []


class Hostile:
    def __reduce__(self) -> Any:
        return REDUCED.append, ("code ran",)


def hostile() -> Any:
    return Hostile()


def socket_result() -> Any:
    return socket.socket(socket.AF_UNIX)


def linger(how: str, mark: str, seconds: float = 0.0, closed: bool = True) -> str:
    line = {
        "plain": f"sleep {mark} &",
        "ignores_sigterm": f"(trap '' TERM; exec sleep {mark}) &",
        "setsid": f"setsid sleep {mark} &",
        "double_fork": f"(setsid sh -c 'sleep {mark} &')",
    }[how]
    stream = subprocess.DEVNULL if closed else None
    subprocess.run(["sh", "-c", line], stdout=stream, stderr=stream, check=True)
    time.sleep(seconds)
    return "done"


def stubborn() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1)


def environment() -> Dict[str, str]:
    return dict(os.environ)


def look_around() -> List[str]:
    seen = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            seen.append(path.read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return seen


def connect(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), timeout=2).close()


def fill(path: str, megabytes: int) -> int:
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(bytes(1 << 20))
    return megabytes


def spawn(count: int, mark: str) -> int:
    children = []
    for _ in range(count):
        try:
            children.append(subprocess.Popen(["sleep", mark]))
        except OSError:
            break
    return len(children)


def bomb() -> None:
    while True:
        try:
            os.fork()
        except OSError:
            continue


def read(path: str) -> str:
    return Path(path).read_text()


def kill(pid: int) -> str:
    for target in (pid, os.getppid()):
        try:
            os.kill(target, signal.SIGKILL)
        except OSError:
            continue
    return "alive"


def eat(megabytes: int) -> int:
    return len(bytearray(b"x") * (megabytes << 20))


def listing(path: str) -> List[str]:
    return sorted(os.listdir(path))


TOOLS: List[Any] = [
    add, decorated, slowly, half, blob, echo, sleep, shout, fails, fails_unprintably, crash, leave,
    hostile, socket_result, linger, stubborn, environment, look_around, connect, fill, spawn, bomb,
    read, kill, eat, listing, looks, keys, exits, leaves_and_sleeps,
]  # fmt: skip


# --- helpers ---


def call(sandbox: SubprocessSandbox, name: str, call_id: str = "", **arguments: Any) -> ToolResult:
    return asyncio.run(sandbox.call(name, arguments, call_id=call_id))


def output_of(function: Callable[..., Any], **arguments: Any) -> Any:
    host = InProcessToolHost([Tool("it", "", function)])
    result = call(SubprocessSandbox(host), "it", **arguments)
    assert result.ok, result.error
    return result.output


@pytest.fixture(scope="module")
def box() -> Iterator[SubprocessSandbox]:
    yield SubprocessSandbox(InProcessToolHost(TOOLS))


@pytest.fixture(scope="module")
def hasty() -> Iterator[SubprocessSandbox]:
    yield SubprocessSandbox(InProcessToolHost(TOOLS), timeout_seconds=1.0)


HOWS = ["plain", "ignores_sigterm", "setsid", "double_fork"]


# --- the types ---


def test_results_have_the_seeds_fields() -> None:
    ok = ToolResult.success("c1", 5)
    assert (ok.call_id, ok.ok, ok.output, ok.error, ok.denied) == ("c1", True, 5, None, False)
    assert ok.started_at.tzinfo is datetime.timezone.utc
    bad = ToolResult.error_(call_id="c2", message="no", duration_ms=1.5)
    assert (bad.ok, bad.error, bad.duration_ms) == (False, "no", 1.5)
    denied = ToolResult.denied_(call_id="c3", reason="never")
    assert (denied.ok, denied.denied, denied.reason) == (False, True, "never")
    ok.output = 6
    assert ok.output == 6


def test_results_have_what_agents_use_of_pydantics_models() -> None:
    ok = ToolResult.success("c1", {"b": (1, b"x"), "a": {2}}, duration_ms=1.5)
    told = ok.model_dump()
    assert list(told) == [
        "call_id", "ok", "output", "error", "denied", "reason", "duration_ms", "started_at",
    ]  # fmt: skip
    assert told["output"] == {"b": (1, b"x"), "a": {2}}
    assert told["started_at"] is ok.started_at
    as_json = ok.model_dump(mode="json", exclude_none=True, exclude={"denied"})
    assert as_json["output"] == {"b": [1, "x"], "a": [2]}
    assert as_json["started_at"].endswith("Z")
    assert "error" not in as_json and "denied" not in as_json
    assert json.loads(ok.model_dump_json(include={"call_id"})) == {"call_id": "c1"}
    copied = ok.model_copy(update={"call_id": "c2"})
    assert (copied.call_id, ok.call_id, copied.output is ok.output) == ("c2", "c1", True)
    assert ok.model_copy(deep=True).output is not ok.output
    assert ToolResult.model_validate({"call_id": "c", "ok": True}).call_id == "c"
    with pytest.raises(dataclasses.FrozenInstanceError):
        ToolDef("n", "d").name = "other"  # type: ignore[misc]


def test_a_call_has_an_id_and_a_key_of_its_tool_and_arguments() -> None:
    one = ToolCall(tool="t", args={"a": 1, "b": {2}})
    two = ToolCall(tool="t", args={"b": {2}, "a": 1})
    assert one.id != two.id
    assert re.fullmatch("tcall_[0-7][0-9A-HJKMNP-TV-Z]{25}", one.id)
    assert one.idempotency_key() == two.idempotency_key()
    assert one.idempotency_key() != ToolCall(tool="u", args=one.args).idempotency_key()
    assert (one.tool_def, one.is_destructive()) == (None, False)
    assert list(one.model_dump()) == ["id", "tool", "args", "tool_def", "destructive"]
    with pytest.raises(ValueError):
        ToolCall(id="c")


# Those of the framework's that concern its sandbox, under both of its names.
PUBLIC = {
    "ConfigError", "FilesystemSandbox", "InProcessToolHost", "JeevesAgentError", "LoomError",
    "NoSandbox", "SandboxError", "SubprocessSandbox", "Tool", "ToolCall", "ToolCallable", "ToolDef",
    "ToolError", "ToolEvent", "ToolHost", "ToolResult", "tool",
}  # fmt: skip


def test_every_public_name_is_there() -> None:
    assert set(jeeves.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(jeeves, name) is not None
    assert LoomError is JeevesAgentError
    assert issubclass(SandboxError, JeevesAgentError) and issubclass(ToolError, JeevesAgentError)
    with pytest.raises(AttributeError, match="has no attribute 'JeevesError'"):
        jeeves.JeevesError  # type: ignore[attr-defined]  # noqa: B018
    for name in ("OSSandbox", "SandboxMode"):  # LoomFlow's: docs/compat.md says what to use
        assert not hasattr(jeeves, name)


def test_whatever_has_the_methods_is_a_host(box: SubprocessSandbox) -> None:
    for host in (box, InProcessToolHost(), NoSandbox(box)):
        assert isinstance(host, ToolHost)
    assert not isinstance(object(), ToolHost)


def test_events_and_definitions_have_the_seeds_fields() -> None:
    assert [f.name for f in dataclasses.fields(ToolEvent)] == ["kind", "tool", "server", "at"]
    assert ToolDef("n", "d") == ToolDef("n", "d", {}, None, False)


def test_a_tool_is_made_of_a_function() -> None:
    made = tool(add)
    assert (made.name, made.description, made.fn) == ("add", "Adds two integers.", add)
    assert not made.destructive


def test_a_default_makes_a_parameter_optional() -> None:
    assert tool(add).input_schema == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a"],
    }


def test_the_decorator_takes_a_name_a_description_and_destructive() -> None:
    made = tool(name="plus", description="Sums.\nMore.", destructive=True)(add)
    assert (made.name, made.description, made.destructive) == ("plus", "Sums.", True)
    assert made.to_def() == ToolDef("plus", "Sums.", made.input_schema, destructive=True)


def test_hints_become_a_schema() -> None:
    def function(  # type: ignore[no-untyped-def]
        self, text: str, n: int, x: float, yes: bool, names: List[str], bare, *args: int, **kw: int
    ):
        pass

    schema = tool(function).input_schema
    assert schema["properties"] == {
        "text": {"type": "string"},
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "yes": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "bare": {"type": "string"},
    }
    assert schema["required"] == ["text", "n", "x", "yes", "names", "bare"]


def test_what_has_no_schema_is_a_string() -> None:
    def function(where: socket.socket, what: "Nowhere") -> None:  # type: ignore # noqa: F821
        pass

    properties = tool(function).input_schema["properties"]
    assert properties == {"where": {"type": "string"}, "what": {"type": "string"}}


# --- the host ---


def test_a_host_takes_tools_and_callables() -> None:
    host = InProcessToolHost([add, decorated])
    assert host.get("decorated") is decorated
    assert host.register(half) is host.get("half")
    assert host.unregister("half") is True
    assert host.unregister("half") is False
    assert host.get("half") is None
    with pytest.raises(TypeError):
        host.register(42)  # type: ignore[arg-type]


def test_a_host_searches_names_and_descriptions() -> None:
    host = InProcessToolHost([add, decorated])

    def names(query: Optional[str]) -> List[str]:
        return [found.name for found in asyncio.run(host.list_tools(query=query))]

    assert names(None) == ["add", "decorated"]
    assert names("SHOUT") == ["decorated"]
    assert names("AdD") == ["add"]
    assert names("nothing") == []


def test_a_host_calls_in_process() -> None:
    host = InProcessToolHost([add, slowly, fails])
    assert asyncio.run(host.call("add", {"a": "2", "b": 3}, call_id="c")).output == 5
    assert asyncio.run(host.call("slowly", {"value": 4})).output == 8
    assert asyncio.run(host.call("nope", {})).error == "unknown tool: nope"
    assert asyncio.run(host.call("fails", {"text": "x"})).error == "'x'"


async def events_of(host: Any) -> List[ToolEvent]:
    return [event async for event in host.watch()]


def test_a_static_host_has_no_events() -> None:
    host = InProcessToolHost([add])
    assert asyncio.run(events_of(host)) == []
    assert asyncio.run(events_of(SubprocessSandbox(host))) == []


class Watched(InProcessToolHost):
    async def watch(self) -> Any:
        yield ToolEvent("added", "add")


def test_events_of_the_host_are_passed_on() -> None:
    events = asyncio.run(events_of(SubprocessSandbox(Watched([add]))))
    assert [(e.kind, e.tool) for e in events] == [("added", "add")]


# --- the other wrappers ---


class Recorded(InProcessToolHost):
    def __init__(self) -> None:
        super().__init__()
        self.calls: List[Any] = []

    async def call(self, tool: str, args: Mapping[str, Any], *, call_id: str = "") -> ToolResult:
        self.calls.append(args)
        return ToolResult.success(call_id, "ran")


def test_no_sandbox_hands_everything_on() -> None:
    host = Recorded()
    wrapped = NoSandbox(host)
    assert wrapped.inner is host
    assert asyncio.run(wrapped.call("t", {"path": "/etc"}, call_id="c")).call_id == "c"
    assert asyncio.run(wrapped.list_tools(query="x")) == []


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ({"path": "/etc/passwd"}, "/etc/passwd"),
        ({"x": "/etc/passwd"}, "/etc/passwd"),  # it looks like one
        ({"x": "..\\up"}, None),  # a name on this system, below the working directory
        ({"output_path": ".."}, ".."),
        ({"src-files": ["a", {"b": "/etc"}]}, "/etc"),
        ({"resource": ".."}, None),  # neither the name nor the text says "path"
        ({"deep": {"list": [("x", {"file": "link/passwd"})]}}, "link/passwd"),
        ({"paths": {"any": "~/x"}}, "~/x"),
        ({"x": Path("/etc")}, "/etc"),
        ({"path": b"/etc"}, "/etc"),
        ({"path": "a\0b"}, "a\0b"),
        ({"msg": "hello"}, None),
        ({"path": "inside.txt", "n": 3, "none": None}, None),
        ({"x": functools.reduce(lambda v, _: [v], range(16), "/etc")}, "/etc"),
        ({"x": functools.reduce(lambda v, _: [v], range(17), "/etc")}, "nested too deep"),
    ],
)
def test_a_path_outside_of_the_roots_is_denied(
    args: Dict[str, Any], found: Optional[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to("/etc")
    monkeypatch.chdir(tmp_path)
    host = Recorded()
    result = asyncio.run(FilesystemSandbox(host, roots=[tmp_path]).call("t", args, call_id="c"))
    name = next(iter(args))
    assert result.denied == (found is not None)
    assert len(host.calls) == (found is None)
    assert result.call_id == "c"
    if found is not None:
        assert result.reason == (
            f"FilesystemSandbox: argument {name!r} resolves outside the allowed roots ({found!r})"
        )


def test_named_arguments_are_the_only_paths(tmp_path: Path) -> None:
    files = FilesystemSandbox(Recorded(), roots=["/usr", tmp_path], path_args=["where"])
    assert files.roots == (Path("/usr").resolve(), tmp_path.resolve())
    assert asyncio.run(files.call("t", {"where": "/var"})).denied
    assert asyncio.run(files.call("t", {"where": "/usr/bin", "path": "/var"})).ok
    off = FilesystemSandbox(Recorded(), roots=["/usr"], auto_detect=False)
    assert asyncio.run(off.call("t", {"path": "/var"})).ok
    with pytest.raises(ValueError, match="^FilesystemSandbox requires at least one allowed root$"):
        FilesystemSandbox(Recorded(), roots=[])


# --- the sandbox ---


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_a_timeout_that_is_not_positive_is_a_value_error(seconds: float) -> None:
    with pytest.raises(ValueError, match="^timeout_seconds must be positive$"):
        SubprocessSandbox(InProcessToolHost(), timeout_seconds=seconds)


def test_another_host_is_a_config_error() -> None:
    class Remote:
        pass

    with pytest.raises(ConfigError) as caught:
        SubprocessSandbox(Remote())  # type: ignore[arg-type]
    assert str(caught.value) == (
        "SubprocessSandbox wraps InProcessToolHost only "
        "(it needs access to the registered Tool.fn callable). Got Remote."
    )
    assert isinstance(caught.value, JeevesAgentError)


def test_the_frameworks_own_host_is_taken() -> None:
    class Theirs:
        def get(self, name: str) -> Optional[Tool]:
            return Tool("add", "", add) if name == "add" else None

    Theirs.__name__ = "InProcessToolHost"
    assert call(SubprocessSandbox(Theirs()), "add", a=1).output == 2  # type: ignore[arg-type]


def test_properties_are_the_seeds() -> None:
    host = InProcessToolHost()
    sandbox = SubprocessSandbox(host)
    assert sandbox.inner is host
    assert sandbox.timeout_seconds == 30.0


def test_tools_are_listed_as_the_host_has_them(box: SubprocessSandbox) -> None:
    assert asyncio.run(box.list_tools(query="adds")) == [tool(add).to_def()]


def test_a_call_gives_its_output(box: SubprocessSandbox) -> None:
    result = call(box, "add", call_id="c7", a=2, b=3)
    assert (result.call_id, result.ok, result.output, result.error) == ("c7", True, 5, None)
    assert result.duration_ms is not None and result.duration_ms > 0


def test_any_mapping_will_do_for_arguments(box: SubprocessSandbox) -> None:
    class Arguments(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return {"a": 2}[key]

        def __iter__(self) -> Iterator[str]:
            return iter(["a"])

        def __len__(self) -> int:
            return 1

    assert asyncio.run(box.call("add", Arguments())).output == 3


def test_an_unknown_tool_is_told(box: SubprocessSandbox) -> None:
    result = call(box, "nope", call_id="c")
    assert (result.call_id, result.ok, result.error) == ("c", False, "unknown tool: nope")


def test_a_tool_registered_later_is_seen() -> None:
    host = InProcessToolHost([add])
    sandbox = SubprocessSandbox(host)
    assert call(sandbox, "add", a=1).output == 2
    host.register(half)
    assert call(sandbox, "half", value=3.0).output == 1.5
    host.register(Tool("add", "", half))
    assert call(sandbox, "add", value=5.0).output == 2.5
    host.unregister("add")
    assert call(sandbox, "add", value=5.0).error == "unknown tool: add"
    assert call(sandbox, "half", value=3.0).ok


def test_a_tool_whose_function_is_exchanged_calls_the_new_one() -> None:
    made = Tool("it", "", add)
    sandbox = SubprocessSandbox(InProcessToolHost([made]))
    assert call(sandbox, "it", a=1).output == 2
    made.fn = half
    assert call(sandbox, "it", value=1).output == 0.5


def test_a_call_in_flight_outlives_a_registration() -> None:
    host = InProcessToolHost([sleep])
    sandbox = SubprocessSandbox(host)

    async def both() -> List[ToolResult]:
        await sandbox.call("sleep", {"seconds": 0})
        slow = asyncio.ensure_future(sandbox.call("sleep", {"seconds": 1.0}))
        await asyncio.sleep(0.1)
        host.register(add)
        return [await sandbox.call("add", {"a": 1}), await slow]

    assert all(result.ok for result in asyncio.run(both()))


@by_value
def test_x1_lambdas_and_closures_can_be_called() -> None:
    offset = 40
    assert output_of(lambda x: x + offset, x=2) == 42

    async def local(x: int) -> int:
        return x * offset

    assert output_of(local, x=2) == 80


def test_x1_a_decorated_function_can_be_called(box: SubprocessSandbox) -> None:
    assert call(box, "decorated", text="hey").output == "HEY"


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def next(self) -> int:
        self.count += 1
        return self.count


@by_value
def test_x1_a_method_sees_its_object_as_it_is_now() -> None:
    counter = Counter()
    sandbox = SubprocessSandbox(InProcessToolHost([counter.next]))
    assert call(sandbox, "next").output == 1
    counter.count = 10
    assert call(sandbox, "next").output == 11
    assert counter.count == 10


@pytest.mark.parametrize(
    "value",
    [
        Colour.RED,
        Point(1, 2),
        Pair(1, "b"),
        [Point(1, [Colour.RED]), {"k": Pair(1, 2)}],
        collections.OrderedDict([("b", 1), ("a", 2)]),
        collections.Counter("abca"),
        datetime.datetime(2026, 1, 2, tzinfo=Zone()),
        Count(3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_argument_that_can_be_pickled_arrives_as_what_it_is(
    box: SubprocessSandbox, value: Any
) -> None:
    assert call(box, "looks", value=value).output == [type(value).__name__, repr(value)]


def test_an_argument_may_be_of_a_module_that_the_tool_does_not_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = SubprocessSandbox(InProcessToolHost([looks]))
    name = f"module_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text("class Thing:\n    def __repr__(self): return 'a thing'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    tmp_path.chmod(0o755)
    thing = importlib.import_module(name).Thing()
    assert call(box, "looks", value=1).output == ["int", "1"]
    assert call(box, "looks", value=thing).output == ["Thing", "a thing"]

    other = SubprocessSandbox(InProcessToolHost([decorated, listing]))
    assert call(other, "decorated", text="a").output == "A"  # a tool that two sandboxes share
    box = SubprocessSandbox(InProcessToolHost([decorated]))
    for sandbox in (box, other):
        assert "has no attribute 'upper'" in (call(sandbox, "decorated", text=thing).error or "")
    third = SubprocessSandbox(InProcessToolHost([decorated, listing]))
    assert call(third, "decorated", text="a").output == "A"
    assert not set(call(third, "listing", path="/tmp").output) & set(tmp_path.parts)


def test_a_sandbox_ends_with_the_last_use_of_it() -> None:
    box = SubprocessSandbox(InProcessToolHost([add]))
    assert call(box, "add", a=1).output == 2
    held = weakref.ref(box._functions._current.sandbox)  # type: ignore[union-attr]
    gc.disable()
    try:
        del box
        assert held() is None
    finally:
        gc.enable()


def test_the_order_of_keys_is_kept_both_ways(box: SubprocessSandbox) -> None:
    named = {"z": 1, "a": {"y": [{"q": 1, "b": 2}], "c": 3}, "m": 2}
    result = call(box, "keys", **named)
    assert repr(result.output) == repr([list(named), named])


@pytest.mark.parametrize("schema", [None, {}, {"properties": None}, {"properties": {"a": None}}, 3])
def test_any_schema_will_do(schema: Any) -> None:
    box = SubprocessSandbox(InProcessToolHost([Tool("add", "", add, schema)]))
    assert call(box, "add", a=1).output == 2


@pytest.mark.parametrize("args", [None, 3, [1], "text"])
def test_arguments_that_are_no_mapping_are_an_error(box: SubprocessSandbox, args: Any) -> None:
    result = asyncio.run(box.call("add", args, call_id="c"))
    assert (result.ok, result.call_id) == (False, "c")
    assert (result.error or "").startswith("SubprocessSandbox: tool 'add' or its arguments are not")


def test_a_policy_gives_a_file_and_a_variable(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "in").write_text("given")
    host = InProcessToolHost([read, environment])
    policy = {"files": {"read": [str(tmp_path)]}, "environment": {"set": {"OF_POLICY": "1"}}}
    box = SubprocessSandbox(host, policy=policy)
    assert call(box, "read", path=str(tmp_path / "in")).output == "given"
    assert call(box, "environment").output["OF_POLICY"] == "1"
    assert not call(SubprocessSandbox(host), "read", path=str(tmp_path / "in")).ok


def test_a_policy_that_is_wrong_is_told() -> None:
    with pytest.raises(ValueError, match="^policy: expected a mapping"):
        SubprocessSandbox(InProcessToolHost(), policy="host")  # type: ignore[arg-type]
    box = SubprocessSandbox(InProcessToolHost([add]), policy={"netwrok": "host"})
    assert "netwrok" in (call(box, "add", a=1).error or "")


def test_a_child_of_a_fork_has_a_sandbox_of_its_own(box: SubprocessSandbox) -> None:
    assert call(box, "add", a=1).output == 2
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, repr(call(box, "add", a=2)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        assert "ok=True, output=3" in answer.read()
    os.waitpid(child, 0)
    assert call(box, "add", a=3).output == 4


def test_threads_with_loops_of_their_own_may_call_at_once(box: SubprocessSandbox) -> None:
    results: List[Any] = []

    def work(n: int) -> None:
        results.extend(call(box, "add", a=a).output for a in range(n, n + 5))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(a + 1 for n in range(6) for a in range(n, n + 5))


trio_runs = pytest.mark.skipif(importlib.util.find_spec("trio") is None, reason="there is no trio")


@trio_runs
def test_it_runs_under_trio(box: SubprocessSandbox) -> None:
    import trio

    async def both() -> List[Any]:
        host = InProcessToolHost([add])
        fresh = SubprocessSandbox(host)  # whose interpreter starts meanwhile
        return [await fresh.call("add", {"a": 1}), await box.call("slowly", {"value": 2}),
                await host.call("add", {"a": 3})]  # fmt: skip

    assert [result.output for result in trio.run(both)] == [2, 4, 4]


@pytest.mark.skipif(importlib.util.find_spec("anyio") is None, reason="there is no anyio")
@pytest.mark.parametrize("backend", ["asyncio", pytest.param("trio", marks=trio_runs)])
def test_it_runs_under_both_of_anyios_back_ends(box: SubprocessSandbox, backend: str) -> None:
    import anyio

    async def at_once() -> List[Any]:
        results: List[Any] = []

        async def one(value: int) -> None:
            results.append((await box.call("add", {"a": value})).output)

        async with anyio.create_task_group() as group:
            for value in range(3):
                group.start_soon(one, value)
        return sorted(results)

    assert anyio.run(at_once, backend=backend) == [1, 2, 3]


@trio_runs
def test_cancelling_under_trio_ends_the_call(box: SubprocessSandbox) -> None:
    import trio

    mark = marker()

    async def give_up() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(box.call, "leaves_and_sleeps", {"mark": mark})
            while not alive(mark):
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()

    begun = time.monotonic()
    trio.run(give_up)
    assert gone(mark)
    assert time.monotonic() - begun < AT_ONCE


@trio_runs
def test_cancelling_under_trio_before_there_is_a_thread_leaves_none(box: SubprocessSandbox) -> None:
    import trio

    async def give_up() -> None:
        await box.call("add", {"a": 1})
        limiter = trio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = 1
        async with limiter, trio.open_nursery() as nursery:
            nursery.start_soon(box.call, "add", {"a": 1})
            while not limiter.statistics().tasks_waiting:
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()

    trio.run(give_up)
    assert comes_true(lambda: not [each for each in threading.enumerate() if "(end)" in each.name])


def test_without_an_event_loop_it_is_an_error(box: SubprocessSandbox) -> None:
    calling = box.call("add", {"a": 1}, call_id="c")
    with pytest.raises(StopIteration) as ended:
        calling.send(None)
    assert "no running event loop" in (ended.value.value.error or "")


def test_x1_an_argument_that_can_not_be_carried_is_an_error(box: SubprocessSandbox) -> None:
    class Local:
        pass

    result = call(box, "echo", value=Local())
    assert not result.ok
    assert result.error is not None
    assert result.error.startswith(
        "SubprocessSandbox: tool 'echo' or its arguments are not picklable ("
    )
    assert "Local" in result.error


def test_x1_a_function_that_can_not_be_carried_is_an_error() -> None:
    lock = threading.Lock()
    host = InProcessToolHost([Tool("locked", "", lambda: lock.locked()), add])
    sandbox = SubprocessSandbox(host)
    result = call(sandbox, "locked")
    assert not result.ok
    assert "SubprocessSandbox: tool 'locked' or its arguments" in (result.error or "")
    assert call(sandbox, "add", a=1).output == 2


def test_a_module_that_fails_where_it_is_loaded_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"module_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(
        "import os\nif 'HERE' not in os.environ: raise OSError('not here')\ndef f(): pass\n"
    )
    monkeypatch.setenv("HERE", "yes")
    monkeypatch.syspath_prepend(str(tmp_path))
    function = importlib.import_module(name).f
    sandbox = SubprocessSandbox(InProcessToolHost([function, add]))
    error = call(sandbox, "f").error or ""
    assert "OSError: not here" in error
    assert "picklable" not in error
    assert call(sandbox, "add", a=1).output == 2


def test_x1_a_result_that_can_not_be_carried_is_told(box: SubprocessSandbox) -> None:
    result = call(box, "socket_result")
    assert not result.ok
    assert "socket" in (result.error or "")
    assert "without producing a result" not in (result.error or "")


@pytest.mark.parametrize("guard", ["if __name__ == '__main__':", "if True:"])
def test_a_function_of_a_script_can_be_called(tmp_path: Path, guard: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio\n"
        "from brig.compat.jeeves import InProcessToolHost, SubprocessSandbox, tool\n"
        "host = InProcessToolHost()\n"
        "sandbox = SubprocessSandbox(host)\n"
        "@tool\n"
        "def twice(n: int) -> int:\n"
        "    return n * 2\n"
        "host.register(twice)\n"
        f"{guard}\n"
        "    print(asyncio.run(sandbox.call('twice', {'n': '21'})).output)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("42\n", "")


SESSION = """
import asyncio, dataclasses, enum
from brig.compat.jeeves import InProcessToolHost, SubprocessSandbox
class Colour(enum.Enum):
    RED = 1
@dataclasses.dataclass
class Point:
    x: object
def look(point):
    return [isinstance(point, Point), isinstance(point.x, Colour), point.x.name]
box = SubprocessSandbox(InProcessToolHost([look]))
result = asyncio.run(box.call("look", {"point": Point(Colour.RED)}))
print(result.error or result.output)
"""


@pytest.mark.parametrize("way", ["a script", pytest.param("a session", marks=by_value)])
def test_an_argument_may_be_of_a_class_of_the_main_program(tmp_path: Path, way: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SESSION)
    words = ["-c", SESSION] if way == "a session" else [str(script)]
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("[True, True, 'RED']\n", "")


def test_an_async_tool_is_awaited(box: SubprocessSandbox) -> None:
    assert call(box, "slowly", value=4).output == 8


@pytest.mark.parametrize(
    "value",
    [
        None,
        [1, 2.5, "x", {"k": True}],
        b"\0\xff",
        (1, (2, 3)),
        {1, 2},
        datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.timezone.utc),
        decimal.Decimal("1.10"),
    ],
)
def test_values_keep_their_types(box: SubprocessSandbox, value: Any) -> None:
    result = call(box, "echo", value=value)
    assert result.output == value
    assert type(result.output) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "output"),
    [("half", "8", 4.0), ("half", "8.5", 4.25), ("add", "8", 9), ("add", "8.0", 9)],
)
def test_x6_numbers_in_strings_are_coerced(
    box: SubprocessSandbox, name: str, given: str, output: float
) -> None:
    result = call(box, name, **{"half": {"value": given}, "add": {"a": given}}[name])
    assert result.output == output


def test_x6_what_does_not_fit_is_passed_as_it_is() -> None:
    def kinds(n: int, x: float, yes: bool, text: str, maybe: Optional[int] = None) -> None:
        pass

    seen: List[Any] = []
    made = tool(kinds)
    made.fn = lambda **arguments: seen.append(arguments)
    given: List[Dict[str, Any]] = [
        {"n": "8.5", "x": "eight", "yes": "maybe", "text": "8"},
        {"n": "8.0", "x": "8", "yes": "Yes", "text": ""},
        {"n": 8.5, "x": 3, "yes": "", "text": 5},
        {"n": "9007199254740993", "x": "1e3", "yes": "0", "text": "no", "maybe": "8"},
    ]
    for each in given:
        asyncio.run(made.execute(each))
    assert seen == [
        {"n": "8.5", "x": "eight", "yes": "maybe", "text": "8"},
        {"n": 8, "x": 8.0, "yes": True, "text": ""},
        {"n": 8.5, "x": 3, "yes": False, "text": 5},
        {"n": 9007199254740993, "x": 1000.0, "yes": False, "text": "no", "maybe": 8},
    ]


def test_x6_no_resource_tracker_is_left(box: SubprocessSandbox) -> None:
    assert call(box, "add", a=1).ok
    tracker: Any = multiprocessing.resource_tracker._resource_tracker
    assert tracker._fd is None


# --- how calls end ---


@pytest.mark.parametrize("size", [65_507, 65_508, 16 << 20])
def test_a_big_results_arrive(box: SubprocessSandbox, size: int) -> None:
    assert call(box, "blob", size=size).output == b"x" * size


def test_b_a_hostile_result_runs_nothing_here(box: SubprocessSandbox) -> None:
    result = call(box, "hostile")
    assert not result.ok
    assert REDUCED == []


def test_c_prints_do_not_reach_the_hosts_stdout(
    box: SubprocessSandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    assert call(box, "shout", text="loud").output == "said"
    assert capfd.readouterr() == ("", "")


def test_an_exception_is_told_by_type_and_message(box: SubprocessSandbox) -> None:
    result = call(box, "fails", text="x")
    assert result.error == "SubprocessSandbox: tool raised KeyError: 'x'"


def test_a_missing_argument_is_told(box: SubprocessSandbox) -> None:
    result = call(box, "add", b=1)
    assert "TypeError: add() missing 1 required positional argument: 'a'" in (result.error or "")


def test_x2_a_crash_is_told_by_its_signal(box: SubprocessSandbox) -> None:
    error = call(box, "crash").error or ""
    assert error.startswith("SubprocessSandbox: subprocess exited without producing a result")
    assert "SIGSEGV" in error


@pytest.mark.parametrize("code", [0, 3])
def test_x2_an_exit_is_told_by_its_code(box: SubprocessSandbox, code: int) -> None:
    error = call(box, "leave", code=code).error or ""
    assert error.startswith("SubprocessSandbox: subprocess exited without producing a result")
    assert f"exit code {code}" in error


@pytest.mark.parametrize(("code", "text"), [(5, "5"), ("bye", "bye"), (None, "None")])
def test_an_exit_by_exception_is_an_error_as_in_the_seed(
    box: SubprocessSandbox, code: Any, text: str
) -> None:
    assert call(
        box, "exits", code=code
    ).error == f"SubprocessSandbox: tool raised SystemExit: {text}"


def test_x2_an_exception_without_words_is_told_by_its_type(box: SubprocessSandbox) -> None:
    error = call(box, "fails_unprintably").error or ""
    assert error.startswith("SubprocessSandbox: tool raised Unprintable")


def test_a_timeout_is_told_as_in_the_seed(hasty: SubprocessSandbox) -> None:
    result = call(hasty, "sleep", call_id="c", seconds=60)
    assert (result.call_id, result.ok) == ("c", False)
    assert result.error == "SubprocessSandbox: tool exceeded 1.0s"


@pytest.mark.parametrize("how", HOWS)
def test_d_no_descendant_survives_a_timeout(hasty: SubprocessSandbox, how: str) -> None:
    mark = marker()
    result = call(hasty, "linger", how=how, mark=mark, seconds=60)
    assert "exceeded" in (result.error or "")
    assert gone(mark)


@pytest.mark.parametrize("how", HOWS)
def test_d2_no_descendant_survives_success(box: SubprocessSandbox, how: str) -> None:
    mark = marker()
    assert call(box, "linger", how=how, mark=mark).output == "done"
    assert gone(mark)


def test_d3_ignoring_sigterm_does_not_help(hasty: SubprocessSandbox) -> None:
    began = time.monotonic()
    assert "exceeded" in (call(hasty, "stubborn").error or "")
    assert time.monotonic() - began < AT_ONCE


def test_e_a_child_that_holds_stdout_does_not_delay_the_result(box: SubprocessSandbox) -> None:
    mark = marker()
    began = time.monotonic()
    assert call(box, "linger", how="plain", mark=mark, closed=False).output == "done"
    assert time.monotonic() - began < AT_ONCE
    assert gone(mark)


def test_f_a_result_beyond_the_limit_is_refused(box: SubprocessSandbox) -> None:
    result = call(box, "blob", size=200 << 20)
    assert not result.ok
    assert "without producing a result" not in (result.error or "")


# --- the jail ---


def test_y1_a_call_has_a_private_tmp_and_still_answers(
    box: SubprocessSandbox, tmp_path: Path
) -> None:
    (tmp_path / "here").touch()
    result = call(box, "listing", path="/tmp")
    assert result.ok
    assert not set(result.output) & set(tmp_path.parts)


def test_y1_a_module_below_tmp_can_be_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"module_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text("def triple(n):\n    return n * 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert output_of(importlib.import_module(name).triple, n=3) == 9


def test_f4_the_environment_is_not_seen(
    box: SubprocessSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "OPENAI_API_KEY" not in call(box, "environment").output


def test_f4_a_secret_that_the_host_was_started_with_is_not_seen() -> None:
    secret = f"sk-{uuid.uuid4()}"
    program = (
        "import asyncio, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_compat_jeeves as t\n"
        "print(t.output_of(t.environment), t.output_of(t.look_around))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "OPENAI_API_KEY": secret},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "PATH" in done.stdout
    assert secret not in done.stdout


def test_h_the_host_can_not_be_reached(box: SubprocessSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        assert not call(box, "connect", port=server.getsockname()[1]).ok
        with pytest.raises(socket.timeout):
            server.accept()


def test_h2_half_a_gigabyte_of_disk_is_not_given(box: SubprocessSandbox) -> None:
    assert not call(box, "fill", path="/tmp/fill", megabytes=512).ok


def test_h3_300_processes_are_not_left(box: SubprocessSandbox) -> None:
    mark = marker()
    result = call(box, "spawn", count=300, mark=mark)
    assert not result.ok or result.output < 300
    assert gone(mark)


def test_x7_a_fork_bomb_is_gone_when_the_call_returns(hasty: SubprocessSandbox) -> None:
    began = time.monotonic()
    assert not call(hasty, "bomb").ok
    assert time.monotonic() - began < AT_ONCE
    assert call(hasty, "add", a=1).output == 2


def test_h4_the_host_can_be_neither_read_nor_killed(
    box: SubprocessSandbox, tmp_path: Path
) -> None:
    (tmp_path / "private").write_text("mine")
    for path in ("/etc/shadow", str(tmp_path / "private")):
        assert not call(box, "read", path=path).ok
    call(box, "kill", pid=os.getpid())


def test_h5_memory_has_a_limit_and_that_is_told(box: SubprocessSandbox) -> None:
    result = call(box, "eat", megabytes=3000)
    assert not result.ok
    assert "memory" in (result.error or "").lower()


# --- the event loop ---


async def ticks_during(work: Any) -> int:
    task = asyncio.ensure_future(work)
    ticks = 0
    while not task.done():
        await asyncio.sleep(0.001)
        ticks += 1
    assert (await task).ok
    return ticks


def test_x4_the_loop_runs_on_while_a_sandbox_starts() -> None:
    sandbox = SubprocessSandbox(InProcessToolHost([add]))
    assert asyncio.run(ticks_during(sandbox.call("add", {"a": 1}))) > 5


def test_many_calls_at_once_all_have_their_full_time() -> None:
    sandbox = SubprocessSandbox(InProcessToolHost([sleep]), timeout_seconds=AT_ONCE)

    async def many() -> List[ToolResult]:
        await sandbox.call("sleep", {"seconds": 0})
        return await asyncio.gather(*(sandbox.call("sleep", {"seconds": 1}) for _ in range(24)))

    began = time.monotonic()
    assert all(result.ok for result in asyncio.run(many()))
    assert time.monotonic() - began < AT_ONCE


def test_cancelling_the_task_ends_the_call(box: SubprocessSandbox) -> None:
    mark = marker()

    async def cancelled() -> None:
        work = box.call("linger", {"how": "plain", "mark": mark, "seconds": 60})
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(work, 0.5)

    began = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - began < AT_ONCE
    assert gone(mark)


def test_calls_may_come_from_many_loops(box: SubprocessSandbox) -> None:
    assert [call(box, "add", a=n).output for n in range(5)] == [1, 2, 3, 4, 5]

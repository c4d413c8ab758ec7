"""A Python function in a cell: what goes in, what comes out, and how it can end."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import logging
import os
import random
import secrets
import signal
import sys
import threading
import time
import uuid
import warnings
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import pytest

from conftest import SOON, memory_is_the_trees, needs_open_interpreter, once_it_runs

import brig


class Unit(enum.Enum):
    CELSIUS = "C"
    KELVIN = "K"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


@brig.tool
def add(a: int, b: int = 1) -> int:
    """Adds two integers."""
    return a + b


@brig.tool
def shifted(point: Point, by: float, unit: Unit = Unit.CELSIUS) -> Point:
    assert isinstance(point, Point) and isinstance(unit, Unit)
    return Point(point.x + by, point.y + by)


@brig.tool
async def waits(seconds: float) -> str:
    import asyncio

    await asyncio.sleep(seconds)
    return "waited"


@brig.tool
def reverse(data: bytes) -> bytes:
    assert isinstance(data, bytes)
    return data[::-1]


@brig.tool
def many_types() -> Any:
    return {
        "bytes": b"\x00\xff",
        "date": datetime.date(2026, 11, 15),
        "moment": datetime.datetime(2026, 11, 15, 12, 0, tzinfo=datetime.timezone.utc),
        "decimal": decimal.Decimal("1.10"),
        "tuple": (1, 2),
        "point": Point(1.0),
        "unit": Unit.KELVIN,
        "uuid": uuid.UUID(int=1),
    }


@brig.tool
def speaks() -> None:
    print("printed")
    print("to stderr", file=sys.stderr)
    logging.getLogger("a").warning("logged")
    warnings.warn("warned", stacklevel=1)
    os.write(1, b"written below Python\n")


@brig.tool
def raises(text: str = "broken") -> None:
    def inner() -> None:
        raise KeyError(text)

    inner()


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@brig.tool
def ends(how: str) -> Any:
    if how == "sys.exit":
        sys.exit(3)
    if how == "sys.exit text":
        sys.exit("a last word")
    if how == "sys.exit 0":
        sys.exit()
    if how == "_exit":
        os._exit(7)
    if how == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "ctypes":
        import ctypes

        ctypes.string_at(0)
    if how == "recursion":
        return ends("recursion")
    if how == "memory":
        return len(bytearray(1 << 40))
    if how == "oom":
        return sum(
            len(bytes([1]) * (64 << 20)) for _ in [bytearray(b"x" * (64 << 20)) for _ in range(20)]
        )
    if how == "unprintable":
        raise Unprintable()
    if how == "interrupt":
        raise KeyboardInterrupt()
    if how == "thread":
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        return "left a thread"
    if how == "socket":
        import socket

        return {"a": [1, socket.socket(socket.AF_UNIX)]}
    if how == "nan":
        return float("nan")
    if how == "cycle":
        loop: list[Any] = []
        loop.append(loop)
        return loop
    if how == "huge":
        return 1 << 70
    raise AssertionError(how)


@brig.tool
def draws() -> list[Any]:
    return [
        random.random(), secrets.token_hex(8), str(uuid.uuid1()), str(uuid.uuid4()), os.urandom(8).hex(),
    ]  # fmt: skip


@brig.tool
def sees() -> dict[str, Any]:
    return {
        "environment": dict(os.environ),
        "argv": sys.argv,
        "path": sys.path,
        "descriptors": sorted(os.listdir("/proc/self/fd")),
        "processes": [p for p in os.listdir("/proc") if p.isdigit()],
        "pid": os.getpid(),
    }


@brig.tool
def sleeps(seconds: float) -> str:
    print("asleep", flush=True)
    time.sleep(seconds)
    return "slept"


@brig.tool
def makes_a_box() -> str:
    try:
        brig.Sandbox([add])
    except brig.UnsupportedError as error:
        return str(error)
    return "made"


TOOLS = [
    add, shifted, waits, reverse, many_types, speaks, raises, ends, draws, sees, sleeps, makes_a_box,
]  # fmt: skip


@pytest.fixture(scope="module")
def box() -> Iterator[brig.Sandbox]:
    os.environ["A_SECRET"] = "sk-123"
    with brig.Sandbox(TOOLS, timeout=20, memory="256M") as made:
        yield made


def test_a_function_is_called_by_name(box: brig.Sandbox) -> None:
    result = box.call_sync("add", {"a": 2, "b": 3}, call_id="mine")
    assert (result.ok, result.output, result.error, result.call_id) == (True, 5, None, "mine")
    assert result.report.outcome == "ok" and "seccomp" in result.report.enforced
    assert result.started_at.tzinfo is not None and result.duration_ms > 0


def test_a_decorated_function_stays_callable() -> None:
    assert add(1) == 2


def test_a_default_is_used(box: brig.Sandbox) -> None:
    assert box.call_sync("add", {"a": 2}).output == 3


def test_harmless_strings_are_taken_for_numbers(box: brig.Sandbox) -> None:
    assert box.call_sync("add", {"a": "8"}).output == 9


def test_wrong_arguments_never_reach_a_cell(box: brig.Sandbox) -> None:
    result = box.call_sync("add", {"a": "x", "c": 1})
    assert result.report.outcome == "invalid_arguments" and not result.ok
    assert "a" in str(result.error) and "c" in str(result.error)


@pytest.mark.parametrize("arguments", [{"a": float("nan")}, {"a": object()}, [1], {"a": "\ud800"}])
def test_arguments_that_are_not_json_are_refused_and_not_raised(
    box: brig.Sandbox, arguments: Any
) -> None:
    assert box.call_sync("add", arguments).report.outcome == "invalid_arguments"


def test_a_refused_call_has_the_members_of_every_result(box: brig.Sandbox) -> None:
    refused, other = box.call_sync("add", {"a": object()}), box.call_sync("add", {"a": "x"})
    assert refused.report.outcome == other.report.outcome == "invalid_arguments"
    assert list(refused.report.to_json()) == list(other.report.to_json())
    for part in ("usage", "steps"):
        assert list(getattr(refused.report, part)) == list(getattr(other.report, part))


def test_an_unknown_tool_is_told(box: brig.Sandbox) -> None:
    result = box.call_sync("nope")
    assert result.report.outcome == "unknown_tool" and "nope" in str(result.error)


def test_dataclasses_and_enums_arrive_as_what_they_are(box: brig.Sandbox) -> None:
    result = box.call_sync("shifted", {"point": {"x": 1}, "by": 2, "unit": "K"})
    assert result.output == {"x": 3.0, "y": 2.0}


def test_an_async_function_is_awaited(box: brig.Sandbox) -> None:
    assert box.call_sync("waits", {"seconds": 0.01}).output == "waited"


def test_bytes_go_both_ways(box: brig.Sandbox) -> None:
    assert box.call_sync("reverse", {"data": b"\x00\x01\xff"}).output == b"\xff\x01\x00"


@pytest.mark.parametrize("size", [65507, 65508, 1 << 20])
def test_large_bytes_go_both_ways(box: brig.Sandbox, size: int) -> None:
    data = os.urandom(size)
    assert box.call_sync("reverse", {"data": data}).output == data[::-1]


def test_64_mib_go_both_ways(sandbox: Callable[..., brig.Sandbox]) -> None:
    data = os.urandom(1 << 20) * 64
    with sandbox([reverse], timeout=60, memory="1G", result="128M") as large:
        result = large.call_sync("reverse", {"data": data})
    assert result.error is None and result.output == data[::-1]


def test_results_have_a_json_form(box: brig.Sandbox) -> None:
    assert box.call_sync("many_types").output == {
        "bytes": "AP8=",
        "date": "2026-11-15",
        "moment": "2026-11-15T12:00:00+00:00",
        "decimal": "1.10",
        "tuple": [1, 2],
        "point": {"x": 1.0, "y": 0.0},
        "unit": "K",
        "uuid": "00000000-0000-0000-0000-000000000001",
    }


def test_all_that_is_printed_is_captured(box: brig.Sandbox, capfd: Any) -> None:
    report = box.call_sync("speaks").report
    assert report.stdout == b"printed\nwritten below Python\n"
    for words in (b"to stderr\n", b"logged\n", b"warned"):
        assert words in report.stderr
    assert capfd.readouterr() == ("", "")


def test_an_exception_comes_back_as_type_message_and_traceback(box: brig.Sandbox) -> None:
    result = box.call_sync("raises", {"text": "gone"})
    assert (result.error, result.error_type, result.error_message) == (
        "KeyError: 'gone'", "KeyError", "'gone'"
    )
    trace = str(result.traceback)
    assert trace.startswith("Traceback") and "in inner" in trace and trace.endswith("KeyError: 'gone'")
    assert "_cell.py" not in trace and "_schema.py" not in trace


@pytest.mark.parametrize(
    ("how", "outcome", "words"),
    [
        ("sys.exit", "exit", "code 3 "),
        ("sys.exit text", "exit", "code 1 "),
        ("sys.exit 0", "exit", "code 0 without"),
        ("_exit", "exit", "code 7 "),
        ("segv", "signal", "SIGSEGV"),
        ("ctypes", "signal", "SIGSEGV"),
        ("recursion", "tool_error", "RecursionError"),
        ("memory", "tool_error", "MemoryError"),
        ("oom", "memory_limit", "memory"),
        ("unprintable", "tool_error", "Unprintable: "),
        ("interrupt", "tool_error", "KeyboardInterrupt"),
        ("socket", "tool_error", "InvalidResult: the result holds a socket at "),
        ("nan", "tool_error", "InvalidResult"),
        ("cycle", "tool_error", "InvalidResult"),
        ("huge", "tool_error", "InvalidResult"),
    ],
)
def test_every_end_is_told_as_what_it_was(
    box: brig.Sandbox, how: str, outcome: str, words: str
) -> None:
    if how == "oom" and not memory_is_the_trees():
        pytest.skip("no memory cgroup for this user: the limit is per process")
    result = box.call_sync("ends", {"how": how})
    assert (result.report.outcome, result.ok) == (outcome, False), result
    assert words in str(result.error)


def test_a_last_word_is_kept(box: brig.Sandbox) -> None:
    assert box.call_sync("ends", {"how": "sys.exit text"}).report.stderr == b"a last word\n"


def test_a_daemon_thread_left_running_holds_up_nothing(box: brig.Sandbox) -> None:
    assert box.call_sync("ends", {"how": "thread"}).output == "left a thread"


def test_what_was_printed_before_a_timeout_is_kept(sandbox: Callable[..., brig.Sandbox]) -> None:
    result = sandbox([sleeps], timeout=1).call_sync("sleeps", {"seconds": 60})
    assert result.report.outcome == "timeout" and result.report.stdout == b"asleep\n"


def test_no_two_cells_draw_the_same(box: brig.Sandbox) -> None:
    drawn = [value for _ in range(5) for value in box.call_sync("draws").output]
    assert len(set(map(str, drawn))) == len(drawn)


def test_a_cell_sees_nothing_of_the_host(box: brig.Sandbox) -> None:
    seen = box.call_sync("sees").output
    assert "A_SECRET" not in seen["environment"] and "A_SECRET" in os.environ
    assert not [
        name for name in seen["environment"] if name.startswith(("PYTHON", "OPENBLAS", "OMP"))
    ]
    assert seen["processes"] == ["1", str(seen["pid"])]
    assert len(seen["descriptors"]) <= 5  # 0 to 2, the answer, and the listing itself


def test_nothing_is_kept_from_one_call_to_the_next(sandbox: Callable[..., brig.Sandbox]) -> None:
    pytest.importorskip("cloudpickle")
    counter = {"calls": 0}

    def count() -> int:
        counter["calls"] += 1
        with open("/tmp/mark", "a") as file:
            file.write("x")
        with open("/tmp/mark") as file:
            return counter["calls"] + len(file.read())

    box = sandbox([count])
    assert [box.call_sync("count").output for _ in range(3)] == [2, 2, 2] and counter["calls"] == 0


def test_the_environment_is_the_policys(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox([sees], environment={"CITY": "Bern"}, passthrough=["A_NAME"])
    assert box.call_sync("sees").output["environment"]["CITY"] == "Bern"


def test_a_tool_has_a_policy_of_its_own(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox(
        [brig.Tool(sleeps, name="short", policy={"timeout": "500ms"}), sleeps], timeout=20
    )
    assert box.call_sync("short", {"seconds": 60}).report.outcome == "timeout"
    assert box.call_sync("sleeps", {"seconds": 0.6}).ok


def test_on_the_landlock_floor_a_cell_has_its_own_directory(
    sandbox: Callable[..., brig.Sandbox]
) -> None:
    needs_open_interpreter()
    box = sandbox([sees], policy={"isolation": "landlock"})
    homes = {box.call_sync("sees").output["environment"]["HOME"] for _ in range(2)}
    assert all(home.startswith("/tmp/brig-") for home in homes)


def test_an_import_finds_what_the_host_would_find(box: brig.Sandbox) -> None:
    seen = box.call_sync("sees").output["path"]
    assert not [path for path in seen if path.startswith("/proc")]
    conftests = str(Path(__file__).resolve().parent.parent)  # the interpreter has imported that too
    assert set(seen) - {conftests} <= {os.path.realpath(path) for path in sys.path}


def test_a_cell_makes_no_sandbox(box: brig.Sandbox) -> None:
    assert "inside of a cell" in box.call_sync("makes_a_box").output


@pytest.mark.parametrize(
    "options",
    [{"timeout": 0}, {"timeout": -1}, {"timeout": float("nan")}, {"memory": "much"}, {"network": "all"},
     {"read": ["/no/such/path"]}, {"policy": {"tiemout": 1}}, {"ready_min": 5, "ready_max": 1}, {"read": "/usr"}],
)  # fmt: skip
def test_a_wrong_policy_raises_value_error(options: Any) -> None:
    with pytest.raises(ValueError) as caught:
        brig.Sandbox([add], **options)
    assert isinstance(caught.value, brig.ConfigError)


def test_an_empty_manifest_is_refused_not_ignored() -> None:
    with pytest.raises(brig.ConfigError, match="manifest"):
        brig.Sandbox(manifest="")


def test_a_manifest_that_everyone_can_write_is_refused(tmp_path: Path) -> None:
    manifest = tmp_path / "brig.toml"
    manifest.write_text("[[command]]\nname = 'greet'\nargv = ['echo', 'hello']\n")
    manifest.chmod(0o666)
    with pytest.raises(brig.Error, match="everyone can write it"):
        brig.Sandbox(manifest=str(manifest))


def test_an_unknown_key_is_told_with_the_nearest() -> None:
    with pytest.raises(brig.ConfigError, match="did you mean 'timeout'"):
        brig.Sandbox([add], policy={"tiemout": 1})


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(brig.ConfigError, match="two tools have this name"):
        brig.Sandbox([add, brig.Tool(reverse, name="add")])


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(brig.ConfigError, match="name"):
        brig.Sandbox([lambda: 1])


def test_tools_are_listed_with_their_schemas(box: brig.Sandbox) -> None:
    (found,) = box.list_tools("ADDS")
    assert (found.name, found.description) == ("add", "Adds two integers.")
    assert found.input_schema["required"] == ["a"] and found.output_schema == {"type": "integer"}
    json.dumps(found.input_schema)


def test_tools_come_and_go(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox([add])
    box.add(reverse)
    assert [tool.name for tool in box.list_tools()] == ["add", "reverse"]
    assert box.call_sync("reverse", {"data": b"ab"}).output == b"ba"
    with pytest.raises(brig.ConfigError):
        box.add(reverse)

    def other(a: int) -> int:
        return a - 1

    box.replace(brig.Tool(other, name="add"))
    assert box.call_sync("add", {"a": 1}).output == 0
    assert box.remove("add") and not box.remove("add")
    assert box.call_sync("add", {"a": 1}).report.outcome == "unknown_tool"


def test_a_change_that_fails_changes_nothing(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox([add])
    with pytest.raises(brig.ConfigError):
        box.add(brig.Tool(reverse, name="no spaces in names"))
    assert [
        tool.name for tool in box.list_tools()
    ] == ["add"] and box.call_sync("add", {"a": 1}).output == 2


def test_a_closed_sandbox_says_so() -> None:
    box = brig.Sandbox([add])
    box.close()
    box.close()
    with pytest.raises(brig.Error, match="closed"):
        box.call_sync("add", {"a": 1})


def test_calls_from_many_threads(box: brig.Sandbox) -> None:
    results: list[Optional[int]] = []

    def work(i: int) -> None:
        for k in range(10):
            results.append(box.call_sync("add", {"a": i, "b": k}).output == i + k)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80


def test_a_call_in_another_thread_is_cancelled_by_close() -> None:
    box = brig.Sandbox([sleeps], timeout=60)
    results: list[brig.ToolResult] = []
    closing = once_it_runs(box, box.close)
    thread = threading.Thread(
        target=lambda: results.append(box.call_sync("sleeps", {"seconds": 60}))
    )
    thread.start()
    closing.join(2 * SOON)
    thread.join(SOON)
    assert results and results[0].report.outcome == "cancelled"


def _interrupt_main() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def _interrupt_this_thread() -> None:
    # As when the signal comes a moment before the main thread waits: the C handler has run, and no
    # system call was interrupted.
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


@pytest.mark.parametrize("interrupt", [_interrupt_main, _interrupt_this_thread])
def test_ctrl_c_ends_a_call(interrupt: Callable[[], None]) -> None:
    with brig.Sandbox([sleeps], timeout=60) as box:
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            interrupting = once_it_runs(box, interrupt)
            box.call_sync("sleeps", {"seconds": 60})
        assert time.monotonic() - begun < 2 * SOON
        interrupting.join()
        assert box.call_sync("sleeps", {"seconds": 0}).ok


def test_other_signals_are_handled_and_end_nothing() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: seen.append(number))
    try:
        with brig.Sandbox([sleeps], timeout=60) as box:
            signalling = once_it_runs(box, lambda: os.kill(os.getpid(), signal.SIGUSR1))
            assert box.call_sync("sleeps", {"seconds": 1}).output == "slept"
            signalling.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1]

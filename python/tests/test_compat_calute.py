"""brig.compat.calute: what Calute's SubprocessSandboxBackend promised. The letters are the rows of
the defects table in notes/seeds.md."""

from __future__ import annotations

import asyncio
import base64
import ctypes
import dataclasses
import datetime
import decimal
import enum
import functools
import importlib.util
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
from conftest import gone, marker

from brig.compat import calute
from brig.compat.calute import (
    DockerSandboxBackend,
    ExecutionContext,
    ExecutionDecision,
    SandboxBackendConfig,
    SandboxConfig,
    SandboxExecutionUnavailableError,
    SandboxMode,
    SandboxRouter,
    SubprocessSandboxBackend,
    get_backend,
    list_backends,
    register_backend,
)

AT_ONCE = 15.0  # seconds; tells at once from never

by_value = pytest.mark.skipif(
    importlib.util.find_spec("cloudpickle") is None,
    reason="functions that no module has by name need cloudpickle",
)


# --- functions to call ---


def add(a: int, b: int = 1) -> int:
    return a + b


def echo(value: Any) -> Any:
    return value


async def slowly(value: int) -> int:
    await asyncio.sleep(0.01)
    return value * 2


def blob(size: int) -> bytes:
    return b"x" * size


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def says(text: str) -> int:
    print(text, flush=True)
    subprocess.run(["echo", text], check=True)
    return 42


def writes_bytes() -> int:
    os.write(2, b"\xff\xfe")
    return 42


def floods(megabytes: int) -> int:
    for _ in range(megabytes):
        os.write(1, bytes(1 << 20))
    return megabytes


def forges() -> None:
    answer = pickle.dumps({"ok": True, "value": "forged"})
    os.write(1, base64.b64encode(answer))
    os._exit(0)


def fails(text: str) -> None:
    raise ValueError(text)


def crash() -> None:
    ctypes.string_at(0)


def leave(code: int) -> None:
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    os._exit(code)


def leave_politely() -> None:
    sys.exit(0)


REDUCED: List[str] = []


class Hostile:
    def __reduce__(self) -> Any:
        return REDUCED.append, ("code ran",)


def hostile() -> Any:
    return Hostile()


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


def connect(port: int) -> bool:
    socket.create_connection(("127.0.0.1", port), timeout=2).close()
    return True


def write(path: str, text: str) -> str:
    Path(path).write_text(text)
    return os.getcwd()


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: Any


def shown(value: Any) -> str:
    return repr(value)


def read(path: str) -> str:
    return Path(path).read_text()


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


def kill(pid: int) -> str:
    for target in (pid, os.getppid()):
        try:
            os.kill(target, signal.SIGKILL)
        except OSError:
            continue
    return "alive"


def eat(megabytes: int) -> int:
    return len(bytearray(b"x") * (megabytes << 20))


def eat_in_children(children: int, megabytes: int) -> List[int]:
    program = f"x = bytearray(b'x') * ({megabytes} << 20); import time; time.sleep(2)"
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(children)]
    return [child.wait() for child in running]


def idle_threads(count: int) -> int:
    release = threading.Event()
    threads = [threading.Thread(target=release.wait) for _ in range(count)]
    for thread in threads:
        thread.start()
    running = sum(thread.is_alive() for thread in threads)
    release.set()
    for thread in threads:
        thread.join()
    return running


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def next(self) -> int:
        self.count += 1
        return self.count


# --- helpers ---


def execute(config: SandboxConfig, function: Callable[..., Any], **arguments: Any) -> Any:
    return SubprocessSandboxBackend(config).execute("it", function, arguments)


Run = Callable[..., Any]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    backend = SubprocessSandboxBackend(SandboxConfig())
    yield lambda function, **arguments: backend.execute("it", function, arguments)


@pytest.fixture(scope="module")
def run_hastily() -> Iterator[Run]:
    backend = SubprocessSandboxBackend(SandboxConfig(sandbox_timeout=1.0))
    yield lambda function, **arguments: backend.execute("it", function, arguments)


HOWS = ["plain", "ignores_sigterm", "setsid", "double_fork"]
TIMED_OUT = "^Subprocess sandbox execution of tool 'it' timed out after 1.0s$"


# --- configuration and router ---


def test_the_configuration_has_the_seeds_defaults() -> None:
    assert dataclasses.asdict(SandboxConfig()) == {
        "mode": SandboxMode.OFF,
        "sandboxed_tools": set(),
        "elevated_tools": set(),
        "sandbox_timeout": 30.0,
        "sandbox_memory_limit_mb": 512,
        "sandbox_network_access": False,
        "working_directory": None,
        "backend_type": None,
        "backend_config": {
            "image": "python:3.12-slim",
            "mount_paths": {},
            "mount_readonly": True,
            "env_vars": {},
            "extra_args": {},
        },
    }
    assert [mode.value for mode in SandboxMode] == ["off", "warn", "strict"]
    assert [context.value for context in ExecutionContext] == ["host", "sandbox"]


@pytest.mark.parametrize(
    ("mode", "tool", "context", "reason"),
    [
        (SandboxMode.STRICT, "free", "host", "Tool is marked as elevated"),
        (SandboxMode.OFF, "sh", "host", "Sandbox mode is off"),
        (SandboxMode.STRICT, "sh", "sandbox", "Strict sandbox enforcement"),
        (SandboxMode.STRICT, "other", "host", "Tool not designated for sandbox"),
        (SandboxMode.WARN, "other", "host", "Tool not designated for sandbox"),
        (
            SandboxMode.WARN,
            "sh",
            "host",
            "Warn mode advisory: tool would run in sandbox, executing on host",
        ),
    ],
)
def test_the_router_decides_as_the_seeds(
    mode: SandboxMode, tool: str, context: str, reason: str
) -> None:
    config = SandboxConfig(mode=mode, sandboxed_tools={"sh", "free"}, elevated_tools={"free"})
    decision = SandboxRouter(config).decide(tool)
    assert decision == ExecutionDecision(ExecutionContext(context), tool, reason)


def test_warn_mode_logs(caplog: pytest.LogCaptureFixture) -> None:
    config = SandboxConfig(mode=SandboxMode.WARN, sandboxed_tools={"sh"})
    with caplog.at_level(logging.WARNING):
        SandboxRouter(config).decide("sh")
    assert "Tool 'sh' would run in sandbox (mode=warn, running on host)" in caplog.messages


# Those of Calute's modules sandbox and sandbox_backends, which have one name after all three of its
# renamings.
PUBLIC = {
    "DockerSandboxBackend", "ExecutionContext", "ExecutionDecision", "SandboxBackend",
    "SandboxBackendConfig", "SandboxConfig", "SandboxExecutionUnavailableError", "SandboxMode",
    "SandboxRouter", "SubprocessSandboxBackend", "get_backend", "list_backends", "logger",
    "register_backend",
}  # fmt: skip


def test_every_public_name_is_there() -> None:
    assert set(calute.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(calute, name) is not None
    assert calute.logger.name == "calute.security.sandbox"
    with pytest.raises(AttributeError, match="has no attribute 'PolicyEngine'"):
        calute.PolicyEngine  # noqa: B018


def test_a_call_is_logged_as_calute_does(caplog: pytest.LogCaptureFixture) -> None:
    name = "calute.security.sandbox_backends.subprocess_backend"
    with caplog.at_level(logging.DEBUG, name):
        execute(SandboxConfig(), add, a=1)
    told = [(each.name, each.levelname, each.getMessage()) for each in caplog.records]
    assert (name, "DEBUG", "Subprocess sandbox executing tool 'it'") in told


def test_a_router_has_a_configuration_of_its_own() -> None:
    router = SandboxRouter()
    assert router.config == SandboxConfig()
    assert router.backend is None


def test_a_router_without_a_backend_raises() -> None:
    with pytest.raises(SandboxExecutionUnavailableError) as caught:
        SandboxRouter().execute_in_sandbox("sh", add, {"a": 1})
    assert caught.value.tool_name == "sh"
    assert isinstance(caught.value, RuntimeError)
    assert str(caught.value) == (
        "Tool 'sh' requires sandbox execution, but no sandbox backend is configured"
    )


def test_a_router_runs_in_its_backend() -> None:
    config = SandboxConfig(mode=SandboxMode.STRICT, sandboxed_tools={"add"})
    router = SandboxRouter(config, get_backend("subprocess", config))
    assert router.execute_in_sandbox("add", add, {"a": 1}) == 2


# --- registry ---


def test_the_backends_are_registered() -> None:
    assert list_backends() == ["docker", "subprocess"]
    assert isinstance(get_backend("subprocess", SandboxConfig()), SubprocessSandboxBackend)


def test_an_unknown_backend_is_a_value_error() -> None:
    with pytest.raises(ValueError) as caught:
        get_backend("nope", SandboxConfig())
    assert str(caught.value) == (
        "Unknown sandbox backend 'nope'. Available backends: docker, subprocess"
    )


def test_docker_is_refused_and_its_users_are_told_what_to_use() -> None:
    backend = get_backend("docker", SandboxConfig(sandbox_memory_limit_mb=64))
    assert isinstance(backend, DockerSandboxBackend)
    assert backend.get_capabilities() == {
        "backend": "docker",
        "available": False,
        "image": "python:3.12-slim",
        "network_access": False,
        "memory_limit_mb": 64,
        "timeout": 30.0,
    }
    with pytest.raises(RuntimeError, match="tool 'it' failed: .* use the backend 'subprocess'"):
        backend.execute("it", add, {"a": 1})


def test_a_backend_of_ones_own_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    import brig.compat.calute as calute

    monkeypatch.setattr(calute, "_backends", dict(calute._backends))

    class Mine(SubprocessSandboxBackend):
        def __init__(self, *, sandbox_config: SandboxConfig) -> None:  # as get_backend() names it
            super().__init__(sandbox_config)

    register_backend("docker", Mine)
    assert list_backends() == ["docker", "subprocess"]
    assert isinstance(get_backend("docker", SandboxConfig()), Mine)


def test_capabilities_are_the_seeds_and_tell_of_the_cell() -> None:
    backend = SubprocessSandboxBackend(SandboxConfig(sandbox_timeout=5.0))
    assert backend.is_available() is True
    assert backend.get_capabilities() == {
        "backend": "subprocess",
        "available": True,
        "isolation_level": "process",
        "filesystem_isolation": False,
        "network_isolation": False,
        "memory_limit_mb": 512,
        "timeout": 5.0,
        "cell": {
            "isolation_level": "jail",
            "filesystem_isolation": True,
            "network_isolation": True,
        },
    }


@pytest.mark.parametrize(
    "backend",
    [
        SubprocessSandboxBackend(SandboxConfig(sandbox_network_access=True)),
        SubprocessSandboxBackend(SandboxConfig(), policy={"network": "host"}),
    ],
)
def test_network_access_is_no_network_isolation(backend: SubprocessSandboxBackend) -> None:
    assert backend.get_capabilities()["cell"]["network_isolation"] is False


# --- calls ---


def test_a_function_gives_its_result(run: Run) -> None:
    assert run(add, a=2, b=3) == 5


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
def test_values_keep_their_types(run: Run, value: Any) -> None:
    result = run(echo, value=value)
    assert result == value
    assert type(result) is type(value)


def test_a_function_called_again_is_warm() -> None:
    backend = SubprocessSandboxBackend(SandboxConfig())
    backend.execute("add", add, {"a": 1})
    began = time.monotonic()
    for n in range(100):
        assert backend.execute("add", add, {"a": n}) == n + 1
    assert time.monotonic() - began < AT_ONCE  # the seed: 2 to 4 s on an idle machine


@pytest.fixture()
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> List[Callable[..., int]]:
    """More functions than are kept warm."""
    name = f"module_{uuid.uuid4().hex}"
    lines = [f"def add_{n}(b=1): return {n} + b" for n in range(40)]
    (tmp_path / f"{name}.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(name)
    return [getattr(module, f"add_{n}") for n in range(40)]


def test_many_functions_take_turns(many: List[Callable[..., int]]) -> None:
    backend = SubprocessSandboxBackend(SandboxConfig())
    for _ in range(2):
        assert [backend.execute("it", f, {}) for f in many] == list(range(1, 41))


def test_threads_may_call_at_once(many: List[Callable[..., int]]) -> None:
    backend = SubprocessSandboxBackend(SandboxConfig())
    results: List[int] = []

    def work(n: int) -> None:
        results.extend(backend.execute("it", many[n], {"b": b}) for b in range(5))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(n + b for n in range(6) for b in range(5))


def test_a_backend_works_in_a_loop_that_runs() -> None:
    """As in a notebook, whose cells are run by a loop."""
    backend = SubprocessSandboxBackend(SandboxConfig())

    async def cell() -> List[Any]:
        return [backend.execute("it", add, {"a": 1}), backend.execute("it", slowly, {"value": 2})]

    assert asyncio.run(cell()) == [2, 4]


def test_a_changed_configuration_holds_from_the_next_call() -> None:
    config = SandboxConfig(backend_config=SandboxBackendConfig(env_vars={"WHO": "one"}))
    backend = SubprocessSandboxBackend(config)
    assert backend.execute("it", environment, {})["WHO"] == "one"
    config.backend_config.env_vars["WHO"] = "two"
    assert backend.execute("it", environment, {})["WHO"] == "two"


@by_value
def test_x1_lambdas_and_closures_can_be_called(run: Run) -> None:
    offset = 40
    assert run(lambda x: x + offset, x=2) == 42


@by_value
def test_x1_a_method_sees_its_object_as_it_is_now(run: Run) -> None:
    counter = Counter()
    assert run(counter.next) == 1
    counter.count = 10
    assert run(counter.next) == 11


@by_value
def test_x1_a_partial_can_be_called() -> None:
    assert execute(SandboxConfig(), functools.partial(add, 2), b=3) == 5


@pytest.mark.parametrize("guard", ["if __name__ == '__main__':", "if True:"])
def test_x1_a_function_of_a_script_can_be_called(tmp_path: Path, guard: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from brig.compat.calute import SandboxConfig, SubprocessSandboxBackend\n"
        "backend = SubprocessSandboxBackend(SandboxConfig())\n"
        "def twice(n):\n"
        "    return n * 2\n"
        f"{guard}\n"
        "    print(backend.execute('twice', twice, {'n': 21}))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("42\n", "")


@pytest.mark.parametrize("timeout", [None, float("inf"), 1e9])
def test_a_timeout_may_be_as_long_as_one_likes(timeout: Any) -> None:
    assert execute(SandboxConfig(sandbox_timeout=timeout), add, a=1) == 2


@pytest.mark.parametrize("timeout", [0, -1.0, 0.001])
def test_a_timeout_in_which_nothing_starts_is_told_as_in_the_seed(timeout: float) -> None:
    with pytest.raises(RuntimeError, match=f"timed out after {timeout}s$"):
        execute(SandboxConfig(sandbox_timeout=timeout), add, a=1)


@pytest.mark.parametrize("config", [{"sandbox_timeout": float("nan")}, {"sandbox_timeout": "1"},
                                    {"sandbox_memory_limit_mb": None},
                                    {"sandbox_memory_limit_mb": float("inf")},
                                    {"sandbox_memory_limit_mb": -1}])  # fmt: skip
def test_a_limit_that_makes_no_sense_is_a_runtime_error(config: Dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match="^Subprocess sandbox execution of tool 'it' failed: "):
        execute(SandboxConfig(**config), add, a=1)


def test_a_memory_limit_may_be_a_fraction() -> None:
    limit: Any = 256.5
    assert execute(SandboxConfig(sandbox_memory_limit_mb=limit), add, a=1) == 2


def test_a_policy_gives_a_file_a_variable_and_the_network(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "in").write_text("given")
    policy = {
        "files": {"read": [str(tmp_path)]},
        "environment": {"set": {"OF_POLICY": "1", "OF_BOTH": "1"}},
        "network": "host",
    }
    mine = SandboxBackendConfig(env_vars={"OF_BOTH": "2"})
    backend = SubprocessSandboxBackend(SandboxConfig(backend_config=mine), policy=policy)
    assert backend.execute("it", read, {"path": str(tmp_path / "in")}) == "given"
    seen = backend.execute("it", environment, {})
    assert (seen["OF_POLICY"], seen["OF_BOTH"]) == ("1", "2")
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert backend.execute("it", connect, {"port": server.getsockname()[1]})


def test_x1_what_can_not_be_carried_is_a_runtime_error(run: Run) -> None:
    class Local:
        pass

    with pytest.raises(RuntimeError, match="Local"):
        run(echo, value=Local())
    lock = threading.Lock()
    with pytest.raises(RuntimeError, match="^Subprocess sandbox execution of tool 'it' failed"):
        run(lambda: lock.locked())


def test_an_argument_that_can_be_pickled_arrives_as_what_it_is(run: Run) -> None:
    for value in (Colour.RED, Point(1), [Point({"z": Colour.RED, "a": 1})]):
        assert run(shown, value=value) == repr(value)


def test_the_order_of_keys_is_kept_both_ways(run: Run) -> None:
    value = {"z": 1, "a": [{"y": 1, "b": 2}]}
    assert repr(run(echo, value=value)) == repr(value)


def test_a_child_of_a_fork_has_a_sandbox_of_its_own() -> None:
    backend = SubprocessSandboxBackend(SandboxConfig())
    assert backend.execute("it", add, {"a": 1}) == 2
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, repr(backend.execute("it", add, {"a": 2})).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        assert answer.read() == "3"
    os.waitpid(child, 0)
    assert backend.execute("it", add, {"a": 3}) == 4


def test_x2_an_async_function_is_awaited(run: Run) -> None:
    assert run(slowly, value=4) == 8


def test_an_exception_is_told_by_type_and_message(run: Run) -> None:
    with pytest.raises(RuntimeError) as caught:
        run(fails, text="no")
    assert str(caught.value) == "Tool 'it' raised ValueError inside subprocess sandbox: no"


def test_x2_a_crash_is_told_by_its_signal(run: Run) -> None:
    with pytest.raises(RuntimeError, match=r"^Subprocess .* 'it' failed \(exit -11\): "):
        run(crash)


@pytest.mark.parametrize("code", [0, 3])
def test_x2_an_exit_is_told_by_its_code_and_stderr(run: Run, code: int) -> None:
    with pytest.raises(RuntimeError) as caught:
        run(leave, code=code)
    assert str(caught.value) == (
        f"Subprocess sandbox execution of tool 'it' failed (exit {code}): last words"
    )


def test_x2_a_polite_exit_is_told_too(run: Run) -> None:
    with pytest.raises(RuntimeError, match="exit 0|SystemExit"):
        run(leave_politely)


def test_a_timeout_is_told_as_in_the_seed(run_hastily: Run) -> None:
    with pytest.raises(RuntimeError, match=TIMED_OUT):
        run_hastily(sleep, seconds=60)


@pytest.mark.parametrize("size", [65_508, 64 << 20])
def test_a_big_results_arrive(run: Run, size: int) -> None:
    assert run(blob, size=size) == b"x" * size


def test_b_a_hostile_result_runs_nothing_here(run: Run) -> None:
    with pytest.raises(RuntimeError, match="^Failed to deserialise subprocess sandbox result"):
        run(hostile)
    assert REDUCED == []


def test_b_an_answer_written_to_stdout_is_not_believed(run: Run) -> None:
    with pytest.raises(RuntimeError):
        run(forges)


@pytest.mark.parametrize("text", ["hello", "abcd", "progress: 10%", "---!!!"])
def test_c_what_a_function_prints_does_not_touch_its_result(run: Run, text: str) -> None:
    assert run(says, text=text) == 42


def test_f_a_flood_does_not_fill_the_host(run: Run) -> None:
    program = (
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_compat_calute as t\n"
        "print(t.execute(t.SandboxConfig(sandbox_timeout=120), t.floods, megabytes=1024))\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=180, check=True
    )
    megabytes, peak_kib = map(int, done.stdout.split())
    assert megabytes == 1024
    assert peak_kib < 200 * 1024


@pytest.mark.usefixtures("tree_memory")
def test_f_a_result_beyond_the_limit_is_refused(run: Run) -> None:
    with pytest.raises(RuntimeError, match="^Subprocess sandbox execution of tool 'it' failed"):
        run(blob, size=200 << 20)


def test_f2_stderr_that_is_not_utf8_is_no_error(run: Run) -> None:
    assert run(writes_bytes) == 42


@pytest.mark.parametrize("how", HOWS)
def test_d_no_descendant_survives_a_timeout(run_hastily: Run, how: str) -> None:
    mark = marker()
    with pytest.raises(RuntimeError, match=TIMED_OUT):
        run_hastily(linger, how=how, mark=mark, seconds=60)
    assert gone(mark)


@pytest.mark.parametrize("how", HOWS)
def test_d2_no_descendant_survives_success(run: Run, how: str) -> None:
    mark = marker()
    assert run(linger, how=how, mark=mark) == "done"
    assert gone(mark)


def test_d3_ignoring_sigterm_does_not_help(run_hastily: Run) -> None:
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=TIMED_OUT):
        run_hastily(stubborn)
    assert time.monotonic() - began < AT_ONCE


def test_e_a_child_that_holds_stdout_costs_nothing(run: Run) -> None:
    mark = marker()
    began = time.monotonic()
    assert run(linger, how="plain", mark=mark, closed=False) == "done"
    assert time.monotonic() - began < AT_ONCE
    assert gone(mark)


# --- the jail ---


def test_f4_the_environment_is_not_seen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "OPENAI_API_KEY" not in run(environment)


def test_variables_of_the_configuration_are_seen() -> None:
    config = SandboxConfig(backend_config=SandboxBackendConfig(env_vars={"GIVEN": "yes"}))
    assert execute(config, environment)["GIVEN"] == "yes"


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_g_a_bad_working_directory_is_a_runtime_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "file":
        path.write_text("not a directory")
    with pytest.raises(RuntimeError, match=kind):
        execute(SandboxConfig(working_directory=str(path)), add, a=1)


def test_g_the_working_directory_is_the_cells_and_can_be_written(tmp_path: Path) -> None:
    config = SandboxConfig(working_directory=str(tmp_path))
    assert execute(config, write, path="out", text="made") == os.path.realpath(tmp_path)
    assert (tmp_path / "out").read_text() == "made"


def test_g_a_file_in_the_working_directory_hijacks_no_later_call(tmp_path: Path) -> None:
    backend = SubprocessSandboxBackend(SandboxConfig(working_directory=str(tmp_path)))
    for name in ("base64", "pickle", "json", "asyncio", "test_compat_calute"):
        text = "raise SystemExit('hijacked')"
        backend.execute("it", write, {"path": f"{name}.py", "text": text})
    assert backend.execute("it", add, {"a": 1}) == 2
    assert execute(SandboxConfig(working_directory=str(tmp_path)), add, a=1) == 2


def test_g_a_working_directory_made_anew_is_seen(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    backend = SubprocessSandboxBackend(SandboxConfig(working_directory=str(workspace)))
    for text in ("first", "second"):
        workspace.mkdir()
        backend.execute("it", write, {"path": "out", "text": text})
        assert (workspace / "out").read_text() == text
        (workspace / "out").unlink()
        workspace.rmdir()


def test_mounts_are_seen_at_their_own_place(tmp_path: Path) -> None:
    given = os.path.realpath(tmp_path)
    tmp_path.chmod(0o755)  # root's private files stay private
    (tmp_path / "in").write_text("given")
    mounts = SandboxBackendConfig(mount_paths={given: given})
    config = SandboxConfig(backend_config=mounts)
    assert execute(config, read, path=f"{given}/in") == "given"
    with pytest.raises(RuntimeError, match="OSError|PermissionError"):
        execute(config, write, path=f"{given}/out", text="no")
    mounts.mount_readonly = False
    execute(config, write, path=f"{given}/out", text="yes")
    assert (tmp_path / "out").read_text() == "yes"


def test_mounts_for_a_container_do_no_harm(tmp_path: Path) -> None:
    given = os.path.realpath(tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / "in").write_text("given")
    mounts = SandboxBackendConfig(mount_paths={given: "/data", "/not/there": "/app"})
    config = SandboxConfig(backend_config=mounts)
    assert execute(config, read, path=f"{given}/in") == "given"  # as the seed, which ignored them


def test_h_the_host_can_not_be_reached_unless_it_may(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(RuntimeError):
            run(connect, port=port)
        assert execute(SandboxConfig(sandbox_network_access=True), connect, port=port)


def test_h2_half_a_gigabyte_of_disk_is_not_given(run: Run) -> None:
    with pytest.raises(RuntimeError):
        run(fill, path="/tmp/fill", megabytes=512)


def test_h3_300_processes_are_not_left(run: Run) -> None:
    mark = marker()
    try:
        assert run(spawn, count=300, mark=mark) < 300
    except RuntimeError:
        pass  # ended at the limit
    assert gone(mark)


def test_x7_a_fork_bomb_is_gone_when_the_call_returns(run_hastily: Run) -> None:
    began = time.monotonic()
    with pytest.raises(RuntimeError):
        run_hastily(bomb)
    assert time.monotonic() - began < AT_ONCE
    assert run_hastily(add, a=1) == 2


def test_h4_the_host_can_be_neither_read_nor_killed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("mine")
    for path in ("/etc/shadow", str(tmp_path / "private")):
        with pytest.raises(RuntimeError):
            run(read, path=path)
    try:
        run(kill, pid=os.getpid())
    except RuntimeError:
        pass  # it may have ended its own cell


def test_h5_memory_beyond_the_limit_is_told(run: Run) -> None:
    with pytest.raises(RuntimeError, match="(?i)memory"):
        run(eat, megabytes=600)


@pytest.mark.usefixtures("tree_memory")
def test_h5_the_limit_holds_for_all_processes_together(run: Run) -> None:
    try:
        assert run(eat_in_children, children=4, megabytes=400) != [0, 0, 0, 0]
    except RuntimeError as error:
        assert "memory" in str(error).lower()


@pytest.mark.usefixtures("tree_memory")
def test_h5_idle_threads_cost_no_memory(run: Run) -> None:
    assert run(idle_threads, count=80) == 80

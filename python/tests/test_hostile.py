"""Tools that attack: nothing that a cell sends is unpickled, evaluated or believed."""

from __future__ import annotations

import os
import struct
import sys
import time
import venv
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import brig


class Boom:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (os.system, (f"touch {self.path}",))


def answer_descriptor() -> int:
    """The one that no program but brig's would use."""
    return max(int(name) for name in os.listdir("/proc/self/fd"))


@brig.tool
def pickles(path: str) -> Any:
    return Boom(path)


@brig.tool
def forges(what: str) -> Any:
    fd = max(
        int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")
    )

    def frame(kind: int, payload: bytes) -> bytes:
        return struct.pack("=II", kind, len(payload)) + payload

    if what == "pickle":
        os.write(fd, frame(2, b"\x80\x04\x95cos\nsystem\n"))
    if what == "not json":
        os.write(fd, frame(2, b"__import__('os').system('true')"))
    if what == "two":
        os.write(fd, frame(2, b'"first"') + frame(2, b'"second"'))
    if what == "huge":
        os.write(fd, struct.pack("=II", 2, 0xFFFFFFFF))
    if what == "kind":
        os.write(fd, frame(77, b"x" * 100))
    if what == "half":
        os.write(fd, struct.pack("=II", 2, 1000) + b'"half')
    if what == "depth":
        os.write(fd, frame(2, b"[" * 100000 + b"]" * 100000))
    if what == "surrogate":
        os.write(fd, frame(2, b'"\\ud800"'))
    if what == "nan":
        os.write(fd, frame(2, b"NaN"))
    if what == "error":
        os.write(fd, frame(3, b'{"type": 7, "message": ["x"], "traceback": {}}'))
    os._exit(0)


@brig.tool
def patches() -> str:
    """Whatever it does to the runtime in its cell is the cell's."""
    import brig._cell
    import brig._values

    brig._values.dumps = brig._cell.dumps = lambda value: b'"patched"'  # type: ignore[assignment]
    sys.modules["json"] = None  # type: ignore[assignment]
    return "honest"


@brig.tool
def kills_all() -> str:
    for pid in range(1, 200):
        try:
            os.kill(pid, 9) if pid != os.getpid() else None
        except OSError:
            pass
    return "alive"


@brig.tool
def forks_on() -> str:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    return "parent"


@brig.tool
def both_answer() -> str:
    pid = os.fork()
    return "child" if pid == 0 else "parent"


@brig.tool
def reads(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read(1000)


@brig.tool
def writes(path: str) -> None:
    with open(path, "w") as file:
        file.write("x")


@brig.tool
def connects() -> None:
    import socket

    socket.create_connection(("127.0.0.1", 9), timeout=1)


@brig.tool
def is_user() -> int:
    return os.getuid()


TOOLS = [
    is_user, pickles, forges, patches, kills_all, forks_on, both_answer, reads, writes, connects
]


@pytest.fixture(scope="module", params=[None, "root"], ids=["default", "root"])
def box(request: pytest.FixtureRequest) -> Iterator[brig.Sandbox]:
    """Who a tool is inside its cell makes no difference."""
    with brig.Sandbox(TOOLS, timeout=10, memory="256M", user=request.param) as made:
        assert made.call_sync("is_user").output == (0 if request.param else 1000)
        yield made


def test_a_hostile_result_is_not_unpickled(box: brig.Sandbox, tmp_path: Path) -> None:
    result = box.call_sync("pickles", {"path": str(tmp_path / "was-here")})
    assert result.error_type == "InvalidResult" and "Boom" in str(result.error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("what", "outcome"),
    [
        ("pickle", "tool_error"), ("not json", "tool_error"), (
            "huge", "output_limit"
        ), ("kind", "exit"),
        ("half", "exit"), ("depth", "tool_error"), (
            "surrogate", "tool_error"
        ), ("nan", "tool_error"),
        ("error", "tool_error"),
    ],
)  # fmt: skip
def test_a_forged_frame_is_data(box: brig.Sandbox, what: str, outcome: str) -> None:
    result = box.call_sync("forges", {"what": what})
    assert (result.ok, result.report.outcome) == (False, outcome), result


def test_the_first_answer_counts(box: brig.Sandbox) -> None:
    assert box.call_sync("forges", {"what": "two"}).output == "first"


def test_a_patched_runtime_is_the_cells_own(box: brig.Sandbox) -> None:
    assert box.call_sync("patches").output == "patched"  # it may lie about its own result, no more
    assert box.call_sync("both_answer").output in ("child", "parent")
    assert box.call_sync("forks_on").output == "parent"
    assert box.call_sync("patches").output == "patched"


def test_killing_everyone_reaches_nobody(box: brig.Sandbox) -> None:
    assert box.call_sync("kills_all").output == "alive"


@pytest.mark.parametrize("path", ["/etc/shadow", f"/proc/{os.getpid()}/environ", "/proc/1/environ"])
def test_files_of_the_host_are_not_there(box: brig.Sandbox, path: str) -> None:
    assert not box.call_sync("reads", {"path": path}).ok


def test_a_file_that_anyone_can_read_is_not_there(box: brig.Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    secret.chmod(0o644)
    assert not box.call_sync("reads", {"path": str(secret)}).ok


def test_the_interpreter_can_not_be_written_to(box: brig.Sandbox) -> None:
    for path in (brig.__file__, os.__file__, sys.executable, __file__):
        result = box.call_sync("writes", {"path": path})
        assert not result.ok and result.error_type in (
            "OSError", "PermissionError", "FileNotFoundError"
        )


TRIES = """
import os


def tries() -> list[str]:
    done = []
    for path in ("/proc/self/exe", "/proc/1/exe", INTERPRETER):
        for name, change in {
            "chmod": lambda path: os.chmod(path, 0o777),
            "utime": lambda path: os.utime(path, (0, 0)),
            "setxattr": lambda path: os.setxattr(path, "user.brig", b"message"),
            "open": lambda path: os.close(os.open(path, os.O_WRONLY)),
            "truncate": lambda path: os.truncate(path, 0),
            "chown": lambda path: os.chown(path, os.getuid(), os.getgid()),
        }.items():
            try:
                change(path)
                done.append(f"{name} {path}")
            except OSError:
                pass
    return done
"""


def test_a_tool_can_not_change_the_file_of_its_interpreter(
    sandbox: Callable[..., brig.Sandbox], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of one's own, as that of a virtual environment is: the rights of its owner are the tool's,
    # unless brig was started as root.
    venv.create(tmp_path / "venv", symlinks=False, with_pip=False)
    interpreter = tmp_path / "venv" / "bin" / "python"
    assert not interpreter.is_symlink() and interpreter.stat().st_uid == os.getuid()
    code = tmp_path / "code"
    code.mkdir()
    (code / "tries_of_a_tool.py").write_text(TRIES.replace("INTERPRETER", repr(str(interpreter))))
    monkeypatch.syspath_prepend(str(code))
    import tries_of_a_tool  # type: ignore[import-not-found]

    def looks() -> tuple[object, ...]:
        info = os.stat(interpreter)
        return (info.st_mode, info.st_uid, info.st_size, info.st_mtime_ns, info.st_ctime_ns,
                os.listxattr(interpreter))  # fmt: skip

    before = looks()
    box = sandbox(
        [tries_of_a_tool.tries], interpreter=str(interpreter), paths=[str(code)], timeout=20
    )
    for _ in range(2):
        result = box.call_sync("tries")
        assert result.ok and result.output == [], result
    assert looks() == before


def test_there_is_no_network(box: brig.Sandbox) -> None:
    result = box.call_sync("connects")
    assert not result.ok and ["socket(AF_INET)"] == [v["what"] for v in result.report.violations]


def test_a_typed_result_is_not_believed(sandbox: Callable[..., brig.Sandbox]) -> None:
    def lies() -> Any:
        import os
        import struct

        fd = max(
            int(n) for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")
        )
        text = b'{"__type__": "os.system", "value": "true"}'
        os.write(fd, struct.pack("=II", 2, len(text)) + text)
        os._exit(0)

    result = sandbox([brig.Tool(lies, typed=True)]).call_sync("lies")
    assert result.report.outcome == "tool_error" and "can't be read" in str(result.error)

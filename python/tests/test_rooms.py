"""Rooms that are used again (decision 043): what a Python function leaves, the next one does not
find. tests/escape_rooms_test.cc has many more ways."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import threading
import time
from typing import Callable

import pytest

import brig

KEY = 0x6C656674
LIBC = ctypes.CDLL(None, use_errno=True)


def nothing() -> None:
    pass


def room() -> str:
    """Which one it is: a number that is used once, where the kernel has it."""
    info = os.stat("/tmp")
    mounts = [line.split()[0] for line in open("/proc/self/mountinfo") if line.split()[4] == "/tmp"]
    return f"{info.st_dev} {mounts} {info.st_ctime_ns}"


def find() -> list[str]:
    """All that the ways below could have left."""
    found = []
    for place in ("/tmp", "/workspace", "/dev/shm", os.environ.get("HOME", "/tmp")):
        info = os.stat(place)
        if info.st_mode & 0o7777 != 0o755 or os.listxattr(place):
            found.append(f"mode or attributes of {place}")
        # What is listed for the cell itself may be there.
        found += [f"{place}/{name}" for name in os.listdir(place) if name.startswith("as-left")]
    for name, call in (("shmget", LIBC.shmget), ("semget", LIBC.semget)):
        if call(KEY, 0, 0) >= 0:
            found.append(name)
    if LIBC.msgget(KEY, 0) >= 0:
        found.append("msgget")
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind("\0as-left")
        except OSError:
            found.append("abstract name")
    others = [
        name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())
    ]
    found += [f"process {name}" for name in others]
    if "AS_LEFT" in os.environ or hasattr(sys, "as_left") or "as_left" in sys.modules:
        found.append("state of the interpreter")
    if threading.active_count() != 1 or signal.getsignal(signal.SIGUSR2) != signal.SIG_DFL:
        found.append("threads or handlers")
    if os.getpriority(os.PRIO_PROCESS, 1) != 0 or os.getpriority(os.PRIO_PROCESS, 0) != 0:
        found.append("priority")
    if len(os.sched_getaffinity(1)) != len(os.sched_getaffinity(0)) or os.getcwd() != "/workspace":
        found.append("processors or directory")
    if signal.sigpending() or signal.pthread_sigmask(signal.SIG_BLOCK, []):
        found.append("signals")
    return found


def file() -> None:
    with open("/tmp/as-left", "w") as out:
        out.write("as left")


def file_of_home() -> None:
    os.mkdir(os.path.join(os.environ["HOME"], "as-left"))


def mode() -> None:
    os.chmod("/dev/shm", 0o700)


def attribute() -> None:
    os.setxattr("/tmp", "user.as-left", b"x")


def default_acl() -> None:
    entries = [(1, 7, -1), (2, 7, 1000), (4, 7, -1), (16, 7, -1), (32, 7, -1)]
    acl = b"\2\0\0\0" + b"".join(
        tag.to_bytes(2, "little") + rights.to_bytes(2, "little") + (who & 0xFFFFFFFF).to_bytes(4, "little")
        for tag, rights, who in entries
    )
    try:
        os.setxattr("/tmp", "system.posix_acl_default", acl)
    except OSError:  # another user inside
        os.setxattr("/tmp", "user.as-left", b"x")


def shared_memory() -> None:
    LIBC.shmget(KEY, 4096, 0o1666)


def semaphores() -> None:
    LIBC.semget(KEY, 1, 0o1666)


def queue() -> None:
    LIBC.msgget(KEY, 0o1666)


def abstract_name_in_flight() -> None:
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0as-left")
    one, other = socket.socketpair()
    socket.send_fds(one, [b"x"], [server.fileno(), one.fileno(), other.fileno()])
    socket.send_fds(other, [b"x"], [server.fileno(), one.fileno(), other.fileno()])


def daemon() -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        while True:
            time.sleep(1)
    time.sleep(0.01)


def stopped_child() -> None:
    pid = os.fork()
    if pid == 0:
        while True:
            time.sleep(1)
    os.kill(pid, signal.SIGSTOP)


def thread() -> None:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def interpreter() -> None:
    os.environ["AS_LEFT"] = "x"
    setattr(sys, "as_left", True)
    sys.modules["as_left"] = sys
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    os.kill(os.getpid(), signal.SIGUSR2)
    os.umask(0)
    os.chdir("/")
    import atexit
    import gc

    gc.disable()
    atexit.register(file)


def priority_of_init() -> None:
    try:
        os.setpriority(os.PRIO_PROCESS, 1, 10)
    except OSError:
        pass


def processors_of_init() -> None:
    try:
        os.sched_setaffinity(1, {min(os.sched_getaffinity(0))})
    except OSError:
        pass


def signals_to_init() -> None:
    for number in range(1, 65):
        if number not in (signal.SIGTERM, signal.SIGUSR1):
            os.kill(1, number)


STAYS = [abstract_name_in_flight, daemon, stopped_child, thread, interpreter, signals_to_init]
GOES = [
    file, file_of_home, mode, attribute, default_acl, shared_memory, semaphores, queue, priority_of_init, processors_of_init,
]  # fmt: skip


def settle(box: brig.Sandbox) -> None:
    """Calls that leave nothing, until one stands in a room that was kept."""
    for _ in range(30):
        result = box.call_sync("nothing")
        assert result.ok, result
        if kept(result):
            return
    pytest.fail("no room is kept after calls that leave nothing")


def kept(result: brig.ToolResult) -> bool:
    return bool(result.report.to_json()["room"] == "as_new")


def look(box: brig.Sandbox) -> list[str]:
    result = box.call_sync("find")
    assert result.ok, result
    return list(result.output)


@pytest.mark.parametrize("way", [*GOES, *STAYS], ids=lambda way: way.__name__)
def test_nothing_that_a_call_leaves_is_found_by_the_next(
    sandbox: Callable[..., brig.Sandbox], way: Callable[[], None]
) -> None:
    box = sandbox([nothing, find, way], policy={"timeout": "20s", "grace": "0ms"})
    times = 0
    for _ in range(40):
        settle(box)
        result = box.call_sync(way.__name__)
        assert result.ok, result
        # A caller can have two rooms, so the next call may be in the other one.
        assert [look(box) for _ in range(3)] == [[], [], []]
        times += kept(result)
        if times == 4:
            return
    pytest.fail("it seldom stood in a room that was kept")


def test_clean_calls_stand_in_rooms_that_were_kept(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox([nothing, room])
    results = [box.call_sync("room") for _ in range(30)]
    assert sum(kept(each) for each in results) >= 15
    seen: set[str] = set()
    for each in results:
        assert (each.output in seen) == kept(each)
        seen.add(each.output)


def test_a_policy_can_ask_for_a_fresh_room_each_time(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox([nothing], policy={"room": "fresh"})
    assert not any(kept(box.call_sync("nothing")) for _ in range(8))

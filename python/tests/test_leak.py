"""Many calls, good and evil, and nothing left. BRIG_SOAK_CALLS says how many."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

from conftest import comes_true, processes

import brig

CALLS = int(os.environ.get("BRIG_SOAK_CALLS", "400"))
THREADS = 8


def good(a: int) -> int:
    return a + 1


def raises() -> None:
    raise RuntimeError("no")


def exits() -> None:
    os._exit(3)


def crashes() -> None:
    os.abort()


def forks() -> str:
    if os.fork() == 0:
        os.setsid()
        os.execv("/bin/sleep", ["sleep", "600"])
    return "left one"


def prints() -> str:
    print("x" * 10000)
    return "printed"


def grows() -> int:
    return len(bytearray(100 << 20))


def sleeps() -> None:
    import time

    time.sleep(600)


EXPECTED = {
    "good": "ok", "raises": "tool_error", "exits": "exit", "crashes": "signal", "forks": "ok", "prints": "ok",
    "grows": "ok", "sleeps": "timeout",
}  # fmt: skip
TOOLS: list[Any] = [good, raises, exits, crashes, forks, prints, grows]


CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000


def in_own_mounts(body: Callable[[], None]) -> None:
    """Runs that in a thread which, as root, has a mount namespace of its own: what others on this
    machine mount meanwhile does not show there. An ordinary user can't change the table of
    mounts."""

    def work() -> None:
        if os.geteuid() == 0:
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.unshare(CLONE_NEWNS) == 0, os.strerror(ctypes.get_errno())
            assert libc.mount(
                None, b"/", None, MS_REC | MS_PRIVATE, None
            ) == 0, os.strerror(ctypes.get_errno())
        body()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def mounts() -> int:
    return Path("/proc/thread-self/mountinfo").read_text().count("\n") if os.geteuid() == 0 else 0


def count() -> dict[str, Any]:
    """Of this process: other tests' come and go."""
    cgroups = [
        place
        for place, _, _ in os.walk("/sys/fs/cgroup")
        if os.path.basename(place).startswith("brig-") and f"-{os.getpid()}-" in os.path.basename(place)
    ]
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "processes": len(processes()),
        "cgroups": len(cgroups),
        "mounts": mounts(),
    }


def one(box: brig.Sandbox, i: int, wrong: list[str]) -> None:
    name = random.choices([*EXPECTED], [20, 3, 1, 1, 1, 3, 1, 0.2])[0]
    result = box.call_sync(name, {"a": i} if name == "good" else None)
    right = result.report.outcome == EXPECTED[name] and (name != "good" or result.output == i + 1)
    if not right:
        wrong.append(f"{name}: {result}")


def test_nothing_is_left_of_many_calls() -> None:
    in_own_mounts(call_many)


def call_many() -> None:
    slow = brig.Tool(sleeps, policy={"timeout": "300ms", "grace": "0ms"})
    brig.Sandbox([good]).close()  # what is made once is there
    before = count()
    wrong: list[str] = []
    with brig.Sandbox([*TOOLS, slow], timeout=60, memory="256M") as box:

        def work(k: int) -> None:
            for i in range(CALLS // THREADS):
                one(box, k * 1000 + i, wrong)

        for part in range(2):
            threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if part == 0:
                gc.collect()
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # The second half may not need more than the first did.
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert wrong == []
    assert grown < 16 * 1024, f"{grown} KiB"
    assert comes_true(lambda: count() == before), (before, count())

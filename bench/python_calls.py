#!/usr/bin/env python3
"""Python calls against what they replace: a bare fork of the same interpreter, and the two mechanisms of the
Python seeds. One run, interleaved, same interpreter. Usage: python_calls.py [ROUNDS]"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import brig  # noqa: E402


@brig.tool
def nothing() -> None:
    return None


@brig.tool
def size_of(text: str) -> int:
    return len(text)


def in_a_spawned_process(queue: Any) -> None:
    queue.put(nothing())


_PAUSE = 0.005  # before each measurement
# What a zygote has loaded, and a fork for each line that comes.
FORKER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import ctypes, linecache, traceback, brig._cell
for line in sys.stdin:
    time.sleep(0.005)  # as the others: what was waiting for a pipe a moment ago is warm
    begun = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    print(time.perf_counter() - begun, flush=True)
"""
# A fresh interpreter that gets its work through a pipe, as one of the seeds does it.
PIPED = "import json, sys; json.load(sys.stdin); print(json.dumps(None))"


class Forker:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", FORKER, sys.path[0]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self) -> float:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def timed(action: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def spawn() -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=in_a_spawned_process, args=(queue,))
    process.start()
    queue.get()
    process.join()


def pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PIPED], input='{"name": "nothing"}', capture_output=True, text=True
    )
    assert json.loads(done.stdout) is None


def call_of(box: brig.Sandbox, name: str) -> Callable[[], float]:
    def call() -> float:
        begun = time.perf_counter()
        result = box.call_sync(name)
        took = time.perf_counter() - begun
        assert result.ok, result
        return took

    return call


def race(runners: dict[str, Callable[[], float]], rounds: dict[str, int]) -> dict[str, list[float]]:
    """Each in its turn, at a low rate."""
    times: dict[str, list[float]] = {name: [] for name in runners}
    for i in range(max(rounds.values())):
        for name, runner in runners.items():
            if i < rounds[name]:
                time.sleep(_PAUSE)
                times[name].append(runner() * 1e6)
    return {name: sorted(each) for name, each in times.items()}


def at(times: list[float], share: float) -> float:
    return times[min(int(len(times) * share), len(times) - 1)]


def low_rate(rounds: int) -> None:
    with brig.Sandbox([nothing], timeout=30) as box:
        for _ in range(20):
            box.call_sync("nothing")
        runners = {
            "brig, warm call": call_of(box, "nothing"),
            "os.fork, _exit, waitpid": Forker(),
            "a spawned process (seed 1)": lambda: timed(spawn),
            "a fresh python -c (seed 2)": lambda: timed(pipe),
        }
        few = max(10, rounds // 20)
        counts = dict(zip(runners, (rounds, rounds, few, few)))
        times = race(runners, counts)
        steps = box.call_sync("nothing").report.steps
    first = times["brig, warm call"]
    print(f"{'low rate, one caller, us':30} {'median':>9} {'p99':>9} {'/ brig':>8}")
    for name, each in times.items():
        print(f"{name:30} {at(each, .5):9.0f} {at(each, .99):9.0f} {at(each, .5) / at(first, .5):8.2f}")
    fork = times["os.fork, _exit, waitpid"]
    print(f"brig / fork: median {at(first, .5) / at(fork, .5):.2f}, p99 {at(first, .99) / at(fork, .99):.2f}")
    print("the last call's steps, ms:", steps)


def with_numpy(rounds: int) -> None:
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("numpy: not installed")
        return
    with brig.Sandbox(modules=["bench_numpy"], paths=[str(Path(__file__).resolve().parent)], timeout=30) as box:
        for _ in range(10):
            box.call_sync("mean", {"values": [1, 2, 3]})

        def call() -> float:
            return timed(lambda: box.call_sync("mean", {"values": [1, 2, 3]}))

        times = race({"numpy": call}, {"numpy": rounds})["numpy"]
    print(f"{'with numpy in the zygote':30} {at(times, .5):9.0f} {at(times, .99):9.0f}")


async def back_to_back(seconds: float) -> None:
    async with brig.Sandbox([nothing], timeout=30) as box:
        await box.call("nothing")
        until = time.perf_counter() + seconds

        async def task() -> int:
            count = 0
            while time.perf_counter() < until:
                assert (await box.call("nothing")).ok
                count += 1
            return count

        counts = await asyncio.gather(*(task() for _ in range(4)))
    print(f"{'4 tasks back to back, calls/s':30} {sum(counts) / seconds:9.0f}")


async def stalls() -> None:
    """The longest time that an event loop stood still while it sent 100 MiB."""
    text = "x" * (100 << 20)
    async with brig.Sandbox([size_of], timeout=60, memory="1G") as box:
        await box.call("size_of", {"text": "x"})
        call = asyncio.ensure_future(box.call("size_of", {"text": text}))
        longest, last, begun = 0.0, time.perf_counter(), time.perf_counter()
        while not call.done():
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        assert (await call).output == len(text), await call
    print(f"{'100 MiB argument: stall, ms':30} {longest * 1e3:9.1f}   (the call: {(last - begun) * 1e3:.0f} ms)")


def pss() -> int:
    """Of all processes below this one, in KiB."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[entry] = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            pass
    below = {str(os.getpid())}
    while True:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        if not more:
            break
        below |= more
    total = 0
    for pid in below - {str(os.getpid())}:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:
            pass
    return total


def memory() -> None:
    sums = []
    for ready in (4, 20):
        with brig.Sandbox([nothing], timeout=30, ready_min=ready, ready_max=32, concurrency=32) as box:
            box.call_sync("nothing")
            time.sleep(2)
            sums.append(pss())
    print(f"{'a ready cell, PSS, MiB':30} {(sums[1] - sums[0]) / 16 / 1024:9.2f}   (its tool, init and keeper)")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"python {sys.version.split()[0]}, {os.cpu_count()} cores, {'root' if os.getuid() == 0 else 'user'}")
    low_rate(rounds)
    with_numpy(rounds // 2)
    asyncio.run(back_to_back(5))
    asyncio.run(stalls())
    memory()


if __name__ == "__main__":
    main()

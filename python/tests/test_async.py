"""asyncio: no stalls, many loops, cancelling, watching."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from conftest import SOON, comes_true, processes

import brig


@brig.tool
def add(a: int, b: int = 1) -> int:
    return a + b


@brig.tool
def sleeps(seconds: float) -> str:
    print("asleep", flush=True)
    time.sleep(seconds)
    return "slept"


@brig.tool
def size_of(text: str) -> int:
    return len(text)


@brig.tool
def notes_its_end(text: str, directory: str, seconds: float) -> int:
    Path(directory, "began").touch()
    time.sleep(seconds)
    Path(directory, "ended").touch()
    return len(text)


@brig.tool
def works() -> str:
    for i in range(4):
        brig.progress(i / 4, f"step {i}")
    print("done")
    return "worked"


async def stall_while(task: Any) -> float:
    """The longest time for which the loop did nothing else."""
    longest, last = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    return longest


def test_a_call_is_awaited() -> None:
    async def main() -> Any:
        async with brig.Sandbox([add]) as box:
            return await box.call("add", {"a": 2, "b": 3}, call_id="x")

    result = asyncio.run(main())
    assert (result.output, result.call_id) == (5, "x")


def test_a_wrong_sandbox_raises_where_it_is_awaited() -> None:
    async def main() -> None:
        box = brig.Sandbox([add], read=["/no/such"])
        with pytest.raises(brig.ConfigError):
            await box.call("add", {"a": 1})

    asyncio.run(main())


def test_many_at_once() -> None:
    async def main() -> list[Any]:
        async with brig.Sandbox([add], timeout=60, concurrency=8) as box:
            results = await asyncio.gather(*(box.call("add", {"a": i, "b": i}) for i in range(100)))
        return [result.output for result in results]

    assert asyncio.run(main()) == [2 * i for i in range(100)]


def test_a_hundred_mebibytes_do_not_stall_the_loop() -> None:
    text = "x" * (100 << 20)

    async def main() -> tuple[Any, Any, float]:
        async with brig.Sandbox([size_of, add], timeout=60, memory="1G") as box:
            await box.call("add", {"a": 1})
            large = asyncio.ensure_future(box.call("size_of", {"text": text}))
            stall = asyncio.ensure_future(stall_while(large))
            small = await box.call("add", {"a": 1})
            assert small.output == 2
            return (await large), small, await stall

    stalls = []
    # A busy machine may stall too, but not each time.
    while len(stalls) < 3 and min(stalls, default=9) >= 2:
        large, _, stall = asyncio.run(main())
        assert large.output == 100 << 20, large
        stalls.append(stall)
    # Copying it as JSON would hold the interpreter longer; benchmarks have the figure.
    assert min(stalls) < 2, stalls


def test_cancelling_the_task_ends_the_cell() -> None:
    before = processes()

    async def main() -> int:
        async with brig.Sandbox([sleeps], timeout=60, ready_min=0) as box:
            task = asyncio.ensure_future(box.call("sleeps", {"seconds": 60}))
            async for event in box.watch():
                if event.kind == "output":
                    break
            running = len(processes() - before)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            for _ in range(1500):
                if len(processes() - before) < running:
                    return 1
                await asyncio.sleep(0.01)
            return 0

    # The watch begins after the call may have printed: then it is found by its end alone.
    assert asyncio.run(asyncio.wait_for(main(), 60)) == 1


def test_a_large_call_can_be_cancelled_while_it_is_submitted(tmp_path: Path) -> None:
    arguments = {"text": "x" * (10 << 20), "directory": str(tmp_path), "seconds": 2}

    async def main() -> str:
        async with brig.Sandbox([notes_its_end], timeout=60, write=[str(tmp_path)]) as box:
            watch = box.watch()
            task = asyncio.ensure_future(box.call("notes_its_end", arguments))
            await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async for event in watch:
                if event.kind == "finished":
                    return str(event.outcome)
        return "it has not ended"

    tmp_path.chmod(0o777)
    assert asyncio.run(asyncio.wait_for(main(), 60)) == "cancelled"
    assert not (tmp_path / "ended").exists()


def test_leaving_a_sandbox_waits_for_what_is_being_submitted() -> None:
    program = """
import asyncio, brig

@brig.tool
def size_of(text: str) -> int:
    return len(text)

async def main() -> None:
    text = "x" * (30 << 20)
    async with brig.Sandbox([size_of], ready_min=1) as box:
        task = asyncio.ensure_future(box.call("size_of", {"text": text}))
        await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

for _ in range(8):
    asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("size", [1, 30 << 20])
def test_closing_ends_a_call_that_has_just_begun(tmp_path: Path, size: int) -> None:
    arguments = {"text": "x" * size, "directory": str(tmp_path), "seconds": 60}

    async def main() -> Any:
        async with brig.Sandbox([notes_its_end], timeout=60, write=[str(tmp_path)]) as box:
            task = asyncio.ensure_future(box.call("notes_its_end", arguments))
            await asyncio.sleep(0.001)
        return await task

    tmp_path.chmod(0o777)
    assert asyncio.run(asyncio.wait_for(main(), 30)).report.outcome == "cancelled"


def test_cancel_by_id_waits_for_the_grace_period() -> None:
    async def main() -> Any:
        async with brig.Sandbox([sleeps], timeout=60) as box:
            task = asyncio.ensure_future(box.call("sleeps", {"seconds": 60}, call_id="nap"))
            while not box.cancel("nap"):
                await asyncio.sleep(0.01)
            assert not box.cancel("other")
            return await task

    assert asyncio.run(main()).report.outcome == "cancelled"


def test_events_tell_the_life_of_a_call() -> None:
    async def main() -> list[Any]:
        seen = []
        async with brig.Sandbox([works]) as box:
            watch = box.watch()
            result = await box.call("works", call_id="w")
            assert result.ok
            async for event in watch:
                seen.append(event)
                if event.kind == "finished":
                    break
        async for event in watch:
            seen.append(event)
        return seen

    seen = asyncio.run(main())
    kinds = [event.kind for event in seen]
    assert kinds[:2] == ["queued", "started"] and kinds[-1] == "finished"
    assert [e.text for e in seen if e.kind == "progress"] == [f"step {i}" for i in range(4)]
    assert [(e.data, e.stream) for e in seen if e.kind == "output"] == [(b"done\n", "stdout")]
    assert {e.call_id for e in seen} == {"w"} and seen[-1].outcome == "ok"


def test_changes_of_tools_are_events() -> None:
    async def main() -> list[Any]:
        async with brig.Sandbox([add]) as box:
            watch = box.watch()
            await asyncio.get_running_loop().run_in_executor(None, box.add, works)
            await asyncio.get_running_loop().run_in_executor(None, box.remove, "add")
            return [await watch.__anext__() for _ in range(2)]

    assert [(e.kind, e.tool) for e in asyncio.run(main())] == [
        ("tool_added", "works"), ("tool_removed", "add")
    ]


def test_one_sandbox_serves_many_loops(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox([add], timeout=60)
    results: list[Any] = []

    def loop(i: int) -> None:
        async def main() -> None:
            for k in range(5):
                results.append((await box.call("add", {"a": i, "b": k})).output == i + k)

        asyncio.run(main())

    threads = [threading.Thread(target=loop, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 20


def test_a_forgotten_sandbox_leaves_nothing() -> None:
    before = processes()
    box = brig.Sandbox([add])
    assert processes() > before
    del box
    gc.collect()
    assert comes_true(lambda: processes() <= before)


def test_a_thousand_calls_in_flight() -> None:
    async def main() -> tuple[list[Any], float]:
        async with brig.Sandbox(
            [sleeps], timeout=120, concurrency=1000, queue=2000, ready_max=64
        ) as box:
            await box.call("sleeps", {"seconds": 0})
            calls = asyncio.gather(*(box.call("sleeps", {"seconds": 2}) for _ in range(1000)))
            stall = await stall_while(calls)
            return await calls, stall

    results, stall = asyncio.run(main())
    assert [r.error for r in results if not r.ok] == [] and len(results) == 1000
    assert stall < SOON

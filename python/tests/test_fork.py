"""A fork of the host, and a notebook: who has a sandbox there, and who has none."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import threading
import warnings
from typing import Callable

from conftest import SOON, processes

import brig


@brig.tool
def add(a: int, b: int = 1) -> int:
    """Adds two integers."""
    return a + b


@brig.tool
def waits(seconds: float) -> str:
    import time

    time.sleep(seconds)
    return "waited"


def in_a_fork(work: Callable[[], object]) -> str:
    """What it gives in a child of a fork, or raises; "nothing" if it does not come back."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        # Of a fork beside threads: that is what is tried.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            told = repr(work())
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(write, told.encode())
        os._exit(0)
    os.close(write)
    came = select.select([read], [], [], 2 * SOON)[0]
    told = os.read(read, 65536).decode() if came else "nothing"
    os.close(read)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return told


OF_ANOTHER = "Error: the sandbox belongs to the process that forked this one: make another sandbox here"


def test_a_fork_is_told_that_the_sandbox_is_not_its_own(
    sandbox: Callable[..., brig.Sandbox]
) -> None:
    box = sandbox([add])
    assert box.call_sync("add", {"a": 1}).output == 2
    assert in_a_fork(lambda: box.call_sync("add", {"a": 1})) == OF_ANOTHER
    assert in_a_fork(lambda: asyncio.run(box.call("add", {"a": 1}))) == OF_ANOTHER
    assert in_a_fork(box.list_tools) == OF_ANOTHER
    assert in_a_fork(box.close) == "None"  # it is not its to close
    assert box.call_sync("add", {"a": 1}).output == 2


def test_a_fork_can_make_a_sandbox_of_its_own(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox([add, waits])
    running = threading.Thread(
        target=box.call_sync, args=("waits", {"seconds": 60}), kwargs={"call_id": "long"}
    )
    running.start()

    def work() -> object:
        with brig.Sandbox([add]) as own:
            return own.call_sync("add", {"a": 2}).output, asyncio.run(
                own.call("add", {"a": 3})
            ).output

    before = processes()
    assert in_a_fork(work) == "(3, 4)"
    assert in_a_fork(lambda: brig.run(["echo", "hi"]).stdout) == "b'hi\\n'"
    assert processes() & before, "of the parent's nothing has gone"
    assert box.call_sync("add", {"a": 4}).output == 5
    box.cancel("long", at_once=True)
    running.join(SOON)
    assert not running.is_alive()


def test_a_lock_that_was_held_does_not_hold_up_a_fork(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox([add])
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        assert box._running is not None
        with box._running._changed:
            held.set()
            go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert in_a_fork(lambda: box.call_sync("add", {"a": 1})) == OF_ANOTHER
    finally:
        go.set()
        thread.join()


def test_a_fork_does_not_wait_for_a_start_that_is_the_parents() -> None:
    async def main() -> None:
        async with brig.Sandbox([add]) as box:
            assert (await box.call("add", {"a": 1})).output == 2
        box = brig.Sandbox([add])  # starts in a thread, which the fork has not
        assert in_a_fork(lambda: box.call_sync("add", {"a": 1})) == OF_ANOTHER
        assert (await box.call("add", {"a": 1})).output == 2
        box.close()

    asyncio.run(main())


def test_call_sync_works_in_a_loop_that_runs(sandbox: Callable[..., brig.Sandbox]) -> None:
    """As in a notebook, whose cells are run by a loop. It holds the loop up until the tool has
    ended, and nothing else."""
    outside = sandbox([add])

    async def cell() -> list[object]:
        inside = brig.Sandbox([add])  # which starts in the background
        told = [inside.call_sync("add", {"a": 1}).output, outside.call_sync("add", {"a": 2}).output]
        told += [
            (await inside.call("add", {"a": 3})).output,
            (await outside.call("add", {"a": 4})).output,
        ]
        told += [inside.call_sync("add", {"a": 5}).output]
        both = asyncio.gather(inside.call("add", {"a": 6}), outside.call("add", {"a": 7}))
        await asyncio.sleep(0)
        told += [outside.call_sync("add", {"a": 8}).output]
        told += [each.output for each in await both]
        inside.close()
        return told

    assert asyncio.run(cell()) == [2, 3, 4, 5, 6, 9, 7, 8]

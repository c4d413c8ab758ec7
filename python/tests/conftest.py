"""What all tests share."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Callable, Iterator

import pytest

# The package beside these tests, unless they are run against an installed one.
if not os.environ.get("BRIG_TEST_INSTALLED"):
    package = str(Path(__file__).resolve().parent.parent)
    sys.path.insert(0, package)
    os.environ["PYTHONPATH"] = package  # for the programs that tests start

import brig  # noqa: E402

SOON = 15.0  # tells at once from never, on a machine that stalls


@pytest.fixture
def sandbox() -> Iterator[Callable[..., brig.Sandbox]]:
    """brig.Sandbox, closed in the end."""
    made = []

    def make(*arguments: object, **options: object) -> brig.Sandbox:
        box = brig.Sandbox(*arguments, **options)  # type: ignore[arg-type]
        made.append(box)
        return box

    yield make
    for box in made:
        box.close()


def memory_is_the_trees() -> bool:
    """Whether the memory limit holds for all processes of a call together, which takes a cgroup."""
    layers = brig.capabilities()["layers"]
    return any(layer["name"] == "cgroup_memory" and layer["present"] for layer in layers)


@pytest.fixture
def tree_memory() -> None:
    if not memory_is_the_trees():
        pytest.skip("no memory cgroup for this user: the limit is per process")


def needs_open_interpreter() -> None:
    """Skips where root's interpreter lies in a directory of root's alone: without mounts a cell,
    which is another user, can't execute it."""
    for above in Path(os.path.realpath(sys.executable)).parents:
        if os.getuid() == 0 and not above.stat().st_mode & 0o001:
            pytest.skip(
                f"there is no other interpreter here than below {above}, which is root's alone"
            )


def comes_true(fact: Callable[[], bool], patience: float = SOON) -> bool:
    until = time.monotonic() + patience
    while not fact():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def once_it_runs(box: brig.Sandbox, action: Callable[[], object]) -> threading.Thread:
    """Does that, in a thread, as soon as a call that begins from now on has printed something."""
    watch = box.watch()

    async def printed() -> None:
        async for event in watch:
            if event.kind == "output":
                return

    def work() -> None:
        asyncio.run(asyncio.wait_for(printed(), SOON))
        action()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def marker() -> str:
    """A sleeping time that no other process has: who sleeps for it is ours."""
    return f"8{uuid.uuid4().int % 10**12}"


def alive(mark: str) -> list[int]:
    """Who has it on its command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def gone(mark: str) -> bool:
    """Killed processes may take a moment to leave /proc."""
    return comes_true(lambda: not alive(mark))


def processes() -> set[int]:
    """Of this process: its children, and theirs."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                pass
    found = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found - {os.getpid()}
        found |= more

"""Calls from asyncio and from trio, as anyio offers both. Loaded only where one of them runs."""

from __future__ import annotations

import asyncio
import secrets
import sys
import threading
from typing import Any, Callable, TypeVar

import brig
from brig._values import Packed

_T = TypeVar("_T")


def _trio() -> Any:
    """Return trio if it runs the caller, None if asyncio does.

    Raises RuntimeError if neither does.
    """
    trio: Any = sys.modules.get("trio")
    if trio is not None:
        try:
            trio.lowlevel.current_task()
            return trio
        except RuntimeError:
            pass  # the caller is not in a task of trio
    asyncio.get_running_loop()
    return None


async def in_thread(function: Callable[[], _T]) -> _T:
    """Returns what `function` does, in another thread. A cancelled task does not wait for it."""
    trio = _trio()
    if trio is None:
        return await asyncio.to_thread(function)
    try:
        waiting = trio.to_thread.run_sync(function, abandon_on_cancel=True)
    except TypeError:  # trio before 0.23
        waiting = trio.to_thread.run_sync(function, cancellable=True)
    result: _T = await waiting
    return result


async def call(sandbox: brig.Sandbox, tool: str, arguments: Packed) -> brig.ToolResult:
    """Calls a tool. Cancelling the task ends the call at once."""
    if _trio() is None:
        return await sandbox.call(tool, arguments)
    call_id, ended = f"call-{secrets.token_hex(16)}", threading.Event()
    taken = threading.Lock()  # by the thread when it begins, or by the task that was cancelled

    def work() -> brig.ToolResult:
        if not taken.acquire(blocking=False):
            raise RuntimeError("the task was cancelled")  # nothing receives it
        try:
            return sandbox.call_sync(tool, arguments, call_id=call_id)
        finally:
            ended.set()

    def end() -> None:
        # The other thread may not have begun its call yet. Its timeout bounds this loop.
        try:
            while not ended.wait(0.01):
                sandbox.cancel(call_id, at_once=True)
        except brig.Error:
            pass  # the sandbox is closed, which ends the call

    try:
        return await in_thread(work)
    except BaseException:
        if not taken.acquire(blocking=False) and not ended.is_set():
            threading.Thread(target=end, daemon=True).start()
        raise

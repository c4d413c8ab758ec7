"""Owners of what the library makes for a sandbox: the sandbox itself, queues of results, watches.

Only the process that made a sandbox or a queue frees it: a fork's copy must not.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import ctypes
import os
import threading
import weakref
from typing import AsyncIterator, Callable

from brig._errors import Error
from brig._native import ErrorSlot, library, taken
from brig._request import Request
from brig._result import Event


class Queue:
    """Receives results for one event loop or one thread."""

    def __init__(self) -> None:
        error = ErrorSlot()
        self.handle = library().brig_c_queue_new(error.reference())
        if not self.handle:
            raise error.error()
        self.descriptor: int = library().brig_c_queue_descriptor(self.handle)
        self.waiting: dict[int, Callable[[bytes], None]] = {}
        self._close = weakref.finalize(self, _free_queue, self.handle, os.getpid())

    def take(self) -> None:
        """Passes on all results that have arrived."""
        ticket, size = ctypes.c_uint64(), ctypes.c_size_t()
        while True:
            text = library().brig_c_queue_take(
                self.handle, ctypes.byref(ticket), ctypes.byref(size)
            )
            if not text:
                return
            result = taken(text, size)
            done = self.waiting.pop(ticket.value, None)
            if done:
                done(result)


def _free_queue(handle: int, pid: int) -> None:
    if os.getpid() == pid:
        library().brig_c_queue_free(handle)


def refuse_in_fork(pid: int) -> None:
    if os.getpid() != pid:
        raise Error(
            "the sandbox belongs to the process that forked this one: make another sandbox here"
        )


class NativeSandbox:
    """The library's sandbox. It counts the threads that use it, and is freed when none does."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._pid = os.getpid()
        self._users = 0
        self._changed = threading.Condition()
        self._closing = False

    def __enter__(self) -> int:
        refuse_in_fork(self._pid)  # first: a fork may have copied the lock while it was held
        with self._changed:
            if self._closing:
                raise Error("the sandbox is closed: make another one")
            self._users += 1
        return self.handle

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._users -= 1
            self._changed.notify_all()

    def close(self, cancel: Callable[[int], None]) -> None:
        if os.getpid() != self._pid:  # first, here too
            return
        with self._changed:
            if self._closing:
                return
            self._closing = True
        while True:
            cancel(self.handle)  # each time, to find calls that were just being submitted before
            with self._changed:
                if self._changed.wait_for(lambda: self._users == 0, 0.05):
                    break
        library().brig_c_sandbox_free(self.handle)


def start(config: bytes) -> NativeSandbox:
    error = ErrorSlot()
    handle = library().brig_c_sandbox_new(config, len(config), error.reference())
    if not handle:
        raise error.error()
    return NativeSandbox(handle)


def submit(native: NativeSandbox, queue: Queue, ticket: int, request: Request) -> None:
    """Submits a request; runs in another thread. It holds the sandbox, the queue and the bytes of
    the request itself, since the task that waits for the result may be gone."""
    with native as handle:
        library().brig_c_sandbox_submit(handle, queue.handle, ticket, *request.arguments())


def finish(
    starting: concurrent.futures.Future[NativeSandbox], active: dict[str, None], pid: int
) -> None:
    if os.getpid() != pid:
        return  # this is a fork's copy, and the thread that starts the sandbox may not be here
    def cancel(handle: int) -> None:
        for call_id in list(active):
            library().brig_c_sandbox_cancel(handle, call_id.encode(), 1)

    try:
        native = starting.result()
    except BaseException:
        return  # the sandbox could not be started
    native.close(cancel)


class Watch(AsyncIterator[Event]):
    """Yields the events of a sandbox until it is closed."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._descriptor: int = library().brig_c_watch_descriptor(handle)
        self._close = weakref.finalize(self, library().brig_c_watch_free, handle)

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Event:
        size = ctypes.c_size_t()
        while True:
            text = library().brig_c_watch_next(self._handle, 0, ctypes.byref(size))
            if text:
                return Event(taken(text, size))
            if library().brig_c_watch_ended(self._handle):
                raise StopAsyncIteration
            await self._readable()

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        loop.add_reader(self._descriptor, wake)
        try:
            await ready
        finally:
            loop.remove_reader(self._descriptor)

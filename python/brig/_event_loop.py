"""Helpers of a sandbox for asyncio's loops and futures."""

from __future__ import annotations

import asyncio
from typing import Optional


async def ended(work: asyncio.Future[None]) -> None:
    """Waits for the end of `work`, even if the task is cancelled meanwhile: a call can be cancelled
    only once it is submitted."""
    cancelled: Optional[asyncio.CancelledError] = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return work.result()
    if not work.cancelled():
        work.exception()  # asyncio logs exceptions that nobody has looked at
    raise cancelled


def from_any_thread(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    try:
        loop.call_soon_threadsafe(loop.remove_reader, descriptor)
    except RuntimeError:
        pass  # the loop was closed just now


def in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

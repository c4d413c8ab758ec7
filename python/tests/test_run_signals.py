"""Ctrl-C while brig.run() waits."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Callable

import pytest

import brig
from conftest import SOON


_AT_ONCE = 10.0  # the command would take 90 s, and its policy gives it 80


def _interrupt_main() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def _interrupt_this_thread() -> None:
    # No system call of the main thread is interrupted then.
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


def _once_there(path: Path, act: Callable[[], None]) -> threading.Thread:
    def wait() -> None:
        until = time.monotonic() + 2 * SOON
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.005)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def _with_words(words: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and words in (entry / "cmdline").read_bytes().decode(errors="replace"):
                found.append(entry.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("interrupt", [_interrupt_main, _interrupt_this_thread])
def test_ctrl_c_ends_the_command_at_once(tmp_path: Path, interrupt: Callable[[], None]) -> None:
    sent: list[float] = []

    def interrupt_now() -> None:
        sent.append(time.monotonic())
        interrupt()

    marker = f"brig-interrupted-{os.getpid()}-{interrupt.__name__}"
    interrupting = _once_there(tmp_path / "runs", interrupt_now)
    with pytest.raises(KeyboardInterrupt):
        # It stays when it is asked to go: what ends it is SIGKILL.
        brig.run(
            f"trap '' TERM INT; : > {tmp_path}/runs; sleep 90 & wait; wait; : {marker}",
            shell=True,
            write=[str(tmp_path)],
            timeout=80,
        )
    assert time.monotonic() - sent[0] < _AT_ONCE
    interrupting.join()
    assert _with_words(marker) == []
    assert brig.run(["echo", "on"]).stdout == b"on\n"


def test_a_handler_that_returns_ends_nothing(tmp_path: Path) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: seen.append(number))
    try:
        signalling = _once_there(tmp_path / "runs", lambda: os.kill(os.getpid(), signal.SIGUSR1))
        line = f": > {tmp_path}/runs; while [ ! -e {tmp_path}/seen ]; do sleep 0.02; done; echo on"
        telling = threading.Thread(target=_tell_when, args=(seen, tmp_path / "seen"))
        telling.start()
        assert brig.run(line, shell=True, write=[str(tmp_path)], timeout=60).stdout == b"on\n"
        signalling.join()
        telling.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1]


def _tell_when(seen: list[int], path: Path) -> None:
    until = time.monotonic() + 2 * SOON
    while not seen and time.monotonic() < until:
        time.sleep(0.005)
    path.touch()

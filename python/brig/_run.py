"""run(), run_async() and the functions that need no sandbox."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import warnings
from typing import Any, Coroutine, Mapping, Optional, Sequence, Union

from brig._errors import ConfigError
from brig._native import ErrorSlot, library, taken
from brig._policy import policy_json
from brig._result import Report
from brig._signals import signals

Argv = Union[str, Sequence[str]]


def _request(argv: Argv, shell: bool, policy: Optional[Mapping[str, Any]], options: Any) -> bytes:
    if shell:
        if not isinstance(argv, str):
            raise ConfigError(
                "run: with shell=True the command must be one string; give a string, or leave "
                "shell=True out"
            )
        words = ["/bin/sh", "-c", argv]
    elif isinstance(argv, str):
        raise ConfigError(
            "run: the command must be a list of words; for a line of shell use shell=True"
        )
    else:
        words = [os.fspath(word) for word in argv]
    return json.dumps({"argv": words, "policy": policy_json(policy, **options)}).encode()


def _run(request: bytes, stdin: Optional[bytes], cancel: int) -> Report:
    error, size = ErrorSlot(), ctypes.c_size_t()
    asked = signals.asked_here()
    report = library().brig_c_run_interruptible(
        request, len(request), stdin, len(stdin or b""), cancel, asked,
        ctypes.byref(size), error.reference(),
    )
    failed = None if report else error.error()
    text = b"" if failed else taken(report, size)
    signals.throw(asked)
    if failed:
        raise failed
    return Report(json.loads(text))


def run(
    argv: Argv,
    policy: Optional[Mapping[str, Any]] = None,
    *,
    stdin: Optional[bytes] = None,
    shell: bool = False,
    **options: Any,
) -> Report:
    """Runs one command in one cell. Every part of a policy (timeout, memory, read, ...) can be a
    keyword.

    Raises brig.Error if brig can't make such a cell. The report says how the command ended. Ctrl-C,
    or another signal whose handler raises, ends the command at once."""
    return _run(_request(argv, shell, policy, options), stdin, -1)


async def run_async(
    argv: Argv,
    policy: Optional[Mapping[str, Any]] = None,
    *,
    stdin: Optional[bytes] = None,
    shell: bool = False,
    **options: Any,
) -> Report:
    """Like run(), for asyncio. Cancelling the task ends the command at once."""
    request = _request(argv, shell, policy, options)
    reader, writer = os.pipe2(os.O_CLOEXEC)
    running = asyncio.get_running_loop().run_in_executor(None, _run, request, stdin, reader)

    def clean_up(_: Any) -> None:
        os.close(reader)
        os.close(writer)

    running.add_done_callback(clean_up)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if not running.done():
            os.write(writer, b"x")
        raise


def arun(
    argv: Argv,
    policy: Optional[Mapping[str, Any]] = None,
    *,
    stdin: Optional[bytes] = None,
    shell: bool = False,
    **options: Any,
) -> Coroutine[Any, Any, Report]:
    """Deprecated name of run_async()."""
    warnings.warn(
        "brig.arun is deprecated and will be removed in 0.3: use brig.run_async, which takes the "
        "same arguments",
        DeprecationWarning,
        stacklevel=2,
    )
    return run_async(argv, policy, stdin=stdin, shell=shell, **options)


def capabilities(policy: Optional[Mapping[str, Any]] = None) -> dict[str, Any]:
    """Returns what this machine and this user can enforce. brig tries each layer to find out."""
    error = ErrorSlot()
    text = json.dumps(policy_json(policy)).encode()
    found = library().brig_c_capabilities(text, len(text), error.reference())
    if not found:
        raise error.error()
    layers: dict[str, Any] = json.loads(taken(found))
    return layers


def build_safe_env(
    passthrough: Optional[Sequence[str]] = None, extra: Optional[Mapping[str, str]] = None
) -> dict[str, str]:
    """Returns the variables of this process that are safe for any tool, those in `passthrough`, and
    `extra`, which wins."""
    # The library can't do this: its JSON has no form for values that are not UTF-8.
    names = ["PATH", "HOME", "USER", "LANG", "TERM", "SHELL", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"]
    made = {name: os.environ[name] for name in [*names, *(passthrough or ())] if name in os.environ}
    made.update(extra or {})
    return made


def kill_process_tree(pid: int) -> None:
    """Ends a process and all its descendants, those in other sessions too, as far as possible.
    Never raises."""
    library().brig_c_kill_process_tree(pid)

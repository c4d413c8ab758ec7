"""Runs the commands in lines of a notebook, and puts values of Python's names into them. Runs in
the cell."""

from __future__ import annotations

import fcntl
import os
import re
import select
import shutil
import string
import subprocess
import sys
import threading
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence

_CHUNK = 1 << 16
_IDLE = 50  # milliseconds without output, after which run() looks whether the command has ended


class Lines(List[str]):
    """The value of `x = !command`: the lines, with IPython's names for them."""

    @property
    def l(self) -> list[str]:  # noqa: E743
        return list(self)

    @property
    def n(self) -> str:
        return "\n".join(self)

    @property
    def s(self) -> str:
        return " ".join(self)


def shell(command: str) -> list[str]:
    return [shutil.which("bash") or "/bin/sh", "-c", command]


def to_stdout(data: bytes) -> None:
    """Writes to Python's own stream, so that the output stands in order with what was printed."""
    stream = sys.stdout
    binary = getattr(stream, "buffer", None)
    if binary is not None:
        stream.flush()
        binary.write(data)
        binary.flush()
    elif stream is not None:
        stream.write(data.decode("utf-8", "replace"))


def run(
    argv: Sequence[str],
    sink: Callable[[bytes], object],
    *,
    stderr: Optional[int] = None,
    given: Optional[bytes] = None,
) -> int:
    """Returns the exit status, or the negative number of a signal, as IPython does. Waits for the
    command, not for processes that it leaves in the background."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    arguments = [each.encode("utf-8", "surrogateescape") for each in argv]
    source = subprocess.PIPE if given is not None else None
    process = subprocess.Popen(arguments, stdin=source, stdout=subprocess.PIPE, stderr=stderr)
    if process.stdin is not None:
        feeder = threading.Thread(target=_feed, args=(process.stdin, given), daemon=True)
        feeder.start()
    assert process.stdout is not None
    output = process.stdout.fileno()
    ready = select.poll()
    ready.register(output, select.POLLIN)
    while True:
        if ready.poll(_IDLE):
            data = os.read(output, _CHUNK)
            if not data:
                break
            sink(data)
        elif process.poll() is not None:
            _rest(process, sink)
            break
    code = process.wait()
    return -(code - 128) if code > 128 else code


def _feed(stream: Any, data: Optional[bytes]) -> None:
    try:
        stream.write(data)
        stream.close()
    except OSError:
        pass  # the command did not read it


def _rest(process: subprocess.Popen[bytes], sink: Callable[[bytes], object]) -> None:
    """Reads the output that is there already. A thread reads what other processes write to the pipe
    later."""
    assert process.stdout is not None
    stream, process.stdout = process.stdout, None
    output = stream.fileno()
    flags = fcntl.fcntl(output, fcntl.F_GETFL)
    fcntl.fcntl(output, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        while True:
            data = os.read(output, _CHUNK)
            if not data:
                return
            sink(data)
    except BlockingIOError:
        fcntl.fcntl(output, fcntl.F_SETFL, flags)

    def go_on() -> None:
        while True:
            data = stream.read1(_CHUNK)  # type: ignore[attr-defined]
            if not data:
                return
            sink(data)

    threading.Thread(target=go_on, daemon=True).start()


class _Expander(string.Formatter):
    """Expands {expression} and $name with Python's names. $$name is left to the shell."""

    _DOLLAR = re.compile(r"\$(\$?)([A-Za-z_]\w*)")

    def __init__(self, globals_: dict[str, Any], locals_: Mapping[str, Any]) -> None:
        self._globals, self._locals = globals_, locals_

    def parse(self, format_string: str) -> Iterator[Any]:
        for text, field, spec, conversion in super().parse(format_string):
            at = 0
            for found in self._DOLLAR.finditer(text):
                name = found[2]
                if found[1]:
                    yield text[at : found.start()] + "$" + name, None, None, None
                elif name in self._locals or name in self._globals:
                    yield text[at : found.start()], name, "", None
                else:
                    continue
                at = found.end()
            yield text[at:], field, spec, conversion

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        return eval(field_name, self._globals, dict(self._locals)), field_name


def expanded(text: str, frame: Any) -> str:
    """Expands a line as IPython does. A line that can't be expanded goes to the shell as it
    stands."""
    if "{" not in text and "$" not in text and "}" not in text:
        return text
    try:
        return _Expander(frame.f_globals, frame.f_locals).vformat(text, (), {})
    except Exception:
        return text

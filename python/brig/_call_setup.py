"""Does what a call of run_python asks for before its code runs: makes files, sets variables, a
directory and an input. Runs in the cell, within its policy.

Each function raises NotRun if it can't do that.
"""

from __future__ import annotations

import base64
import errno
import os
import sys
import tempfile
import time
from typing import Any

from brig._left_files import Mark, mark_of

_LONGEST_SHOWN = 200


class NotRun(Exception):
    """The code was not run. The message is a sentence that says why."""


def _shown(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "...")


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def write_files(files: dict[str, Any]) -> dict[str, Mark]:
    """Makes the files. Returns their marks by path."""
    given = {}
    for name, content in files.items():
        path = os.path.normpath(name)
        shown = _shown(name)
        if not name or os.path.isabs(path) or path.split(os.sep)[0] in ("..", ".") or "\0" in name:
            raise NotRun(f"files: {shown} is not a path inside the workspace")
        try:
            _make(path, _bytes_of(content))
            given[path] = mark_of(path)
        except FileExistsError:
            raise NotRun(
                f"files: {shown} is in the working directory already; the code was not run"
            ) from None
        except OSError as error:
            raise NotRun(
                f"files: {shown} could not be put into the working directory: {_reason(error)}; "
                "the code was not run"
            ) from None
        except UnicodeEncodeError:
            raise NotRun(
                f"files: {shown} has a name or a text that is not UTF-8; the code was not run"
            ) from None
        except ValueError:
            raise NotRun(f"files: {shown} is not base64; the code was not run") from None
    return given


def _bytes_of(content: Any) -> bytes:
    if isinstance(content, str):
        return content.encode()
    return base64.b64decode(content["base64"], validate=True)


def _make(path: str, data: bytes) -> None:
    """Makes a new file. A file that has the name already, of the host or of this call, stays as it
    is."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
    with open(path, "xb") as file:
        file.write(data)


def set_variables(variables: dict[str, str]) -> None:
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name:
            raise NotRun(f"env: {_shown(name)} is not the name of a variable; the code was not run")
        try:
            os.environ[name] = value
        except ValueError:  # a NUL, or what UTF-8 can't hold
            raise NotRun(
                f"env: the value of {_shown(name)} has a NUL or is not UTF-8; the code was not run"
            ) from None
    if "TZ" in variables:
        time.tzset()


def go_to(directory: str) -> None:
    """Changes to a directory, relative to the working directory."""
    try:
        os.chdir(directory)
    except OSError as error:
        raise NotRun(f"cwd: {_shown(directory)}: {_reason(error)}; the code was not run") from None
    except ValueError:
        raise NotRun(f"cwd: {_shown(directory)} is not a path; the code was not run") from None


def set_input(text: str) -> None:
    """Makes stdin a file with this text, as in `python3 code.py < file`: the code and its processes
    can read it."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise NotRun("stdin: the text is not UTF-8; the code was not run") from None
    try:
        with _unnamed_file() as file:
            file.write(data)
            file.flush()
            try:
                reading = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                reading = os.dup(file.fileno())
                os.lseek(reading, 0, os.SEEK_SET)
        os.dup2(reading, 0)
        os.close(reading)
    except OSError as error:
        raise NotRun(
            f"stdin: the text could not be stored: {_reason(error)}; the code was not run"
        ) from None
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)


def _unnamed_file() -> Any:
    try:
        return open(os.memfd_create("stdin"), "wb+")
    except OSError:
        return tempfile.TemporaryFile()

"""The functions of OpenJarvis' ``subprocess_sandbox``, on brig's cells.

Change ``from openjarvis.security.subprocess_sandbox import run_sandboxed`` to
``from brig.compat.openjarvis import run_sandboxed``. What differs, because it was broken there:

* The command runs in a jail: no network, no file of yours but ``working_dir``, no sight of other
  processes. Without ``working_dir`` it runs in an empty workspace of its own.
* Nothing that it started is left when the call returns, and none of that delays the call.
* It reads end-of-file from stdin, never what was meant for the host.
* Output is counted in bytes, only the kept part costs memory, and any bytes are taken.
* After a timeout the output so far is there, with "(timed out)" as its last line.
* A working directory that is not there is an error, not a run somewhere else.
"""

from __future__ import annotations

import codecs
import io
import os
from dataclasses import dataclass
from typing import Dict, List, Optional

import brig
from brig import kill_process_tree

__all__ = ["SandboxResult", "build_safe_env", "kill_process_tree", "run_sandboxed"]

_LARGEST_OUTPUT = 1 << 29


@dataclass
class SandboxResult:
    """How a command ended, and what it wrote."""

    stdout: str = ""
    stderr: str = ""
    returncode: int = -1
    timed_out: bool = False
    killed: bool = False


def build_safe_env(
    passthrough: Optional[List[str]] = None,
    extra: Optional[Dict[str, str]] = None,
) -> Dict[str, str]:
    """The safe variables of this process, those named in `passthrough`, and `extra`, which wins."""
    return brig.build_safe_env(passthrough or [], extra or {})


def run_sandboxed(
    command: str,
    *,
    timeout: float = 30.0,
    working_dir: Optional[str] = None,
    env_passthrough: Optional[List[str]] = None,
    env_extra: Optional[Dict[str, str]] = None,
    max_output_bytes: int = 102_400,
) -> SandboxResult:
    """Run a shell line in a cell. It does not raise: what went wrong is in the result.

    `working_dir` is writable inside, and the only one of your directories that is there. Of each
    stream the first `max_output_bytes` are kept. `returncode` is -N for signal N, and -1 after a
    timeout and for a command that could not be run (``stderr`` then says why).
    """
    kept = min(max_output_bytes, _LARGEST_OUTPUT)
    directory = os.path.realpath(working_dir) if working_dir else None
    try:
        report = brig.run(
            command,
            shell=True,
            timeout=timeout,
            # brig keeps the first and the last half of its limit: the first half is what we want.
            output=2 * kept,
            write=[directory] if directory else None,
            working_directory=directory,
            passthrough=env_passthrough,
            environment=env_extra,
        )
    except brig.Error as error:
        return SandboxResult(stderr=f"Execution error: {error}")
    return _result(report, kept)


def _result(report: brig.Report, kept: int) -> SandboxResult:
    timed_out = report.outcome == "timeout"
    if report.exit_code is None and report.signal is None and not timed_out:
        return SandboxResult(stderr=f"Execution error: {report.message}")
    result = SandboxResult(
        stdout=_text(report.stdout, kept),
        stderr=_text(report.stderr, kept),
        timed_out=timed_out,
        killed=timed_out or report.outcome == "memory_limit",
    )
    if timed_out:
        result.stdout = _with_line(result.stdout, "(timed out)")
    elif report.exit_code is not None:
        result.returncode = report.exit_code
    elif report.signal is not None:
        result.returncode = -report.signal
    if report.outcome in ("memory_limit", "process_limit"):
        # A bare -9 would leave the model guessing.
        result.stderr = _with_line(result.stderr, report.message)
    return result


def _text(data: bytes, kept: int) -> str:
    """The first `kept` bytes as text with plain newlines, without half a character at the cut."""
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder("utf-8")("replace"), translate=True
    )
    return decoder.decode(data[:kept], final=len(data) <= kept)


def _with_line(text: str, line: str) -> str:
    separator = "\n" if text and not text.endswith("\n") else ""
    return text + separator + line

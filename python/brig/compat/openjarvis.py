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

Where OpenJarvis is loaded, results are of its own class.
"""

from __future__ import annotations

import codecs
import io
import logging
import os
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional

import brig
from brig.compat import seconds_of, with_policy
from brig.compat._framework import Framework, StandIn

__all__ = ["SandboxResult", "build_safe_env", "kill_process_tree", "run_sandboxed"]

logger = logging.getLogger("openjarvis.security.subprocess_sandbox")

_OPENJARVIS = Framework(("openjarvis",), {"SandboxResult": "security.subprocess_sandbox"})
_LARGEST_OUTPUT = 1 << 29
_SAFE_ENV_VARS = frozenset(
    ("PATH", "HOME", "USER", "LANG", "TERM", "SHELL", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
)

# As the seed has it, where Python knows how.
_SLOTS: Dict[str, Any] = {"slots": True} if sys.version_info >= (3, 10) else {}


@dataclass(**_SLOTS)
class SandboxResult(metaclass=StandIn):
    """How a command ended, and what it wrote."""

    _framework = _OPENJARVIS
    stdout: str = ""
    stderr: str = ""
    returncode: int = -1
    timed_out: bool = False
    killed: bool = False


def build_safe_env(
    passthrough: Optional[List[str]] = None,
    extra: Optional[Dict[str, str]] = None,
) -> Dict[str, str]:
    """Return the safe variables of this process, those in `passthrough`, and `extra`, which wins.
    """
    return brig.build_safe_env(passthrough or [], extra or {})


def kill_process_tree(pid: int) -> None:
    """End a process and all its descendants, those in other sessions too. It does not raise."""
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError) as error:
        logger.debug("Failed to terminate process %d: %s", pid, error)
        logger.debug("Failed to kill process %d: %s", pid, error)
        return
    brig.kill_process_tree(pid)


def run_sandboxed(
    command: str,
    *,
    timeout: float = 30.0,
    working_dir: Optional[str] = None,
    env_passthrough: Optional[List[str]] = None,
    env_extra: Optional[Dict[str, str]] = None,
    max_output_bytes: int = 102_400,
    policy: Optional[Mapping[str, Any]] = None,
) -> SandboxResult:
    """Run a shell line in a cell. It does not raise: the result holds the error.

    `working_dir` is writable inside, and the only one of your directories that is there. Of each
    stream the first `max_output_bytes` are kept. `returncode` is -N for signal N, and -1 after a
    timeout and for a command that could not be run (``stderr`` then says why). `policy` is as
    :func:`brig.run` takes it, and gives the command files, variables or a network.
    """
    kept = min(max_output_bytes, _LARGEST_OUTPUT)
    directory = os.path.realpath(working_dir) if working_dir else None
    try:
        seconds = seconds_of(timeout)
        if seconds <= 0:
            return SandboxResult(stdout="(timed out)", timed_out=True, killed=True)
        options = with_policy(
            policy,
            timeout=seconds,
            # brig keeps the first and the last half of its limit: the first half is what we want.
            output=2 * kept,
            write=[directory] if directory else None,
            working_directory=directory,
            passthrough=env_passthrough,
            environment=env_extra,
        )
        report = brig.run(command, shell=True, **options)
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
    """Return the first `kept` bytes as text with plain newlines, without half a character at the
    cut."""
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder("utf-8")("replace"), translate=True
    )
    return decoder.decode(data[:kept], final=len(data) <= kept)


def _with_line(text: str, line: str) -> str:
    separator = "\n" if text and not text.endswith("\n") else ""
    return text + separator + line

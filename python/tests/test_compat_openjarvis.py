"""brig.compat.openjarvis: what OpenJarvis' subprocess_sandbox promised. The letters are the rows of
the defects table in notes/seeds.md."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import logging
import math
import os
import signal
import socket
import subprocess
import sys
import time
import types
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, List

import pytest
from conftest import alive, gone, marker

from brig.compat import openjarvis
from brig.compat.openjarvis import (
    SandboxResult,
    build_safe_env,
    kill_process_tree,
    run_sandboxed,
)

AT_ONCE = 15.0  # seconds; tells at once from never


def lingering(how: str, mark: str) -> str:
    """A shell line that leaves a sleeper behind, its streams closed."""
    return {
        "plain": f"sleep {mark} >/dev/null 2>&1 &",
        "ignores_sigterm": f"(trap '' TERM; exec sleep {mark}) >/dev/null 2>&1 &",
        "setsid": f"setsid sleep {mark} >/dev/null 2>&1 &",
        "double_fork": f"(setsid sh -c 'sleep {mark} &') >/dev/null 2>&1",
    }[how]


HOWS = ["plain", "ignores_sigterm", "setsid", "double_fork"]


# --- the interface ---


def test_run_sandboxed_has_the_seeds_arguments_and_defaults() -> None:
    parameters = inspect.signature(run_sandboxed).parameters
    defaults = {name: p.default for name, p in parameters.items() if name != "command"}
    assert defaults == {
        "timeout": 30.0,
        "working_dir": None,
        "env_passthrough": None,
        "env_extra": None,
        "max_output_bytes": 102_400,
        "policy": None,
    }
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in defaults)


def test_a_result_has_the_seeds_fields_and_defaults() -> None:
    assert dataclasses.asdict(SandboxResult()) == {
        "stdout": "",
        "stderr": "",
        "returncode": -1,
        "timed_out": False,
        "killed": False,
    }


def test_a_command_gives_its_output_and_exit_code() -> None:
    result = run_sandboxed("echo out; echo err >&2; exit 7")
    assert result == SandboxResult(stdout="out\n", stderr="err\n", returncode=7)


def test_a_command_that_is_not_there_gives_127() -> None:
    result = run_sandboxed("no-such-command-at-all")
    assert result.returncode == 127
    assert "not found" in result.stderr


def test_a_signal_gives_its_negative_number() -> None:
    assert run_sandboxed("kill -SEGV $$").returncode == -signal.SIGSEGV


def test_what_can_not_be_run_is_an_execution_error() -> None:
    for result in (run_sandboxed("true", timeout=math.nan), run_sandboxed("echo \0")):
        assert result.returncode == -1
        assert result.stderr.startswith("Execution error: ")
        assert not result.timed_out


@pytest.mark.parametrize("timeout", [None, math.inf, 1e9])
def test_a_timeout_may_be_as_long_as_one_likes(timeout: Any) -> None:
    assert run_sandboxed("echo here", timeout=timeout).stdout == "here\n"


@pytest.mark.parametrize("timeout", [0, -1.0])
def test_a_timeout_that_is_over_is_told_as_in_the_seed(timeout: float) -> None:
    result = run_sandboxed("true", timeout=timeout)
    assert result == SandboxResult("(timed out)", "", -1, True, True)


def test_a_policy_gives_a_file_and_a_variable(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "in").write_text("given")
    policy = {"files": {"read": [str(tmp_path)]}, "environment": {"set": {"OF_POLICY": "1"}}}
    line = f'cat "{tmp_path}/in"; echo $OF_POLICY$EXTRA'
    result = run_sandboxed(line, policy=policy, env_extra={"EXTRA": "2"})
    assert (result.stdout, result.stderr) == ("given12\n", "")


def test_a_policy_that_is_no_mapping_is_an_execution_error() -> None:
    result = run_sandboxed("true", policy="host")  # type: ignore[arg-type]
    assert result.stderr == (
        "Execution error: policy: expected a mapping, as brig.Sandbox takes it"
    )


# --- in OpenJarvis ---


def test_a_result_is_of_the_frameworks_class(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "openjarvis.security.subprocess_sandbox"
    theirs = types.ModuleType(name)
    fields = [(f.name, f.type, f.default) for f in dataclasses.fields(SandboxResult)]
    kind = dataclasses.make_dataclass("SandboxResult", fields)
    kind.__module__, theirs.SandboxResult = name, kind  # type: ignore[attr-defined]
    for each in ("openjarvis", "openjarvis.security"):
        monkeypatch.setitem(sys.modules, each, types.ModuleType(each))
    monkeypatch.setitem(sys.modules, name, theirs)
    result = run_sandboxed("echo here")
    assert type(result) is kind
    assert result.stdout == "here\n"
    assert isinstance(result, SandboxResult)
    assert result == SandboxResult("here\n", "", 0)


def test_every_public_name_is_there() -> None:
    assert set(openjarvis.__all__) == {
        "SandboxResult", "build_safe_env", "kill_process_tree", "run_sandboxed",
    }  # fmt: skip


def test_threads_may_run_commands_at_once() -> None:
    with ThreadPoolExecutor(6) as threads:
        results = list(threads.map(lambda n: run_sandboxed(f"echo {n}").stdout, range(12)))
    assert results == [f"{n}\n" for n in range(12)]


def test_a_command_runs_in_a_loop_that_runs() -> None:
    """As in a notebook, whose cells are run by a loop."""

    async def cell() -> str:
        return run_sandboxed("echo here").stdout

    assert asyncio.run(cell()) == "here\n"


def test_the_private_names_that_others_import_are_there() -> None:
    assert openjarvis._SAFE_ENV_VARS == {
        "PATH", "HOME", "USER", "LANG", "TERM", "SHELL", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ",
    }  # fmt: skip
    assert openjarvis.logger.name == "openjarvis.security.subprocess_sandbox"


def test_what_can_not_be_killed_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "openjarvis.security.subprocess_sandbox"):
        kill_process_tree(999_999_999)
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "Failed to terminate process 999999999",
        "Failed to kill process 999999999",
    ]


# --- the environment ---


def test_the_safe_environment_is_ten_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    safe = {"PATH", "HOME", "USER", "LANG", "TERM", "SHELL", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"}
    for name in safe | {"OPENAI_API_KEY", "LD_PRELOAD", "LOGNAME"}:
        monkeypatch.setenv(name, f"my-{name}")
    assert build_safe_env() == {name: f"my-{name}" for name in safe}


def test_passthrough_copies_what_is_set_and_extra_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "from the host")
    monkeypatch.delenv("ABSENT", raising=False)
    env = build_safe_env(["TOKEN", "ABSENT"], {"TZ": "UTC", "TOKEN": "given"})
    assert env["TOKEN"] == "given"
    assert env["TZ"] == "UTC"
    assert "ABSENT" not in env
    assert build_safe_env(passthrough=["TOKEN"])["TOKEN"] == "from the host"


def test_a_command_sees_passthrough_and_extra_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("WANTED", "yes")
    result = run_sandboxed("env", env_passthrough=["WANTED"], env_extra={"ADDED": "too"})
    assert "WANTED=yes\n" in result.stdout
    assert "ADDED=too\n" in result.stdout
    assert "sk-secret" not in result.stdout


def test_f4_the_hosts_environment_can_not_be_read_from_proc(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = f"sk-{uuid.uuid4()}"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    # A host that was given the secret when it was started: only that is in its /proc/environ.
    program = (
        "from brig.compat.openjarvis import run_sandboxed as run;"
        "r = run('cat /proc/$PPID/environ /proc/[0-9]*/environ; true');"
        "print(r.returncode, r.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("0 ")
    assert secret not in done.stdout


# --- streams ---


def test_c_a_command_reads_end_of_file_and_not_the_hosts_stdin() -> None:
    program = (
        "import sys;"
        "from brig.compat.openjarvis import run_sandboxed as run;"
        "r = run('cat'); print([r.stdout, r.returncode, sys.stdin.readline()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input='{"jsonrpc": "2.0"}\n',
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == str(["", 0, '{"jsonrpc": "2.0"}\n']) + "\n"


@pytest.mark.parametrize("seconds", [2.0, 5.0])
def test_e_a_background_child_that_holds_stdout_does_not_cost_the_output(seconds: float) -> None:
    mark = marker()
    result = run_sandboxed(f"echo done; sleep {mark} &", timeout=seconds)
    assert result == SandboxResult(stdout="done\n", returncode=0)
    assert gone(mark)


def test_f_a_gigabyte_of_output_does_not_fill_the_host() -> None:
    program = (
        "from brig.compat.openjarvis import run_sandboxed as run;"
        "r = run('head -c 1073741824 /dev/zero', timeout=120);"
        "print(len(r.stdout), r.returncode);"
        "print(next(line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=180, check=True
    )
    length, returncode, peak_kib = map(int, done.stdout.split())
    assert (length, returncode) == (102_400, 0)
    assert peak_kib < 200 * 1024


@pytest.mark.parametrize(
    "command", [r"printf '\377\376 text'", "head -c 4096 /dev/urandom", "echo text | gzip"]
)
def test_f2_output_that_is_not_utf8_is_no_error(command: str) -> None:
    result = run_sandboxed(command)
    assert result.returncode == 0
    assert result.stdout


def test_f2_bytes_that_are_not_utf8_are_replaced() -> None:
    assert run_sandboxed(r"printf 'a\377z'").stdout == "a\N{REPLACEMENT CHARACTER}z"


def test_f3_the_cap_counts_bytes() -> None:
    result = run_sandboxed(r"for i in 1 2 3 4 5 6; do printf '\303\244'; done", max_output_bytes=6)
    assert result.stdout == "äää"


def test_f3_the_cap_keeps_the_beginning() -> None:
    result = run_sandboxed("seq 100000; seq 100000 >&2", max_output_bytes=12)
    assert result.stdout == result.stderr == "1\n2\n3\n4\n5\n6\n"


def test_f3_no_half_character_is_left_at_the_cut() -> None:
    assert run_sandboxed(r"printf 'a\303\244'", max_output_bytes=2).stdout == "a"


def test_line_ends_are_plain_newlines_as_in_the_seed() -> None:
    assert run_sandboxed(r"printf 'a\r\nb\rc\n'").stdout == "a\nb\nc\n"


# --- time and processes ---


def test_a_timeout_is_told_as_in_the_seed() -> None:
    result = run_sandboxed("sleep 60", timeout=0.3)
    assert result == SandboxResult(
        stdout="(timed out)", stderr="", returncode=-1, timed_out=True, killed=True
    )


def test_f5_output_before_a_timeout_is_kept() -> None:
    result = run_sandboxed("echo so far; echo oops >&2; sleep 60", timeout=0.5)
    assert result.timed_out
    assert result.stdout == "so far\n(timed out)"
    assert result.stderr == "oops\n"


@pytest.mark.parametrize("how", HOWS)
def test_d_no_descendant_survives_a_timeout(how: str) -> None:
    mark = marker()
    result = run_sandboxed(lingering(how, mark) + "\nsleep 60", timeout=0.5)
    assert result.timed_out
    assert gone(mark)


@pytest.mark.parametrize("how", HOWS)
def test_d2_no_descendant_survives_success(how: str) -> None:
    mark = marker()
    assert run_sandboxed(lingering(how, mark) + "\ntrue").returncode == 0
    assert gone(mark)


def test_d3_ignoring_sigterm_does_not_help() -> None:
    began = time.monotonic()
    result = run_sandboxed("trap '' TERM; while :; do sleep 1; done", timeout=0.5)
    assert result.timed_out
    assert time.monotonic() - began < AT_ONCE


def test_x8_the_host_is_not_forked_for_a_command() -> None:
    forks: List[int] = []
    os.register_at_fork(before=lambda: forks.append(1))
    assert run_sandboxed("true").returncode == 0
    assert not forks


# --- the jail ---


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_g_a_bad_working_directory_is_an_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "file":
        path.write_text("not a directory")
    result = run_sandboxed("pwd", working_dir=str(path))
    assert result.returncode == -1
    assert result.stdout == ""
    assert result.stderr.startswith("Execution error: ")


def test_g_the_working_directory_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("given\n")
    result = run_sandboxed("pwd; cat in; echo made > out", working_dir=str(tmp_path))
    assert result.stdout == f"{os.path.realpath(tmp_path)}\ngiven\n"
    assert (tmp_path / "out").read_text() == "made\n"


def test_g_a_working_directory_may_be_relative_or_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    for given in ("real", "link"):
        assert run_sandboxed("pwd", working_dir=given).stdout == f"{Path.cwd()}/real\n"


def test_without_a_working_directory_the_hosts_is_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "private").touch()
    monkeypatch.chdir(tmp_path)
    result = run_sandboxed(f"ls; ls {tmp_path}")
    assert "private" not in result.stdout


def test_h_the_host_can_not_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        result = run_sandboxed(f"exec bash -c 'echo hi >/dev/tcp/127.0.0.1/{port}'")
        assert result.returncode != 0
        with pytest.raises(socket.timeout):
            server.accept()


def test_h2_half_a_gigabyte_of_disk_is_not_given() -> None:
    result = run_sandboxed("head -c 536870912 /dev/zero >/tmp/fill", timeout=60)
    assert result.returncode != 0


def test_h3_300_processes_are_not_left() -> None:
    mark = marker()
    run_sandboxed(f"for i in $(seq 300); do sleep {mark} & done 2>/dev/null", timeout=20)
    assert gone(mark)


def test_x7_a_fork_bomb_is_gone_when_the_call_returns() -> None:
    mark = marker()
    bomb = f": {mark}; f() {{ f & f; }}; f 2>/dev/null"
    began = time.monotonic()
    result = run_sandboxed(bomb, timeout=1.0)
    assert time.monotonic() - began < AT_ONCE
    assert result.returncode != 0
    assert gone(mark)


def test_h4_the_host_can_be_neither_read_nor_killed() -> None:
    result = run_sandboxed(f"cat /etc/shadow; kill -9 $PPID {os.getpid()}; echo tried")
    assert result.stdout == "tried\n"


@pytest.mark.usefixtures("tree_memory")
def test_h5_memory_has_a_limit_and_that_is_told() -> None:
    result = run_sandboxed("exec tail /dev/zero", timeout=60)  # which waits for a line to end
    assert (result.returncode, result.killed, result.timed_out) == (-signal.SIGKILL, True, False)
    assert "memory" in result.stderr


# --- kill_process_tree ---


@pytest.mark.parametrize("how", ["plain", "ignores_sigterm", "setsid"])
def test_kill_process_tree_ends_descendants(how: str) -> None:
    mark = marker()
    line = lingering(how, mark) + "\nwait"
    with subprocess.Popen(["sh", "-c", line]) as process:
        deadline = time.monotonic() + AT_ONCE
        while len(alive(mark)) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)  # the shell itself has the mark in its command line
        kill_process_tree(process.pid)
        assert process.wait(AT_ONCE) == -signal.SIGKILL
    assert gone(mark)


def test_kill_process_tree_never_raises() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    for pid in (process.pid, os.getpid()):
        kill_process_tree(pid)

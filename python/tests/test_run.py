"""Commands."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from conftest import alive, comes_true, gone, marker, processes

import brig


def test_a_command_runs() -> None:
    report = brig.run(["echo", "hello"])
    assert (report.outcome, report.exit_code, report.stdout) == ("ok", 0, b"hello\n")


def test_its_input_is_what_is_given() -> None:
    assert brig.run(["cat"], stdin=b"\x00\xff").stdout == b"\x00\xff"
    assert brig.run(["cat"]).stdout == b""


def test_a_line_needs_a_shell() -> None:
    assert brig.run("echo $((1 + 1))", shell=True).stdout == b"2\n"
    with pytest.raises(brig.ConfigError):
        brig.run("echo hello")


def test_all_of_a_policy_is_there(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "file").write_text("seen")
    report = brig.run(["cat", str(tmp_path / "file")], read=[str(tmp_path)], timeout="5s", memory="64M")
    assert report.stdout == b"seen"
    report = brig.run(["printenv", "CITY"], {"environment": {"set": {"CITY": "Bern"}}})
    assert report.stdout == b"Bern\n"
    assert brig.run(["sleep", "60"], timeout=0.5).outcome == "timeout"


def test_a_wrong_policy_raises() -> None:
    with pytest.raises(ValueError, match="memory"):
        brig.run(["true"], memory="x")


def test_a_missing_program_is_told() -> None:
    assert brig.run(["no-such-program"]).outcome == "invalid_arguments"


def test_it_is_awaited_and_cancelled() -> None:
    before = processes()

    async def main() -> None:
        assert (await brig.arun(["echo", "x"])).stdout == b"x\n"
        mark = marker()
        task = asyncio.ensure_future(brig.arun(["sleep", mark], timeout=60))
        while not alive(mark) and not task.done():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 30 and comes_true(lambda: processes() <= before)


def test_capabilities_tell_the_truth() -> None:
    found = brig.capabilities()
    assert found["available"] and found["isolation_level"] == "jail"


def test_a_safe_environment_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "x")
    monkeypatch.setenv("A_NAME", "y")
    made = brig.build_safe_env(["A_NAME"], {"B": "z"})
    assert "A_SECRET" not in made and made["A_NAME"] == "y" and made["B"] == "z" and "PATH" in made


def test_a_tree_is_killed() -> None:
    mark = marker()
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", f"sleep {mark} & setsid sleep {mark}"], os.environ)
    assert comes_true(lambda: len(alive(mark)) >= 2)
    brig.kill_process_tree(pid)
    os.waitpid(pid, 0)
    assert gone(mark)

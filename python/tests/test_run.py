"""Commands."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

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
    report = brig.run(
        ["cat", str(tmp_path / "file")], read=[str(tmp_path)], timeout="5s", memory="64M"
    )
    assert report.stdout == b"seen"
    report = brig.run(["printenv", "CITY"], {"environment": {"set": {"CITY": "Bern"}}})
    assert report.stdout == b"Bern\n"
    assert brig.run(["sleep", "60"], timeout=0.5).outcome == "timeout"


def test_paths_can_be_at_other_places_optional_not_executable_and_protected(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "kept").mkdir()
    (tmp_path / "script").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "script").chmod(0o755)
    here = str(tmp_path)
    report = brig.run(["/opt/d/script"], read=[f"{here}:/opt/d"], read_optional=[f"{here}/none"])
    assert report.stdout == b"ran\n"
    report = brig.run(["/opt/d/script"], read=[f"{here}:/opt/d"], noexec=[here])
    assert report.violations[0]["code"] == "file.not_executable"
    report = brig.run(
        ["sh", "-c", "echo x > /opt/d/kept/new; echo x > /opt/d/new; touch /opt/d/.envrc"],
        write_optional=[f"{here}:/opt/d"],
        protect=[f"{here}/kept", "@default"],
    )
    assert [each["target"] for each in report.violations] == [f"{here}/.envrc"]
    assert (tmp_path / "new").exists() and not list((tmp_path / "kept").iterdir())
    report = brig.run(["cat", "/opt/d/new"], {"files": {"read": [f"{here}:/opt/d"]}})
    assert report.stdout == b"x\n"
    for word in ("read_optional", "noexec", "protect"):
        with pytest.raises(brig.ConfigError):
            brig.run(["true"], **{word: here})  # a list
    with pytest.raises(brig.ConfigError, match="the system's /usr"):
        brig.run(["true"], read=[f"{here}:/usr/x"])


def test_a_wrong_policy_raises() -> None:
    with pytest.raises(ValueError, match="memory"):
        brig.run(["true"], memory="x")


def test_a_user_is_an_id_inside_the_cell() -> None:
    for given, told in (("root", b"0 root"), (0, b"0 root"), (77, b"77 brig")):
        report = brig.run("echo $(id -u) $(id -un); touch x; stat -c %u x", shell=True, user=given)
        assert report.stdout == told + b"\n" + told.split()[0] + b"\n"
    with pytest.raises(brig.ConfigError, match='user: expected "root" or a number'):
        brig.run(["true"], user="ana")
    with pytest.raises(brig.Error, match="needs the jail floor"):
        brig.run(["true"], user="root", isolation="process", network="host")


def test_a_variable_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "C.UTF-8")
    lines = brig.run(["env"], unset=["LANG", "A"], environment={"A": "1"}).stdout.splitlines()
    names = {line.split(b"=")[0] for line in lines}
    assert b"PATH" in names and not names & {b"LANG", b"A"}
    with pytest.raises(brig.ConfigError, match="unset: expected a list"):
        brig.run(["true"], unset="LANG")


def test_a_preset_adds_what_it_lists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".rustup").mkdir()
    (tmp_path / ".rustup" / "file").write_text("seen")
    for directory in (tmp_path, tmp_path / ".rustup"):
        directory.chmod(0o755)
    script = f"cat {tmp_path}/.rustup/file; echo $CARGO_NET_OFFLINE"
    # Of the process itself: the library reads it.
    monkeypatch.setenv("HOME", str(tmp_path))
    assert brig.run(script, shell=True, preset=["rust"]).stdout == b"seentrue\n"
    report = brig.run(
        script, {"preset": ["rust"]}, shell=True, environment={"CARGO_NET_OFFLINE": "no"}
    )
    assert report.stdout == b"seenno\n"
    with pytest.raises(
        brig.ConfigError, match="'pyton': there is no such preset; did you mean 'python'"
    ):
        brig.run(["true"], preset=["pyton"])
    with pytest.raises(brig.ConfigError, match="preset: expected a list"):
        brig.run(["true"], preset="rust")


def test_a_size_may_be_a_fraction() -> None:
    with pytest.raises(brig.ConfigError, match="1.5 MiB is out of range"):
        brig.run(["true"], memory="1.5M")


def test_tools_of_a_sandbox_have_these_words_too(sandbox: Callable[..., brig.Sandbox]) -> None:
    def who() -> list:
        with open("made", "w") as made:
            ids = [os.getuid(), os.getgid(), os.fstat(made.fileno()).st_uid]
        return [*ids, os.environ.get("LANG"), os.environ.get("PIP_NO_INDEX")]

    box = sandbox([who], user="root", unset=["LANG"], preset=["python"])
    for _ in range(2):
        assert box.call_sync("who").output == [0, 0, 0, None, "1"]


def test_a_missing_program_is_told() -> None:
    assert brig.run(["no-such-program"]).outcome == "invalid_arguments"


def test_it_is_awaited_and_cancelled() -> None:
    before = processes()

    async def main() -> None:
        assert (await brig.run_async(["echo", "x"])).stdout == b"x\n"
        mark = marker()
        task = asyncio.ensure_future(brig.run_async(["sleep", mark], timeout=60))
        while not alive(mark) and not task.done():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 30 and comes_true(lambda: processes() <= before)


def test_arun_is_the_deprecated_name_of_run_async() -> None:
    async def main() -> brig.Report:
        with pytest.warns(DeprecationWarning, match="use brig.run_async") as caught:
            running = brig.arun(["cat"], {"limits": {"memory": "64M"}}, stdin=b"x", timeout=20)
        assert [each.filename for each in caught] == [__file__]
        return await running

    assert asyncio.run(main()).stdout == b"x"


def test_run_and_run_async_take_the_same_arguments() -> None:
    taken = inspect.signature(brig.run)
    assert inspect.signature(brig.run_async) == taken
    assert inspect.signature(brig.arun).parameters == taken.parameters


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


# As a process that becomes a user who may make no user namespace. In one process: an exec would
# take the namespace's rights away.
WITHOUT_NAMESPACES = """
import ctypes, os
import brig, adder

uid, gid = os.geteuid(), os.getegid()
assert ctypes.CDLL(None).unshare(0x10000000) == 0  # CLONE_NEWUSER
for path, text in (
    ("/proc/self/setgroups", "deny"),
    ("/proc/self/uid_map", f"1000 {uid} 1"),
    ("/proc/self/gid_map", f"1000 {gid} 1"),
    ("/proc/sys/user/max_user_namespaces", "0"),
):
    with open(path, "w") as file:
        file.write(text)
for attempt in range(40):
    try:
        if attempt % 4 == 3:
            with brig.Sandbox([adder.add]) as box:
                print(box.call_sync("add", {"a": 1}).error)
        else:
            print(brig.run(["true"]).outcome)
    except brig.Error as error:
        print(f"{type(error).__name__}: {error}")
"""


def test_the_reason_of_a_refusal_is_never_lost(tmp_path: Path) -> None:
    # The helper gives up while its plan is still on the way, or after: the reason must not depend
    # on which.
    tmp_path.chmod(0o755)
    (tmp_path / "adder.py").write_text(
        "import brig\n@brig.tool\ndef add(a: int) -> int:\n    'Adds one.'\n    return a + 1\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_NAMESPACES],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout.splitlines()
    assert len(said) == 40
    assert all(line.startswith("UnsupportedError: ") for line in said), set(said)
    assert all(
        "user namespaces are disabled here: set the sysctl" in line for line in said
    ), set(said)


LOOK_UP = """
import socket
for host in ("allowed.example.org", "denied.example.org"):
    print(socket.getaddrinfo(host, 443, socket.AF_INET, socket.SOCK_STREAM)[0][4][0].rsplit(".", 2)[0])
try:
    with socket.create_connection(("denied.example.org", 443), 20) as tool:
        tool.recv(1)
except OSError:
    pass
"""


def test_a_list_of_hosts_is_a_network() -> None:
    report = brig.run(
        ["/usr/bin/python3", "-c", LOOK_UP], network={"allow": ["allowed.example.org"]}, timeout=30
    )
    assert report.stdout.split() == [b"198.18", b"198.18"], report.stderr
    assert report.connections_total == 1
    (tried,) = report.connections
    assert isinstance(tried, brig.Connection)
    assert (tried.host, tried.port, tried.verdict, tried.way) == ("denied.example.org", 443, "denied", "direct")
    assert (tried.rule, tried.reason, tried.address) == ("", "no rule allows it", "")
    assert tried.to_json() == report.to_json()["connections"][0]
    assert repr(tried) == "brig.Connection(denied: denied.example.org:443)"
    (refused,) = (each for each in report.violations if each["code"] == "network.refused")
    assert refused["grant"] == 'network.allow = ["denied.example.org:443"]'


def test_hosts_are_any_sequence_and_one_string_is_none() -> None:
    for hosts in (("a.example",), ["a.example"], {"a.example": 1}.keys()):
        report = brig.run(["true"], policy={"network": "host"}, network={"allow": hosts, "deny": None}, connections=3)
        assert report.ok and "network_proxy" in report.enforced
        assert report.connections == []
    with pytest.raises(brig.ConfigError, match=r"network.allow: .*write \['a.example'\]"):
        brig.run(["true"], network={"allow": "a.example"})
    with pytest.raises(brig.ConfigError, match=r"'a.example' is a host; hosts stand in a table"):
        brig.run(["true"], network="a.example")
    with pytest.raises(brig.ConfigError, match="limits.connections|connections: 0 is out of range"):
        brig.run(["true"], network={"allow": ["a.example"]}, connections=0)


def test_a_sandbox_has_the_hosts_and_their_limits(sandbox: Callable[..., brig.Sandbox]) -> None:
    def proxy() -> str:
        return os.environ["https_proxy"]

    box = sandbox([proxy], network={"allow": ["a.example"]}, connections=3, upload="1M", download=1, connection_time=5)
    result = box.call_sync("proxy")
    assert result.output == "http://127.0.0.1:3128"
    assert result.report.connections == []
    with pytest.raises(brig.ConfigError, match="connection_time"):
        sandbox([proxy], network={"allow": ["a.example"]}, connection_time=0)


def test_a_violation_says_what_would_allow_it(sandbox: Callable[..., brig.Sandbox]) -> None:
    (record,) = brig.run(["cat", "/srv/brig-nowhere"]).violations
    assert record == {
        "code": "file.not_in_cell",
        "what": "named a path that is not in the cell",
        "target": "/srv/brig-nowhere",
        "rule": "files.read and files.write do not list it",
        "grant": 'files.read = ["/srv/brig-nowhere"]',
        "retry": "after_grant",
        "count": 1,
        "certain": False,
    }

    def reads(path: str) -> str:
        with open(path) as file:
            return file.read()

    result = sandbox([reads]).call_sync("reads", {"path": "/srv/brig-nowhere"})
    assert result.error_type == "FileNotFoundError"
    assert [each["code"] for each in result.report.violations] == ["file.not_in_cell"]

#!/usr/bin/python3
"""What brig promises on a machine with systemd: run there as root, by tests.service.

A line for each row: `ok NAME`, or `FAILED NAME: why`; the last one counts them. A row is a function with @row; they
run in this order. It fails if it raises, or if it leaves a process of brig's or a cell's cgroup behind.
"""

from __future__ import annotations

import glob
import http.client
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Sequence

SOON = 120.0  # tells at once from never, on an emulated machine that others keep waiting
CGROUPS = Path("/sys/fs/cgroup")
SERVICE = CGROUPS / "system.slice/brig.service"
DROP_INS = Path("/etc/systemd/system/brig.service.d")
TOKENS = Path("/etc/brig/tokens.toml")
AUDIT = Path("/var/lib/brig/audit.jsonl")

rows: list[tuple[str, Callable[[], object]]] = []


def row(function: Callable[[], object]) -> Callable[[], object]:
    rows.append((function.__name__, function))
    return function


def say(text: str) -> None:
    print("   " + text.strip().replace("\n", "\n   "), flush=True)


def comes_true(what: str, holds: Callable[[], object]) -> None:
    end = time.monotonic() + SOON
    while not holds():
        assert time.monotonic() < end, f"not within {SOON:.0f} s: {what}"
        time.sleep(0.1)


def run(*argv: str, code: int | None = 0, timeout: float = 300) -> str:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    assert code is None or done.returncode == code, f"{argv} ended with {done.returncode}: {done.stdout} {done.stderr}"
    return done.stdout


def processes() -> dict[int, str]:
    """Those of brig, cells among them, by their own names and by the words of their command lines."""
    found = {}
    for path in glob.glob("/proc/[0-9]*"):
        try:
            name = Path(path, "comm").read_text().strip()
            words = Path(path, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if name.startswith("brig") or "sleep 4321" in words:
            found[int(path[6:])] = f"{name}: {words}"
    return found


def sleepers() -> list[int]:
    """In cells, and not those who only name them."""
    return [pid for pid, words in processes().items() if words.startswith("sleep: ")]


def cells() -> list[str]:
    return [path for path, _, _ in os.walk(CGROUPS) if os.path.basename(path).startswith("brig-")]


def nothing_is_left() -> None:
    end = time.monotonic() + SOON
    while processes() or cells():
        assert time.monotonic() < end, f"left behind: {processes()} {cells()}"
        time.sleep(0.1)


# --- a login session of an ordinary user ---


def login(*argv: str, code: int | None = 0) -> str:
    """Through PAM, as at a terminal: logind makes a session, and systemd a manager of the user's own."""
    words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in argv)
    return run("runuser", "--login", "user", "-c", words, code=code)


IN_A_SCOPE = ("systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes")
IN_A_SERVICE = ("systemd-run", "--user", "--pipe", "--wait", "--quiet", "-p", "Delegate=yes")


def memory_of_the_tree_is_limited(*start: str) -> None:
    """Four processes, each of which is below the limit alone."""
    enough = json.loads(login(*start, "brig", "run", "--json", "--memory", "64M", "--", "vm-guest", "hog", "16"))
    assert enough["outcome"] == "ok", enough
    for layer in ("memory:cgroup_v2", "processes:cgroup_v2"):
        assert layer in enough["enforced"], enough["enforced"]
    hogs = json.loads(
        login(*start, "brig", "run", "--json", "--memory", "64M", "--", "vm-guest", "hog", "30", "4", code=137)
    )
    assert hogs["outcome"] == "memory_limit", hogs


@row
def login_is_a_session() -> None:
    shown = login("sh", "-c", 'echo "$XDG_SESSION_ID $XDG_RUNTIME_DIR"; cat /proc/self/cgroup; id -u; test -S "$XDG_RUNTIME_DIR/bus" && echo bus')
    first, cgroup, uid, bus = shown.splitlines()
    session, runtime = first.split()
    assert runtime == f"/run/user/{uid}" and uid != "0" and bus == "bus", shown
    assert cgroup.endswith(f"user-{uid}.slice/session-{session}.scope"), shown
    # And the user's own manager works.
    assert login("systemctl", "--user", "is-system-running", "--wait").strip() == "running"


@row
def login_doctor() -> None:
    found = json.loads(login("brig", "doctor", "--json"))
    assert found["floors"]["jail"] and found["available"], found
    missing = [layer["name"] for layer in found["layers"] if layer["required"] and not layer["present"]]
    assert not missing, missing
    layers = {layer["name"]: layer for layer in found["layers"]}
    for name in ("cgroup_memory", "cgroup_pids"):
        layer = layers[name]
        assert layer["present"] and "in a scope of the user's systemd" in layer["detail"], layer
    say(login("brig", "doctor"))


@row
def login_run() -> None:
    report = json.loads(login("brig", "run", "--json", "--", "sh", "-c", "echo hello; id -u"))
    assert report["outcome"] == "ok" and report["stdout"] == "hello\n1000\n", report
    assert "user_namespace" in report["enforced"] and "seccomp" in report["enforced"], report
    say(" ".join(report["enforced"]))


def scopes() -> list[str]:
    """Those that brig has asked the user's manager for."""
    return login("systemctl", "--user", "list-units", "--all", "--plain", "--no-legend", "brig-*.scope").splitlines()


@row
def login_memory() -> None:
    """brig asks the user's manager for a scope itself."""
    memory_of_the_tree_is_limited()
    comes_true("the scopes have gone", lambda: not scopes())


@row
def login_without_a_limit_asks_for_no_scope() -> None:
    """A scope takes longer than a call: only one that names a limit of the tree waits for it."""
    report = json.loads(login("brig", "run", "--json", "--", "cat", "/proc/self/cgroup"))
    assert "memory:per_process" in report["enforced"], report
    assert ".scope" not in report["stdout"] or "session-" in report["stdout"], report


@row
def login_a_limit_named_with_its_default_value_asks_for_a_scope() -> None:
    for option in (("--memory", "512M"), ("--processes", "128")):
        report = json.loads(login("brig", "run", "--json", *option, "--", "true"))
        assert "memory:cgroup_v2" in report["enforced"], (option, report["enforced"])


@row
def login_asan_starts_where_a_limit_is_named() -> None:
    """It reserves terabytes, which only a cgroup for memory gives it; the message says what to name for one."""
    without = json.loads(login("brig", "run", "--json", "--", "vm-asan", code=None))
    assert without["outcome"] in ("exit", "signal"), without
    assert "name --memory 512M, and brig asks your systemd for one" in without["message"], without
    say(without["message"])
    named = ("--memory", "512M", "--env", "ASAN_OPTIONS=detect_leaks=0")
    report = json.loads(login("brig", "run", "--json", *named, "--", "vm-asan"))
    assert report["outcome"] == "ok" and "memory:cgroup_v2" in report["enforced"], report


THREADS = """
import threading
together = threading.Barrier(65)
threads = [threading.Thread(target=together.wait) for _ in range(64)]
for each in threads: each.start()
together.wait()
print("65 at once")
"""


@row
def login_64_threads() -> None:
    """Under the defaults, and in a scope."""
    for option, layer in (((), "memory:per_process"), (("--memory", "512M"), "memory:cgroup_v2")):
        report = json.loads(login("brig", "run", "--json", "--timeout", "120s", *option, "--", "python3", "-c", THREADS))
        assert report["stdout"] == "65 at once\n" and layer in report["enforced"], report


@row
def login_scope_holds_the_cell_and_not_the_host() -> None:
    host = subprocess.Popen(["runuser", "--login", "user", "-c", "exec brig run --memory 64M -- sleep 4321"])
    comes_true("the call runs", lambda: len(sleepers()) == 1)
    where = {pid: Path(f"/proc/{pid}/cgroup").read_text() for pid in processes()}
    cell = where[sleepers()[0]]
    scope = cell[: cell.index(".scope/brig-") + 7]
    assert "/user@" in scope and "/brig-" in scope, where
    # The program itself stays in its session; all that it has started is in the scope.
    outside = [pid for pid, path in where.items() if not path.startswith(scope)]
    programs = [pid for pid in outside if os.readlink(f"/proc/{pid}/exe").endswith("/bin/brig")]
    assert len(programs) == 1 and "session-" in where[programs[0]], where
    assert [pid for pid in outside if "runuser" not in processes()[pid]] == programs, (where, processes())
    assert len(scopes()) == 1, scopes()
    os.kill(programs[0], signal.SIGKILL)
    host.wait(SOON)
    nothing_is_left()
    comes_true("the scope has gone", lambda: not scopes())


@row
def login_memory_in_a_scope() -> None:
    memory_of_the_tree_is_limited(*IN_A_SCOPE)


@row
def login_memory_in_a_service() -> None:
    memory_of_the_tree_is_limited(*IN_A_SERVICE)


@row
def login_ends_in_a_call() -> None:
    """The session's processes are ended from outside: nothing of the cell may stay."""
    host = subprocess.Popen(["runuser", "--login", "user", "-c", "brig run -- sh -c 'setsid sleep 4321 & sleep 4321'"])
    comes_true("the call runs", lambda: len(sleepers()) == 2)
    run("loginctl", "kill-user", "--signal=KILL", "user")
    host.wait(SOON)


# --- a handler of crashes, which the kernel starts as root outside of every cell ---

CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
CORE_PIPE_LIMIT = Path("/proc/sys/kernel/core_pipe_limit")
HANDLER, MARKS = Path("/usr/local/bin/note-a-crash"), Path("/run/crashes")
CRASH = "kill -SEGV $$"
FLOORS: dict[str, tuple[str, ...]] = {"jail": (), "landlock": (), "process": ("--net", "host")}  # and what each needs


class Handler:
    """While it stands, each crash that the kernel has handled is a line of MARKS."""

    def __enter__(self) -> Handler:
        HANDLER.write_text(f'#!/bin/sh\necho "$1" >>{MARKS}\nexec cat >/dev/null\n')
        HANDLER.chmod(0o755)
        MARKS.write_text("")
        self.before = CORE_PATTERN.read_text()
        CORE_PATTERN.write_text(f"|{HANDLER} %i")
        CORE_PIPE_LIMIT.write_text("64")  # who crashed is there until its handler has ended
        return self

    def __exit__(self, *_: object) -> None:
        CORE_PATTERN.write_text(self.before)
        CORE_PIPE_LIMIT.write_text("0")
        HANDLER.unlink()
        MARKS.unlink()

    def count(self) -> int:
        return len(MARKS.read_text().splitlines())

    def handles(self, start: Callable[[], object]) -> bool:
        before = self.count()
        start()
        return self.count() > before


def crash(start: Callable[..., str], *options: str) -> None:
    report = json.loads(start("brig", "run", "--json", *options, "--", "sh", "-c", CRASH, code=139))
    assert report["outcome"] == "signal" and report["signal_name"] == "SIGSEGV", report


@row
def crashes_in_a_cell_start_no_handler() -> None:
    with Handler() as handler:
        assert handler.handles(lambda: login("sh", "-c", CRASH, code=None)), "of one outside it is started"
        starts: tuple[Callable[..., str], ...] = (run, login)
        for start in starts:
            for floor, needs in FLOORS.items():
                assert not handler.handles(lambda: crash(start, "--isolation", floor, *needs)), (start, floor)


@row
def crashes_that_the_kernel_handles_all_the_same() -> None:
    """SECURITY.md names them: no limit of 1 can be had, or a tool can change it."""
    with Handler() as handler:
        no_limit = ("sh", "-c", f"ulimit -Hc 0; exec brig run -- sh -c '{CRASH}'")
        assert handler.handles(lambda: login(*no_limit, code=139))
        assert not handler.handles(lambda: run(*no_limit, code=139)), "root has its limit of 1 there, too"
        changed = ("--", "sh", "-c", f"ulimit -c 0; {CRASH}")
        assert handler.handles(lambda: login("brig", "run", "--isolation", "process", *FLOORS["process"], *changed, code=139))
        assert not handler.handles(lambda: login("brig", "run", *changed, code=139))


# --- the service ---

MANIFEST = """
[policy]
memory = "64M"
timeout = "200s"

[[command]]
name = "sh"
description = "Runs a line."
argv = ["sh", "-c", "{line}"]
parameters.line = { type = "string" }
"""
LISTED = """
[[command]]
name = "listed"
description = "Reads a listed directory, part of which is hidden."
argv = ["sh", "-c", "cat /srv/listed/file; ls /srv/listed/hidden | wc -l; touch /srv/listed/new || true"]
policy = { files = { read = ["/srv/listed"], hide = ["/srv/listed/hidden"] } }
"""
SEALED = """
[[command]]
name = "sealed"
description = "Reads a file that only root can reach."
argv = ["cat", "/srv/sealed/open/file"]
policy = { files = { read = ["/srv/sealed/open"] } }
"""
MANIFEST_FILE = Path("/etc/brig/brig.toml")

token = ""


class Answer:
    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.text = status, body.decode()
        self.json: Any = json.loads(body) if body[:1] in (b"{", b"[") else None


def ask(path: str, body: object = None, with_token: str | None = None, timeout: float = 240) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", 7070, timeout=timeout)
    try:
        headers = {"Authorization": f"Bearer {token if with_token is None else with_token}", "Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return Answer(response.status, response.read())
    finally:
        connection.close()


def call(line: str) -> dict[str, Any]:
    answer = ask("/v1/tools/sh/call", {"arguments": {"line": line}})
    assert answer.status == 200, answer.text
    return dict(answer.json)


class Call(threading.Thread):
    """A call in the background: its result, or what was raised."""

    def __init__(self, line: str) -> None:
        super().__init__(daemon=True)
        self.line, self.error = line, ""
        self.result: dict[str, Any] = {}
        self.start()
        comes_true("the call runs", lambda: any(line in each for each in processes().values()) or not self.is_alive())
        assert self.is_alive(), (self.result, self.error)

    def run(self) -> None:
        try:
            self.result = call(self.line)
        except Exception as error:
            self.error = repr(error)

    def outcome(self) -> str:
        self.join(SOON)
        assert not self.is_alive(), "the call did not end"
        assert self.result, self.error
        return str(self.result["report"]["outcome"])


def state(name: str, unit: str = "brig.service") -> str:
    return run("systemctl", "show", "--value", "--property", name, unit).strip()


def main_pid() -> int:
    return int(state("MainPID"))


def status_of(pid: int, key: str) -> list[str]:
    found = re.search(rf"^{key}:\s*(.*)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return found[1].split()


def journal() -> str:
    return run("journalctl", "--no-pager", "--output=cat", "-u", "brig.service")


def write_token() -> None:
    global token
    token = secrets.token_hex(24)
    TOKENS.write_text(token + "\n")
    TOKENS.chmod(0o600)


def drop_in(name: str, text: str) -> None:
    DROP_INS.mkdir(exist_ok=True)
    (DROP_INS / name).write_text(text)
    run("systemctl", "daemon-reload")


def no_drop_ins() -> None:
    shutil.rmtree(DROP_INS, ignore_errors=True)
    run("systemctl", "daemon-reload")


def stop() -> None:
    """All of it, as an operator would; whatever failed before is forgotten."""
    run("systemctl", "stop", "brig.socket", "brig.service")
    run("systemctl", "reset-failed", "brig.socket", "brig.service", code=None)


@row
def service_without_tokens() -> None:
    """As README has it, but for the token: it does not start, and says what is missing."""
    TOKENS.unlink()
    run("systemctl", "start", "brig.service", code=1)
    said = [line for line in journal().splitlines() if line.startswith("brig: ")]
    assert said and all("the file holds no token" in line and str(TOKENS) in line for line in said), journal()
    say(said[0])
    # Who calls is sent away, with nothing, and again with the socket started anew.
    stop()
    run("systemctl", "start", "brig.socket")
    try:
        answer = ask("/v1/tools")
    except OSError as error:
        say(f"a caller: {error!r}")
    else:
        assert False, answer.text
    write_token()
    stop()


@row
def service_starts_at_the_first_request() -> None:
    write_token()
    run("systemctl", "enable", "--now", "brig.socket")
    assert state("ActiveState") == "inactive" and state("ActiveState", "brig.socket") == "active"
    answer = ask("/v1/tools")
    assert answer.status == 200 and "sh" in [each["name"] for each in answer.json["tools"]], answer.text
    assert state("ActiveState") == "active" and state("SubState") == "running"
    stop()


def started() -> None:
    run("systemctl", "start", "brig.socket")
    assert ask("/healthz").status == 200


@row
def service_is_not_root() -> None:
    started()
    pid = main_pid()
    uid = int(status_of(pid, "Uid")[0])
    assert uid not in (0, 65534) and 61184 <= uid <= 65519, uid  # a dynamic user's
    assert set(status_of(pid, "Uid") + status_of(pid, "Gid")) == {str(uid)}
    for key in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
        assert int(status_of(pid, key)[0], 16) == 0, key
    assert status_of(pid, "NoNewPrivs") == ["1"]
    stop()


@row
def service_wants_its_token() -> None:
    started()
    assert ask("/v1/tools", with_token="").status == 401
    assert ask("/v1/tools", with_token="x" * 48).status == 401
    assert ask("/v1/tools/sh/call", {"arguments": {"line": "true"}}, with_token="x" * 48).status == 401
    assert call("echo hello")["output"] == "hello"
    # Nobody but root and the service can read it.
    assert TOKENS.stat().st_mode & 0o077 == 0
    audit = [json.loads(line) for line in AUDIT.read_text().splitlines()]
    assert [each["tool"] for each in audit if each["event"] == "end"] == ["sh"], audit
    assert [each["status"] for each in audit if each["event"] == "refused"] == [401] * 3, audit
    stop()


@row
def service_takes_a_new_token_when_restarted() -> None:
    started()
    old = token
    write_token()
    run("systemctl", "restart", "brig.service")
    assert ask("/v1/tools").status == 200
    assert ask("/v1/tools", with_token=old).status == 401
    stop()


@row
def service_reloads_its_manifest() -> None:
    started()
    pid = main_pid()
    MANIFEST_FILE.write_text(MANIFEST.replace('name = "sh"', 'name = "renamed"'))
    run("systemctl", "reload", "brig.service")
    comes_true("the new tool is there", lambda: "renamed" in ask("/v1/tools").text)
    MANIFEST_FILE.write_text(MANIFEST)
    comes_true("the old one is back", lambda: "renamed" not in ask("/v1/tools").text)
    assert main_pid() == pid
    stop()


@row
def service_limits_memory_of_the_tree() -> None:
    started()
    pid = main_pid()
    result = call("vm-guest hog 16")
    report = result["report"]
    assert result["ok"], result
    for layer in ("memory:cgroup_v2", "processes:cgroup_v2", "user_namespace", "seccomp"):
        assert layer in report["enforced"], report["enforced"]
    say(" ".join(report["enforced"]))
    hogs = call("vm-guest hog 30 4")["report"]
    assert hogs["outcome"] == "memory_limit", hogs
    # A cell that meets its limit is no failure of the service.
    assert main_pid() == pid and state("ActiveState") == "active" and call("echo on")["output"] == "on"
    stop()


@row
def service_has_its_cells_below_itself() -> None:
    started()
    running = Call("sleep 4321")
    comes_true("the tool sleeps", sleepers)
    sleeper = sleepers()[0]
    where = Path(f"/proc/{sleeper}/cgroup").read_text().strip()
    assert where.startswith("0::/system.slice/brig.service/"), where
    slot = Path(str(CGROUPS) + where[3:])
    assert (slot / "memory.max").read_text().strip() == str(64 << 20), where
    assert status_of(sleeper, "Uid")[0] == status_of(main_pid(), "Uid")[0]
    # The service's own limit is over all of them.
    assert (SERVICE / "memory.max").read_text().strip() != "max"
    run("systemctl", "kill", "--signal=KILL", "--kill-who=all", "brig.service")
    running.join(SOON)
    stop()


@row
def service_lets_calls_end_when_restarted() -> None:
    started()
    old = main_pid()
    running = Call("sleep 4; sleep 4; echo to the end # sleep 4321")
    restart = subprocess.Popen(["systemctl", "restart", "brig.service"])
    comes_true("it stops", lambda: state("ActiveState") == "deactivating")
    # The socket is systemd's: who comes now waits for the next server.
    assert call("echo next")["output"] == "next"
    assert restart.wait(SOON) == 0
    assert running.outcome() == "ok" and running.result["output"] == "to the end", running.result
    assert main_pid() not in (0, old) and state("Result") == "success"
    stop()


@row
def service_ends_at_sigterm_and_starts_again() -> None:
    started()
    running = Call("sleep 3; echo to the end # sleep 4321")
    run("systemctl", "kill", "--signal=TERM", "--kill-who=main", "brig.service")
    assert running.outcome() == "ok", running.result
    comes_true("it has ended", lambda: state("ActiveState") == "inactive")
    assert state("Result") == "success" and state("ExecMainStatus") == "0" and state("NRestarts") == "0"
    nothing_is_left()
    assert call("echo again")["output"] == "again"  # the socket starts it
    stop()


SHORT_DRAIN = """[Service]
ExecStart=
ExecStart=/usr/local/bin/brig serve --builtins --drain 2s --manifest /etc/brig/brig.toml --token-file ${CREDENTIALS_DIRECTORY}/tokens
"""


@row
def service_ends_calls_that_outlast_the_drain() -> None:
    drop_in("drain.conf", SHORT_DRAIN)
    started()
    running = Call("sleep 4321")
    run("systemctl", "stop", "brig.socket", "brig.service")
    assert state("Result") == "success", state("Result")
    assert running.outcome() == "cancelled", running.result
    assert json.loads(AUDIT.read_text().splitlines()[-1])["outcome"] == "cancelled", AUDIT.read_text()
    nothing_is_left()
    stop()
    no_drop_ins()


@row
def service_runs_commands_with_builtins() -> None:
    drop_in("builtins.conf", SHORT_DRAIN)
    started()
    answer = ask("/v1/tools/run_command/call", {"arguments": {"argv": ["cat", "f"], "files": {"f": "text"}}})
    assert answer.status == 200 and answer.json["report"]["outcome"] == "ok", answer.text
    assert "memory:cgroup_v2" in answer.json["report"]["enforced"], answer.json["report"]["enforced"]
    answer = ask("/v1/tools/run_python/call", {"arguments": {"code": "6 * 7"}})
    assert answer.status == 200 and answer.json["report"]["outcome"] == "ok", answer.text
    stop()
    no_drop_ins()


def killed() -> None:
    started()
    old = main_pid()
    running = Call("setsid sleep 4321 & sleep 4321")
    comes_true("both sleep", lambda: len(sleepers()) == 2)
    assert cells()
    run("systemctl", "kill", "--signal=KILL", "--kill-who=main", "brig.service")
    comes_true("systemd starts it again", lambda: main_pid() not in (0, old) and state("SubState") == "running")
    running.join(SOON)
    assert not running.result, running.result
    comes_true("its cells are gone", lambda: not sleepers())
    assert call("echo again")["output"] == "again"
    assert state("NRestarts") == "1"
    stop()
    nothing_is_left()
    assert not SERVICE.exists()


@row
def service_killed_leaves_nothing() -> None:
    killed()


@row
def service_reads_nothing_of_roots() -> None:
    os.makedirs("/srv/sealed/open", exist_ok=True)
    os.chmod("/srv/sealed", 0o700)
    Path("/srv/sealed/open/file").write_text("for those whom root lets\n")
    Path("/srv/sealed/open/file").chmod(0o644)
    MANIFEST_FILE.write_text(MANIFEST + SEALED)
    run("systemctl", "start", "brig.service", code=1)
    said = journal().splitlines()
    assert any("'sealed'" in line and "/srv/sealed/open" in line and "Permission denied" in line for line in said[-12:]), said
    MANIFEST_FILE.write_text(MANIFEST)
    stop()


def listed_paths() -> None:
    """DynamicUser= and root.conf have RestrictSUIDSGID=, which hides openat2."""
    os.makedirs("/srv/listed/hidden", exist_ok=True)
    Path("/srv/listed/file").write_text("listed\n")
    Path("/srv/listed/hidden/secret").write_text("secret\n")
    MANIFEST_FILE.write_text(MANIFEST + LISTED)
    started()
    answer = ask("/v1/tools/listed/call", {"arguments": {}})
    assert answer.status == 200 and answer.json["output"] == "listed\n0", answer.text
    MANIFEST_FILE.write_text(MANIFEST)
    stop()


@row
def service_gives_listed_paths() -> None:
    listed_paths()


def as_root() -> None:
    DROP_INS.mkdir(exist_ok=True)
    shutil.copy("/usr/local/share/doc/brig/root.conf", DROP_INS)  # as docs/serve.md has it
    run("systemctl", "daemon-reload")


@row
def service_as_root() -> None:
    as_root()
    MANIFEST_FILE.write_text(MANIFEST + SEALED)
    started()
    assert status_of(main_pid(), "Uid")[0] == "0"
    result = call("id -u; grep CapEff /proc/self/status")
    assert result["ok"] and result["output"] == "1000\nCapEff:\t0000000000000000", result
    assert "memory:cgroup_v2" in result["report"]["enforced"], result["report"]["enforced"]
    assert call("vm-guest hog 30 4")["report"]["outcome"] == "memory_limit"
    answer = ask("/v1/tools/sealed/call", {"arguments": {}})
    assert answer.json and answer.json["output"] == "for those whom root lets", answer.text
    MANIFEST_FILE.write_text(MANIFEST)
    stop()
    nothing_is_left()
    no_drop_ins()


@row
def service_as_root_gives_listed_paths() -> None:
    as_root()
    listed_paths()
    no_drop_ins()


@row
def service_as_root_killed_leaves_nothing() -> None:
    as_root()
    killed()
    no_drop_ins()


@row
def service_exposure() -> None:
    for name in ("as it is", "as root"):
        if name == "as root":
            as_root()
        shown = run("systemd-analyze", "security", "--no-pager", "brig.service", code=None).strip().splitlines()
        say(f"{name}: {shown[-1]}")
        assert "Overall exposure level" in shown[-1]
    no_drop_ins()


# --- AppArmor ---

PROFILE = Path("/usr/local/share/doc/brig/apparmor/brig")
LOADED = Path("/etc/apparmor.d/brig")


@row
def apparmor_profile() -> None:
    """The shipped profile is loaded, and both programs run under it: what is left is the rule `userns`, which
    takes a parser of 4.0 and a kernel of 6.7. Without those it and the ABI are left out here."""
    assert run("aa-enabled").strip() == "Yes"
    text = PROFILE.read_text()
    assert text.count("\n  userns,\n") == 2 and "abi <abi/4.0>,\n" in text, text
    found = re.search(r"version (\d+)\.(\d+)", run("apparmor_parser", "--version"))
    assert found
    if int(found[1]) < 4:
        text = text.replace("\n  userns,\n", "\n").replace("abi <abi/4.0>,\n", "abi <abi/3.0>,\n")
        say(f"the parser is {found[1]}.{found[2]}: without the rule `userns`")
    LOADED.write_text(text)
    run("apparmor_parser", "-r", str(LOADED))
    try:
        host = subprocess.Popen(["runuser", "--login", "user", "-c", "exec brig run -- sh -c 'echo on; exec sleep 4321'"])
        comes_true("a call runs", sleepers)
        labels = {words.split(":")[0]: Path(f"/proc/{pid}/attr/current").read_text().strip() for pid, words in processes().items() if words.startswith(("brig:", "sleep:"))}
        assert set(labels.values()) == {"brig (unconfined)"} and "sleep" in labels, labels
        run("loginctl", "kill-user", "--signal=KILL", "user")
        host.wait(SOON)
        started()
        label = Path(f"/proc/{main_pid()}/attr/current").read_text().strip()
        assert label == "brig-server (unconfined)", label
        assert "memory:cgroup_v2" in call("true")["report"]["enforced"]
        stop()
    finally:
        run("apparmor_parser", "-R", str(LOADED))
        LOADED.unlink()


@row
def apparmor_refusal_names_the_profile() -> None:
    """As Ubuntu's kernel would have it: the sysctl is one of a tmpfs over /proc/sys/kernel, which this kernel has not;
    the refusal itself is another sysctl's."""
    clone = Path("/proc/sys/kernel/unprivileged_userns_clone")
    clone.write_text("0")
    try:
        for command, wanted in (("brig run -- true", 125), ("brig doctor", 1)):
            done = subprocess.run(
                ["unshare", "--mount", "sh", "-c", f"""
mount -t tmpfs none /proc/sys/kernel && echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns && chmod 755 /proc/sys/kernel &&
exec setpriv --reuid user --regid user --init-groups {command}"""],
                capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SOON)
            said = done.stdout + done.stderr
            assert done.returncode == wanted, (done.returncode, said)
            for part in (f"`install -m 644 {PROFILE} {LOADED} && apparmor_parser -r {LOADED}`", "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`"):
                assert part in said, said
        say(said)
        done = subprocess.run(["runuser", "-u", "user", "--", "brig", "run", "--", "true"], capture_output=True, text=True, timeout=SOON)
        assert done.returncode == 125 and "AppArmor" not in done.stderr and "unprivileged_userns_clone" in done.stderr, done.stderr
    finally:
        clone.write_text("1")


def main() -> int:
    only = Path("/opt/brig-test/only").read_text()
    chosen = [each for each in rows if re.search(only, each[0])]
    assert chosen, f"no row is called {only}"
    print(f"\n{os.uname().release}, {run('systemctl', '--version').splitlines()[0]}, up after {time.monotonic():.0f} s", flush=True)
    os.makedirs("/etc/brig", exist_ok=True)
    MANIFEST_FILE.write_text(MANIFEST)
    write_token()
    failed = 0
    for name, function in chosen:
        began = time.monotonic()
        try:
            function()
            nothing_is_left()
        except Exception as error:
            failed += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAILED {name}: {type(error).__name__} at line {place.lineno}: {error}", flush=True)
            if name.startswith("service"):
                say("\n".join(journal().splitlines()[-15:]))
                no_drop_ins()
                MANIFEST_FILE.write_text(MANIFEST)
                run("systemctl", "kill", "--signal=KILL", "brig.service", code=None)
                run("systemctl", "stop", "brig.socket", "brig.service", code=None)
                run("systemctl", "reset-failed", "brig.socket", "brig.service", code=None)
        else:
            print(f"ok {name} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

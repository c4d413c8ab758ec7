#!/usr/bin/python3
"""A network for tests, in which a command runs: ground.py [--quick] -- COMMAND...

Two network namespaces, joined by a cable: "here", in which COMMAND runs, and "internet", where the
servers are (internet.py). "here" has its own resolv.conf, hosts and nsswitch.conf, a PID namespace
and a tmpfs on /srv. It needs no privilege: an ordinary user gets a user namespace, keeps his own id
there, and COMMAND has no capability.

All of it ends with this process, however that ends. Its only child is the init of the PID
namespace and is killed with it; the kernel kills the others; the mounts and networks go with them.

Exit status: that of COMMAND, 128 and the signal that ended it, or 2 if there is no ground.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).parent))
import addresses as at
import wire

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000,
    0x4000000,
    0x8000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 1, 47, 2
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}[os.uname().machine]
CAP_LAST = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
# Of the servers, if root starts them: an id that no account has. PostgreSQL refuses to be root.
SERVERS = 64123

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int, what: str) -> None:
    check(libc.unshare(flags), f"unshare {what}")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    check(
        libc.mount(*words, ctypes.c_ulong(flags), data.encode() if data else None),
        f"mount {target}",
    )


def put_over(path: str, text: str, aside: str) -> None:
    """Another text in the place of a file, for this mount namespace."""
    own = Path(aside, Path(path).name)
    own.write_text(text)
    own.chmod(0o644)
    mount(str(own), os.path.realpath(path), None, MS_BIND)


def keep_capabilities() -> None:
    """Between fork and exec: without this, the exec of an id that is not 0 drops them."""
    low, high = (1 << min(CAP_LAST + 1, 32)) - 1, (1 << max(CAP_LAST - 31, 0)) - 1
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(
        low, low, low, high, high, high
    )
    check(libc.syscall(SYS_CAPSET, header, data), "capset")
    for capability in range(CAP_LAST + 1):
        check(
            libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0), "keep a capability"
        )


def ip(*lines: str) -> None:
    done = subprocess.run(
        ["ip", "-force", "-batch", "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        preexec_fn=keep_capabilities if os.geteuid() else None,
    )
    if done.returncode:
        raise OSError(0, f"ip: {done.stderr.strip()}")


def become_private(uid: int, gid: int) -> None:
    if uid:
        unshare(NEWUSER, "a user namespace")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    unshare(NEWNS | NEWNET | NEWPID | NEWIPC | NEWUTS, "namespaces")


def make_places(uid: int, gid: int) -> None:
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV)
    mount("ground", at.PLACE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=2g")
    servers = (uid, gid) if uid else (SERVERS, SERVERS)
    for place, owner, mode in (
        (at.PUBLIC, servers, 0o755),
        (at.PRIVATE, servers, 0o700),
        (at.OWN, (uid, gid), 0o755),
    ):
        os.mkdir(place)
        os.chown(place, *owner)
        os.chmod(place, mode)
    shutil.copytree(
        Path(__file__).parent / "guests", at.GUESTS, ignore=shutil.ignore_patterns("__pycache__")
    )
    subprocess.run(["chmod", "-R", "a+rX,go-w", at.GUESTS], check=True)


def set_up_here(internet: int) -> None:
    socket.sethostname("here")
    etc = f"{at.PLACE}/etc"
    os.mkdir(etc)
    os.chmod(etc, 0o755)
    # One resolver of each family would make a test that counts questions depend on which was asked.
    put_over("/etc/resolv.conf", f"nameserver {at.RESOLVER4}\noptions timeout:2 attempts:2\n", etc)
    put_over(
        "/etc/hosts", f"127.0.0.1 localhost\n::1 localhost\n{at.HERE4} here.example.org\n", etc
    )
    put_over(
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n",
        etc,
    )
    Path("/proc/sys/net/ipv6/conf/default/accept_dad").write_text("0")
    ip(
        "link set lo up",
        "link add cable type veth peer name cable netns " + str(internet),
        f"addr add {at.HERE4}/24 dev cable",
        f"addr add {at.HERE6}/64 dev cable nodad",
        "link set cable up",
        f"route add default via {at.ROUTER4}",
        f"route add default via {at.ROUTER6}",
    )


def set_up_internet() -> None:
    Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")  # only a router says that nobody is there
    lines = [
        "link set lo up",
        f"addr add {at.ROUTER4}/24 dev cable",
        f"addr add {at.ROUTER6}/64 dev cable nodad",
    ]
    lines += [f"route add local {network} dev lo table local" for network in at.NETWORKS4]
    lines += [f"route add local {network} dev lo table local" for network in at.NETWORKS6]
    lines += [f"addr add {address}/32 dev lo" for address in at.FORBIDDEN4]
    lines += [f"addr add {address}/128 dev lo nodad" for address in [*at.FORBIDDEN6, at.RESOLVER6]]
    lines += [
        f"route add unreachable {at.GONE} table local",
        f"route add blackhole {at.LOST} table local",
    ]
    ip(*lines, "link set cable up")


def be_internet(uid: int, plugged: int, ready: int, quick: bool) -> NoReturn:
    """Leaves "here", sets up its own side, gives up all rights, and becomes internet.py."""
    unshare(NEWNET | NEWNS, "the internet")
    os.write(ready, b"u")
    assert os.read(plugged, 1) == b"p"
    set_up_internet()
    seen = wire.open_tap("cable")
    owner = uid or SERVERS
    # git and sshd look up who they are.
    group = os.getgid() if uid else SERVERS
    put_over(
        "/etc/passwd",
        f"root:x:0:0::/root:/bin/sh\nserver:x:{owner}:{group}::{at.PRIVATE}:/bin/sh\n",
        at.PRIVATE,
    )
    if not uid:
        os.setgroups([])
        os.setresgid(SERVERS, SERVERS, SERVERS)
        os.setresuid(SERVERS, SERVERS, SERVERS)
    for inherited in (seen, ready):
        os.set_inheritable(inherited, True)
    environment = {name: os.environ[name] for name in ("BRIG_SERVERS",) if name in os.environ}
    environment |= {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": at.PRIVATE,
        "LANG": "C.UTF-8",
    }
    script = str(Path(__file__).with_name("internet.py"))
    os.chdir(at.PRIVATE)
    argv = [sys.executable, script, str(seen), str(ready), *(["--quick"] if quick else [])]
    os.execve(sys.executable, argv, environment)


def be_init(uid: int, gid: int, command: list[str], quick: bool) -> int:
    make_places(uid, gid)
    plugged, plug = os.pipe()
    ready, tell = os.pipe()
    internet = os.fork()
    if internet == 0:
        os.close(plug)
        os.close(ready)
        be_internet(uid, plugged, tell, quick)
    os.close(tell)
    if os.read(ready, 1) != b"u":
        raise OSError(0, "the internet could not be made")
    set_up_here(internet)
    os.write(plug, b"p")
    told = b""
    while not told.endswith(b"\n"):
        piece = os.read(ready, 4096)
        if not piece:
            raise OSError(0, f"the servers did not start: {told.decode()}")
        told += piece
    if told != b"ready\n":
        raise OSError(0, told.decode().strip())
    for descriptor in (ready, plug, plugged):
        os.close(descriptor)
    first = os.fork()
    if first == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.environ["BRIG_GROUND"] = at.PLACE
        os.environ.pop("BRIG_SERVERS", None)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            print(f"ground: {command[0]}: {error.strerror}", file=sys.stderr)
            os._exit(127)
    while True:
        pid, status = os.wait()
        if pid == internet:
            print(f"ground: the internet ended ({status})", file=sys.stderr)
        if pid == first:
            return os.waitstatus_to_exitcode(status)


def run(command: list[str], quick: bool) -> int:
    uid, gid = os.getuid(), os.getgid()
    become_private(uid, gid)
    go, start = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(start)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # If the parent ended before that line, this is the end of the pipe.
        if os.read(go, 1) != b"g":
            os._exit(2)
        os.close(go)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = be_init(uid, gid, command, quick)
        except BaseException as error:
            text = error.strerror if isinstance(error, OSError) else repr(error)
            print(f"ground: {text}", file=sys.stderr, flush=True)
            code = 2
        sys.stdout.flush()
        os._exit(code if code >= 0 else 128 - code)
    os.close(go)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The init of a PID namespace ignores what it does not handle, except SIGKILL from outside.
        signal.signal(number, lambda *_: os.kill(child, signal.SIGKILL))
    os.write(start, b"g")
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def main() -> int:
    words = sys.argv[1:]
    quick = words[:1] == ["--quick"]
    words = words[quick:]
    if words[:1] != ["--"] or len(words) < 2:
        print("usage: ground.py [--quick] -- COMMAND [WORD]...", file=sys.stderr)
        return 2
    try:
        return run(words[1:], quick)
    except OSError as error:
        print(f"ground: {error.strerror or error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

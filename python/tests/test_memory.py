"""What the worst that a cell may send costs a Python host.

Each case is a fresh process: how much larger it has been than after its first, small call. brig's
own reader lets the values of a text take 64 MiB and twice its size (src/json/json_text.h); the same
values are up to twice as large in Python. The rest is copies of the text, one of which has four
bytes for each character if a single one is beyond the first 65,536. """

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MIB = 1 << 20
CONSTANT = 128 * MIB

TOOLS = r'''
import os
import struct
import brig

def text_of(kind, size):
    def many(part):
        return b"[" + (part + b",") * ((size - 100) // (len(part) + 1)) + b"0]"

    def tagged(name, value):
        return b'{"__type__":"%b","value":%b}' % (name, value)

    if kind == "keys":
        return b"{" + b",".join(b'"%d":0' % i for i in range(10**6, 10**6 + size // 11)) + b"}"
    if kind == "sets":
        return tagged(b"set", b"[" + b",".join(b"%d" % i for i in range(10**7, 10**7 + size // 10)) + b"]")
    wide = "\U0001f600".encode()
    return {
        "objects": lambda: many(b"{}"),
        "arrays": lambda: many(b"[]"),
        "wide strings": lambda: many('"\u0101"'.encode()),
        "wide integers": lambda: many(b"1000")[:-1] + b',"' + wide + b'"]',
        "depth": lambda: many(b"[" * 100 + b"]" * 100),
        "wide string": lambda: b'"' + b"x" * (size - 100) + wide + b'"',
        "tuples": lambda: many(tagged(b"tuple", b"[]")),
        "paths": lambda: many(tagged(b"Path", b'"a/b"')),
        "bytes": lambda: tagged(b"bytes", b'"' + b"A" * ((size - 100) // 4 * 4) + b'"'),
        "huge integer": lambda: tagged(b"int", b'"0x1' + b"0" * (size - 100) + b'"'),
    }[kind]()

def answer(kind, size):
    """Written as an evil cell would, past all that brig does in it."""
    text = text_of(kind, size)
    fd = max(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name))
    left = memoryview(struct.pack("=II", 2, len(text)) + text)
    while left:
        left = left[os.write(fd, left):]

def say(kind, size):
    if kind == "progress":
        for _ in range(size // 1000):
            brig.progress(0.5, "x" * 1000)
    piece = ("\U0001f600" * 16_000).encode() if kind == "wide output" else b"\0" * 64_000
    for _ in range(size // len(piece) if kind != "progress" else 0):
        os.write(1, piece)
'''

HOST = r'''
import sys
import brig
import tools

def peak():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) << 10

tool, kind, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
made = brig.Tool(getattr(tools, tool), typed="typed" in sys.argv)
outcomes = []
with brig.Sandbox([made], policy={"memory": "1G", "timeout": "100s", "output_total": "1G"}) as box:
    box.call_sync(tool, {"kind": "none", "size": 1})
    before = peak()
    watch = box.watch() if "watched" in sys.argv else None
    # The largest that is taken costs most, and brig's reader takes less than the limit of some.
    for _ in range(1 if tool == "say" else 12):
        result = box.call_sync(tool, {"kind": kind, "size": size})
        outcomes.append(result.report.outcome)
        result.report.stdout
        taken = result.ok
        del result
        if taken:
            break
        size = size * 3 // 4
    print(peak() - before, *outcomes)
'''


def growth(directory: Path, *arguments: str) -> tuple[int, list[str]]:
    (directory / "tools.py").write_text(TOOLS)
    (directory / "host.py").write_text(HOST)
    done = subprocess.run(
        [
            sys.executable, "host.py", *arguments
        ], cwd=directory, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    bytes_, *outcomes = done.stdout.splitlines()[0].split()
    return int(bytes_), outcomes


# Where to begin, in KiB: what has many values is taken up to a fraction of limits.result, which is
# 16 MiB.
KINDS = [
    *[(kind, "plain", 8192) for kind in ("objects", "arrays", "wide integers", "depth", "keys")],
    ("wide strings", "plain", 4096),
    ("wide string", "plain", 16384),
    *[(kind, "typed", 6144) for kind in ("tuples", "paths")],
    *[(kind, "typed", 16384) for kind in ("bytes", "huge integer")],
    ("sets", "typed", 512),
]


@pytest.mark.parametrize(("kind", "form", "size"), KINDS)
def test_the_worst_results(tmp_path: Path, kind: str, form: str, size: int) -> None:
    grown, outcomes = growth(tmp_path, "answer", kind, str(size << 10), form)
    assert outcomes[-1] == "ok", outcomes
    assert grown < 4 * (size << 10) + CONSTANT, f"{grown / MIB} MiB, {outcomes}"


@pytest.mark.parametrize("kind", ["output", "wide output", "progress"])
@pytest.mark.parametrize("watched", ["watched", "alone"])
def test_what_a_tool_says(tmp_path: Path, kind: str, watched: str) -> None:
    grown, outcomes = growth(tmp_path, "say", kind, str(256 * MIB), "plain", watched)
    assert outcomes == ["ok"]
    # A watch that nobody reads holds 1024 events, of 64 KiB at most.
    most = 16 * MIB + (1024 * 65_536 if watched == "watched" else 0)
    assert grown < most, f"{grown / MIB} MiB"

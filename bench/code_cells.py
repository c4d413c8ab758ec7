#!/usr/bin/env python3
"""run_python as a client of `brig mcp` sees it: a value, and a plot by each of the ways to end one, with and without
matplotlib imported ahead, beside the same plot in a fork of an interpreter that has it. One run, interleaved. Usage:
code_cells.py BRIG [ROUNDS]"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

DRAW = """
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 6, 200)
plt.plot(x, np.sin(x))
plt.title("a plot")
"""
LEFT_OPEN = DRAW + 'plt.savefig("plot.png")\n'
CLOSED = LEFT_OPEN + "plt.close()\n"
SHOWN = DRAW + "plt.show()\n"
BAR = 100  # ms: what a plot may take whose modules are imported ahead
MODULES = ("numpy", "pandas", "matplotlib")
# What a zygote has imported, and a fork for each line that comes: what the plot takes by itself.
FORKER = """
import os, sys, tempfile, time
sys.path.insert(0, sys.argv[1])
os.chdir(tempfile.mkdtemp())
from brig._preload import preload
for name in sys.argv[2:]:
    preload(name)
code = compile(sys.stdin.read(int(sys.stdin.readline())), "<code>", "exec")
for line in sys.stdin:
    begun = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        exec(code, {})
        os._exit(0)
    os.waitpid(pid, 0)
    print(time.perf_counter() - begun, flush=True)
"""


class Forker:
    def __init__(self) -> None:
        package = str(Path(__file__).resolve().parent.parent / "python")
        self._process = subprocess.Popen(
            ["/usr/bin/python3", "-I", "-c", FORKER, package, *MODULES],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self._process.stdin
        self._process.stdin.write(f"{len(CLOSED)}\n{CLOSED}")

    def __call__(self) -> float:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


class Client:
    """Of `brig mcp`, over its pipes."""

    def __init__(self, brig: str, *options: str) -> None:
        self._process = subprocess.Popen(
            [brig, "mcp", "--audit", "none", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        self._id = 0
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._ask("initialize", about)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdout
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        for line in self._process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._id:
                return answer
        raise SystemExit("brig mcp has ended")

    def runner(self, code: str, kind: str) -> Callable[[], float]:
        def run() -> float:
            begun = time.perf_counter()
            answer = self._ask("tools/call", {"name": "run_python", "arguments": {"code": code}})
            took = time.perf_counter() - begun
            kinds = [each["type"] for each in answer["result"]["content"]]
            assert kinds.count("image") == (kind == "image") and kind in kinds, answer
            return took

        return run


def main() -> None:
    brig, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    check = subprocess.run(["/usr/bin/python3", "-c", f"import {', '.join(MODULES)}"], capture_output=True)
    if check.returncode != 0:
        print("plots: numpy, pandas or matplotlib is not installed")
        return
    cold, warm = Client(brig), Client(brig, *(word for name in MODULES for word in ("--preload", name)))
    runners: dict[str, tuple[Callable[[], float], int]] = {
        "run_python, a value": (cold.runner("6 * 7", "text"), rounds),
        "the same, modules preloaded": (warm.runner("6 * 7", "text"), rounds),
        "a plot, savefig + close": (warm.runner(CLOSED, "image"), rounds),
        "a plot, plt.show()": (warm.runner(SHOWN, "image"), rounds),
        "a plot, savefig left open": (warm.runner(LEFT_OPEN, "image"), rounds),
        "savefig + close in a bare fork": (Forker(), rounds),
        "the same, nothing preloaded": (cold.runner(CLOSED, "image"), max(3, rounds // 20)),
    }
    times: dict[str, list[float]] = {name: [] for name in runners}
    for i in range(-2, rounds):
        for name, (runner, count) in runners.items():
            if i < count:
                time.sleep(0.005)
                took = runner() * 1e3
                if i >= 0:
                    times[name].append(took)
    print(f"{'code cells by MCP, ms':32} {'median':>9} {'p99':>9}")
    for name, each in times.items():
        each.sort()
        median = each[len(each) // 2]
        bar = f"  bar {BAR}: {'met' if median < BAR else 'MISSED'}" if name.startswith("a plot") else ""
        print(f"{name:32} {median:9.1f} {each[min(int(len(each) * 0.99), len(each) - 1)]:9.1f}{bar}")


if __name__ == "__main__":
    main()

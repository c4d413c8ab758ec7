"""Code as models write it (cells.py) does in run_python what it does as a script of the same
interpreter: what it prints, raises, exits with and writes. What differs on purpose is in the table
at the end."""

from __future__ import annotations

import base64
import importlib.util
import json
import multiprocessing.context
import os
import re
import subprocess
import sys
import tempfile
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

import pytest
from cells import CELLS, Code

import brig
from brig._builtin import _fork_by_default

_SCRIPT = "the_script.py"
_CALLERS = 4


@pytest.fixture(scope="module")
def box() -> Iterator[Any]:
    limits = {"timeout": "60s", "memory": "1G", "output": "16M"}
    with brig.Sandbox(modules=["brig._builtin"], policy={"limits": limits}) as made:
        yield made


def can_run(cell: Code) -> bool:
    there = not cell.needs or importlib.util.find_spec(cell.needs) is not None
    return there and cell.since <= sys.version_info


@pytest.fixture(scope="module")
def ends(box: Any) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """How each ended: as a script, and in a cell."""
    cells = [cell for cell in CELLS if can_run(cell)]
    with ThreadPoolExecutor(_CALLERS) as pool:
        scripts = pool.map(as_script, cells)
        in_cells = pool.map(lambda cell: in_cell(box, cell), cells)
        return {cell.name: (script, own) for cell, script, own in zip(cells, scripts, in_cells)}


def as_script(cell: Code) -> dict[str, Any]:
    text = cell.text
    if cell.value:
        text += f"import json\nprint(json.dumps({cell.value}))\n"
    with tempfile.TemporaryDirectory() as place:
        directory, work, home = (Path(place) / name for name in ("of-code", "work", "home"))
        for each in (directory, work, home):
            each.mkdir()
        (directory / _SCRIPT).write_text(text)
        # Unbuffered, so that it stands in order with what its processes print; beside the code
        # there are only its own files, and modules are imported from the working directory as from
        # the script's.
        argv = [sys.executable, "-u", "-X", "utf8", str(directory / _SCRIPT)]
        names = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(home), "LANG": "C.UTF-8",
                 "PYTHONPATH": str(work), "MPLBACKEND": "agg", "TMPDIR": place}  # fmt: skip
        given = {"input": cell.stdin.encode()} if cell.stdin is not None else {
            "stdin": subprocess.DEVNULL
        }
        done = subprocess.run(argv, cwd=work, env=names, capture_output=True, timeout=120, **given)  # type: ignore[call-overload]
        files = {str(each.relative_to(work)): each.read_bytes() for each in work.rglob("*") if each.is_file()}
        name = str(directory / _SCRIPT).encode()
        stdout, stderr = (each.replace(name, b"<code>") for each in (done.stdout, done.stderr))
    value = None
    if cell.value:
        lines = stdout.rstrip(b"\n").split(b"\n")
        stdout, value = b"".join(line + b"\n" for line in lines[:-1]), json.loads(lines[-1])
    return {
        "stdout": stdout,
        "stderr": stderr.decode(),
        "code": done.returncode,
        "files": files,
        "value": value,
    }


def in_cell(box: Any, cell: Code) -> dict[str, Any]:
    arguments: dict[str, Any] = {"code": cell.text + cell.value}
    if cell.stdin is not None:
        arguments["stdin"] = cell.stdin
    result = box.call_sync("run_python", arguments)
    report, output = result.report, result.output or {}
    if not result.ok:
        code = -report.signal if report.outcome == "signal" else report.exit_code
        assert report.outcome in ("signal", "exit"), (cell.name, result.error, result.traceback)
    else:
        code = 1 if "error" in output else output.get("exit_code", 0)
    stderr = report.stderr.decode()
    if "error" in output and cell.name != "except hook":
        stderr += output["error"]["traceback"] + "\n"
    files = {each["path"]: base64.b64decode(each["data"]) for key in ("files", "images") for each in output.get(key, [])}
    return {"stdout": report.stdout, "stderr": stderr, "code": code, "files": files, "value": output.get("value"),
            "answered": result.ok, "displays": output.get("displays", [])}  # fmt: skip


def test_there_are_enough() -> None:
    assert len(CELLS) >= 120 and len({cell.name for cell in CELLS}) == len(CELLS)
    assert sum(bool(cell.value) for cell in CELLS) >= 40


def test_the_documentation_counts_them() -> None:
    page = Path(__file__).parents[2] / "docs" / "run-python.md"
    if not page.exists():
        pytest.skip("the tests are a copy, without the documentation")
    assert re.findall(r"\b([0-9]+) pieces of code", page.read_text()) == [str(len(CELLS))]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_cell_does_what_a_script_does(ends: Any, cell: Code) -> None:
    if sys.version_info < cell.since:
        pytest.skip(f"Python 3.{cell.since[1]}")
    if not can_run(cell):
        pytest.skip(f"there is no {cell.needs} here")
    script, own = ends[cell.name]
    assert own["stdout"] == script["stdout"]
    assert own["code"] == script["code"], own["stderr"]
    assert own["answered"] == (not cell.ends)
    if cell.last_line:
        assert own["stderr"].rstrip().split("\n")[-1] == script["stderr"].rstrip().split("\n")[-1]
    else:
        assert own["stderr"] == script["stderr"]
    if not cell.ends:
        assert own["files"] == script["files"]
    if cell.value:
        assert own["value"] == script["value"]
    assert own["displays"] == []


# --- what differs on purpose ---

# What a script does, and what a cell does: its exit status or value, and what both print.
EXTRAS = [
    ("await at the top level", "import asyncio\nawait asyncio.sleep(0, 5)", 1, 5),
    ("a command", "!true\n7", 1, 7),
    ("lines of a command", "x = !echo a\nx", 1, ["a"]),
    ("a magic", "%pwd", 1, "/workspace"),
    ("a cell of another language", "%%bash\nexit 0", 1, None),
    ("indented code", "    x = 1\n    x", 1, 1),
    ("display", "display(1)\n7", 1, 7),
    ("no file has the code", "'__file__' in globals()", 0, False),
    ("the value of an expression", "6 * 7", 0, 42),
]


@pytest.mark.parametrize(
    "name, code, status, value", EXTRAS, ids=lambda each: each if isinstance(each, str) else ""
)
def test_what_a_notebook_has_a_script_has_not(
    box: Any, name: str, code: str, status: int, value: Any
) -> None:
    assert as_script(Code(name, code + "\n"))["code"] == status
    own = in_cell(box, Code(name, code))
    assert (own["code"], own["value"]) == (0, value), own["stderr"]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_that_is_not_forked_finds_the_functions_of_a_script_and_not_of_a_cell(
    box: Any, method: str
) -> None:
    """It would read them from the file of the code, and a cell has none."""
    code = f"""
import multiprocessing
def child(): print("called", flush=True)
if __name__ == "__main__":
    p = multiprocessing.get_context("{method}").Process(target=child)
    p.start()
    p.join()
    raise SystemExit(p.exitcode)
"""
    script, own = as_script(Code(method, code)), in_cell(box, Code(method, code))
    assert (script["code"], script["stdout"]) == (0, b"called\n"), script["stderr"]
    assert (own["code"], own["stdout"]) == (1, b"")
    assert "Can't get attribute 'child'" in own["stderr"]


def test_processes_are_forked_unless_the_code_says_otherwise(box: Any) -> None:
    find = "import multiprocessing as m\n"
    for code, method in (
        ("m.get_start_method()", "fork"),
        ("m.get_context().get_start_method()", "fork"),
        ("m.set_start_method('spawn')\nm.get_start_method()", "spawn"),
    ):
        assert in_cell(box, Code("method", find + code))["value"] == method
    # As Python 3.14 begins.
    contexts = multiprocessing.context._concrete_contexts
    module = types.SimpleNamespace(
        _concrete_contexts=contexts, _default_context=multiprocessing.context.DefaultContext(
            contexts["forkserver"]
        )
    )
    _fork_by_default(module)
    assert module._default_context.get_start_method() == "fork"

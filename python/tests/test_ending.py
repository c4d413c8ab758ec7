"""How a cell ends: as a Python process does. Its answer comes last."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import pytest

import brig

TOOLS = '''
import atexit, ctypes, logging, logging.handlers, multiprocessing, os, sys, tempfile, threading, weakref
import concurrent.futures
import brig

class Thing: pass
of_the_zygote = Thing()
atexit.register(print, "the zygote's")
weakref.finalize(of_the_zygote, print, "the zygote's")
logging.getLogger("zygote").addHandler(logging.StreamHandler(sys.stdout))

@brig.tool
def thread() -> str:
    begun = threading.Event()
    def work():
        begun.wait()
        print("from a thread")
    threading.Thread(target=work).start()
    begun.set()
    return "answer"

@brig.tool
def daemon() -> str:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    return "answer"

@brig.tool
def executor() -> str:
    pool = concurrent.futures.ThreadPoolExecutor(2)
    for i in range(4):
        pool.submit(print, "task")
    return "answer"

@brig.tool
def exit_function(end: str) -> str:
    atexit.register(print, "at exit")
    if end == "raise":
        raise ValueError("x")
    if end == "exit":
        sys.exit(3)
    return "answer"

@brig.tool
def bad_exit_function() -> str:
    atexit.register(print, "first")
    atexit.register(lambda: 1 / 0)
    return "answer"

@brig.tool
def c_stdio() -> str:
    ctypes.CDLL(None).puts(b"from C")
    return "answer"

@brig.tool
def finalizers() -> str:
    global kept
    kept = Thing()
    weakref.finalize(kept, print, "finalized")
    return "answer"

@brig.tool
def log() -> str:
    handler = logging.handlers.MemoryHandler(100, target=logging.StreamHandler(sys.stdout))
    logging.getLogger("cell").addHandler(handler)
    logging.getLogger("cell").warning("logged")
    return "answer"

@brig.tool
def process() -> str:
    multiprocessing.get_context("fork").Process(target=print, args=("from a process",)).start()
    return "answer"

@brig.tool
def forked(end: str) -> str:
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        return f"answer {os.WEXITSTATUS(status)}"
    if end == "raise":
        raise ValueError("in the copy")
    if end == "exit":
        sys.exit(3)
    atexit.register(print, "the copy's end")
    return "a copy's"
'''


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    directory = tmp_path_factory.mktemp("tools")
    directory.chmod(0o755)  # pytest's own directories are its user's alone
    (directory / "ending_tools.py").write_text(TOOLS)
    with brig.Sandbox(modules=["ending_tools"], paths=[str(directory)], timeout=60) as made:
        yield made


@pytest.mark.parametrize(
    "tool, printed",
    [
        ("thread", "from a thread\n"),
        ("daemon", ""),
        ("executor", "task\n" * 4),
        ("c_stdio", "from C\n"),
        ("finalizers", "finalized\n"),
        ("log", "logged\n"),
        ("process", "from a process\n"),
    ],
)
def test_a_tool_ends_as_a_process_does_and_then_answers(box: Any, tool: str, printed: str) -> None:
    for _ in range(3):
        result = box.call_sync(tool)
        assert result.output == "answer", result.error
        assert result.report.stdout.decode() == printed
        assert result.report.stderr == b""


@pytest.mark.parametrize(
    "end, outcome", [("return", "ok"), ("raise", "tool_error"), ("exit", "exit")]
)
def test_exit_functions_run_however_the_tool_ends(box: Any, end: str, outcome: str) -> None:
    result = box.call_sync("exit_function", {"end": end})
    assert result.report.outcome == outcome
    assert result.report.stdout == b"at exit\n"


def test_an_exit_function_that_fails_is_told_and_changes_nothing(box: Any) -> None:
    result = box.call_sync("bad_exit_function")
    assert result.output == "answer" and result.report.stdout == b"first\n"
    assert b"ZeroDivisionError" in result.report.stderr


@pytest.mark.parametrize("end, status", [("return", 0), ("raise", 1), ("exit", 3)])
def test_a_copy_of_the_process_does_not_answer(box: Any, end: str, status: int) -> None:
    result = box.call_sync("forked", {"end": end})
    assert result.output == f"answer {status}", result.error
    assert (b"ValueError: in the copy" in result.report.stderr) == (end == "raise")
    assert result.report.stdout.decode() == ("the copy's end\n" if end == "return" else "")


def test_a_tool_whose_thread_does_not_end_is_a_timeout(sandbox: Callable[..., Any]) -> None:
    @brig.tool
    def stays() -> str:
        import threading

        print("begun")
        threading.Thread(target=threading.Event().wait).start()
        return "answer"

    result = sandbox([stays], timeout=1).call_sync("stays")
    assert (result.ok, result.output, result.report.outcome) == (False, None, "timeout")
    assert result.report.stdout == b"begun\n"
    assert "timeout" in str(result.error) and "1 s" in str(result.error), result.error


def test_a_thread_that_does_not_end_is_a_timeout(sandbox: Callable[..., Any]) -> None:
    box = sandbox(modules=["brig._builtin"], timeout=1)
    result = box.call_sync(
        "run_python",
        {"code": "import threading\nthreading.Thread(target=threading.Event().wait).start()"},
    )
    assert result.report.outcome == "timeout"
    assert result.report.stderr.startswith(
        b"brig: the function has returned, but its threads go on: Thread-"
    )


# --- run_python ---


@pytest.fixture(scope="module")
def python() -> Iterator[Any]:
    with brig.Sandbox(modules=["brig._builtin"], timeout=60) as made:
        yield made


def run(python: Any, code: str) -> Any:
    result = python.call_sync("run_python", {"code": code})
    assert result.ok, result.error
    return result


@pytest.mark.parametrize("end", ["None", "1 / 0", "import sys; sys.exit(2)"])
def test_what_the_end_prints_writes_and_displays_comes_back(python: Any, end: str) -> None:
    code = f"""
import atexit, ctypes, threading
main = threading.Event()
def work():
    main.wait()
    print("thread")
    display("thread's")
    open("of a thread", "w").write("x")
threading.Thread(target=work).start()
def at_exit():
    print("exit")
    open("at exit", "w").write("x")
atexit.register(at_exit)
ctypes.CDLL(None).puts(b"C")
print("main")
main.set()
{end}
"""
    result = run(python, code)
    assert result.report.stdout == b"main\nthread\nexit\nC\n"
    assert [each["path"] for each in result.output["files"]] == ["at exit", "of a thread"]
    assert [(each["at"], each["data"]["text/plain"]) for each in result.output["displays"]] == [
        (12, "\"thread's\"")
    ]


def test_the_order_of_the_end_is_pythons(python: Any) -> None:
    code = """
import atexit, threading
atexit.register(print, "exit 1")
atexit.register(print, "exit 2")
threading.Timer(0.05, print, ["timer"]).start()
print("main")
"""
    assert run(python, code).report.stdout == b"main\ntimer\nexit 2\nexit 1\n"


def test_figures_are_taken_before_matplotlib_closes_them(python: Any) -> None:
    pytest.importorskip("matplotlib")
    code = "import threading\nimport matplotlib.pyplot as plt\nt = threading.Thread(target=plt.plot, args=([1, 2],)); t.start()"
    assert "image/png" in run(python, code).output["displays"][0]["data"]

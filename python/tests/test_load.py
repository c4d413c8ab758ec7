"""How functions get into their interpreter: modules, scripts, sessions, values; and what goes wrong
there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, Union

import pytest
from conftest import comes_true, once_it_runs, processes

import brig

PACKAGE = Path(brig.__file__).resolve().parent.parent
SCRIPT = """
    import brig

    @brig.tool
    def add(a: int, b: int = 1) -> int:
        "Adds two integers."
        return a + b

    with brig.Sandbox([add], timeout=5.0, memory="256M") as box:
        r = box.call_sync("add", {"a": 2, "b": 3})
        print(r.ok, r.output, r.report.outcome)
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def python(*words: str, stdin: str = "", cwd: Any = None, **environment: str) -> str:
    found = dict(os.environ, PYTHONPATH=str(PACKAGE), **environment)
    done = subprocess.run(
        [
            sys.executable, *words
        ], input=stdin, capture_output=True, text=True, cwd=cwd, env=found, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Makes a module, and imports it here."""
    monkeypatch.syspath_prepend(str(tmp_path))
    tmp_path.chmod(0o755)  # pytest's own directories are its user's alone
    made = []

    def make(text: str, name: str = "made_for_a_test") -> Any:
        write(tmp_path / (name.replace(".", "/") + ".py"), text)
        made.append(name)
        import importlib

        return importlib.import_module(name)

    yield make
    for name in made:
        sys.modules.pop(name, None)


def test_the_example_runs_as_a_script(tmp_path: Path) -> None:
    script = write(tmp_path / "agent.py", SCRIPT)
    assert python(str(script)) == "True 5 ok\n"


def test_the_example_runs_as_a_module(tmp_path: Path) -> None:
    write(tmp_path / "agent.py", SCRIPT)
    assert python("-m", "agent", cwd=tmp_path) == "True 5 ok\n"
    write(tmp_path / "package" / "agent.py", SCRIPT)
    write(tmp_path / "package" / "__init__.py", "")
    assert python("-m", "package.agent", cwd=tmp_path) == "True 5 ok\n"
    assert python("-c", "import package.agent", cwd=tmp_path) == "True 5 ok\n"


def without_cloudpickle(tmp_path: Path) -> str:
    return str(write(tmp_path / "without" / "cloudpickle.py", "raise ImportError").parent)


@pytest.mark.parametrize("way", [["-c"], ["-i", "-q"], ["-"]])
def test_the_example_runs_in_a_session(way: list[str], tmp_path: Path) -> None:
    text = textwrap.dedent(SCRIPT)
    blocked = without_cloudpickle(tmp_path)
    found = dict(os.environ, PYTHONPATH=f"{PACKAGE}:{blocked}")
    lines = text.replace("\n\nwith", "\n\n\nwith") + "\n"
    words = [*way, text] if way == ["-c"] else way
    # As one types it: no empty lines within a definition, one behind.
    typed = "" if way == ["-c"] else lines
    done = subprocess.run(
        [
            sys.executable, *words
        ], input=typed, capture_output=True, text=True, env=found, timeout=120
    )
    assert "True 5 ok" in done.stdout, done.stderr


def test_a_closure_and_a_lambda_are_sent_by_value(sandbox: Callable[..., brig.Sandbox]) -> None:
    pytest.importorskip("cloudpickle")
    by = 10

    def more(a: int) -> int:
        return a + by

    box = sandbox([more, brig.Tool(lambda text: text.upper(), name="upper")])
    assert box.call_sync("more", {"a": 1}).output == 11
    assert box.call_sync("upper", {"text": "x"}).output == "X"


def test_a_closure_without_cloudpickle_says_what_to_do(tmp_path: Path) -> None:
    script = write(
        tmp_path / "closure.py",
        """
        import brig
        def make(by):
            def more(a: int) -> int:
                return a + by
            return more
        try:
            brig.Sandbox([make(1)])
        except brig.ConfigError as error:
            print(error)
        """,
    )
    found = dict(os.environ, PYTHONPATH=f"{PACKAGE}:{without_cloudpickle(tmp_path)}")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=found)
    assert "install cloudpickle, or define it at the top of a module" in done.stdout, done.stderr


def test_what_a_function_of_a_session_uses_goes_along(tmp_path: Path) -> None:
    text = """
import math, brig
from decimal import Decimal
SCALE = (2, 3)
def helper(n):
    return n * SCALE[1]
def compute(n: int = SCALE[0]) -> float:
    return helper(n) + math.floor(1.5) + int(Decimal(4)) + (compute(0) if n else 0)
with brig.Sandbox([compute]) as box:
    print(box.call_sync("compute").output)
"""
    found = dict(os.environ, PYTHONPATH=f"{PACKAGE}:{without_cloudpickle(tmp_path)}")
    done = subprocess.run(
        [sys.executable, "-"], input=text, capture_output=True, text=True, env=found
    )
    assert done.stdout == "16.0\n" or done.stdout == "16\n", done.stderr


def test_only_the_code_beside_a_script_is_seen(
    module: Callable[..., Any], tmp_path: Path, sandbox: Any
) -> None:
    write(tmp_path / ".env", "OPENAI_API_KEY=sk-123")
    write(tmp_path / "notes.txt", "private")
    write(tmp_path / "helper_of_test.py", "WORD = 'found'")
    write(tmp_path / "late_of_test" / "__init__.py", "from . import part")
    write(tmp_path / "late_of_test" / "part.py", "WORD = 'later'")
    write(tmp_path / "unrelated_of_test.py", "")
    made = module(
        """
        import os
        import helper_of_test

        def look(where: str) -> list:
            import late_of_test
            return [helper_of_test.WORD, late_of_test.part.WORD, sorted(os.listdir(where))]
        """
    )
    result = sandbox([made.look]).call_sync("look", {"where": str(tmp_path)})
    assert result.output == [
        "found", "later", ["helper_of_test.py", "late_of_test", "made_for_a_test.py"],
    ], result  # fmt: skip


def test_paths_are_for_what_is_not_imported_by_name(
    module: Callable[..., Any], tmp_path: Path, sandbox: Any
) -> None:
    write(tmp_path / "plugins" / "hidden_of_test.py", "WORD = 'found'")
    made = module(
        """
        import importlib
        def word(name: str) -> str:
            return importlib.import_module(name).WORD
        """
    )
    assert "No module named" in sandbox([made.word]).call_sync(
        "word", {"name": "hidden_of_test"}
    ).error
    box = sandbox([made.word], paths=[str(tmp_path / "plugins")])
    assert box.call_sync("word", {"name": "hidden_of_test"}).output == "found"


def test_a_failing_import_brings_its_traceback(module: Callable[..., Any], tmp_path: Path) -> None:
    made = module("def tool() -> int:\n    return 1\n")
    write(tmp_path / "made_for_a_test.py", "import nothing_of_that_name\n")
    with pytest.raises(brig.ConfigError) as caught:
        brig.Sandbox([made.tool])
    text = str(caught.value)
    assert "importing module 'made_for_a_test' failed:" in text and "line 1" in text
    assert text.endswith("No module named 'nothing_of_that_name'")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import time; time.sleep(600)",
            "importing module 'made_for_a_test' did not end within 10000 ms",
        ),
        ("import os; os._exit(0)", "importing module 'made_for_a_test' ended its interpreter"),
        ("import os; os.kill(os.getpid(), 9) or os.abort()", "ended its interpreter"),
        ("import sys; sys.exit(1)", "SystemExit: 1"),
        ("import threading, time; threading.Thread(target=time.sleep, args=(99,), name='busy', daemon=True).start()",
         "starts threads (busy)"),
        ("import os, time\nif os.fork() == 0: time.sleep(600)", "leaves a process running"),
        ("import os\nos.fork()", "leaves a process running"),
        ("import subprocess; subprocess.run(['true'])", ""),
        ("import os, sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        import time; time.sleep(600)\n    os._exit(0)",
         "leaves a process running"),
        ("x = [0] * (1 << 34)", "MemoryError"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_bad_imports_are_told(
    module: Callable[..., Any], tmp_path: Path, code: str, words: str
) -> None:
    made = module("def tool() -> int:\n    return 1\n")
    write(tmp_path / "made_for_a_test.py", code + "\ndef tool() -> int:\n    return 1\n")
    before = processes()
    if not words:  # harmless after all
        with brig.Sandbox([made.tool], timeout=1) as box:
            assert box.call_sync("tool").output == 1
    else:
        with pytest.raises(brig.ConfigError) as caught:
            brig.Sandbox([made.tool], timeout=1)
        assert words in str(caught.value)
    assert comes_true(lambda: processes() <= before)


def test_a_tool_below_the_sandbox_is_told(tmp_path: Path) -> None:
    script = write(
        tmp_path / "late.py",
        """
        import brig
        def one() -> int: return 1
        box = brig.Sandbox([one])
        def two() -> int: return 2
        try:
            box.add(two)
        except brig.ConfigError as error:
            print(error)
        """,
    )
    assert "before the first brig.Sandbox()" in python(str(script))


def test_reloading_is_on_request(module: Callable[..., Any], tmp_path: Path, sandbox: Any) -> None:
    made = module("def version() -> int:\n    return 1\n")
    box = sandbox([made.version])
    assert box.call_sync("version").output == 1
    write(tmp_path / "made_for_a_test.py", "def version() -> int:\n    return 2\n")
    assert box.call_sync("version").output == 1
    box.reload()
    assert box.call_sync("version").output == 2


def saved(path: Path, text: Union[str, bytes], in_place: bool) -> None:
    to = path if in_place else path.parent / "next"
    to.write_bytes(text if isinstance(text, bytes) else text.encode())
    to.replace(path)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_sandbox_reloads_by_itself_if_it_may(
    tmp_path: Path, sandbox: Any, in_place: bool, caplog: Any
) -> None:
    tmp_path.chmod(0o755)
    write(tmp_path / "watched_tools.py", "import brig, watched_part\n@brig.tool\ndef version() -> int:\n"
          "    return watched_part.N\n")  # fmt: skip
    part = write(tmp_path / "watched_part.py", "N = 1\n")
    box = sandbox(modules=["watched_tools"], paths=[str(tmp_path)], reload=True)
    results, stop = [], threading.Event()

    def call() -> None:
        while not stop.is_set():
            results.append(box.call_sync("version"))

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    try:
        saved(part, "N = 22\n", in_place)
        assert comes_true(lambda: box.call_sync("version").output == 22)
        saved(part, "N = (\n", in_place)
        assert comes_true(lambda: "SyntaxError" in caplog.text)
        assert box.call_sync("version").output == 22
        saved(part, "N = 333\n", in_place)
        assert comes_true(lambda: box.call_sync("version").output == 333)
    finally:
        stop.set()
        for caller in callers:
            caller.join()
    assert [result.error for result in results if not result.ok] == []


@pytest.mark.parametrize("in_place", [False, True])
def test_a_changed_manifest_or_library_is_reloaded(
    tmp_path: Path, sandbox: Any, in_place: bool, caplog: Any
) -> None:
    guest = PACKAGE.parent / "build/release/guests/libversion.so"
    if not guest.exists():
        pytest.skip("no guests: they are not built")
    tmp_path.chmod(0o755)
    bytes_of = guest.read_bytes()
    assert b"version 1000" in bytes_of
    library, manifest = tmp_path / "tools.so", tmp_path / "brig.toml"
    library.write_bytes(bytes_of)
    text = "[[library]]\npath = 'tools.so'\n[[command]]\nname = 'said'\nargv = ['echo', '%s']\n"
    manifest.write_text(text % "one")
    box = sandbox(manifest=str(manifest), reload=True)
    assert (box.call_sync("version").output, box.call_sync("said").output) == (1000, "one")
    saved(manifest, text % "two", in_place)
    assert comes_true(lambda: box.call_sync("said").output == "two")
    saved(library, bytes_of.replace(b"version 1000", b"version 1001"), in_place)
    assert comes_true(lambda: box.call_sync("version").output == 1001)
    for file, good in (
        (manifest, text % "three"), (library, bytes_of.replace(b"version 1000", b"version 1002"))
    ):
        caplog.clear()
        saved(file, "nothing that can be loaded", in_place)
        assert comes_true(lambda: any(each.levelname == "WARNING" for each in caplog.records))
        assert box.call_sync("version").output in (1001, 1002) and box.call_sync("said").ok
        saved(file, good, in_place)
    assert comes_true(
        lambda: (box.call_sync("version").output, box.call_sync("said").output) == (1002, "three")
    )


def test_modules_are_imported_for_their_tools(tmp_path: Path, sandbox: Any) -> None:
    write(
        tmp_path / "weather_of_test.py",
        """
        import brig
        @brig.tool(read_only=True)
        def forecast(city: str) -> str:
            "Tells the weather."
            return city + ": sun"
        def not_a_tool() -> int: return 1
        """,
    )
    tmp_path.chmod(0o700)
    if os.getuid() == 0:
        with pytest.raises(brig.ConfigError, match="the user of the cells may not read"):
            brig.Sandbox(modules=["weather_of_test"], paths=[str(tmp_path)])
    tmp_path.chmod(0o755)
    box = sandbox(modules=["weather_of_test"], paths=[str(tmp_path)])
    assert [(t.name, t.read_only) for t in box.list_tools()] == [("forecast", True)]
    assert box.call_sync("forecast", {"city": "Bern"}).output == "Bern: sun"


def test_a_killed_zygote_is_replaced(module: Callable[..., Any], sandbox: Any) -> None:
    made = module(
        "import time\ndef nap(seconds: float) -> str:\n"
        "    print('asleep', flush=True)\n    time.sleep(seconds)\n    return 'slept'\n"
    )
    before = processes()
    box = sandbox([made.nap], timeout=20)

    def zygotes() -> list[int]:
        return [pid for pid in processes() - before if name_of(pid) == "brig-zygote"]

    def kill_zygotes() -> None:
        for pid in zygotes():
            os.kill(pid, signal.SIGKILL)

    killing = once_it_runs(box, kill_zygotes)
    results = [box.call_sync("nap", {"seconds": 60})]
    killing.join()
    assert results[0].report.outcome == "internal" and "zygote" in results[0].error
    # A cell that dies with its request is its call's end; the next one has a new zygote's.
    assert comes_true(lambda: box.call_sync("nap", {"seconds": 0}).output == "slept")


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def test_another_interpreter_imports_the_module(module: Callable[..., Any], sandbox: Any) -> None:
    other = "/usr/bin/python3"
    made = module("import sys\ndef who() -> str:\n    return sys.executable\n")
    if os.path.realpath(sys.executable) == os.path.realpath(other):
        pytest.skip("there is no other interpreter to try")
    box = sandbox([made.who], interpreter=other, paths=[str(Path(made.__file__).parent)])
    assert box.call_sync("who").output == other


@pytest.mark.parametrize("interpreter", ["/bin/sh", "/no/such", "/usr/bin"])
def test_what_is_no_interpreter_is_refused(interpreter: str, module: Callable[..., Any]) -> None:
    made = module("def tool() -> int:\n    return 1\n")
    with pytest.raises(brig.Error) as caught:
        brig.Sandbox([made.tool], interpreter=interpreter, timeout=3)
    assert interpreter in str(caught.value)


def test_a_virtual_environment_is_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = venv.glob("lib/python3*/site-packages")
    write(site / "only_in_the_venv.py", "WORD = 'found'")
    script = write(
        tmp_path / "agent.py",
        """
        import brig, sys
        import only_in_the_venv

        def word() -> list:
            return [only_in_the_venv.WORD, sys.prefix]

        with brig.Sandbox([word]) as box:
            print(*box.call_sync("word").output)
        """,
    )
    link = tmp_path / "link"
    link.symlink_to(venv)
    for environment in (venv, link):
        done = subprocess.run(
            [environment / "bin" / "python", script], capture_output=True, text=True,
            env=dict(os.environ, PYTHONPATH=str(PACKAGE)), timeout=120,
        )  # fmt: skip
        assert done.stdout == f"found {venv}\n", done.stderr


def test_links_on_the_way_are_followed(tmp_path: Path) -> None:
    write(tmp_path / "real" / "agent.py", SCRIPT)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert python(str(tmp_path / "link" / "agent.py")) == "True 5 ok\n"
    assert python("-m", "agent", cwd=tmp_path / "link") == "True 5 ok\n"


def test_modules_are_imported_by_this_interpreter(tmp_path: Path, sandbox: Any) -> None:
    tmp_path.chmod(0o755)
    write(
        tmp_path / "who_of_test.py",
        "import brig, sys\n@brig.tool\ndef who() -> str:\n    return sys.version\n",
    )
    assert sandbox(
        modules=["who_of_test"], paths=[str(tmp_path)]
    ).call_sync("who").output == sys.version

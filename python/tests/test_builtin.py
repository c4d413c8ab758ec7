"""run_python, in a cell: what models write, and what they are told."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from conftest import needs_open_interpreter

import brig

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def box() -> Iterator[Any]:
    with brig.Sandbox(modules=["brig._builtin"], timeout=60) as made:
        yield made


def run(box: Any, code: str, **files: str) -> Any:
    named = {name.replace("__", "."): text for name, text in files.items()}
    return box.call_sync("run_python", {"code": textwrap.dedent(code).strip("\n"), "files": named})


def value(box: Any, code: str, **files: str) -> Any:
    result = run(box, code, **files)
    assert result.ok, result.traceback or result.error
    assert "error" not in result.output and "exit_code" not in result.output, result.output
    return result.output["value"]


def failure(box: Any, code: str) -> Any:
    """What the code raised: its type, message and traceback. The host makes a failed call of it."""
    result = run(box, code)
    assert result.ok and result.output["value"] is None, result.error
    return result.output["error"]


def test_await_stands_anywhere(box: Any) -> None:
    assert value(box, "import asyncio\nawait asyncio.sleep(0, 42)") == 42
    assert value(box, "import asyncio\nx = await asyncio.sleep(0, 20)\nx + 1") == 21
    code = """
        import asyncio
        async def numbers():
            for i in range(3):
                yield i
        async with asyncio.Lock():
            found = [i async for i in numbers()]
        found
    """
    assert value(box, code) == [0, 1, 2]
    # A loop that the code makes itself is its own.
    assert value(box, "import asyncio\nasync def f(): return 7\nasyncio.run(f())") == 7


def test_the_value_is_that_of_a_last_expression(box: Any) -> None:
    assert value(box, "x = 1\nx + 1") == 2
    assert value(box, "x = 1") is None
    assert value(box, "") is None
    assert value(box, "'''text'''") == "text"


def test_an_exception_shows_the_codes_own_lines(box: Any) -> None:
    told = failure(box, "def f(x):\n    return 1 / x\n\nf(0)")
    assert (told["type"], told["message"]) == ("ZeroDivisionError", "division by zero")
    lines = told["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == '  File "<code>", line 4, in <module>', told["traceback"]
    assert "    f(0)" in lines and "    return 1 / x" in lines
    assert "brig" not in told["traceback"] and "ast.py" not in told["traceback"]


def test_carets_stand_below_what_they_mean(box: Any) -> None:
    for code in ("x = [1]\nx[0] + x[7]", "x = [1]\nif x:\n    y = x[0] + x[7]"):
        lines = failure(box, code)["traceback"].splitlines()
        at = next(i for i, line in enumerate(lines) if "x[7]" in line)
        if "^" not in lines[at + 1]:
            pytest.skip("this Python has no carets")
        marks = lines[at + 1]
        assert len(marks) - len(marks.lstrip()) == lines[at].index("x[7]"), lines
        assert marks.rindex("^") == lines[at].index("x[7]") + 3, lines


def test_separators_that_are_no_ends_of_lines_do_not_shift_them(box: Any) -> None:
    told = failure(box, "a = '\x0c \u2028'\nb = 1\nraise ValueError('here')")
    assert '  File "<code>", line 3, in <module>\n    raise ValueError' in told["traceback"]


def test_a_syntax_error_has_nothing_but_the_code(box: Any) -> None:
    told = failure(box, "x = 1\nprint('a' 'b'\ny = (2")
    assert told["type"] == "SyntaxError"
    assert told["traceback"].splitlines()[0].strip().startswith('File "<code>", line ')
    assert "brig" not in told["traceback"] and "ast.py" not in told["traceback"]
    lines = failure(box, "value = 1 +* 2")["traceback"].splitlines()
    assert lines[1] == "    value = 1 +* 2"
    assert lines[2].index("^") == lines[1].index("*")


def test_an_exception_below_await_shows_the_codes_own_lines(box: Any) -> None:
    code = """
        import asyncio
        async def f():
            await asyncio.sleep(0)
            raise KeyError("x")
        await f()
    """
    traceback = failure(box, code)["traceback"]
    assert traceback.splitlines()[1] == '  File "<code>", line 5, in <module>', traceback
    assert "asyncio/" not in traceback and "brig" not in traceback


def test_an_end_is_no_failure(box: Any) -> None:
    for end in ("import sys; sys.exit(0)", "exit()", "raise SystemExit", "import sys; sys.exit()"):
        result = run(box, f"print('done')\n{end}")
        assert result.ok and result.output["value"] is None, (end, result.error)
        assert result.report.stdout == b"done\n"
    for end, code in (
        ("3", 3), ("-1", 255), ("256", None), ("True", 1), ("2**70", 255), ("'why'", 1), ("2.5", 1)
    ):
        result = run(box, f"import sys\nsys.exit({end})")
        assert result.ok and result.output == {
            "value": None, **({"exit_code": code} if code else {})
        }, end
    assert run(box, "import sys\nsys.exit('why')").report.stderr == b"why\n"


def test_a_value_that_can_not_be_shown_is_told(box: Any) -> None:
    told = failure(
        box, "class C:\n    def __repr__(self):\n        raise KeyError('no')\nprint('said')\nC()"
    )
    assert told["type"] == "KeyError"
    lines = told["traceback"].splitlines()
    assert lines[:2] == [
        "Traceback (most recent call last):", '  File "<code>", line 3, in __repr__'
    ], lines
    assert "brig" not in told["traceback"]


def test_an_exception_of_any_kind_is_told(box: Any) -> None:
    told = failure(box, "class E(Exception):\n    def __str__(self): 1 / 0\nraise E")
    assert told["type"] == "E" and "can't be printed" in told["message"]
    assert failure(box, "raise Exception('\\ud800')")["message"] == "\\ud800"
    assert len(failure(box, "raise Exception('x' * 10_000_000)")["message"]) == 16 << 10
    assert failure(box, "raise KeyboardInterrupt")["type"] == "KeyboardInterrupt"
    assert failure(box, "def f(): f()\nf()")["type"] == "RecursionError"
    assert "in the hook\n" == run(
        box, "import sys\nsys.excepthook = lambda *_: print('in the hook')\n1/0"
    ).report.stdout.decode()


def test_a_copy_of_the_process_does_not_answer(box: Any) -> None:
    code = """
        import os, sys
        child = os.fork()
        if child:
            status = os.waitpid(child, 0)[1]
            print("parent", os.WEXITSTATUS(status))
        else:
            print("child")
            {end}
        child > 0
    """
    for end, status in (("pass", 0), ("sys.exit(3)", 3), ("raise KeyError", 1)):
        result = run(box, code.format(end=end))
        assert result.output == {"value": True}, result.error
        assert result.report.stdout.decode() == f"child\nparent {status}\n"
        assert (b"KeyError" in result.report.stderr) == ("KeyError" in end)


def test_the_code_is_the_main_module(box: Any) -> None:
    failing = """
        import unittest
        class T(unittest.TestCase):
            def test_a(self): self.assertEqual(1, 2)
            def test_b(self): pass
        unittest.main()
    """
    result = run(box, failing)
    assert result.output["exit_code"] == 1
    assert b"Ran 2 tests" in result.report.stderr and b"failures=1" in result.report.stderr
    assert run(box, failing.replace("1, 2", "1, 1")).ok
    assert value(box, 'def f():\n    """\n    >>> f()\n    2\n    """\n    return 1\nimport doctest\n'
                 "doctest.testmod(report=False).failed") == 1  # fmt: skip
    code = """
        from dataclasses import dataclass, fields
        from typing import ClassVar, get_type_hints
        import pickle
        @dataclass
        class P:
            x: int
            count: ClassVar[int] = 0
        again = pickle.loads(pickle.dumps(P(3)))
        [again.x, len(fields(P)), get_type_hints(P)["x"] is int, P.__module__, __name__]
    """
    assert value(box, code) == [3, 1, True, "__main__", "__main__"]
    assert value(
        box, "from __future__ import annotations\ndef f(x: int): pass\nf.__annotations__"
    ) == {"x": "int"}
    assert value(box, "def f(x: int): pass\nf.__annotations__['x'] is int") is True


def test_modules_in_the_workspace_can_be_imported(box: Any) -> None:
    assert value(box, "import helper\nhelper.N", helper__py="N = 5\n") == 5
    assert value(box, "open('made.py', 'w').write('N = 6')\nimport made\nmade.N") == 6


def test_images_are_those_of_the_workspace(box: Any) -> None:
    code = r"""
        import os
        os.makedirs("plots")
        open("plots/a.png", "wb").write(b"\x89PNG\r\n\x1a\n")
        os.chdir("/usr")
        None
    """
    assert [image["path"] for image in run(box, code).output["images"]] == ["plots/a.png"]


# --- files that are given ---


def refusal(box: Any, files: dict[str, Any]) -> str:
    """Why they could not be made, and so the code was not run."""
    result = box.call_sync("run_python", {"code": "print('ran')", "files": files})
    assert result.ok and list(result.output) == ["not_run"], (result.error, result.output)
    assert result.report.stdout == b""
    return str(result.output["not_run"])


@pytest.fixture
def in_directory(sandbox: Callable[..., brig.Sandbox], tmp_path: Path) -> Any:
    """Whose working directory is one of the host's."""
    tmp_path.chmod(0o777)
    (tmp_path / "main.txt").write_text("the host's")
    (tmp_path / "old.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    here = str(tmp_path)
    return sandbox(modules=["brig._builtin"], timeout=60, working_directory=here, write=[here])


def test_a_file_of_the_host_is_never_replaced(in_directory: Any, tmp_path: Path) -> None:
    why = refusal(in_directory, {"main.txt": "the caller's"})
    assert why == "files: 'main.txt' is in the working directory already; the code was not run"
    assert (tmp_path / "main.txt").read_text() == "the host's"
    os.symlink("nowhere", tmp_path / "link")
    assert "is in the working directory already" in refusal(in_directory, {"link": "x"})
    assert not (tmp_path / "nowhere").exists()
    assert value(in_directory, "open('new.txt').read()", new__txt="x") == "x"


def test_two_files_of_one_name_are_refused(box: Any) -> None:
    assert refusal(box, {"a": "1", "./a": "2"}).startswith(
        "files: './a' is in the working directory already"
    )
    assert refusal(box, {"a/b": "1", "a": "2"}).startswith(
        "files: 'a' is in the working directory already"
    )


def test_a_file_below_a_file_is_refused(box: Any) -> None:
    for below in ("a/b", "a/b/c"):
        why = f"files: '{below}' could not be put into the working directory: Not a directory; the code was not run"
        assert refusal(box, {"a": "1", below: "2"}) == why


def test_a_name_that_is_too_long_is_refused(box: Any) -> None:
    why = refusal(box, {"n" * 300: "x"})
    assert why.endswith(
        "could not be put into the working directory: File name too long; the code was not run"
    )
    assert len(why) < 400


def test_bytes_that_are_not_base64_are_refused(box: Any) -> None:
    for wrong in ("a", "\u20ac", "a b="):
        assert refusal(
            box, {"f": {"base64": wrong}}
        ) == "files: 'f' is not base64; the code was not run"


def test_files_that_do_not_fit_are_refused(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox(modules=["brig._builtin"], timeout=60, scratch="1M")
    assert "No space left on device" in refusal(box, {"large": "x" * (2 << 20)})


# --- files that come back ---


def left(box: Any, code: str) -> tuple[list[str], int]:
    """The files that come back with the value 7, and how many more there are."""
    result = run(box, code + "\n7")
    assert result.ok and result.output["value"] == 7, result.traceback or result.error
    return [
        each["path"] for each in result.output.get("files", [])
    ], result.output.get("files_left_out", 0)


def test_what_the_code_wrote_comes_back(box: Any) -> None:
    assert left(
        box, "import os\nos.mkdir('d')\nopen('d/a', 'w').write('x')\nopen('.b', 'w')"
    ) == (["d/a"], 0)
    assert left(box, "for i in range(20): open(f'{i:02}', 'w')") == (
        [f"{i:02}" for i in range(16)], 4
    )


@pytest.mark.parametrize("floor", ["landlock", "process"])
def test_the_workspace_of_other_floors_comes_back(
    sandbox: Callable[..., brig.Sandbox], floor: str
) -> None:
    needs_open_interpreter()
    network = "none" if floor == "landlock" else "host"
    try:
        box = sandbox(
            modules=["brig._builtin"], policy={"isolation": floor, "network": network}, timeout=60
        )
    except brig.UnsupportedError as error:
        pytest.skip(str(error))
    assert left(box, "open('a', 'w').write('x')") == (["a"], 0)


def test_nothing_of_a_directory_of_the_host_comes_back(in_directory: Any) -> None:
    code = "import shutil\nshutil.copy('old.png', 'new.png')\nopen('new.txt', 'w').write('x')\n7"
    assert run(in_directory, code).output == {"value": 7}


def test_only_the_workspace_is_looked_at(box: Any) -> None:
    assert left(box, "import os\nopen('a', 'w').write('x')\nos.chdir('/etc')") == (["a"], 0)
    assert left(
        box, "import os\nos.symlink('/etc', 'etc')\nos.symlink('/etc/passwd', 'b')"
    ) == ([], 0)


def test_a_strange_directory_does_not_lose_the_result(box: Any) -> None:
    for directory in ("/proc/self", "/proc/self/fd", "/"):
        assert left(
            box, f"import os\nopen('a', 'w').write('x')\nos.chdir('{directory}')"
        ) == (["a"], 0)
    assert left(box, "import os\nos.mkdir('d')\nos.chdir('d')\nos.rmdir('../d')") == ([], 0)


def test_a_file_that_can_not_be_read_is_left_out(box: Any) -> None:
    code = "import os\nfor name in ('a', 'b.png'):\n    open(name, 'w').write('x')\nos.chmod('b.png', 0)"
    assert left(box, code) == (["a"], 1)
    assert left(box, "import os\nos.mkdir('d')\nopen('d/a', 'w')\nos.chmod('d', 0)") == ([], 1)


def test_a_name_that_is_not_utf8_is_left_out(box: Any) -> None:
    code = r"open('a', 'w').write('x')" + "\n" + r"open(b'\xff.png', 'wb').write(b'\x89PNG\r\n\x1a\n')"
    assert left(box, code) == (["a"], 1)


def test_deep_directories_do_not_lose_the_result(box: Any) -> None:
    code = "import os\nopen('a', 'w').write('x')\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')"
    assert left(box, code) == (["a"], 0)


def test_files_come_back_by_name_type_and_size(box: Any) -> None:
    code = r"""
        open("a.csv", "w").write("a,b\n")
        open("b", "w").write("text")
        open("c.bin", "wb").write(b"\xff\x00")
        open("d.json", "w").write("{}")
        open("e.txt", "wb").write(b"GIF89a")
    """
    output = run(box, code).output
    told = [(each["path"], each["mime_type"], each["size"]) for each in output["files"]]
    assert told[0] == ("a.csv", "text/csv", 4) and told[1] == ("b", "text/plain", 4)
    assert told[2] == ("c.bin", "application/octet-stream", 2) and told[3] == (
        "d.json", "application/json", 2
    )
    assert [(each["path"], each["mime_type"]) for each in output["images"]] == [
        ("e.txt", "image/gif")
    ]


@pytest.mark.parametrize(
    "end",
    ["1 / 0", "import sys; sys.exit(3)", "x = (", "open('made', 'w')\nraise SystemExit('no')"],
)
def test_what_was_written_comes_back_of_code_that_failed(box: Any, end: str) -> None:
    code = f"display(7)\nprint('said')\nopen('made', 'w').write('x')\nopen('p.png', 'wb').write({PNG!r})\n{end}"
    output = run(box, code).output
    assert ("error" in output) != ("exit_code" in output)
    if output.get("error", {}).get("type") == "SyntaxError":
        return  # nothing of it ran
    assert [each["path"] for each in output["files"]] == ["made"]
    assert [each["path"] for each in output["images"]] == ["p.png"]
    assert [each["data"]["text/plain"] for each in output["displays"]] == ["7"]


def test_what_is_left_out_is_told_with_the_reason(box: Any) -> None:
    code = r"""
        import os
        for i in range(18):
            open(f"{i:02}", "w")
        os.chmod("00", 0)
        open(b"\xff", "w")
    """
    output = run(box, code).output
    assert output["files_left_out"] == 3
    assert output["files_left_out_why"] == [
        "1: there are more than 16 files", "1: the file can't be read", "1: the name is not UTF-8"
    ]  # fmt: skip
    output = run(
        box, "open('large', 'wb').write(bytes(7 << 20))\nopen('small', 'w').write('x')"
    ).output
    large, small = output["files"]
    assert (large["path"], large["size"]) == ("large", 7 << 20) and "data" not in large
    assert large["why"].startswith("it is too large") and small["data"] == "eA=="
    output = run(box, "for i in range(2100): open(f'.{i}', 'w')").output
    assert output["files_left_out_why"] == ["brig looked only at the first 2000 names"]


def test_images_files_and_displays_share_their_room(box: Any) -> None:
    code = f"""
        for name in "abc":
            open(name + ".png", "wb").write({PNG!r} + bytes(3 << 20))
    """
    output = run(box, code).output
    assert [each["path"] for each in output["images"]] == ["a.png"]
    assert [("data" in each, each["path"]) for each in output["files"]] == [
        (False, "b.png"), (False, "c.png")
    ]


def test_a_file_that_was_given_comes_back_if_it_was_changed(box: Any) -> None:
    result = box.call_sync(
        "run_python", {"code": "open('a', 'a').write('!')\nNone", "files": {"a": "x", "b": "y"}}
    )
    assert [each["path"] for each in result.output["files"]] == ["a"]


# --- env, cwd and stdin of one call ---


def call(box: Any, code: str, **arguments: Any) -> Any:
    result = box.call_sync("run_python", {"code": code, **arguments})
    assert result.ok, result.error
    return result.output


def test_variables_of_one_call(box: Any) -> None:
    code = "import os, subprocess, time\n[os.environ['A'], subprocess.getoutput('echo $A'), time.tzname[0]]"
    assert call(box, code, env={"A": "b c", "TZ": "XYZ3"})["value"] == ["b c", "b c", "XYZ"]
    assert call(box, "import os\n'A' in os.environ")["value"] is False
    for wrong in ({"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "\0"}):
        assert list(call(box, "print('ran')", env=wrong)) == ["not_run"]


def test_the_directory_of_one_call(box: Any) -> None:
    assert call(box, "import os\nos.getcwd()", cwd="/usr")["value"] == "/usr"
    files = {"d/data": "x", "d/own.py": "N = 1", "other.py": "N = 2"}
    code = "import own, other\n[open('data').read(), own.N, other.N]"
    assert call(box, code, cwd="d", files=files)["value"] == ["x", 1, 2]
    assert [
        each["path"] for each in call(box, "open('new', 'w')", cwd="d", files=files)["files"]
    ] == ["d/new"]
    why = {
        "none": "No such file or directory", "other.py": "Not a directory", "a\0": "is not a path"
    }
    for cwd, reason in why.items():
        told = call(box, "print('ran')", cwd=cwd, files=files)
        assert list(told) == ["not_run"] and told["not_run"].startswith("cwd: ") and reason in told["not_run"]


def test_the_input_of_one_call(box: Any) -> None:
    assert call(box, "[input(), input()]", stdin="a\n\u00e4")["value"] == ["a", "\u00e4"]
    assert call(
        box, "import sys\nlen(sys.stdin.read())", stdin="x" * 3_000_000
    )["value"] == 3_000_000
    assert call(
        box, "import subprocess\nsubprocess.getoutput('cat')", stdin="for cat"
    )["value"] == "for cat"
    assert call(box, "open('/dev/stdin').read()", stdin="opened")["value"] == "opened"
    assert call(box, "input()", stdin="")["error"]["type"] == "EOFError"
    assert call(box, "input()")["error"]["message"] == "EOF when reading a line"
    assert call(box, "import sys\nsys.stdin.read()")["value"] == ""


def test_the_time_limit_is_the_hosts(box: Any) -> None:
    assert call(box, "7", timeout=3)["value"] == call(box, "7", timeout="3s")["value"] == 7


def test_the_description_holds_under_every_policy(box: Any) -> None:
    (told,) = [tool.description for tool in box.list_tools() if tool.name == "run_python"]
    assert "empty" not in told and "working directory" not in told

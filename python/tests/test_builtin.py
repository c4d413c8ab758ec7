"""run_python, in a cell: what models write, and what they are told."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from conftest import needs_open_interpreter

import brig


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
    return result.output["value"]


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
    result = run(box, "def f(x):\n    return 1 / x\n\nf(0)")
    assert result.error == "ZeroDivisionError: division by zero"
    lines = result.traceback.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == '  File "<code>", line 4, in <module>', result.traceback
    assert "    f(0)" in lines and "    return 1 / x" in lines
    assert "brig" not in result.traceback and "ast.py" not in result.traceback


def test_carets_stand_below_what_they_mean(box: Any) -> None:
    for code in ("x = [1]\nx[0] + x[7]", "x = [1]\nif x:\n    y = x[0] + x[7]"):
        lines = run(box, code).traceback.splitlines()
        at = next(i for i, line in enumerate(lines) if "x[7]" in line)
        if "^" not in lines[at + 1]:
            pytest.skip("this Python has no carets")
        marks = lines[at + 1]
        assert len(marks) - len(marks.lstrip()) == lines[at].index("x[7]"), lines
        assert marks.rindex("^") == lines[at].index("x[7]") + 3, lines


def test_separators_that_are_no_ends_of_lines_do_not_shift_them(box: Any) -> None:
    result = run(box, "a = '\x0c \u2028'\nb = 1\nraise ValueError('here')")
    assert '  File "<code>", line 3, in <module>\n    raise ValueError' in result.traceback


def test_a_syntax_error_has_nothing_but_the_code(box: Any) -> None:
    result = run(box, "x = 1\nprint('a' 'b'\ny = (2")
    assert result.error.startswith("SyntaxError")
    assert result.traceback.splitlines()[0].strip().startswith('File "<code>", line ')
    assert "brig" not in result.traceback and "ast.py" not in result.traceback
    lines = run(box, "value = 1 +* 2").traceback.splitlines()
    assert lines[1] == "    value = 1 +* 2"
    assert lines[2].index("^") == lines[1].index("*")


def test_an_exception_below_await_shows_the_codes_own_lines(box: Any) -> None:
    result = run(
        box,
        """
        import asyncio
        async def f():
            await asyncio.sleep(0)
            raise KeyError("x")
        await f()
        """,
    )
    lines = result.traceback.splitlines()
    assert lines[1] == '  File "<code>", line 5, in <module>', result.traceback
    assert "asyncio/" not in result.traceback and "brig" not in result.traceback


def test_an_end_is_no_failure(box: Any) -> None:
    for end in ("import sys; sys.exit(0)", "exit()", "raise SystemExit", "import sys; sys.exit()"):
        result = run(box, f"print('done')\n{end}")
        assert result.ok and result.output["value"] is None, (end, result.error)
        assert result.report.stdout == b"done\n"
    result = run(box, "import sys\nsys.exit(3)")
    assert not result.ok and (result.report.outcome, result.report.exit_code) == ("exit", 3)


def test_the_code_is_the_main_module(box: Any) -> None:
    failing = """
        import unittest
        class T(unittest.TestCase):
            def test_a(self): self.assertEqual(1, 2)
            def test_b(self): pass
        unittest.main()
    """
    result = run(box, failing)
    assert (result.report.outcome, result.report.exit_code) == ("exit", 1)
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
    assert value(box, "from __future__ import annotations\ndef f(x: int): pass\nf.__annotations__") == {"x": "int"}
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
    assert refusal(box, {"a": "1", "./a": "2"}).startswith("files: './a' is in the working directory already")
    assert refusal(box, {"a/b": "1", "a": "2"}).startswith("files: 'a' is in the working directory already")


def test_a_file_below_a_file_is_refused(box: Any) -> None:
    for below in ("a/b", "a/b/c"):
        why = f"files: '{below}' could not be put into the working directory: Not a directory; the code was not run"
        assert refusal(box, {"a": "1", below: "2"}) == why


def test_a_name_that_is_too_long_is_refused(box: Any) -> None:
    why = refusal(box, {"n" * 300: "x"})
    assert why.endswith("could not be put into the working directory: File name too long; the code was not run")
    assert len(why) < 400


def test_bytes_that_are_not_base64_are_refused(box: Any) -> None:
    for wrong in ("a", "\u20ac", "a b="):
        assert refusal(box, {"f": {"base64": wrong}}) == "files: 'f' is not base64; the code was not run"


def test_files_that_do_not_fit_are_refused(sandbox: Callable[..., brig.Sandbox]) -> None:
    box = sandbox(modules=["brig._builtin"], timeout=60, scratch="1M")
    assert "No space left on device" in refusal(box, {"large": "x" * (2 << 20)})


# --- files that come back ---


def left(box: Any, code: str) -> tuple[list[str], int]:
    """The files that come back with the value 7, and how many more there are."""
    result = run(box, code + "\n7")
    assert result.ok and result.output["value"] == 7, result.traceback or result.error
    return [each["path"] for each in result.output.get("files", [])], result.output.get("files_left_out", 0)


def test_what_the_code_wrote_comes_back(box: Any) -> None:
    assert left(box, "import os\nos.mkdir('d')\nopen('d/a', 'w').write('x')\nopen('.b', 'w')") == (["d/a"], 0)
    assert left(box, "for i in range(20): open(f'{i:02}', 'w')") == ([f"{i:02}" for i in range(16)], 4)


@pytest.mark.parametrize("floor", ["landlock", "process"])
def test_the_workspace_of_other_floors_comes_back(sandbox: Callable[..., brig.Sandbox], floor: str) -> None:
    needs_open_interpreter()
    network = "none" if floor == "landlock" else "host"
    try:
        box = sandbox(modules=["brig._builtin"], policy={"isolation": floor, "network": network}, timeout=60)
    except brig.UnsupportedError as error:
        pytest.skip(str(error))
    assert left(box, "open('a', 'w').write('x')") == (["a"], 0)


def test_nothing_of_a_directory_of_the_host_comes_back(in_directory: Any) -> None:
    code = "import shutil\nshutil.copy('old.png', 'new.png')\nopen('new.txt', 'w').write('x')\n7"
    assert run(in_directory, code).output == {"value": 7}


def test_only_the_workspace_is_looked_at(box: Any) -> None:
    assert left(box, "import os\nopen('a', 'w').write('x')\nos.chdir('/etc')") == (["a"], 0)
    assert left(box, "import os\nos.symlink('/etc', 'etc')\nos.symlink('/etc/passwd', 'b')") == ([], 0)


def test_a_strange_directory_does_not_lose_the_result(box: Any) -> None:
    for directory in ("/proc/self", "/proc/self/fd", "/"):
        assert left(box, f"import os\nopen('a', 'w').write('x')\nos.chdir('{directory}')") == (["a"], 0)
    assert left(box, "import os\nos.mkdir('d')\nos.chdir('d')\nos.rmdir('../d')") == ([], 0)


def test_a_file_that_can_not_be_read_is_left_out(box: Any) -> None:
    code = "import os\nfor name in ('a', 'b.png'):\n    open(name, 'w').write('x')\nos.chmod('b.png', 0)"
    assert left(box, code) == (["a"], 1)


def test_a_name_that_is_not_utf8_is_left_out(box: Any) -> None:
    code = r"open('a', 'w').write('x')" + "\n" + r"open(b'\xff.png', 'wb').write(b'\x89PNG\r\n\x1a\n')"
    assert left(box, code) == (["a"], 1)


def test_deep_directories_do_not_lose_the_result(box: Any) -> None:
    code = "import os\nopen('a', 'w').write('x')\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')"
    assert left(box, code) == (["a"], 0)


def test_the_description_holds_under_every_policy(box: Any) -> None:
    (told,) = [tool.description for tool in box.list_tools() if tool.name == "run_python"]
    assert "empty" not in told and "working directory" not in told

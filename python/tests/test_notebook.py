"""run_python: what notebooks have beyond Python. In a cell, and the reading of lines alone."""

from __future__ import annotations

import textwrap
from typing import Any, Iterator

import pytest

import brig
from brig._notebook import as_notebook
from brig._pip import refusal_of


@pytest.fixture(scope="module")
def box() -> Iterator[Any]:
    with brig.Sandbox(modules=["brig._builtin"], timeout=60) as made:
        yield made


def run(box: Any, code: str, **arguments: Any) -> Any:
    result = box.call_sync("run_python", {"code": code, **arguments})
    assert result.ok, result.traceback or result.error
    return result


def printed(box: Any, code: str, **arguments: Any) -> str:
    result = run(box, code, **arguments)
    assert "error" not in result.output and "exit_code" not in result.output, result.output
    return str(result.report.stdout.decode())


def value(box: Any, code: str) -> Any:
    result = run(box, code)
    assert "error" not in result.output, result.output["error"]["traceback"]
    return result.output["value"]


def failure(box: Any, code: str) -> Any:
    return run(box, code).output["error"]


# --- what is read otherwise, and what is not ---


@pytest.mark.parametrize(
    "code",
    [
        "x = (7\n% 4)",
        "x = 7 \\\n% 4",
        "s = '''\n!ls\n%cd /\n'''",
        's = f"""\n    !ls\n{1}\n%time\n"""',
        "x = [\n    1,\n    2\n]",
        "s = 'it\\'s' # !ls\n",
        "print('%d' % 3)",
        "x = '!ls'",
        "",
        "\n\n",
        "# %time\n",
    ],
)
def test_valid_code_is_not_changed(code: str) -> None:
    compile(code, "", "exec")
    assert as_notebook(code) is None


@pytest.mark.parametrize(
    "code",
    [
        "x = = 1",
        "print('a'",
        "% b",
        "a %",
        "x = 1 +* 2",
        "!=3",
        "x == !",
        "def f(:\n  pass",
        "'unended\n",
        '"""\n!ls\n',
    ],
)
def test_code_that_is_wrong_otherwise_is_not_made_valid(code: str) -> None:
    made = as_notebook(code)
    with pytest.raises(SyntaxError):
        compile(made.source if made else code, "", "exec")


@pytest.mark.parametrize(
    "code, changed",
    [
        ("!ls", {1}),
        ("x = 1\n!ls\ny = 2", {2}),
        ("s = '''\n!ls\n'''\n!ls", {4}),
        ("x = (1,\n!ls\n)\n!ls", {4}),  # which Python refuses for its second line
        ("s = 'it\\'s'\n!echo \"it's\"\nx = 1\n!ls", {2, 4}),
        ("if 1:\n    !ls\n    %cd /", {2, 3}),
        ("a = !ls\na.b['='] = !ls\nx, y = %pwd", {1, 2, 3}),
        ("!echo \\\n  a\n%cd \\\n  /", {1, 2, 3, 4}),
        ("# head\n\n%%bash\n'''\nx = (", {3, 4, 5}),
        ("s = 'a\\\n!ls'\n!ls", {3}),
        ("f(x='=!')\n!ls", {2}),
        ("d = {'a':\n%b}\n%pwd", {3}),
        ("x = r'\\'\n!ls", {2}),
    ],
)
def test_lines_are_changed_only_where_a_statement_begins(code: str, changed: set[int]) -> None:
    made = as_notebook(code)
    assert made is not None and made.changed == changed
    assert len(made.source.split("\n")) == len(code.split("\n"))
    assert made.shown == code


def test_any_text_is_read() -> None:
    for piece in (
        "!",
        "%",
        "%%",
        "=!",
        "= %",
        "\\",
        "'",
        '"""',
        "(",
        ")",
        "#",
        "\r",
        "\0",
        "\t!",
        "\x0c%cd",
        "\ud800",
    ):
        for text in (
            piece,
            piece * 3,
            f"x{piece}\n{piece}\ny",
            f"  {piece}\n {piece}",
            f"{piece}\\\n{piece}\\",
        ):
            made = as_notebook(text)
            lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            assert made is None or len(made.source.split("\n")) == len(lines)


# --- indented code ---


def test_code_that_is_indented_as_a_whole_runs(box: Any) -> None:
    assert value(box, "    x = 1\n    if x:\n        x += 1\n\n# a note\n    x") == 2
    assert value(box, "\n\n\tx = 1\n\tx + 1\n") == 2
    assert value(box, "  s = '''\n  a\nb'''\n  s") == "\na\nb"
    assert value(box, "  x = [\n1,\n]\n  !true\n  x") == [1]
    assert printed(box, "    !echo a\n    if 1:\n        !echo b") == "a\nb\n"


def test_code_that_is_indented_in_part_is_an_error(box: Any) -> None:
    for code in ("  x = 1\ny = 2", "x = 1\n  y = 2", "    x = 1\n  y = 2"):
        assert failure(box, code)["type"] == "IndentationError", code


def test_lines_of_indented_code_keep_their_numbers(box: Any) -> None:
    traceback = failure(box, "\n    x = [1]\n    x[0] + x[7]")["traceback"]
    assert '  File "<code>", line 3, in <module>\n    x[0] + x[7]' in traceback
    told = failure(box, "    x = 1\n    y = 1 +* 2")
    assert told["type"] == "SyntaxError" and "line 2" in told["traceback"]


# --- commands ---


def test_a_commands_output_stands_in_order(box: Any) -> None:
    result = run(
        box, "print('a', end='')\n!echo b; echo c\nprint('d')\ndisplay(1)\n!echo e\ndisplay(2)"
    )
    assert result.report.stdout == b"ab\nc\nd\ne\n"
    assert [each["at"] for each in result.output["displays"]] == [7, 9]


def test_a_command_tells_how_it_ended(box: Any) -> None:
    assert value(box, "!exit 3\n_exit_code") == 3
    assert value(box, "!kill -9 $$\n_exit_code") == -9
    assert value(box, "!true\n_exit_code") == 0
    result = run(box, "!echo out; echo err >&2\n!no-such-program\n_exit_code")
    assert (result.output["value"], result.report.stdout) == (127, b"out\n")
    assert result.report.stderr.startswith(b"err\n") and b"no-such-program" in result.report.stderr


def test_lines_of_a_command(box: Any) -> None:
    assert value(box, "x = !printf 'a\\nb c\\n'\nx") == ["a", "b c"]
    assert value(box, "x = !printf 'a\\nb'\n[x.n, x.s, x.l, len(x)]") == [
        "a\nb", "a b", ["a", "b"], 2
    ]
    assert value(box, "x = !echo err >&2; exit 4\n[x, _exit_code]") == [["err"], 4]
    assert value(box, "!!echo a") == ["a"]
    assert value(box, "def f():\n    return_value = !echo a\n    return return_value\nf()") == ["a"]


def test_names_of_the_code_stand_in_commands(box: Any) -> None:
    assert printed(box, "n = 'x y'\n!echo $n {n.upper()} {1 + 1}") == "x y X Y 2\n"
    assert printed(box, "def f(a):\n    !echo {a}\nf('inner')") == "inner\n"
    # What is not Python's is the shell's.
    assert printed(box, "!A=1; echo $A ${A} | awk '{print $2}'") == "1\n"
    assert printed(box, "A = 'no'\n!A=1; echo $$A") == "1\n"
    assert printed(box, "!echo {a,b}") == "a b\n"


def test_a_command_in_the_background_is_not_waited_for(box: Any) -> None:
    assert printed(box, "!sleep 1000 &\nprint('on')") == "on\n"
    assert value(box, "x = !sleep 1000 & echo a\nx") == ["a"]


def test_a_large_output_of_a_command_is_whole(box: Any) -> None:
    assert value(box, "x = !head -c 5000000 /dev/zero | tr '\\0' x\nlen(x[0])") == 5_000_000
    result = run(box, "!head -c 300000 /dev/zero | tr '\\0' x\ndisplay(1)")
    assert result.report.stdout_bytes == 300_000 and result.output["displays"][0]["at"] == 300_000


def test_a_command_reads_the_input_of_the_call(box: Any) -> None:
    assert printed(box, "x = input()\n!cat\nprint(x)", stdin="a\n") == "a\n"
    assert printed(box, "!cat", stdin="text") == "text"
    assert printed(box, "!cat\nprint('on')") == "on\n"


def test_output_of_a_command_that_is_redirected_is_redirected(box: Any) -> None:
    code = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as text:\n    !echo hidden\ntext.getvalue()"
    assert value(box, code) == "hidden\n"


# --- magics ---


def test_cd(box: Any) -> None:
    assert printed(
        box, "import os\n%cd /usr\n%cd -q /\nprint(os.getcwd())\n%cd -"
    ) == "/usr\n/\n/usr\n"
    assert value(box, "d = '/usr'\n%cd $d\n%pwd") == "/usr"
    told = failure(box, "x = 1\n%cd /none\nprint('on')")
    assert told["type"] == "FileNotFoundError" and '"<code>", line 2' in told["traceback"]
    assert "brig" not in told["traceback"] and "    %cd /none" in told["traceback"].splitlines()


def test_pip_says_that_there_is_no_network(box: Any) -> None:
    told = failure(box, "%pip install -q no-such-package other>=2")
    assert told["type"] == "UsageError"
    assert told["message"].startswith(
        "%pip can't install no-such-package, other>=2: there is no network in this cell."
    )
    assert failure(box, "%pip download x")["message"].startswith(
        "%pip can't download: there is no network"
    )


@pytest.mark.parametrize(
    "line", [
        "pip install -q no-such-package 2>&1 | tail -1",
        "python3 -m pip install no-such-package",
        "pip3 install no-such-package",
    ]
)
def test_pip_in_a_line_of_the_shell_says_it_at_once(box: Any, line: str) -> None:
    result = run(box, f"!{line}\n[_exit_code]")
    assert result.output["value"] == [1]
    assert result.report.stderr.startswith(
        b"pip can't install no-such-package: there is no network in this cell."
    )
    (told,) = value(box, f"x = !{line}\nx")
    assert told.startswith("pip can't install no-such-package: there is no network in this cell.")


def test_a_line_of_the_shell_that_does_more_than_pip_is_the_shells() -> None:
    for line in (
        "pip --version",
        "pip install --no-index x",
        "pip install x || true",
        "pip install x; ls",
        "pip install x &",
        "echo pip install x",
        "pip install 'x",
        "python -m venv x",
        "ls | grep x",
        f"pip install -r '{__file__}'",
        "",
    ):
        assert refusal_of(line) is None, line


def test_what_is_there_needs_no_pip(box: Any) -> None:
    names = value(box, "from importlib import metadata\nsorted(each.metadata['Name'] for each in metadata.distributions())")
    if not names:
        pytest.skip("this Python has no packages")
    assert printed(box, f"%pip install {names[0]}").startswith(f"Already installed: {names[0]} ")


def test_pip_runs_where_the_network_is_the_hosts() -> None:
    with brig.Sandbox(modules=["brig._builtin"], policy={"network": "host"}, timeout=60) as box:
        told = failure(box, "%pip install --no-such-option x")
        if value(box, "from brig._pip import has_network\nhas_network()"):
            # Pip's own word is on stderr.
            assert told["message"] == "%pip install failed: exit status 2."
        else:  # nor has the host any
            assert told["message"].startswith("%pip can't install x: there is no network")


def test_scripts(box: Any) -> None:
    result = run(box, "%%bash\nfor i in a b; do\n  echo $i {x}\ndone\necho e >&2")
    assert (result.report.stdout, result.report.stderr) == (b"a {x}\nb {x}\n", b"e\n")
    assert printed(box, "\n# a note\n%%sh -s one\necho $1") == "one\n"
    assert printed(box, "%%script cat\nbody") == "body"
    assert printed(box, "%%bash\n: " + "x" * 200_000 + "\necho long") == "long\n"
    assert printed(box, "%%python\nimport sys\nprint(sys.argv[0])") == "-c\n"
    told = failure(box, "%%bash\necho a\nexit 4")
    assert told["type"] == "CalledProcessError" and "non-zero exit status 4" in told["message"]
    assert failure(box, "%%script no-such-program\n")["message"].startswith(
        "%%script: there is no program"
    )


def test_time(box: Any) -> None:
    result = run(box, "%time 6 * 7")
    assert result.output["value"] == 42
    assert result.report.stdout.startswith(b"CPU times: user ") and b"\nWall time: " in result.report.stdout
    result = run(box, "%%time\nimport asyncio\nx = await asyncio.sleep(0, 5)\nx")
    assert result.output["value"] == 5 and b"\nWall time: " in result.report.stdout
    assert value(box, "%time x = 5\nx") == 5
    assert value(box, "x = %time 5\nx") == 5
    assert '"<code>", line 3' in failure(box, "%%time\n\n1 / 0")["traceback"]
    assert failure(box, "%time 1 / 0")["type"] == "ZeroDivisionError"


def test_timeit(box: Any) -> None:
    text = printed(box, "y = 3\n%timeit -n 10 -r 2 y + 1")
    assert text.endswith(" per loop (mean ± std. dev. of 2 runs, 10 loops each)\n")
    assert "of 1 run, 1 loop each" in printed(box, "%%timeit -n1 -r1 x = 5\nx + 1\nx + 2")
    assert printed(box, "%timeit -q -n1 -r1 pass") == ""
    assert failure(box, "%timeit -n 0 pass")["type"] == "UsageError"


def test_files_and_variables(box: Any) -> None:
    result = run(box, "%%writefile d.py\nx = 1\n!ls")
    assert result.output["files"][0]["size"] == len("x = 1\n!ls\n")
    assert value(box, "%env A=b c\nx = !echo $A\nx") == ["b c"]
    assert value(box, "%env HOME") == value(box, "import os\nos.environ['HOME']")
    code = {"a.py": "import sys\nN = sys.argv[1:]\nif __name__ == '__main__': print('main')"}
    result = run(box, "%run a.py 1 'b c'\nN", files=code)
    assert (result.output["value"], result.report.stdout) == (["1", "b c"], b"main\n")


def test_magics_that_mean_nothing_here_are_taken(box: Any) -> None:
    code = "%matplotlib inline\n%config InlineBackend.figure_format = 'retina'\n%load_ext autoreload\n%autoreload 2\n7"
    assert value(box, code) == 7


def test_an_unknown_magic_is_told_where_it_stands(box: Any) -> None:
    result = run(box, "print('before')\n%nonsense a b\nprint('after')")
    told = result.output["error"]
    assert result.report.stdout == b"before\n"
    assert told["type"] == "UsageError" and told["message"].startswith(
        "There is no magic %nonsense here. There are: %cd"
    )
    assert told["traceback"].splitlines()[1:3] == [
        '  File "<code>", line 2, in <module>', "    %nonsense a b"
    ]
    assert failure(box, "%%nonsense\nx")["message"].startswith(
        "There is no cell magic %%nonsense here."
    )
    assert failure(
        box, "x = 1\n%%bash\nls"
    )["message"] == "%%bash must be the first line of the code."


def test_errors_beside_magics_show_the_codes_own_lines(box: Any) -> None:
    code = textwrap.dedent("""\
        !echo a \\
            b
        def f(x):
            y = !echo {x}
            return y[0] + x
        f(1)
        """)
    traceback = failure(box, code)["traceback"]
    places = [line for line in traceback.splitlines() if line.startswith("  File")]
    assert places == ['  File "<code>", line 6, in <module>', '  File "<code>", line 5, in f']
    assert "    f(1)\n" in traceback and "    return y[0] + x\n" in traceback
    told = failure(box, "!ls\nx = 1 +* 2")
    assert told["type"] == "SyntaxError" and "line 2" in told["traceback"] and "x = 1 +* 2" in told["traceback"]


def test_the_helper_is_there_only_for_code_that_needs_it(box: Any) -> None:
    assert value(box, "import builtins\n[each for each in dir(builtins) if 'brig' in each]") == []
    assert value(box, "sorted(each for each in dir() if not each.startswith('__'))") == []

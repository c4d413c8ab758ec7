"""Runs the ! and % lines of a notebook, for run_python. Runs in the cell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import Any, Callable, Optional

from brig._commands import Lines, expanded, run, shell, to_stdout
from brig._figures import use_agg
from brig._pip import ONLINE, has_network, refusal_of, refuse_pip
from brig._timing import run_timed, run_timeit
from brig._usage_error import UsageError

_LONGEST_ARGUMENT = 100_000  # Linux takes 128 KiB
_FORMS = {
    "html": "text/html", "markdown": "text/markdown", "latex": "text/latex", "svg": "image/svg+xml"
}


class Notebook:
    """The object whose methods the changed lines call. `names` are those of the code. `show`
    displays a bundle of MIME types."""

    def __init__(self, names: dict[str, Any], show: Callable[[dict[str, Any]], None]) -> None:
        self._names = names
        self._show = show
        self._before = ""  # the directory before the last %cd

    def system(self, command: str) -> None:
        command = expanded(command, sys._getframe(1))
        told = refusal_of(command)
        if told is not None:
            print(told, file=sys.stderr)  # like the command, which raises nothing
        self._names["_exit_code"] = run(shell(command), to_stdout) if told is None else 1

    def lines(self, command: str) -> Lines:
        return self._lines_of(expanded(command, sys._getframe(1)))

    def _lines_of(self, command: str) -> Lines:
        told = refusal_of(command)
        if told is not None:
            self._names["_exit_code"] = 1
            return Lines([told])
        parts: list[bytes] = []
        self._names["_exit_code"] = run(shell(command), parts.append, stderr=subprocess.STDOUT)
        return Lines(b"".join(parts).decode("utf-8", "replace").splitlines())

    def magic(self, name: str, rest: str) -> Any:
        frame = sys._getframe(1)
        if name in ("time", "timeit"):
            return run_timed(rest, frame) if name == "time" else run_timeit(rest, None, frame)
        return self._plain(name, expanded(rest, frame))

    def cell(self, name: str, rest: str, body: str) -> Any:
        if name == "timeit":
            return run_timeit(rest, body, sys._getframe(1))
        if name in _FORMS:
            return self._show({_FORMS[name]: body})
        if name in ("writefile", "file"):
            return _write_file(rest, body)
        if name in ("bash", "sh", "script", "python", "python3", "perl", "ruby"):
            return self._script(name, shlex.split(expanded(rest, sys._getframe(1))), body)
        raise UsageError(
            f"There is no cell magic %%{name} here. There are: %%bash, %%sh, %%script, %%python, "
            "%%time, %%timeit, "
            "%%writefile, %%html, %%markdown, %%latex, %%svg."
        )

    def _plain(self, name: str, rest: str) -> Any:
        if name == "cd":
            return self._change_directory(rest)
        if name == "pwd":
            return os.getcwd()
        if name in ("env", "set_env"):
            return _environment(rest)
        if name in ("sx", "system"):
            return self._lines_of(rest)
        if name in ("ls", "ll", "cat", "cp", "mv", "rm", "mkdir", "rmdir"):
            command = f"ls -l {rest}" if name == "ll" else f"{name} {rest}"
            self._names["_exit_code"] = run(shell(command), to_stdout)
            return None
        if name == "run":
            return self._run_file(rest)
        if name == "pip":
            return self._pip(rest)
        if name in ("conda", "mamba", "uv"):
            raise UsageError(
                f"%{name} can't be used here: use %pip, or the packages that are installed."
            )
        if name in ("matplotlib", "pylab"):
            return use_agg()  # for every backend: there is no screen
        if name in ("config", "autoreload") or (
            name in ("load_ext", "reload_ext") and rest == "autoreload"
        ):
            return None  # every call has a fresh interpreter, and figures have one form
        if name.startswith("%"):
            raise UsageError(f"%{name} must be the first line of the code.")
        raise UsageError(
            f"There is no magic %{name} here. There are: %cd, %pwd, %ls, %env, %pip, %run, %time, "
            "%timeit, %matplotlib, "
            "and !command."
        )

    def _change_directory(self, rest: str) -> None:
        words = [each for each in shlex.split(rest) if each != "-q"]
        if len(words) > 1:
            raise UsageError(f"%cd takes one directory, not {len(words)}.")
        to = words[0] if words else "~"
        if to == "-":
            if not self._before:
                raise UsageError("%cd -: there is no directory to go back to.")
            to = self._before
        before = os.getcwd()
        os.chdir(os.path.expanduser(to))
        self._before = before
        if "-q" not in rest.split():
            print(os.getcwd())

    def _run_file(self, rest: str) -> None:
        import runpy

        words = shlex.split(rest)
        if not words or words[0].startswith("-"):
            raise UsageError("%run takes a file of Python code, and its arguments.")
        before = sys.argv
        sys.argv = words
        try:
            found = runpy.run_path(words[0], run_name="__main__")
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise
            found = {}
        finally:
            sys.argv = before
        self._names.update((key, value) for key, value in found.items() if not key.startswith("__"))

    def _pip(self, rest: str) -> None:
        words = shlex.split(rest)
        command = next((each for each in words if not each.startswith("-")), "")
        if command in ONLINE and "--no-index" not in words and not has_network():
            refuse_pip(words[words.index(command) + 1 :], command)
            return
        code = self._names["_exit_code"] = run([sys.executable, "-m", "pip", *words], to_stdout)
        if code:
            raise UsageError(f"%pip {command} failed: exit status {code}.")

    def _script(self, name: str, words: list[str], body: str) -> None:
        given: Optional[bytes] = None
        if name == "script":
            if not words:
                raise UsageError("%%script takes a program, and its arguments.")
            argv, given = words, body.encode("utf-8", "surrogateescape")
        else:
            words = words[1:] if words[:1] == ["-s"] else words
            program = sys.executable if name in ("python", "python3") else name
            flag = "-e" if name in ("perl", "ruby") else "-c"
            if len(body.encode("utf-8", "surrogateescape")) <= _LONGEST_ARGUMENT:
                argv = [program, flag, body, *([name] if name in ("bash", "sh") else []), *words]
            else:
                argv, given = [
                    program, *(["-s"] if name in ("bash", "sh") else ["-"]), *words
                ], body.encode()
        try:
            code = self._names["_exit_code"] = run(argv, to_stdout, given=given)
        except FileNotFoundError:
            raise UsageError(f"%%{name}: there is no program {argv[0]!r} in this cell.") from None
        if code:
            raise subprocess.CalledProcessError(code, f"%%{name}")


def _environment(rest: str) -> Any:
    if not rest:
        return dict(os.environ)
    name, sign, value = rest.partition("=")
    if not sign:
        name, sign, value = rest.partition(" ")
    name, value = name.strip(), value.strip()
    if not sign:
        if name not in os.environ:
            raise UsageError(f"%env: there is no variable {name}.")
        return os.environ[name]
    os.environ[name] = value
    print(f"env: {name}={value}")
    return None


def _write_file(rest: str, body: str) -> None:
    words = shlex.split(rest)
    mode = "a" if "-a" in words or "--append" in words else "w"
    names = [each for each in words if each not in ("-a", "--append")]
    if len(names) != 1:
        raise UsageError("%%writefile takes the name of one file.")
    is_there = os.path.exists(names[0])
    with open(os.path.expanduser(names[0]), mode, encoding="utf-8") as file:
        file.write(body if body.endswith("\n") or not body else body + "\n")
    doing = "Writing" if not is_there else "Appending to" if mode == "a" else "Overwriting"
    print(f"{doing} {names[0]}")

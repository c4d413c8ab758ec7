"""What the ! and % lines of a notebook do, for run_python. Runs in the cell."""

from __future__ import annotations

import ast
import fcntl
import os
import re
import resource
import select
import shlex
import shutil
import string
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Iterable, Iterator, List, Mapping, Optional, Sequence

from brig._figures import use_agg

_CHUNK = 1 << 16
_IDLE = 50  # milliseconds without output, after which it is looked whether the command has ended
_LONGEST_ARGUMENT = 100_000  # Linux takes 128 KiB
_FORMS = {"html": "text/html", "markdown": "text/markdown", "latex": "text/latex", "svg": "image/svg+xml"}
_ONLINE = {"install", "download", "wheel", "search", "index"}  # commands of pip that need a network


class UsageError(Exception):
    """A magic that is not there, or can't do what it was asked."""


UsageError.__module__ = "builtins"  # tracebacks tell it by its bare name, as notebooks do


class Lines(List[str]):
    """What `x = !command` gives: the lines, with the names that IPython has for them."""

    @property
    def l(self) -> list[str]:  # noqa: E743
        return list(self)

    @property
    def n(self) -> str:
        return "\n".join(self)

    @property
    def s(self) -> str:
        return " ".join(self)


class Notebook:
    """`names` are those of the code. `show` takes a bundle of MIME types."""

    def __init__(self, names: dict[str, Any], show: Callable[[dict[str, Any]], None]) -> None:
        self._names = names
        self._show = show
        self._before = ""  # where %cd came from

    def system(self, command: str) -> None:
        command = _expanded(command, sys._getframe(1))
        self._names["_exit_code"] = _run(_shell(command), _to_stdout)

    def lines(self, command: str) -> Lines:
        return self._lines_of(_expanded(command, sys._getframe(1)))

    def _lines_of(self, command: str) -> Lines:
        parts: list[bytes] = []
        self._names["_exit_code"] = _run(_shell(command), parts.append, stderr=subprocess.STDOUT)
        return Lines(b"".join(parts).decode("utf-8", "replace").splitlines())

    def magic(self, name: str, rest: str) -> Any:
        frame = sys._getframe(1)
        if name in ("time", "timeit"):
            return _time(rest, frame) if name == "time" else _timeit(rest, None, frame)
        return self._plain(name, _expanded(rest, frame))

    def cell(self, name: str, rest: str, body: str) -> Any:
        if name == "timeit":
            return _timeit(rest, body, sys._getframe(1))
        if name in _FORMS:
            return self._show({_FORMS[name]: body})
        if name in ("writefile", "file"):
            return _write_file(rest, body)
        if name in ("bash", "sh", "script", "python", "python3", "perl", "ruby"):
            return self._script(name, shlex.split(_expanded(rest, sys._getframe(1))), body)
        raise UsageError(
            f"There is no cell magic %%{name} here. There are: %%bash, %%sh, %%script, %%python, %%time, %%timeit, "
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
            self._names["_exit_code"] = _run(_shell(command), _to_stdout)
            return None
        if name == "run":
            return self._run_file(rest)
        if name == "pip":
            return self._pip(rest)
        if name in ("conda", "mamba", "uv"):
            raise UsageError(f"%{name} can't be used here: use %pip, or the packages that are there.")
        if name in ("matplotlib", "pylab"):
            return use_agg()  # whatever was asked for: there is no screen
        if name in ("config", "autoreload") or (name in ("load_ext", "reload_ext") and rest == "autoreload"):
            return None  # every call has a fresh interpreter, and figures one form
        if name.startswith("%"):
            raise UsageError(f"%{name} must be the first line of the code.")
        raise UsageError(
            f"There is no magic %{name} here. There are: %cd, %pwd, %ls, %env, %pip, %run, %time, %timeit, %matplotlib, "
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
        if command in _ONLINE and "--no-index" not in words and not _has_network():
            _refuse_pip(words[words.index(command) + 1 :], command)
            return
        code = self._names["_exit_code"] = _run([sys.executable, "-m", "pip", *words], _to_stdout)
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
                argv, given = [program, *(["-s"] if name in ("bash", "sh") else ["-"]), *words], body.encode()
        try:
            code = self._names["_exit_code"] = _run(argv, _to_stdout, given=given)
        except FileNotFoundError:
            raise UsageError(f"%%{name}: there is no program {argv[0]!r} in this cell.") from None
        if code:
            raise subprocess.CalledProcessError(code, f"%%{name}")


# --- commands ---


def _shell(command: str) -> list[str]:
    return [shutil.which("bash") or "/bin/sh", "-c", command]


def _to_stdout(data: bytes) -> None:
    """Through Python's own stream, so that it stands in order with what was printed."""
    stream = sys.stdout
    binary = getattr(stream, "buffer", None)
    if binary is not None:
        stream.flush()
        binary.write(data)
        binary.flush()
    elif stream is not None:
        stream.write(data.decode("utf-8", "replace"))


def _run(
    argv: Sequence[str], sink: Callable[[bytes], object], *, stderr: Optional[int] = None, given: Optional[bytes] = None
) -> int:
    """The exit status, or the negative number of a signal, as IPython has it. Waits for the command, not for what it
    leaves in the background."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    arguments = [each.encode("utf-8", "surrogateescape") for each in argv]
    source = subprocess.PIPE if given is not None else None
    process = subprocess.Popen(arguments, stdin=source, stdout=subprocess.PIPE, stderr=stderr)
    if process.stdin is not None:
        feeder = threading.Thread(target=_feed, args=(process.stdin, given), daemon=True)
        feeder.start()
    assert process.stdout is not None
    output = process.stdout.fileno()
    ready = select.poll()
    ready.register(output, select.POLLIN)
    while True:
        if ready.poll(_IDLE):
            data = os.read(output, _CHUNK)
            if not data:
                break
            sink(data)
        elif process.poll() is not None:
            _rest(process, sink)
            break
    code = process.wait()
    return -(code - 128) if code > 128 else code


def _feed(stream: Any, data: Optional[bytes]) -> None:
    try:
        stream.write(data)
        stream.close()
    except OSError:
        pass  # it did not want it


def _rest(process: subprocess.Popen[bytes], sink: Callable[[bytes], object]) -> None:
    """What is there already. What others write to that pipe later is taken in the background."""
    assert process.stdout is not None
    stream, process.stdout = process.stdout, None
    output = stream.fileno()
    flags = fcntl.fcntl(output, fcntl.F_GETFL)
    fcntl.fcntl(output, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        while True:
            data = os.read(output, _CHUNK)
            if not data:
                return
            sink(data)
    except BlockingIOError:
        fcntl.fcntl(output, fcntl.F_SETFL, flags)

    def go_on() -> None:
        while True:
            data = stream.read1(_CHUNK)  # type: ignore[attr-defined]
            if not data:
                return
            sink(data)

    threading.Thread(target=go_on, daemon=True).start()


class _Expander(string.Formatter):
    """{expression} and $name of Python's names; $$name is the shell's."""

    _DOLLAR = re.compile(r"\$(\$?)([A-Za-z_]\w*)")

    def __init__(self, globals_: dict[str, Any], locals_: Mapping[str, Any]) -> None:
        self._globals, self._locals = globals_, locals_

    def parse(self, format_string: str) -> Iterator[Any]:
        for text, field, spec, conversion in super().parse(format_string):
            at = 0
            for found in self._DOLLAR.finditer(text):
                name = found[2]
                if found[1]:
                    yield text[at : found.start()] + "$" + name, None, None, None
                elif name in self._locals or name in self._globals:
                    yield text[at : found.start()], name, "", None
                else:
                    continue
                at = found.end()
            yield text[at:], field, spec, conversion

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        return eval(field_name, self._globals, dict(self._locals)), field_name


def _expanded(text: str, frame: Any) -> str:
    """As IPython does it: what can't be is the shell's, as it stands."""
    if "{" not in text and "$" not in text and "}" not in text:
        return text
    try:
        return _Expander(frame.f_globals, frame.f_locals).vformat(text, (), {})
    except Exception:
        return text


# --- pip ---


def _has_network() -> bool:
    """Whether there is a way out at all. Nothing is sent."""
    import socket

    if any(os.environ.get(name) for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")):
        return True
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
                return True
        except OSError:
            continue
    return False


def _refuse_pip(wanted: Iterable[str], command: str) -> None:
    """Raises, unless all that is wanted is there already."""
    from importlib import metadata

    missing, there, names = [], [], [each for each in wanted if not each.startswith("-")]
    for name in names:
        try:
            there.append(f"{name} {metadata.version(name)}")
        except Exception:
            missing.append(name)
    if command == "install" and names and not missing:
        print(f"Already installed: {', '.join(there)}")
        return
    what = f" {', '.join(missing)}" if missing and command == "install" else ""
    raise UsageError(
        f"%pip can't {command}{what}: there is no network in this cell. Use the packages that are there (%pip list), or "
        "ask the operator to install what is missing."
    )


# --- others ---


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


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


class Stopwatch:
    """Prints what was used from its making on, as %time does."""

    def __init__(self) -> None:
        self._used, self._wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()

    def tell(self) -> None:
        wall, now = time.perf_counter() - self._wall, resource.getrusage(resource.RUSAGE_SELF)
        user, system = now.ru_utime - self._used.ru_utime, now.ru_stime - self._used.ru_stime
        print(f"CPU times: user {duration(user)}, sys: {duration(system)}, total: {duration(user + system)}")
        print(f"Wall time: {duration(wall)}")


def _time(statement: str, frame: Any) -> Any:
    tree = compile(statement, "<%time>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    first = compile(tree, "<%time>", "exec", dont_inherit=True)
    then = compile(ast.Expression(last.value), "<%time>", "eval", dont_inherit=True) if last is not None else None
    watch = Stopwatch()
    try:
        exec(first, frame.f_globals, frame.f_locals)
        return eval(then, frame.f_globals, frame.f_locals) if then is not None else None
    finally:
        watch.tell()


def _timeit(rest: str, body: Optional[str], frame: Any) -> None:
    import timeit

    number, repeat, quiet = 0, 7, False
    words = re.match(r"((?:-\w+\s*\d*\s+)*)(.*)", rest + " ", re.DOTALL)
    options, statement = (words[1], words[2].strip()) if words else ("", rest)
    for letter, amount in re.findall(r"-(\w)\w*?\s*(\d*)(?=\s)", options):
        if letter in "nr" and not (amount and int(amount)):
            raise UsageError(f"%timeit -{letter} takes a number greater than 0.")
        if letter == "n":
            number = int(amount)
        elif letter == "r":
            repeat = int(amount)
        elif letter == "q":
            quiet = True
        elif letter not in "otcpv":
            raise UsageError(f"%timeit has no option -{letter} here. There are: -n N, -r R, -q.")
    setup = statement if body is not None and statement else "pass"
    if body is not None:
        statement = body
    names = {**frame.f_globals, **frame.f_locals}
    timer = timeit.Timer(statement or "pass", setup, globals=names)
    if not number:
        number = timer.autorange()[0]
    each = [taken / number for taken in timer.repeat(repeat, number)]
    if quiet:
        return
    mean = sum(each) / len(each)
    spread = (sum((one - mean) ** 2 for one in each) / len(each)) ** 0.5
    print(
        f"{duration(mean)} ± {duration(spread)} per loop (mean ± std. dev. of {repeat} run{'s' if repeat > 1 else ''}, "
        f"{number:,} loop{'s' if number > 1 else ''} each)"
    )

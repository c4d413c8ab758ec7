"""run_python: the tool of a server that runs code. The server's interpreter imports it, in the
jail.

The code runs as `python code.py` would run it, and may have the syntax of a notebook's cell. The
answer:

    value               of a last expression
    displays            [{"at", "data", perhaps "is_value"}]: what was displayed. `at`: how many
                        bytes the code had printed before; `data`: by MIME type a text, or base64 of binary data; "is_value":
                        these are forms of the value
    displays_left_out   the number of other displays
    images, files       the files that the code left in the workspace (LeftFiles.answer())
    error               {"type", "message", "traceback"} if the code raised; the call has failed
                        then
    exit_code           if the code called sys.exit() with another code than 0; the call has failed
                        then
    not_run             the reason, if the code was not run; then there is no other member
"""

from __future__ import annotations

import __future__

import ast
import builtins
import inspect
import io
import linecache
import os
import sys
import threading
import traceback
import types
from typing import Any, Optional

from brig import _ending
from brig._after_import import after_import
from brig._budget import Budget
from brig._call_setup import NotRun, go_to, set_input, set_variables, write_files
from brig._display import Displays, name_of, readable, rich_forms_of
from brig._figures import SavedFigures, show_on, use_agg
from brig._left_files import LeftFiles, large_images, own_workspace
from brig._magics import Notebook
from brig._notebook import HELPER, Cell, as_notebook, set_places
from brig._timing import Stopwatch
from brig._tool import tool
from brig._values import dumps, to_json

_NAME = "<code>"
_LONGEST_TEXT = 16 << 10
_MOST_FRAMES = 100
_FUTURES = 0  # the flags that `from __future__ import ...` of the code sets
for _feature in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _feature).compiler_flag

_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["code"],
    "properties": {
        "code": {
            "type": "string",
            "description": "Python source; the value of a last expression is the result. !command, "
            "%cd, %%bash and "
            "display() work as in a notebook",
        },
        "files": {
            "type": "object",
            "description": "files to put into the workspace first, by relative path",
            "maxProperties": 1000,
            "additionalProperties": {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "properties": {"base64": {"type": "string"}},
                        "required": ["base64"],
                        "additionalProperties": False,
                    },
                ]
            },
        },
        "env": {
            "type": "object",
            "description": "environment variables of this call",
            "maxProperties": 1000,
            "additionalProperties": {"type": "string"},
        },
        "cwd": {
            "type": "string",
            "description": "directory to run in: an existing one; default: the workspace",
        },
        "stdin": {
            "type": "string", "description": "what input() and sys.stdin read; default: nothing"
        },
        "timeout": {
            "type": ["number", "string"],
            "description": 'time limit of this call, in seconds or as "30s"; at most the policy\'s',
        },
    },
}


@tool(
    description="Runs Python code in a fresh, isolated interpreter. Returns the value of the last "
    "expression, what was "
    "printed and what was displayed (display(), plots, images, tables); files that are written to "
    "its workspace come back. "
    "Afterwards only files that the policy lets it write remain.",
    input_schema=_SCHEMA,
    destructive=False,
    open_world=False,
    coerce=False,
)
def run_python(
    code: str,
    files: Optional[dict[str, Any]] = None,
    env: Optional[dict[str, str]] = None,
    cwd: Optional[str] = None,
    stdin: Optional[str] = None,
    timeout: Any = None,  # the host enforces it
) -> Any:
    # Before the code, which may change the directory.
    here, workspace = os.getcwd(), own_workspace()
    try:
        given = write_files(files or {})
        set_variables(env or {})
        if cwd is not None:
            go_to(cwd)
        if stdin is not None:
            set_input(stdin)
    except NotRun as why:
        return {"not_run": str(why)}
    pid, budget = os.getpid(), Budget()
    saved = SavedFigures(workspace)
    displays = Displays(budget, saved)
    run = _Run(displays, saved)
    run.run(code, here)
    if os.getpid() != pid:
        _ending.end_copy(run.ended)
    run.settle()
    _ending.join_threads()
    displays.finish(run.value, run.forms, large_images(workspace, given) if workspace else ())
    _ending.run_exit_functions()  # one of matplotlib's closes its figures
    displays.flush()
    answer = {**run.answer, **displays.answer()}
    if workspace:
        try:
            answer.update(LeftFiles(workspace, given, budget).answer())
        except Exception as error:  # the code may have changed any function
            answer["files_left_out_why"] = [
                f"brig could not read the workspace: {name_of(type(error))}"
            ]
    return answer


class _Run:
    """Runs the code, and makes the answer about it."""

    def __init__(self, displays: Displays, saved: SavedFigures) -> None:
        self._displays, self._saved = displays, saved
        self.ended: Optional[BaseException] = None  # the exception that ended the code
        self.value: Any = None
        self.forms: dict[str, str] = {}
        self.answer: dict[str, Any] = {"value": None}

    def run(self, code: str, here: str) -> None:
        """Runs the code as `python code.py` would: it is the module __main__, and can import
        modules beside it. As in a notebook, `await` may stand anywhere, and the value of a last
        expression comes back."""
        main = types.ModuleType("__main__")
        names = vars(main)
        names["__builtins__"] = builtins
        sys.modules["__main__"] = main
        sys.path[:0] = dict.fromkeys([os.getcwd(), here])
        builtins.display = self._displays.display  # type: ignore[attr-defined]
        threading.excepthook = _print_error_of_thread
        use_agg()
        after_import({"multiprocessing.context": _fork_by_default})
        show_on(self._displays.show_figures, self._displays.display, self._saved)
        try:
            parts, is_timed, is_plain = _compiled(code)
            if not is_plain:
                setattr(builtins, HELPER, Notebook(names, self._displays.show))
            watch = Stopwatch() if is_timed else None
            try:
                self.value = _evaluated(parts, names)
            finally:
                if watch:
                    watch.print()
        except BaseException as error:
            # From the code's own first line on. Code that can't be compiled has no line in the
            # traceback.
            self.ended = error.with_traceback(_own_frames(error.__traceback__))

    def settle(self) -> None:
        """Puts the value, the exit code or the error into the answer."""
        if self.ended is None:
            try:
                self.answer["value"] = _value(self.value)
                self.forms = rich_forms_of(self.value)
            except BaseException as error:
                self.value = None
                self.answer["error"] = _error_answer(
                    error.with_traceback(_own_frames(error.__traceback__))
                )
        elif isinstance(self.ended, SystemExit):
            code = _ending.exit_code(self.ended)
            if code:
                self.answer["exit_code"] = code
        else:
            if sys.excepthook is not sys.__excepthook__:
                _ending.tell(self.ended)  # by the code's own hook
            self.answer["error"] = _error_answer(self.ended)


def _fork_by_default(context: Any) -> None:
    """From Python 3.14 on the default is a process that imports the code's file, and no file has
    the code. It is only the default that changes: the code may call set_start_method()."""
    context._default_context._default_context = context._concrete_contexts["fork"]


def _value(value: Any) -> Any:
    """Returns the JSON form of a value, or its repr() if it has none."""
    try:
        dumps(value)
        return to_json(value)
    except Exception:
        pass
    return readable(repr(value))


# --- exceptions ---


def _own_frames(frames: Optional[types.TracebackType]) -> Optional[types.TracebackType]:
    """Returns the frames from the code's first on, without brig's: the code calls a magic, which
    may call code."""
    while frames and frames.tb_frame.f_code.co_filename != _NAME:
        frames = frames.tb_next
    kept = []
    while frames:
        if not str(frames.tb_frame.f_globals.get("__name__", "")).startswith("brig._"):
            kept.append(frames)
        frames = frames.tb_next
    result = None
    for each in reversed(kept):
        result = types.TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result


def _error_answer(error: BaseException) -> dict[str, str]:
    name = name_of(type(error))
    try:
        message = str(error)
    except BaseException:
        message = f"<a {name} that can't be printed>"
    try:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except BaseException:  # the exception can't be printed
        text = "".join(
            ["Traceback (most recent call last):\n", *_lines_of(error.__traceback__), message]
        )
    text = readable(text).rstrip()
    return {
        "type": name[:_LONGEST_TEXT],
        "message": readable(message)[:_LONGEST_TEXT],
        "traceback": text if len(text) <= _LONGEST_TEXT else "...\n" + text[-_LONGEST_TEXT:],
    }


def _lines_of(frames: Optional[types.TracebackType]) -> list[str]:
    """Formats frames without any module's help, since the code may have changed every module."""
    lines: list[str] = []
    while frames and len(lines) < _MOST_FRAMES:
        code = frames.tb_frame.f_code
        lines.append(f'  File "{code.co_filename}", line {frames.tb_lineno}, in {code.co_name}\n')
        frames = frames.tb_next
    return lines


def _print_error_of_thread(raised: Any) -> None:
    """Prints an exception of a thread. Python's own hook has no lines of code that is in no
    file."""
    if issubclass(raised.exc_type, SystemExit) or sys.stderr is None:
        return
    name = raised.thread.name if raised.thread else threading.get_ident()
    print(f"Exception in thread {name}:", file=sys.stderr, flush=True)
    traceback.print_exception(raised.exc_type, raised.exc_value, raised.exc_traceback)
    sys.stderr.flush()


# --- from text to code ---


def _lines(code: str) -> list[str]:
    """Returns the lines as a file has them: only a newline ends one, and traceback needs it at the
    end of the last."""
    return [
        line if line.endswith("\n") else line + "\n" for line in io.StringIO(code, newline=None)
    ]


_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def _parsed(code: str) -> ast.Module:
    tree = compile(code, _NAME, "exec", _FLAGS | ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    return tree


def _read(code: str) -> tuple[ast.Module, Optional[Cell]]:
    """Parses the code as Python does, or else as a notebook does. Raises SyntaxError."""
    linecache.cache[_NAME] = (len(code), None, _lines(code), _NAME)  # for tracebacks
    try:
        return _parsed(code), None
    except SyntaxError as error:
        cell = as_notebook(code)
        if cell is None:
            raise
        fault = error
    linecache.cache[_NAME] = (len(cell.shown), None, _lines(cell.shown), _NAME)
    try:
        tree = _parsed(cell.source)
    except SyntaxError as error:
        if error.lineno in cell.changed:
            raise fault from None
        raise error from None
    set_places(tree, cell)
    return tree, cell


def _compiled(code: str) -> tuple[list[types.CodeType], bool, bool]:
    """Returns the code without its last expression, and that expression; whether to time it;
    whether it is plain Python."""
    tree, cell = _read(code)
    flags = _FLAGS
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        del tree.body[-1]
    parts = [compile(tree, _NAME, "exec", flags, dont_inherit=True)]
    if isinstance(last, ast.Expr):
        flags |= parts[0].co_flags & _FUTURES
        parts.append(compile(ast.Expression(last.value), _NAME, "eval", flags, dont_inherit=True))
    return parts, cell is not None and cell.is_timed, cell is None


def _evaluated(parts: list[types.CodeType], names: dict[str, Any]) -> Any:
    if any(part.co_flags & inspect.CO_COROUTINE for part in parts):
        import asyncio

        return asyncio.run(_await_all(parts, names))
    value = None
    for part in parts:
        value = eval(part, names)
    return value


async def _await_all(parts: list[types.CodeType], names: dict[str, Any]) -> Any:
    value = None
    for part in parts:
        value = eval(part, names)
        if part.co_flags & inspect.CO_COROUTINE:
            value = await value
    return value

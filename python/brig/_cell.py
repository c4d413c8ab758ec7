"""The program of a zygote's interpreter, and of its cells.

libbrig carries this package and starts it in the jail, with these descriptors: 5 the catalog, which
takes the list of what was loaded; 6 the rest of brig's helper, to load; 7 this package. The
helper's ``spec`` says what to do:

    path      directories for sys.path; with "exact", all of it
    tools     [{"name", "typed", perhaps "relays_exit", and one of: "module" or "main" (a file) with
              "qualname"; "pickle"; "code"}]
    discover  modules whose marked tools the zygote lists
    preload   modules to import first, for anything that the tools may do
"""

from __future__ import annotations

import gc
import json
import os
import sys
import types
from typing import Any, Callable, Optional

from brig import _ending, _state
from brig._answer import error_answer, send, tell, text_of, trimmed_traceback
from brig._loading import FORKED, Loading, Refused, own_files
from brig._protocol import CATALOG, ERROR, FILES, IMAGE, RESULT, catalog_has_room, frame, header
from brig._schema import Signature
from brig._state import state
from brig._tool import Tool
from brig._values import dumps, pack, unpack_arguments

_OWN = f"/proc/self/fd/{FILES}"  # this package, as libbrig carries it
# json.loads() without the checks that a text from brig itself does not need.
_scan = json.scanner.make_scanner(json.JSONDecoder())  # type: ignore[attr-defined]
_MOST_TOUCHED = 64  # tools that a cell makes ready before their call


def main() -> None:
    import ctypes

    state.inside = True
    library = ctypes.PyDLL(f"/proc/self/fd/{IMAGE}")
    library.brig_runtime_spec.restype = ctypes.c_char_p
    library.brig_runtime_environment.restype = ctypes.POINTER(ctypes.c_char_p)
    spec = json.loads(library.brig_runtime_spec())
    runtime = _Runtime(spec, library)

    load = ctypes.CFUNCTYPE(None, ctypes.c_int)
    fork = ctypes.CFUNCTYPE(ctypes.c_int)
    rehearse = ctypes.CFUNCTYPE(None)
    run = ctypes.CFUNCTYPE(
        None, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int
    )

    def run_tool(name: bytes, text: int, size: int, gaps: int, answer: int) -> None:
        runtime.run(name.decode(), ctypes.string_at(text, size), gaps, answer)

    class Hooks(ctypes.Structure):
        _fields_ = [("load", load), ("fork", fork), ("rehearse", rehearse), ("run", run)]

    hooks = Hooks(load(runtime.load), fork(_fork), rehearse(runtime.rehearse), run(run_tool))
    text = ctypes.create_string_buffer(b'{"a":1,"b":[2.5,"text",null,true]}')

    def practice() -> None:
        hooks.run(b"", ctypes.addressof(text), len(text.value), -1, -1)

    runtime.practice = practice
    library.brig_runtime_serve(ctypes.byref(hooks))


def _fork() -> int:
    try:
        return os.fork()
    except OSError:
        return -1


class _Entry:
    """A function that a cell can call."""

    relays_exit = False  # whether SystemExit is an error of the tool, and does not end the process

    def __init__(self, tool: Tool, typed: bool) -> None:
        self.function = tool.function
        self.typed = typed
        self.bind: Optional[Callable[[dict[str, Any]], tuple[list[Any], dict[str, Any]]]] = None
        if not typed:
            self.bind = tool.signature.bind
        self.is_async = _is_async(tool.function)

    def call(self, arguments: dict[str, Any]) -> Any:
        if self.bind is None:
            positional: list[Any] = []
            named = unpack_arguments(arguments)
        else:
            positional, named = self.bind(arguments)
        result = self.function(*positional, **named)
        if self.is_async or isinstance(result, types.CoroutineType):
            import asyncio

            result = asyncio.run(result)
        return result


def _set_environment(environment: list[bytes]) -> None:
    """Sets Python's view of the environment. putenv() is not used, since the process is about to be
    copied."""
    data = os.environ._data  # type: ignore[attr-defined]
    data.clear()
    data.update(each.split(b"=", 1) for each in environment if b"=" in each)


def _nothing(typed: bool) -> _Entry:
    entry = _Entry.__new__(_Entry)
    entry.function, entry.typed, entry.is_async = (lambda **_: None), typed, False
    entry.bind = None if typed else Signature("", False).bind
    return entry


def _is_async(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & 0x80)  # CO_COROUTINE


class _Runtime:
    def __init__(self, spec: dict[str, Any], library: Any) -> None:
        self._spec = spec
        self._library = library
        self._tools: dict[str, _Entry] = {}
        self._environment = b""
        # Makes a call without a tool, which touches the memory that every call needs a copy of.
        self.practice: Callable[[], None] = lambda: None
        self._nothing = [_nothing(typed) for typed in (True, False)]

    # --- in the zygote ---

    def load(self, _catalog: int) -> None:
        pid = os.getpid()
        loading = Loading(self._spec, self._library.brig_runtime_threads, self._add)
        try:
            try:
                tools = loading.load(_OWN)
                text = json.dumps({"tools": tools, "files": own_files()})
            finally:
                if os.getpid() != pid:
                    # An import forked this process, which went on as if it were the zygote.
                    os._exit(FORKED)
            loading.check_alone()
        except Refused as refused:
            tell(ERROR, str(refused))
            os._exit(1)
        except BaseException as error:
            tell(
                ERROR, f"{loading.doing} failed:\n{trimmed_traceback(error)}{loading.unreadable()}"
            )
            os._exit(1)
        payload = text.encode()
        if not catalog_has_room(payload):
            tell(
                ERROR,
                "the list of the tools is larger than 16 MiB; load fewer tools, or shorten their "
                "schemas",
            )
            os._exit(1)
        os.pwrite(CATALOG, frame(RESULT, payload), 0)
        self._settle()

    _raised: Optional[BaseException] = None  # what the tool raised

    def _add(self, name: str, tool: Tool, typed: bool, relays_exit: bool) -> None:
        entry = self._tools[name] = _Entry(tool, typed)
        entry.relays_exit = relays_exit

    def _settle(self) -> None:
        """Does, as the last thing in the zygote, what every copy would do otherwise."""
        import linecache  # noqa: F401 # for tracebacks
        import traceback  # noqa: F401

        if any(entry.is_async for entry in self._tools.values()):
            import asyncio  # noqa: F401
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure:
                reconfigure(line_buffering=True)  # so that output arrives however the call ends
            if stream:
                stream.flush()
        if _OWN in sys.path:
            sys.path.remove(_OWN)  # no cell has its descriptor
        self._forget_scratch()
        self._settle_environment()
        if not any(entry.typed for entry in self._tools.values()):
            del self._nothing[0]
        _ending.settle()
        self.practice()
        gc.collect()
        gc.freeze()

    def _forget_scratch(self) -> None:
        """Forgets the directory for temporary files: without mounts, imports had one that no cell
        has."""
        tempfile: Any = sys.modules.get("tempfile")
        if tempfile and tempfile.tempdir == os.environ.get("TMPDIR"):
            tempfile.tempdir = None  # tempfile looks for one again

    def _settle_environment(self) -> None:
        """Makes the environment as the cells' will most likely be: without the variables of the
        interpreter alone."""
        mine = {b"OPENBLAS_NUM_THREADS", b"OMP_NUM_THREADS", b"MKL_NUM_THREADS", b"LD_BIND_NOW"}
        left = [each for each in self._current_environment() if each.partition(b"=")[0] not in mine]
        _set_environment(left)
        self._environment = b"".join(each + b"\0" for each in left)

    # --- in a cell ---

    def _current_environment(self) -> list[bytes]:
        listed = self._library.brig_runtime_environment()
        result: list[bytes] = []
        while listed[len(result)] is not None:
            result.append(listed[len(result)])
        return result

    def rehearse(self) -> None:
        """Does everything that a cell can do before its request comes."""
        if not self._library.brig_runtime_environment_is(self._environment, len(self._environment)):
            _set_environment(self._current_environment())
        self._refresh()
        for entry in list(self._tools.values())[:_MOST_TOUCHED]:
            entry.function, entry.bind, entry.typed = entry.function, entry.bind, entry.typed
            getattr(entry.function, "__code__", None), getattr(entry.function, "__dict__", None)
        self.practice()

    def _refresh(self) -> None:
        """Renews state that no two cells may share. (random does so by itself.)"""
        uuid: Any = sys.modules.get("uuid")
        if uuid:
            uuid._node = uuid._last_timestamp = uuid._generate_time_safe = None
        numpy: Any = sys.modules.get("numpy.random")
        if numpy:
            numpy.seed()

    def run(self, name: str, text: bytes, gaps: int, answer: int) -> None:
        state.answer = answer
        entry = self._tools.get(name)
        code, pid = 0, os.getpid()
        if not name:
            for nothing in self._nothing:
                kind, payload = self._answer(nothing, text, gaps)
                _ending.end()
                header(kind, len(payload)) + payload
            os.write(1, b"")
            return
        try:
            if entry is None:
                kind, payload = error_answer(
                    "UnknownTool", f"the interpreter has no tool {name!r}", None
                )
            else:
                kind, payload = self._answer(entry, text, gaps)
            if os.getpid() != pid:
                _ending.end_copy(self._raised)
            _ending.end()
            send(answer, kind, payload)
        except SystemExit as ended:
            code = _ending.exit_code(ended)
            _ending.end()
        except BaseException as error:  # the tool may have changed any function
            code = 1
            failure = f"brig: the result of the tool could not be sent: {type(error).__name__}\n"
            os.write(2, failure.encode())
        finally:
            os._exit(code)  # without the clean-up that is the zygote's

    def _answer(self, entry: _Entry, text: bytes, gaps: int) -> tuple[int, bytes]:
        try:
            if gaps >= 0:
                text = _filled(text, gaps)
            result = entry.call(_scan(text.decode(), 0)[0])
        except BaseException as error:
            if isinstance(error, SystemExit) and not entry.relays_exit:
                raise
            self._raised = error
            return error_answer(type(error).__name__, text_of(error), error)
        try:
            return RESULT, dumps(pack(result) if entry.typed else result)
        except ValueError as error:
            return error_answer("InvalidResult", str(error), None)
        except BaseException as error:
            return error_answer(type(error).__name__, text_of(error), error)


def _filled(outline: bytes, gaps: int) -> bytes:
    """Returns the text with its long strings, which come through a descriptor of their own."""
    parts = outline.split(b"\x01")
    with open(gaps, "rb") as file:
        parts[1::2] = [file.read(int(size)) for size in parts[1::2]]
    return b"".join(parts)


_ = _state  # progress() of the tools uses this module

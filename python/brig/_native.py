"""Loads libbrig by ctypes. brig/c.h says what each function does."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any, Iterator, Optional

from brig._errors import KINDS, Error, InternalError, UnsupportedError

C_VERSION = 1
_NAME = "libbrig.so.0"

_void_p, _char_p, _size_t, _int, _uint64 = (
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_uint64,
)
_error = ctypes.POINTER(_void_p)
_size = ctypes.POINTER(_size_t)


class Blob(ctypes.Structure):
    _fields_ = [("bytes", _void_p), ("size", _size_t), ("base64", _int)]


_blobs = ctypes.POINTER(Blob)
Interrupted = ctypes.CFUNCTYPE(_int)

_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (_int, []),
    "library_version": (_char_p, []),
    "free": (None, [_void_p]),
    "sandbox_new": (_void_p, [_char_p, _size_t, _error]),
    "sandbox_free": (None, [_void_p]),
    "sandbox_set_tools": (_int, [_void_p, _char_p, _size_t, _error]),
    "sandbox_tools": (_void_p, [_void_p, _char_p]),
    "sandbox_sources": (_void_p, [_void_p]),
    "sandbox_call": (_void_p, [_void_p, _char_p, _size_t, _blobs, _size_t, Interrupted, _size]),
    "queue_new": (_void_p, [_error]),
    "queue_descriptor": (_int, [_void_p]),
    "queue_take": (_void_p, [_void_p, ctypes.POINTER(_uint64), _size]),
    "queue_free": (None, [_void_p]),
    "sandbox_submit": (None, [_void_p, _void_p, _uint64, _char_p, _size_t, _blobs, _size_t]),
    "sandbox_cancel": (_int, [_void_p, _char_p, _int]),
    "sandbox_watch": (_void_p, [_void_p, _size_t, _error]),
    "watch_descriptor": (_int, [_void_p]),
    "watch_next": (_void_p, [_void_p, _int, _size]),
    "watch_ended": (_int, [_void_p]),
    "watch_free": (None, [_void_p]),
    "run": (_void_p, [_char_p, _size_t, _void_p, _size_t, _int, _size, _error]),
    "run_interruptible": (
        _void_p,
        [_char_p, _size_t, _void_p, _size_t, _int, Interrupted, _size, _error],
    ),
    "capabilities": (_void_p, [_char_p, _size_t, _error]),
    "safe_environment": (_void_p, [_char_p, _size_t, _error]),
    "kill_process_tree": (None, [_int]),
}


def _candidates() -> Iterator[str]:
    """Yields the places of the library: what BRIG_LIBRARY names, beside this package, a source
    tree's build, installations."""
    named = os.environ.get("BRIG_LIBRARY")
    if named:
        yield named
        return
    here = Path(__file__).resolve().parent
    yield str(here / "_lib" / _NAME)
    if (here.parent.parent / "CMakePresets.json").exists():
        yield str(here.parent.parent / "build" / "release" / "lib" / _NAME)
    # <prefix>/lib/python3/dist-packages/brig, with <prefix>/lib/libbrig.so.
    for above in here.parents:
        if above.name in ("lib", "lib64"):
            yield str(above / _NAME)
            yield from (str(path) for path in above.glob(f"*-linux-gnu/{_NAME}"))
            break
    yield f"/usr/local/lib/{_NAME}"  # where `make install` puts it, without telling the linker
    yield _NAME


def _load() -> ctypes.CDLL:
    tried: list[str] = []
    for path in _candidates():
        if os.sep in path and not os.path.exists(path) and "BRIG_LIBRARY" not in os.environ:
            tried.append(path)
            continue
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
            continue
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(loaded, "brig_c_" + name, None)
            if function is None:
                raise UnsupportedError(
                    f"{path} has no brig_c_{name}: it is older than this package; build or install "
                    "it again"
                )
            function.restype, function.argtypes = result, arguments
        if loaded.brig_c_version() != C_VERSION:
            raise UnsupportedError(
                f"{path} has version {loaded.brig_c_version()} of brig's C interface, and this "
                "package needs "
                f"version {C_VERSION}: install both from one source"
            )
        return loaded
    raise UnsupportedError(
        "libbrig was not found: run `make` in the source tree or `make install`, or set "
        "BRIG_LIBRARY to the path of "
        "libbrig.so; brig looked at: " + "; ".join(tried)
    )


_loaded: Optional[ctypes.CDLL] = None


def library() -> Any:
    global _loaded
    if _loaded is None:
        _loaded = _load()
    return _loaded


def taken(pointer: Optional[int], size: Optional[ctypes.c_size_t] = None) -> bytes:
    """Copies a text that the library has returned, and frees it."""
    if not pointer:
        raise MemoryError("brig: out of memory")
    try:
        return ctypes.string_at(pointer, -1 if size is None else size.value)
    finally:
        library().brig_c_free(pointer)


class ErrorSlot:
    """The place where a function of the library puts its error."""

    def __init__(self) -> None:
        self._pointer = ctypes.c_void_p()

    def reference(self) -> Any:
        return ctypes.byref(self._pointer)

    def error(self) -> Error:
        if not self._pointer.value:
            return InternalError(
                "brig failed without an error message, probably for want of memory; try again"
            )
        error = json.loads(taken(self._pointer.value))
        return KINDS.get(error["kind"], InternalError)(error["message"])


_as_utf8 = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
_as_utf8.restype = ctypes.c_void_p
_as_utf8.argtypes = [ctypes.py_object, ctypes.POINTER(ctypes.c_ssize_t)]


def blob_of(value: Any) -> Blob:
    """Returns a blob that points into `value`, a str or bytes, which must outlive the blob."""
    if isinstance(value, str):
        size = ctypes.c_ssize_t()
        return Blob(_as_utf8(value, ctypes.byref(size)), size.value, 0)
    return Blob(ctypes.cast(ctypes.c_char_p(value), _void_p).value, len(value), 1)

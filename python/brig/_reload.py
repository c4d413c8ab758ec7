"""Sandbox(reload=True): loads tools again when a file that they come from has changed.

inotify reports that something happened in a directory; then a file's inode, size and time show
whether it has changed. Several changes in a row are one reload, which waits at most two seconds for
the last of them. """

from __future__ import annotations

import ctypes
import json
import logging
import os
import select
import threading
import time
import weakref
from typing import TYPE_CHECKING, Iterator, Optional

from brig._errors import Error
from brig._native import library, taken

if TYPE_CHECKING:
    from brig._sandbox import Sandbox

_TICK, _LONGEST = 0.1, 2.0  # seconds
_MOST_FILES, _MOST_DIRECTORIES = 2000, 200
# IN_CLOSE_WRITE, IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE, IN_DELETE_SELF, IN_MOVE_SELF,
# IN_ONLYDIR
_EVENTS = 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x01000000

_log = logging.getLogger("brig")

# Path: (device, inode, size, time), or () if there is no such file.
_Files = dict[str, tuple[int, ...]]


def _sources_in(top: str) -> Iterator[str]:
    directories = 0
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if not name.startswith(".") and name != "__pycache__"]
        yield from (os.path.join(folder, name) for name in files if name.endswith((".py", ".so")))
        directories += 1
        if directories == _MOST_DIRECTORIES:
            return


def _look(paths: list[str], changed_after: int = 0) -> _Files:
    found: _Files = {}
    for path in paths:
        for name in _sources_in(path) if os.path.isdir(path) else [path]:
            if len(found) == _MOST_FILES:
                return found
            try:
                info = os.stat(name)
                late = changed_after and info.st_ctime_ns > changed_after
                found[name] = () if late else (
                    info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns
                )
            except OSError:
                found[name] = ()
    return found


class Reloader:
    """A thread that watches the files of a sandbox's tools, and reloads it."""

    def __init__(self, sandbox: Sandbox) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._add, self._remove = libc.inotify_add_watch, libc.inotify_rm_watch
        self._events: int = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._events < 0:
            raise Error(f"reload: inotify_init1: {os.strerror(ctypes.get_errno())}")
        self._stop, self._stopping = os.pipe()
        self._pid = os.getpid()
        self._sandbox = weakref.ref(sandbox)
        self._paths: list[str] = []
        self._watched: set[int] = set()
        began = time.clock_gettime_ns(_COARSE)
        self._thread = threading.Thread(
            target=self._run, args=(began,), name="brig-reload", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        if os.getpid() == self._pid:  # a fork has no such thread
            os.close(self._stopping)

    def _run(self, began: int) -> None:
        try:
            sandbox = self._sandbox()
            if sandbox is None:
                return
            try:
                sandbox._starting.result()
            except BaseException:
                return  # the sandbox raises it in the thread that made it
            loaded = self._follow(sandbox, began)
            del sandbox
            while True:
                late = () in loaded.values() and self._differs(loaded)
                if not late and not self._wait(None):
                    return
                if not self._settled(loaded):
                    continue
                found = self._reload()
                if found is None:
                    return
                loaded = found
        finally:
            os.close(self._events)
            os.close(self._stop)

    def _differs(self, loaded: _Files) -> bool:
        return _look(self._paths) != loaded

    def _wait(self, seconds: Optional[float]) -> bool:
        """Waits for a change, or for `seconds`. Returns False if the sandbox is closed."""
        ready, _, _ = select.select(
            [self._stop] + ([self._events] if seconds is None else []), [], [], seconds
        )
        if self._stop in ready:
            return False
        try:
            while os.read(self._events, 65536):
                pass
        except BlockingIOError:
            pass
        return True

    def _settled(self, loaded: _Files) -> bool:
        """Waits until nothing changes any more, and returns whether a file differs from what was
        loaded."""
        seen, since = loaded, time.monotonic()
        while True:
            if not self._wait(_TICK):
                return True  # the sandbox is closed, which _reload() finds out
            found = _look(self._paths)
            if found == loaded:
                return False
            if found == seen or time.monotonic() - since >= _LONGEST:
                return True
            seen = found

    def _reload(self) -> Optional[_Files]:
        sandbox = self._sandbox()
        if sandbox is None or sandbox._closed:
            return None
        began = time.clock_gettime_ns(_COARSE)
        try:
            sandbox.reload()
            _log.info("the tools were reloaded")
            return self._follow(sandbox, began)
        except Error as error:
            if sandbox._closed:
                return None
            _log.warning("the tools stay as they were: %s", error)
            # Also where a user may mend the error: in all of `paths`.
            return self._follow(sandbox, began, [os.path.realpath(path) for path in sandbox._paths])

    def _follow(self, sandbox: Sandbox, began: int, more: Optional[list[str]] = None) -> _Files:
        with sandbox._starting.result() as handle:
            paths = json.loads(taken(library().brig_c_sandbox_sources(handle)))
        if sandbox._manifest is not None:
            paths.append(os.path.abspath(os.fspath(sandbox._manifest)))
        self._paths = paths + (more or [])
        now = set()
        for directory in {each for path in self._paths for each in _around(path)}:
            watch = self._add(self._events, os.fsencode(directory), _EVENTS)
            if watch >= 0:
                now.add(watch)
            else:
                _log.warning(
                    "changes in %s will not reload the tools: %s",
                    directory,
                    os.strerror(ctypes.get_errno()),
                )
        for old in self._watched - now:
            self._remove(self._events, old)
        self._watched = now
        return _look(self._paths, began)


def _around(path: str) -> set[str]:
    """Returns the directories in which changes of `path` show: that of its name, that of its
    target, and those below it."""
    found = {os.path.dirname(path), os.path.dirname(os.path.realpath(path))}
    if os.path.isdir(path):
        found |= {os.path.dirname(each) for each in _sources_in(path)} | {path}
    above = set()
    for directory in found:
        while not os.path.isdir(directory) and directory != os.path.dirname(directory):
            directory = os.path.dirname(directory)
        above.add(directory)
    return above


_COARSE = 5  # CLOCK_REALTIME_COARSE, from which files get their times

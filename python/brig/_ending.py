"""What a Python process does when it ends, for cells: their processes end without it (os._exit), since most of it would
take apart what is the zygote's. Threads that are no daemons are waited for, functions of atexit run, and what stands in
the buffers of C's stdio is written.

What was registered before the cell was made is the zygote's, and does not run.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any, Callable, NoReturn, Optional

_flush_c: Optional[Callable[[None], int]] = None
_handlers = 0  # of logging, in the zygote
_had_multiprocessing = False


def settle() -> None:
    """In the zygote, as the last thing: what is registered from here on is the cell's."""
    global _flush_c, _handlers, _had_multiprocessing
    import ctypes

    _flush_c = ctypes.CDLL(None).fflush
    atexit._clear()
    # These register themselves once, when they are imported or first used, for all that comes later.
    logging: Any = sys.modules.get("logging")
    _handlers = len(logging._handlerList) if logging else 0
    _had_multiprocessing = "multiprocessing.util" in sys.modules
    weakref: Any = sys.modules.get("weakref")
    if weakref:
        for each in weakref.finalize._registry.values():
            each.atexit = False
        weakref.finalize._registered_with_atexit = False


def join_threads() -> None:
    """As the interpreter does: only those that are no daemons, and those of executors once they are told to end."""
    threading: Any = sys.modules.get("threading")
    if threading is not None and len(threading._active) > 1:
        _tell_at_the_time_limit(threading)
        _do(threading._shutdown)


def _tell_at_the_time_limit(threading: Any) -> None:
    """A timeout that comes now is not the function's: it has returned. The time limit sends SIGTERM first."""
    import signal

    def told(number: int, _: Any) -> None:
        left = [each.name for each in threading.enumerate() if not each.daemon and each is not threading.main_thread()]
        names = ", ".join(left[:5]) + (", ..." if len(left) > 5 else "")
        if left:
            os.write(2, f"brig: the function has ended, but not its threads: {names}\n".encode("utf-8", "replace"))
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, told)
    except ValueError:
        pass  # not the main thread


def run_exit_functions() -> None:
    if _had_multiprocessing:
        util: Any = sys.modules["multiprocessing.util"]
        if util._finalizer_registry or sys.modules["multiprocessing.process"]._children:
            _do(util._exit_function)
    if atexit._ncallbacks():
        _do(atexit._run_exitfuncs)
    if _handlers and len(sys.modules["logging"]._handlerList) > _handlers:
        _do(sys.modules["logging"].shutdown)


def tell(error: BaseException) -> None:
    """On stderr, as an interpreter would; but with lines of code that no file has, too."""
    try:
        if sys.excepthook is sys.__excepthook__:
            import traceback

            traceback.print_exception(type(error), error, error.__traceback__)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
    except BaseException:
        pass  # one that can't be printed, or nowhere to print it to


def _do(function: Callable[[], object]) -> None:
    """What fails there is told and changes nothing else."""
    try:
        function()
    except SystemExit:
        pass
    except BaseException as error:
        tell(error)


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # closed, or replaced by the tool
    if _flush_c is not None:
        _flush_c(None)


def end() -> None:
    """All of it. Once it was done, it is quickly done again."""
    join_threads()
    run_exit_functions()
    flush()


def exit_code(ended: SystemExit) -> int:
    """That a process which ends by it has; a message is told as Python does."""
    code = ended.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF if -(2**63) <= code < 2**63 else 0xFF
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass  # one that can't be printed
    return 1


def end_copy(error: Optional[BaseException]) -> NoReturn:
    """Ends a process that the tool forked and that came back from it: only the first one answers."""
    code = 0
    try:
        if isinstance(error, SystemExit):
            code = exit_code(error)
        elif error is not None:
            code = 1
            tell(error)
        end()
    finally:
        os._exit(code)

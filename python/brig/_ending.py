"""Ends a cell's call as a Python process ends: threads that are not daemons are joined, functions
of atexit run, and the buffers of C's stdio are flushed.

The process itself ends by os._exit(), since Python's own end would take apart what is the zygote's.
For the same reason functions that were registered before the cell was made do not run. """

from __future__ import annotations

import atexit
import os
import sys
from typing import Any, Callable, NoReturn, Optional

_flush_c: Optional[Callable[[None], int]] = None
_handlers = 0  # how many logging had in the zygote
_had_multiprocessing = False


def settle() -> None:
    """Runs as the last thing in the zygote. What is registered from here on is the cell's."""
    global _flush_c, _handlers, _had_multiprocessing
    import ctypes

    _flush_c = ctypes.CDLL(None).fflush
    atexit._clear()
    # These modules register themselves once, when they are imported or first used.
    logging: Any = sys.modules.get("logging")
    _handlers = len(logging._handlerList) if logging else 0
    _had_multiprocessing = "multiprocessing.util" in sys.modules
    weakref: Any = sys.modules.get("weakref")
    if weakref:
        for each in weakref.finalize._registry.values():
            each.atexit = False
        weakref.finalize._registered_with_atexit = False


def join_threads() -> None:
    """Joins threads as the interpreter does: those that are not daemons, and those of executors,
    which it stops first."""
    threading: Any = sys.modules.get("threading")
    if threading is not None and len(threading._active) > 1:
        _report_at_the_time_limit(threading)
        _do(threading._shutdown)


def _report_at_the_time_limit(threading: Any) -> None:
    """Lets a timeout that comes now say that the function has returned. The time limit sends
    SIGTERM first."""
    import signal

    def report(number: int, _: Any) -> None:
        main = threading.main_thread()
        left = [each.name for each in threading.enumerate() if not (each.daemon or each is main)]
        names = ", ".join(left[:5]) + (", ..." if len(left) > 5 else "")
        if left:
            line = f"brig: the function has returned, but its threads go on: {names}\n"
            os.write(2, line.encode("utf-8", "replace"))
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, report)
    except ValueError:
        pass  # this is not the main thread


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
    """Prints an exception on stderr as an interpreter does, with lines of code that are in no file
    too."""
    try:
        if sys.excepthook is sys.__excepthook__:
            import traceback

            traceback.print_exception(type(error), error, error.__traceback__)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
    except BaseException:
        pass  # it can't be printed, or there is no stderr


def _do(function: Callable[[], object]) -> None:
    """Calls a function. If it fails, prints the exception and goes on."""
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
            pass  # the tool has closed or replaced it
    if _flush_c is not None:
        _flush_c(None)


def end() -> None:
    """Does all of it. To do it again takes no time."""
    join_threads()
    run_exit_functions()
    flush()


def exit_code(ended: SystemExit) -> int:
    """Returns the exit code of a process that ends by this exception. Prints its message, as Python
    does."""
    code = ended.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF if -(2**63) <= code < 2**63 else 0xFF
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass  # it can't be printed
    return 1


def end_copy(error: Optional[BaseException]) -> NoReturn:
    """Ends a process that the tool forked and that returned from the tool. Only the first process
    answers."""
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

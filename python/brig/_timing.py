"""Runs %time and %timeit."""

from __future__ import annotations

import ast
import re
import resource
import time
from typing import Any, Optional

from brig._usage_error import UsageError


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


class Stopwatch:
    """Measures time from its making on, and prints it as %time does."""

    def __init__(self) -> None:
        self._used, self._wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()

    def print(self) -> None:
        wall, now = time.perf_counter() - self._wall, resource.getrusage(resource.RUSAGE_SELF)
        user, system = now.ru_utime - self._used.ru_utime, now.ru_stime - self._used.ru_stime
        total = duration(user + system)
        print(f"CPU times: user {duration(user)}, sys: {duration(system)}, total: {total}")
        print(f"Wall time: {duration(wall)}")


def run_timed(statement: str, frame: Any) -> Any:
    tree = compile(statement, "<%time>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    first = compile(tree, "<%time>", "exec", dont_inherit=True)
    then = compile(
        ast.Expression(last.value), "<%time>", "eval", dont_inherit=True
    ) if last is not None else None
    watch = Stopwatch()
    try:
        exec(first, frame.f_globals, frame.f_locals)
        return eval(then, frame.f_globals, frame.f_locals) if then is not None else None
    finally:
        watch.print()


def run_timeit(rest: str, body: Optional[str], frame: Any) -> None:
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
        f"{duration(mean)} ± {duration(spread)} per loop (mean ± std. dev. of {repeat} "
        f"run{'s' if repeat > 1 else ''}, "
        f"{number:,} loop{'s' if number > 1 else ''} each)"
    )

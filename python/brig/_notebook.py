"""Turns code of notebooks into Python, for run_python: code that is indented as a whole, or has
lines with ! or %.

run_python uses it only for code that is not valid Python as it stands. It changes a line only where
a statement begins: not in a string, not in brackets, not after a backslash. Every line keeps its
number. """

from __future__ import annotations

import ast
import re
from typing import NamedTuple, Optional

HELPER = "__brig_notebook__"  # what the changed lines call
_BLANK = " \t\f"
_ASSIGNED = re.compile(r"=[ \t]*(!|%)(?=\S)")
_OPERATORS = frozenset("=!<>+-*/%&|^@:~")
_NAME = re.compile(r"[A-Za-z_]\w*")


class Cell(NamedTuple):
    source: str  # to be compiled
    shown: str  # in tracebacks, line for line
    changed: frozenset[int]  # the lines, from 1 on, that are not as they are shown
    is_timed: bool  # by %%time


def as_notebook(code: str) -> Optional[Cell]:
    """Returns None if a notebook would read the code just as Python does."""
    given = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = _dedented(given)
    source, is_timed = _changed(lines)
    if source == given and not is_timed:
        return None
    changed = frozenset(at for at, (old, new) in enumerate(zip(lines, source), 1) if old != new)
    return Cell("\n".join(source), "\n".join(lines), changed, is_timed)


def set_places(tree: ast.AST, cell: Cell) -> None:
    """Makes each node of a changed line cover the whole line, since the shown line has another
    text."""
    lines = cell.shown.split("\n")
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if line not in cell.changed:
            continue
        text = lines[line - 1].rstrip()
        place: dict[str, int] = {
            "col_offset": len(text) - len(text.lstrip()),
            "end_lineno": line,
            "end_col_offset": len(text.encode("utf-8", "replace")),
        }
        for name, value in place.items():
            setattr(node, name, value)


# --- where statements begin ---


class _Scan:
    """Reads line after line, and knows whether the next one begins a statement."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._continued = False

    @property
    def begins(self) -> bool:
        return not (self._depth or self._quote or self._continued)

    def line(self, text: str) -> int:
        """Returns where `=` stands before ! or % in a line that begins a statement, or -1. Such a
        statement is one line."""
        begins = self.begins
        self._continued = False
        at = 0
        while at < len(text):
            char = text[at]
            if self._quote:
                if char == "\\":
                    at += 2
                elif text.startswith(self._quote, at):
                    at += len(self._quote)
                    self._quote = ""
                else:
                    at += 1
                continue
            if char == "#":
                break
            if char in "'\"":
                self._quote = char * 3 if text.startswith(char * 3, at) else char
                at += len(self._quote)
                continue
            if char in "([{":
                self._depth += 1
            elif char in ")]}":
                self._depth = max(0, self._depth - 1)
            elif char == "\\" and at == len(text) - 1:
                self._continued = True
            elif (
                char == "=" and begins and not self._depth
                and at > 0 and text[at - 1] not in _OPERATORS
            ):  # fmt: skip
                if _ASSIGNED.match(text, at):
                    return at
            at += 1
        if len(self._quote) == 1 and at == len(text):
            # A string that does not end is an error; with a backslash at the end `at` would be
            # larger.
            self._quote = ""
        return -1


def _is_magic(text: str) -> bool:
    text = text.lstrip(_BLANK)
    return (text.startswith("!") and not text.startswith("!=")) or (
        text.startswith("%") and bool(_NAME.match(text.lstrip("%")))
    )


def _last_of(lines: list[str], at: int) -> int:
    """Returns the last line of a magic: a backslash at the end of a line continues it."""
    while lines[at].rstrip().endswith("\\") and at + 1 < len(lines):
        at += 1
    return at


def _joined(lines: list[str]) -> str:
    return " ".join(
        [each.rstrip()[:-1].rstrip() for each in lines[:-1]] + [lines[-1].rstrip()]
    ).strip()


# --- what is changed ---


def _dedented(lines: list[str]) -> list[str]:
    """Returns the lines without their common indentation, or as they are if a statement is not
    indented."""
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    margin = first[: len(first) - len(first.lstrip(_BLANK))]
    if not margin:
        return lines
    scan, at = _Scan(), 0
    while at < len(lines):
        text = lines[at]
        is_blank = not text.strip() or text.lstrip().startswith("#")
        if scan.begins and not is_blank and not text.startswith(margin):
            return lines
        if scan.begins and _is_magic(text):
            if text.lstrip(_BLANK).startswith("%%"):
                break
            at = _last_of(lines, at)
        elif scan.line(text) >= 0:
            at = _last_of(lines, at)
        at += 1
    return [line[len(margin) :] if line.startswith(margin) else line for line in lines]


def _changed(lines: list[str]) -> tuple[list[str], bool]:
    """Returns the changed lines, and whether %%time is at their head."""
    result = list(lines)
    scan, at, is_timed, is_head = _Scan(), 0, False, True
    while at < len(lines):
        text = lines[at]
        last, call = at, ""
        if scan.begins and _is_magic(text):
            body = text.lstrip(_BLANK)
            if body.startswith("%%") and is_head:
                name, rest = _split(body[2:])
                if name != "time":
                    return _with_cell_magic(result, at, name, rest), False
                result[at], is_timed, is_head = "", True, False
                at += 1
                continue
            last = _last_of(lines, at)
            call = text[: len(text) - len(body)] + _call(_joined(lines[at : last + 1]))
        else:
            equals = scan.line(text)
            if equals >= 0:
                last = _last_of(lines, at)
                rest = _joined([text[equals + 1 :], *lines[at + 1 : last + 1]])
                call = text[: equals + 1] + " " + _call(rest, wanted=True)
        if call:
            result[at : last + 1] = [call] + [""] * (last - at)
        is_head = is_head and (not text.strip() or text.lstrip().startswith("#"))
        at = last + 1
    return result, is_timed


def _with_cell_magic(lines: list[str], at: int, name: str, rest: str) -> list[str]:
    body = "\n".join(lines[at + 1 :])
    call = f"{HELPER}.cell({name!r}, {rest!r}, {body!r})"
    return lines[:at] + [call] + [""] * (len(lines) - at - 1)


def _split(text: str) -> tuple[str, str]:
    name, _, rest = text.strip().partition(" ")
    return name, rest.strip()


def _call(text: str, wanted: bool = False) -> str:
    """Returns the expression for `!command` or `%name rest`. `wanted`: the statement assigns its
    value."""
    if text.startswith("!!"):
        return f"{HELPER}.lines({text[2:].strip()!r})"
    if text.startswith("!"):
        return f"{HELPER}.{'lines' if wanted else 'system'}({text[1:].strip()!r})"
    name, rest = _split(text[1:])
    return f"{HELPER}.magic({name!r}, {rest!r})"

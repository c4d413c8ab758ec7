"""The JSON form of a result: a fast way to write it, and a walk that finds values without one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from itertools import chain
from typing import Any, Dict, Iterable, List, Set, Tuple

from brig._leaves import NoForm, with_article, family_of, in_microseconds, leaf

# brig's JSON reader accepts 128 levels, and a result stands a few levels deep in its message.
MAX_DEPTH = 120
MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**64 - 1

# --- the fast way ---

encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=leaf
).encode

_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_ALL_BUT_OPENERS = bytes(set(range(256)) - set(b"[{"))
_CHUNK = 1 << 16


def is_within_limits(value: Any, text: bytes) -> bool:
    """Returns False if an integer may be too large, or something may be nested too deep.

    It looks at the text, since a look at every value would take as long as writing them did; in
    chunks, since a cell may have no memory for another copy.
    """
    openers = 0
    for start in range(0, len(text), _CHUNK):
        # With the start of the next chunk, so that no number is cut.
        chunk = text[start : start + _CHUNK + 20]
        digits = chunk.translate(_DIGITS_TO_ZERO)
        if b"0" * 20 in digits or b"-" + b"0" * 19 in digits:
            return False
        openers += len(chunk.translate(None, _ALL_BUT_OPENERS))
    return openers <= MAX_DEPTH or _is_shallow(value)


def _is_shallow(value: Any) -> bool:
    """Returns whether the lists, tuples and dicts of `value` are nested at most MAX_DEPTH deep.

    It goes level by level, because most of that runs in C.
    """
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        boxes = {kind for kind in set(map(type, level)) if issubclass(kind, (dict, list, tuple))}
        if not boxes:
            return True
        dicts = [each for each in level if type(each) in boxes and isinstance(each, dict)]
        lists = [each for each in level if type(each) in boxes and not isinstance(each, dict)]
        level = [*chain.from_iterable(map(dict.values, dicts)), *chain.from_iterable(lists)]
    return False


# --- the walk ---


class Former:
    """Makes the JSON form of one value, and knows its place while it walks."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self._open: Set[int] = set()  # the ids of the containers around the current place
        self._depth = 0

    def top(self, value: Any) -> Any:
        try:
            return self.form(value)
        except NoForm as fault:
            raise ValueError(fault.sentence(self.subject)) from None

    def form(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return self.text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return self.integer(value)
        if kind is float:
            return self.real(value)
        return self.other(value)

    def text(self, value: str) -> Any:
        if not is_unicode(value):
            raise NoForm("a string with a lone surrogate")
        return value

    def integer(self, value: int) -> Any:
        if not MIN_INTEGER <= value <= MAX_INTEGER:
            raise NoForm("an integer beyond 64 bits")
        return value

    def real(self, value: float) -> Any:
        if value - value != 0:  # infinity or not a number
            raise NoForm(repr(value))
        return value

    def other(self, value: Any) -> Any:
        # Subclasses of JSON's types are written as those, like json.dumps does.
        if isinstance(value, str):
            return self.text(str.__str__(value))
        if isinstance(value, int):
            return self.integer(int.__int__(value))
        if isinstance(value, float):
            return self.real(float.__float__(value))
        if isinstance(value, (list, tuple, set, frozenset)):
            return self.items(value, value)
        if isinstance(value, Mapping):
            return self.members(value, value.items())
        if isinstance(value, Enum):
            return self.form(value.value)
        return self._record(value)

    def _record(self, value: Any) -> Any:
        family = family_of(value)
        if family == "numpy.ndarray":
            return self.form(in_microseconds(value).tolist())
        if family == "pydantic.BaseModel":
            # Version 1 has no model_dump.
            dump = getattr(value, "model_dump", None)
            return self.form(dump(mode="json") if dump else value.dict())
        fields = getattr(type(value), "__dataclass_fields__", None)
        if fields is None:
            return self.form(leaf(value))
        from dataclasses import fields as fields_of

        return self.members(value, ((f.name, getattr(value, f.name)) for f in fields_of(value)))

    def items(self, owner: Any, values: Iterable[Any], levels: int = 1) -> List[Any]:
        self._enter(owner, levels)
        made: List[Any] = []
        try:
            for value in values:
                made.append(self.form(value))
        except NoForm as fault:
            fault.path.append(len(made))
            raise
        self._leave(owner, levels)
        return made

    def members(self, owner: Any, pairs: Iterable[Tuple[Any, Any]]) -> Dict[str, Any]:
        self._enter(owner, 1)
        made: Dict[str, Any] = {}
        for key, value in pairs:
            name = _member_name(key)
            try:
                made[name] = self.form(value)
            except NoForm as fault:
                fault.path.append(name)
                raise
        self._leave(owner, 1)
        return made

    def _enter(self, owner: Any, levels: int) -> None:
        if id(owner) in self._open:
            raise NoForm(f"{with_article(type(owner))} that holds itself")
        self._open.add(id(owner))
        self._depth += levels
        if self._depth > MAX_DEPTH:
            raise ValueError(f"{self.subject} is nested deeper than {MAX_DEPTH}")

    def _leave(self, owner: Any, levels: int) -> None:
        self._open.discard(id(owner))
        self._depth -= levels


def is_unicode(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _member_name(key: Any) -> str:
    """Returns the key as json.dumps writes it."""
    if isinstance(key, str):
        if not is_unicode(key):
            raise NoForm("a key with a lone surrogate")
        return str.__str__(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int):
        return int.__repr__(key)
    if isinstance(key, float) and key - key == 0:
        return float.__repr__(key)
    raise NoForm(f"a key that is {with_article(type(key))}")

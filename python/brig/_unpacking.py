"""Reads the lossless form, for unpack() in _values."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List

from brig._json_form import MAX_DEPTH
from brig._leaves import from_base64
from brig._packing import TAG


class Reader:
    """Reads a form that a hostile cell may have written."""

    def __init__(self) -> None:
        # A cell can choose numbers and tuples whose hashes all collide. The time for such keys
        # grows with the square of their number, so their text is limited to so many characters.
        self._key_text_left = 1 << 18

    def read(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if value is None or kind in (str, int, float, bool):
            return value
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH}")
        if kind is list:
            return [self.read(each, depth + 1) for each in value]
        if kind is not dict or not all(type(key) is str for key in value):
            raise ValueError("not JSON")
        if TAG in value:
            return self._tagged(value, depth)
        return {key: self.read(each, depth + 1) for key, each in value.items()}

    def _tagged(self, value: Dict[str, Any], depth: int) -> Any:
        name = value[TAG]
        read = _READERS.get(name) if type(name) is str else None
        if read is None:
            raise ValueError(f"unknown type {name!a:.60}")
        if value.keys() != {TAG, "value"}:
            raise ValueError(f"a {name} has a {TAG} and a value")
        try:
            return read(self, value["value"], depth + 1)
        except (TypeError, ArithmeticError):
            raise ValueError(f"not a {name}") from None

    def items(self, body: Any, depth: int) -> List[Any]:
        return [self.read(each, depth + 1) for each in _exactly(list, body)]

    def integers(self, body: Any, depth: int) -> List[int]:
        return [_exactly(int, each) for each in self.items(body, depth)]

    def keys(self, body: Any, depth: int) -> List[Any]:
        made = self.items(body, depth)
        if not all(type(each) is str for each in made):
            self._key_text_left -= len(json.dumps(body))
            if self._key_text_left < 0:
                raise ValueError("too many keys and set members that are not strings")
        return made

    def mapping(self, body: Any, depth: int) -> Dict[Any, Any]:
        pairs = [_exactly(list, pair) for pair in _exactly(list, body)]
        if any(len(pair) != 2 for pair in pairs):
            raise TypeError
        keys = self.keys([pair[0] for pair in pairs], depth + 1)
        return dict(zip(keys, self.items([pair[1] for pair in pairs], depth + 1)))

    def complex_number(self, body: Any, depth: int) -> complex:
        parts = [_exactly(float, part) for part in self.items(body, depth)]
        if len(parts) != 2:
            raise TypeError
        return complex(*parts)

    def steps(self, body: Any, depth: int) -> range:
        parts = self.integers(body, depth)
        if len(parts) != 3:
            raise TypeError
        return range(*parts)


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value


def _integer_from(text: Any) -> int:
    made = int(_exactly(str, text), 16)
    if hex(made) != text:
        raise TypeError
    return made


def _float_from(text: Any) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise TypeError
    return float(text)


def _standard(module: str, kind: str, make: str = "", show: str = "__str__") -> Callable[..., Any]:
    """Returns a reader for a type of the standard library.

    The type must write its text the same way.
    """

    def read(_: Reader, body: Any, __: int) -> Any:
        cls = getattr(__import__(module), kind)
        made = (getattr(cls, make) if make else cls)(_exactly(str, body))
        if getattr(made, show)() != body:
            raise TypeError
        return made

    return read


def _timedelta_from(reader: Reader, body: Any, depth: int) -> Any:
    from datetime import timedelta

    days, seconds, microseconds = reader.integers(body, depth)
    return timedelta(days, seconds, microseconds)


def _path_from(reader: Reader, body: Any, depth: int) -> Any:
    from pathlib import Path

    return Path(_exactly(str, reader.read(body, depth)))


_READERS: Dict[str, Callable[[Reader, Any, int], Any]] = {
    "bytes": lambda reader, body, depth: from_base64(body),
    "bytearray": lambda reader, body, depth: bytearray(from_base64(body)),
    "str": lambda reader, body, depth: from_base64(body).decode("utf-8", "surrogatepass"),
    "int": lambda reader, body, depth: _integer_from(body),
    "float": lambda reader, body, depth: _float_from(body),
    "complex": Reader.complex_number,
    "range": Reader.steps,
    "tuple": lambda reader, body, depth: tuple(reader.items(body, depth)),
    "set": lambda reader, body, depth: set(reader.keys(body, depth)),
    "frozenset": lambda reader, body, depth: frozenset(reader.keys(body, depth)),
    "dict": Reader.mapping,
    "datetime": _standard("datetime", "datetime", "fromisoformat", "isoformat"),
    "date": _standard("datetime", "date", "fromisoformat", "isoformat"),
    "time": _standard("datetime", "time", "fromisoformat", "isoformat"),
    "timedelta": _timedelta_from,
    "Decimal": _standard("decimal", "Decimal"),
    "UUID": _standard("uuid", "UUID"),
    "Path": _path_from,
}

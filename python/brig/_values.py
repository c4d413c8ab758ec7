"""Python values as JSON: the documented form of a result, and a lossless one.

This is loaded into every interpreter zygote, so nothing is imported for the sake of a value that
may never come. Who has a datetime or an array has loaded its module: a type is told by its name.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Set, Tuple, Union

# brig's own reader takes 128 levels; a result stands a few levels deep in its message.
MAX_DEPTH = 120
_MIN_INTEGER = -(2**63)
_MAX_INTEGER = 2**64 - 1


def to_json(value: Any, *, subject: str = "the result") -> Any:
    """The JSON form of a result: of dict, list, str, int, float, bool and None.

    bytes become base64 text, dates and times ISO 8601 text, a timedelta its seconds, Decimal, UUID
    and Path text, an Enum its value, dataclasses and pydantic models objects, tuples and sets
    lists, numpy's scalars and arrays numbers and nested lists. Keys become text as json.dumps has
    it. ValueError for the rest, that says what `subject` holds, and where.
    """
    return _Former(subject).top(value)


def dumps(value: Any, *, subject: str = "the result") -> bytes:
    """The text of to_json(value), as UTF-8."""
    if type(value) is bytes:
        return b'"%b"' % binascii.b2a_base64(value, newline=False)
    try:
        text = _encode(value).encode()
        if _is_within_limits(value, text):
            return text
    except (_NoForm, TypeError, ValueError, RecursionError):
        pass  # The walk below finds out where, or that it can be done.
    return _encode(to_json(value, subject=subject)).encode()


def pack(value: Any) -> Any:
    """A JSON form from which unpack() makes an equal value of the same type.

    What JSON lacks becomes {"__type__": "tuple", "value": [...]}. This holds for the builtin types,
    datetime's, Decimal, UUID and Path (of a time zone only the offset is kept); all else gets the
    form that to_json() gives it.
    """
    return _Packer("the value").top(value)


class Packed(Dict[str, Any]):
    """Arguments in the form that pack_arguments() gives them."""

    modules: FrozenSet[str] = frozenset()  # that a cell must be able to import for them


def pack_arguments(arguments: Mapping[str, Any]) -> Packed:
    """A JSON form from which unpack_arguments(), in a cell, makes equal arguments.

    What pack() would change travels by pickle. That is for the way into a cell only: unpack()
    knows no pickle, so nothing that comes from a cell can run code here. ValueError for what can't
    be pickled.
    """
    if isinstance(arguments, Packed):
        return arguments
    given, packer = dict(arguments), _ExactPacker("the value")
    try:
        if "" not in given and all(type(name) is str for name in given):
            return Packed({name: packer.form(value) for name, value in given.items()})
        return Packed({"": packer.form(given)})
    except (_NoForm, _Inexact, ValueError, RecursionError):
        return _pickled(given)


def unpack_arguments(arguments: Dict[str, Any]) -> Dict[str, Any]:
    """What pack_arguments() was given. Only for a cell: it may run code of the caller."""
    if arguments.keys() != {""}:
        return {name: unpack(value) for name, value in arguments.items()}
    form: Any = arguments[""]
    if isinstance(form, dict) and form.get(_TAG) == "pickle":
        import pickle

        form, made = None, pickle.loads(from_base64(form["value"]))
    else:
        made = unpack(form)
    result: Dict[str, Any] = made
    return result


def unpack(value: Any) -> Any:
    """What pack() was given. Safe on any input: it makes no types but those that pack() names.

    ValueError for what pack() can't have made.
    """
    return _Reader().read(value, 0)


class _NoForm(Exception):
    """Something that has no JSON form, and where it was."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.path: List[Union[int, str]] = []  # innermost first

    def sentence(self, subject: str) -> str:
        place = "".join(_step(key) for key in reversed(self.path)).lstrip(".")
        if len(place) > 200:
            place = place[:200] + "..."
        holds = f"holds {self.what} at {place}" if place else f"is {self.what}"
        return f"{subject} {holds}, which has no JSON form"


def _step(key: Union[int, str]) -> str:
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!a}]"


def _a(kind: type) -> str:
    name = kind.__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


# --- values that are one string or number ---


def base64_text(value: Any) -> str:
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def from_base64(text: Any) -> bytes:
    """The bytes. ValueError unless it is base64 just as base64_text() writes it."""
    try:
        data = binascii.a2b_base64(text)
        # a2b_base64 skips what it does not know.
        if type(text) is str and base64_text(data) == text:
            return data
    except (TypeError, ValueError):
        pass
    raise ValueError("not base64")


def _family(value: Any) -> str:
    """Which of the types below it is an instance of, as "module.name"; "" if of none."""
    kind: Any = type(value)
    return _family_of(kind)


@lru_cache(maxsize=256)
def _family_of(kind: type) -> str:
    names = (type_name(base) for base in kind.__mro__)
    return next((name for name in names if name in _FAMILIES), "")


def type_name(kind: type) -> str:
    """As in "pathlib.Path": with the package, since some move about within their own."""
    return f"{str(kind.__module__).partition('.')[0]}.{kind.__qualname__}"


def _isoformat(value: Any) -> Any:
    return value.isoformat()


def _numpy_scalar(value: Any) -> Any:
    item = _in_microseconds(value).item()
    if item is None or isinstance(item, (str, int, float)):
        return item
    # A longdouble, a complex number or a record.
    if type(item) is type(value) or isinstance(item, (complex, tuple)):
        raise _NoForm(_a(type(value)))
    return _leaf(item)


def _numpy_numbers(value: Any) -> Any:
    """An array of numbers can be written at once: it holds no other containers."""
    if value.dtype.kind not in "biuf":
        raise _NoForm("an array of objects")
    return value.tolist()


def _in_microseconds(value: Any) -> Any:
    """numpy gives its own times as bare integers when they are finer than Python's."""
    kind = {"M": "datetime64[us]", "m": "timedelta64[us]"}.get(value.dtype.kind)
    return value.astype(kind) if kind else value


_LEAVES: Dict[str, Callable[[Any], Any]] = {
    "datetime.datetime": _isoformat,
    "datetime.date": _isoformat,
    "datetime.time": _isoformat,
    "datetime.timedelta": lambda value: value.total_seconds(),
    "decimal.Decimal": str,
    "uuid.UUID": str,
    "pathlib.PurePath": str,
    "numpy.generic": _numpy_scalar,
    "numpy.ndarray": _numpy_numbers,
}
_FAMILIES = {*_LEAVES, "pydantic.BaseModel"}


def _leaf(value: Any) -> Any:
    """The form of what holds nothing else. _NoForm for all that needs a walk, or can't be."""
    if isinstance(value, (bytes, bytearray)):
        return base64_text(value)
    if isinstance(value, memoryview):
        return base64_text(value.tobytes())
    if isinstance(value, Enum) and type(value.value) is str:
        return value.value
    form = _LEAVES.get(_family(value))
    if form is None:
        raise _NoForm(_a(type(value)))
    return form(value)


# --- the fast way ---

_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_leaf
).encode

_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_ALL_BUT_OPENERS = bytes(set(range(256)) - set(b"[{"))
_CHUNK = 1 << 16


def _is_within_limits(value: Any, text: bytes) -> bool:
    """Whether no integer is too large and nothing nested too deep. False also if it may be so.

    The text is looked at, since a look at every value would take as long as writing them did; in
    chunks, since a cell may have no room for another copy.
    """
    openers = 0
    for start in range(0, len(text), _CHUNK):
        chunk = text[start : start + _CHUNK + 20]  # the next one's begin too: no number is cut
        digits = chunk.translate(_DIGITS_TO_ZERO)
        if b"0" * 20 in digits or b"-" + b"0" * 19 in digits:
            return False
        openers += len(chunk.translate(None, _ALL_BUT_OPENERS))
    return openers <= MAX_DEPTH or _is_shallow(value)


def _is_shallow(value: Any) -> bool:
    """Whether the lists, tuples and dicts of `value` are nested at most MAX_DEPTH deep.

    Level by level, because most of that runs in C.
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


class _Former:
    """Makes the JSON form of one value, and knows where it is in it."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self._open: Set[int] = set()  # the ids of what is being walked
        self._depth = 0

    def top(self, value: Any) -> Any:
        try:
            return self.form(value)
        except _NoForm as fault:
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
        if not _is_unicode(value):
            raise _NoForm("a string with a lone surrogate")
        return value

    def integer(self, value: int) -> Any:
        if not _MIN_INTEGER <= value <= _MAX_INTEGER:
            raise _NoForm("an integer beyond 64 bits")
        return value

    def real(self, value: float) -> Any:
        if value - value != 0:  # infinity or not a number
            raise _NoForm(repr(value))
        return value

    def other(self, value: Any) -> Any:
        # Subclasses of what JSON has are written as that, as json.dumps does.
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
        family = _family(value)
        if family == "numpy.ndarray":
            return self.form(_in_microseconds(value).tolist())
        if family == "pydantic.BaseModel":
            # Version 1 has no model_dump.
            dump = getattr(value, "model_dump", None)
            return self.form(dump(mode="json") if dump else value.dict())
        fields = getattr(type(value), "__dataclass_fields__", None)
        if fields is None:
            return self.form(_leaf(value))
        from dataclasses import fields as fields_of

        return self.members(value, ((f.name, getattr(value, f.name)) for f in fields_of(value)))

    def items(self, owner: Any, values: Iterable[Any], levels: int = 1) -> List[Any]:
        self._enter(owner, levels)
        made: List[Any] = []
        try:
            for value in values:
                made.append(self.form(value))
        except _NoForm as fault:
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
            except _NoForm as fault:
                fault.path.append(name)
                raise
        self._leave(owner, 1)
        return made

    def _enter(self, owner: Any, levels: int) -> None:
        if id(owner) in self._open:
            raise _NoForm(f"{_a(type(owner))} that holds itself")
        self._open.add(id(owner))
        self._depth += levels
        if self._depth > MAX_DEPTH:
            raise ValueError(f"{self.subject} is nested deeper than {MAX_DEPTH}")

    def _leave(self, owner: Any, levels: int) -> None:
        self._open.discard(id(owner))
        self._depth -= levels


def _is_unicode(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _member_name(key: Any) -> str:
    """As json.dumps writes it."""
    if isinstance(key, str):
        if not _is_unicode(key):
            raise _NoForm("a key with a lone surrogate")
        return str.__str__(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int):
        return int.__repr__(key)
    if isinstance(key, float) and key - key == 0:
        return float.__repr__(key)
    raise _NoForm(f"a key that is {_a(type(key))}")


# --- the lossless form ---

_TAG = "__type__"

# By the exact type: what derives from it may hold more.
_PACKED: Dict[str, Tuple[str, Callable[[Any], Any]]] = {
    "datetime.datetime": ("datetime", _isoformat),
    "datetime.date": ("date", _isoformat),
    "datetime.time": ("time", _isoformat),
    "datetime.timedelta": ("timedelta", lambda v: [v.days, v.seconds, v.microseconds]),
    "decimal.Decimal": ("Decimal", str),
    "uuid.UUID": ("UUID", str),
    "pathlib.PosixPath": ("Path", str),
}


def _tagged(name: str, value: Any) -> Dict[str, Any]:
    return {_TAG: name, "value": value}


class _Packer(_Former):
    """Makes the lossless form, in which all that JSON lacks has a tag."""

    def text(self, value: str) -> Any:
        if _is_unicode(value):
            return value
        return _tagged("str", base64_text(value.encode("utf-8", "surrogatepass")))

    def integer(self, value: int) -> Any:
        # In hexadecimal, since reading many decimal digits takes long, and Python limits them.
        return value if _MIN_INTEGER <= value <= _MAX_INTEGER else _tagged("int", hex(value))

    def real(self, value: float) -> Any:
        return value if value - value == 0 else _tagged("float", repr(value))

    def other(self, value: Any) -> Any:
        if isinstance(value, Enum):
            return self.form(value.value)
        if isinstance(value, (str, int, float, list)):
            return super().other(value)
        for kind in (tuple, set, frozenset):
            if isinstance(value, kind):
                return _tagged(kind.__name__, self.items(value, value, levels=2))
        if isinstance(value, dict):
            return self._dict(value)
        for kind in (bytes, bytearray):
            if isinstance(value, kind):
                return _tagged(kind.__name__, base64_text(value))
        if isinstance(value, complex):
            return _tagged("complex", [self.real(value.real), self.real(value.imag)])
        if isinstance(value, range):
            parts = (value.start, value.stop, value.step)
            return _tagged("range", [self.integer(part) for part in parts])
        return self._named(value)

    def _dict(self, value: Dict[Any, Any]) -> Any:
        if _TAG not in value and all(type(key) is str and _is_unicode(key) for key in value):
            return self.members(value, value.items())
        self._enter(value, 3)
        made = []
        for key, each in value.items():
            try:
                made.append([self.form(key), self.form(each)])
            except _NoForm as fault:
                fault.path.append(str(key))
                raise
        self._leave(value, 3)
        return _tagged("dict", made)

    def _named(self, value: Any) -> Any:
        known = _PACKED.get(type_name(type(value)))
        if known is not None:
            # A path may hold bytes that are no text, which text() takes care of.
            return _tagged(known[0], self.form(known[1](value)))
        # Packed once more, as an object of that form may have a member __type__.
        return self.form(_Former(self.subject).form(value))


class _Inexact(Exception):
    """A value would come back as another type."""


_ZONES = ("NoneType", "timezone")
_EXACT = {str, int, float, list, tuple, set, frozenset, dict, bytes, bytearray, complex, range}


class _ExactPacker(_Packer):
    """Makes the lossless form, and refuses what that form would change."""

    def other(self, value: Any) -> Any:
        if type(value) not in _EXACT:
            zone = getattr(value, "tzinfo", None)  # of a zone the form keeps only the offset
            if type_name(type(value)) not in _PACKED or type(zone).__name__ not in _ZONES:
                raise _Inexact()
        return super().other(value)


def _pickled(value: Dict[str, Any]) -> Packed:
    import io
    import pickle

    modules = set()

    class Recorder(pickle.Pickler):
        def reducer_override(self, each: Any) -> Any:
            for owner in (each, type(each)):
                module = getattr(owner, "__module__", None)
                if isinstance(module, str):
                    modules.add(module.partition(".")[0])
            return NotImplemented

    stream = io.BytesIO()
    try:
        Recorder(stream, protocol=4).dump(value)
        data = _of_a_session(value) if "__main__" in modules else b""
    except Exception as error:  # whatever the objects' own methods raise
        raise ValueError(f"{type(error).__name__}: {error}") from None
    made = Packed({"": _tagged("pickle", base64_text(data or stream.getvalue()))})
    made.modules = frozenset(modules - {"builtins", "__main__"})
    return made


def _of_a_session(value: Dict[str, Any]) -> bytes:
    """A pickle with the classes of a notebook or a prompt in it, which no cell can import."""
    import sys

    if getattr(sys.modules["__main__"], "__file__", None):
        return b""  # a script, which the cell loads for its functions
    try:
        import cloudpickle  # type: ignore[import]
    except ImportError:
        return b""
    data: bytes = cloudpickle.dumps(value, protocol=4)
    return data


class _Reader:
    """Reads what a hostile cell may have written."""

    def __init__(self) -> None:
        # The hashes of numbers and tuples can be guessed. Keys that all collide take time that
        # grows with the square of their number, so there may be this many characters of them.
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
        if _TAG in value:
            return self._tagged(value, depth)
        return {key: self.read(each, depth + 1) for key, each in value.items()}

    def _tagged(self, value: Dict[str, Any], depth: int) -> Any:
        name = value[_TAG]
        read = _READERS.get(name) if type(name) is str else None
        if read is None:
            raise ValueError(f"unknown type {name!a:.60}")
        if value.keys() != {_TAG, "value"}:
            raise ValueError(f"a {name} has a {_TAG} and a value")
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
    """A reader of text by a type of the standard library, which must write it the same way."""

    def read(_: _Reader, body: Any, __: int) -> Any:
        cls = getattr(__import__(module), kind)
        made = (getattr(cls, make) if make else cls)(_exactly(str, body))
        if getattr(made, show)() != body:
            raise TypeError
        return made

    return read


def _timedelta_from(reader: _Reader, body: Any, depth: int) -> Any:
    from datetime import timedelta

    days, seconds, microseconds = reader.integers(body, depth)
    return timedelta(days, seconds, microseconds)


def _path_from(reader: _Reader, body: Any, depth: int) -> Any:
    from pathlib import Path

    return Path(_exactly(str, reader.read(body, depth)))


_READERS: Dict[str, Callable[[_Reader, Any, int], Any]] = {
    "bytes": lambda reader, body, depth: from_base64(body),
    "bytearray": lambda reader, body, depth: bytearray(from_base64(body)),
    "str": lambda reader, body, depth: from_base64(body).decode("utf-8", "surrogatepass"),
    "int": lambda reader, body, depth: _integer_from(body),
    "float": lambda reader, body, depth: _float_from(body),
    "complex": _Reader.complex_number,
    "range": _Reader.steps,
    "tuple": lambda reader, body, depth: tuple(reader.items(body, depth)),
    "set": lambda reader, body, depth: set(reader.keys(body, depth)),
    "frozenset": lambda reader, body, depth: frozenset(reader.keys(body, depth)),
    "dict": _Reader.mapping,
    "datetime": _standard("datetime", "datetime", "fromisoformat", "isoformat"),
    "date": _standard("datetime", "date", "fromisoformat", "isoformat"),
    "time": _standard("datetime", "time", "fromisoformat", "isoformat"),
    "timedelta": _timedelta_from,
    "Decimal": _standard("decimal", "Decimal"),
    "UUID": _standard("uuid", "UUID"),
    "Path": _path_from,
}

"""Shapes: each holds the schema of a type hint, and the function that decodes values of it."""

from __future__ import annotations

import inspect
import reprlib
from typing import Any, Callable, Dict, List, Optional, Tuple

from brig._leaves import from_base64
from brig._values import to_json

Schema = Dict[str, Any]
Decode = Callable[[Any], Any]


class Unfit(Exception):
    """A hint has no schema. The message says what to write instead."""


class Shape:
    """The schema and the decoder of a hint.

    decode() raises ValueError for every value that the schema refuses, and for some more.
    is_plain: a value that fits the schema needs no decoding.
    exact: a value of just this type needs no decoding.
    """

    __slots__ = ("schema", "decode", "is_plain", "exact")

    def __init__(
        self,
        schema: Schema,
        decode: Decode,
        is_plain: bool = False,
        exact: Optional[type] = None,
    ) -> None:
        self.schema = schema
        self.decode = decode
        self.is_plain = is_plain
        self.exact = exact

    def noting(self, **notes: Any) -> Shape:
        """Returns the same shape with `notes` in its schema."""
        return Shape({**self.schema, **notes}, self.decode, self.is_plain, self.exact)


def _unfit(value: Any, expected: str) -> ValueError:
    return ValueError(f"{reprlib.repr(value)} is not {expected}")


def _checked(kind: type, expected: str) -> Decode:
    def decode(value: Any) -> Any:
        if type(value) is not kind:
            raise _unfit(value, expected)
        return value

    return decode


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    # 1.0 is an integer to JSON Schema.
    if type(value) is float and value.is_integer():
        return int(value)
    raise _unfit(value, "an integer")


def _number(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    raise _unfit(value, "a number")


def _text_as(make: Callable[[str], Any], expected: str) -> Decode:
    def decode(value: Any) -> Any:
        if type(value) is not str:
            raise _unfit(value, "a string")
        try:
            return make(value)
        except (ValueError, TypeError, ArithmeticError):
            raise _unfit(value, expected) from None

    return decode


_BASE64 = {"type": "string", "contentEncoding": "base64"}
ANYTHING = Shape({}, lambda value: value, is_plain=True)
_NULL = Shape({"type": "null"}, _checked(type(None), "null"), is_plain=True)
SIMPLE: Dict[Any, Shape] = {
    Any: ANYTHING,
    object: ANYTHING,
    None: _NULL,
    type(None): _NULL,
    str: Shape({"type": "string"}, _checked(str, "a string"), is_plain=True),
    bool: Shape({"type": "boolean"}, _checked(bool, "a boolean"), is_plain=True),
    int: Shape({"type": "integer"}, _integer, exact=int),
    float: Shape({"type": "number"}, _number, exact=float),
    bytes: Shape(_BASE64, _text_as(from_base64, "base64")),
    bytearray: Shape(_BASE64, _text_as(lambda text: bytearray(from_base64(text)), "base64")),
}


def _time_reader(kind: Any) -> Callable[[str], Any]:
    # Python 3.10 and older know no "Z".
    return lambda text: kind.fromisoformat(text[:-1] + "+00:00" if text[-1:] in "Zz" else text)


def _string(format_: str, decode: Decode) -> Shape:
    return Shape({"type": "string", "format": format_}, decode)


# By name, since a module whose types a hint names is loaded, and others need not be.
NAMED: Dict[str, Callable[[Any], Shape]] = {
    "datetime.datetime": lambda kind: _string(
        "date-time", _text_as(_time_reader(kind), "a date and time, such as 2030-01-31T12:00:00Z")
    ),
    "datetime.date": lambda kind: _string(
        "date", _text_as(kind.fromisoformat, "a date, such as 2030-01-31")
    ),
    "datetime.time": lambda kind: _string(
        "time", _text_as(_time_reader(kind), "a time, such as 12:00:00")
    ),
    "datetime.timedelta": lambda kind: Shape(
        {"type": "number", "title": "seconds"},
        lambda value: _constructed(kind, 0, _number(value)),
    ),
    "decimal.Decimal": lambda kind: _string("decimal", _text_as(kind, "a decimal number")),
    "uuid.UUID": lambda kind: _string("uuid", _text_as(kind, "a UUID")),
    "pathlib.Path": lambda kind: _string("path", _text_as(kind, "a path")),
    "pathlib.PurePath": lambda kind: _string("path", _text_as(kind, "a path")),
}


def array(item: Shape, make: Optional[Callable[[Any], Any]], **more: Any) -> Shape:
    """`make` makes the collection from the list of items; None: the list is the collection."""
    schema: Schema = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema

    def decode(value: Any) -> Any:
        if type(value) is not list:
            raise _unfit(value, "an array")
        # To look at a million numbers takes no time, to decode them does.
        if item.exact is None or not set(map(type, value)) <= {item.exact}:
            value = [item.decode(each) for each in value]
        return _constructed(make, value) if make else value

    return Shape({**schema, **more}, decode, is_plain=item.is_plain and make is None)


def fixed_array(items: List[Shape], needed: int, make: Callable[..., Any]) -> Shape:
    schema: Schema = {"type": "array", "items": False, "minItems": needed, "maxItems": len(items)}
    if items:
        schema["prefixItems"] = [item.schema for item in items]

    def decode(value: Any) -> Any:
        if type(value) is not list or not needed <= len(value) <= len(items):
            raise _unfit(value, f"an array of {len(items)} items")
        return _constructed(make, *(item.decode(each) for item, each in zip(items, value)))

    return Shape(schema, decode)


def dictionary(item: Shape) -> Shape:
    schema: Schema = {"type": "object"}
    if item.schema:
        schema["additionalProperties"] = item.schema

    def decode(value: Any) -> Any:
        if type(value) is not dict:
            raise _unfit(value, "an object")
        return {key: item.decode(each) for key, each in value.items()}

    return Shape(schema, decode, is_plain=item.is_plain)


def record(
    members: Dict[str, Shape], required: List[str], is_open: bool, make: Optional[Decode]
) -> Shape:
    """An object with named members. `make` makes the value from the dict of decoded members."""
    schema: Schema = {
        "type": "object",
        "properties": {name: member.schema for name, member in members.items()},
        "required": required,
    }
    if not is_open:
        schema["additionalProperties"] = False

    def decode(value: Any) -> Any:
        if type(value) is not dict or not members.keys() >= value.keys() >= set(required):
            raise _unfit(value, f"an object with {', '.join(members) or 'no members'}")
        made = {name: members[name].decode(each) for name, each in value.items()}
        return _constructed(make, made) if make else made

    is_plain = make is None and all(member.is_plain for member in members.values())
    return Shape(schema, decode, is_plain)


def _constructed(make: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except Exception as why:  # a __post_init__ may raise anything
        raise ValueError(f"{type(why).__name__}: {why}") from why


def choice(pairs: List[Tuple[Any, Any]]) -> Shape:
    """One of several JSON values. `pairs` has each of them, and the value that it stands for."""
    values = [value for value, _ in pairs]
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    kinds = set(map(type, values))
    if not kinds:
        raise Unfit("it has no value to choose; list at least one")
    if not kinds <= names.keys():
        raise Unfit("each value to choose must be a string, a number, a boolean or None")
    schema: Schema = {"enum": values}
    if len(kinds) == 1:
        schema["type"] = names[kinds.pop()]
    # True equals 1, but not in JSON. 1.0 equals 1 there too.
    table = {(type(value) is bool, value): meant for value, meant in pairs}

    def decode(value: Any) -> Any:
        try:
            return table[type(value) is bool, value]
        except (KeyError, TypeError):  # a list is no key
            raise _unfit(value, "one of the values to choose from") from None

    is_plain = all(value is meant and type(value) not in (int, float) for value, meant in pairs)
    return Shape(schema, decode, is_plain)


def flags(hint: Any) -> Shape:
    mask = 0
    for member in hint:
        mask |= member.value

    def decode(value: Any) -> Any:
        if _integer(value) & ~mask:
            raise _unfit(value, "a sum of the flags' values")
        return hint(_integer(value))

    return Shape({"type": "integer", "minimum": 0, "maximum": mask}, decode)


def union(members: List[Shape]) -> Shape:
    others = [member for member in members if member is not _NULL]
    if any(_takes_null(member.schema) for member in others):
        members = others  # Optional[Any]
    if len(members) == 1:
        return members[0]
    numbers = {member.exact for member in members} - {None}

    def decode(value: Any) -> Any:
        if len(others) == 1 and value is not None:
            return others[0].decode(value)
        # Else Union[int, float] would make 1 of 1.0, and the other way round.
        if type(value) in numbers:
            return value
        for member in members:
            try:
                return member.decode(value)
            except ValueError:
                continue
        raise _unfit(value, "of any of the types that are allowed")

    schema = {"anyOf": [member.schema for member in members]}
    return Shape(schema, decode, all(member.is_plain for member in members))


def with_default(shape: Shape, default: Any) -> Shape:
    if default is inspect.Parameter.empty:
        return shape
    # None often means "not given" without being part of the type.
    made = union([shape, _NULL]) if default is None and not _takes_null(shape.schema) else shape
    try:
        return made.noting(default=to_json(default))
    except ValueError:
        return made  # the parameter has this default, but JSON can't show it


def _takes_null(schema: Schema) -> bool:
    return (
        schema.keys() <= {"description"}
        or schema.get("type") == "null"
        or None in schema.get("enum", ())
        or any(map(_takes_null, schema.get("anyOf", ())))
    )

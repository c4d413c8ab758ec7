"""Python values as JSON: the documented form of a result, and a lossless one.

This is loaded into every interpreter zygote, so nothing is imported for the sake of a value that
may never come. Who has a datetime or an array has loaded its module: a type is told by its name.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any, Dict

from brig._json_form import MAX_DEPTH as MAX_DEPTH
from brig._json_form import encode, Former, is_within_limits
from brig._leaves import NoForm, from_base64
from brig._packing import Packed as Packed
from brig._packing import TAG, ExactPacker, Inexact, Packer, pickled
from brig._unpacking import Reader


def to_json(value: Any, *, subject: str = "the result") -> Any:
    """The JSON form of a result: of dict, list, str, int, float, bool and None.

    bytes become base64 text, dates and times ISO 8601 text, a timedelta its seconds, Decimal, UUID
    and Path text, an Enum its value, dataclasses and pydantic models objects, tuples and sets
    lists, numpy's scalars and arrays numbers and nested lists. Keys become text as json.dumps has
    it. ValueError for the rest, that says what `subject` holds, and where.
    """
    return Former(subject).top(value)


def dumps(value: Any, *, subject: str = "the result") -> bytes:
    """The text of to_json(value), as UTF-8."""
    if type(value) is bytes:
        return b'"%b"' % binascii.b2a_base64(value, newline=False)
    try:
        text = encode(value).encode()
        if is_within_limits(value, text):
            return text
    except (NoForm, TypeError, ValueError, RecursionError):
        pass  # The walk below finds out where, or that it can be done.
    return encode(to_json(value, subject=subject)).encode()


def pack(value: Any) -> Any:
    """A JSON form from which unpack() makes an equal value of the same type.

    What JSON lacks becomes {"__type__": "tuple", "value": [...]}. This holds for the builtin types,
    datetime's, Decimal, UUID and Path (of a time zone only the offset is kept); all else gets the
    form that to_json() gives it.
    """
    return Packer("the value").top(value)


def pack_arguments(arguments: Mapping[str, Any]) -> Packed:
    """A JSON form from which unpack_arguments(), in a cell, makes equal arguments.

    What pack() would change travels by pickle. That is for the way into a cell only: unpack()
    knows no pickle, so nothing that comes from a cell can run code here. ValueError for what can't
    be pickled.
    """
    if isinstance(arguments, Packed):
        return arguments
    given, packer = dict(arguments), ExactPacker("the value")
    try:
        if "" not in given and all(type(name) is str for name in given):
            return Packed({name: packer.form(value) for name, value in given.items()})
        return Packed({"": packer.form(given)})
    except (NoForm, Inexact, ValueError, RecursionError):
        return pickled(given)


def unpack_arguments(arguments: Dict[str, Any]) -> Dict[str, Any]:
    """What pack_arguments() was given. Only for a cell: it may run code of the caller."""
    if arguments.keys() != {""}:
        return {name: unpack(value) for name, value in arguments.items()}
    form: Any = arguments[""]
    if isinstance(form, dict) and form.get(TAG) == "pickle":
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
    return Reader().read(value, 0)

"""Python values as JSON: the documented form of a result, and a lossless form.

Every interpreter zygote loads this and the modules below it. So they import no module for values
that may never come, such as datetime or numpy: a program that has such a value has loaded the
module, and these modules recognize types by name.
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
    """Returns the JSON form of a result, made of dict, list, str, int, float, bool and None.

    bytes become base64 text, dates and times ISO 8601 text, a timedelta its seconds, Decimal, UUID
    and Path text, an Enum its value, dataclasses and pydantic models objects, tuples and sets
    lists, numpy's scalars and arrays numbers and nested lists. Keys become text as json.dumps
    writes it. Raises ValueError for other values; the message says what `subject` holds, and where.
    """
    return Former(subject).top(value)


def dumps(value: Any, *, subject: str = "the result") -> bytes:
    """Returns the text of to_json(value) in UTF-8."""
    if type(value) is bytes:
        return b'"%b"' % binascii.b2a_base64(value, newline=False)
    try:
        text = encode(value).encode()
        if is_within_limits(value, text):
            return text
    except (NoForm, TypeError, ValueError, RecursionError):
        pass  # to_json() walks the value: it finds the place of the fault, or a JSON form after all
    return encode(to_json(value, subject=subject)).encode()


def pack(value: Any) -> Any:
    """Returns a JSON form from which unpack() makes an equal value of the same type.

    A type that JSON lacks becomes {"__type__": "tuple", "value": [...]}. This holds for the builtin
    types, datetime's, Decimal, UUID and Path (only the offset of a time zone is kept). Other values
    get the form that to_json() gives them.
    """
    return Packer("the value").top(value)


def pack_arguments(arguments: Mapping[str, Any]) -> Packed:
    """Returns a JSON form from which unpack_arguments(), in a cell, makes equal arguments.

    Values that pack() would change are pickled. Only the way into a cell has pickles: unpack()
    reads none, so nothing that comes from a cell can run code here. Raises ValueError if a value
    can't be pickled.
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
    """Returns the arguments that pack_arguments() packed.

    For cells only: it may run code of the caller.
    """
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
    """Returns the value that pack() packed.

    It is safe for any input, since it makes only types that pack() names.
    Raises ValueError for input that pack() can't have made.
    """
    return Reader().read(value, 0)

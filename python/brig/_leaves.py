"""JSON forms of values that become one string or number."""

from __future__ import annotations

import binascii
from enum import Enum
from functools import lru_cache
from typing import Any, Callable, Dict, List, Union


class NoForm(Exception):
    """A value has no JSON form. It has the place of that value."""

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


def with_article(kind: type) -> str:
    name = kind.__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def base64_text(value: Any) -> str:
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def from_base64(text: Any) -> bytes:
    """Returns the bytes.

    Raises ValueError unless the text is base64 just as base64_text() writes it.
    """
    try:
        data = binascii.a2b_base64(text)
        # a2b_base64 skips characters that are not base64.
        if type(text) is str and base64_text(data) == text:
            return data
    except (TypeError, ValueError):
        pass
    raise ValueError("not base64")


def family_of(value: Any) -> str:
    """Returns which type in _FAMILIES the value is an instance of, as "module.name"; "" if none."""
    kind: Any = type(value)
    return _family_of_type(kind)


@lru_cache(maxsize=256)
def _family_of_type(kind: type) -> str:
    names = (type_name(base) for base in kind.__mro__)
    return next((name for name in names if name in _FAMILIES), "")


def type_name(kind: type) -> str:
    """Returns a name such as "pathlib.Path".

    It has the package only: some types move between its modules.
    """
    return f"{str(kind.__module__).partition('.')[0]}.{kind.__qualname__}"


def isoformat(value: Any) -> Any:
    return value.isoformat()


def _numpy_scalar(value: Any) -> Any:
    item = in_microseconds(value).item()
    if item is None or isinstance(item, (str, int, float)):
        return item
    # A longdouble, a complex number or a record.
    if type(item) is type(value) or isinstance(item, (complex, tuple)):
        raise NoForm(with_article(type(value)))
    return leaf(item)


def _numpy_numbers(value: Any) -> Any:
    """An array of numbers can be written without a walk, since it holds no other containers."""
    if value.dtype.kind not in "biuf":
        raise NoForm("an array of objects")
    return value.tolist()


def in_microseconds(value: Any) -> Any:
    """Converts numpy's times to microseconds. numpy turns finer ones into bare integers."""
    kind = {"M": "datetime64[us]", "m": "timedelta64[us]"}.get(value.dtype.kind)
    return value.astype(kind) if kind else value


_LEAVES: Dict[str, Callable[[Any], Any]] = {
    "datetime.datetime": isoformat,
    "datetime.date": isoformat,
    "datetime.time": isoformat,
    "datetime.timedelta": lambda value: value.total_seconds(),
    "decimal.Decimal": str,
    "uuid.UUID": str,
    "pathlib.PurePath": str,
    "numpy.generic": _numpy_scalar,
    "numpy.ndarray": _numpy_numbers,
}
_FAMILIES = {*_LEAVES, "pydantic.BaseModel"}


def leaf(value: Any) -> Any:
    """Returns the form of a value that holds no others.

    Raises NoForm if it needs a walk, or has no form.
    """
    if isinstance(value, (bytes, bytearray)):
        return base64_text(value)
    if isinstance(value, memoryview):
        return base64_text(value.tobytes())
    if isinstance(value, Enum) and type(value.value) is str:
        return value.value
    form = _LEAVES.get(family_of(value))
    if form is None:
        raise NoForm(with_article(type(value)))
    return form(value)

"""Makes the lossless form, for pack() and pack_arguments() in _values."""

from __future__ import annotations

from enum import Enum
from typing import Any, Callable, Dict, FrozenSet, Tuple

from brig._json_form import MAX_INTEGER, MIN_INTEGER, Former, is_unicode
from brig._leaves import isoformat, NoForm, base64_text, type_name


class Packed(Dict[str, Any]):
    """Arguments in the form that pack_arguments() returns."""

    modules: FrozenSet[str] = frozenset()  # the cell must be able to import these


TAG = "__type__"

# By the exact type: a subclass may hold more.
_PACKED: Dict[str, Tuple[str, Callable[[Any], Any]]] = {
    "datetime.datetime": ("datetime", isoformat),
    "datetime.date": ("date", isoformat),
    "datetime.time": ("time", isoformat),
    "datetime.timedelta": ("timedelta", lambda v: [v.days, v.seconds, v.microseconds]),
    "decimal.Decimal": ("Decimal", str),
    "uuid.UUID": ("UUID", str),
    "pathlib.PosixPath": ("Path", str),
}


def _tagged(name: str, value: Any) -> Dict[str, Any]:
    return {TAG: name, "value": value}


class Packer(Former):
    """Makes the lossless form, in which every type that JSON lacks has a tag."""

    def text(self, value: str) -> Any:
        if is_unicode(value):
            return value
        return _tagged("str", base64_text(value.encode("utf-8", "surrogatepass")))

    def integer(self, value: int) -> Any:
        # In hexadecimal, since reading many decimal digits takes long, and Python limits them.
        return value if MIN_INTEGER <= value <= MAX_INTEGER else _tagged("int", hex(value))

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
        if TAG not in value and all(type(key) is str and is_unicode(key) for key in value):
            return self.members(value, value.items())
        self._enter(value, 3)
        made = []
        for key, each in value.items():
            try:
                made.append([self.form(key), self.form(each)])
            except NoForm as fault:
                fault.path.append(str(key))
                raise
        self._leave(value, 3)
        return _tagged("dict", made)

    def _named(self, value: Any) -> Any:
        known = _PACKED.get(type_name(type(value)))
        if known is not None:
            # A path may hold bytes that are not text; text() packs them.
            return _tagged(known[0], self.form(known[1](value)))
        # The form is packed again, since an object in it may have a member __type__.
        return self.form(Former(self.subject).form(value))


class Inexact(Exception):
    """A value would come back as another type."""


_ZONES = ("NoneType", "timezone")
_EXACT = {str, int, float, list, tuple, set, frozenset, dict, bytes, bytearray, complex, range}


class ExactPacker(Packer):
    """Makes the lossless form, and refuses values that the form would change."""

    def other(self, value: Any) -> Any:
        if type(value) not in _EXACT:
            zone = getattr(value, "tzinfo", None)  # the form keeps only the offset of a zone
            if type_name(type(value)) not in _PACKED or type(zone).__name__ not in _ZONES:
                raise Inexact()
        return super().other(value)


def pickled(value: Dict[str, Any]) -> Packed:
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
    except Exception as error:  # methods of the objects can raise anything
        raise ValueError(f"{type(error).__name__}: {error}") from None
    made = Packed({"": _tagged("pickle", base64_text(data or stream.getvalue()))})
    made.modules = frozenset(modules - {"builtins", "__main__"})
    return made


def _of_a_session(value: Dict[str, Any]) -> bytes:
    """Returns a pickle that holds the classes of a notebook or a prompt, since no cell can import
    them."""
    import sys

    if getattr(sys.modules["__main__"], "__file__", None):
        return b""  # the cell loads the script for its functions
    try:
        import cloudpickle  # type: ignore[import]
    except ImportError:
        return b""
    data: bytes = cloudpickle.dumps(value, protocol=4)
    return data

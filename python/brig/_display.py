"""Makes rich forms of values, as notebooks show them: display(), the last value, figures. Runs in
the cell, for run_python; the host checks the limits again.

No value makes anything here fail. A form that can't be made is a sentence on stderr.
"""

from __future__ import annotations

import base64
import inspect
import io
import os
import re
import sys
from typing import Any, Callable, Iterable, Optional, Sequence

from brig import _figures
from brig._budget import Budget
from brig._leaves import type_name
from brig._left_files import LARGEST_READ, LARGEST_SHOWN, Image, image_size, is_large, read_file
from brig._values import dumps

_MOST_DISPLAYS = 64
_LARGEST_FORM = LARGEST_SHOWN
_MOST_SAVED_PIXELS = 32_000_000  # of all files that are made smaller: it takes time and memory
_LONGEST_PLAIN = 64 << 10
_LONGEST_TYPE = 100
_MOST_ROWS, _MOST_COLUMNS, _LONGEST_FIELD = 200, 100, 1000
_METHODS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "application/json": "_repr_json_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
}
_TYPE = re.compile(r"[a-z]+/[A-Za-z0-9.+_-]+\Z")
_PLAIN_VALUES = (
    type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset
)


def is_binary(mime_type: str) -> bool:
    """Returns whether data of this type travels as base64."""
    kind = mime_type.partition("/")[0]
    if kind in ("image", "audio", "video", "font"):
        return mime_type != "image/svg+xml"
    return mime_type in ("application/pdf", "application/octet-stream", "application/zip")


def readable(text: str) -> str:
    """Returns the text with escapes for what UTF-8 can't hold."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Counted(io.FileIO):
    """A stdout that counts the bytes that were written to it."""

    written = 0

    def write(self, data: Any) -> int:
        count = super().write(data)
        self.written += count or 0
        return count


class Displays:
    """Collects what the code displays, from the moment when it is made until finish()."""

    def __init__(self, budget: Budget, saved: _figures.SavedFigures) -> None:
        self._budget = budget
        self._saved = saved
        self._pid = os.getpid()
        self._entries: list[dict[str, Any]] = []
        self._left_out = 0
        self._pixels = _MOST_SAVED_PIXELS
        self._figures: set[tuple[int, str]] = set()  # the figures that were shown, and their images
        self._raw = _Counted(1, "w", closefd=False)
        self._raw.name = "<stdout>"
        encoding = getattr(sys.stdout, "encoding", None)
        errors = getattr(sys.stdout, "errors", None)
        self._stream = io.TextIOWrapper(
            io.BufferedWriter(self._raw),
            encoding=encoding or "utf-8",
            errors=errors or "backslashreplace",
            line_buffering=True,
        )
        self._stream.mode = "w"  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = self._stream

    def display(
        self,
        *values: Any,
        include: Optional[Sequence[str]] = None,
        exclude: Optional[Sequence[str]] = None,
        raw: bool = False,
        **_: Any,
    ) -> None:
        """Shows each value in all of its forms. `raw`: each value is a bundle of MIME types."""
        for value in values:
            if raw:
                self.show(value if isinstance(value, dict) else {"text/plain": value})
                continue
            if not self._has_place():
                continue
            forms = forms_of(value)
            if include is not None:
                forms = {kind: data for kind, data in forms.items() if kind in include}
            if exclude is not None:
                forms = {kind: data for kind, data in forms.items() if kind not in exclude}
            self._add(forms, value)

    def show(self, bundle: dict[Any, Any]) -> None:
        self._add(_checked(bundle, "display"), bundle)

    def show_figures(self) -> None:
        """Shows the open figures and closes them, like plt.show() in a notebook."""
        for figure in _figures.open_figures():
            if self._has_place():
                self._add(forms_of(figure), figure)
        _figures.close_figures()

    def finish(self, value: Any, forms: dict[str, str], images: Iterable[Image] = ()) -> None:
        """Adds the figures that are still open, unless they come back as files; then these images,
        which are too large to be shown as they are; then the forms of the code's value."""
        for figure in _figures.open_figures():
            if figure is value or self._saved.comes_back(figure):
                continue
            if self._has_place(kept=bool(forms)):
                self._add(forms_of(figure), figure, again=False)
        self._saved.is_drawn(value)
        try:
            for image in images:
                most = _MOST_DISPLAYS - bool(forms)
                if len(self._entries) < most and self._budget.left > _LARGEST_FORM:
                    self._add_smaller(image)
        except Exception:
            pass  # a file is gone, or the code has changed a function that this needs
        if forms:
            self._add(forms, value, is_value=True)

    def _add_smaller(self, image: Image) -> None:
        pixels = image.size[0] * image.size[1]
        if os.path.realpath(image.path) in self._saved.drawn or pixels > self._pixels:
            return
        self._pixels -= pixels
        data = _figures.scaled(read_file(image.path, LARGEST_READ), image.mime_type, pixels)
        if data is not None:
            text = f"{image.name}, made smaller"
            encoded = base64.b64encode(data).decode()
            self._add({image.mime_type: encoded, "text/plain": text}, image)

    def answer(self) -> dict[str, Any]:
        """Returns the displays, without members that would be empty."""
        answer: dict[str, Any] = {}
        if self._entries:
            answer["displays"] = list(self._entries)  # a copy, since threads may go on
        if self._left_out:
            answer["displays_left_out"] = self._left_out
        return answer

    def flush(self) -> None:
        """Flushes the stream, also if the code has put another one in its place."""
        try:
            self._stream.flush()
        except Exception:
            pass  # the code has closed it

    def _has_place(self, *, kept: bool = False) -> bool:
        """Returns whether there is room, else counts what is left out. `kept`: for the value."""
        if len(self._entries) < _MOST_DISPLAYS - kept:
            return True
        self._left_out += 1
        return False

    def _add(
        self, forms: dict[str, str], value: Any, *, is_value: bool = False, again: bool = True
    ) -> None:
        """Adds a display. `again`: also if the same figure was shown with the same image before."""
        if os.getpid() != self._pid:
            why = "in a process that the code has started; call it in the code itself"
            return tell(f"display() shows nothing {why}")
        figure = (id(value), forms.get("image/png", ""))
        if not again and figure in self._figures:
            return
        if not forms:
            return
        size = sum(map(_size, forms.items()))
        if len(self._entries) == _MOST_DISPLAYS or not self._budget.take(size):
            self._left_out += 1
            return
        if figure[1]:
            self._figures.add(figure)
            self._saved.is_drawn(value)
        self.flush()
        entry: dict[str, Any] = {"at": self._raw.written, "data": forms}
        if is_value:
            entry["is_value"] = True
        self._entries.append(entry)


def _size(form: tuple[str, str]) -> int:
    return len(form[1]) * 3 // 4 if is_binary(form[0]) else len(form[1].encode())


def tell(sentence: str) -> None:
    try:
        print(readable(sentence), file=sys.stderr)
    except Exception:
        pass


def name_of(kind: type) -> str:
    """Returns the name of a type, whatever its metaclass says."""
    name: str = vars(type)["__name__"].__get__(kind)
    return readable(name)


def _name(value: Any) -> str:
    return name_of(type(value))


def _attempt(doing: str, action: Callable[[], Any]) -> Any:
    """Returns what `action` returns, or None if it raises: then a sentence is on stderr."""
    try:
        return action()
    except BaseException as error:
        try:
            said = f": {error}"
        except BaseException:
            said = ""
        tell(f"display: {doing} raised {_name(error)}{said[:500]}")
        return None


def plain_text(value: Any) -> str:
    """Returns repr() of a value, cut to a limit. Raises what repr() raises."""
    text = readable(str.__str__(repr(value)))
    if len(text) <= _LONGEST_PLAIN:
        return text
    return f"{text[:_LONGEST_PLAIN]}... ({len(text) - _LONGEST_PLAIN} more characters)"


def rich_forms_of(value: Any) -> dict[str, str]:
    """Returns all forms, or {} if there is only plain text."""
    if type(value) in _PLAIN_VALUES:
        return {}
    forms = forms_of(value)
    return forms if len(forms) > 1 or "text/plain" not in forms else {}


def forms_of(value: Any) -> dict[str, str]:
    forms: dict[str, str] = {}
    if type(value) not in _PLAIN_VALUES and not issubclass(type(value), type):
        for forms_from in (_bundle, _methods, _table, _figure):
            made = _attempt(f"a form of {_name(value)}", lambda: forms_from(value)) or {}
            for kind, data in made.items():
                forms.setdefault(kind, data)
    if "text/plain" not in forms:
        text = _attempt(f"repr() of {_name(value)}", lambda: plain_text(value))
        forms = {"text/plain": f"<{_name(value)}>" if text is None else text, **forms}
    return forms


def _method(value: Any, name: str) -> Optional[Callable[..., Any]]:
    """Returns a method, or None; None also for objects that have every attribute (a Mock)."""
    found = inspect.getattr_static(value, name, None)
    if found is None and not hasattr(type(value), "__getattr__"):
        return None
    if getattr(value, "_brig_has_no_such_method_", None) is not None:
        return None
    method = getattr(value, name, None)
    return method if callable(method) else None


def _bundle(value: Any) -> dict[str, str]:
    method = _method(value, "_repr_mimebundle_")
    if method is None:
        return {}
    make, said = method, f"_repr_mimebundle_() of {_name(value)}"
    made = _attempt(said, lambda: make(include=None, exclude=None))
    made = made[0] if isinstance(made, tuple) and made else made
    if made is None:
        return {}
    if not isinstance(made, dict):
        tell(f"display: {said} gave {_name(made)}, not a dict")
        return {}
    return _checked(made, said)


def _methods(value: Any) -> dict[str, str]:
    forms = {}
    for kind, name in _METHODS.items():
        method = _method(value, name)
        if method is None:
            continue
        said = f"{name}() of {_name(value)}"
        made = _attempt(said, method)
        if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], dict):
            made = made[0]  # and metadata
        if made is not None:
            forms.update(_checked({kind: made}, said))
    return forms


def _checked(bundle: dict[Any, Any], said: str) -> dict[str, str]:
    """Returns the forms whose data fits their MIME type. Prints a sentence for each other."""
    forms = {}
    for kind, data in list(bundle.items())[:_MOST_DISPLAYS]:
        if data is None:
            continue
        if type(kind) is not str or len(kind) > _LONGEST_TYPE or not _TYPE.match(kind):
            tell(f"display: {said} gave {str(kind)[:_LONGEST_TYPE]!a}, which is not a MIME type")
            continue
        form = _attempt(said, lambda: _form(kind, data))
        if isinstance(form, str):
            forms[kind] = form
        elif form is not None:
            tell(f"display: {said} gave {form[0]} as {kind}")
    return forms


def _form(kind: str, data: Any) -> Any:
    """Returns the text of a form; or, in a tuple, what is wrong with it."""
    if is_binary(kind):
        if isinstance(data, str):
            try:
                data = base64.b64decode("".join(data.split()), validate=True)
            except ValueError:
                return ("a text that is not base64",)
        if not isinstance(data, (bytes, bytearray, memoryview)):
            return (f"{_name(data)}, not bytes",)
        return _image(kind, bytes(data))
    if kind == "application/json" or kind.endswith("+json"):
        if not isinstance(data, str) or kind == "application/json":
            data = dumps(data).decode()
    elif isinstance(data, (bytes, bytearray)):
        try:
            data = bytes(data).decode()
        except UnicodeDecodeError:
            return ("bytes that are not UTF-8",)
    if not isinstance(data, str):
        return (f"{_name(data)}, not text",)
    text = readable(str.__str__(data))
    if kind == "text/plain" and len(text) > _LONGEST_PLAIN:
        return f"{text[:_LONGEST_PLAIN]}... ({len(text) - _LONGEST_PLAIN} more characters)"
    if len(text) <= _LARGEST_FORM:
        return text
    return (f"{len(text)} characters, more than {_LARGEST_FORM},",)


def _image(kind: str, data: bytes) -> Any:
    if not data:
        return ("nothing",)
    if is_large(len(data), image_size(data)):
        small = _figures.scaled(data, kind) if kind in ("image/png", "image/jpeg") else None
        if small is None and len(data) > _LARGEST_FORM:
            return (f"{len(data)} bytes, more than {_LARGEST_FORM},",)
        data = small or data
    return base64.b64encode(data).decode()


def _figure(value: Any) -> dict[str, str]:
    if not _figures.is_figure(value):
        return {}
    return _checked({"image/png": _figures.png_of(value)}, f"savefig() of {_name(value)}")


# --- tables ---


def _table(value: Any) -> dict[str, str]:
    """Returns a DataFrame of pandas as data: {"columns", "rows", "total"}."""
    if not any(type_name(each) == "pandas.DataFrame" for each in type(value).__mro__):
        return {}
    head = value.iloc[:_MOST_ROWS, :_MOST_COLUMNS]
    if type(head.index).__name__ != "RangeIndex":
        try:
            head = head.reset_index()
        except ValueError:
            pass  # the index has the name of a column
    rows = [[_field(field) for field in row] for row in head.astype(object).values.tolist()]
    columns = [str(name)[:_LONGEST_FIELD] for name in head.columns]
    while rows and len(dumps(rows)) > _LARGEST_FORM // 2:
        rows = rows[: len(rows) // 2]
    data = {"columns": columns, "rows": rows, "total": len(value)}
    return _checked({"application/json": data}, "a DataFrame")


def _field(field: Any) -> Any:
    if hasattr(field, "item") and type(field).__module__ == "numpy":
        field = field.item()
    if field is None or type(field) is bool:
        return field
    if type(field) is int:
        return field if -(2**63) <= field < 2**64 else str(field)
    if type(field) is float:
        return field if field - field == 0 else None  # neither infinite nor missing
    if type(field).__name__ in ("NaTType", "NAType"):
        return None
    return readable(field if type(field) is str else str(field))[:_LONGEST_FIELD]

"""From the type hints of a function to a JSON Schema, and from JSON arguments back to its own.

A schema uses only the keywords that brig checks (src/json/schema.h lists them). What the host has
checked by it is then turned into what the hints say: a base64 string into bytes, an object into a
dataclass.
"""

from __future__ import annotations

import collections.abc
import enum
import functools
import inspect
import json
import re
import reprlib
import sys
import types
import typing
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple, Union

from brig._errors import ConfigError
from brig._values import from_base64, to_json, type_name

_Schema = Dict[str, Any]
_Decode = Callable[[Any], Any]


class Signature:
    """What a tool takes and gives.

    output_schema is None if nothing is promised: without a return annotation, with one that has no
    schema, and for None, where there is nothing to describe.
    """

    def __init__(self, description: str, is_async: bool) -> None:
        self.input_schema: _Schema = {}
        self.output_schema: Optional[_Schema] = None
        self.description = description
        self.is_async = is_async
        self._decoders: List[Tuple[str, _Decode]] = []  # of the parameters that need one
        self._positional: List[Tuple[str, Any]] = []  # name and default of positional-only ones
        self._names: Set[str] = set()
        self._decode_other: Optional[_Decode] = None  # for **kwargs

    def bind(self, arguments: Dict[str, Any]) -> Tuple[List[Any], Dict[str, Any]]:
        """The positional and the keyword arguments, for arguments that fit input_schema.

        ValueError, with the parameter's name, for a value that the schema can't tell is wrong.
        """
        keywords = dict(arguments)
        for name, decode in self._decoders:
            if name in keywords:
                keywords[name] = _decoded(name, decode, keywords[name])
        if self._decode_other is not None:
            for name in keywords.keys() - self._names:
                keywords[name] = _decoded(name, self._decode_other, keywords[name])
        if not self._positional:
            return [], keywords
        return [_taken(keywords, name, default) for name, default in self._positional], keywords


def signature_of(function: Callable[..., Any], *, description: Optional[str] = None) -> Signature:
    """The signature of a tool. `description` takes the place of the docstring's first paragraph.

    ConfigError if a parameter has no schema.
    """
    called: Any = function
    while isinstance(called, functools.partial):
        called = called.func
    written = inspect.unwrap(called)  # what is behind decorators
    where = f"tool '{getattr(written, '__name__', type(written).__name__)}'"
    if inspect.isclass(written):
        raise ConfigError(f"{where}: a class is no tool; give a function that makes one")
    if not inspect.isroutine(written):  # an object with a __call__
        called, written = type(called).__call__, type(written).__call__
    try:
        parameters = list(inspect.signature(function).parameters.values())
        hints = _hints_of(written)
    except (ValueError, TypeError, _Unfit) as why:
        raise ConfigError(f"{where}: {why}") from None
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    doc = inspect.getdoc(written) or ""
    made = Signature(
        _summary(doc) if description is None else description, inspect.iscoroutinefunction(called)
    )
    _add_parameters(made, parameters, hints, _parameter_texts(doc), where)
    made.output_schema = _output_schema(hints.get("return", inspect.Parameter.empty))
    return made


class _Unfit(Exception):
    """A hint that has no schema, and what to do."""


def _hints_of(owner: Any) -> Dict[str, Any]:
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except NameError as why:
        raise _Unfit(
            f"a type hint can't be resolved: {why}; define or import it in the module,"
            " not in a function nor only for type checkers"
        ) from None
    except Exception as why:  # a hint is any expression
        raise _Unfit(f"a type hint can't be resolved: {why}") from None


def _add_parameters(
    made: Signature,
    parameters: List[inspect.Parameter],
    hints: Dict[str, Any],
    texts: Dict[str, str],
    where: str,
) -> None:
    model = _Model(is_output=False)
    properties: Dict[str, _Schema] = {}
    required: List[str] = []
    others: Any = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        name = parameter.name
        try:
            shape = _parameter_shape(model, parameter, hints.get(name, Any))
        except _Unfit as why:
            raise ConfigError(f"{where}: parameter '{name}': {why}") from None
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            others = shape.schema or True
            made._decode_other = None if shape.is_plain else shape.decode
            continue
        properties[name] = dict(shape.schema)
        if texts.get(name):
            properties[name].setdefault("description", texts[name])
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            made._positional.append((name, parameter.default))
        if not shape.is_plain:
            made._decoders.append((name, shape.decode))
    made._names = set(properties)
    made.input_schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": others,
        **model.definitions(),
    }


def _parameter_shape(model: _Model, parameter: inspect.Parameter, hint: Any) -> _Shape:
    if type_name(type(parameter.default)) == "pydantic.FieldInfo":
        raise _Unfit("write Annotated[type, Field(...)], not a Field(...) as the default")
    return _with_default(model.shape_of(hint), parameter.default)


def _with_default(shape: _Shape, default: Any) -> _Shape:
    if default is inspect.Parameter.empty:
        return shape
    # None says "not given" often enough without being part of the type.
    made = _union([shape, _NULL]) if default is None and not _takes_null(shape.schema) else shape
    try:
        return made.noting(default=to_json(default))
    except ValueError:
        return made  # It has one all the same, that can't be shown.


def _takes_null(schema: _Schema) -> bool:
    return (
        schema.keys() <= {"description"}
        or schema.get("type") == "null"
        or None in schema.get("enum", ())
        or any(map(_takes_null, schema.get("anyOf", ())))
    )


def _output_schema(hint: Any) -> Optional[_Schema]:
    model = _Model(is_output=True)
    if hint in (inspect.Parameter.empty, type(None), Any, typing.NoReturn):
        return None
    try:
        schema = model.shape_of(hint).schema
    except _Unfit:
        return None
    return {**schema, **model.definitions()} or None


def _decoded(name: str, decode: _Decode, value: Any) -> Any:
    try:
        return decode(value)
    except ValueError as why:
        raise ValueError(f"argument '{name}': {why}") from why


def _taken(keywords: Dict[str, Any], name: str, default: Any) -> Any:
    value = keywords.pop(name, default)
    if value is inspect.Parameter.empty:
        raise ValueError(f"argument '{name}' is missing")
    return value


# --- shapes: the schema of a hint, and how its values are decoded ---


class _Shape:
    """A hint. `decode` raises ValueError for all that the schema would refuse, and then some.

    is_plain: what fits the schema is what the hint says already, and need not be decoded.
    exact: the type of which that holds.
    """

    __slots__ = ("schema", "decode", "is_plain", "exact")

    def __init__(
        self,
        schema: _Schema,
        decode: _Decode,
        is_plain: bool = False,
        exact: Optional[type] = None,
    ) -> None:
        self.schema = schema
        self.decode = decode
        self.is_plain = is_plain
        self.exact = exact

    def noting(self, **notes: Any) -> _Shape:
        """The same with more in its schema."""
        return _Shape({**self.schema, **notes}, self.decode, self.is_plain, self.exact)


def _unfit(value: Any, expected: str) -> ValueError:
    return ValueError(f"{reprlib.repr(value)} is not {expected}")


def _checked(kind: type, expected: str) -> _Decode:
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


def _text_as(make: Callable[[str], Any], expected: str) -> _Decode:
    def decode(value: Any) -> Any:
        if type(value) is not str:
            raise _unfit(value, "a string")
        try:
            return make(value)
        except (ValueError, TypeError, ArithmeticError):
            raise _unfit(value, expected) from None

    return decode


_BASE64 = {"type": "string", "contentEncoding": "base64"}
_ANYTHING = _Shape({}, lambda value: value, is_plain=True)
_NULL = _Shape({"type": "null"}, _checked(type(None), "null"), is_plain=True)
_SIMPLE: Dict[Any, _Shape] = {
    Any: _ANYTHING,
    object: _ANYTHING,
    None: _NULL,
    type(None): _NULL,
    str: _Shape({"type": "string"}, _checked(str, "a string"), is_plain=True),
    bool: _Shape({"type": "boolean"}, _checked(bool, "a boolean"), is_plain=True),
    int: _Shape({"type": "integer"}, _integer, exact=int),
    float: _Shape({"type": "number"}, _number, exact=float),
    bytes: _Shape(_BASE64, _text_as(from_base64, "base64")),
    bytearray: _Shape(_BASE64, _text_as(lambda text: bytearray(from_base64(text)), "base64")),
}


def _time_reader(kind: Any) -> Callable[[str], Any]:
    # Python 3.10 and older know no "Z".
    return lambda text: kind.fromisoformat(text[:-1] + "+00:00" if text[-1:] in "Zz" else text)


def _string(format_: str, decode: _Decode) -> _Shape:
    return _Shape({"type": "string", "format": format_}, decode)


# By name, since a module whose types a hint names is loaded, and others need not be.
_NAMED: Dict[str, Callable[[Any], _Shape]] = {
    "datetime.datetime": lambda kind: _string(
        "date-time", _text_as(_time_reader(kind), "a date and time, such as 2030-01-31T12:00:00Z")
    ),
    "datetime.date": lambda kind: _string(
        "date", _text_as(kind.fromisoformat, "a date, such as 2030-01-31")
    ),
    "datetime.time": lambda kind: _string(
        "time", _text_as(_time_reader(kind), "a time, such as 12:00:00")
    ),
    "datetime.timedelta": lambda kind: _Shape(
        {"type": "number", "title": "seconds"},
        lambda value: _constructed(kind, 0, _number(value)),
    ),
    "decimal.Decimal": lambda kind: _string("decimal", _text_as(kind, "a decimal number")),
    "uuid.UUID": lambda kind: _string("uuid", _text_as(kind, "a UUID")),
    "pathlib.Path": lambda kind: _string("path", _text_as(kind, "a path")),
    "pathlib.PurePath": lambda kind: _string("path", _text_as(kind, "a path")),
}


def _array(item: _Shape, make: Optional[Callable[[Any], Any]], **more: Any) -> _Shape:
    """`make` makes the collection of a list of items; None if it is the list itself."""
    schema: _Schema = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema

    def decode(value: Any) -> Any:
        if type(value) is not list:
            raise _unfit(value, "an array")
        # A million numbers are looked through in no time, but not decoded.
        if item.exact is None or not set(map(type, value)) <= {item.exact}:
            value = [item.decode(each) for each in value]
        return _constructed(make, value) if make else value

    return _Shape({**schema, **more}, decode, is_plain=item.is_plain and make is None)


def _fixed_array(items: List[_Shape], needed: int, make: Callable[..., Any]) -> _Shape:
    schema: _Schema = {"type": "array", "items": False, "minItems": needed, "maxItems": len(items)}
    if items:
        schema["prefixItems"] = [item.schema for item in items]

    def decode(value: Any) -> Any:
        if type(value) is not list or not needed <= len(value) <= len(items):
            raise _unfit(value, f"an array of {len(items)} items")
        return _constructed(make, *(item.decode(each) for item, each in zip(items, value)))

    return _Shape(schema, decode)


def _dictionary(item: _Shape) -> _Shape:
    schema: _Schema = {"type": "object"}
    if item.schema:
        schema["additionalProperties"] = item.schema

    def decode(value: Any) -> Any:
        if type(value) is not dict:
            raise _unfit(value, "an object")
        return {key: item.decode(each) for key, each in value.items()}

    return _Shape(schema, decode, is_plain=item.is_plain)


def _record(
    members: Dict[str, _Shape], required: List[str], is_open: bool, make: Optional[_Decode]
) -> _Shape:
    """An object with named members, from whose decoded dict `make` makes the value."""
    schema: _Schema = {
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
    return _Shape(schema, decode, is_plain)


def _constructed(make: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except Exception as why:  # a __post_init__ may raise anything
        raise ValueError(f"{type(why).__name__}: {why}") from why


def _choice(pairs: List[Tuple[Any, Any]]) -> _Shape:
    """One of the JSON values that are first in `pairs`, which stand for the second."""
    values = [value for value, _ in pairs]
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    kinds = set(map(type, values))
    if not kinds:
        raise _Unfit("there is no value to choose")
    if not kinds <= names.keys():
        raise _Unfit("each value to choose must be a string, a number, a boolean or None")
    schema: _Schema = {"enum": values}
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
    return _Shape(schema, decode, is_plain)


def _flags(hint: Any) -> _Shape:
    mask = 0
    for member in hint:
        mask |= member.value

    def decode(value: Any) -> Any:
        if _integer(value) & ~mask:
            raise _unfit(value, "a sum of the flags' values")
        return hint(_integer(value))

    return _Shape({"type": "integer", "minimum": 0, "maximum": mask}, decode)


def _union(members: List[_Shape]) -> _Shape:
    others = [member for member in members if member is not _NULL]
    if any(_takes_null(member.schema) for member in others):
        members = others  # as Optional[Any] does
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
        raise _unfit(value, "of any of the types it may have")

    schema = {"anyOf": [member.schema for member in members]}
    return _Shape(schema, decode, all(member.is_plain for member in members))


# --- from hints to shapes ---

_LISTS = {
    list,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Collection,
    collections.abc.Iterable,
}
_SETS: Dict[Any, Callable[[Any], Any]] = {
    set: set,
    frozenset: frozenset,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
}
_DICTS = {dict, collections.abc.Mapping, collections.abc.MutableMapping}
_UNIONS = {Union, getattr(types, "UnionType", Union)}  # the latter since Python 3.10


class _Model:
    """Makes the shapes of one schema. Types that hold themselves go to its $defs."""

    def __init__(self, is_output: bool) -> None:
        self._is_output = is_output
        self._definitions: Dict[str, _Schema] = {}
        self._made: Dict[Any, _Shape] = {}
        self._references: Dict[Any, Optional[_Shape]] = {}  # what is being made; None: no use yet

    def definitions(self) -> _Schema:
        return {"$defs": self._definitions} if self._definitions else {}

    def shape_of(self, hint: Any) -> _Shape:
        origin = typing.get_origin(hint)
        if hint in (tuple, Tuple):
            return _array(_ANYTHING, tuple)
        if origin is None:
            return self._shape_of_class(hint)
        arguments = typing.get_args(hint)
        if hasattr(hint, "__metadata__"):
            return self._annotated(hint)
        if origin in _UNIONS:
            return _union([self.shape_of(each) for each in arguments])
        if origin is typing.Literal:
            return _choice([(_value_of(each), each) for each in arguments])
        return self._collection(hint, origin, arguments)

    def _collection(self, hint: Any, origin: Any, arguments: Tuple[Any, ...]) -> _Shape:
        if origin is tuple:
            return self._tuple(arguments)
        if origin in _DICTS:
            key, item = arguments or (str, Any)
            if key not in (str, Any):
                raise _Unfit(f"the keys of {_shown(hint)} are not strings; use Dict[str, ...]")
            return _dictionary(self.shape_of(item))
        if origin not in _LISTS and origin not in _SETS:
            raise _Unfit(_advice(hint))
        item_shape = self.shape_of(arguments[0] if arguments else Any)
        if origin in _LISTS:
            return _array(item_shape, None)
        return _array(item_shape, _SETS[origin], uniqueItems=True)

    def _tuple(self, arguments: Tuple[Any, ...]) -> _Shape:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _array(self.shape_of(arguments[0]), tuple)
        if arguments in ((), ((),)):  # Tuple[()], in two ways
            return _fixed_array([], 0, lambda: ())
        items = [self.shape_of(each) for each in arguments]
        return _fixed_array(items, len(items), lambda *parts: parts)

    def _annotated(self, hint: Any) -> _Shape:
        notes = hint.__metadata__
        if any(map(_is_constraint, notes)):
            return self._pydantic(hint)
        shape = self.shape_of(hint.__origin__)
        text = next(filter(None, map(_note_text, notes)), None)
        return shape.noting(description=text) if text else shape

    def _shape_of_class(self, hint: Any) -> _Shape:
        if not isinstance(hint, collections.abc.Hashable):
            raise _Unfit(_advice(hint))
        if hint in _SIMPLE:
            return _SIMPLE[hint]
        if hint in _LISTS or hint in _SETS or hint in _DICTS:
            return self._collection(hint, hint, ())
        for alias in ("__supertype__", "__value__"):  # NewType, and the type statement
            if hasattr(hint, alias) and not isinstance(hint, type):
                return self._once(hint, lambda: self.shape_of(getattr(hint, alias)))
        if not isinstance(hint, type):
            raise _Unfit(_advice(hint))
        if type_name(hint) in _NAMED:
            return _NAMED[type_name(hint)](hint)
        if issubclass(hint, enum.Enum):
            return self._enum(hint)
        if _is_pydantic(hint):
            return self._once(hint, lambda: self._pydantic(hint))
        return self._once(hint, lambda: self._class(hint))

    def _enum(self, hint: Any) -> _Shape:
        if issubclass(hint, enum.Flag):
            return _flags(hint)
        return _choice([(_value_of(member), member) for member in hint])

    def _once(self, hint: Any, make: Callable[[], _Shape]) -> _Shape:
        """The shape that make() makes, or a reference to it while it does so."""
        if hint in self._made:
            return self._made[hint]
        if hint not in self._references:
            self._references[hint] = None
            shape = make()
            reference = self._references.pop(hint)
            if reference is not None:
                self._definitions[reference.schema["$ref"].rpartition("/")[2]] = shape.schema
                shape = _Shape(reference.schema, shape.decode)
            self._made[hint] = shape
            return shape
        reference = self._references[hint]
        if reference is None:
            schema = {"$ref": f"#/$defs/{self._new_name(hint.__name__)}"}
            reference = _Shape(schema, lambda value: self._made[hint].decode(value))
            self._references[hint] = reference
        return reference

    def _new_name(self, name: str) -> str:
        free, count = name, 1
        while free in self._definitions:
            count += 1
            free = f"{name}_{count}"
        self._definitions[free] = {}
        return free

    def _class(self, hint: Any) -> _Shape:
        if issubclass(hint, dict) and hasattr(hint, "__total__"):
            return self._typed_dict(hint)
        if issubclass(hint, tuple) and hasattr(hint, "_fields"):
            return self._named_tuple(hint)
        if hasattr(hint, "__dataclass_fields__"):
            return self._dataclass(hint)
        raise _Unfit(_advice(hint))

    def _dataclass(self, hint: Any) -> _Shape:
        import dataclasses  # loaded, or there would be none

        hints = _hints_of(hint)
        members: Dict[str, _Shape] = {}
        required: List[str] = []
        for field in dataclasses.fields(hint):
            if not (field.init or self._is_output):
                continue
            shape = self.shape_of(hints[field.name])
            if field.default is not dataclasses.MISSING:
                shape = _with_default(shape, field.default)
            elif field.default_factory is dataclasses.MISSING:
                required.append(field.name)
            members[field.name] = shape
        return _record(members, required, False, lambda made: hint(**made))

    def _typed_dict(self, hint: Any) -> _Shape:
        members: Dict[str, _Shape] = {}
        required: List[str] = []
        for name, each in _hints_of(hint).items():
            is_required = name in hint.__required_keys__
            # By name: before Python 3.11 they are of typing_extensions.
            qualifier = getattr(typing.get_origin(each), "_name", "")
            while qualifier in ("Required", "NotRequired", "ReadOnly"):
                is_required = {"Required": True, "NotRequired": False}.get(qualifier, is_required)
                each = typing.get_args(each)[0]
                qualifier = getattr(typing.get_origin(each), "_name", "")
            members[name] = self.shape_of(each)
            if is_required:
                required.append(name)
        # A dict that a tool returns may well have more.
        return _record(members, required, self._is_output, None)

    def _named_tuple(self, hint: Any) -> _Shape:
        hints = _hints_of(hint)
        items = [self.shape_of(hints.get(name, Any)).noting(title=name) for name in hint._fields]
        return _fixed_array(items, len(items) - len(hint._field_defaults), hint)

    # --- pydantic, if the tool uses it ---

    def _pydantic(self, hint: Any) -> _Shape:
        pydantic: Any = sys.modules.get("pydantic")
        if pydantic is None:
            raise _Unfit(f"{_shown(hint)} can't be checked without pydantic; import it")
        try:
            schema, decode = self._by_pydantic(pydantic, hint)
        except Exception as why:  # whatever a model's own hooks raise
            raise _Unfit(f"pydantic has no schema for {_shown(hint)}: {why}") from None
        return _Shape(self._adopted(schema), decode)

    def _by_pydantic(self, pydantic: Any, hint: Any) -> Tuple[_Schema, _Decode]:
        # A model takes its aliases, but is dumped by its own names.
        by_alias = not self._is_output
        if hasattr(hint, "parse_obj") and not hasattr(hint, "model_json_schema"):  # version 1
            schema = hint.schema(by_alias=by_alias, ref_template="#/$defs/{model}")
            return schema, _validated(hint.parse_obj)
        adapter = pydantic.TypeAdapter(hint)
        mode = "serialization" if self._is_output else "validation"
        # As JSON, because a strict model takes a date from JSON's strings only.
        return adapter.json_schema(by_alias=by_alias, mode=mode), _validated(
            lambda value: adapter.validate_json(json.dumps(value))
        )

    def _adopted(self, schema: _Schema) -> _Schema:
        """A schema with its own $defs, as a part of this one."""
        rest = dict(schema)
        inner = {**rest.pop("definitions", {}), **rest.pop("$defs", {})}
        names = {name: self._new_name(name) for name in inner}
        for name, each in inner.items():
            self._definitions[names[name]] = _cleaned(each, names)
        made: _Schema = _cleaned(rest, names)
        return made


def _value_of(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _is_constraint(note: Any) -> bool:
    """Whether pydantic would check something for it. A Field with nothing but a text is none."""
    if type_name(type(note)).partition(".")[0] not in ("pydantic", "annotated_types"):
        return False
    return bool(getattr(note, "metadata", True) or getattr(note, "discriminator", None))


def _note_text(note: Any) -> Optional[str]:
    text = note if isinstance(note, str) else getattr(note, "description", None)
    return text if isinstance(text, str) else None


def _validated(validate: _Decode) -> _Decode:
    def decode(value: Any) -> Any:
        try:
            return validate(value)
        except Exception as why:  # a validator may raise anything
            raise ValueError(_pydantic_text(why)) from why

    return decode


def _pydantic_text(why: Any) -> str:
    """In one line, and without the address of a page about it."""
    if not hasattr(why, "errors"):
        return f"{type(why).__name__}: {why}"
    return "; ".join(": ".join([*map(str, e["loc"]), e["msg"]]) for e in why.errors())


def _is_pydantic(kind: type) -> bool:
    hooks = ("__get_pydantic_core_schema__", "__pydantic_core_schema__", "__get_validators__")
    return "pydantic" in sys.modules and any(hasattr(kind, hook) for hook in hooks)


def _shown(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _advice(hint: Any) -> str:
    return (
        f"{_shown(hint)} has no JSON form that could be checked; take one of str, int, float, bool,"
        " bytes, list, dict, tuple, Literal, an Enum, a dataclass or a TypedDict, or Any to take"
        " whatever comes"
    )


# --- what pydantic writes, reduced to what brig checks ---

_NOT_NEEDED = {"title", "discriminator", "$schema", "$id", "example", "nullable"}
_KEPT = set(
    "type enum const required dependentRequired minProperties maxProperties minContains maxContains"
    " minItems maxItems uniqueItems minLength maxLength minimum maximum exclusiveMinimum"
    " exclusiveMaximum multipleOf $comment description default examples deprecated readOnly"
    " writeOnly format contentEncoding contentMediaType".split()
)
_SCHEMAS = set(
    "additionalProperties propertyNames items contains not if then else prefixItems allOf anyOf"
    " oneOf".split()
)
_SCHEMAS_BY_NAME = {"properties", "patternProperties", "dependentSchemas"}
_LOOK_AROUND = re.compile(  # and references back
    r"\(\?(?:[=!]|<[=!])|\\[1-9]"
)


def _cleaned(schema: Any, names: Dict[str, str]) -> Any:
    """A schema, or a list of them, without what says nothing; its references by their new names."""
    if isinstance(schema, list):
        return [_cleaned(each, names) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made: _Schema = {}
    for key, value in schema.items():
        if key in _NOT_NEEDED or key.startswith("x-"):
            continue
        if key in _KEPT:
            made[key] = value
        elif key == "$ref":
            made[key] = f"#/$defs/{names[value.rpartition('/')[2]]}"
        elif key == "pattern":
            # RE2 knows no look-around. The model tries its own pattern again, so none is lost.
            if not _LOOK_AROUND.search(value):
                made[key] = value
        elif key in _SCHEMAS_BY_NAME:
            made[key] = {name: _cleaned(each, names) for name, each in value.items()}
        elif key in _SCHEMAS:
            # Version 1 writes tuples as they were before 2020-12.
            made["prefixItems" if key == "items" and isinstance(value, list) else key] = _cleaned(
                value, names
            )
        else:
            raise _Unfit(f"pydantic's schema says '{key}', which brig does not check")
    return made


# --- docstrings ---

_SECTION = re.compile(r"(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments):\s*$")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)(?:\s*\(.*?\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?()$")
_SPHINX_ENTRY = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s[^:]*?(\w+)\s*:\s*(.*)")
_UNDERLINE = re.compile(r"-{3,}\s*$")


def _summary(doc: str) -> str:
    """The first paragraph, as one line."""
    lines: List[str] = []
    for line in doc.splitlines():
        if not line.strip() or _SECTION.match(line) or line.startswith(":"):
            break
        lines.append(line.strip())
    return " ".join(lines)


def _parameter_texts(doc: str) -> Dict[str, str]:
    """What a docstring in Google's, numpy's or Sphinx' style says of each parameter."""
    lines = doc.splitlines()
    texts = _entries(lines, _SPHINX_ENTRY)
    for at, line in enumerate(lines):
        if _SECTION.match(line):
            texts.update(_entries(_indented(lines[at + 1 :]), _GOOGLE_ENTRY))
        elif line.strip() in ("Parameters", "Other Parameters"):
            if _UNDERLINE.match("".join(lines[at + 1 : at + 2])):
                texts.update(_entries(_until_next_header(lines[at + 2 :]), _NUMPY_ENTRY))
    return texts


def _indented(lines: List[str]) -> List[str]:
    """The lines up to one that is not, without the indentation of the first."""
    block: List[str] = []
    for line in lines:
        if line.strip() and not line[0].isspace():
            break
        block.append(line)
    return inspect.cleandoc("\n" + "\n".join(block)).splitlines()


def _until_next_header(lines: List[str]) -> List[str]:
    for at, line in enumerate(lines):
        if _UNDERLINE.match(line):
            return lines[: at - 1]
    return lines


def _entries(lines: Iterable[str], entry: typing.Pattern[str]) -> Dict[str, str]:
    """What stands behind each entry, and below it, indented."""
    texts: Dict[str, List[str]] = {}
    current: List[str] = []
    for line in lines:
        if not line.strip() or line[0].isspace():
            current.append(line.strip())
            continue
        current = []
        found = entry.match(line)
        if found:
            current.append(found.group(2).strip())
            for name in found.group(1).split(","):
                texts[name.strip(" *")] = current
    return {name: " ".join(filter(None, text)) for name, text in texts.items()}

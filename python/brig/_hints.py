"""Makes shapes from type hints."""

from __future__ import annotations

import collections.abc
import enum
import json
import sys
import types
import typing
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from brig._leaves import type_name
from brig._pydantic import cleaned, is_constraint, is_pydantic, note_text, validated
from brig._shapes import (
    ANYTHING,
    NAMED,
    SIMPLE,
    Decode,
    Schema,
    Shape,
    Unfit,
    array,
    choice,
    dictionary,
    fixed_array,
    flags,
    record,
    union,
    with_default,
)

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


def hints_of(owner: Any) -> Dict[str, Any]:
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except NameError as why:
        raise Unfit(
            f"a type hint can't be resolved: {why}; define or import the name at the top of the"
            " module, not in a function and not only for type checkers"
        ) from None
    except Exception as why:  # a hint is any expression
        raise Unfit(f"a type hint can't be resolved: {why}") from None


class Model:
    """Makes the shapes of one schema. Types that refer to themselves go to its $defs."""

    def __init__(self, is_output: bool) -> None:
        self._is_output = is_output
        self._definitions: Dict[str, Schema] = {}
        self._made: Dict[Any, Shape] = {}
        # Of the shapes that are being made. None: not used yet.
        self._references: Dict[Any, Optional[Shape]] = {}

    def definitions(self) -> Schema:
        return {"$defs": self._definitions} if self._definitions else {}

    def shape_of(self, hint: Any) -> Shape:
        origin = typing.get_origin(hint)
        if hint in (tuple, Tuple):
            return array(ANYTHING, tuple)
        if origin is None:
            return self._shape_of_class(hint)
        arguments = typing.get_args(hint)
        if hasattr(hint, "__metadata__"):
            return self._annotated(hint)
        if origin in _UNIONS:
            return union([self.shape_of(each) for each in arguments])
        if origin is typing.Literal:
            return choice([(_value_of(each), each) for each in arguments])
        return self._collection(hint, origin, arguments)

    def _collection(self, hint: Any, origin: Any, arguments: Tuple[Any, ...]) -> Shape:
        if origin is tuple:
            return self._tuple(arguments)
        if origin in _DICTS:
            key, item = arguments or (str, Any)
            if key not in (str, Any):
                raise Unfit(f"the keys of {_shown(hint)} are not strings; use Dict[str, ...]")
            return dictionary(self.shape_of(item))
        if origin not in _LISTS and origin not in _SETS:
            raise Unfit(_advice(hint))
        item_shape = self.shape_of(arguments[0] if arguments else Any)
        if origin in _LISTS:
            return array(item_shape, None)
        return array(item_shape, _SETS[origin], uniqueItems=True)

    def _tuple(self, arguments: Tuple[Any, ...]) -> Shape:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return array(self.shape_of(arguments[0]), tuple)
        if arguments in ((), ((),)):  # Tuple[()], in two ways
            return fixed_array([], 0, lambda: ())
        items = [self.shape_of(each) for each in arguments]
        return fixed_array(items, len(items), lambda *parts: parts)

    def _annotated(self, hint: Any) -> Shape:
        notes = hint.__metadata__
        if any(map(is_constraint, notes)):
            return self._pydantic(hint)
        shape = self.shape_of(hint.__origin__)
        text = next(filter(None, map(note_text, notes)), None)
        return shape.noting(description=text) if text else shape

    def _shape_of_class(self, hint: Any) -> Shape:
        if not isinstance(hint, collections.abc.Hashable):
            raise Unfit(_advice(hint))
        if hint in SIMPLE:
            return SIMPLE[hint]
        if hint in _LISTS or hint in _SETS or hint in _DICTS:
            return self._collection(hint, hint, ())
        for alias in ("__supertype__", "__value__"):  # NewType, and the type statement
            if hasattr(hint, alias) and not isinstance(hint, type):
                return self._once(hint, lambda: self.shape_of(getattr(hint, alias)))
        if not isinstance(hint, type):
            raise Unfit(_advice(hint))
        if type_name(hint) in NAMED:
            return NAMED[type_name(hint)](hint)
        if issubclass(hint, enum.Enum):
            return self._enum(hint)
        if is_pydantic(hint):
            return self._once(hint, lambda: self._pydantic(hint))
        return self._once(hint, lambda: self._class(hint))

    def _enum(self, hint: Any) -> Shape:
        if issubclass(hint, enum.Flag):
            return flags(hint)
        return choice([(_value_of(member), member) for member in hint])

    def _once(self, hint: Any, make: Callable[[], Shape]) -> Shape:
        """Returns the shape that make() makes, or a reference to it while make() is running."""
        if hint in self._made:
            return self._made[hint]
        if hint not in self._references:
            self._references[hint] = None
            shape = make()
            reference = self._references.pop(hint)
            if reference is not None:
                self._definitions[reference.schema["$ref"].rpartition("/")[2]] = shape.schema
                shape = Shape(reference.schema, shape.decode)
            self._made[hint] = shape
            return shape
        reference = self._references[hint]
        if reference is None:
            schema = {"$ref": f"#/$defs/{self._new_name(hint.__name__)}"}
            reference = Shape(schema, lambda value: self._made[hint].decode(value))
            self._references[hint] = reference
        return reference

    def _new_name(self, name: str) -> str:
        free, count = name, 1
        while free in self._definitions:
            count += 1
            free = f"{name}_{count}"
        self._definitions[free] = {}
        return free

    def _class(self, hint: Any) -> Shape:
        if issubclass(hint, dict) and hasattr(hint, "__total__"):
            return self._typed_dict(hint)
        if issubclass(hint, tuple) and hasattr(hint, "_fields"):
            return self._named_tuple(hint)
        if hasattr(hint, "__dataclass_fields__"):
            return self._dataclass(hint)
        raise Unfit(_advice(hint))

    def _dataclass(self, hint: Any) -> Shape:
        import dataclasses  # it is loaded, since the hint is a dataclass

        hints = hints_of(hint)
        members: Dict[str, Shape] = {}
        required: List[str] = []
        for field in dataclasses.fields(hint):
            if not (field.init or self._is_output):
                continue
            shape = self.shape_of(hints[field.name])
            if field.default is not dataclasses.MISSING:
                shape = with_default(shape, field.default)
            elif field.default_factory is dataclasses.MISSING:
                required.append(field.name)
            members[field.name] = shape
        return record(members, required, False, lambda made: hint(**made))

    def _typed_dict(self, hint: Any) -> Shape:
        members: Dict[str, Shape] = {}
        required: List[str] = []
        for name, each in hints_of(hint).items():
            is_required = name in hint.__required_keys__
            # By name: before Python 3.11 they come from typing_extensions.
            qualifier = getattr(typing.get_origin(each), "_name", "")
            while qualifier in ("Required", "NotRequired", "ReadOnly"):
                is_required = {"Required": True, "NotRequired": False}.get(qualifier, is_required)
                each = typing.get_args(each)[0]
                qualifier = getattr(typing.get_origin(each), "_name", "")
            members[name] = self.shape_of(each)
            if is_required:
                required.append(name)
        # A dict that a tool returns may have more members.
        return record(members, required, self._is_output, None)

    def _named_tuple(self, hint: Any) -> Shape:
        hints = hints_of(hint)
        items = [self.shape_of(hints.get(name, Any)).noting(title=name) for name in hint._fields]
        return fixed_array(items, len(items) - len(hint._field_defaults), hint)

    # --- pydantic, if the tool uses it ---

    def _pydantic(self, hint: Any) -> Shape:
        pydantic: Any = sys.modules.get("pydantic")
        if pydantic is None:
            raise Unfit(f"{_shown(hint)} can't be checked without pydantic; import pydantic")
        try:
            schema, decode = self._by_pydantic(pydantic, hint)
        except Exception as why:  # the hooks of a model can raise anything
            raise Unfit(f"pydantic has no schema for {_shown(hint)}: {why}") from None
        return Shape(self._adopted(schema), decode)

    def _by_pydantic(self, pydantic: Any, hint: Any) -> Tuple[Schema, Decode]:
        # A model accepts its aliases, but brig dumps it with its own names.
        by_alias = not self._is_output
        if hasattr(hint, "parse_obj") and not hasattr(hint, "model_json_schema"):  # version 1
            schema = hint.schema(by_alias=by_alias, ref_template="#/$defs/{model}")
            return schema, validated(hint.parse_obj)
        adapter = pydantic.TypeAdapter(hint)
        mode = "serialization" if self._is_output else "validation"
        # As JSON, because a strict model takes a date from JSON's strings only.
        return adapter.json_schema(by_alias=by_alias, mode=mode), validated(
            lambda value: adapter.validate_json(json.dumps(value))
        )

    def _adopted(self, schema: Schema) -> Schema:
        """Makes a schema with its own $defs a part of this one."""
        rest = dict(schema)
        inner = {**rest.pop("definitions", {}), **rest.pop("$defs", {})}
        names = {name: self._new_name(name) for name in inner}
        for name, each in inner.items():
            self._definitions[names[name]] = cleaned(each, names)
        made: Schema = cleaned(rest, names)
        return made


def _value_of(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _shown(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _advice(hint: Any) -> str:
    return (
        f"{_shown(hint)} has no JSON form that brig can check; use str, int, float, bool, bytes,"
        " list, dict, tuple, Literal, an Enum, a dataclass or a TypedDict, or Any for any value"
    )

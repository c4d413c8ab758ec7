"""Makes a JSON Schema from the type hints of a function, and the function's arguments from JSON.

A schema uses only the keywords that brig checks (src/json/schema.h lists them). The host checks the
arguments with it. Then they are turned into what the hints say: a base64 string into bytes, an
object into a dataclass.
"""

from __future__ import annotations

import functools
import inspect
import typing
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from brig._docstring import parameter_texts, summary
from brig._errors import ConfigError
from brig._hints import hints_of, Model
from brig._leaves import type_name
from brig._shapes import Decode, Schema, Shape, Unfit, with_default


class Signature:
    """The schemas of a tool, and how its arguments are bound to its parameters.

    output_schema is None if the function has no return annotation, or one that has no schema or is
    None.
    """

    def __init__(self, description: str, is_async: bool) -> None:
        self.input_schema: Schema = {}
        self.output_schema: Optional[Schema] = None
        self.description = description
        self.is_async = is_async
        self._decoders: List[Tuple[str, Decode]] = []  # for the parameters that need one
        self._positional: List[Tuple[str, Any]] = []  # name and default of positional-only ones
        self._names: Set[str] = set()
        self._decode_other: Optional[Decode] = None  # for **kwargs

    def bind(self, arguments: Dict[str, Any]) -> Tuple[List[Any], Dict[str, Any]]:
        """Returns the positional and the keyword arguments, for arguments that fit input_schema.

        Raises ValueError with the parameter's name for a wrong value that the schema can't detect.
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
    """Returns the signature of a tool. `description` replaces the docstring's first paragraph.

    Raises ConfigError if a parameter has no schema.
    """
    called: Any = function
    while isinstance(called, functools.partial):
        called = called.func
    written = inspect.unwrap(called)  # the function behind decorators
    where = f"tool '{getattr(written, '__name__', type(written).__name__)}'"
    if inspect.isclass(written):
        raise ConfigError(f"{where}: a class can't be a tool; use a function that makes one")
    if not inspect.isroutine(written):  # an object with a __call__
        called, written = type(called).__call__, type(written).__call__
    try:
        parameters = list(inspect.signature(function).parameters.values())
        hints = hints_of(written)
    except (ValueError, TypeError, Unfit) as why:
        raise ConfigError(f"{where}: {why}") from None
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    doc = inspect.getdoc(written) or ""
    made = Signature(
        summary(doc) if description is None else description, inspect.iscoroutinefunction(called)
    )
    _add_parameters(made, parameters, hints, parameter_texts(doc), where)
    made.output_schema = _output_schema(hints.get("return", inspect.Parameter.empty))
    return made


def _add_parameters(
    made: Signature,
    parameters: List[inspect.Parameter],
    hints: Dict[str, Any],
    texts: Dict[str, str],
    where: str,
) -> None:
    model = Model(is_output=False)
    properties: Dict[str, Schema] = {}
    required: List[str] = []
    others: Any = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        name = parameter.name
        try:
            shape = _parameter_shape(model, parameter, hints.get(name, Any))
        except Unfit as why:
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


def _parameter_shape(model: Model, parameter: inspect.Parameter, hint: Any) -> Shape:
    if type_name(type(parameter.default)) == "pydantic.FieldInfo":
        raise Unfit("write Annotated[type, Field(...)], not a Field(...) as the default")
    return with_default(model.shape_of(hint), parameter.default)


def _output_schema(hint: Any) -> Optional[Schema]:
    model = Model(is_output=True)
    if hint in (inspect.Parameter.empty, type(None), Any, typing.NoReturn):
        return None
    try:
        schema = model.shape_of(hint).schema
    except Unfit:
        return None
    return {**schema, **model.definitions()} or None


def _decoded(name: str, decode: Decode, value: Any) -> Any:
    try:
        return decode(value)
    except ValueError as why:
        raise ValueError(f"argument '{name}': {why}") from why


def _taken(keywords: Dict[str, Any], name: str, default: Any) -> Any:
    value = keywords.pop(name, default)
    if value is inspect.Parameter.empty:
        raise ValueError(f"argument '{name}' is missing")
    return value

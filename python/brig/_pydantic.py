"""Recognizes pydantic's models and constraints, and reduces its schemas to what brig checks."""

from __future__ import annotations

import re
import sys
from typing import Any, Dict, Optional

from brig._leaves import type_name
from brig._shapes import Decode, Schema, Unfit

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
_LOOK_AROUND = re.compile(  # look-around and back-references
    r"\(\?(?:[=!]|<[=!])|\\[1-9]"
)


def is_constraint(note: Any) -> bool:
    """Returns whether pydantic checks something for this note.

    A Field with only a description checks nothing.
    """
    if type_name(type(note)).partition(".")[0] not in ("pydantic", "annotated_types"):
        return False
    return bool(getattr(note, "metadata", True) or getattr(note, "discriminator", None))


def note_text(note: Any) -> Optional[str]:
    text = note if isinstance(note, str) else getattr(note, "description", None)
    return text if isinstance(text, str) else None


def validated(validate: Decode) -> Decode:
    def decode(value: Any) -> Any:
        try:
            return validate(value)
        except Exception as why:  # a validator may raise anything
            raise ValueError(_pydantic_text(why)) from why

    return decode


def _pydantic_text(why: Any) -> str:
    """Returns the errors in one line, without the address of pydantic's page about them."""
    if not hasattr(why, "errors"):
        return f"{type(why).__name__}: {why}"
    return "; ".join(": ".join([*map(str, e["loc"]), e["msg"]]) for e in why.errors())


def is_pydantic(kind: type) -> bool:
    hooks = ("__get_pydantic_core_schema__", "__pydantic_core_schema__", "__get_validators__")
    return "pydantic" in sys.modules and any(hasattr(kind, hook) for hook in hooks)


def cleaned(schema: Any, names: Dict[str, str]) -> Any:
    """Returns a schema, or a list of them, without keywords that check nothing.

    `names` has the new names of the definitions that it refers to.
    """
    if isinstance(schema, list):
        return [cleaned(each, names) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made: Schema = {}
    for key, value in schema.items():
        if key in _NOT_NEEDED or key.startswith("x-"):
            continue
        if key in _KEPT:
            made[key] = value
        elif key == "$ref":
            made[key] = f"#/$defs/{names[value.rpartition('/')[2]]}"
        elif key == "pattern":
            # RE2 has no look-around. No check is lost, since the model tries its own pattern again.
            if not _LOOK_AROUND.search(value):
                made[key] = value
        elif key in _SCHEMAS_BY_NAME:
            made[key] = {name: cleaned(each, names) for name, each in value.items()}
        elif key in _SCHEMAS:
            # Version 1 writes tuples as they were before 2020-12.
            made["prefixItems" if key == "items" and isinstance(value, list) else key] = cleaned(
                value, names
            )
        else:
            raise Unfit(
                f"pydantic's schema has the keyword '{key}', which brig does not check; use a"
                " simpler type"
            )
    return made

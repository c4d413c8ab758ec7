"""From the hints of a function to its JSON Schema, and from JSON arguments to its own."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import functools
import pathlib
import re
import subprocess
import sys
import typing
import uuid
from typing import (
    Annotated,
    Any,
    Dict,
    FrozenSet,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

import pytest

from brig._errors import ConfigError
from brig._schema import signature_of


def property_of(hint, **annotations):
    def tool(x):
        pass

    tool.__annotations__ = {"x": hint, **annotations}
    return signature_of(tool).input_schema["properties"]["x"]


def bound(hint, value):
    def tool(x):
        pass

    tool.__annotations__ = {"x": hint}
    positional, keywords = signature_of(tool).bind({"x": value})
    assert positional == []
    return keywords["x"]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Planet(enum.Enum):
    EARTH = (1, 2)


class Nobody(enum.Enum):
    pass


@dataclasses.dataclass
class Address:
    street: str
    number: int = 1
    tags: List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Person:
    name: str
    home: Address
    born: Optional[datetime.date] = None
    key: str = dataclasses.field(init=False, default="k")


@dataclasses.dataclass
class Node:
    value: int
    next: Optional[Node] = None
    children: List[Node] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Husband:
    wife: Wife


@dataclasses.dataclass
class Wife:
    husband: Optional[Husband]


@dataclasses.dataclass
class Even:
    number: int

    def __post_init__(self):
        assert self.number % 2 == 0, "it is odd"


@dataclasses.dataclass
class Implicit:
    parent: Implicit = None


class Movie(typing.TypedDict):
    title: str
    year: int


class PartialMovie(Movie, total=False):
    rating: float
    when: datetime.date


class Point(typing.NamedTuple):
    x: int
    y: int = 0


class Note:
    def __init__(self, description):
        self.description = description


UserId = typing.NewType("UserId", int)

ANY_ARRAY = {"type": "array"}
INTEGER = {"type": "integer"}
INTEGERS = {"type": "array", "items": INTEGER}
STRING = {"type": "string"}
DATE = {"type": "string", "format": "date"}
BASE64 = {"type": "string", "contentEncoding": "base64"}
ADDRESS = {
    "type": "object",
    "properties": {
        "street": STRING,
        "number": {"type": "integer", "default": 1},
        "tags": {"type": "array", "items": STRING},
    },
    "required": ["street"],
    "additionalProperties": False,
}

SCHEMAS = [
    (str, STRING),
    (int, INTEGER),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (bytes, BASE64),
    (bytearray, BASE64),
    (None, {"type": "null"}),
    (Any, {}),
    (object, {}),
    (Optional[int], {"anyOf": [INTEGER, {"type": "null"}]}),
    (Optional[Any], {}),
    (Optional[Literal["a", None]], {"enum": ["a", None]}),
    (Union[int, str, None], {"anyOf": [INTEGER, STRING, {"type": "null"}]}),
    (list, ANY_ARRAY),
    (List, ANY_ARRAY),
    (List[Any], ANY_ARRAY),
    (List[int], INTEGERS),
    (list[int], INTEGERS),
    (Sequence[int], INTEGERS),
    (typing.Iterable[int], INTEGERS),
    (dict, {"type": "object"}),
    (Dict, {"type": "object"}),
    (Dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (Mapping[str, Any], {"type": "object"}),
    (dict[str, List[int]], {"type": "object", "additionalProperties": INTEGERS}),
    (tuple, ANY_ARRAY),
    (Tuple, ANY_ARRAY),
    (Tuple[int, ...], INTEGERS),
    (
        Tuple[int, str],
        {
            "type": "array",
            "prefixItems": [INTEGER, STRING],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    (Tuple[()], {"type": "array", "items": False, "minItems": 0, "maxItems": 0}),
    (Set[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
    (frozenset, {"type": "array", "uniqueItems": True}),
    (FrozenSet[str], {"type": "array", "items": STRING, "uniqueItems": True}),
    (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
    (Literal[1, "a", True, None], {"enum": [1, "a", True, None]}),
    (Literal[Color.RED], {"enum": ["red"], "type": "string"}),
    (Color, {"enum": ["red", "blue"], "type": "string"}),
    (Level, {"enum": [1, 2], "type": "integer"}),
    (Access, {"type": "integer", "minimum": 0, "maximum": 3}),
    (Address, ADDRESS),
    (
        Person,
        {
            "type": "object",
            "properties": {
                "name": STRING,
                "home": ADDRESS,
                "born": {"anyOf": [DATE, {"type": "null"}], "default": None},
            },
            "required": ["name", "home"],
            "additionalProperties": False,
        },
    ),
    (
        PartialMovie,
        {
            "type": "object",
            "properties": {
                "title": STRING,
                "year": INTEGER,
                "rating": {"type": "number"},
                "when": DATE,
            },
            "required": ["title", "year"],
            "additionalProperties": False,
        },
    ),
    (
        Point,
        {
            "type": "array",
            "prefixItems": [{"type": "integer", "title": "x"}, {"type": "integer", "title": "y"}],
            "items": False,
            "minItems": 1,
            "maxItems": 2,
        },
    ),
    (UserId, INTEGER),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.date, DATE),
    (datetime.time, {"type": "string", "format": "time"}),
    (datetime.timedelta, {"type": "number", "title": "seconds"}),
    (decimal.Decimal, {"type": "string", "format": "decimal"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (pathlib.Path, {"type": "string", "format": "path"}),
    (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
    (Annotated[int, 7, Note("how many")], {"type": "integer", "description": "how many"}),
    (Annotated[int, 7, Note(None)], INTEGER),
    (List[Annotated[str, "one"]], {"type": "array", "items": {**STRING, "description": "one"}}),
]


@pytest.mark.parametrize("hint, schema", SCHEMAS, ids=lambda value: str(value)[:50])
def test_hints_become_schemas(hint, schema):
    assert property_of(hint) == schema


VALUES = [
    (str, "a", "a"),
    (int, 1, 1),
    (int, 1.0, 1),
    (float, 1, 1.0),
    (float, 1.5, 1.5),
    (bytes, "AP8=", b"\0\xff"),
    (bytearray, "YQ==", bytearray(b"a")),
    (Any, {"a": [1]}, {"a": [1]}),
    (Optional[bytes], None, None),
    (Optional[bytes], "YQ==", b"a"),
    (Union[int, float], 1.0, 1.0),
    (Union[float, int], 1, 1),
    (Union[int, str], 1.0, 1),
    (Union[datetime.date, str], "2030-01-31", datetime.date(2030, 1, 31)),
    (Union[datetime.date, str], "soon", "soon"),
    (Union[Address, Point, None], {"street": "a"}, Address("a")),
    (Union[Address, Point, None], [1, 2], Point(1, 2)),
    (Union[Dict[str, int], Address], {"street": "a"}, Address("a")),
    (Union[bool, int], True, True),
    (List[int], [1, 2.0, 3], [1, 2, 3]),
    (List[float], [1, 2.5], [1.0, 2.5]),
    (List[bytes], ["YQ=="], [b"a"]),
    (Dict[str, bytes], {"a": "YQ=="}, {"a": b"a"}),
    (tuple, [1, "a"], (1, "a")),
    (Tuple[int, ...], [1, 2], (1, 2)),
    (Tuple[int, bytes], [1, "YQ=="], (1, b"a")),
    (Tuple[()], [], ()),
    (Set[int], [1, 2], {1, 2}),
    (FrozenSet[bytes], ["YQ=="], frozenset([b"a"])),
    (typing.AbstractSet[int], [1], {1}),
    (Literal[1, True], True, True),
    (Literal[1, True], 1.0, 1),
    (Literal[Color.RED, None], "red", Color.RED),
    (Color, "blue", Color.BLUE),
    (Level, 2, Level.HIGH),
    (Access, 3, Access.READ | Access.WRITE),
    (
        Person,
        {"name": "Ada", "home": {"street": "a", "number": 2.0}, "born": "1815-12-10"},
        Person("Ada", Address("a", 2), datetime.date(1815, 12, 10)),
    ),
    (Node, {"value": 1, "next": {"value": 2}}, Node(1, Node(2))),
    (Node, {"value": 1, "children": [{"value": 2, "next": None}]}, Node(1, None, [Node(2)])),
    (
        Husband,
        {"wife": {"husband": {"wife": {"husband": None}}}},
        Husband(Wife(Husband(Wife(None)))),
    ),
    (
        PartialMovie,
        {"title": "a", "year": 1.0, "when": "2030-01-31"},
        {"title": "a", "year": 1, "when": datetime.date(2030, 1, 31)},
    ),
    (Point, [1], Point(1, 0)),
    (Point, [1, 2], Point(1, 2)),
    (UserId, 1.0, 1),
    (datetime.datetime, "2030-01-31T12:00:00", datetime.datetime(2030, 1, 31, 12)),
    (
        datetime.datetime,
        "2030-01-31T12:00:00Z",
        datetime.datetime(2030, 1, 31, 12, tzinfo=datetime.timezone.utc),
    ),
    (datetime.time, "12:00:00", datetime.time(12)),
    (datetime.timedelta, 90, datetime.timedelta(seconds=90)),
    (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
    (uuid.UUID, "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
    (pathlib.Path, "/a", pathlib.Path("/a")),
    (Annotated[bytes, "data"], "YQ==", b"a"),
]


@pytest.mark.parametrize("hint, value, expected", VALUES, ids=lambda value: str(value)[:50])
def test_values_become_what_the_hints_say(hint, value, expected):
    made = bound(hint, value)
    assert made == expected
    assert repr(made) == repr(expected)  # 1 equals 1.0 and True


UNDECODABLE = [
    (bytes, "a b", "argument 'x': 'a b' is not base64"),
    (datetime.date, "tomorrow", "argument 'x': 'tomorrow' is not a date, such as 2030-01-31"),
    (datetime.datetime, "", "argument 'x': '' is not a date and time"),
    (Optional[datetime.date], "tomorrow", "argument 'x': 'tomorrow' is not a date, such as"),
    (Dict[str, List[uuid.UUID]], {"a": ["b"]}, "argument 'x': 'b' is not a UUID"),
    (decimal.Decimal, "ten", "argument 'x': 'ten' is not a decimal number"),
    (datetime.timedelta, 1e300, "argument 'x': OverflowError"),
    (
        Union[datetime.date, int],
        "a",
        "argument 'x': 'a' is not of any of the types that are allowed",
    ),
    (Even, {"number": 1}, "argument 'x': AssertionError: it is odd"),
    (Access, 64, "argument 'x': 64 is not a sum of the flags' values"),
    (Color, "green", "argument 'x': 'green' is not one of the values to choose from"),
    (Color, ["red"], "argument 'x': ['red'] is not one of"),
    (Level, True, "argument 'x': True is not one of"),
    (int, "1", "argument 'x': '1' is not an integer"),
    (int, True, "argument 'x': True is not an integer"),
    (float, True, "argument 'x': True is not a number"),
    (List[int], 1, "argument 'x': 1 is not an array"),
    (Dict[str, int], [], "argument 'x': [] is not an object"),
    (Tuple[int, int], [1], "argument 'x': [1] is not an array of 2 items"),
    (Address, {"number": 1}, "{'number': 1} is not an object with street, number, tags"),
    (Address, {"street": "a", "x": 1}, "is not an object with"),
]


@pytest.mark.parametrize("hint, value, text", UNDECODABLE, ids=lambda value: str(value)[:50])
def test_a_value_that_does_not_decode_names_the_parameter(hint, value, text):
    with pytest.raises(ValueError) as caught:
        bound(hint, value)
    assert text in str(caught.value)


def test_a_long_value_is_not_repeated():
    with pytest.raises(ValueError) as caught:
        bound(datetime.date, "x" * 1_000_000)
    assert len(str(caught.value)) < 200


class Opaque:
    pass


UNFIT = [
    (Opaque, "Opaque has no JSON form"),
    (List[Opaque], "Opaque has no JSON form"),
    (complex, "complex has no JSON form"),
    (typing.Callable[[int], int], "has no JSON form"),
    (Dict[int, str], "are not strings; use Dict[str, ...]"),
    (Planet, "must be a string, a number, a boolean or None"),
    (Nobody, "it has no value to choose"),
    (typing.TypeVar("T"), "has no JSON form"),
    (typing.Generator[int, None, None], "has no JSON form"),
    (Annotated[Opaque, "text"], "Opaque has no JSON form"),
    ([int], "no JSON form"),
    (3, ""),
]


@pytest.mark.parametrize("hint, text", UNFIT, ids=lambda value: str(value)[:50])
def test_a_hint_without_a_schema_is_a_config_error(hint, text):
    with pytest.raises(ConfigError) as caught:
        property_of(hint)
    assert str(caught.value).startswith("tool 'tool': ")
    assert text in str(caught.value)


def test_the_error_names_function_and_parameter_and_what_to_do():
    def connect(host: str, through: Opaque):
        pass

    with pytest.raises(ConfigError) as caught:
        connect.__annotations__["through"] = Opaque
        signature_of(connect)
    text = str(caught.value)
    assert text.startswith("tool 'connect': parameter 'through': Opaque has no JSON form")
    assert "use str, int" in text


def test_a_name_that_only_type_checkers_know_is_a_config_error():
    def tool(x: Missing):  # noqa: F821
        pass

    with pytest.raises(ConfigError) as caught:
        signature_of(tool)
    assert str(caught.value).startswith("tool 'tool': ")
    assert "'Missing' is not defined; define or import the name" in str(caught.value)


# --- the whole signature ---


def test_a_plain_function_is_described():
    def add(a: int, b: int = 1) -> int:
        """Adds two integers."""

    made = signature_of(add)
    assert made.input_schema == {
        "type": "object",
        "properties": {"a": INTEGER, "b": {"type": "integer", "default": 1}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert made.output_schema == INTEGER
    assert made.description == "Adds two integers."
    assert made.is_async is False
    assert made.bind({"a": 2}) == ([], {"a": 2})


def test_a_given_description_takes_the_place_of_the_docstrings():
    def tool():
        """Not this."""

    assert signature_of(tool, description="This.").description == "This."
    assert signature_of(tool, description="").description == ""


def test_a_parameter_without_a_hint_takes_anything():
    def tool(x, y=2):
        pass

    made = signature_of(tool)
    assert made.input_schema["properties"] == {"x": {}, "y": {"default": 2}}
    assert made.output_schema is None


def test_a_default_makes_a_parameter_optional():
    marker = object()

    def tool(
        a: int = 1,
        b: Any = marker,
        c: Color = Color.RED,
        d: bytes = b"a",
        e: Tuple[int, int] = (1, 2),
    ):
        pass

    schema = signature_of(tool).input_schema
    assert schema["required"] == []
    properties = schema["properties"]
    assert properties["a"]["default"] == 1
    assert "default" not in properties["b"]
    assert properties["c"]["default"] == "red"
    assert properties["d"]["default"] == "YQ=="
    assert properties["e"]["default"] == [1, 2]


def test_a_default_of_none_makes_null_allowed():
    def tool(a: int = None, b: Optional[int] = None, c: Any = None, d: Literal["x", None] = None):
        pass

    made = signature_of(tool)
    nullable = {"anyOf": [INTEGER, {"type": "null"}], "default": None}
    assert made.input_schema["properties"] == {
        "a": nullable,
        "b": nullable,
        "c": {"default": None},
        "d": {"enum": ["x", None], "default": None},
    }
    assert made.bind({"a": None, "b": 1.0}) == ([], {"a": None, "b": 1})


def test_more_keywords_are_passed_on_to_kwargs():
    def anything(a: int, **others):
        pass

    def dates(a: int, **others: datetime.date):
        pass

    assert signature_of(anything).input_schema["additionalProperties"] is True
    assert signature_of(anything).bind({"a": 1, "b": [2]}) == ([], {"a": 1, "b": [2]})
    made = signature_of(dates)
    assert made.input_schema["additionalProperties"] == DATE
    assert "others" not in made.input_schema["properties"]
    assert made.bind({"a": 1, "b": "2030-01-31"}) == ([], {"a": 1, "b": datetime.date(2030, 1, 31)})
    with pytest.raises(ValueError, match="argument 'b': "):
        made.bind({"a": 1, "b": "soon"})


def test_positional_only_parameters_are_passed_by_position():
    def tool(a: int, b: bytes = b"x", c: int = 3, /, d: int = 4, **others):
        return a, b, c, d, others

    made = signature_of(tool)
    assert made.bind({"a": 1}) == ([1, b"x", 3], {})
    assert made.bind({"a": 1, "c": 5, "d": 6, "e": 7}) == ([1, b"x", 5], {"d": 6, "e": 7})
    positional, keywords = made.bind({"a": 1.0, "b": "YQ=="})
    assert tool(*positional, **keywords) == (1, b"a", 3, 4, {})
    with pytest.raises(ValueError, match="argument 'a' is missing"):
        made.bind({})


def test_star_arguments_and_self_are_skipped():
    class Kit:
        def method(self, a: int, *rest: Opaque, b: int):
            pass

        @classmethod
        def made(cls, a: int):
            pass

    for function in (Kit.method, Kit().method):
        assert list(signature_of(function).input_schema["properties"]) == ["a", "b"]
    assert list(signature_of(Kit.made).input_schema["properties"]) == ["a"]


def test_binding_leaves_the_given_arguments_alone():
    def tool(x: bytes, **others):
        pass

    arguments = {"x": "YQ=="}
    signature_of(tool).bind(arguments)
    assert arguments == {"x": "YQ=="}


def test_a_list_that_needs_no_decoding_is_not_copied():
    for hint, value in ((List[int], [1, 2]), (List[str], ["a"]), (List[float], [1.5])):
        assert bound(hint, value) is value


def test_async_functions_are_told():
    async def tool():
        pass

    class Callable:
        async def __call__(self):
            pass

    @functools.wraps(tool)
    def runs_it():
        pass

    assert signature_of(tool).is_async
    assert signature_of(functools.partial(tool)).is_async
    assert signature_of(Callable()).is_async
    assert not signature_of(runs_it).is_async


def test_partial_functions_decorated_ones_and_callable_objects_are_read():
    def add(a: int, b: bytes, c: int = 1) -> int:
        """Adds."""

    @functools.wraps(add)
    def wrapped(*args, **kwargs):
        pass

    class Adder:
        def __call__(self, a: int, b: bytes, c: int = 1) -> int:
            """Adds."""

    expected = signature_of(add).input_schema
    assert signature_of(wrapped).input_schema == expected
    assert signature_of(Adder()).input_schema == expected
    made = signature_of(functools.partial(add, b=b"x"))
    assert made.description == "Adds."
    assert made.input_schema["required"] == ["a"]
    assert made.input_schema["properties"]["b"] == {**BASE64, "default": "eA=="}


def test_a_class_and_what_has_no_signature_are_refused():
    with pytest.raises(ConfigError, match="tool 'Address': a class can't be a tool"):
        signature_of(Address)
    with pytest.raises(ConfigError, match="tool 'getattr': "):
        signature_of(getattr)


OUTPUTS = [
    (int, INTEGER),
    (Optional[str], {"anyOf": [STRING, {"type": "null"}]}),
    (List[Address], {"type": "array", "items": ADDRESS}),
    (None, None),
    (Any, None),
    (object, None),
    (typing.NoReturn, None),
    (Opaque, None),  # it may have a form that has no schema, as numpy's arrays have
    (List[Opaque], None),
]


@pytest.mark.parametrize("hint, schema", OUTPUTS, ids=str)
def test_the_return_annotation_is_the_output_schema(hint, schema):
    def tool():
        pass

    tool.__annotations__ = {"return": hint}
    assert signature_of(tool).output_schema == schema


def test_an_output_has_all_that_a_result_may_have():
    def person() -> Person:
        pass

    def movie() -> Movie:
        pass

    assert "key" in signature_of(person).output_schema["properties"]
    assert "additionalProperties" not in signature_of(movie).output_schema


@pytest.mark.skipif(sys.version_info < (3, 10), reason="X | Y is new in Python 3.10")
def test_a_union_may_be_written_with_a_bar():
    def tool(a: int | None, b: list[str | int]):
        pass

    properties = signature_of(tool).input_schema["properties"]
    assert properties["a"] == {"anyOf": [INTEGER, {"type": "null"}]}
    assert properties["b"] == {"type": "array", "items": {"anyOf": [STRING, INTEGER]}}
    assert property_of(eval("int | None")) == properties["a"]


@pytest.mark.skipif(sys.version_info >= (3, 10), reason="X | Y is an error before Python 3.10")
def test_a_bar_that_this_python_does_not_know_is_a_config_error():
    def tool(a: int | None):
        pass

    with pytest.raises(ConfigError, match="tool 'tool': a type hint can't be resolved"):
        signature_of(tool)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="NotRequired is new in Python 3.11")
def test_members_of_a_typed_dict_may_be_required_or_not():
    namespace = {"__name__": __name__}
    exec(
        "from __future__ import annotations\n"
        "from typing import *\n"
        "class Late(TypedDict):\n    a: int\n    b: NotRequired[int]\n"
        "class Lax(TypedDict, total=False):\n    a: Required[Annotated[int, 'text']]\n    b: int\n",
        namespace,
    )
    # Their strings are looked up in their module.
    globals().update(Late=namespace["Late"], Lax=namespace["Lax"], NotRequired=typing.NotRequired)
    globals().update(Required=typing.Required)
    assert property_of(namespace["Late"])["required"] == ["a"]
    lax = property_of(namespace["Lax"])
    assert lax["required"] == ["a"]
    assert lax["properties"]["a"] == {"type": "integer", "description": "text"}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement is new in Python 3.12")
def test_a_type_alias_is_what_it_stands_for():
    namespace = {}
    exec("type Ids = list[int]\ntype Tree = dict[str, Tree] | int", namespace)
    assert property_of(namespace["Ids"]) == {"type": "array", "items": INTEGER}
    assert property_of(namespace["Tree"]) == {"$ref": "#/$defs/Tree"}
    assert bound(namespace["Tree"], {"a": {"b": 1.0}}) == {"a": {"b": 1}}


# --- types that hold themselves ---


def test_a_recursive_dataclass_is_a_definition():
    def tool(tree: Node, other: Optional[Node] = None) -> Node:
        pass

    made = signature_of(tool)
    reference = {"$ref": "#/$defs/Node"}
    assert made.input_schema["properties"]["tree"] == reference
    assert made.input_schema["properties"]["other"]["anyOf"][0] == reference
    assert list(made.input_schema["$defs"]) == ["Node"]
    node = made.input_schema["$defs"]["Node"]
    assert node["properties"]["next"] == {"anyOf": [reference, {"type": "null"}], "default": None}
    assert node["properties"]["children"] == {"type": "array", "items": reference}
    assert made.output_schema["$ref"] == "#/$defs/Node"
    assert made.output_schema["$defs"] == made.input_schema["$defs"]


def test_dataclasses_that_hold_each_other_are_resolved():
    schema = property_of(Husband)
    assert schema == {"$ref": "#/$defs/Husband"}

    def tool(wife: Wife, husband: Husband):
        pass

    assert_references_resolve(signature_of(tool).input_schema)


def test_two_recursive_types_of_one_name_get_two_definitions():
    namespace = {"dataclasses": dataclasses, "Optional": Optional}
    exec("@dataclasses.dataclass\nclass Node:\n    other: 'Optional[Node]' = None", namespace)
    other = namespace["Node"]
    other.__module__ = "other_module_of_test"
    sys.modules["other_module_of_test"] = type(sys)("other_module_of_test")
    sys.modules["other_module_of_test"].__dict__.update(namespace)

    def tool(a: Node, b: Any):
        pass

    tool.__annotations__["b"] = other
    made = signature_of(tool)
    assert set(made.input_schema["$defs"]) == {"Node", "Node_2"}
    assert_references_resolve(made.input_schema)
    del sys.modules["other_module_of_test"]


def test_a_recursive_member_may_be_none_by_default():
    assert bound(Implicit, {"parent": {"parent": None}}) == Implicit(Implicit(None))


def assert_references_resolve(schema):
    def walk(part):
        if isinstance(part, dict):
            if "$ref" in part:
                assert part["$ref"].startswith("#/$defs/")
                assert schema["$defs"][part["$ref"][len("#/$defs/") :]]
            for each in part.values():
                walk(each)
        elif isinstance(part, list):
            for each in part:
                walk(each)

    walk(schema)


# --- docstrings ---


def google(a, b, c, **others):
    """Does it
    well.

    And more of it.

    Args:
        a: the first,
            on two lines
        b (Dict[str, Tuple(int)], optional): the second: with a colon

        c: the third
        **others: the rest

    Returns:
        d: nothing
    """


def numpy_style(a, b, c, d):
    """Does it well.

    Parameters
    ----------
    a : int
        the first,
        on two lines
    b, c : {'x', 'y'}, optional
        two at once
    d
        no type

    Returns
    -------
    e : int
        nothing
    """


def sphinx(a, b, c):
    """Does it well.
    :param a: the first,
        on two lines
    :param int b: the second
    :type c: int
    :param c: the third
    :returns: nothing
    :param unknown: not there
    """


def test_googles_docstrings_describe_the_parameters():
    made = signature_of(google)
    assert made.description == "Does it well."
    assert made.input_schema["properties"] == {
        "a": {"description": "the first, on two lines"},
        "b": {"description": "the second: with a colon"},
        "c": {"description": "the third"},
    }


def test_numpys_docstrings_describe_the_parameters():
    made = signature_of(numpy_style)
    assert made.description == "Does it well."
    assert made.input_schema["properties"] == {
        "a": {"description": "the first, on two lines"},
        "b": {"description": "two at once"},
        "c": {"description": "two at once"},
        "d": {"description": "no type"},
    }


def test_sphinx_docstrings_describe_the_parameters():
    made = signature_of(sphinx)
    assert made.description == "Does it well."
    assert made.input_schema["properties"] == {
        "a": {"description": "the first, on two lines"},
        "b": {"description": "the second"},
        "c": {"description": "the third"},
    }


def test_an_annotation_describes_better_than_the_docstring():
    def tool(a: Annotated[int, "annotated"]):
        """Does it.

        Args:
            a: documented
        """

    assert signature_of(tool).input_schema["properties"]["a"]["description"] == "annotated"


@pytest.mark.parametrize(
    "doc, text",
    [
        (None, ""),
        ("", ""),
        ("\n    Adds.\n    ", "Adds."),
        ("Adds\n    two.\n\n    More.", "Adds two."),
        ("Args:\n    a: only this", ""),
        (":param a: only this", ""),
        ("Adds.\nArgs:\n    a: at once", "Adds."),
    ],
)
def test_the_description_is_the_first_paragraph(doc, text):
    def tool(a):
        pass

    tool.__doc__ = doc
    assert signature_of(tool).description == text


# --- pydantic ---


@pytest.fixture
def pydantic():
    return pytest.importorskip("pydantic", minversion="2")


def test_a_pydantic_model_is_taken_with_its_own_definitions(pydantic):
    class Inner(pydantic.BaseModel):
        title: str = pydantic.Field(description="what it is", examples=["a"])
        number: int = pydantic.Field(gt=0, alias="no")

    class Outer(pydantic.BaseModel):
        inner: Inner
        when: datetime.date
        more: Optional[Outer] = None

    Outer.model_rebuild(_types_namespace={"Outer": Outer, **globals()})

    def tool(a: Any, b: Any, c: Any) -> Any:
        pass

    tool.__annotations__.update(a=Outer, b=List[Outer], c=Inner)
    tool.__annotations__["return"] = Inner
    made = signature_of(tool)
    assert_references_resolve(made.input_schema)
    assert_references_resolve(made.output_schema)
    assert_keywords_are_known(made.input_schema)
    assert made.input_schema["properties"]["a"] == {"$ref": "#/$defs/Outer"}
    inner = made.input_schema["$defs"]["Inner"]
    # A property called title stays, the title of a schema does not.
    assert inner["properties"]["title"] == {
        "type": "string",
        "description": "what it is",
        "examples": ["a"],
    }
    assert inner["properties"]["no"] == {"type": "integer", "exclusiveMinimum": 0}
    assert "number" in made.output_schema["properties"]
    outer = {"inner": {"title": "t", "no": 1}, "when": "2030-01-31"}
    _, keywords = made.bind({"a": outer, "b": [outer], "c": outer["inner"]})
    assert isinstance(keywords["a"], Outer) and keywords["a"] == keywords["b"][0]
    assert keywords["a"].when == datetime.date(2030, 1, 31)
    assert keywords["c"] == Inner(title="t", no=1)
    with pytest.raises(ValueError) as caught:
        made.bind({"a": {"inner": {"title": "t", "no": 0}, "when": "2030-01-31"}})
    assert str(caught.value) == "argument 'a': inner: no: Input should be greater than 0"


def test_a_strict_pydantic_model_takes_what_json_has(pydantic):
    class Strict(pydantic.BaseModel, strict=True):
        when: datetime.date
        pair: Tuple[int, int]

    made = bound(Strict, {"when": "2030-01-31", "pair": [1, 2]})
    assert made.pair == (1, 2)


def test_pydantic_constraints_become_keywords_and_are_checked(pydantic):
    Positive = Annotated[int, pydantic.Field(gt=0, description="how many")]
    assert property_of(Positive) == {
        "type": "integer",
        "exclusiveMinimum": 0,
        "description": "how many",
    }
    assert bound(List[Positive], [1]) == [1]
    with pytest.raises(ValueError, match="argument 'x': Input should be greater than 0"):
        bound(Positive, 0)
    assert property_of(pydantic.HttpUrl)["format"] == "uri"
    assert_keywords_are_known(property_of(Annotated[decimal.Decimal, pydantic.Field(gt=0)]))


def test_a_pydantic_field_with_a_text_only_changes_nothing_else(pydantic):
    hint = Annotated[bytes, pydantic.Field(description="data")]
    assert property_of(hint) == {**BASE64, "description": "data"}
    assert bound(hint, "YQ==") == b"a"


def test_a_pydantic_union_is_told_apart_by_its_discriminator(pydantic):
    class Cat(pydantic.BaseModel):
        kind: Literal["cat"]

    class Dog(pydantic.BaseModel):
        kind: Literal["dog"]

    hint = Annotated[Union[Cat, Dog], pydantic.Field(discriminator="kind")]

    def tool(pet: Any):
        pass

    tool.__annotations__["pet"] = hint
    schema = signature_of(tool).input_schema
    assert_keywords_are_known(schema)
    assert_references_resolve(schema)
    assert bound(hint, {"kind": "dog"}) == Dog(kind="dog")


def test_a_pydantic_dataclass_is_validated(pydantic):
    import pydantic.dataclasses

    @pydantic.dataclasses.dataclass
    class Positive:
        number: int = pydantic.Field(gt=0)

    assert bound(Positive, {"number": 1}).number == 1
    with pytest.raises(ValueError, match="argument 'x': number: Input should be"):
        bound(Positive, {"number": 0})


def test_a_validator_that_raises_anything_is_a_value_error(pydantic):
    class Picky(pydantic.BaseModel):
        x: int

        @pydantic.model_validator(mode="after")
        def check(self):
            raise KeyError("mine")

    with pytest.raises(ValueError, match="argument 'x': KeyError: 'mine'"):
        bound(Picky, {"x": 1})


def test_a_pydantic_keyword_that_brig_does_not_check_is_a_config_error(pydantic):
    class Odd(pydantic.BaseModel):
        model_config = {"json_schema_extra": {"unevaluatedProperties": False}}

    with pytest.raises(
        ConfigError, match="parameter 'x': .* has the keyword 'unevaluatedProperties', which"
    ):
        property_of(Odd)


def test_a_model_without_a_schema_is_a_config_error(pydantic):
    class Holder(pydantic.BaseModel):
        model_config = {"arbitrary_types_allowed": True}
        held: Opaque

    with pytest.raises(ConfigError, match="parameter 'x': pydantic has no schema for .*Holder: "):
        property_of(Holder)


def test_a_pydantic_field_as_a_default_is_a_config_error(pydantic):
    def tool(x: int = pydantic.Field(gt=0)):
        pass

    with pytest.raises(ConfigError, match=r"parameter 'x': write Annotated\[type, Field\(...\)\]"):
        signature_of(tool)


def test_models_of_pydantic_1_are_taken_too():
    pydantic = pytest.importorskip("pydantic.v1")

    number = pydantic.Field(1, alias="no", gt=0)
    Inner = pydantic.create_model("Inner", pair=(Tuple[int, str], ...), number=(int, number))
    Outer = pydantic.create_model("Outer", inner=(Inner, ...))

    def tool(a: Any):
        pass

    tool.__annotations__["a"] = Outer
    made = signature_of(tool)
    assert_references_resolve(made.input_schema)
    assert_keywords_are_known(made.input_schema)
    assert "no" in made.input_schema["$defs"]["Inner"]["properties"]
    _, keywords = made.bind({"a": {"inner": {"pair": [1, "a"], "no": 2}}})
    assert keywords["a"].inner.pair == (1, "a")
    with pytest.raises(ValueError, match="argument 'a': inner: no: "):
        made.bind({"a": {"inner": {"pair": [1, "a"], "no": 0}}})


# --- the schemas are such that brig takes them ---


@functools.lru_cache(maxsize=None)
def known_keywords():
    source = pathlib.Path(__file__).resolve().parents[2] / "src/json/schema_compiler.cc"
    if not source.exists():
        pytest.skip("the source of brig's schema compiler is not there")
    text = source.read_text()
    notes = re.search(r"kNotes\[\] = \{(.*?)\};", text, re.DOTALL).group(1)
    table = text[text.index("> table{") :]
    return {*re.findall(r'"([^"]+)"', notes), *re.findall(r'\{"(\$?\w+)",', table)}


def assert_keywords_are_known(schema):
    if isinstance(schema, bool):
        return
    assert schema.keys() <= known_keywords()
    for key, value in schema.items():
        if key in ("properties", "$defs", "patternProperties"):
            for each in value.values():
                assert_keywords_are_known(each)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for each in value:
                assert_keywords_are_known(each)
        elif key in ("items", "additionalProperties", "not"):
            assert_keywords_are_known(value)


@pytest.mark.parametrize("hint", [hint for hint, _ in SCHEMAS] + [Node, Husband], ids=str)
def test_only_keywords_that_brig_knows_are_used(hint):
    def tool(x):
        pass

    tool.__annotations__ = {"x": hint}
    assert {"type", "properties", "$ref", "default"} <= known_keywords()
    assert_keywords_are_known(signature_of(tool).input_schema)


@pytest.mark.parametrize("hint, value, expected", VALUES, ids=lambda value: str(value)[:50])
def test_the_values_of_these_tests_fit_their_schemas(hint, value, expected):
    jsonschema = pytest.importorskip("jsonschema")
    if not hasattr(jsonschema, "Draft202012Validator"):
        pytest.skip("this jsonschema does not know 2020-12")

    def tool(x):
        pass

    tool.__annotations__ = {"x": hint}
    schema = signature_of(tool).input_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate({"x": value})


def test_importing_it_loads_nothing_that_only_some_hints_need():
    code = """
import sys
sys.path.insert(0, {path!r})
import types
package = sys.modules["brig"] = types.ModuleType("brig")
package.__path__ = [{path!r} + "/brig"]
import brig._schema
def tool(a: int, b: bytes = b"x") -> list: "Does it."
brig._schema.signature_of(tool).bind({{"a": 1}})
unwanted = "datetime decimal uuid pathlib dataclasses numpy pydantic".split()
print([name for name in unwanted if name in sys.modules])
"""
    path = str(pathlib.Path(sys.modules["brig._schema"].__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code.format(path=path)],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout == b"[]\n"

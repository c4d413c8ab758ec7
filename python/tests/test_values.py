"""The JSON form of results, and the lossless one."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import random
import subprocess
import sys
import time
import types
import typing
import uuid

import pytest

from brig._values import (
    MAX_DEPTH,
    dumps,
    pack,
    pack_arguments,
    to_json,
    unpack,
    unpack_arguments,
)

UTC = datetime.timezone.utc


class Color(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Name(str, enum.Enum):
    ADA = "ada"


class Point(typing.NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Person:
    name: str
    born: datetime.date
    friends: list = dataclasses.field(default_factory=list)


def nested(depth, leaf=0):
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


FORMS = [
    (None, None),
    (True, True),
    (3, 3),
    (-(2**63), -(2**63)),
    (2**64 - 1, 2**64 - 1),
    (1234567890123456789, 1234567890123456789),
    (2.5, 2.5),
    ("héllo\0\u2028", "héllo\0\u2028"),
    (b"\0\xff", "AP8="),
    (bytearray(b"ab"), "YWI="),
    (memoryview(b"abcd")[::2], "YWM="),
    (datetime.datetime(2030, 1, 31, 12, tzinfo=UTC), "2030-01-31T12:00:00+00:00"),
    (datetime.date(2030, 1, 31), "2030-01-31"),
    (datetime.time(12, 30), "12:30:00"),
    (datetime.timedelta(minutes=1.5), 90.0),
    (decimal.Decimal("1.10"), "1.10"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (pathlib.Path("/a/b"), "/a/b"),
    (pathlib.PureWindowsPath("a", "b"), "a\\b"),
    (Color.RED, "red"),
    (Color.PAIR, [1, 2]),
    (Level.HIGH, 3),
    (Name.ADA, "ada"),
    (Point(1, 2), [1, 2]),
    ((1, (2,)), [1, [2]]),
    ({7}, [7]),
    (frozenset([b"a"]), ["YQ=="]),
    (
        Person("Ada", datetime.date(1815, 12, 10)),
        {"name": "Ada", "born": "1815-12-10", "friends": []},
    ),
    ({1: "a", 1.5: "b", True: "c", None: "d"}, {"1": "c", "1.5": "b", "null": "d"}),
    ({False: 0, Level.HIGH: 1, Name.ADA: 2}, {"false": 0, "3": 1, "ada": 2}),
    ({2**70: 1}, {str(2**70): 1}),
    (collections.OrderedDict(a=1), {"a": 1}),
    (types.MappingProxyType({"a": (1,)}), {"a": [1]}),
    ({"a": [{"b": {1: (Color.RED, b"x")}}]}, {"a": [{"b": {"1": ["red", "eA=="]}}]}),
    ("[{" * 500, "[{" * 500),
    ("9" * 30, "9" * 30),
    ([[1]] * 500, [[1]] * 500),
    ([{"a": 1}] * 500, [{"a": 1}] * 500),
]


@pytest.mark.parametrize("value, form", FORMS, ids=lambda value: repr(value)[:40])
def test_values_have_their_documented_form(value, form):
    made = to_json(value)
    # True equals 1: the types are compared too.
    assert json.dumps(made) == json.dumps(form)
    assert json.loads(dumps(value)) == form
    assert dumps(value) == dumps(made)


def test_the_text_is_compact_utf8():
    assert dumps({"a": ["é", 1]}) == '{"a":["é",1]}'.encode()


def test_a_form_is_made_of_plain_types_only():
    made = to_json([Name.ADA, Level.HIGH, Point(1, 2), collections.OrderedDict({Name.ADA: 1})])
    assert [type(each) for each in made] == [str, int, list, dict]
    assert [type(key) for key in made[3]] == [str]


class Opaque:
    pass


def refused():
    loop = {"a": []}
    loop["a"].append(loop)
    person = Person("Ada", datetime.date(1815, 12, 10))
    person.friends.append(person)
    return [
        (Opaque(), "the result is an Opaque, which has no JSON form"),
        ([0, 1, 2, {"name": Opaque()}], "holds an Opaque at [3].name, which has no JSON form"),
        ({"a b": [Opaque()]}, "holds an Opaque at ['a b'][0],"),
        ({"x": {1: Opaque()}}, "holds an Opaque at x['1'],"),
        (Person("Ada", 1, [Opaque()]), "holds an Opaque at friends[0],"),
        (1 + 2j, "is a complex,"),
        (Opaque, "is a type,"),
        (Person, "is a type,"),
        ((each for each in ()), "is a generator,"),
        ([math.nan], "holds nan at [0],"),
        ({"a": -math.inf}, "holds -inf at a,"),
        ([2**64], "holds an integer beyond 64 bits at [0],"),
        (-(2**63) - 1, "is an integer beyond 64 bits,"),
        (["x" * 65_530, 2**64], "holds an integer beyond 64 bits at [1],"),
        (["\ud800"], "holds a string with a lone surrogate at [0],"),
        ({"a": {"\ud800": 1}}, "holds a key with a lone surrogate at a,"),
        ([pathlib.Path("/\udcff")], "holds a string with a lone surrogate at [0],"),
        ([{(1, 2): 3}], "holds a key that is a tuple at [0],"),
        ([{math.nan: 3}], "holds a key that is a float at [0],"),
        ({Color.RED: 3}, "is a key that is a Color,"),
        (loop, "holds a dict that holds itself at a[0],"),
        (person, "holds a Person that holds itself at friends[0],"),
        (nested(MAX_DEPTH + 1), f"the result is nested deeper than {MAX_DEPTH}"),
        ([0] * 500 + [nested(MAX_DEPTH)], f"the result is nested deeper than {MAX_DEPTH}"),
        (nested(100_000), f"the result is nested deeper than {MAX_DEPTH}"),
        (Person("Ada", 1, nested(MAX_DEPTH)), f"the result is nested deeper than {MAX_DEPTH}"),
    ]


@pytest.mark.parametrize("value, text", refused(), ids=[text for _, text in refused()])
def test_what_has_no_form_is_named_with_its_place(value, text):
    for write in (to_json, dumps):
        with pytest.raises(ValueError) as caught:
            write(value)
        assert text in str(caught.value)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_the_sentence_is_about_what_it_is_told_to_be():
    for write in (to_json, dumps):
        with pytest.raises(ValueError, match="^the request holds an Opaque at a, which has no"):
            write({"a": Opaque()}, subject="the request")


def test_a_long_place_is_cut():
    with pytest.raises(ValueError, match=r"\.\.\., which has no JSON form$"):
        to_json({"k" * 1000: Opaque()})


def test_the_deepest_allowed_value_is_written():
    assert json.loads(dumps(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    assert to_json(nested(MAX_DEPTH)) == nested(MAX_DEPTH)


def test_the_same_list_twice_is_no_cycle():
    part = [1]
    assert to_json([part, part, {"a": part}]) == [[1], [1], {"a": [1]}]
    assert unpack(pack((part, part))) == ([1], [1])


def test_an_error_in_the_users_code_is_not_hidden():
    class Broken(dict):
        def items(self):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        dumps(Broken(a=1))


def test_numpy_values_become_numbers_and_lists():
    np = pytest.importorskip("numpy")
    value = {
        "f": np.float32(0.5),
        "i": np.int64(-1),
        "u": np.uint64(2**64 - 1),
        "b": np.bool_(True),
        "s": np.str_("x"),
        "y": np.bytes_(b"ab"),
        "zero": np.array(7),
        "rows": np.arange(4).reshape(2, 2),
        "texts": np.array(["a", "b"]),
        "mixed": np.array([1, "a", None, datetime.date(2030, 1, 31)], dtype=object),
        "time": np.datetime64("2030-01-31T12:00:00.000000001"),
        "span": np.timedelta64(1500, "ms"),
        "times": np.array(["2030-01-31", "NaT"], dtype="datetime64[ns]"),
    }
    expected = {
        "f": 0.5,
        "i": -1,
        "u": 2**64 - 1,
        "b": True,
        "s": "x",
        "y": "YWI=",
        "zero": 7,
        "rows": [[0, 1], [2, 3]],
        "texts": ["a", "b"],
        "mixed": [1, "a", None, "2030-01-31"],
        "time": "2030-01-31T12:00:00",
        "span": 1.5,
        "times": ["2030-01-31T00:00:00", None],
    }
    assert to_json(value) == expected
    for key, each in value.items():
        assert json.loads(dumps(each)) == expected[key], key
    infinite = np.array([np.inf])
    for bad in (np.longdouble(1), np.complex64(1j), np.array([1j]), np.float64("nan"), infinite):
        with pytest.raises(ValueError, match="no JSON form"):
            dumps([bad])


@pytest.mark.parametrize("module", ["pydantic", "pydantic.v1"])
def test_pydantic_models_are_dumped(module):
    pydantic = pytest.importorskip(module)

    Inner = pydantic.create_model("Inner", when=(datetime.date, ...))
    Outer = pydantic.create_model("Outer", inner=(Inner, ...), ratio=(float, 0.5))
    value = Outer(inner=Inner(when=datetime.date(2030, 1, 31)))
    expected = {"inner": {"when": "2030-01-31"}, "ratio": 0.5}
    assert to_json([value]) == [expected]
    assert json.loads(dumps(value)) == expected
    with pytest.raises(ValueError, match=r"holds nan at \[0\].ratio"):
        dumps([Outer(inner=value.inner, ratio=math.nan)])


def test_importing_it_loads_nothing_that_only_some_values_need():
    code = """
import sys
sys.path.insert(0, {path!r})
from brig import _values
_values.dumps({{"a": [1, b"x", {{2}}]}})
unwanted = "datetime decimal uuid pathlib dataclasses numpy pydantic".split()
print([name for name in unwanted if name in sys.modules])
"""
    path = str(pathlib.Path(sys.modules["brig._values"].__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code.format(path=path)],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout == b"[]\n"


# --- pack and unpack ---

LOSSLESS = [
    None,
    True,
    0,
    2**64 - 1,
    -(2**63),
    2**64,
    -(2**63) - 1,
    -(10**5000),
    1.5,
    -0.0,
    math.inf,
    -math.inf,
    "text",
    "\ud800 alone",
    "__type__",
    b"",
    b"\0\xff" * 100,
    bytearray(b"ab"),
    [1, [2]],
    (),
    (1, (2, [3])),
    {1, "a", (1, 2)},
    frozenset([frozenset([1])]),
    {},
    {"a": (1,), "b": {"c": b"d"}},
    {"__type__": "bytes", "value": "YQ=="},
    {"a": {"__type__": 1}},
    {1: "a", "1": "b", (1, 2): "c", None: "d", b"e": "f", 2.5: "g"},
    {"\ud800": 1},
    datetime.datetime(2030, 1, 31, 12, 30, 1, 5),
    datetime.datetime(2030, 1, 31, tzinfo=UTC),
    datetime.datetime(2030, 1, 31, tzinfo=datetime.timezone(datetime.timedelta(minutes=-210))),
    datetime.date.min,
    datetime.time(1, 2, 3, 4),
    datetime.time(1, tzinfo=UTC),
    datetime.timedelta(days=-1, microseconds=1),
    datetime.timedelta.max,
    decimal.Decimal("1.10"),
    decimal.Decimal("-Infinity"),
    decimal.Decimal("1E+999"),
    uuid.UUID(int=2**128 - 1),
    pathlib.Path("/a/b c"),
    pathlib.Path("/\udcff"),
    1 + 2j,
    complex(-math.inf, -0.0),
    range(0, 10, 3),
    range(-(2**70), 2**70),
    [{"x": [(b"a", {1: {2}})]}],
]


def exactly(value):
    """Tells 1 from True and 0.0 from -0.0, and [] from ()."""
    if isinstance(value, dict):
        return dict, sorted(repr((exactly(key), exactly(each))) for key, each in value.items())
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(repr(exactly(each)) for each in value)
    if isinstance(value, (list, tuple)):
        return type(value), [exactly(each) for each in value]
    if isinstance(value, int) and abs(value) >= 2**64:
        return type(value), hex(value)
    return type(value), repr(value)


@pytest.mark.parametrize("value", LOSSLESS, ids=lambda value: repr(exactly(value))[:50])
def test_plain_data_comes_back_as_it_was(value):
    text = json.dumps(pack(value), allow_nan=False)
    text.encode()
    assert exactly(unpack(json.loads(text))) == exactly(value)


def test_not_a_number_comes_back():
    assert math.isnan(unpack(json.loads(json.dumps(pack([math.nan]), allow_nan=False)))[0])


def test_the_tag_is_as_documented():
    assert pack(b"a") == {"__type__": "bytes", "value": "YQ=="}
    assert pack((1, 2)) == {"__type__": "tuple", "value": [1, 2]}


def test_what_is_no_plain_data_is_packed_in_its_json_form():
    assert unpack(pack(Person("Ada", datetime.date(1815, 12, 10)))) == {
        "name": "Ada",
        "born": "1815-12-10",
        "friends": [],
    }
    assert pack(Color.RED) == "red"
    assert unpack(pack(Color.PAIR)) == (1, 2)
    assert unpack(pack(Point(1, 2))) == (1, 2)
    assert unpack(pack(collections.defaultdict(list, {(1,): [2]}))) == {(1,): [2]}
    assert pack(pathlib.PureWindowsPath("a")) == "a"


def test_a_dataclass_with_a_member_like_the_tag_is_not_taken_for_one():
    made = dataclasses.make_dataclass("Made", [("__type__", str), ("value", str)])
    assert unpack(pack(made("bytes", "YQ=="))) == {"__type__": "bytes", "value": "YQ=="}


def test_pack_names_the_place_of_what_it_can_not_take():
    with pytest.raises(ValueError, match=r"^the value holds an Opaque at \[0\].a, which has no"):
        pack([{"a": Opaque()}])
    with pytest.raises(ValueError, match=r"at \['\(1, 2\)'\]\[0\],"):
        pack({(1, 2): [Opaque()]})
    loop = []
    loop.append((loop,))
    with pytest.raises(ValueError, match="holds itself"):
        pack(loop)


def test_what_pack_makes_is_never_deeper_than_json_may_be():
    value = ()
    with pytest.raises(ValueError, match="nested deeper"):
        for _ in range(MAX_DEPTH):
            value = (value,)
            packed = pack(value)
            assert unpack(packed) == value
    assert json.dumps(packed).count("{") + json.dumps(packed).count("[") <= MAX_DEPTH
    value = {}
    with pytest.raises(ValueError, match="nested deeper"):
        for _ in range(MAX_DEPTH):
            value = {1: value}
            assert unpack(pack(value)) == value


def tag(name, value):
    return {"__type__": name, "value": value}


MALFORMED = [
    tag("os.system", "true"),
    tag("object", None),
    tag("", None),
    tag(None, None),
    tag(["bytes"], "YQ=="),
    tag({"a": 1}, "YQ=="),
    tag("__class__", "x"),
    tag("read", "x"),
    {"__type__": "bytes"},
    {"__type__": "bytes", "valeu": "YQ=="},
    {"__type__": "bytes", "value": "YQ==", "more": 1},
    tag("bytes", None),
    tag("bytes", 1),
    tag("bytes", ["YQ=="]),
    tag("bytes", "YQ"),
    tag("bytes", "YQ==\n"),
    tag("bytes", "Y Q=="),
    tag("bytes", "YR=="),
    tag("bytes", "YQ==YQ=="),
    tag("bytes", "é"),
    tag("bytearray", {}),
    tag("str", "not base64"),
    tag("str", "/w=="),
    tag("int", 1),
    tag("int", "12"),
    tag("int", "0x_1"),
    tag("int", " 0x1"),
    tag("int", "0X1"),
    tag("int", "0x01"),
    tag("int", "1e9"),
    tag("float", "1.5"),
    tag("float", "NaN"),
    tag("float", ["nan"]),
    tag("float", math.nan),
    tag("complex", [1.0]),
    tag("complex", [1.0, 2.0, 3.0]),
    tag("complex", ["1", "2"]),
    tag("complex", "1j"),
    tag("range", [1, 2]),
    tag("range", [1, 2, 0]),
    tag("range", [1, 2, True]),
    tag("range", ["1", "2", "3"]),
    tag("tuple", "abc"),
    tag("tuple", {"a": 1}),
    tag("tuple", None),
    tag("set", [[1]]),
    tag("set", [{}]),
    tag("set", [tag("set", [])]),
    tag("set", [tag("Decimal", "sNaN")]),
    tag("set", "abc"),
    tag("frozenset", [tag("tuple", [[]])]),
    tag("dict", {}),
    tag("dict", [1]),
    tag("dict", ["ab"]),
    tag("dict", [[1]]),
    tag("dict", [[1, 2, 3]]),
    tag("dict", [[[], 1]]),
    tag("datetime", "now"),
    tag("datetime", "2030-01-31"),
    tag("datetime", "2030-02-31T00:00:00"),
    tag("datetime", 0),
    tag("date", "20300131"),
    tag("date", "2030-W01-1"),
    tag("time", "25:00:00"),
    tag("timedelta", [1, 2]),
    tag("timedelta", [1, 2, 3, 4]),
    tag("timedelta", [10**18, 0, 0]),
    tag("timedelta", [1.5, 0, 0]),
    tag("Decimal", "1_0"),
    tag("Decimal", " 1"),
    tag("Decimal", "one"),
    tag("Decimal", [0, [1], 0]),
    tag("Decimal", "1e" + "9" * 100),
    tag("UUID", "{00000000-0000-0000-0000-000000000001}"),
    tag("UUID", "x"),
    tag("pickle", "gASVAgAAAAAAAABLAS4="),
    tag("Path", 1),
    tag("Path", ["/etc"]),
    tag("Path", tag("bytes", "YQ==")),
    object(),
    (1, 2),
    b"a",
    {1: 2},
    [Opaque()],
]


@pytest.mark.parametrize("value", MALFORMED, ids=repr)
def test_what_pack_can_not_have_made_is_refused(value):
    for hostile in (value, [value], {"a": value}, tag("tuple", [value])):
        with pytest.raises(ValueError):
            unpack(hostile)


def test_a_refusal_does_not_repeat_a_long_name():
    with pytest.raises(ValueError) as caught:
        unpack(tag("x" * 10_000, 1))
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize("name", ["tuple", "set", "frozenset", "dict", "list"])
def test_unpack_is_bounded_in_depth(name):
    value = 0
    for _ in range(50_000):
        value = {"list": lambda v: [v], "dict": lambda v: tag("dict", [[v, 1]])}.get(
            name, lambda v: tag(name, [v])
        )(value)
    with pytest.raises(ValueError, match="nested deeper"):
        unpack(value)


def test_a_json_reader_that_knows_nan_does_no_harm():
    assert math.isnan(unpack(json.loads("[NaN]"))[0])


def colliding_integers(count):
    return [hex(each * (2**61 - 1) + 2**64) for each in range(count)]


@pytest.mark.parametrize("count", [2_000, 200_000])
@pytest.mark.parametrize("name", ["set", "dict"])
def test_keys_that_collide_do_not_keep_the_host_busy(name, count):
    keys = [tag("int", text) for text in colliding_integers(count)]
    body = keys if name == "set" else [[key, 1] for key in keys]
    # Many small ones must not do what a large one may not.
    value = [tag(name, body[at : at + 2_000]) for at in range(0, count, 2_000)]
    start = time.process_time()
    try:
        unpack(value)
    except ValueError as why:
        assert count > 2_000 and "too many keys" in str(why)
    assert time.process_time() - start < 5


def test_many_keys_that_are_strings_are_taken():
    value = {f"{each}": each for each in range(100_000)}
    value["__type__"] = 1
    assert unpack(pack(value)) == value
    assert unpack(pack(set(value))) == set(value)


def test_the_order_of_keys_is_kept():
    value = {"outer": [{"z": 1, "a": {"y": 2, "": 3}, "m": 4}], "inner": 1}
    assert repr(unpack(json.loads(json.dumps(pack(value))))) == repr(value)


def through_the_library(form):
    """What the other side gets of it."""
    return json.loads(json.dumps(form, allow_nan=False))


class Reduced:
    def __reduce__(self):
        raise KeyError("no")


shared: typing.List[typing.Any] = [1]
cyclic: typing.List[typing.Any] = []
cyclic.append(cyclic)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"a": 1, "b": (2, b"x")},
        {"b": 1, "a": {"z": 1, "y": 2}},
        {"": 1},
        {"": {"__type__": "pickle", "value": "gASVAgAAAAAAAABLAS4="}},
        {"a": Color.PAIR, "b": Level.HIGH, "c": Name.ADA},
        {"a": Person("Ada", datetime.date(1815, 12, 10)), "b": Point(1, 2)},
        {"a": [collections.OrderedDict(b=1, a=2)]},
    ],
    ids=repr,
)
def test_arguments_arrive_as_they_were_given(arguments):
    made = unpack_arguments(through_the_library(pack_arguments(arguments)))
    assert repr(made) == repr(arguments)
    assert [type(value) for value in made.values()] == [type(v) for v in arguments.values()]


def test_arguments_that_hold_themselves_arrive():
    made = unpack_arguments(through_the_library(pack_arguments({"a": cyclic})))
    assert made["a"][0] is made["a"]


def test_plain_arguments_are_not_pickled():
    assert pack_arguments({"a": [1, "x"], "b": {"c": None}}) == {"a": [1, "x"], "b": {"c": None}}
    assert not pack_arguments({"b": {2, 3}, "a": 1}).modules


def test_pickled_arguments_tell_which_modules_they_need():
    packed = pack_arguments({"a": [Color.RED], "b": decimal.Context()})
    assert packed.modules >= {__name__.partition(".")[0], "decimal"}
    assert "builtins" not in packed.modules
    assert pack_arguments(packed) is packed


@pytest.mark.parametrize("value", [lambda: 1, Reduced(), (i for i in ())], ids=repr)
def test_what_can_not_be_pickled_is_a_value_error(value):
    with pytest.raises(ValueError, match="Error: "):
        pack_arguments({"a": [value]})


def random_document(rng, depth=0):
    kinds = ["leaf"] * 3 + (["list", "dict", "tag"] * 2 if depth < 5 else [])
    kind = rng.choice(kinds)
    if kind == "leaf":
        texts = ["", "nan", "0x10", "YQ==", "2030-01-31", "12:00:00", "1.5", "a", "value"]
        return rng.choice([None, True, 0, -1, 1.5, 2**63, *texts])
    if kind == "list":
        return [random_document(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == "dict":
        names = rng.sample(["a", "b", "value", "__type__"], rng.randrange(4))
        return {name: random_document(rng, depth + 1) for name in names}
    name = rng.choice(
        "bytes bytearray str int float complex range tuple set frozenset dict datetime date time"
        " timedelta Decimal UUID Path pickle list None".split()
    )
    return tag(name, random_document(rng, depth + 1))


def test_whatever_comes_is_unpacked_or_a_value_error():
    rng = random.Random(20300131)
    taken = 0
    for _ in range(20_000):
        document = random_document(rng)
        try:
            value = unpack(document)
        except ValueError:
            continue
        taken += 1
        assert exactly(unpack(pack(value))) == exactly(value)
    assert taken > 1_000

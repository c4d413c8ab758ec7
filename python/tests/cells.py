"""Code of the kinds that models write, for test_cells.py: each must do in run_python what it does
as a script.

One cell begins with a line `#: name`, and perhaps with what differs:
    value EXPRESSION    the last expression, whose value comes back; the script prints it as JSON
    stdin TEXT          as a Python literal
    since 3.N           of Python; or older ones print tracebacks otherwise
    needs MODULE        which must be there
    last line           of stderr alone is compared: the rest names what a script has and a cell has not
    ends                without an answer: by a signal, or by os._exit()
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Optional


@dataclass
class Code:
    name: str
    text: str
    value: str = ""
    stdin: Optional[str] = None
    since: tuple[int, int] = (3, 9)
    needs: str = ""
    last_line: bool = False
    ends: bool = False


def _cells(table: str) -> list[Code]:
    found = []
    for name, body in re.findall(r"^#: (.+)\n((?:(?!#: ).*\n)*)", table, re.MULTILINE):
        cell = Code(name, "")
        lines = body.rstrip("\n").split("\n")
        while lines and lines[0].startswith("#:: "):
            word, _, rest = lines.pop(0)[4:].partition(" ")
            if word == "value":
                cell.value = rest
            elif word == "stdin":
                cell.stdin = ast.literal_eval(rest)
            elif word == "since":
                cell.since = (3, int(rest.partition(".")[2]))
            elif word == "needs":
                cell.needs = rest
            elif word == "last":
                cell.last_line = True
            elif word == "ends":
                cell.ends = True
            else:
                raise ValueError(word)
        cell.text = "\n".join(lines) + "\n"
        found.append(cell)
    return found


CELLS = _cells(r'''
#: hello
print("hello, world")
#: last value
#:: value x + 1
x = 41
#: list value
#:: value [i * i for i in range(5)]
squares = None
#: dict value keeps its order
#:: value {"z": 1, "a": [None, True, 2.5], "m": {"k": "v"}}
pass
#: unicode
#:: value "naïve 日本 😀"
print("ä ö ü 日本語 😀", "\u2028", "tab\there")
#: arithmetic
print(7 // 2, -7 // 2, 7 % 3, -7 % 3, 2 ** 100, 1e308 * 10, 0.1 + 0.2, 5 / 2)
#: integers of any size
print(len(str(2 ** 10000)), 10 ** 20 + 1)
#: floats
#:: value [math.pi, math.factorial(15), math.gcd(12, 18)]
import math
print(math.pi, math.inf, -0.0, math.isclose(0.1 + 0.2, 0.3), math.factorial(20), math.gcd(12, 18))
#: decimal
#:: value str(Decimal(1) / Decimal(7))
from decimal import Decimal, getcontext
getcontext().prec = 30
print(Decimal(1) / Decimal(7), Decimal("0.1") + Decimal("0.2"))
#: fractions
#:: value [Fraction(3, 6).numerator, str(Fraction("3.25"))]
from fractions import Fraction
print(Fraction(1, 3) + Fraction(1, 6), Fraction("3.25"))
#: statistics
#:: value statistics.pstdev([2, 4, 4, 4, 5, 5, 7, 9])
import statistics
print(statistics.mean([1, 2, 3, 4]), statistics.median([5, 1, 3]), round(statistics.stdev([2, 4, 4, 4, 5, 5, 7, 9]), 6))
#: random with a seed
#:: value [random.randint(1, 1000), random.random()]
import random
random.seed(42)
print([random.randint(1, 100) for _ in range(5)], random.sample(range(10), 3), random.random())
#: strings
#:: value sorted(text.lower().split())
text = "The quick brown fox"
print(text.split(), text.upper(), text[::-1], text.replace("quick", "slow"), f"{text!r:>30}", "%05.2f|%s" % (3.14159, "x"))
#: format
#:: value f"{1234567.891:,.2f} {0.25:.0%}"
print(f"{1234567.891:,.2f} {255:#x} {255:08b} {0.25:.0%} {'mid':^9}|{'l':<4}|{3:>4}")
#: bytes
#:: value list(data)
data = "héllo".encode()
print(data, data.hex(), bytes.fromhex("00ff"), bytearray(b"abc")[1], int.from_bytes(b"\x01\x00", "big"))
#: sorting
#:: value [name for name, age in sorted(people, key=lambda p: -p[1])]
people = [("Ann", 30), ("Bob", 25), ("Cid", 30)]
print(sorted(people, key=lambda p: (-p[1], p[0])), max(people, key=lambda p: p[1]))
#: comprehensions
#:: value {str(i): i ** 2 for i in range(4)}
print({i: i ** 2 for i in range(4)}, {c for c in "a"}, [(a, b) for a in range(3) for b in range(a)], sum(i for i in range(10)))
#: unpacking
#:: value [first, rest, a + b + c]
first, *rest = [1, 2, 3, 4]
(a, b), c = (1, 2), 3
print(first, rest, a + b + c, {**{"x": 1}, "y": 2}, [*range(3), *"ab"])
#: collections
#:: value dict(words)
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
Point = namedtuple("Point", "x y")
words = defaultdict(list)
for word in ["apple", "avocado", "bean"]:
    words[word[0]].append(word)
queue = deque([1, 2, 3], maxlen=3)
queue.append(4)
print(Counter("mississippi").most_common(2), dict(words), queue, Point(1, y=2), OrderedDict(a=1))
#: itertools
#:: value ["".join(pair) for pair in it.combinations("abc", 2)]
import itertools as it
print(list(it.permutations("abc", 2))[:3], list(it.accumulate([1, 2, 3])), [(k, len(list(g))) for k, g in it.groupby("aabbb")])
#: functools
#:: value fib(60)
from functools import lru_cache, partial, reduce, wraps
@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(80), reduce(lambda a, b: a * b, [1, 2, 3, 4]), partial(pow, 2)(5), fib.cache_info())
#: operator and heapq
#:: value heapq.nsmallest(2, heap)
import bisect, heapq, operator
heap = [5, 1, 4]
heapq.heapify(heap)
print(heapq.heappop(heap), heapq.nlargest(2, [3, 9, 4]), bisect.bisect([1, 3, 5], 4), operator.itemgetter(1)("ab"))
#: generators
#:: value [each if isinstance(each, str) else list(each) for each in count(1)]
def count(n):
    received = yield "begin"
    for i in range(n):
        received = yield (i, received)
    return "end"
g = count(2)
print(next(g), g.send("a"), g.send("b"))
try:
    next(g)
except StopIteration as stop:
    print("value", stop.value)
#: yield from and close
#:: value list(outer())
def inner():
    try:
        yield 1
        yield 2
    finally:
        print("closed")
def outer():
    yield from inner()
g = outer()
print(next(g))
g.close()
#: decorators
#:: value add(2, b=3)
import functools
def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        print("calling", function.__name__, args, kwargs)
        return function(*args, **kwargs)
    return wrapper
@traced
def add(a, b=1):
    """Adds."""
    return a + b
print(add(1, b=2), add.__doc__, add.__qualname__)
#: closures
#:: value step()
def make():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step
step = make()
step()
print(step(), step())
#: globals
#:: value counter
counter = 0
def bump():
    global counter
    counter += 1
bump(); bump()
print(counter, "counter" in globals(), __name__)
#: classes
#:: value [Dog.make("b").loud, Animal.kinds]
class Animal:
    kinds = 0
    def __init__(self, name):
        self.name = name
        Animal.kinds += 1
    def __repr__(self):
        return f"{type(self).__name__}({self.name!r})"
    @property
    def loud(self):
        return self.name.upper()
    @classmethod
    def make(cls, name):
        return cls(name)
    @staticmethod
    def help():
        return "no"
class Dog(Animal):
    def __eq__(self, other):
        return self.name == other.name
    __hash__ = None
print(Dog.make("rex"), Dog("a") == Dog("a"), Dog("b").loud, Animal.kinds, Dog.help(), Dog.__mro__)
#: metaclass and descriptors
#:: value [Model.tag, m.size, vars(m)]
class Meta(type):
    def __new__(cls, name, bases, names):
        names["tag"] = name.lower()
        return super().__new__(cls, name, bases, names)
class Field:
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, instance, owner):
        return getattr(instance, self.name, None)
    def __set__(self, instance, value):
        setattr(instance, self.name, value * 2)
class Model(metaclass=Meta):
    size = Field()
m = Model()
m.size = 4
print(Model.tag, m.size, vars(m))
#: abstract classes
#:: value Square().area()
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
class Square(Shape):
    def area(self): return 4
print(Square().area())
try:
    Shape()
except TypeError as error:
    print(type(error).__name__)
#: dataclasses
#:: value asdict(Point(1, [2]))
from dataclasses import asdict, dataclass, field, fields, replace
from typing import ClassVar, List
@dataclass(order=True)
class Point:
    x: int
    ys: List[int] = field(default_factory=list, compare=False)
    count: ClassVar[int] = 7
print(Point(1), Point(1) < Point(2), replace(Point(1), x=5), [f.name for f in fields(Point)])
#: frozen dataclass
from dataclasses import dataclass
@dataclass(frozen=True)
class P:
    x: int = 1
p = P()
p.x = 2
#: enum
#:: value [each.value for each in Colour]
from enum import Enum, Flag, IntEnum, auto
class Colour(Enum):
    RED = auto()
    BLUE = "b"
class Perm(Flag):
    R = 1
    W = 2
print(Colour.RED, Colour("b").name, list(Colour), Perm.R in (Perm.R | Perm.W), Colour.__module__)
#: named tuple class
#:: value Row(1)._asdict()
from typing import NamedTuple
class Row(NamedTuple):
    id: int
    name: str = "none"
print(Row(1), Row(2, "x")._replace(id=3), Row.__annotations__["id"] is int)
#: typing
#:: value sorted(get_type_hints(f))
from typing import Any, Dict, Generic, Optional, Protocol, TypeVar, Union, get_type_hints
T = TypeVar("T")
class Box(Generic[T]):
    item: "Optional[T]" = None
class Sized(Protocol):
    def __len__(self) -> int: ...
def f(x: int, y: "Box[int]") -> Union[str, None]: ...
print(sorted(get_type_hints(f)), get_type_hints(f)["y"], get_type_hints(Box)["item"])
#: typed dict
#:: value Movie(name="x")
from typing import TypedDict
class Movie(TypedDict, total=False):
    name: str
print(Movie(name="x"), Movie.__annotations__, Movie.__total__)
#: future annotations
from __future__ import annotations
def f(x: Undefined) -> list[Nothing]: ...
print(f.__annotations__)
#: slots and getattr
class S:
    __slots__ = ("a",)
    def __getattr__(self, name):
        return "no " + name
s = S()
print(s.a, s.b)
s.c = 1
#: match
#:: value [what([]), what({"k": 3}), what(b"s")]
#:: since 3.10
def what(x):
    match x:
        case [a, *rest] if rest: return ("list", a, rest)
        case {"k": v}: return ("dict", v)
        case str() | bytes(): return "text"
        case _: return None
print(what([1, 2]), what({"k": 3}), what("s"), what(1))
#: walrus and positional only
#:: value [n, list(f(1, b=2, c=3))]
def f(a, /, b, *, c): return (a, b, c)
if (n := len("abc")) > 2:
    print(n, f(1, b=2, c=3))
#: context managers
#:: value caught.getvalue()
from contextlib import ExitStack, closing, contextmanager, nullcontext, redirect_stdout, suppress
import io
@contextmanager
def tag(name):
    print(f"<{name}>")
    try:
        yield name
    finally:
        print(f"</{name}>")
with tag("a") as a, tag("b"):
    print(a)
with suppress(KeyError):
    {}["x"]
with redirect_stdout(io.StringIO()) as caught:
    print("hidden")
print(repr(caught.getvalue()))
#: exit stack and errors
from contextlib import ExitStack
with ExitStack() as stack:
    stack.callback(print, "last")
    stack.callback(print, "first")
    raise LookupError("in the stack")
#: exceptions
class Own(ValueError):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code
try:
    raise Own(3)
except ValueError as error:
    print(type(error).__name__, error, error.code, error.args)
else:
    print("no")
finally:
    print("finally")
#: an uncaught exception
def inner(x):
    return 10 / x
def outer(x):
    return inner(x - 1)
print("before")
outer(1)
#: a chained exception
def load():
    try:
        {}["key"]
    except KeyError as error:
        raise RuntimeError("could not load") from error
load()
#: an exception while another is handled
try:
    int("x")
except ValueError:
    [][1]
#: an exception without its context
try:
    int("x")
except ValueError:
    raise TypeError("shown alone") from None
#: an exception of its own class
#:: since 3.11
class Broken(Exception):
    """Own."""
raise Broken("a", 1)
#: an exception group
#:: since 3.11
raise ExceptionGroup("several", [ValueError("a"), TypeError("b")])
#: notes of exceptions
#:: since 3.11
try:
    1 / 0
except ZeroDivisionError as error:
    error.add_note("a note")
    raise
#: assertion
values = [1, 2]
assert len(values) == 3, f"got {len(values)}"
#: recursion
#:: last line
def f(n): return f(n + 1)
f(0)
#: syntax error
#:: last line
print("never")
x = (1,
#: syntax error in a line
if True
    print("x")
#: indentation error
#:: last line
def f():
print("x")
#: name error
print(undefined_name)
#: attribute error
import math
math.squareroot(4)
#: import error
import no_such_module_anywhere
#: import of a name that is not there
from os import no_such_name
#: key and index errors
print({"a": 1}.get("b", 0))
[1, 2, 3][10]
#: unicode error
b"\xff\xfe".decode("utf-8")
#: type error of a call
def f(a, b): ...
f(1, 2, 3)
#: unbound local
def f():
    print(x)
    x = 1
x = 0
f()
#: stop in a generator
def g():
    yield 1
    raise StopIteration
list(g())
#: system exit 0
import sys
print("done")
sys.exit(0)
#: system exit 3
import sys
print("done")
sys.exit(3)
#: system exit with a message
import sys
sys.exit("fatal: no input")
#: exit in a function that is caught
import sys
try:
    sys.exit(5)
except SystemExit as ended:
    print("caught", ended.code)
#: exit and finally
import sys
try:
    sys.exit(4)
finally:
    print("cleaned up")
#: exit of builtins
print("a")
exit(2)
#: keyboard interrupt caught
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
#: os._exit
#:: ends
import os, sys
print("before", flush=True)
os._exit(7)
#: abort
#:: ends
import os
print("before", flush=True)
os.abort()
#: killed by itself
#:: ends
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
#: segmentation fault
#:: ends
import ctypes
ctypes.string_at(0)
#: signals
import os, signal
def handler(number, frame):
    print("got", signal.Signals(number).name)
signal.signal(signal.SIGUSR1, handler)
os.kill(os.getpid(), signal.SIGUSR1)
print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
#: alarm
import signal, time
class Late(Exception): ...
def late(*_): raise Late("too slow")
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.01)
try:
    time.sleep(10)
except Late as error:
    print(error)
#: input
#:: value [name, age]
#:: stdin "Ann\n42\n"
name = input("name? ")
age = int(input())
print(name, age + 1)
#: input without any
print("asking")
answer = input("? ")
#: input to its end
#:: stdin "a b\nc\n\nd"
import sys
for number, line in enumerate(sys.stdin, 1):
    print(number, repr(line))
print(repr(sys.stdin.read()))
#: binary input
#:: stdin "1 2\n3 4\n"
import sys
print(sum(int(x) for x in sys.stdin.buffer.read().split()))
#: stderr
import sys
print("out")
print("err", file=sys.stderr)
sys.stderr.write("more\n")
#: print options
import sys
print(1, 2, 3, sep="-", end="!\n", flush=True)
sys.stdout.write("no newline")
#: stdout as bytes
import sys
sys.stdout.buffer.write(b"raw \xc3\xa4\n")
sys.stdout.flush()
#: bytes that are no text
import os
os.write(1, b"\xff\x00\xfe\n")
#: huge output
for i in range(60_000):
    print(f"line {i:06d} of many")
#: one huge line
print("x" * 3_000_000)
#: much stderr
import sys
for i in range(2000):
    print("warning", i, file=sys.stderr)
#: pretty print
from pprint import pformat, pprint
pprint({"k" * 20: list(range(30)), "b": {"nested": ["x" * 30] * 3}})
#: textwrap
import textwrap
print(textwrap.fill("word " * 30, 40))
print(textwrap.dedent("""
    a
      b
    """))
#: regex
#:: value re.findall(r"\d+%", text)
import re
text = "2024-01-15 error: disk 93% full; 2024-02-01 ok"
print(re.findall(r"(\d{4})-(\d\d)-(\d\d)", text), re.sub(r"\d+", lambda m: f"<{m[0]}>", text), re.split(r"[;:]\s*", text))
print(re.match(r"(?P<y>\d+)-", text).groupdict(), re.compile("A.c", re.I | re.S).search("xa\nC"))
#: json
import json
data = {"name": "x", "list": [1, 2.5, None, True], "ü": "ß"}
text = json.dumps(data, indent=2, sort_keys=True)
print(text, json.loads(text) == data, json.dumps(data, ensure_ascii=False))
json.loads("{broken")
#: csv
#:: value list(csv.DictReader(io.StringIO(file.getvalue())))
import csv, io
file = io.StringIO()
writer = csv.DictWriter(file, ["a", "b"])
writer.writeheader()
writer.writerows([{"a": 1, "b": "x,y"}, {"a": 2, "b": 'q"'}])
print(file.getvalue())
print(list(csv.DictReader(io.StringIO(file.getvalue()))))
#: csv file
#:: value rows
import csv
with open("people.csv", "w", newline="") as file:
    csv.writer(file).writerows([["name", "age"], ["Ann", 30], ["Bob", 25]])
with open("people.csv") as file:
    rows = list(csv.DictReader(file))
print(rows, sum(int(row["age"]) for row in rows) / len(rows))
#: sqlite in memory
import sqlite3
db = sqlite3.connect(":memory:")
db.execute("create table t (id integer primary key, name text, n real)")
db.executemany("insert into t (name, n) values (?, ?)", [("a", 1.5), ("b", 2.5), ("a", 3)])
db.commit()
for row in db.execute("select name, count(*), sum(n) from t group by name order by name"):
    print(row)
db.execute("select * from none")
#: sqlite file
import sqlite3
with sqlite3.connect("data.db") as db:
    db.execute("create table t (x)")
    db.execute("insert into t values (1)")
db.close()
print(sqlite3.connect("data.db").execute("select x from t").fetchall())
import os
os.remove("data.db")
#: pickle
import pickle
class Thing:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return self.x == other.x
    def __reduce__(self): return (Thing, (self.x,))
def function(): return 1
assert pickle.loads(pickle.dumps([Thing(1), function, Thing]))[0] == Thing(1)
with open("thing.pickle", "wb") as file:
    pickle.dump({"t": Thing(2)}, file)
print(pickle.load(open("thing.pickle", "rb"))["t"].x, Thing.__module__)
#: pickle of a lambda
import pickle
try:
    pickle.dumps(lambda: 1)
except Exception as error:
    print(type(error).__name__)
#: copy and deepcopy
#:: value len(other.children)
import copy
class Node:
    def __init__(self, *children): self.children = list(children)
tree = Node(Node(), Node())
other = copy.deepcopy(tree)
print(len(other.children), other.children[0] is tree.children[0], copy.copy(tree).children is tree.children)
#: shelve
import glob, os, shelve
with shelve.open("shelf") as shelf:
    shelf["a"] = [1, 2]
with shelve.open("shelf") as shelf:
    print(dict(shelf))
for name in glob.glob("shelf*"):
    os.remove(name)
#: files
with open("notes.txt", "w") as file:
    file.write("first\nsecond\n")
    print("third", file=file)
with open("notes.txt") as file:
    print(file.readlines(), file.tell())
with open("notes.txt", "rb") as file:
    file.seek(-6, 2)
    print(file.read())
#: files in directories
#:: value sorted(os.listdir("copy"))
import os, pathlib, shutil
base = pathlib.Path("project")
(base / "src").mkdir(parents=True)
(base / "src" / "main.py").write_text("print('hi')\n")
(base / "README.md").write_text("# x\n")
shutil.copytree(base, "copy")
shutil.rmtree("project")
print(sorted(str(p) for p in pathlib.Path("copy").rglob("*")), os.listdir("."), os.path.exists("project"))
#: a file that is not there
from pathlib import Path
print(Path("none").exists())
open("none/at/all.txt")
#: a file of a failed run
with open("partial.txt", "w") as file:
    file.write("half")
raise RuntimeError("after writing")
#: append and rename
import os
for word in ("a", "b"):
    with open("log", "a") as file:
        file.write(word + "\n")
os.rename("log", "log.1")
os.symlink("log.1", "latest")
print(open("latest").read(), os.stat("log.1").st_size, os.path.islink("latest"))
os.remove("latest")
#: temporary files
import os, tempfile
with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "x")
    open(path, "w").write("x")
    print(os.path.exists(path))
print(os.path.exists(path))
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
    file.write("abc")
    file.seek(0)
    print(file.read())
#: zip files
import zipfile
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    info = zipfile.ZipInfo("d/x.txt", (2020, 1, 1, 0, 0, 0))
    archive.writestr(info, "hello " * 100)
with zipfile.ZipFile("a.zip") as archive:
    print(archive.namelist(), len(archive.read("d/x.txt")), archive.testzip())
#: tar and gzip
import gzip, io, os, tarfile
with tarfile.open("a.tar", "w") as archive:
    info = tarfile.TarInfo("x.txt")
    info.size = 3
    archive.addfile(info, io.BytesIO(b"abc"))
print(tarfile.open("a.tar").extractfile("x.txt").read(), gzip.decompress(gzip.compress(b"x" * 100)) == b"x" * 100)
#: hashes and base64
#:: value hashlib.sha256(b"x").hexdigest()
import base64, hashlib, hmac, zlib
print(hashlib.sha256(b"x").hexdigest(), hashlib.md5(b"").hexdigest(), base64.b64encode(b"\x00\xff"), zlib.crc32(b"x"))
print(hmac.new(b"k", b"m", "sha256").hexdigest()[:16])
#: struct and array
#:: value list(struct.unpack("!HH", b"\x01\x02\x03\x04"))
import array, struct
print(struct.pack("<IhB", 1, -2, 3), struct.unpack("!H", b"\x01\x02"), array.array("i", [1, 2]).tobytes())
#: datetime
#:: value [moment.isoformat(), (moment + timedelta(hours=25)).day]
from datetime import date, datetime, timedelta, timezone
moment = datetime(2024, 2, 28, 23, 30, tzinfo=timezone.utc)
print(moment + timedelta(hours=25), moment.isoformat(), date(2024, 3, 1) - date(2024, 2, 1), datetime.strptime("1 Jan 2020", "%d %b %Y"))
print(moment.astimezone(timezone(timedelta(hours=2))), f"{moment:%A %d %B}")
#: calendar and time
import calendar, time
print(calendar.month(2024, 2), time.strftime("%Y", time.gmtime(0)), time.tzname[0])
#: urllib without a network
#:: value parse_qs("a=1&a=2")
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlparse
print(urlparse("http://a.b:80/p?q=1#f"), parse_qs("a=1&a=2"), quote("ä b"), urlencode({"x": "y z"}), urljoin("http://a/b/c", "../d"))
#: html and xml
#:: value [each.get("n") for each in root]
import html, xml.etree.ElementTree as ET
root = ET.fromstring("<a><b n='1'>x</b><b n='2'/></a>")
print([each.get("n") for each in root.findall("b")], ET.tostring(root), html.escape("<&>"), html.unescape("&auml;"))
#: configparser and argparse
import argparse, configparser
config = configparser.ConfigParser()
config.read_string("[a]\nx = 1\ny = %(x)s2\n")
parser = argparse.ArgumentParser(prog="tool")
parser.add_argument("file")
parser.add_argument("-n", type=int, default=3)
print(config["a"]["y"], parser.parse_args(["f", "-n", "5"]))
parser.parse_args(["-n", "x", "f"])
#: argparse of no arguments
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--verbose", action="store_true")
print(parser.parse_args())
#: logging
import logging
logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("app")
log.debug("hidden")
log.info("started %s", 1)
try:
    1 / 0
except ZeroDivisionError:
    log.error("failed")
#: logging to a file and at the end
import logging, logging.handlers, sys
file = logging.FileHandler("app.log")
file.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
late = logging.handlers.MemoryHandler(100, flushLevel=logging.CRITICAL, target=logging.StreamHandler(sys.stdout))
logging.getLogger().addHandler(file)
logging.getLogger().addHandler(late)
logging.warning("twice")
print("main ends")
#: logging of an exception
import logging
try:
    {}["x"]
except KeyError:
    logging.exception("it failed")
#: warnings
import warnings
warnings.warn("be careful")
warnings.warn("old", DeprecationWarning)
print("on")
#: warnings as errors
import warnings
warnings.simplefilter("error")
warnings.warn("now an error")
#: deprecated escapes
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("x", UserWarning)
print(len(caught), caught[0].category.__name__, caught[0].message)
#: traceback module
import traceback
def f(): raise KeyError("x")
try:
    f()
except KeyError:
    print(traceback.format_exc())
    traceback.print_exc()
#: inspect
import inspect
def f(a, b: int = 1, *args, c, **kwargs) -> str:
    """Doc."""
    return "x"
print(inspect.signature(f), inspect.getdoc(f), inspect.getsource(f), inspect.isgeneratorfunction(f))
#: doctest that fails
def double(x):
    """
    >>> double(2)
    4
    >>> double(3)
    7
    """
    return 2 * x
import contextlib, doctest, io
with contextlib.redirect_stdout(io.StringIO()) as said:
    failed = doctest.testmod().failed
print(failed, "Expected:\n    7\nGot:\n    6\n" in said.getvalue())
#: doctest that passes
def double(x):
    """
    >>> double(2)
    4
    """
    return 2 * x
import doctest
print(doctest.testmod())
#: unittest that fails
#:: last line
import unittest
class T(unittest.TestCase):
    def test_good(self): self.assertEqual(1 + 1, 2)
    def test_bad(self): self.assertEqual(1 + 1, 3)
    def test_error(self): raise OSError("x")
unittest.main()
#: unittest that passes
#:: last line
import unittest
class T(unittest.TestCase):
    def setUp(self): self.x = 1
    def test_it(self): self.assertEqual(self.x, 1)
    @unittest.skip("not now")
    def test_skipped(self): ...
if __name__ == "__main__":
    unittest.main(argv=["x"], exit=False)
    print("after")
#: unittest by a runner
import sys, unittest
class T(unittest.TestCase):
    def test_raises(self):
        with self.assertRaises(ZeroDivisionError):
            1 / 0
suite = unittest.defaultTestLoader.loadTestsFromTestCase(T)
result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0, descriptions=False).run(suite) if False else unittest.TestResult()
suite.run(result)
print(result.testsRun, result.wasSuccessful())
#: mock
from unittest.mock import MagicMock, patch
import os
with patch("os.getcwd", return_value="/fake"):
    print(os.getcwd())
m = MagicMock(side_effect=[1, 2])
print(m(), m("x"), m.call_args_list)
m.assert_called_once()
#: timeit
import timeit
print(timeit.timeit("f()", globals=globals() | {"f": lambda: None}, number=10) >= 0)
def g(): return 1
print(timeit.timeit("g()", setup="from __main__ import g", number=3) >= 0)
#: profile
import cProfile, io, pstats
def work(): return sum(range(100))
profile = cProfile.Profile()
profile.runcall(work)
out = io.StringIO()
pstats.Stats(profile, stream=out).print_stats()
print("work" in out.getvalue())
#: threads
#:: value total
import threading
lock, total = threading.Lock(), 0
def add(n):
    global total
    for _ in range(n):
        with lock:
            total += 1
threads = [threading.Thread(target=add, args=(1000,)) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(total, threading.current_thread().name, threading.active_count())
#: threads that are not joined
import threading, time
go = threading.Event()
def work():
    go.wait()
    print("from the thread")
    open("by a thread", "w").write("x")
threading.Thread(target=work).start()
print("main ends")
go.set()
#: a timer
import threading
ended = threading.Event()
threading.Timer(0.02, lambda: (ended.wait(), print("timer"))).start()
print("main ends")
ended.set()
#: a daemon thread
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
print("main ends")
#: an exception in a thread
import threading
t = threading.Thread(target=lambda: 1 / 0)
t.start()
t.join()
print("main ends")
#: thread pool
from concurrent.futures import ThreadPoolExecutor, as_completed
with ThreadPoolExecutor(3) as pool:
    print(list(pool.map(lambda x: x * x, range(5))))
    futures = [pool.submit(int, "x")]
    print(type(futures[0].exception()).__name__)
#: thread pool that is left open
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
for i in range(3):
    pool.submit(print, "task", i)
pool.submit(open, "made", "w")
#: queue
#:: value done
import queue, threading
jobs, done = queue.Queue(), []
def worker():
    while (job := jobs.get()) is not None:
        done.append(job * 2)
        jobs.task_done()
t = threading.Thread(target=worker)
t.start()
for i in range(5): jobs.put(i)
jobs.join()
jobs.put(None)
t.join()
print(done)
#: thread locals and conditions
import threading
local, ready, items = threading.local(), threading.Condition(), []
def consume():
    local.x = 2
    with ready:
        ready.wait_for(lambda: items)
        print("got", items, local.x)
t = threading.Thread(target=consume)
t.start()
local.x = 1
with ready:
    items.append("item")
    ready.notify()
t.join()
print(local.x)
#: atexit
import atexit
atexit.register(print, "registered first")
@atexit.register
def bye():
    print("bye")
    open("left at exit", "w").write("x")
print("main ends")
#: atexit after an exception
import atexit
atexit.register(print, "still runs")
raise ValueError("boom")
#: atexit and exit
import atexit, sys
atexit.register(print, "still runs")
sys.exit(9)
#: finalizers
import weakref
class C: ...
c = C()
weakref.finalize(c, print, "finalized")
d = C()
weakref.finalize(d, print, "at the end")
del c
print("main ends")
#: temporary directory that is left
import os, tempfile
kept = tempfile.TemporaryDirectory(dir=".", prefix="scratch")
open(os.path.join(kept.name, "x"), "w").write("x")
print(len(os.listdir(".")))
#: output of C
import ctypes
libc = ctypes.CDLL(None)
print("python")
libc.printf(b"from C %d\n", 7)
#: multiprocessing pool
#:: since 3.9
import multiprocessing
def square(x): return x * x
if __name__ == "__main__":
    multiprocessing.set_start_method("fork", force=True)
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, range(6)), pool.apply(square, (9,)))
#: multiprocessing pool by default
#:: value sum(squares)
from multiprocessing import Pool
def square(x): return x * x
if __name__ == "__main__":
    with Pool(2) as pool:
        squares = pool.map(square, range(6))
        print(squares, pool.starmap(pow, [(2, 3), (3, 2)]))
#: processes and queues
import multiprocessing
context = multiprocessing.get_context("fork")
def child(queue, n): queue.put(n * 10)
q = context.Queue()
ps = [context.Process(target=child, args=(q, i)) for i in range(2)]
for p in ps: p.start()
print(sorted(q.get() for _ in ps))
for p in ps: p.join()
print([p.exitcode for p in ps])
#: a process that is not joined
import multiprocessing
def child():
    print("from the process", flush=True)
multiprocessing.get_context("fork").Process(target=child).start()
#: a process that fails
#:: last line
import multiprocessing
def child(): raise SystemExit(4)
p = multiprocessing.get_context("fork").Process(target=child)
p.start()
p.join()
print(p.exitcode)
#: process pool executor
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
def cube(x): return x ** 3
with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    print(list(pool.map(cube, range(4))))
#: fork
import os
print("parent", flush=True)
pid = os.fork()
if pid == 0:
    print("child")
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
#: fork that goes on
import os
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
print("parent" if pid else "child")
#: subprocess
import subprocess, sys
done = subprocess.run(["echo", "hi"], capture_output=True, text=True)
print(done.stdout, done.returncode)
print(subprocess.check_output("printf a; printf b >&2", shell=True, stderr=subprocess.STDOUT))
print(subprocess.run([sys.executable, "-c", "import sys; sys.exit(5)"]).returncode)
subprocess.run(["false"], check=True)
#: subprocess that prints
import subprocess
print("before", flush=True)
subprocess.run(["echo", "from echo"])
subprocess.run("echo err >&2", shell=True)
print("after")
#: subprocess with input
import subprocess
p = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(p.communicate(b"through cat"))
print(subprocess.run(["sort"], input="b\na\n", capture_output=True, text=True).stdout)
#: subprocess that is not there
import subprocess
subprocess.run(["no-such-program-anywhere"])
#: subprocess that is too slow
import subprocess
try:
    subprocess.run(["sleep", "100"], timeout=0.05)
except subprocess.TimeoutExpired as error:
    print(error.cmd)
#: os.system and popen
import os
print(os.system("exit 3") >> 8)
print(os.popen("echo x").read())
#: environment
import os
os.environ["MINE"] = "value"
print(os.environ["MINE"], os.getenv("NOT_THERE", "default"), os.popen("echo $MINE").read())
del os.environ["MINE"]
print("MINE" in os.environ)
#: working directory
import os
os.makedirs("a/b")
os.chdir("a")
print(os.listdir("."), os.path.relpath("b"))
open("in-a", "w").write("x")
#: asyncio run
import asyncio
async def work(n):
    await asyncio.sleep(0.001 * n)
    return n
async def main():
    print(await asyncio.gather(*(work(i) for i in (3, 1, 2))))
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.01)
    except asyncio.TimeoutError:
        print("timeout")
asyncio.run(main())
#: asyncio tasks and queues
import asyncio
async def producer(queue):
    for i in range(3):
        await queue.put(i)
    await queue.put(None)
async def main():
    queue = asyncio.Queue()
    task = asyncio.create_task(producer(queue))
    while (item := await queue.get()) is not None:
        print(item)
    await task
asyncio.run(main())
#: asyncio that raises
#:: last line
import asyncio
async def main():
    await asyncio.sleep(0)
    raise LookupError("in a coroutine")
asyncio.run(main())
#: async generators
import asyncio
async def numbers():
    for i in range(3):
        yield i
        await asyncio.sleep(0)
class Manager:
    async def __aenter__(self): return "entered"
    async def __aexit__(self, *_): print("left")
async def main():
    print([n async for n in numbers()])
    async with Manager() as m:
        print(m)
asyncio.run(main())
#: asyncio subprocess
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("echo", "x", stdout=asyncio.subprocess.PIPE)
    print(await p.communicate(), p.returncode)
asyncio.run(main())
#: a coroutine that was never awaited
async def f(): ...
f()
print("on")
#: sockets within
import socket, threading
a, b = socket.socketpair()
threading.Thread(target=lambda: (a.sendall(b"ping"), a.close())).start()
print(b.recv(10))
#: http server of its own class
import io
from http.server import BaseHTTPRequestHandler
class Handler(BaseHTTPRequestHandler):
    def __init__(self): ...
print(Handler().responses[404] if hasattr(Handler(), "responses") else "", Handler.__name__)
#: modules of its own
#:: value helper.f()
open("helper.py", "w").write("VALUE = 7\ndef f(): return __name__\n")
import importlib, helper
print(helper.VALUE, helper.f())
import os, shutil
shutil.rmtree("__pycache__", ignore_errors=True)
#: a package of its own
import os, sys
sys.dont_write_bytecode = True
os.makedirs("pkg/sub")
open("pkg/__init__.py", "w").write("from .core import x\n")
open("pkg/core.py", "w").write("x = 'core'\n")
open("pkg/sub/__init__.py", "w").write("")
import pkg, pkg.sub
print(pkg.x, pkg.sub.__name__)
#: exec and eval
names = {}
exec("x = [i for i in range(3)]\ndef f(): return x", names)
print(names["f"](), eval("1 + a", {"a": 2}))
exec("1 +")
#: ast and compile
import ast
tree = ast.parse("x = 1 + 2")
print(ast.dump(tree.body[0].value.op), eval(compile(ast.Expression(tree.body[0].value), "f", "eval")))
#: main guard
def main():
    print("in main")
    return 0
if __name__ == "__main__":
    raise SystemExit(main())
#: main module by name
import sys
MARK = 5
print(sys.modules["__main__"].MARK, __import__("__main__").MARK)
#: gc and weakref
import gc, weakref
class Node: ...
a = Node()
a.me = a
r = weakref.ref(a)
del a
gc.collect()
print(r())
#: sys facts
import sys
print(sys.getrecursionlimit(), sys.maxsize, sys.byteorder, len(sys.argv), sys.flags.optimize, sys.stdout.isatty(), sys.stdin.isatty())
#: stdout facts
import sys
print(sys.stdout.encoding, sys.stdout.fileno(), sys.stdout is sys.__stdout__, sys.stdout.name, sys.stdout.writable())
#: stdout replaced and given back
import io, sys
old, sys.stdout = sys.stdout, io.StringIO()
print("hidden")
text, sys.stdout = sys.stdout.getvalue(), old
print("shown", repr(text))
#: tee of stdout
import sys
class Tee:
    def write(self, text): sys.__stdout__.write(text.upper())
    def flush(self): ...
sys.stdout = Tee()
print("through the tee")
#: except hook
import sys
sys.excepthook = lambda kind, error, trace: print("hook:", kind.__name__, error)
raise ValueError("x")
#: secrets and uuid
import secrets, uuid
print(len(secrets.token_hex(8)), uuid.uuid5(uuid.NAMESPACE_DNS, "x"), uuid.UUID(int=1), len({uuid.uuid4() for _ in range(5)}))
#: locale and time zone
import locale, os
print(locale.getpreferredencoding(False), os.environ.get("TZ"))
#: ipaddress and string
#:: value [str(each) for each in ipaddress.ip_network("10.0.0.0/30")]
import ipaddress, string
print(list(ipaddress.ip_network("10.0.0.0/30").hosts()), string.Template("$a b").substitute(a=1), string.ascii_lowercase[:3])
#: difflib
#:: value difflib.get_close_matches("aple", ["apple", "pear"])
import difflib
print("\n".join(difflib.unified_diff(["a", "b"], ["a", "c"], lineterm="")), difflib.get_close_matches("aple", ["apple", "pear"]))
#: graph search
#:: value path("a", "d")
from collections import deque
graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
def path(start, goal):
    queue, seen = deque([[start]]), {start}
    while queue:
        way = queue.popleft()
        if way[-1] == goal: return way
        for n in graph[way[-1]]:
            if n not in seen:
                seen.add(n)
                queue.append(way + [n])
print(path("a", "d"))
#: primes and matrices
#:: value sieve(30)
def sieve(n):
    is_prime = [True] * (n + 1)
    for i in range(2, int(n ** 0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = [False] * len(is_prime[i * i :: i])
    return [i for i in range(2, n + 1) if is_prime[i]]
print(sieve(50), [[sum(a * b for a, b in zip(r, c)) for c in zip(*[[1, 2], [3, 4]])] for r in [[1, 0], [0, 1]]])
#: numpy
#:: needs numpy
#:: value [int(a.sum()), a.T.shape[0]]
import numpy as np
a = np.arange(6).reshape(2, 3)
print(a, a @ a.T, a.mean(axis=0), np.linalg.det(np.eye(2)))
#: numpy that fails
#:: needs numpy
#:: last line
import numpy as np
np.zeros((2, 3)) @ np.zeros((2, 3))
#: pandas
#:: value df.groupby("city").n.sum().to_dict()
#:: needs pandas
import io
import pandas as pd
df = pd.read_csv(io.StringIO("city,n\nRome,1\nParis,2\nRome,3\n"))
print(df, df.describe(), df.groupby("city").n.sum(), sep="\n")
df.to_csv("out.csv", index=False)
#: pandas that fails
#:: needs pandas
#:: last line
import pandas as pd
pd.DataFrame({"a": [1]})["b"]
#: a plot in a file
#:: needs matplotlib
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
plt.plot([1, 2, 3])
plt.savefig("plot.svg", metadata={"Date": None})
plt.close()
print(open("plot.svg").read().count("<svg"))
import os
os.remove("plot.svg")
#: a conversation with a program
#:: needs pexpect
import pexpect
child = pexpect.spawn("sh -c 'test -t 0 && read x; echo got $x; exit 3'", encoding="utf-8", timeout=30)
child.sendline("a line")
child.expect("got (.*)\r\n")
print(child.match.group(1))
child.expect(pexpect.EOF)
child.close()
print(child.exitstatus)
#: an image in a file
#:: needs PIL
from PIL import Image
Image.new("RGB", (4, 4), "red").save("red.png")
print(Image.open("red.png").size)
''')

"""run_python: what is shown beside what is printed."""

from __future__ import annotations

import base64
import json
from typing import Any, Iterator

import pytest

import brig
from brig._left_files import image_size

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def box() -> Iterator[Any]:
    with brig.Sandbox(modules=["brig._builtin"], timeout=60, memory="1G") as made:
        yield made


def run(box: Any, code: str) -> Any:
    result = box.call_sync("run_python", {"code": code})
    assert result.ok, result.traceback or result.error
    return result


def shown(box: Any, code: str) -> list[dict[str, str]]:
    return [each["data"] for each in run(box, code).output.get("displays", [])]


def with_method(name: str, returned: str, then: str = "C()") -> str:
    return f"class C:\n    def {name}(self, *_, **__):\n        return {returned}\n    def __repr__(self):\n        return 'plain'\n{then}"


# --- forms ---


@pytest.mark.parametrize(
    "method, returned, kind, data",
    [
        ("_repr_html_", "'<b>x</b>'", "text/html", "<b>x</b>"),
        ("_repr_markdown_", "'*x*'", "text/markdown", "*x*"),
        ("_repr_latex_", "'$x$'", "text/latex", "$x$"),
        ("_repr_svg_", "'<svg/>'", "image/svg+xml", "<svg/>"),
        ("_repr_json_", "{'a': [1, None]}", "application/json", '{"a":[1,null]}'),
        ("_repr_png_", repr(PNG), "image/png", base64.b64encode(PNG).decode()),
        (
            "_repr_png_",
            repr(base64.b64encode(PNG).decode() + "\n"),
            "image/png",
            base64.b64encode(PNG).decode(),
        ),
        ("_repr_jpeg_", "b'j'", "image/jpeg", "ag=="),
        ("_repr_html_", "('<i>', {'meta': 1})", "text/html", "<i>"),
        ("_repr_mimebundle_", "{'text/html': 'h'}", "text/html", "h"),
        (
            "_repr_mimebundle_",
            "({'application/vnd.x+json': {'a': 1}}, {})",
            "application/vnd.x+json",
            '{"a":1}',
        ),
        ("_repr_mimebundle_", "{'image/png': b'p'}", "image/png", "cA=="),
        ("_repr_mimebundle_", "{'text/x-own': b'bytes'}", "text/x-own", "bytes"),
    ],
)
@pytest.mark.parametrize("then", ["C()", "display(C())"])
def test_a_value_is_shown_with_its_forms(
    box: Any, method: str, returned: str, kind: str, data: str, then: str
) -> None:
    result = run(box, with_method(method, returned, then))
    (display,) = result.output["displays"]
    assert display["data"] == {"text/plain": "plain", kind: data}
    assert display.get("is_value", False) == (then == "C()")
    assert result.output["value"] == ("plain" if then == "C()" else None)
    assert result.report.stderr == b""


def test_all_forms_of_a_value_come(box: Any) -> None:
    code = with_method("_repr_html_", "'h'", "C._repr_latex_ = lambda self: 'l'\nC._repr_mimebundle_ = lambda self, **_: "
                       "{'text/html': 'first', 'text/plain': 'own'}\nC()")  # fmt: skip
    assert shown(box, code) == [{"text/plain": "own", "text/html": "first", "text/latex": "l"}]


@pytest.mark.parametrize(
    "method, returned, told",
    [
        ("_repr_html_", "1 / 0", "_repr_html_() of C raised ZeroDivisionError: division by zero"),
        ("_repr_html_", "7", "_repr_html_() of C gave int, not text as text/html"),
        (
            "_repr_html_",
            "b'\\xff'",
            "_repr_html_() of C gave bytes that are not UTF-8 as text/html",
        ),
        ("_repr_html_", "exit(3)", "_repr_html_() of C raised SystemExit: 3"),
        (
            "_repr_html_",
            "'x' * (2 << 20)",
            "_repr_html_() of C gave 2097152 characters, more than 1048576, as text/html",
        ),
        (
            "_repr_png_",
            "'not base64!'",
            "_repr_png_() of C gave a text that is not base64 as image/png",
        ),
        ("_repr_png_", "b''", "_repr_png_() of C gave nothing as image/png"),
        ("_repr_png_", "[1]", "_repr_png_() of C gave list, not bytes as image/png"),
        (
            "_repr_png_",
            "b'x' * (2 << 20)",
            "_repr_png_() of C gave 2097152 bytes, more than 1048576, as image/png",
        ),
        ("_repr_json_", "{1j}", "_repr_json_() of C raised ValueError: the result holds a complex"),
        ("_repr_mimebundle_", "7", "_repr_mimebundle_() of C gave int, not a dict"),
        (
            "_repr_mimebundle_",
            "{3: 'x', 'none': 'y'}",
            "_repr_mimebundle_() of C gave '3', which is not a MIME type",
        ),
    ],
)
def test_a_form_that_fails_is_told_and_costs_nothing_else(
    box: Any, method: str, returned: str, told: str
) -> None:
    result = run(box, with_method(method, returned))
    assert result.output == {"value": "plain"}
    assert f"display: {told}" in result.report.stderr.decode()
    result = run(
        box,
        with_method(
            method, returned, "C._repr_latex_ = lambda self: 'l'\ndisplay(C())\nprint('on')"
        ),
    )
    assert result.output["displays"][0]["data"] == {"text/plain": "plain", "text/latex": "l"}
    assert result.report.stdout == b"on\n"


def test_a_value_without_a_repr_is_displayed_by_its_type(box: Any) -> None:
    result = run(box, "class C:\n    def __repr__(self): 1 / 0\ndisplay(C())\n7")
    assert result.output["value"] == 7 and result.output["displays"][0]["data"] == {"text/plain": "<C>"}
    assert b"display: repr() of C raised ZeroDivisionError" in result.report.stderr


def test_what_has_every_attribute_has_no_forms(box: Any) -> None:
    assert "displays" not in run(box, "from unittest.mock import MagicMock\nMagicMock()").output
    assert "displays" not in run(
        box, "class C:\n    def __getattr__(self, name): return lambda *_, **__: 'x'\nC()"
    ).output
    assert "displays" not in run(
        box, with_method("_repr_html_", "'x'", "C")
    ).output, "the class itself"
    assert run(
        box, "class C:\n    def __getattr__(self, name): 1 / 0\nC()\n"
    ).report.stderr.count(b"raised") <= 3


def test_plain_values_are_values_alone(box: Any) -> None:
    for value in ("7", "'text'", "[1, 2]", "None", "{'a': 1}", "1j"):
        assert "displays" not in run(box, value).output


# --- display() ---


def test_displays_stand_in_order_with_what_was_printed(box: Any) -> None:
    result = run(
        box, "print('ä')\ndisplay(1)\nprint('b', end='')\ndisplay('x', [2])\nprint('c')\n7"
    )
    assert [(each["at"], each["data"]["text/plain"]) for each in result.output["displays"]] == [
        (3, "1"), (4, "'x'"), (4, "[2]")
    ]  # fmt: skip
    assert result.report.stdout.decode() == "ä\nbc\n"


def test_the_value_is_the_last_display(box: Any) -> None:
    code = with_method("_repr_html_", "'h'", "display(1)\nprint('printed')\nC()")
    displays = run(box, code).output["displays"]
    assert [each.get("is_value", False) for each in displays] == [False, True]
    assert [each["at"] for each in displays] == [0, 8]


def test_display_takes_bundles_and_choices(box: Any) -> None:
    assert shown(box, "display({'text/html': 'h', 'text/plain': 't'}, raw=True)") == [
        {"text/html": "h", "text/plain": "t"}
    ]
    assert shown(
        box, with_method("_repr_html_", "'h'", "display(C(), include=['text/html'])")
    ) == [{"text/html": "h"}]
    assert shown(box, with_method("_repr_html_", "'h'", "display(C(), exclude=['text/html'])")) == [
        {"text/plain": "plain"}
    ]
    assert shown(box, "display()") == []
    assert shown(box, "%%html\n<b>\n{x}") == [{"text/html": "<b>\n{x}"}]
    assert run(box, "def display(x): return 'own'\ndisplay(1)").output == {"value": "own"}


def test_displays_are_bounded_and_counted(box: Any) -> None:
    output = run(box, "for i in range(70): display(i)").output
    assert len(output["displays"]) == 64 and output["displays_left_out"] == 6
    code = "for i in range(8): display({'text/html': 'x' * 1_000_000}, raw=True)\nopen('f', 'wb').write(bytes(1 << 20))\nNone"
    output = run(box, code).output
    assert len(output["displays"]) == 6 and output["displays_left_out"] == 2
    assert "data" not in output["files"][0], "they share their room"
    (data,) = shown(box, "display(list(range(100_000)))")
    assert len(data["text/plain"]) < 70_000 and data["text/plain"].endswith(" more characters)")


def test_a_display_is_of_the_code_alone(box: Any) -> None:
    code = "import multiprocessing\np = multiprocessing.get_context('fork').Process(target=display, args=(1,)); p.start(); p.join()"
    result = run(box, code)
    assert "displays" not in result.output and b"shows nothing" in result.report.stderr


def test_hostile_code_does_not_lose_the_answer(box: Any) -> None:
    for code in (
        "class S(str):\n    def encode(self, *_): 1 / 0\n    def __str__(self): 1 / "
        "0\ndisplay({'text/html': S('x')}, raw=True)",
        "class S(str):\n    def __str__(self): return 7\nclass C:\n    def __repr__(self): return "
        "S('x')\ndisplay(C())",
        "class D(dict):\n    def items(self): 1 / 0\nclass C:\n    def _repr_mimebundle_(self, "
        "**_): return D(a=1)\ndisplay(C())",
        "import sys\nsys.stdout.close()\ndisplay(1)",
        "import sys\nsys.stdout = sys.stderr = None\ndisplay(1)",
        "import os\nos.close(1); os.close(2)\ndisplay(1)",
        "display('\\ud800', raw=True)",
        "import builtins, os\ndel os.environ\ndisplay(1)",
        "class M(type):\n    @property\n    def __mro__(self): 1 / 0\nclass C(metaclass=M): "
        "pass\ndisplay(C())",
        "class M(type):\n    __name__ = property(lambda _: 1 / 0)\nclass C(metaclass=M): __repr__ "
        "= None\ndisplay(C())",
        "class M(type):\n    __name__ = property(lambda _: 1 / 0)\nclass E(Exception, "
        "metaclass=M): pass\nraise E",
        "class C:\n    __class__ = property(lambda _: 1 / 0)\ndisplay(C())",
        "class E(Exception):\n    __str__ = __repr__ = None\nraise E",
        "import sys\nsys.excepthook = None\n1 / 0",
        "import sys\nsys.stdout = sys.stderr = 7\n1 / 0",
        "import sys\nsys.modules.clear()\n1 / 0",
        "import sys\nclass E:\n    def __str__(self): 1 / 0\nsys.exit(E())",
        "import threading\nthreading._active.clear()\nthreading.Thread(target=print).start()",
    ):
        assert run(
            box, "open('f', 'w').write('x')\n" + code + "\nNone"
        ).output["files"][0]["path"] == "f", code


def test_code_that_breaks_what_the_answer_needs_is_told(box: Any) -> None:
    code = "import traceback\ntraceback.format_exception = traceback.format_tb = None\ndef f(): 1 / 0\nf()"
    assert run(box, code).output["error"]["traceback"].splitlines()[1:3] == [
        '  File "<code>", line 4, in <module>', '  File "<code>", line 3, in f'
    ]  # fmt: skip
    result = run(box, "open('f', 'w').close()\nimport builtins\nbuiltins.open = None\n7")
    assert result.output == {
        "value": 7, "files_left_out_why": ["brig could not read the workspace: TypeError"]
    }


# --- matplotlib, PIL, pandas ---


@pytest.fixture(scope="module")
def plots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Has imported them ahead of its calls."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL")
    directory = tmp_path_factory.mktemp("ahead")
    directory.chmod(0o755)  # pytest's own directories are its user's alone
    (directory / "ahead.py").write_text(
        "import matplotlib.pyplot, PIL.ImageShow, brig\n@brig.tool\ndef nothing() -> None: ...\n"
    )
    with brig.Sandbox(
        modules=["brig._builtin", "ahead"], paths=[str(directory)], timeout=60, memory="1G"
    ) as made:
        yield made


PLOT = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(2, 1))\nax.plot([1, 2])\n"


def is_png(data: dict[str, str]) -> bool:
    return base64.b64decode(data["image/png"]).startswith(PNG)


def test_show_displays_the_open_figures_and_closes_them(plots: Any) -> None:
    code = PLOT + "print('before')\nplt.show()\nprint('after')\nplt.figure()\nplt.show(block=False)\nplt.get_fignums()"
    output = run(plots, code).output
    assert [(each["at"], is_png(each["data"])) for each in output["displays"]] == [
        (7, True), (13, True)
    ]
    assert output["value"] == [] and "error" not in output


def test_figures_that_are_open_at_the_end_come_back(plots: Any) -> None:
    assert [is_png(each) for each in shown(plots, PLOT + "plt.figure()\nNone")] == [True, True]
    output = run(plots, PLOT + "1 / 0").output
    assert is_png(output["displays"][0]["data"]) and output["error"]["type"] == "ZeroDivisionError"
    assert shown(plots, PLOT + "plt.close('all')\nNone") == []
    output = run(plots, PLOT + "for i in range(66): display(i)\nfig").output
    assert len(output["displays"]) == 64 and output["displays_left_out"] == 3


def test_a_figure_is_shown_once(plots: Any) -> None:
    (display,) = run(plots, PLOT + "fig").output["displays"]
    assert is_png(display["data"]) and display["is_value"]
    assert len(shown(plots, PLOT + "display(fig)\nNone")) == 1
    assert len(
        shown(plots, PLOT + "display(fig)\nax.plot([3, 1])\nNone")
    ) == 2, "it is another by now"
    assert len(shown(plots, PLOT + PLOT + "None")) == 2, "two that look alike"


SAVED_ONCE = [
    "plt.savefig('p.png')",
    "fig.savefig('p.png', dpi=50, bbox_inches='tight')",
    "plt.savefig('p')",
    "import pathlib\nfig.savefig(pathlib.Path('p.jpg'), format='png')",
    "import os\nos.mkdir('d'); os.chdir('d')\nplt.savefig('p.png')",
    "plt.savefig('p.png')\nimport io\nfig.savefig(io.BytesIO())",
    "ax.set_title('t')\nplt.savefig('p.png')\nplt.get_fignums(), ax.get_xlim()",
]
SAVED_AND_SHOWN = [
    "plt.savefig('p.png')\nplt.show()",
    "plt.savefig('p.png')\ndisplay(fig)",
    "plt.savefig('p.png')\nax.plot([2, 1])",
    "plt.savefig('p.png')\nax.plot([2, 1])\nfig.canvas.draw()",
    "plt.savefig('p.pdf')",
    "plt.savefig('p.svg')",
    "import io\nplt.savefig(io.BytesIO())",
    "plt.savefig('/tmp/p.png')",
    "plt.savefig('.p.png')",
    "plt.savefig('p.png')\nimport os\nos.remove('p.png')",
    "plt.savefig('p.png')\nopen('p.png', 'a').write('more')",
    "plt.savefig('p.png')\nplt.figure()\nNone",
    "for i in range(7): plt.figure(); plt.savefig(f'{i}.png')\nplt.figure(1); "
    "plt.savefig('7.png')\nplt.figure(9); plt.savefig('8.png')",
]


# With matplotlib imported ahead all of them; imported by the code itself, one of each kind: that
# takes a second.
@pytest.mark.parametrize(
    "when, code, displays",
    [("ahead", each, 0) for each in SAVED_ONCE]
    + [("ahead", each, 1) for each in SAVED_AND_SHOWN]
    + [("late", SAVED_ONCE[0], 0), ("late", SAVED_AND_SHOWN[2], 1)],
)
def test_a_picture_that_comes_back_as_a_file_is_not_shown_too(
    box: Any, plots: Any, when: str, code: str, displays: int
) -> None:
    output = run(plots if when == "ahead" else box, PLOT + code + "\nNone").output
    assert len(output.get("displays", [])) == displays
    if not displays:
        (image,) = output["images"]
        assert base64.b64decode(image["data"]).startswith(PNG)


# Noise is as large as its pixels: 1.4 MiB.
NOISE = (
    PLOT + "import numpy\nfig.set_size_inches(7, 7)\n"
    "fig.figimage(numpy.random.default_rng(1).integers(0, 255, (700, 700, 3), 'uint8'))\n"
)


@pytest.mark.parametrize(
    "end",
    [
        "plt.savefig('p.png')\nNone",
        "plt.savefig('p.png')\nplt.close()",
        "plt.savefig('p.png')\nplt.show()",
        "plt.savefig('p.png')\nfig",
        "plt.savefig('p.png')\ndisplay(fig)\nplt.close()",
        "plt.savefig('p.png')\nplt.close()\n1 / 0",
        "fig.savefig('p.jpg', pil_kwargs={'quality': 100, 'subsampling': 0})\nplt.close()",
        "import atexit\nplt.savefig('p.png')\nplt.close()\natexit.register(print)\nNone",
    ],
)
def test_a_large_picture_is_shown_once_made_smaller_and_comes_back_as_it_is(
    plots: Any, end: str
) -> None:
    output = run(plots, NOISE + end).output
    (image,) = output["images"]
    assert len(base64.b64decode(image["data"])) > 1 << 20
    (display,) = output["displays"]
    (data,) = [data for kind, data in display["data"].items() if kind.startswith("image/")]
    assert 50_000 < len(base64.b64decode(data)) <= 1 << 20


def width_of(data: dict[str, str]) -> int:
    return image_size(base64.b64decode(data["image/png"]))[0]


def test_a_picture_of_too_many_pixels_is_made_smaller(box: Any) -> None:
    pytest.importorskip("PIL")
    make = "from PIL import Image\nimage = Image.new('1', (9000, 90))\n"
    assert [
        width_of(each) for each in shown(box, make + "image.save('p.png')\ndisplay(image)\nNone")
    ] == [8000, 8000]
    assert "displays" not in run(
        box, make + "image.resize((8000, 90)).save('p.png')"
    ).output, "MCP shows the file"
    for end in (
        "image.save('p.gif')", "image.save('.p.png')", "image.resize((9000, 9000)).save('p.png')"
    ):
        assert "displays" not in run(box, make + end).output, end


def test_the_size_of_an_image_is_read_from_its_head() -> None:
    frame = b"\xff\xc2\x00\x11\x08\x00\x20\x01\x02" + bytes(10)
    for head, size in (
        (PNG + b"\x00\x00\x00\rIHDR\x00\x00\x01\x02\x00\x00\x00\x20", (258, 32)),
        (b"\xff\xd8\xff\xe0\x00\x04ab" + frame, (258, 32)),
        (b"\xff\xd8\xff\xc4\x00\x02\xff" + frame, (258, 32)),
        (b"\xff\xd8" + frame[:8], (0, 0)),
        (b"\xff\xd8\xff\xe0\xff\xffab" + frame, (0, 0)),
        (b"\xff\xd8\xff\xe0\x00\x00\xff\xe0", (0, 0)),
        (PNG, (0, 0)),
        (b"", (0, 0)),
        (b"GIF89a" + bytes(30), (0, 0)),
    ):
        assert image_size(head) == size, head


def test_a_figure_that_can_not_be_drawn_is_told(plots: Any) -> None:
    result = run(plots, PLOT + "ax.set_title('$\\\\none{$')\n7")
    assert result.output["value"] == 7 and result.output["displays"][0]["data"].keys() == {"text/plain"}
    assert b"display: a form of Figure raised ValueError" in result.report.stderr


def test_modules_that_come_late_are_shown_as_well(box: Any) -> None:
    pytest.importorskip("matplotlib")
    assert [
        is_png(each) for each in shown(box, PLOT + "plt.show()\nplt.figure()\nNone")
    ] == [True, True]


@pytest.mark.parametrize("when", ["late", "ahead"])
def test_there_is_no_screen(box: Any, plots: Any, when: str) -> None:
    cold, box = box, plots if when == "ahead" else box
    assert run(
        box, PLOT + "import matplotlib\nplt.close()\nmatplotlib.get_backend().lower()"
    ).output["value"] == "agg"
    assert shown(
        box, "import matplotlib\nmatplotlib.use('Agg')\n" + PLOT + "plt.show()"
    )[0].keys() >= {"image/png"}
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import matplotlib.pyplot as p; p.plot([1])']).returncode"
    assert run(box, code).output["value"] == 0
    assert run(
        cold, "import sys\n[each for each in sys.modules if each.startswith(('matplotlib', 'PIL'))]"
    ).output["value"] == []


@pytest.mark.parametrize("when", ["late", "ahead"])
def test_images_of_pil(box: Any, plots: Any, when: str) -> None:
    box = plots if when == "ahead" else box
    make = "from PIL import Image\nimage = Image.new('RGB', (8, 8), 'red')\n"
    assert [
        is_png(each) for each in shown(box, make + "display(image)\nimage.show()\nimage")
    ] == [True, True, True]


def test_a_large_image_is_scaled(box: Any) -> None:
    pytest.importorskip("PIL")
    code = "import os\nfrom PIL import Image\nImage.frombytes('RGB', (1200, 1200), os.urandom(3 * 1200 * 1200))"
    (data,) = shown(box, code)
    assert is_png(data) and 200_000 < len(base64.b64decode(data["image/png"])) <= 1 << 20


def test_a_table_is_data_and_text(box: Any) -> None:
    pytest.importorskip("pandas")
    make = "import pandas as pd\n"
    code = make + "pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': [1.5, float('nan')], 'd': pd.to_datetime(['2020-01-02', None])})"
    result = run(box, code)
    (data,) = [each["data"] for each in result.output["displays"]]
    assert json.loads(data["application/json"]) == {
        "columns": ["a", "b", "c", "d"],
        "rows": [[1, "x", 1.5, "2020-01-02 00:00:00"], [2, None, None, None]],
        "total": 2,
    }
    assert "<table" in data["text/html"] and data["text/plain"] == result.output["value"]
    (data,) = shown(box, make + "pd.DataFrame({'a': range(5000)})")
    table = json.loads(data["application/json"])
    assert (len(table["rows"]), table["total"]) == (200, 5000)
    (data,) = shown(
        box, make + "pd.DataFrame({'k': list('aab'), 'n': [1, 2, 3]}).groupby('k').sum()"
    )
    assert json.loads(data["application/json"])["rows"] == [["a", 3], ["b", 3]]
    for odd in ("pd.DataFrame()", "pd.DataFrame([[1, 2]], columns=['a', 'a'])", "pd.DataFrame({'a': [1j, object]})",
                "pd.DataFrame({('a', 1): [pd.NA]})", "pd.DataFrame({'a': [1]}, index=pd.Index([1], name='a'))"):  # fmt: skip
        (data,) = shown(box, make + odd)
        assert json.loads(data["application/json"])["total"] == (
            0 if odd == "pd.DataFrame()" else len(json.loads(data["application/json"])["rows"])
        )


# --- IPython ---

IPYTHON = {
    "IPython/__init__.py": "",
    "IPython/core/__init__.py": "",
    "IPython/core/display_functions.py": "__all__ = ['display', 'publish_display_data']\n"
    "def display(*values, **_): print(*values)\n"
    "def publish_display_data(data, metadata=None, **_): print(data)\n",
    "IPython/core/display.py": "class HTML:\n    def __init__(self, data): self.data = data\n"
    "    def _repr_html_(self): return self.data\n",
    "IPython/display.py": "from IPython.core.display_functions import *\nfrom IPython.core.display import *\n",
}
OLD_IPYTHON = {
    **IPYTHON,
    "IPython/core/display.py": IPYTHON[
        "IPython/core/display_functions.py"
    ].partition("\n")[2] + IPYTHON["IPython/core/display.py"],
    "IPython/display.py": "from IPython.core.display import *\n",
}
SHOWN = "print('before')\ndisplay(HTML('<b>'), display_id=True)\npublish_display_data({'text/html': '<i>'}, {})\nprint('after')"
FROM_IPYTHON = "from IPython.display import display, publish_display_data, HTML\n" + SHOWN


def has_shown_both(result: Any) -> bool:
    assert result.ok and result.report.stdout == b"before\nafter\n", result
    return [(each["at"], each["data"]["text/html"]) for each in result.output["displays"]] == [
        (7, "<b>"), (7, "<i>")
    ]


@pytest.mark.parametrize("files", [IPYTHON, OLD_IPYTHON], ids=["new", "old"])
def test_display_of_ipython_displays(box: Any, files: dict[str, str]) -> None:
    for code in (FROM_IPYTHON, "from IPython.core.display import HTML\n" + FROM_IPYTHON):
        assert has_shown_both(box.call_sync("run_python", {"code": code, "files": files}))


@pytest.mark.parametrize("files", [IPYTHON, OLD_IPYTHON], ids=["new", "old"])
def test_display_of_an_ipython_that_was_imported_ahead_displays(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    directory = tmp_path_factory.mktemp("ahead")
    directory.chmod(0o755)  # pytest's own directories are its user's alone
    for name, text in {
        **files,
        "ahead.py": "import IPython.display, brig\n@brig.tool\ndef nothing() -> None: ...\n",
    }.items():
        (directory / name).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        (directory / name).write_text(text)
    with brig.Sandbox(
        modules=["brig._builtin", "ahead"], paths=[str(directory)], timeout=60
    ) as box:
        assert has_shown_both(box.call_sync("run_python", {"code": FROM_IPYTHON}))

"""Python packages of Debian's, each imported at the top of a module and used in one call.

`text` is the module, with one tool, `use`. What it returns must be `result`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Package:
    name: str  # as one imports it
    debian: str
    what: str  # in docs/compatibility.md
    text: str
    result: Any
    policy: dict[str, Any] = field(default_factory=dict)


PACKAGES = [
    Package("numpy", "python3-numpy", "solves a linear system", """
import numpy as np

def use() -> list:
    return np.linalg.solve(np.array([[2, 1], [1, 3]]), np.array([3, 5])).round(6).tolist()
""", [0.8, 1.4]),
    Package("scipy", "python3-scipy", "minimises, integrates", """
from scipy import integrate, optimize

def use() -> list:
    least = optimize.minimize(lambda x: (x[0] - 3) ** 2, [0.0])
    area, _ = integrate.quad(lambda x: x * x, 0, 3)
    return [round(float(least.x[0]), 3), round(area, 6)]
""", [3.0, 9.0]),
    Package("pandas", "python3-pandas", "reads CSV, groups, sums", """
import io
import pandas as pd

def use() -> dict:
    table = pd.read_csv(io.StringIO("city,n\\nRome,1\\nParis,2\\nRome,3\\n"))
    return {city: int(n) for city, n in table.groupby("city")["n"].sum().items()}
""", {"Paris": 2, "Rome": 4}),
    Package("matplotlib", "python3-matplotlib", "draws a plot with a legend to PNG and SVG", """
import io
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt

def use() -> list:
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3], [1, 4, 9], label="squares")
    axes.set_title("a plot")
    axes.legend()
    png, svg = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png")
    figure.savefig(svg, format="svg")
    picture = png.getvalue()
    large = len(picture) > 5000 and b"IEND" in picture[-12:]
    return [picture[:8].hex(), large, "<svg" in svg.getvalue(), matplotlib.matplotlib_fname()]
""", ["89504e470d0a1a0a", True, True, "/etc/matplotlibrc"]),
    Package("PIL", "python3-pil", "draws, resizes, writes JPEG, reads it back", """
import io
from PIL import Image, ImageDraw

def use() -> list:
    image = Image.new("RGB", (64, 32), "white")
    ImageDraw.Draw(image).rectangle((8, 8, 40, 24), fill="red")
    data = io.BytesIO()
    image.resize((32, 16)).save(data, "JPEG")
    again = Image.open(io.BytesIO(data.getvalue()))
    again.load()
    return [data.getvalue()[:2].hex(), again.format, *again.size]
""", ["ffd8", "JPEG", 32, 16]),
    Package("lxml", "python3-lxml", "parses XML, XPath, XSLT", """
from lxml import etree

def use() -> list:
    tree = etree.XML("<a><b n='1'>x</b><b n='2'>y</b></a>")
    style = etree.XSLT(etree.XML(
        "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>"
        "<xsl:template match='/'><n><xsl:value-of select='count(//b)'/></n></xsl:template></xsl:stylesheet>"))
    return [tree.xpath("//b[@n='2']/text()"), style(tree).getroot().text]
""", [["y"], "2"]),
    Package("requests", "python3-requests", "asks an HTTP server in the same cell", """
import http.server
import threading
import requests

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"answer": 42}')
    def log_message(self, *_):
        pass

def use() -> list:
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    reply = requests.get(f"http://127.0.0.1:{server.server_port}/", timeout=10)
    server.shutdown()
    return [reply.status_code, reply.json()["answer"]]
""", [200, 42], {"network": "loopback"}),
    Package("sklearn", "python3-sklearn", "fits a regression and a forest", """
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression

def use() -> list:
    line = LinearRegression().fit([[0], [1], [2]], [1, 3, 5])
    forest = RandomForestClassifier(n_estimators=5, random_state=1).fit([[0], [1], [10], [11]], [0, 0, 1, 1])
    return [round(float(line.predict([[10]])[0]), 6), int(forest.predict([[12]])[0])]
""", [21.0, 1]),
    Package("sqlite3", "python3", "a database in a file and one in memory", """
import sqlite3

def use() -> list:
    found = []
    for place in ("/tmp/data.db", ":memory:"):
        with sqlite3.connect(place) as database:
            database.execute("create table t (n integer)")
            database.executemany("insert into t values (?)", [(1,), (2,), (3,)])
            found.append(database.execute("select sum(n) from t").fetchone()[0])
    return found
""", [6, 6]),
    Package("cryptography", "python3-cryptography", "encrypts, signs, verifies", """
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric import ed25519

def use() -> list:
    box = Fernet(Fernet.generate_key())
    key = ed25519.Ed25519PrivateKey.generate()
    key.public_key().verify(key.sign(b"text"), b"text")
    return [box.decrypt(box.encrypt(b"secret")).decode(), "verified"]
""", ["secret", "verified"]),
    Package("yaml", "python3-yaml", "loads and dumps", """
import yaml

def use() -> list:
    return [yaml.safe_load("a: [1, 2]\\nb: {c: yes}"), yaml.safe_dump({"x": [1]}).strip()]
""", [{"a": [1, 2], "b": {"c": True}}, "x:\n- 1"]),
    Package("bs4", "python3-bs4", "finds links in HTML, by lxml and by html.parser", """
from bs4 import BeautifulSoup

def use() -> list:
    page = "<p>x <a href='/one'>1</a> <a href='/two'>2</a>"
    return [[a["href"] for a in BeautifulSoup(page, parser).find_all("a")] for parser in ("lxml", "html.parser")]
""", [["/one", "/two"], ["/one", "/two"]]),
    Package("jinja2", "python3-jinja2", "renders a template", """
import jinja2

def use() -> str:
    return jinja2.Template("{% for n in all %}<{{ n|upper }}>{% endfor %}").render(all=["a", "b"])
""", "<A><B>"),
    Package("sqlalchemy", "python3-sqlalchemy", "maps a class to SQLite", """
import sqlalchemy as sa
from sqlalchemy.orm import declarative_base, Session

Base = declarative_base()

class City(Base):
    __tablename__ = "city"
    name = sa.Column(sa.String, primary_key=True)
    people = sa.Column(sa.Integer)

def use() -> list:
    engine = sa.create_engine("sqlite:////tmp/cities.db")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all([City(name="Rome", people=3), City(name="Oslo", people=1)])
        session.commit()
        return [city.name for city in session.query(City).order_by(City.people)]
""", ["Oslo", "Rome"]),
    Package("networkx", "python3-networkx", "finds a shortest path", """
import networkx as nx

def use() -> list:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 1), ("b", "c", 1), ("a", "c", 5)])
    return nx.shortest_path(graph, "a", "c", weight="weight")
""", ["a", "b", "c"]),
    Package("sympy", "python3-sympy", "solves, integrates", """
import sympy

x = sympy.symbols("x")

def use() -> list:
    return [[int(root) for root in sympy.solve(x**2 - 5 * x + 6)], str(sympy.integrate(sympy.sin(x), x))]
""", [[2, 3], "-cos(x)"]),
    Package("openpyxl", "python3-openpyxl", "writes a workbook, reads it back", """
import openpyxl

def use() -> list:
    book = openpyxl.Workbook()
    book.active.append(["a", 1])
    book.save("book.xlsx")
    return [cell.value for cell in openpyxl.load_workbook("book.xlsx").active[1]]
""", ["a", 1]),
    Package("pydantic", "python3-pydantic", "validates and refuses", """
import pydantic

class Place(pydantic.BaseModel):
    name: str
    height: int = 0

def use() -> list:
    try:
        Place(name="x", height="high")
        refused = False
    except pydantic.ValidationError:
        refused = True
    return [Place(name="x", height="12").height, refused]
""", [12, True]),
    Package("dateutil", "python3-dateutil", "parses dates, knows time zones", """
import dateutil.parser
import dateutil.tz

def use() -> list:
    at = dateutil.parser.parse("10 July 2024 12:00 UTC").astimezone(dateutil.tz.gettz("Europe/Berlin"))
    return [at.isoformat(), at.tzname()]
""", ["2024-07-10T14:00:00+02:00", "CEST"]),
    Package("psutil", "python3-psutil", "looks at its own process and its memory", """
import psutil

def use() -> list:
    me = psutil.Process()
    return [me.pid, me.memory_info().rss > 0, psutil.virtual_memory().total > 0, sorted(psutil.pids())[:2]]
""", [2, True, True, [1, 2]]),
    Package("pygments", "python3-pygments", "highlights code", """
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

def use() -> bool:
    return '<span class="k">def</span>' in highlight("def f(): pass", get_lexer_by_name("python"), HtmlFormatter())
""", True),
    Package("docutils", "python3-docutils", "makes HTML of reStructuredText", """
from docutils.core import publish_string

def use() -> bool:
    return b"<em>word</em>" in publish_string("Title\\n=====\\n\\nA *word*.", writer_name="html5")
""", True),
    Package("markdown", "python3-markdown", "makes HTML of Markdown, with tables", """
import markdown

def use() -> list:
    page = markdown.markdown("# T\\n\\n| a |\\n|---|\\n| 1 |", extensions=["tables"])
    return ["<h1>T</h1>" in page, "<td>1</td>" in page]
""", [True, True]),
    Package("mimetypes", "python3, media-types", "knows a type that only `/etc/mime.types` has", """
import mimetypes

def use() -> list:
    return [mimetypes.guess_type("a.png")[0], mimetypes.guess_type("a.docx")[0]]
""", ["image/png", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"]),
]  # fmt: skip

"""Tools of an agent: plain functions that do not depend on cells.

agent.py calls them from Python, brig.toml offers them to `brig tools` and `brig call`.
"""

from __future__ import annotations

import asyncio
import csv
import io
import math
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional

import brig


@brig.tool(read_only=True, open_world=False)
def calculate(expression: Annotated[str, 'such as "sqrt(2) * 10"']) -> str:
    """Computes a Python expression, which may use the names of the math module."""
    # Runs what a model wrote as it is. Whatever it does, it does in a cell that ends with the call.
    return str(eval(expression, dict(vars(math))))


@dataclass
class Column:
    """Minimum, maximum and mean are set only if every value is a number."""

    name: str
    values: int
    distinct: int
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    mean: Optional[float] = None


@dataclass
class Summary:
    rows: int
    columns: list[Column]


@brig.tool(read_only=True, open_world=False)
def summarise_csv(text: str, delimiter: str = ",") -> Summary:
    """Describes each column of a table.

    Args:
        text: the table as CSV, with the names of its columns in the first line.
        delimiter: what stands between two values.
    """
    rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
    names = list(rows[0]) if rows else []
    return Summary(len(rows), [_column(name, [row[name] for row in rows]) for name in names])


def _column(name: str, cells: list[Optional[str]]) -> Column:
    values = [cell for cell in cells if cell]
    made = Column(name, len(values), len(set(values)))
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return made
    if numbers:
        made.minimum, made.maximum = min(numbers), max(numbers)
        made.mean = statistics.fmean(numbers)
    return made


@dataclass
class Match:
    file: str
    line: int
    text: str


@brig.tool(read_only=True, open_world=False)
def search_files(pattern: str, glob: str = "**/*", limit: int = 20) -> list[Match]:
    """Finds lines in the files of the workspace.

    Args:
        pattern: a regular expression, in Python's syntax.
        glob: which files, such as "src/**/*.py".
        limit: how many lines at most.
    """
    wanted = re.compile(pattern)
    found: list[Match] = []
    # The policy says which directory the workspace is, by making it the working directory.
    for path in sorted(Path().glob(glob)):
        if path.is_file():
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if wanted.search(line):
                    found.append(Match(str(path), number, line.strip()))
                    if len(found) == limit:
                        return found
    return found


@dataclass
class Run:
    exit_code: int
    output: str


@brig.tool(open_world=False)
async def run_snippets(snippets: list[str]) -> list[Run]:
    """Runs pieces of Python, all at once, each in an interpreter of its own."""
    done = 0

    async def run(snippet: str) -> Run:
        nonlocal done
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", snippet,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await process.communicate()
        done += 1
        brig.progress(done / len(snippets), f"{done} of {len(snippets)} done")
        return Run(process.returncode or 0, output.decode(errors="replace"))

    return list(await asyncio.gather(*map(run, snippets)))

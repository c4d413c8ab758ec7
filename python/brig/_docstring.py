"""Reads the descriptions of a function and its parameters from a docstring."""

from __future__ import annotations

import inspect
import re
import typing
from typing import Dict, Iterable, List

_SECTION = re.compile(r"(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments):\s*$")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)(?:\s*\(.*?\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?()$")
_SPHINX_ENTRY = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s[^:]*?(\w+)\s*:\s*(.*)")
_UNDERLINE = re.compile(r"-{3,}\s*$")


def summary(doc: str) -> str:
    """Returns the first paragraph as one line."""
    lines: List[str] = []
    for line in doc.splitlines():
        if not line.strip() or _SECTION.match(line) or line.startswith(":"):
            break
        lines.append(line.strip())
    return " ".join(lines)


def parameter_texts(doc: str) -> Dict[str, str]:
    """Returns the description of each parameter in a docstring of Google's, numpy's or Sphinx'
    style."""
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
    """Returns the lines before the first that is not indented, without the indentation of the first
    one."""
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
    """Returns the text of each entry: the rest of its line, and the indented lines below it."""
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

"""run_python: the tool of a server that runs code. Imported by its interpreter, in the jail."""

from __future__ import annotations

import ast
import base64
import linecache
import os
from typing import Any, Optional

from brig._tool import tool
from brig._values import dumps, to_json

_NAME = "<code>"
_MOST_IMAGES = 8
_LARGEST_IMAGE = 4 << 20
_MOST_SEEN = 2000

_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["code"],
    "properties": {
        "code": {"type": "string", "description": "Python source; the value of a last expression is the result"},
        "files": {
            "type": "object",
            "description": "files to put into the workspace first, by relative path",
            "maxProperties": 1000,
            "additionalProperties": {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "properties": {"base64": {"type": "string"}},
                        "required": ["base64"],
                        "additionalProperties": False,
                    },
                ]
            },
        },
    },
}


def _write(files: dict[str, Any]) -> set[str]:
    given = set()
    for name, content in files.items():
        path = os.path.normpath(name)
        if not name or os.path.isabs(path) or path.split(os.sep)[0] in ("..", ".") or "\0" in name:
            raise ValueError(f"files: {name!r} is not a path inside the workspace")
        data = content.encode() if isinstance(content, str) else base64.b64decode(content["base64"], validate=True)
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        given.add(path)
    return given


def _image_type(head: bytes) -> Optional[str]:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def _images(given: set[str]) -> list[dict[str, str]]:
    found = []
    seen = 0
    for folder, _, names in os.walk("."):
        for name in names:
            seen += 1
            path = os.path.normpath(os.path.join(folder, name))
            if path not in given and os.path.isfile(path) and not os.path.islink(path):
                found.append(path)
        if seen > _MOST_SEEN:
            break
    images: list[dict[str, str]] = []
    for path in sorted(found):
        if len(images) == _MOST_IMAGES:
            break
        if os.path.getsize(path) > _LARGEST_IMAGE:
            continue
        with open(path, "rb") as file:
            data = file.read(_LARGEST_IMAGE + 1)
        kind = _image_type(data)
        if kind:
            images.append({"path": path, "mime_type": kind, "data": base64.b64encode(data).decode()})
    return images


def _value(value: Any) -> Any:
    """What JSON can hold, as JSON; anything else as Python shows it."""
    try:
        dumps(value)
        return to_json(value)
    except Exception:
        return repr(value)


@tool(
    description="Runs Python code in a fresh, isolated interpreter: no network, an empty workspace as the working "
    "directory. Returns the value of the last expression and what was printed; images that are written to "
    "the workspace come back. Nothing is left of it afterwards.",
    input_schema=_SCHEMA,
    destructive=False,
    open_world=False,
    coerce=False,
)
def run_python(code: str, files: Optional[dict[str, Any]] = None) -> Any:
    try:
        given = _write(files or {})
    except ValueError as error:
        return {"not_run": str(error)}
    linecache.cache[_NAME] = (len(code), None, code.splitlines(True), _NAME)  # for tracebacks
    tree = ast.parse(code, _NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    exec(compile(tree, _NAME, "exec"), names)
    value = eval(compile(ast.Expression(last.value), _NAME, "eval"), names) if isinstance(last, ast.Expr) else None
    answer = {"value": _value(value)}
    images = _images(given)
    if images:
        answer["images"] = images
    return answer

"""run_python: the tool of a server that runs code. Imported by its interpreter, in the jail."""

from __future__ import annotations

import __future__

import ast
import base64
import builtins
import errno
import inspect
import io
import linecache
import os
import sys
import types
from typing import Any, Optional

from brig._left_files import is_utf8, left_files, own_workspace, regular_files
from brig._tool import tool
from brig._values import dumps, to_json

_NAME = "<code>"
_MOST_IMAGES = 8
_LARGEST_IMAGE = 4 << 20
_LONGEST_SHOWN = 200
_FUTURES = 0  # what `from __future__ import ...` of the code sets
for _feature in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _feature).compiler_flag

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
    """Raises ValueError, with a sentence, if one of them can't be made."""
    given = set()
    for name, content in files.items():
        path = os.path.normpath(name)
        shown = repr(name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "...")
        if not name or os.path.isabs(path) or path.split(os.sep)[0] in ("..", ".") or "\0" in name:
            raise ValueError(f"files: {shown} is not a path inside the workspace")
        try:
            _make(path, _bytes_of(content))
        except FileExistsError:
            raise ValueError(f"files: {shown} is in the working directory already; the code was not run") from None
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise ValueError(
                f"files: {shown} could not be put into the working directory: {why}; the code was not run"
            ) from None
        except UnicodeEncodeError:
            raise ValueError(f"files: {shown} is not UTF-8, in its name or its text; the code was not run") from None
        except ValueError:
            raise ValueError(f"files: {shown} is not base64; the code was not run") from None
        given.add(path)
    return given


def _bytes_of(content: Any) -> bytes:
    return content.encode() if isinstance(content, str) else base64.b64decode(content["base64"], validate=True)


def _make(path: str, data: bytes) -> None:
    """A new file: whatever has that name already, the host's or a file that was given too, stays as it is."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
    with open(path, "xb") as file:
        file.write(data)


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


def _images(workspace: str, given: set[str]) -> list[dict[str, str]]:
    images: list[dict[str, str]] = []
    for told, path in sorted(regular_files(workspace)):
        if len(images) == _MOST_IMAGES:
            break
        if told in given or not is_utf8(told):
            continue
        try:
            data = _read_image(path)
        except OSError:
            continue  # left_files() counts it
        kind = _image_type(data)
        if kind:
            images.append({"path": told, "mime_type": kind, "data": base64.b64encode(data).decode()})
    return images


def _read_image(path: str) -> bytes:
    """b"" if it is too large."""
    if os.path.getsize(path) > _LARGEST_IMAGE:
        return b""
    with open(path, "rb") as file:
        return file.read(_LARGEST_IMAGE)


def _value(value: Any) -> Any:
    """What JSON can hold, as JSON; anything else as Python shows it."""
    try:
        dumps(value)
        return to_json(value)
    except Exception:
        return repr(value)


@tool(
    description="Runs Python code in a fresh, isolated interpreter. Returns the value of the last expression and what was "
    "printed; images that are written to its workspace come back. Nothing of it is left afterwards but what the policy "
    "lets it write.",
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
    here, workspace = os.getcwd(), own_workspace()  # the code may go elsewhere
    answer = {"value": _value(_run(code, here))}
    if workspace:
        images = _images(workspace, given)
        if images:
            answer["images"] = images
        answer.update(left_files(workspace, given | {image["path"] for image in images}))
    return answer


def _run(code: str, here: str) -> Any:
    """As `python code.py` would: the code is the module __main__, and modules beside it can be imported. Beyond that,
    as a notebook: `await` may stand anywhere, and the value of a last expression is what comes back."""
    linecache.cache[_NAME] = (len(code), None, _lines(code), _NAME)  # for tracebacks
    main = types.ModuleType("__main__")
    vars(main)["__builtins__"] = builtins
    sys.modules["__main__"] = main
    sys.path.insert(0, here)
    try:
        parts = _compiled(code)
        if any(part.co_flags & inspect.CO_COROUTINE for part in parts):
            import asyncio

            return asyncio.run(_await_all(parts, vars(main)))
        value = None
        for part in parts:
            value = eval(part, vars(main))
        return value
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise
        return None  # an end as good as any
    except BaseException as error:
        # From the code's own first line on; what can't be compiled has none.
        frames = error.__traceback__
        while frames and frames.tb_frame.f_code.co_filename != _NAME:
            frames = frames.tb_next
        raise error.with_traceback(frames)


def _lines(code: str) -> list[str]:
    """As a file has them: traceback counts on the last one's end, and no other separator ends one."""
    return [line if line.endswith("\n") else line + "\n" for line in io.StringIO(code, newline=None)]


def _compiled(code: str) -> list[types.CodeType]:
    """All but a last expression, and that."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(code, _NAME, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    parts = [compile(tree, _NAME, "exec", flags, dont_inherit=True)]
    if last is not None:
        flags |= parts[0].co_flags & _FUTURES
        parts.append(compile(ast.Expression(last.value), _NAME, "eval", flags, dont_inherit=True))
    return parts


async def _await_all(parts: list[types.CodeType], names: dict[str, Any]) -> Any:
    value = None
    for part in parts:
        value = eval(part, names)
        if part.co_flags & inspect.CO_COROUTINE:
            value = await value
    return value

"""Makes the spec for the interpreter of a sandbox: where its functions are, and which files it must
see to load them."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import sys
import types
from pathlib import Path
from typing import Any, Callable, Iterable, Optional, Sequence

from brig._by_value import dump, names_in
from brig._errors import ConfigError
from brig._tool import Tool

_MAX_FILES = 2000  # of code to look through for imports


def python_json(
    tools: Sequence[Tool], interpreter: Optional[str], paths: Sequence[str]
) -> dict[str, Any]:
    """Returns the member "python" of the config in brig/c.h."""
    chosen = os.path.abspath(interpreter or sys.executable or "")
    if not (interpreter or sys.executable):
        raise ConfigError(
            "python: this program has no sys.executable; give the path of a CPython as interpreter="
        )
    same = chosen == os.path.abspath(sys.executable or "")
    given = [os.path.realpath(path) for path in paths]
    search = _search_path() if same else []
    read = _Needed(search, given)
    spec: dict[str, Any] = {"exact": same, "path": given + search, "tools": []}
    for tool in tools:
        where = where_found(tool, same)
        if "main" in where:
            read.add_file(where["main"])
        elif "module" in where:
            read.add_module(where["module"])
        else:
            read.add_values(tool.function)
        for name in tool.needs:
            read.add_module(name)
        spec["tools"].append({"name": tool.name, "typed": tool.typed, **where})
        if tool.relays_exit:
            spec["tools"][-1]["relays_exit"] = True
    return {"interpreter": chosen, "read": sorted(read.paths | set(given)), "spec": spec}


def _search_path() -> list[str]:
    """Returns sys.path without entries that do not exist, and without the directory of this
    package."""
    own = str(Path(__file__).resolve().parent.parent)
    found: list[str] = []
    for entry in sys.path:
        path = os.path.realpath(entry or os.getcwd())  # a cell does not have the links on the way
        if os.path.exists(path) and path not in found and (path != own or _holds_more(path)):
            found.append(path)
    return found


def _holds_more(path: str) -> bool:
    return os.path.basename(path) in ("site-packages", "dist-packages")


def where_found(tool: Tool, same: bool) -> dict[str, Any]:
    """Returns how the interpreter gets the function: a module or a script to import, or the
    function's code."""
    function: Any = tool.function
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    qualname = getattr(function, "__qualname__", "")
    if module is not None and not _finds(module, qualname, tool):
        qualname += ".fn"  # where the decorators of some frameworks keep the function
    if module is not None and "<" not in qualname and _finds(module, qualname, tool):
        spec = getattr(module, "__spec__", None)
        if module.__name__ != "__main__":
            if spec is not None and spec.origin:
                return {"module": module.__name__, "qualname": qualname}
        elif spec is not None:  # python -m
            return {"module": spec.name, "qualname": qualname}
        else:
            file = getattr(module, "__file__", None)
            if file and os.path.isfile(file):
                return {"main": os.path.realpath(file), "qualname": qualname}
    if not same:
        raise ConfigError(
            f"tool {tool.name!r}: another interpreter can only import a function: define it at the "
            "top of a module"
        )
    return dump(tool.function)


def _finds(module: types.ModuleType, qualname: str, tool: Tool) -> bool:
    found: Any = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    # A decorator may have put something else there, which holds the tool.
    return found is tool.function or getattr(found, "__brig_tool__", None) is tool or found is tool


class _Needed:
    """Collects the files of code that modules need, by reading what they import. It does not add
    the directories around them: a file beside a script may be its owner's keys."""

    def __init__(self, search: Sequence[str], given: Sequence[str]) -> None:
        self.paths: set[str] = set()
        prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix}
        self._covered = [os.path.realpath(os.path.join(prefix, "lib")) for prefix in prefixes]
        self._covered += ["/usr", *given]
        for entry in search:
            if _holds_more(entry) or os.path.isfile(entry):
                self._covered.append(entry)
                self.paths.add(entry)
        self._seen: set[str] = set()
        self._files = 0

    def add_module(self, name: str) -> None:
        top = name.partition(".")[0]
        if top in self._seen or top in sys.builtin_module_names or top == "brig":
            return
        self._seen.add(top)
        module = sys.modules.get(top)
        spec = getattr(module, "__spec__", None)
        if spec is None:
            try:
                spec = importlib.util.find_spec(top)
            except (ImportError, ValueError):
                return
        if spec is None:
            return
        if spec.submodule_search_locations:
            for place in spec.submodule_search_locations:
                self._add_package(str(place))
        elif spec.has_location and spec.origin:
            self.add_file(spec.origin)

    def add_file(self, path: str) -> None:
        path = os.path.realpath(path)
        if self._is_covered(path):
            return
        self.paths.add(path)
        self._scan(path)

    def add_values(self, function: Callable[..., Any]) -> None:
        """Adds the modules of all values that a function uses, for a function whose code is
        sent."""
        code, variables = getattr(function, "__code__", None), getattr(function, "__globals__", {})
        cells = getattr(function, "__closure__", None) or ()
        names = names_in(code) if code else set()
        values = [variables.get(name) for name in names]
        for cell in cells:
            try:
                values.append(cell.cell_contents)
            except ValueError:
                pass  # the variable has no value yet
        # The objects behind a method or a partial, and the classes of all values.
        values += [function, getattr(function, "__self__", None), getattr(function, "func", None)]
        values += [type(value) for value in values]
        for value in values:
            name = value.__name__ if isinstance(value, types.ModuleType) else getattr(
                value, "__module__", None
            )
            if isinstance(name, str) and name != "__main__":
                self.add_module(name)
        for name in names & sys.modules.keys():  # modules that the function itself imports
            self.add_module(name)

    def _is_covered(self, path: str) -> bool:
        return any(path == top or path.startswith(top + os.sep) for top in self._covered)

    def _add_package(self, directory: str) -> None:
        directory = os.path.realpath(directory)
        if self._is_covered(directory):
            return
        self.paths.add(directory)
        self._covered.append(directory)
        for place, directories, files in os.walk(directory):
            directories[:] = [
                each for each in directories if not each.startswith((".", "__pycache__"))
            ]
            for file in files:
                if file.endswith(".py"):
                    self._scan(os.path.join(place, file))

    def _scan(self, path: str) -> None:
        self._files += 1
        if self._files > _MAX_FILES or not path.endswith(".py"):
            return
        try:
            changed = os.stat(path).st_mtime_ns
        except OSError:
            return
        for name in _imports_of(path, changed):
            self.add_module(name)


@functools.lru_cache(maxsize=_MAX_FILES)
def _imports_of(path: str, _changed: int) -> frozenset[str]:
    """Returns the modules that a file imports. Cached, since a host may make many sandboxes."""
    try:
        with open(path, "rb") as file:
            return frozenset(_imports(ast.parse(file.read())))
    except (OSError, SyntaxError, ValueError):
        return frozenset()  # the import in the cell fails and gives the reason


def _imports(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module

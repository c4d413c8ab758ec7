"""Changes modules that the code imports, without importing any of them. Runs in the cell, for
run_python."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import types
from typing import Any, Callable


def after_import(actions: dict[str, Callable[[Any], None]]) -> None:
    """Calls each function with the module of that name: now if it is there, else as soon as it is
    imported."""
    for name in list(actions):
        if name in sys.modules:
            attempt(actions.pop(name), sys.modules[name])
    if actions:
        sys.meta_path.insert(0, _AfterImport(actions))


def attempt(action: Callable[[Any], None], module: Any) -> None:
    try:
        action(module)
    except Exception:
        pass  # it is another module of that name: leave it as it is


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function with each of some modules when it is imported."""

    def __init__(self, actions: dict[str, Callable[[Any], None]]) -> None:
        self._actions = actions

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        action = self._actions.pop(fullname, None)
        if action is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return None
        loader: Any = spec.loader
        execute, then = loader.exec_module, action

        def exec_module(module: types.ModuleType) -> None:
            execute(module)
            attempt(then, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass
        return spec

"""Sends the code of functions that can't be imported. Only ever from a host to its own cells."""

from __future__ import annotations

import base64
import builtins
import importlib
import marshal
import sys
import types
from typing import Any, Callable

from brig._errors import ConfigError


def dump(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the function as JSON: pickled by cloudpickle if that is installed, else what a plain
    function needs."""
    try:
        import cloudpickle  # type: ignore[import]
    except ImportError:
        return {"code": _Dumper().function(function)}
    try:
        return {"pickle": base64.b64encode(cloudpickle.dumps(function)).decode()}
    except Exception as error:
        raise ConfigError(
            f"tool {_name(function)}: the function can't be sent to its cell: "
            f"{type(error).__name__}: {error}; "
            "define it at the top of a module"
        ) from error


def load(value: dict[str, Any]) -> Callable[..., Any]:
    """Makes the function from what dump() returned. Runs in the interpreter of the cells."""
    if "pickle" in value:
        import pickle

        function: Callable[..., Any] = pickle.loads(base64.b64decode(value["pickle"]))
        return function
    return _Loader().function(value["code"])


def _name(function: Any) -> str:
    return repr(getattr(function, "__name__", type(function).__name__))


def names_in(code: types.CodeType) -> set[str]:
    """Returns the names of everything that the code refers to."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
    return names


class _Dumper:
    def __init__(self) -> None:
        self._seen: dict[int, str] = {}

    def function(self, function: Any) -> dict[str, Any]:
        if not isinstance(function, types.FunctionType):
            raise ConfigError(
                f"tool {_name(function)}: only a plain function can be sent to its cell without "
                "cloudpickle; install "
                "cloudpickle, or define a function"
            )
        if function.__closure__:
            raise ConfigError(
                f"tool {_name(function)}: the function uses variables of the function around it; "
                "install "
                "cloudpickle, or define it at the top of a module"
            )
        self._seen[id(function)] = function.__name__
        used = names_in(function.__code__) & function.__globals__.keys()
        return {
            "name": function.__name__,
            "code": base64.b64encode(marshal.dumps(function.__code__)).decode(),
            "doc": function.__doc__,
            "defaults": self.value(function, "a default", function.__defaults__),
            "kwdefaults": self.value(function, "a default", function.__kwdefaults__),
            "annotations": {
                key: self.value(function, "a hint", hint)
                for key, hint in function.__annotations__.items()
            },
            "globals": {
                name: self.value(function, f"the variable {name!r}", function.__globals__[name])
                for name in sorted(used)
                if not hasattr(builtins, name)
                or function.__globals__[name] is not getattr(builtins, name)
            },
        }

    def value(self, owner: Any, what: str, value: Any) -> dict[str, Any]:
        if isinstance(value, types.ModuleType):
            return {"module": value.__name__}
        if isinstance(value, types.FunctionType) and value.__module__ == owner.__module__:
            if id(value) in self._seen:
                return {"same": self._seen[id(value)]}
            return {"function": self.function(value)}
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if module and name and module != owner.__module__ and module in sys.modules:
            return {"import": module, "name": name}
        try:
            return {"constant": base64.b64encode(marshal.dumps(value)).decode()}
        except ValueError:
            raise ConfigError(
                f"tool {_name(owner)}: {what} can't be sent to its cell; install cloudpickle, or "
                "define "
                "the tool at the top of a module"
            ) from None


class _Loader:
    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def function(self, value: dict[str, Any]) -> Callable[..., Any]:
        code = marshal.loads(base64.b64decode(value["code"]))
        variables: dict[str, Any] = {"__builtins__": builtins, "__name__": "__main__"}
        made = types.FunctionType(code, variables, value["name"])
        self._made[value["name"]] = made
        made.__doc__ = value["doc"]
        made.__defaults__ = self.value(value["defaults"])
        made.__kwdefaults__ = self.value(value["kwdefaults"])
        made.__annotations__ = {key: self.value(hint) for key, hint in value["annotations"].items()}
        for name, each in value["globals"].items():
            variables[name] = self.value(each)
        return made

    def value(self, value: dict[str, Any]) -> Any:
        if "module" in value:
            return importlib.import_module(value["module"])
        if "function" in value:
            return self.function(value["function"])
        if "same" in value:
            return self._made[value["same"]]
        if "import" in value:
            found: Any = importlib.import_module(value["import"])
            for part in value["name"].split("."):
                found = getattr(found, part)
            return found
        return marshal.loads(base64.b64decode(value["constant"]))

"""The frameworks that the drop-ins come from, as they are loaded in this process.

Nothing here imports a framework that the program has not loaded. What is loaded is looked up when
it is needed, so the order of a program's imports does not matter.
"""

from __future__ import annotations

import importlib
import sys
import types
from enum import Enum
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple


class Framework:
    """One framework, under each name that it has had, and where it keeps its classes."""

    def __init__(self, roots: Sequence[str], places: Mapping[str, str]) -> None:
        """`roots` are its packages. `places` maps a class to the module below the package."""
        self._roots = tuple(roots)
        self.places = dict(places)
        self._joined: Dict[Tuple[type, ...], type] = {}
        self._tried: Set[str] = set()  # modules that were not there when they were first asked for
        self.used: Callable[[], None] = lambda: None  # when a stand-in makes a framework's object

    def root_of(self, value: object) -> str:
        """Returns the package that made the class of `value`, or ""."""
        for kind in type(value).__mro__:
            root = str(kind.__module__).partition(".")[0]
            if root in self._roots:
                return root
        return ""

    def loaded(self) -> List[str]:
        """Returns those of its packages that are loaded."""
        return [root for root in self._roots if root in sys.modules]

    def all(self, name: str, first: str = "") -> List[Any]:
        """Returns what each loaded package has under `name`; that of `first` comes first."""
        found = []
        for root in sorted(self._roots, key=lambda root: root != first):
            module = self._module(root, f"{root}.{self.places[name]}")
            # A program may have put our own module or class in the place of the framework's.
            ours = str(getattr(module, "__name__", "")).startswith("brig.")
            value = None if ours else getattr(module, name, None)
            if value is not None and not str(getattr(value, "__module__", "")).startswith("brig."):
                found.append(value)
        return found

    def _module(self, root: str, name: str) -> Optional[types.ModuleType]:
        if name in sys.modules or root not in sys.modules or name in self._tried:
            return sys.modules.get(name)
        spec = getattr(sys.modules[root], "__spec__", None)
        if getattr(spec, "_initializing", False):
            return None  # it may be the framework itself that imports us
        self._tried.add(name)
        try:
            return importlib.import_module(name)
        except Exception:  # of a version that has no such module, or whatever the module runs
            return None

    def own(self, name: str, otherwise: Any, first: str = "") -> Any:
        """Returns the framework's own `name`, or `otherwise` where it is not loaded."""
        found = self.all(name, first)
        return found[0] if found else otherwise

    def joined(self, ours: type, first: str = "") -> type:
        """Returns a class that is `ours` and the framework's too, so that both names know it."""
        theirs = self.all(ours.__name__, first)
        if not theirs:
            return ours
        bases = (ours, *theirs)
        if bases not in self._joined:
            self._joined[bases] = types.new_class(
                ours.__name__, bases, {}, lambda body: body.update(__module__=ours.__module__)
            )
        return self._joined[bases]


class StandIn(type):
    """The type of a class that stands in for a framework's.

    Where the framework is loaded, calling the class makes the framework's object, and isinstance()
    accepts those. A class that derives from it is left alone.
    """

    def _theirs(cls) -> List[Any]:
        framework: Optional[Framework] = cls.__dict__.get("_framework")
        return framework.all(cls.__name__) if framework else []

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        for theirs in cls._theirs():
            cls.__dict__["_framework"].used()
            return theirs(*arguments, **named)
        return super().__call__(*arguments, **named)

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, tuple(cls._theirs()))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return super().__subclasscheck__(subclass) or issubclass(subclass, tuple(cls._theirs()))


class StandInEnum(Enum):
    """An Enum whose members equal those of the framework's Enum that mean the same."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Enum) and type(other).__name__ == type(self).__name__:
            return bool((self.name, self.value) == (other.name, other.value))
        return NotImplemented

    def __hash__(self) -> int:  # as every Enum has it
        return hash(self.name)

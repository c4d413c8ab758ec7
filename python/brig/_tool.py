"""What makes a function a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, TypeVar, overload

from brig._errors import ConfigError

if TYPE_CHECKING:
    from brig._schema import Signature

_F = TypeVar("_F", bound=Callable[..., Any])
_MARK = "__brig_tool__"


class Tool:
    """A function, and what a client is told of it.

    ``typed``: no schema is deduced, any keyword arguments are taken, and values keep their Python types
    (bytes, tuple, datetime, ...) on both ways.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: Optional[str] = None,
        description: Optional[str] = None,
        input_schema: Optional[Mapping[str, Any]] = None,
        output_schema: Optional[Mapping[str, Any]] = None,
        read_only: bool = False,
        destructive: bool = True,
        idempotent: bool = False,
        open_world: bool = True,
        coerce: bool = True,
        typed: bool = False,
        policy: Optional[Mapping[str, Any]] = None,
    ) -> None:
        if not callable(function):
            raise ConfigError(f"a tool must be a function, not {type(function).__name__}")
        self.function = function
        own: str = getattr(function, "__name__", type(function).__name__)
        self.name = name or own
        if not name and self.name == "<lambda>":
            raise ConfigError("a lambda has no name: use brig.Tool(function, name=...)")
        self.description = description
        self.input_schema = input_schema
        self.output_schema = output_schema
        self.annotations = {
            "read_only": read_only,
            "destructive": destructive,
            "idempotent": idempotent,
            "open_world": open_world,
        }
        self.coerce = coerce
        self.typed = typed
        self.policy = policy
        self.relays_exit = False  # of the drop-ins: SystemExit is an error like any other
        self.needs: set[str] = set()  # of the drop-ins: modules of arguments, which the cell must see
        self._signature: Optional[Signature] = None

    @property
    def signature(self) -> Signature:
        """Worked out when it is first needed: until then names in the hints may not exist."""
        if self._signature is None:
            from brig._schema import signature_of

            self._signature = signature_of(self.function, description=self.description)
        return self._signature

    def listed(self) -> dict[str, Any]:
        """As brig/c.h takes it."""
        told: dict[str, Any] = {"name": self.name, "coerce": self.coerce, **self.annotations}
        if self.typed:
            text = self.description
            if text is None:
                lines = (getattr(self.function, "__doc__", None) or "").strip().splitlines()
                text = lines[0] if lines else ""
            told["description"] = text
            told["input_schema"] = dict(self.input_schema or {"type": "object"})
            return told
        signature = self.signature
        told["description"] = signature.description
        told["input_schema"] = dict(self.input_schema or signature.input_schema)
        output = self.output_schema or signature.output_schema
        if output is not None:
            told["output_schema"] = dict(output)
        return told

    def __repr__(self) -> str:
        return f"brig.Tool({self.name!r})"


def tool_of(item: Any) -> Optional[Tool]:
    """A Tool, or what a function is marked as."""
    found = item if isinstance(item, Tool) else getattr(item, _MARK, None)
    return found if isinstance(found, Tool) else None


def as_tool(item: Any) -> Tool:
    """A Tool, a function marked as one, or any function."""
    return tool_of(item) or Tool(item)


def marked_tools(module: Any) -> list[Tool]:
    """Those of a module that are marked, in the order of their definition."""
    found: list[Tool] = []
    for item in vars(module).values():
        tool = item if isinstance(item, Tool) else getattr(item, "__dict__", {}).get(_MARK)
        if isinstance(tool, Tool) and tool not in found:
            found.append(tool)
    return found


@overload
def tool(function: _F) -> _F: ...


@overload
def tool(
    function: None = None,
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    input_schema: Optional[Mapping[str, Any]] = None,
    output_schema: Optional[Mapping[str, Any]] = None,
    read_only: bool = False,
    destructive: bool = True,
    idempotent: bool = False,
    open_world: bool = True,
    coerce: bool = True,
    typed: bool = False,
    policy: Optional[Mapping[str, Any]] = None,
) -> Callable[[_F], _F]: ...


def tool(function: Optional[_F] = None, **options: Any) -> Any:
    """Marks a function as a tool. It stays the function that it was.

    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     '''Adds two integers.'''
    ...     return a + b
    >>> add(2, 3)
    5
    """

    def mark(marked: _F) -> _F:
        setattr(marked, _MARK, Tool(marked, **options))
        return marked

    return mark if function is None else mark(function)

"""Tool, and the decorator that marks a function as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, TypeVar

from brig._errors import ConfigError

_F = TypeVar("_F", bound=Callable[..., Any])
_MARK = "__brig_tool__"

if TYPE_CHECKING:
    # Type checkers know typing_extensions; it need not be installed.
    from typing import Protocol, overload

    from typing_extensions import Concatenate, ParamSpec

    from brig._schema import Signature

    _P = ParamSpec("_P")

    class _Marker(Protocol[_P]):
        """What tool() is: a decorator, with or without the options of Tool."""

        @overload
        def __call__(self, function: _F) -> _F: ...

        @overload
        def __call__(self, *args: _P.args, **options: _P.kwargs) -> Callable[[_F], _F]: ...


def _takes_options_of(
    made: Callable[Concatenate[Callable[..., Any], _P], Tool],
) -> Callable[[Callable[..., Any]], _Marker[_P]]:
    """Tells type checkers that a decorator takes the options of `made`, which are written only
    there."""

    def typed(marker: Any) -> Any:
        return marker

    return typed


class Tool:
    """A function with the name, description, schemas and hints that clients get.

    With ``typed`` brig deduces no schema and accepts any keyword arguments. Arguments and results
    keep their Python types (bytes, tuple, datetime, ...). """

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
        self.relays_exit = False  # set by the drop-ins: SystemExit is an error like any other
        # Set by the drop-ins: modules of arguments, which the cell must see.
        self.needs: set[str] = set()
        self._signature: Optional[Signature] = None

    @property
    def signature(self) -> Signature:
        """Made on first use: before that, names in the hints may not exist yet."""
        if self._signature is None:
            from brig._schema import signature_of

            self._signature = signature_of(self.function, description=self.description)
        return self._signature

    def listed(self) -> dict[str, Any]:
        """Returns the entry of this tool in the config of brig/c.h."""
        listed: dict[str, Any] = {
            "name": self.name, "coerce": self.coerce, "annotations": self.annotations
        }
        if self.typed:
            text = self.description
            if text is None:
                lines = (getattr(self.function, "__doc__", None) or "").strip().splitlines()
                text = lines[0] if lines else ""
            listed["description"] = text
            listed["input_schema"] = dict(self.input_schema or {"type": "object"})
            return listed
        signature = self.signature
        listed["description"] = signature.description
        listed["input_schema"] = dict(self.input_schema or signature.input_schema)
        output = self.output_schema or signature.output_schema
        if output is not None:
            listed["output_schema"] = dict(output)
        return listed

    def __repr__(self) -> str:
        return f"brig.Tool({self.name!r})"


def tool_of(item: Any) -> Optional[Tool]:
    """Returns `item` if it is a Tool, or the Tool that its mark holds, or None."""
    found = item if isinstance(item, Tool) else getattr(item, _MARK, None)
    return found if isinstance(found, Tool) else None


def as_tool(item: Any) -> Tool:
    """Returns the Tool of `item`, which is a Tool, a marked function or any other function."""
    return tool_of(item) or Tool(item)


def marked_tools(module: Any) -> list[Tool]:
    """Returns the marked tools of a module, in the order of their definition."""
    found: list[Tool] = []
    for item in vars(module).values():
        tool = item if isinstance(item, Tool) else getattr(item, "__dict__", {}).get(_MARK)
        if isinstance(tool, Tool) and tool not in found:
            found.append(tool)
    return found


@_takes_options_of(Tool)
def tool(function: Optional[_F] = None, **options: Any) -> Any:
    """Marks a function as a tool, and returns the same function.

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

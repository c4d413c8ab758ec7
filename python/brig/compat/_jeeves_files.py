"""JeevesAgent's other two wrappers of tools. ``brig.compat.jeeves`` is the module to import."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, AsyncIterator, FrozenSet, Iterable, List, Mapping, Optional, Tuple, Union

from brig.compat._jeeves_types import ToolDef, ToolEvent, ToolHost, ToolResult, results_for

DEFAULT_PATH_ARG_NAMES = frozenset(
    "path file filename filepath directory dir folder src source dst destination target".split()
)
_PATH_LIKE = re.compile(
    r"(?:.*[_.-])?(?:paths?|files?|filenames?|dirs?|director(?:y|ies)|folders?|source|destination"
    r"|targets?)",
    re.DOTALL,
)
_DEEPEST = 16  # levels of lists and objects in one argument


class NoSandbox:
    """Hands everything on to the host that it wraps."""

    def __init__(self, inner: ToolHost) -> None:
        self._inner = inner

    @property
    def inner(self) -> ToolHost:
        return self._inner

    async def list_tools(self, *, query: Optional[str] = None) -> List[ToolDef]:
        return await self._inner.list_tools(query=query)

    async def call(self, tool: str, args: Mapping[str, Any], *, call_id: str = "") -> ToolResult:
        return await self._inner.call(tool, args, call_id=call_id)

    async def watch(self) -> AsyncIterator[ToolEvent]:
        async for event in self._inner.watch():
            yield event


class FilesystemSandbox(NoSandbox):
    """Denies a call with an argument that is a path outside of the roots.

    `path_args` names the arguments that are paths. Without it those count whose name says so, and
    every text with a slash or a backslash, unless `auto_detect` is off. Lists and objects are
    searched; one that is nested too deep to be searched is denied. The check is of the arguments
    only, before the call: wrap a SubprocessSandbox to have the tool itself confined.
    """

    def __init__(
        self,
        inner: ToolHost,
        *,
        roots: Iterable[Union[str, Path]],
        path_args: Optional[Iterable[str]] = None,
        auto_detect: bool = True,
    ) -> None:
        super().__init__(inner)
        self._roots = tuple(Path(root).resolve() for root in roots)
        if not self._roots:
            raise ValueError("FilesystemSandbox requires at least one allowed root")
        named = None if path_args is None else frozenset(path_args)
        self._named: Optional[FrozenSet[str]] = named
        self._auto_detect = auto_detect

    @property
    def roots(self) -> Tuple[Path, ...]:
        return self._roots

    async def call(self, tool: str, args: Mapping[str, Any], *, call_id: str = "") -> ToolResult:
        """Deny the call if an argument is a path outside of the roots, else return the host's
        result."""
        for name, value in (args or {}).items():
            outside = self._outside(name, value, 0)
            if outside is not None:
                denied: ToolResult = results_for(self._inner).denied_(
                    call_id,
                    f"FilesystemSandbox: argument {name!r} resolves outside "
                    f"the allowed roots ({outside!r})",
                )
                return denied
        return await self._inner.call(tool, args, call_id=call_id)

    def _outside(self, name: str, value: Any, depth: int) -> Optional[str]:
        """Return the first path in `value` that is outside of the roots."""
        if isinstance(value, (str, bytes, os.PathLike)):
            is_path = isinstance(value, os.PathLike) or self._is_path(name, value)
            text = os.fsdecode(value)
            return text if is_path and not self._is_inside(text) else None
        if isinstance(value, Mapping):
            # Below a name that says "path" everything is one.
            sticky = self._says_path(name)
            items = [(name if sticky else str(key), each) for key, each in value.items()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            items = [(name, each) for each in value]
        else:
            return None
        if depth == _DEEPEST and items:
            return "nested too deep"
        for key, each in items:
            found = self._outside(key, each, depth + 1)
            if found is not None:
                return found
        return None

    def _says_path(self, name: str) -> bool:
        if self._named is not None:
            return name in self._named
        lowered = str(name).lower()
        return self._auto_detect and (
            lowered in DEFAULT_PATH_ARG_NAMES or _PATH_LIKE.fullmatch(lowered) is not None
        )

    def _is_path(self, name: str, value: Union[str, bytes]) -> bool:
        if self._says_path(name):
            return True
        if self._named is not None or not self._auto_detect:
            return False
        text = os.fsdecode(value)
        return "/" in text or "\\" in text

    def _is_inside(self, text: str) -> bool:
        try:
            path = Path(text).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, no such home, a NUL
            return False
        return any(path == root or root in path.parents for root in self._roots)

"""Loads the functions of a zygote, as its spec says (_cell lists the members)."""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from typing import Any, Callable

from brig._protocol import CATALOG, progress_frame
from brig._state import StopLoading, state
from brig._tool import Tool, marked_tools, tool_of

FORKED = 97  # the exit code of a process that an import has forked, and that came back from it
_ENDING_THREADS = 2.0  # seconds for the end of threads that imports have stopped
_MOST_FILES = 2000
_MAIN = "__brig_main__"  # so that `if __name__ == "__main__"` is left out


class Refused(Exception):
    """brig refuses what was loaded. The message is a whole sentence."""


def own_files() -> list[str]:
    """Returns the files of imported modules, without the interpreter's own and installed
    packages."""
    library = os.path.dirname(os.__file__) + os.sep
    files = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not os.path.isabs(file):
            continue
        if file.startswith((library, "/proc/")):
            continue
        installed = ("/site-packages/", "/dist-packages/", "/lib-dynload/")
        if not any(each in file for each in installed):
            files.add(file)
    return sorted(files)[:_MOST_FILES]


def _execute(module: types.ModuleType, loader: Any) -> None:
    if hasattr(loader, "exec_module"):
        loader.exec_module(module)
    else:  # the importer of zip files before Python 3.10
        exec(loader.get_code(module.__name__), module.__dict__)


class Loading:
    """Imports modules and scripts, and passes each function to `add`: its name, the tool, whether
    it is typed, and whether it relays SystemExit. `threads` counts the threads of this process."""

    def __init__(
        self, spec: dict[str, Any], threads: Callable[[], int], add: Callable[
            [str, Tool, bool, bool], None
        ]
    ) -> None:
        self._spec = spec
        self._threads = threads
        self._add = add
        self.doing = "loading"  # begins the message of a failure

    def load(self, own: str) -> list[dict[str, Any]]:
        """Returns the discovered tools, listed for the host. Raises Refused, or what the imports
        raise. `own` is the place of this package."""
        path = self._spec.get("path", [])
        sys.path[:] = [own, *path] if self._spec.get("exact") else [own, *path, *sys.path[1:]]
        state.loading = True
        for name in self._spec.get("preload", []):
            from brig._preload import preload

            self._begin(f"preload: importing module '{name}'")
            preload(name)
        for each in self._spec.get("tools", []):
            self._add(
                each["name"],
                self._resolve(each),
                bool(each.get("typed")),
                bool(each.get("relays_exit")),
            )
        listed = []
        for name in self._spec.get("discover", []):
            module = self._import(name)
            tools = marked_tools(module)
            if not tools:
                raise Refused(f"module '{name}' has no tools; mark functions with @brig.tool")
            for tool in tools:
                self.doing = f"making a tool of {tool.name!r}"
                if tool.policy:
                    raise Refused(
                        f"tool '{tool.name}' sets a policy in @brig.tool; only the operator sets "
                        "policies: give it where the "
                        "module is loaded"
                    )
                self._add(tool.name, tool, False, False)
                listed.append(tool.listed())
        state.loading = False
        return listed

    def _begin(self, doing: str) -> None:
        self.doing = doing
        os.pwrite(CATALOG, progress_frame(0, doing.encode("utf-8", "replace")[:1000]), 0)

    def _resolve(self, each: dict[str, Any]) -> Tool:
        if "pickle" in each or "code" in each:
            from brig._by_value import load

            self._begin(f"loading tool '{each['name']}'")
            return Tool(load(each), name=each["name"])
        module = self._import(each["module"]) if "module" in each else self._run(each["main"])
        found: Any = module
        for part in each["qualname"].split("."):
            found = getattr(found, part, None)
            if found is None:
                raise Refused(
                    f"tool '{each['name']}': '{each['qualname']}' is not defined in "
                    f"{each.get('module') or each['main']} when brig loads it for its functions: "
                    "define it "
                    "before the first brig.Sandbox(), and not below `if __name__ == ...`"
                )
        return tool_of(found) or Tool(found, name=each["name"])

    def _import(self, name: str) -> types.ModuleType:
        if name in sys.modules:
            return sys.modules[name]
        self._begin(f"importing module '{name}'")
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            _execute(module, spec.loader)
        except StopLoading:
            pass  # the functions above that line are defined
        return module

    def _run(self, path: str) -> types.ModuleType:
        if _MAIN in sys.modules:
            return sys.modules[_MAIN]
        self._begin(f"importing script '{path}'")
        module = types.ModuleType(_MAIN)
        module.__file__ = path
        sys.modules[_MAIN] = sys.modules["__main__"] = module
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        try:
            exec(code, vars(module))
        except StopLoading:
            pass
        return module

    def unreadable(self) -> str:
        """Returns a possible cause of a failed import that its exception does not mention, or
        ""."""
        for path in self._spec.get("path", []):
            if os.path.exists(path) and not os.access(path, os.R_OK | os.X_OK):
                return (
                    f"\n(the user of the cells may not read {path}: run chmod o+rx on it, or move it)"
                )
        return ""

    def check_alone(self) -> None:
        """Raises Refused if an import left threads or processes. A copy has one thread, and locks
        of others would stay locked."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0 or os.WIFEXITED(status) and os.WEXITSTATUS(status) == FORKED:
                    raise Refused(
                        f"{self.doing} leaves a process running; start processes in the tools, not "
                        "in imports"
                    )
        except ChildProcessError:
            pass  # no process is left
        if self._has_one_thread():
            return
        names = ""
        if "threading" in sys.modules:
            others = [t.name for t in sys.modules["threading"].enumerate()[1:]]
            names = f" ({', '.join(others[:5])})" if others else ""
        raise Refused(
            f"{self.doing} starts threads{names}; a copy of such a process could hang: start "
            "threads in "
            "the tools"
        )

    def _has_one_thread(self) -> bool:
        """Waits for threads that are about to end: a timer that was cancelled, like matplotlib's,
        has not ended yet."""
        if self._threads() == 1:
            return True
        import time

        until = time.monotonic() + _ENDING_THREADS
        while time.monotonic() < until:
            time.sleep(0.002)
            if self._threads() == 1:
                return True
        return False

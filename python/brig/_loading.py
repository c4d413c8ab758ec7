"""Modules and scripts, as a zygote loads them."""

from __future__ import annotations

import os
import sys
import types
from typing import Any

_MOST_FILES = 2000
_MAIN = "__brig_main__"  # so that `if __name__ == "__main__"` is left out


class _Refused(Exception):
    pass


def _own_files() -> list[str]:
    """What was imported, but for the interpreter's own and installed packages."""
    library = os.path.dirname(os.__file__) + os.sep
    files = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not os.path.isabs(file) or file.startswith((library, "/proc/")):
            continue
        if "/site-packages/" not in file and "/dist-packages/" not in file and "/lib-dynload/" not in file:
            files.add(file)
    return sorted(files)[:_MOST_FILES]


def _execute(module: types.ModuleType, loader: Any) -> None:
    if hasattr(loader, "exec_module"):
        loader.exec_module(module)
    else:  # the importer of zip files, before Python 3.10
        exec(loader.get_code(module.__name__), module.__dict__)

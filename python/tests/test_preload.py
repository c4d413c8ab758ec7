"""Modules that are imported ahead for run_python, in an interpreter of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = str(Path(__file__).resolve().parent.parent)


def run(code: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.path.insert(0, {PACKAGE!r}); from brig._preload import preload\n{code}"
    return subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=120
    )


def test_a_module_of_a_package_is_there_as_if_it_were_imported() -> None:
    done = run("preload('xml.dom.minidom'); import xml; print(xml.dom.minidom.__name__)")
    assert done.stdout == "xml.dom.minidom\n", done.stderr


def test_one_that_is_not_there_is_named() -> None:
    done = run("preload('no_such_module')")
    assert done.returncode == 1
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'no_such_module'\n")
    assert "importlib" not in done.stderr


def test_matplotlib_is_warm_and_leaves_no_figure() -> None:
    pytest.importorskip("matplotlib")
    done = run(
        "preload('matplotlib'); import matplotlib, sys, threading\n"
        "print('matplotlib.pyplot' in sys.modules, 'matplotlib.backends.backend_agg' in "
        "sys.modules,\n"
        "      sys.modules['matplotlib.pyplot'].get_fignums(), matplotlib.get_backend().lower())"
    )
    assert done.stdout == "True True [] agg\n", done.stderr

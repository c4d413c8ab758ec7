"""Imports the modules that an operator lists for run_python, in the zygote, so that no call waits
for them."""

from __future__ import annotations

import sys
from typing import Any


def preload(name: str) -> None:
    """Imports a module and warms it up. Raises what the import raises."""
    __import__(name)
    warm = _WARM.get(name.partition(".")[0])
    if warm:
        warm()


def _draw_once() -> None:
    """Draws a plot: the first one of a process loads pyplot, its backend and fonts, which takes
    five times as long."""
    import io
    import os

    __import__("matplotlib.pyplot")
    matplotlib: Any = sys.modules["matplotlib"]
    pyplot: Any = sys.modules["matplotlib.pyplot"]
    if "MPLBACKEND" not in os.environ:
        matplotlib.use("agg")  # a cell has no screen, and looking for one takes long
    figure, axes = pyplot.subplots()
    axes.plot([0, 1], [0, 1], label="$x$")
    axes.set_title("title")
    axes.legend()
    for box in (None, "tight"):
        figure.savefig(io.BytesIO(), format="png", bbox_inches=box)
    pyplot.close(figure)


_WARM = {"matplotlib": _draw_once}

"""A tool with numpy, for python_calls.py."""

import brig
import numpy


@brig.tool
def mean(values: list) -> float:
    return float(numpy.mean(values))

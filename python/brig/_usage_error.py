"""UsageError: the exception of magics."""

from __future__ import annotations


class UsageError(Exception):
    """There is no such magic, or the magic can't do this."""


UsageError.__module__ = "builtins"  # so that tracebacks show its bare name, as notebooks do

"""What a magic raises."""

from __future__ import annotations


class UsageError(Exception):
    """A magic that is not there, or can't do what it was asked."""


UsageError.__module__ = "builtins"  # tracebacks tell it by its bare name, as notebooks do

"""What brig raises. A call never does: how it ended is in its result."""

from __future__ import annotations

import builtins


class Error(Exception):
    """All of brig's own."""


class ConfigError(Error, ValueError):
    """A policy, a tool or an argument is wrong: change it."""


class UnsupportedError(Error):
    """This machine lacks what the policy needs; the message names it, and the fix."""


class PermissionError(Error, builtins.PermissionError):
    """The feature is there, but this user may not use it."""


class ResourceError(Error):
    """Out of memory, processes, descriptors or disk."""


class InternalError(Error):
    """A defect of brig."""


KINDS: dict[str, type[Error]] = {
    "config": ConfigError,
    "unsupported": UnsupportedError,
    "permission": PermissionError,
    "resource": ResourceError,
    "internal": InternalError,
}

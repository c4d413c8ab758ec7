"""The exceptions that brig raises. A call raises none of them: its result says how it ended."""

from __future__ import annotations

import builtins


class Error(Exception):
    """The base class of all errors that brig raises."""


class ConfigError(Error, ValueError):
    """A policy, a tool or an option is wrong. The message says what, and how to change it."""


class UnsupportedError(Error):
    """This machine lacks a feature that the policy needs. The message names the feature and the
    fix."""


class PermissionError(Error, builtins.PermissionError):
    """The machine has the feature, but this user may not use it."""


class ResourceError(Error):
    """No memory, processes, descriptors or disk space are left."""


class InternalError(Error):
    """brig has a defect."""


KINDS: dict[str, type[Error]] = {
    "config": ConfigError,
    "unsupported": UnsupportedError,
    "permission": PermissionError,
    "resource": ResourceError,
    "internal": InternalError,
}

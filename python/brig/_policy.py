"""Turns keyword arguments into a policy. No other module knows their names."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

from brig._errors import ConfigError

Duration = Union[int, float, str]
Size = Union[int, str]
Paths = Sequence[str]
#: "none", "loopback" or "host"; or the hosts: {"allow": ["api.github.com:443"], "deny": [...]}
Network = Union[str, Mapping[str, Sequence[str]]]


def policy_json(
    policy: Optional[Mapping[str, Any]] = None,
    *,
    timeout: Optional[Duration] = None,
    memory: Optional[Size] = None,
    network: Optional[Network] = None,
    read: Optional[Paths] = None,
    write: Optional[Paths] = None,
    hide: Optional[Paths] = None,
    read_optional: Optional[Paths] = None,
    write_optional: Optional[Paths] = None,
    noexec: Optional[Paths] = None,
    protect: Optional[Paths] = None,
    working_directory: Optional[str] = None,
    environment: Optional[Mapping[str, str]] = None,
    passthrough: Optional[Sequence[str]] = None,
    unset: Optional[Sequence[str]] = None,
    preset: Optional[Sequence[str]] = None,
    user: Optional[Union[int, str]] = None,
    isolation: Optional[str] = None,
    **limits: Any,
) -> dict[str, Any]:
    """Returns the policy for brig/c.h: `policy`, changed by the keywords that are not None."""
    made: dict[str, Any] = {key: _plain(value) for key, value in (policy or {}).items()}
    if timeout is not None:
        made.pop("wall_time", None)
        for key in ("timeout", "wall_time"):
            made.get("limits", {}).pop(key, None)
        made["timeout"] = timeout
    for key, value in {"memory": memory, **limits}.items():
        if value is not None:
            made.get("limits", {}).pop(key, None)
            made[key] = value
    if isinstance(preset, str):
        raise ConfigError(f"preset: expected a list of strings, got a string; write [{preset!r}]")
    presets = None if preset is None else [str(each) for each in preset]
    named: dict[str, Any] = {
        "network": _network(network), "isolation": isolation, "user": user, "preset": presets
    }
    made.update({key: value for key, value in named.items() if value is not None})
    _into(
        made, "files", read=read, write=write, hide=hide, working_directory=working_directory,
        read_optional=read_optional, write_optional=write_optional, noexec=noexec, protect=protect,
    )  # fmt: skip
    _into(made, "environment", set=environment, passthrough=passthrough, unset=unset)
    return made


def _plain(value: Any) -> Any:
    return {
        key: _plain(each) for key, each in value.items()
    } if isinstance(value, Mapping) else value


def _network(given: Optional[Network]) -> Any:
    if not isinstance(given, Mapping):
        return given
    made: dict[str, Any] = {}
    for key, hosts in given.items():
        if isinstance(hosts, str):
            raise ConfigError(f"network.{key}: expected a list of strings, got a string; write [{hosts!r}]")
        made[key] = None if hosts is None else [str(each) for each in hosts]
    return made


def _into(made: dict[str, Any], table: str, **values: Any) -> None:
    for key, value in values.items():
        if value is None:
            continue
        if isinstance(value, str) and key != "working_directory":
            raise ConfigError(f"{key}: expected a list of strings, got a string; write [{value!r}]")
        if isinstance(value, Mapping):
            value = dict(value)
        elif not isinstance(value, str):
            value = [str(each) for each in value]
        made.setdefault(table, {})[key] = value

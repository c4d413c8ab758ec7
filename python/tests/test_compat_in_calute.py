"""brig.compat.calute in Calute: its own classes are accepted, compared, returned and raised."""

from __future__ import annotations

import dataclasses
import enum
import logging
import os
import sys
import types
from typing import Any, Callable, Dict, List

import pytest

import brig.compat.calute as drop_in
from brig.compat import _calute_config as stand_ins


def where(x: int = 0) -> List[int]:
    return [os.getpid(), x]


def module(name: str, **members: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    for member in members.values():
        if isinstance(member, type):
            member.__module__ = name
    vars(made).update(members)
    return made


def doubles(root: str) -> Dict[str, types.ModuleType]:
    """Modules of the shape that Calute's have, with a router that compares as its does."""

    class SandboxMode(enum.Enum):
        OFF = "off"
        WARN = "warn"
        STRICT = "strict"

    class ExecutionContext(enum.Enum):
        HOST = "host"
        SANDBOX = "sandbox"

    backend_fields = [
        ("image", str, dataclasses.field(default="python:3.12-slim")),
        ("mount_paths", dict, dataclasses.field(default_factory=dict)),
        ("mount_readonly", bool, dataclasses.field(default=True)),
        ("env_vars", dict, dataclasses.field(default_factory=dict)),
        ("extra_args", dict, dataclasses.field(default_factory=dict)),
    ]
    backend_config = dataclasses.make_dataclass("SandboxBackendConfig", backend_fields)
    fields = [
        ("mode", SandboxMode, dataclasses.field(default=SandboxMode.OFF)),
        ("sandboxed_tools", set, dataclasses.field(default_factory=set)),
        ("elevated_tools", set, dataclasses.field(default_factory=set)),
        ("sandbox_timeout", float, dataclasses.field(default=30.0)),
        ("sandbox_memory_limit_mb", int, dataclasses.field(default=512)),
        ("sandbox_network_access", bool, dataclasses.field(default=False)),
        ("working_directory", str, dataclasses.field(default=None)),
        ("backend_type", str, dataclasses.field(default=None)),
        ("backend_config", object, dataclasses.field(default_factory=backend_config)),
    ]
    config = dataclasses.make_dataclass("SandboxConfig", fields)
    decision = dataclasses.make_dataclass("ExecutionDecision", ["context", "tool_name", "reason"])

    class SandboxExecutionUnavailableError(RuntimeError):
        def __init__(self, tool_name: str) -> None:
            self.tool_name = tool_name
            super().__init__(f"{tool_name}: theirs")

    class SandboxRouter:
        def __init__(self, config: Any = None, backend: Any = None) -> None:
            self.config, self.backend = config, backend

        def decide(self, name: str) -> Any:
            listed = name in self.config.sandboxed_tools
            strict = listed and self.config.mode == SandboxMode.STRICT
            context = ExecutionContext.SANDBOX if strict else ExecutionContext.HOST
            return decision(context, name, "")

        def execute_in_sandbox(self, name: str, function: Any, arguments: Any) -> Any:
            if self.backend is None:
                raise SandboxExecutionUnavailableError(name)
            return self.backend.execute(name, function, arguments)

    class SubprocessSandboxBackend:
        def __init__(self, sandbox_config: Any) -> None:
            self.config = sandbox_config

        def execute(self, name: str, function: Any, arguments: Any) -> Any:
            raise AssertionError("a plain process")

    class DockerSandboxBackend:
        def __init__(self, sandbox_config: Any) -> None:
            self.config = sandbox_config

    registry = {"docker": DockerSandboxBackend, "subprocess": SubprocessSandboxBackend}
    below = f"{root}.security.sandbox_backends"
    made = [
        module(root),
        module(f"{root}.security"),
        module(
            f"{root}.security.sandbox",
            SandboxMode=SandboxMode,
            ExecutionContext=ExecutionContext,
            ExecutionDecision=decision,
            SandboxBackendConfig=backend_config,
            SandboxConfig=config,
            SandboxExecutionUnavailableError=SandboxExecutionUnavailableError,
            SandboxRouter=SandboxRouter,
        ),
        module(below, _BACKEND_REGISTRY=registry),
        module(f"{below}.subprocess_backend", SubprocessSandboxBackend=SubprocessSandboxBackend),
        module(f"{below}.docker_backend", DockerSandboxBackend=DockerSandboxBackend),
    ]
    return {each.__name__: each for each in made}


@pytest.fixture(params=["calute", "xerxes"])
def theirs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The framework's module `security.sandbox`, loaded after brig's."""
    for name, made in doubles(request.param).items():
        monkeypatch.setitem(sys.modules, name, made)
    return sys.modules[f"{request.param}.security.sandbox"]


def runtime(theirs: Any, router: Callable[..., Any], config: Any) -> Callable[..., Any]:
    """What the framework's executor does with a call."""
    registry = sys.modules[theirs.__name__ + "_backends"]._BACKEND_REGISTRY
    backend = registry[config.backend_type](sandbox_config=config)
    routes = router(config=config, backend=backend)

    def run(name: str, function: Callable[..., Any], arguments: Dict[str, Any]) -> Any:
        if routes.decide(name).context == theirs.ExecutionContext.SANDBOX:
            return routes.execute_in_sandbox(name, function, arguments)
        return function(**arguments)

    return run


# Names as a program has them: of the framework, of brig since it was loaded, of brig before.
SOURCES = {
    "theirs": lambda theirs: theirs,
    "drop_in": lambda theirs: drop_in,
    "stand_ins": lambda theirs: stand_ins,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("routed_by", ["theirs", "drop_in"])
def test_strict_means_a_cell_in_calutes_own_runtime(
    theirs: Any, source: str, routed_by: str
) -> None:
    names = SOURCES[source](theirs)
    config = names.SandboxConfig(
        mode=names.SandboxMode.STRICT, sandboxed_tools={"where"}, backend_type="subprocess"
    )
    drop_in.list_backends()  # a program that uses only `theirs` has called something of brig's
    run = runtime(theirs, SOURCES[routed_by](theirs).SandboxRouter, config)
    pid, x = run("where", where, {"x": 7})
    assert (pid != os.getpid(), x) == (True, 7)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mode", ["OFF", "WARN"])
def test_off_and_warn_mean_the_host(
    theirs: Any, source: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    names = SOURCES[source](theirs)
    config = names.SandboxConfig(
        mode=names.SandboxMode[mode], sandboxed_tools={"where"}, backend_type="subprocess"
    )
    drop_in.list_backends()
    with caplog.at_level(logging.WARNING):
        run = runtime(theirs, drop_in.SandboxRouter, config)
        assert run("where", where, {"x": 7}) == [os.getpid(), 7]
    told = [(each.name, each.getMessage()) for each in caplog.records]
    warning = "Tool 'where' would run in sandbox (mode=warn, running on host)"
    assert told == ([(theirs.__name__, warning)] if mode == "WARN" else [])


class Mode(enum.Enum):
    PARANOID = "paranoid"
    STRICT = "off"  # the name of one, the value of another
    STRICTER = "strict"


@pytest.mark.parametrize("mode", [*Mode, "paranoid", "STRICT", "", None, True, 2, object()])
@pytest.mark.parametrize("tool", ["listed", "free", "other"])
def test_an_unknown_mode_is_refused_for_every_tool(mode: Any, tool: str) -> None:
    config = drop_in.SandboxConfig(
        mode=mode, sandboxed_tools={"listed", "free"}, elevated_tools={"free"}
    )
    with pytest.raises(ValueError, match="^Unknown sandbox mode .*'off', 'warn', 'strict'$"):
        drop_in.SandboxRouter(config).decide(tool)


@pytest.mark.parametrize("mode", [*Mode, "paranoid", "STRICT", "", None, True, 2, object()])
@pytest.mark.parametrize("tool", ["listed", "free", "other"])
@pytest.mark.parametrize("routed_by", ["theirs", "drop_in"])
def test_calutes_own_router_refuses_an_unknown_mode(
    theirs: Any, routed_by: str, tool: str, mode: Any
) -> None:
    drop_in.list_backends()
    config = theirs.SandboxConfig(
        mode=mode, sandboxed_tools={"listed", "free"}, elevated_tools={"free"}
    )
    with pytest.raises(ValueError, match="^Unknown sandbox mode .*'off', 'warn', 'strict'$"):
        SOURCES[routed_by](theirs).SandboxRouter(config).decide(tool)


class OtherMode(enum.Enum):
    OFF, WARN, STRICT = "off", "warn", "strict"


@pytest.mark.parametrize("mode", ["strict", OtherMode.STRICT, stand_ins.SandboxMode.STRICT])
@pytest.mark.parametrize("routed_by", ["theirs", "drop_in"])
def test_what_means_strict_is_strict_for_calutes_own_router(
    theirs: Any, routed_by: str, mode: Any
) -> None:
    for _ in range(3):  # it is changed once
        drop_in.list_backends()
    config = theirs.SandboxConfig(mode=mode, sandboxed_tools={"it"})
    decision = SOURCES[routed_by](theirs).SandboxRouter(config).decide("it")
    assert type(decision) is theirs.ExecutionDecision
    assert decision.context is theirs.ExecutionContext.SANDBOX


def test_a_router_of_the_users_own_is_left_alone(theirs: Any) -> None:
    class Mine(theirs.SandboxRouter):  # type: ignore[misc,name-defined]
        def decide(self, name: str) -> Any:
            return name

    drop_in.list_backends()
    assert Mine(theirs.SandboxConfig(mode="paranoid")).decide("it") == "it"


@pytest.mark.parametrize("context", ["paranoid", "SANDBOX", "", None, True, Mode.PARANOID])
def test_an_unknown_context_is_refused(context: Any) -> None:
    with pytest.raises(ValueError, match="^Unknown execution context .*: 'host', 'sandbox'$"):
        drop_in.ExecutionDecision(context, "it", "")


def test_a_context_may_be_its_text_or_anothers_member(
    theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = theirs.ExecutionContext.SANDBOX
    for name in [each for each in sys.modules if each.partition(".")[0] in ("calute", "xerxes")]:
        monkeypatch.delitem(sys.modules, name)
    for context in ("sandbox", other, stand_ins.ExecutionContext.SANDBOX):
        decision = stand_ins.ExecutionDecision(context, "it", "")
        assert decision.context is stand_ins.ExecutionContext.SANDBOX


def test_a_mode_may_be_its_text() -> None:
    config = drop_in.SandboxConfig(mode="strict", sandboxed_tools={"it"})  # type: ignore[arg-type]
    assert drop_in.SandboxRouter(config).decide("it").context is drop_in.ExecutionContext.SANDBOX


def test_members_that_mean_the_same_are_equal(theirs: Any) -> None:
    for name in ("SandboxMode", "ExecutionContext"):
        for ours in getattr(stand_ins, name):
            other = getattr(theirs, name)[ours.name]
            assert ours == other
            assert other == ours
            assert {ours: 1}[other] == 1
        first, second = list(getattr(theirs, name))[:2]
        assert getattr(stand_ins, name)[first.name] != second
    assert stand_ins.SandboxMode.OFF != "off"
    assert stand_ins.SandboxMode.OFF != Mode.STRICT


def test_the_names_give_the_frameworks_classes(theirs: Any) -> None:
    for name in (
        "SandboxMode", "ExecutionContext", "ExecutionDecision", "SandboxBackendConfig",
        "SandboxConfig", "SandboxExecutionUnavailableError",
    ):  # fmt: skip
        assert getattr(drop_in, name) is getattr(theirs, name)


def test_names_that_were_imported_before_make_and_accept_its_objects(theirs: Any) -> None:
    config = stand_ins.SandboxConfig(sandbox_timeout=5.0)
    assert type(config) is theirs.SandboxConfig
    assert type(config.backend_config) is theirs.SandboxBackendConfig
    assert isinstance(config, stand_ins.SandboxConfig)
    assert isinstance(theirs.SandboxConfig(), stand_ins.SandboxConfig)
    assert not isinstance(theirs.SandboxConfig(), stand_ins.SandboxBackendConfig)
    decision = drop_in.SandboxRouter(config).decide("it")
    assert type(decision) is theirs.ExecutionDecision
    assert decision.context is theirs.ExecutionContext.HOST


def test_the_frameworks_handlers_catch_what_is_raised(theirs: Any) -> None:
    for kind in (theirs.SandboxExecutionUnavailableError, RuntimeError):
        with pytest.raises(kind) as caught:
            drop_in.SandboxRouter().execute_in_sandbox("it", where, {})
        assert caught.value.tool_name == "it"
        assert str(caught.value).startswith("Tool 'it' requires sandbox execution")
    with pytest.raises(stand_ins.SandboxExecutionUnavailableError):
        drop_in.SandboxRouter().execute_in_sandbox("it", where, {})


def test_the_backend_is_an_instance_of_the_frameworks_class(theirs: Any) -> None:
    kind = sys.modules[f"{theirs.__name__}_backends.subprocess_backend"].SubprocessSandboxBackend
    for backend in (
        drop_in.SubprocessSandboxBackend(theirs.SandboxConfig()),
        drop_in.get_backend("subprocess", theirs.SandboxConfig()),
    ):
        assert isinstance(backend, (kind, drop_in.SubprocessSandboxBackend))
        assert isinstance(backend, kind)


def test_docker_is_the_frameworks_own(theirs: Any) -> None:
    docker = sys.modules[f"{theirs.__name__}_backends.docker_backend"].DockerSandboxBackend
    assert drop_in.DockerSandboxBackend is docker
    assert type(drop_in.get_backend("docker", theirs.SandboxConfig())) is docker
    assert drop_in.list_backends() == ["docker", "subprocess"]


def test_a_backend_that_one_registry_knows_the_other_knows(theirs: Any) -> None:
    registry = sys.modules[theirs.__name__ + "_backends"]._BACKEND_REGISTRY
    registry["of_theirs"] = lambda sandbox_config: ("theirs", sandbox_config)
    try:
        drop_in.register_backend("of_ours", lambda sandbox_config: ("ours", sandbox_config))
        assert registry["of_ours"](sandbox_config=1) == ("ours", 1)
    finally:
        del drop_in._backends["of_ours"]
    assert drop_in.get_backend("of_theirs", 1) == ("theirs", 1)  # type: ignore[arg-type]
    assert "of_theirs" in drop_in.list_backends()


def test_a_backend_of_the_users_own_is_left_in_place(theirs: Any) -> None:
    registry = sys.modules[theirs.__name__ + "_backends"]._BACKEND_REGISTRY
    registry["subprocess"] = mine = lambda sandbox_config: "mine"
    assert drop_in.get_backend("subprocess", theirs.SandboxConfig()) == "mine"
    assert registry["subprocess"] is mine


def test_our_module_in_the_place_of_the_frameworks_is_no_loop(
    theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, theirs.__name__, drop_in)
    assert drop_in.SandboxConfig is stand_ins.SandboxConfig
    assert drop_in.SandboxRouter().decide("it").context is stand_ins.ExecutionContext.HOST


def test_a_patch_of_subprocess_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brig.compat.calute.subprocess.run", None)
    backend = drop_in.SubprocessSandboxBackend(drop_in.SandboxConfig())
    assert backend.execute("it", where, {})[1] == 0

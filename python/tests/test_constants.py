"""Values that the package repeats from C++: each is read from the header or source that has it, and
compared."""

from __future__ import annotations

import ctypes
import inspect
import json
import re
import struct
from pathlib import Path
from typing import Any, Dict, List

import pytest

import brig
from brig import (
    _budget,
    _builtin,
    _cell,
    _display,
    _errors,
    _json_form,
    _left_files,
    _native,
    _policy,
    _protocol,
    _pydantic,
    _tool_info,
    compat,
)

TREE = Path(__file__).resolve().parents[2]


# --- as much of C++ as its constants need ---


def source(path: str) -> str:
    """A file without its comments."""
    return re.sub(
        r"//[^\n]*|/\*.*?\*/", "", (TREE / path).read_text(encoding="utf-8"), flags=re.DOTALL
    )


def body(path: str, head: str) -> str:
    """What stands between the braces that follow `head`, which is a regular expression and occurs
    once."""
    text = source(path)
    (found,) = re.finditer(head + r"[^{};]*\{", text)
    depth, at = 1, found.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[found.end() : at - 1]


def constant(path: str, name: str) -> int:
    """An integer: literals, parentheses, the sum, difference, product and shift of them, and
    sizes."""
    (written,) = re.findall(rf"\b{name}\s*=\s*([^,;]+)[,;]", source(path))
    plain = re.sub(r"sizeof\(FrameHeader\)", "8", written)
    plain = re.sub(r"std::size_t\{(\d+)\}", r"\1", plain).replace("'", "")
    plain = re.sub(
        r"(\d+)_([KMG])iB", lambda m: str(int(m[1]) << {"K": 10, "M": 20, "G": 30}[m[2]]), plain
    )
    assert re.fullmatch(r"[\d\s()+*<-]+", plain), f"{path}: {name} = {written}: not understood"
    value: int = eval(plain)
    return value


def enumerators(path: str, head: str) -> Dict[str, int]:
    values: Dict[str, int] = {}
    for each in body(path, head).split(","):
        if each.strip():
            name, _, value = (part.strip() for part in each.partition("="))
            values[name] = int(value) if value else (max(values.values()) + 1 if values else 0)
    return values


def strings(text: str) -> List[str]:
    return re.findall(r'"([^"]*)"', text)


def fields(path: str, head: str) -> Dict[str, str]:
    """The data members of a struct, with the initializer that each has: the defaults of its
    options."""
    found: Dict[str, str] = {}
    for statement in re.sub(r"\s+", " ", body(path, head)).split(";"):
        typed = re.match(r"^ ?(?:[\w:]+(?:<.*>)?\*? )+(?=\w)", statement)
        if not typed or "(" in statement or "operator" in statement:
            continue
        for each in re.split(r",(?![^{<]*[}>])", statement[typed.end() :]):
            name, _, value = each.replace("{", "= ").replace("}", "").partition("=")
            found[name.strip()] = value.strip()
    return found


def test_the_reader_of_headers_reads_them() -> None:
    assert constant("src/cell/answer.h", "kMaxErrorFrame") == 65536
    modes = {"none": 0, "loopback": 1, "proxy": 2, "host": 3}
    assert enumerators("include/brig/policy.h", "enum Mode : std::uint8_t") == modes
    assert fields("include/brig/tool.h", "struct ToolAnnotations")["destructive"] == "true"
    assert {"read", "write", "root", "protect"} <= fields(
        "include/brig/policy.h", "struct Files"
    ).keys()
    with pytest.raises(ValueError):
        constant("src/cell/answer.h", "kNoSuchConstant")


# --- a cell and its host ---


def test_frames_are_those_of_the_host() -> None:
    kinds = enumerators("src/cell/answer.h", "enum class FrameKind : uint32_t")
    assert kinds == {
        "progress": _protocol.PROGRESS, "result": _protocol.RESULT, "error": _protocol.ERROR
    }
    assert list(fields("src/cell/answer.h", "struct FrameHeader")) == ["kind", "size"]
    assert _protocol.frame(_protocol.ERROR, b"abc") == struct.pack("=II", 3, 3) + b"abc"
    assert _protocol.MAX_PROGRESS == constant("src/cell/answer.h", "kMaxProgress")
    assert _protocol.MAX_ERROR == constant("src/cell/answer.h", "kMaxErrorFrame") - 8
    assert _protocol.MAX_CATALOG == constant("src/cell/answer.h", "kMaxCatalog")


def test_a_progress_frame_is_never_too_large() -> None:
    whole = _protocol.progress_frame(0.5, b"x" * 10_000)
    assert len(whole) - 8 == _protocol.MAX_PROGRESS
    assert _protocol.progress_frame(0.5, "é".encode() * 5_000)[16:].decode() == "é" * 2040


def test_the_catalog_has_room_for_what_the_host_reads() -> None:
    assert _protocol.catalog_has_room(b"x" * (_protocol.MAX_CATALOG - 8))
    assert not _protocol.catalog_has_room(b"x" * (_protocol.MAX_CATALOG - 7))


def test_descriptors_are_those_that_the_helper_gives() -> None:
    given = enumerators("src/helper/helper.h", "enum RuntimeFd")
    assert (_protocol.CATALOG, _protocol.IMAGE, _protocol.FILES) == (
        given["kRuntimeCatalog"], given["kRuntimeImage"], given["kRuntimeFiles"],
    )  # fmt: skip


def test_hooks_stand_in_the_order_that_the_helper_calls_them_in() -> None:
    theirs = re.findall(r"\(\*(\w+)\)", body("src/tool/python_guest.cc", "struct Hooks"))
    ours = re.findall(r'\("(\w+)", \w+\)', inspect.getsource(_cell.main))
    assert ours == theirs and len(ours) == 4


def test_variables_of_the_interpreter_alone_are_those_that_the_host_sets() -> None:
    theirs = strings(
        re.findall(r"for \(const char\* name :\s*\{([^}]*)\}", source("src/tool/python.cc"))[0]
    )
    ours = re.findall(r'b"([A-Z_]+)"', inspect.getsource(_cell._Runtime._settle_environment))
    assert sorted(ours) == sorted(theirs) and len(ours) == 4


def test_results_are_no_deeper_than_the_hosts_reader_goes() -> None:
    # A result stands a few levels deep in its message.
    assert _json_form.MAX_DEPTH == constant("src/json/json_text.h", "kMaxJsonDepth") - 8


def test_run_python_leaves_no_more_than_the_server_takes() -> None:
    theirs = "src/service/left_files.cc"
    assert _left_files._MOST_FILES == constant(theirs, "kMostFiles")
    assert _left_files._MOST_IMAGES == constant(theirs, "kMostImages")
    assert _left_files._LARGEST_IMAGE == constant(theirs, "kLargestImage")
    assert _display._MOST_DISPLAYS <= constant("src/service/python_displays.h", "kMostDisplays")
    assert _display._LONGEST_TYPE == constant("src/service/python_displays.cc", "kLongestMimeType")
    assert _budget.MOST_BYTES * 4 // 3 <= constant(
        "src/service/python_displays.cc", "kMostDisplayText"
    )
    assert _budget.MOST_BYTES * 4 // 3 == constant("include/brig/policy.h", "result") // 2
    assert _builtin._LONGEST_TEXT == constant("src/service/run_python.cc", "kLongestError")
    properties: Any = _builtin._SCHEMA["properties"]
    assert properties["files"]["maxProperties"] == constant("src/wire/wire.h", "kMaxFiles")


# --- the library ---


def test_the_version_of_the_c_interface_is_the_headers() -> None:
    (version,) = re.findall(r"#define BRIG_C_VERSION (\d+)", source("include/brig/c.h"))
    assert _native.C_VERSION == int(version)


def kind_of(parameter: str) -> str:
    if "*" in parameter:
        return "pointer"
    kind = re.sub(r"\s+\w+$", "", parameter.strip())
    return "64 bits" if kind in ("size_t", "uint64_t") else kind  # the same to ctypes


KINDS: Dict[Any, str] = {
    None: "void", ctypes.c_int: "int", ctypes.c_size_t: "64 bits", ctypes.c_uint64: "64 bits"
}


def test_functions_of_the_library_have_the_types_of_the_header() -> None:
    plain = re.sub(r"(?m)^#.*$", "", source("include/brig/c.h"))
    text = re.sub(r"\s+", " ", plain).replace("(*interrupted)(void)", "* interrupted")
    declared = {}
    for result, name, parameters in re.findall(r"([\w ]+\*?) ?brig_c_(\w+)\(([^()]*)\);", text):
        taken = [] if parameters == "void" else [kind_of(each) for each in parameters.split(",")]
        declared[name] = (kind_of(f"{result} result"), taken)
    ours = {}
    for name, (returned, arguments) in _native._FUNCTIONS.items():
        # All other types are pointers to something, or to a function.
        ours[name] = (
            KINDS.get(returned, "pointer"), [KINDS.get(each, "pointer") for each in arguments]
        )
    assert ours == declared and len(ours) > 20


def test_a_blob_is_the_headers() -> None:
    theirs = fields("include/brig/c.h", "typedef struct(?= )")
    assert [name for name, _ in _native.Blob._fields_] == list(theirs) == [
        "bytes", "size", "base64"
    ]


def test_every_kind_of_error_has_an_exception() -> None:
    assert list(_errors.KINDS) == list(enumerators("include/brig/error.h", "enum class ErrorKind"))


def test_the_report_and_events_tell_of_every_outcome_and_kind() -> None:
    guide = (TREE / "docs" / "python.md").read_text(encoding="utf-8")
    for outcome in enumerators("include/brig/report.h", "enum class Outcome"):
        assert re.search(rf"\b{outcome}\b", brig.Report.outcome.__doc__ or ""), outcome
        assert f"| `{outcome}` |" in guide, outcome
    for kind in enumerators("include/brig/watch.h", "enum class Kind"):
        assert re.search(rf"\b{kind}\b", brig.Event.__doc__ or ""), kind
        assert f"`{kind}`" in guide, kind


# --- options and policies ---


def defaults_of(function: Any) -> Dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not inspect.Parameter.empty}


def test_options_of_a_sandbox_have_the_defaults_of_the_header() -> None:
    theirs = fields("include/brig/sandbox.h", "struct SandboxOptions")
    assert theirs.pop("beside") == "nullptr"  # of C++ alone
    ours = defaults_of(brig.Sandbox)
    assert {name: ours[name] for name in theirs} == {
        name: int(value) for name, value in theirs.items()
    }
    assert len(theirs) == 4
    (written,) = re.findall(
        r'"options": (\{.*?\})', (TREE / "include/brig/c.h").read_text(encoding="utf-8")
    )
    assert json.loads(written) == {name: int(value) for name, value in theirs.items()}
    read = re.findall(
        r'read_number\(\*given, "(\w+)", config\.options\.(\w+)\)', source("src/c_api/c_config.cc")
    )
    assert [name for name, _ in read] == [member for _, member in read] == list(theirs)


def test_a_watch_has_the_buffer_of_the_header() -> None:
    theirs = re.findall(r"std::size_t buffer = (\d+)", source("include/brig/sandbox.h"))
    assert {int(each) for each in theirs} == {defaults_of(brig.Sandbox.watch)["buffer"]}


def test_hints_for_clients_have_the_defaults_of_the_header() -> None:
    theirs = fields("include/brig/tool.h", "struct ToolAnnotations")
    theirs["coerce"] = fields("include/brig/tool.h", "struct ToolOptions")["coerce"]
    ours = defaults_of(brig.Tool.__init__)
    assert {name: str(ours[name]).lower() for name in theirs} == theirs and len(theirs) == 5
    assert set(theirs) - {"coerce"} < set(_tool_info.ToolInfo.__slots__)


def made_by(**options: Any) -> Dict[str, Any]:
    return _policy.policy_json(None, **options)


def test_keywords_of_a_policy_are_keys_of_a_policy() -> None:
    keys = set(strings(body("src/policy/policy_toml.h", "kPolicyKeys =")))
    limits = set(strings(body("src/policy/policy_toml.h", "kLimitKeys =")))
    tables = {
        "files": fields("include/brig/policy.h", "struct Files").keys(),
        "environment": fields("include/brig/policy.h", "struct Environment").keys(),
    }
    names = [*inspect.signature(_policy.policy_json).parameters]
    names = [name for name in names if name not in ("policy", "limits")]
    own = inspect.signature(brig.Sandbox).parameters
    used = [name for name in [*names, *limits] if name in own]
    assert {"timeout", "memory", "network", "read", "unset", "processes", "scratch"} <= set(used)
    for name in {*names, *used}:
        value: Any = {} if name == "environment" else "x" if name == "working_directory" else []
        for key, inner in made_by(**{name: value}).items():
            assert key in keys or key in limits, name
            if key in tables:
                assert inner.keys() <= tables[key], name


def test_what_c_takes_is_as_long_as_a_day_for_the_drop_ins() -> None:
    assert compat.LONGEST * 1000 == constant("src/policy/policy.cc", "kDay")


def test_safe_variables_are_those_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    safe = strings(body("src/policy/environment.cc", "kSafe ="))
    for name in [*safe, "OTHER_THAN_SAFE"]:
        monkeypatch.setenv(name, "x")
    assert sorted(brig.build_safe_env()) == sorted(safe) and len(safe) == 10


def test_keywords_of_schemas_are_those_that_the_host_checks() -> None:
    compiler = source("src/json/schema_compiler.cc")
    notes = set(strings(body("src/json/schema_compiler.cc", r"kNotes\[\] =")))
    checks = set(re.findall(r'\{"(\$?\w+)",\s*(?:\[|definitions\b)', compiler))
    assert {"format", "title"} < notes and {"type", "$ref", "else"} < checks
    ours = _pydantic._KEPT | _pydantic._SCHEMAS | _pydantic._SCHEMAS_BY_NAME
    by_themselves = {"$ref", "$defs", "definitions", "pattern"}
    not_needed = {"title", "$schema", "$id"}
    # pydantic writes no anchors.
    assert ours | by_themselves | not_needed == notes | checks - {"$anchor"}
    assert not_needed < _pydantic._NOT_NEEDED

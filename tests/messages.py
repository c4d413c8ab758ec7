#!/usr/bin/env python3
"""Walks every text that brig's sources can print and checks that what it names exists: keys of a
policy and of a manifest, options of the program, arguments of the built-in tools, members of
requests, keywords of Python.

  messages.py SOURCE_TREE PROGRAM
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Options of other programs, which advice names.
OF_OTHERS = {
    "--append", "--bind", "--cap-add", "--format", "--help", "--message-format", "--name", "--network", "--no-index",
    "--noprofile", "--pids-limit",
    "--privileged",
    "--property", "--scope", "--security-opt", "--security-opt=", "--unshare-user", "--user", "--version",
}  # fmt: skip
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
KEY = re.compile(r"\b(?!network\.refused\b)(limits|files|network|environment|syscalls)\.([a-z_]+)")
# A key of a file's top level: a word with a value, as messages write it.
TOP_KEY = re.compile(r"(?<![\w.\-])(?<!\{ )([a-z_]+) = (?=\\\"|\[|'|\{)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
# "brig run --timeout 5s --memory": of which sub-command an option is, where the text says so. Not
# beyond the end of a sentence.
NAMED = re.compile(
    r"\bbrig (run|call|tools|doctor|serve|mcp|presets)\b(?:(?![.;] [a-zA-Z])[^|\n])*$"
)
POLICY_TOP = {"isolation", "network", "user", "preset"}
# A key of a schema, as a manifest has it.
OF_SCHEMAS = {"type"}
# "env: a variable has no name", "wait must be a number": what a request calls the thing.
NAMED_FIRST = re.compile(r'^"(?:([a-z]\w*): |([a-z]\w*) must )', re.MULTILINE)
# Members of MCP's messages, by the protocol.
OF_MCP = {
    "arguments", "cursor", "id", "inputResponses", "jsonrpc", "level", "method", "name", "notifications", "offset", "params",
    "progressToken", "task", "taskId", "uri",
}  # fmt: skip
# "with shell=True", "interpreter="
KEYWORD = re.compile(r"\b([a-z_]+)=(?!=)")
# Who says what stands in a file: the first that fits. "all": the options must be of each of these
# sub-commands.
SPEAKERS = [
    ("src/cli/run.cc", any, {"run"}),
    ("src/cli/tty.cc", any, {"run"}),
    ("src/cli/call.cc", any, {"call"}),
    ("src/cli/tools.cc", any, {"tools"}),
    ("src/cli/doctor.cc", any, {"doctor"}),
    ("src/cli/presets.cc", any, {"presets"}),
    ("src/cli/path_options.cc", all, {"run", "mcp"}),
    ("src/cli/network_options.cc", all, {"run", "mcp"}),
    ("src/cli/policy_options.cc", any, {"run", "mcp"}),
    ("src/cli/server_", any, {"serve", "mcp"}),
    ("src/cli/", any, {""}),
    ("src/http/", any, {"serve", "mcp"}),
    ("src/service/", any, {"serve", "mcp"}),
    ("src/mcp/", any, {"serve", "mcp"}),
    ("src/serve/", any, {"serve", "mcp"}),
    ("src/tool/manifest_here.h", all, {"call", "tools", "serve", "mcp"}),
    ("src/", any, {"run"}),  # a report's words are turned into options by `brig run` alone
    ("python/", any, set()),  # Python has arguments
]


def literals(path: Path) -> str:
    """All texts of a file, neighbours joined as the compiler does."""
    text = re.sub(r"^\s*(//|#).*$", "", path.read_text(), flags=re.MULTILINE)
    text = re.sub(r'"\s*\n\s*"', "", text)
    return "\n".join(LITERAL.findall(text))


def is_key(program: str, table: str, name: str) -> bool:
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write((f"[{table}]\n" if table else "") + f"{name} = [[]]\n")
        file.flush()
        said = subprocess.run(
            [program, "run", "--policy", file.name, "--", "true"], capture_output=True, text=True
        )
    return "unknown" not in said.stderr


def is_manifest_key(program: str, name: str) -> bool:
    """Whether one of a manifest's tables has it."""
    tables = ("[policy]", "[[command]]", "[[library]]", "[[python]]", "[run_python]")
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        for table in tables:
            file.seek(0)
            file.truncate()
            file.write(f"{table}\n{name} = [[]]\n")
            file.flush()
            said = subprocess.run(
                [program, "tools", "--manifest", file.name], capture_output=True, text=True
            )
            if f"unknown key '{name}'" not in said.stderr:
                return True
    return False


def tool_arguments(program: str) -> set[str]:
    """Those of the tools that `brig mcp` has by itself."""
    request = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                             "io.modelcontextprotocol/clientCapabilities": {}}},
    }  # fmt: skip
    done = subprocess.run(
        [
            program, "mcp", "--audit", "none"
        ], input=json.dumps(request) + "\n", capture_output=True, text=True
    )
    tools = json.loads(done.stdout)["result"]["tools"]
    return {name for tool in tools for name in tool["inputSchema"]["properties"]}


def members(api: object) -> set[str]:
    """The names of members and parameters in an OpenAPI document."""
    found: set[str] = set()
    if isinstance(api, dict):
        if isinstance(api.get("properties"), dict):
            found |= api["properties"].keys()
        if "in" in api and "name" in api:
            found.add(api["name"])
    for each in api.values() if isinstance(api, dict) else api if isinstance(api, list) else ():
        found |= members(each)
    return found


def parameters(tree: str) -> set[str]:
    """What the public functions and classes of the Python package can be given."""
    found = set()
    for name in ("_policy", "_run", "_sandbox", "_tool"):
        for node in ast.walk(ast.parse(Path(tree, f"python/brig/{name}.py").read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (
                node.name == "__init__" or node.name[0] != "_"
            ):
                found |= {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
    return found


def raised(path: Path) -> list[str]:
    """The texts in a file's raise statements; in place of a value: ...."""
    texts = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Raise):
            continue
        inner = {id(part) for each in ast.walk(node) if isinstance(each, ast.JoinedStr) for part in each.values}
        for each in ast.walk(node):
            if isinstance(each, ast.JoinedStr):
                texts.append("".join(str(p.value) if isinstance(p, ast.Constant) else "..." for p in each.values))
            elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in inner:
                texts.append(each.value)
    return texts


def options(program: str) -> dict[str, set[str]]:
    """Those of each sub-command, and of the program itself: ""."""
    found = {}
    for command in ("", "run", "call", "tools", "doctor", "serve", "mcp", "presets"):
        help_text = subprocess.run(
            [program, *command.split(), "--help"], capture_output=True, text=True
        ).stdout
        assert help_text, f"brig {command} --help printed nothing"
        # What it has, and not what its examples name of others.
        found[command] = set(OPTION.findall(help_text.partition("Examples:")[0]))
    return found


def strangers(text: str, place: str, known: dict[str, set[str]]) -> set[str]:
    """Options in a text that who says it does not have."""
    how, commands = next(
        (how, commands) for start, how, commands in SPEAKERS if place.startswith(start)
    )
    wrong = set()
    for found in OPTION.finditer(text):
        option, line = found[0], text[: found.start()].rpartition("\n")[2].rpartition("\\n")[2]
        named = NAMED.search(line)
        of_named = named is not None and option in known[named[1]]
        of_own = how(option in known[each] for each in commands) if commands else False
        if not (of_named if named else of_own) and option not in OF_OTHERS:
            wrong.add(f"{option} is no option of brig {named[1] if named else ' or '.join(sorted(commands))}")
    return wrong


def main(tree: str, program: str) -> int:
    known = options(program)
    # The walk itself: an option of another sub-command is a stranger.
    assert strangers('"raise --cpus"', "src/cli/call.cc", known) and not strangers(
        '"raise --cpus"', "src/cli/run.cc", known
    )
    assert strangers('"try brig serve --cpus 1"', "src/cli/run.cc", known)
    assert strangers('"--listen"', "src/cli/path_options.cc", known)
    wrong, keys, count = [], {}, 0
    api = json.loads(Path(tree, "src/serve/openapi.json").read_text())
    arguments, of_http, keywords = tool_arguments(program), members(api), parameters(tree)
    of_requests: set[str] = set()
    of_python: set[str] = set()
    limits = members(api["components"]["schemas"]["Limits"])
    wrong += [f"/v1/run: {name} is no limit of a policy" for name in limits if not is_key(program, "limits", name)]
    sources = [p for p in Path(tree, "src").rglob("*.cc") if not p.name.endswith("_test.cc")]
    sources += [p for p in Path(tree, "src").rglob("*.h")] + list(
        Path(tree, "python/brig").rglob("*.py")
    )
    for path in sources:
        text, place = literals(path), str(path.relative_to(tree))
        for table, name in set(KEY.findall(text)):
            key = f"{table}.{name}"
            if key not in keys:
                keys[key] = is_key(program, table, name)
            if not keys[key]:
                wrong.append(f"{place}: {key} is no key of a policy")
        for name in set(TOP_KEY.findall(text)) - OF_SCHEMAS:
            if name not in keys:
                keys[name] = is_key(program, "", name) or is_manifest_key(program, name)
            if not keys[name]:
                wrong.append(f"{place}: {name} is no key of a policy or a manifest")
        if place.startswith(("src/service/", "src/mcp/", "src/serve/")):
            own = of_http
            if place.startswith("src/mcp/") or place == "src/service/resources.cc":
                own = OF_MCP
            elif place == "src/service/call_arguments.cc":
                own = arguments
            named = {first or then for first, then in NAMED_FIRST.findall(text)} - {"brig"}
            of_requests |= named
            wrong += [f"{place}: {name} is no member of a request" for name in named - own]
        if place.startswith("python/brig/_"):
            named = {name for said in raised(path) for name in KEYWORD.findall(said)}
            of_python |= named
            wrong += [f"{place}: {name}= is no keyword of Python's" for name in named - keywords]
        count += len(OPTION.findall(text))
        wrong += [f"{place}: {each}" for each in strangers(text, place, known)]
    print("\n".join(sorted(wrong)))
    for name in POLICY_TOP:
        assert is_key(program, "", name), f"{name} is no key of a policy"
    assert not is_key(program, "", "netwrok"), "every word passes for a key"
    assert is_manifest_key(program, "interpreter") and not is_manifest_key(program, "interprter")
    assert limits and {
        "env", "cwd", "files", "timeout"
    } <= of_requests & arguments, "the walk does not see the arguments"
    assert {"shell", "name", "interpreter"} <= of_python, "the walk does not see the keywords"
    assert {
        "network", "isolation"
    } <= keys.keys() and len(keys) > 10 and count > 100, "the walk does not see the messages"
    print(
        f"{len(sources)} files, {len(keys)} keys, {count} mentions of options: {len(wrong)} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

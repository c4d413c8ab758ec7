#!/usr/bin/env python3
"""Walks every text that brig's sources can print and checks that what it names exists: keys of a policy, options of the program.

  messages.py SOURCE_TREE PROGRAM
"""

from __future__ import annotations

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
KEY = re.compile(r"\b(limits|files|environment|syscalls)\.([a-z_]+)")
# A key of a file's top level: a word with a value, as messages write it.
TOP_KEY = re.compile(r"(?<![\w.\-])([a-z_]+) = (?=\\\"|\[|'|\{)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
# "brig run --timeout 5s --memory": of which sub-command an option is, where the text says so. Not beyond the end of a sentence.
NAMED = re.compile(r"\bbrig (run|call|tools|doctor|serve|mcp|presets)\b(?:(?![.;] [a-zA-Z])[^|\n])*$")
# What a request calls its limits.
REQUEST_KEYS = {"limits.timeout"}
POLICY_TOP = {"isolation", "network", "user", "preset"}
# Keys of a manifest's own tables, and of a schema.
OF_MANIFESTS = {"interpreter", "timeout", "type"}
# Who says what stands in a file: the first that fits. "all": the options must be of each of these sub-commands.
SPEAKERS = [
    ("src/cli/run.cc", any, {"run"}),
    ("src/cli/tty.cc", any, {"run"}),
    ("src/cli/call.cc", any, {"call"}),
    ("src/cli/tools.cc", any, {"tools"}),
    ("src/cli/doctor.cc", any, {"doctor"}),
    ("src/cli/presets.cc", any, {"presets"}),
    ("src/cli/path_options.cc", all, {"run", "mcp"}),
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
        said = subprocess.run([program, "run", "--policy", file.name, "--", "true"], capture_output=True, text=True)
    return "unknown" not in said.stderr


def options(program: str) -> dict[str, set[str]]:
    """Those of each sub-command, and of the program itself: ""."""
    found = {}
    for command in ("", "run", "call", "tools", "doctor", "serve", "mcp", "presets"):
        help_text = subprocess.run([program, *command.split(), "--help"], capture_output=True, text=True).stdout
        assert help_text, f"brig {command} --help printed nothing"
        # What it has, and not what its examples name of others.
        found[command] = set(OPTION.findall(help_text.partition("Examples:")[0]))
    return found


def strangers(text: str, place: str, known: dict[str, set[str]]) -> set[str]:
    """Options in a text that who says it does not have."""
    how, commands = next((how, commands) for start, how, commands in SPEAKERS if place.startswith(start))
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
    assert strangers('"raise --cpus"', "src/cli/call.cc", known) and not strangers('"raise --cpus"', "src/cli/run.cc", known)
    assert strangers('"try brig serve --cpus 1"', "src/cli/run.cc", known)
    assert strangers('"--listen"', "src/cli/path_options.cc", known)
    wrong, keys, count = [], {}, 0
    sources = [p for p in Path(tree, "src").rglob("*.cc") if not p.name.endswith("_test.cc")]
    sources += [p for p in Path(tree, "src").rglob("*.h")] + list(Path(tree, "python/brig").rglob("*.py"))
    for path in sources:
        text, place = literals(path), str(path.relative_to(tree))
        for table, name in set(KEY.findall(text)):
            key = f"{table}.{name}"
            if key not in keys:
                keys[key] = key in REQUEST_KEYS or is_key(program, table, name)
            if not keys[key]:
                wrong.append(f"{place}: {key} is no key of a policy")
        for name in set(TOP_KEY.findall(text)) - OF_MANIFESTS:
            if name not in keys:
                keys[name] = is_key(program, "", name)
            if not keys[name]:
                wrong.append(f"{place}: {name} is no key of a policy")
        count += len(OPTION.findall(text))
        wrong += [f"{place}: {each}" for each in strangers(text, place, known)]
    print("\n".join(sorted(wrong)))
    for name in POLICY_TOP:
        assert is_key(program, "", name), f"{name} is no key of a policy"
    assert not is_key(program, "", "netwrok"), "every word passes for a key"
    assert {"network", "isolation"} <= keys.keys() and len(keys) > 10 and count > 100, "the walk does not see the messages"
    print(f"{len(sources)} files, {len(keys)} keys, {count} mentions of options: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

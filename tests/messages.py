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
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
# Members of C++ and Python objects that stand in literals of code, not of messages; and what a request calls its limits.
REQUEST_KEYS = {"limits.timeout"}


def literals(path: Path) -> str:
    """All texts of a file, neighbours joined as the compiler does."""
    text = re.sub(r"^\s*(//|#).*$", "", path.read_text(), flags=re.MULTILINE)
    text = re.sub(r'"\s*\n\s*"', "", text)
    return "\n".join(LITERAL.findall(text))


def is_key(program: str, table: str, name: str) -> bool:
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(f"[{table}]\n{name} = [[]]\n")
        file.flush()
        said = subprocess.run([program, "run", "--policy", file.name, "--", "true"], capture_output=True, text=True)
    return "unknown" not in said.stderr


def options(program: str) -> set[str]:
    found: set[str] = set()
    for command in ([], ["run"], ["call"], ["tools"], ["doctor"], ["serve"], ["mcp"]):
        help_text = subprocess.run([program, *command, "--help"], capture_output=True, text=True).stdout
        assert help_text, f"brig {' '.join(command)} --help printed nothing"
        found |= set(OPTION.findall(help_text))
    return found


def main(tree: str, program: str) -> int:
    known = options(program) | OF_OTHERS
    wrong, keys = [], {}
    sources = [p for p in Path(tree, "src").rglob("*.cc") if not p.name.endswith("_test.cc")]
    sources += [p for p in Path(tree, "src").rglob("*.h")] + list(Path(tree, "python/brig").rglob("*.py"))
    for path in sources:
        text = literals(path)
        for table, name in set(KEY.findall(text)):
            key = f"{table}.{name}"
            if key not in keys:
                keys[key] = key in REQUEST_KEYS or is_key(program, table, name)
            if not keys[key]:
                wrong.append(f"{path}: {key} is no key of a policy")
        wrong += [f"{path}: {option} is no option" for option in set(OPTION.findall(text)) - known]
    print("\n".join(sorted(wrong)))
    assert len(keys) > 10, "the walk found too few keys: it does not see the messages"
    print(f"{len(sources)} files, {len(keys)} keys, {len(known)} options: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

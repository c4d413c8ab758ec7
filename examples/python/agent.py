"""An agent whose every tool call runs in a cell.

    PYTHONPATH=python python3 examples/python/agent.py [WORKSPACE]

A list of calls stands for the model, so that it runs offline. Some of them are harmful.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import brig
from agent_tools import calculate, run_snippets, search_files, summarise_csv

# The calls of one turn run at the same time.
TURNS: list[list[tuple[str, dict[str, Any]]]] = [
    [
        ("calculate", {"expression": "sqrt(2) * 10"}),
        ("summarise_csv", {"text": "city,degrees\nBern,12\nGenf,14.5\nChur,11"}),
        ("search_files", {"pattern": "^async def ", "glob": "*.py"}),
    ],
    [("run_snippets", {"snippets": ["print(6 * 7)", "import os; print(os.getcwd())", "1 / 0"]})],
    [
        ("calculate", {"expression": "9 ** 9 ** 9"}),
        ("calculate", {"expression": "open('/etc/shadow').read()"}),
        ("calculate", {"expression": "__import__('socket').create_connection(('1.1.1.1', 80))"}),
        ("calculate", {"formula": "6 * 7"}),
        ("delete_everything", {}),
    ],
]


async def tell_progress(box: brig.Sandbox) -> None:
    async for event in box.watch():
        if event.kind == "progress":
            print(f"  {event.tool}: {event.text}", file=sys.stderr)


def shown(tool: str, arguments: dict[str, Any], result: brig.ToolResult) -> str:
    """The answer for a model: the result, or a sentence that it can act on."""
    answer = json.dumps(result.output) if result.ok else f"{result.report.outcome}: {result.error}"
    return f"{tool} {json.dumps(arguments)}\n  {answer}"


async def main(workspace: str) -> None:
    async with brig.Sandbox(
        [calculate, summarise_csv, search_files, run_snippets],
        timeout=3.0,
        memory="256M",
        read=[workspace],
        working_directory=workspace,
    ) as box:
        telling = asyncio.create_task(tell_progress(box))
        for turn in TURNS:
            results = await asyncio.gather(*(box.call(tool, given) for tool, given in turn))
            for (tool, given), result in zip(turn, results):
                print(shown(tool, given, result))
    await telling


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    asyncio.run(main(str(Path(sys.argv[1]).resolve() if sys.argv[1:] else here)))

"""The tools of a sandbox as OpenAI's two interfaces want them, and the answers to a model's calls.

    PYTHONPATH=python python3 examples/python/openai_tools.py

The model's answers are recorded, so this needs neither its package nor a network. With the package:

    answer = client.chat.completions.create(model=..., messages=messages, tools=chat_tools(box))
    message = answer.choices[0].message.model_dump()
    messages += [message, *await answer_chat(box, message)]

    answer = client.responses.create(model=..., input=items, tools=responses_tools(box))
    output = answer.model_dump()["output"]
    items += [*output, *await answer_responses(box, output)]
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Iterable

import brig
from agent_tools import calculate, summarise_csv


def chat_tools(box: brig.Sandbox) -> list[dict[str, Any]]:
    """`tools` of Chat Completions."""
    return [{"type": "function", "function": _function(info)} for info in box.list_tools()]


def responses_tools(box: brig.Sandbox) -> list[dict[str, Any]]:
    """`tools` of Responses."""
    # Strict mode, the default, allows no optional parameters. brig checks the arguments anyway.
    return [
        {"type": "function", "strict": False, **_function(info)} for info in box.list_tools()
    ]


def _function(info: brig.ToolInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "description": info.description,
        "parameters": info.input_schema,
    }


async def answer_chat(box: brig.Sandbox, message: dict[str, Any]) -> list[dict[str, Any]]:
    """The "tool" messages that answer an assistant's message, in the order of its calls."""
    calls = message.get("tool_calls") or []
    texts = await asyncio.gather(*(_call(box, each["function"], each["id"]) for each in calls))
    return [
        {"role": "tool", "tool_call_id": each["id"], "content": text}
        for each, text in zip(calls, texts)
    ]


async def answer_responses(
    box: brig.Sandbox, output: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The items that answer the function calls among a response's output."""
    calls = [item for item in output if item["type"] == "function_call"]
    texts = await asyncio.gather(*(_call(box, each, each["call_id"]) for each in calls))
    return [
        {"type": "function_call_output", "call_id": each["call_id"], "output": text}
        for each, text in zip(calls, texts)
    ]


async def _call(box: brig.Sandbox, function: dict[str, Any], call_id: str) -> str:
    """The answer for the model. Its arguments are a text, which may not be JSON."""
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except (ValueError, RecursionError) as error:
        return f"invalid_arguments: not JSON: {error}"
    result = await box.call(function["name"], arguments, call_id=call_id)
    if not result.ok:
        return f"{result.report.outcome}: {result.error}"
    return result.output if isinstance(result.output, str) else json.dumps(result.output)


CHAT_MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {
            "id": "call_a",
            "type": "function",
            "function": {"name": "calculate", "arguments": '{"expression": "factorial(20)"}'},
        },
        {
            "id": "call_b",
            "type": "function",
            "function": {"name": "summarise_csv", "arguments": '{"text": "n\\n1\\n3\\n"}'},
        },
        {
            "id": "call_c",
            "type": "function",
            "function": {"name": "calculate", "arguments": '{"expression": "1 / 0"'},
        },
    ],
}

RESPONSES_OUTPUT: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_d",
        "name": "calculate",
        "arguments": '{"expression": "1 / 0"}',
        "status": "completed",
    },
]


async def main() -> None:
    async with brig.Sandbox([calculate, summarise_csv], timeout=5.0) as box:
        print(json.dumps({"chat": chat_tools(box), "responses": responses_tools(box)}))
        for answer in await answer_chat(box, CHAT_MESSAGE):
            print(json.dumps(answer))
        for answer in await answer_responses(box, RESPONSES_OUTPUT):
            print(json.dumps(answer))


if __name__ == "__main__":
    asyncio.run(main())

"""The tools of a sandbox as LangChain has them: name, description, args_schema, invoke, ainvoke.

    PYTHONPATH=python python3 examples/python/langchain_adapter.py

brig_tools() needs no other package. structured_tools() makes LangChain's own objects of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Union

import brig
from agent_tools import calculate, search_files

try:
    from langchain_core.tools import ToolException  # type: ignore[import]
except ImportError:

    class ToolException(Exception):  # type: ignore[no-redef]
        """Stands for LangChain's exception: a failure that is reported to the model."""


class BrigTool:
    """One tool. A call that fails raises ToolException, with the sentence for the model."""

    def __init__(self, box: brig.Sandbox, info: brig.ToolInfo) -> None:
        self.name = info.name
        self.description = info.description
        self.args_schema = info.input_schema
        self._box = box

    @property
    def args(self) -> dict[str, Any]:
        properties: dict[str, Any] = self.args_schema["properties"]
        return properties

    def invoke(self, input: Union[str, Mapping[str, Any]], config: Any = None, **_: Any) -> Any:
        """`input`: the arguments, a tool call that holds them, or the value of a lone argument."""
        return self._run(**self._arguments(input))

    async def ainvoke(
        self, input: Union[str, Mapping[str, Any]], config: Any = None, **_: Any
    ) -> Any:
        """Cancelling the task ends the call's cell."""
        return await self._arun(**self._arguments(input))

    def _run(self, **arguments: Any) -> Any:
        return _output(self._box.call_sync(self.name, arguments))

    async def _arun(self, **arguments: Any) -> Any:
        return _output(await self._box.call(self.name, arguments))

    def _arguments(self, given: Union[str, Mapping[str, Any]]) -> dict[str, Any]:
        if isinstance(given, str):
            return {next(iter(self.args), "input"): given}
        return dict(given["args"] if given.get("type") == "tool_call" else given)


def _output(result: brig.ToolResult) -> Any:
    if not result.ok:
        raise ToolException(f"{result.report.outcome}: {result.error}")
    return result.output


def brig_tools(box: brig.Sandbox) -> list[BrigTool]:
    return [BrigTool(box, info) for info in box.list_tools()]


def structured_tools(box: brig.Sandbox) -> list[Any]:
    """As LangChain's StructuredTool: for bind_tools() and for agents of LangGraph."""
    from langchain_core.tools import StructuredTool

    return [
        StructuredTool.from_function(
            func=tool._run,
            coroutine=tool._arun,
            name=tool.name,
            description=tool.description,
            args_schema=tool.args_schema,
            handle_tool_error=True,
        )
        for tool in brig_tools(box)
    ]


if __name__ == "__main__":
    here = str(Path(__file__).resolve().parent)
    with brig.Sandbox(
        [calculate, search_files], timeout=5.0, read=[here], working_directory=here
    ) as sandbox:
        for each in brig_tools(sandbox):
            print(f"{each.name}: {each.description} {sorted(each.args)}")
        calculator = brig_tools(sandbox)[0]
        print(calculator.invoke({"expression": "6 * 7"}))
        try:
            calculator.invoke("1 / 0")
        except ToolException as error:
            print(error)

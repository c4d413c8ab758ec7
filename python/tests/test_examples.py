"""What users read runs as it stands: the code in the guides of docs/, and examples/python."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

import brig

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = Path(brig.__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "python"
GUIDE = ROOT / "docs" / "python.md"
DROP_INS = ROOT / "docs" / "compat.md"
FIRST_TOOL = ROOT / "docs" / "first-tool.md"
DIVISION = "tool_error: ZeroDivisionError: division by zero"
PROGRAM = Path(os.environ.get("BRIG_PROGRAM", ROOT / "build" / "release" / "bin" / "brig"))


def run(*words: str, cwd: Path) -> str:
    """What a program prints, that ends well."""
    environment = dict(
        os.environ,
        PYTHONPATH=str(PACKAGE),
        PYTHONDONTWRITEBYTECODE="1",
        PATH=f"{PROGRAM.parent}:{os.environ['PATH']}",
    )
    done = subprocess.run(
        words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that cells may read, even if the tests run as root."""
    tmp_path.chmod(0o755)
    return tmp_path


# --- the guide ---


class Block(NamedTuple):
    language: str
    text: str
    line: int

    def expected(self) -> list[str]:
        """The comments behind print(), or behind a shell's commands, which begin a line."""
        command = r" *print\(.*\)" if self.language == "python" else r"[a-z].*"
        found = re.findall(rf"^{command}  +# (.*)$", self.text, re.MULTILINE)
        return [str(each) for each in found]

    def name(self) -> str:
        """Of the file that it is."""
        named = re.match(r"# (\w+\.(?:py|toml))\n", self.text)
        return named[1] if named else f"line_{self.line}.py"


def sections() -> dict[str, list[Block]]:
    """The blocks of the guides, by the heading above them."""
    found: dict[str, list[Block]] = {}
    for guide in (GUIDE, DROP_INS, FIRST_TOOL):
        text, heading = guide.read_text(encoding="utf-8"), ""
        for match in re.finditer(r"(?ms)^## ([^\n]+)$|^```(\w*)\n(.*?)^```$", text):
            if match[1]:
                heading = match[1]
            elif match[2] not in ("text", "cpp"):  # tests/docs/check has the C++
                line = text.count("\n", 0, match.start()) + 2
                found.setdefault(heading, []).append(Block(match[2], match[3], line))
    return found


@pytest.mark.parametrize("heading", sections())
def test_the_code_in_the_guide_prints_what_it_says(heading: str, place: Path) -> None:
    for block in sections()[heading]:
        assert block.language in ("python", "toml", "sh"), f"line {block.line}"
        path = place / block.name()
        path.write_text(block.text, encoding="utf-8")
        if block.language == "sh":
            printed = run("sh", "-e", str(path), cwd=place)
        elif block.language == "python":
            printed = run(sys.executable, str(path), cwd=place)
        else:
            continue
        assert printed.splitlines() == block.expected(), f"line {block.line}"


def test_the_guide_names_all_that_the_package_offers() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert [name for name in brig.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_the_example_in_the_readme_runs(place: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"(?ms)^```python\n(.*?)^```$", text)
    script = place / "readme.py"
    script.write_text(block + "print(r.ok, r.output, r.report.outcome)\n")
    assert run(sys.executable, str(script), cwd=place) == "True 5 ok\n"


@pytest.mark.parametrize("module", ["jeeves", "calute", "openjarvis"])
def test_the_guide_names_all_that_a_drop_in_offers(module: str) -> None:
    text = DROP_INS.read_text(encoding="utf-8")
    names = importlib.import_module(f"brig.compat.{module}").__all__
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("guide", [GUIDE, DROP_INS], ids=lambda guide: guide.name)
def test_the_guides_links_lead_somewhere(guide: Path) -> None:
    for target in re.findall(r"\]\(([^)#]*)", guide.read_text(encoding="utf-8")):
        if target and "://" not in target:
            assert (guide.parent / target).exists(), target


# --- the examples ---


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports one of them."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield importlib.import_module
    for path in EXAMPLES.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_the_agent_survives_its_model(place: Path) -> None:
    (place / "notes.txt").write_text("first\nasync def is a keyword\n")
    (place / "code.py").write_text("async def work(): ...\n")
    lines = run(sys.executable, str(EXAMPLES / "agent.py"), str(place), cwd=place).splitlines()
    calls, answers = lines[::2], [line.strip() for line in lines[1::2]]
    assert [call.split()[0] for call in calls] == [
        "calculate", "summarise_csv", "search_files", "run_snippets",
        "calculate", "calculate", "calculate", "calculate", "delete_everything",
    ]  # fmt: skip
    assert answers[0] == '"14.142135623730951"'
    degrees = json.loads(answers[1])["columns"][1]
    assert (degrees["name"], degrees["minimum"], degrees["mean"]) == ("degrees", 11, 12.5)
    found = {"file": "code.py", "line": 1, "text": "async def work(): ..."}
    assert json.loads(answers[2]) == [found]
    computed, located, failed = json.loads(answers[3])
    assert computed == {"exit_code": 0, "output": "42\n"}
    assert located == {"exit_code": 0, "output": f"{place}\n"}
    assert failed["exit_code"] == 1 and "ZeroDivisionError" in failed["output"]
    assert answers[4].startswith("timeout: ")
    assert answers[5].startswith("tool_error: FileNotFoundError: ")
    assert answers[6] == "tool_error: PermissionError: [Errno 13] Permission denied"
    assert answers[7].startswith("invalid_arguments: ") and "/expression" in answers[7]
    assert answers[8] == "unknown_tool: unknown tool: 'delete_everything'"


def test_the_agents_tools_are_plain_functions(example: Any) -> None:
    tools = example("agent_tools")
    assert tools.calculate("6 * 7") == "42"
    assert tools.summarise_csv("").rows == 0
    summary = tools.summarise_csv("a;b\n1;x\n;y\n3;x\n", delimiter=";")
    assert [(c.values, c.distinct, c.mean) for c in summary.columns] == [(2, 2, 2.0), (3, 2, None)]


def test_the_manifest_offers_the_same_tools() -> None:
    listed = json.loads(run(str(PROGRAM), "tools", "--format", "json", cwd=EXAMPLES))
    assert [tool["name"] for tool in listed] == [
        "calculate", "run_snippets", "search_files", "summarise_csv",
    ]  # fmt: skip
    assert [tool["annotations"]["read_only"] for tool in listed] == [True, False, True, True]


def call(tool: str, arguments: Any) -> str:
    return run(str(PROGRAM), "call", tool, json.dumps(arguments), cwd=EXAMPLES)


def test_the_manifests_tools_are_called_from_the_command_line() -> None:
    assert call("calculate", {"expression": "sqrt(2) * 10"}) == "14.142135623730951\n"
    found = json.loads(call("search_files", {"pattern": "(?i)no warranty", "limit": 3}))
    assert len(found) == 3 and found[0]["file"] and "warranty" in found[0]["text"].lower()
    (done,) = json.loads(call("run_snippets", {"snippets": ["print(6 * 7)"]}))
    assert done == {"exit_code": 0, "output": "42\n"}


def test_the_adapter_has_the_interface_of_a_langchain_tool(example: Any) -> None:
    tools, adapter = example("agent_tools"), example("langchain_adapter")
    with brig.Sandbox([tools.calculate, tools.run_snippets], timeout=20) as box:
        calculate, run_snippets = adapter.brig_tools(box)
        assert calculate.name == "calculate" and calculate.description.startswith("Computes a ")
        assert calculate.args_schema["required"] == list(calculate.args) == ["expression"]
        assert calculate.invoke({"expression": "6 * 7"}, config={"tags": []}) == "42"
        assert calculate.invoke("2 + 3") == "5"
        wanted = {"type": "tool_call", "id": "1", "name": "calculate", "args": {"expression": "1"}}
        assert calculate.invoke(wanted) == "1"
        assert calculate._run(expression="7") == "7"

        async def both_ways() -> tuple[Any, Any]:
            ran = await run_snippets.ainvoke({"snippets": ["print(1)"]})
            return ran, await calculate._arun(expression="8")

        assert asyncio.run(both_ways()) == ([{"exit_code": 0, "output": "1\n"}], "8")
        with pytest.raises(adapter.ToolException, match=f"^{DIVISION}$"):
            calculate.invoke({"expression": "1 / 0"})
        with pytest.raises(adapter.ToolException, match="^invalid_arguments: "):
            calculate.invoke({})


def test_the_adapter_makes_langchains_own_tools(example: Any) -> None:
    pytest.importorskip("langchain_core")
    tools, adapter = example("agent_tools"), example("langchain_adapter")
    with brig.Sandbox([tools.calculate], timeout=20) as box:
        (calculate,) = adapter.structured_tools(box)
        assert calculate.invoke({"expression": "6 * 7"}) == "42"
        assert calculate.invoke({"expression": "1 / 0"}) == DIVISION


def test_the_langchain_example_runs(place: Path) -> None:
    lines = run(sys.executable, str(EXAMPLES / "langchain_adapter.py"), cwd=place).splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == ["calculate", "search_files"]
    assert lines[2:] == ["42", DIVISION]


def test_the_openai_example_answers_recorded_calls(place: Path) -> None:
    lines = run(sys.executable, str(EXAMPLES / "openai_tools.py"), cwd=place).splitlines()
    shapes, *answers = map(json.loads, lines)
    chat, responses = shapes["chat"][0], shapes["responses"][0]
    assert chat["type"] == responses["type"] == "function"
    assert chat["function"]["name"] == responses["name"] == "calculate"
    assert chat["function"]["parameters"] == responses["parameters"]
    assert chat["function"]["parameters"]["required"] == ["expression"]
    assert [answer.get("tool_call_id") or answer["call_id"] for answer in answers] == [
        "call_a", "call_b", "call_c", "call_d",
    ]  # fmt: skip
    assert answers[0]["role"] == "tool" and answers[0]["content"] == "2432902008176640000"
    assert json.loads(answers[1]["content"])["columns"][0]["mean"] == 2
    assert answers[2]["content"].startswith("invalid_arguments: not JSON: ")
    assert answers[3]["type"] == "function_call_output"
    assert answers[3]["output"] == DIVISION


def test_the_openai_lists_are_those_of_the_command_line(example: Any) -> None:
    openai = example("openai_tools")
    with brig.Sandbox(manifest=str(EXAMPLES / "brig.toml")) as box:
        listed = run(str(PROGRAM), "tools", "--format", "openai", cwd=EXAMPLES)
        assert openai.chat_tools(box) == json.loads(listed)


def test_whatever_a_model_writes_for_arguments_is_answered(example: Any) -> None:
    tools, openai = example("agent_tools"), example("openai_tools")
    texts = ["", "{}", "[]", "null", '"x"', "{", "[" * 100_000, '{"expression": NaN}']
    message = {
        "tool_calls": [
            {"id": str(i), "function": {"name": "calculate", "arguments": text}}
            for i, text in enumerate(texts)
        ]
    }

    async def answers() -> Any:
        async with brig.Sandbox([tools.calculate]) as box:
            return await openai.answer_chat(box, message)

    made = asyncio.run(answers())
    assert [each["tool_call_id"] for each in made] == [str(i) for i in range(len(texts))]
    assert all(each["content"].startswith("invalid_arguments: ") for each in made), made

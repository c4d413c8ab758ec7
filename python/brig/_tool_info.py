"""ToolInfo: the description of a tool that Sandbox.list_tools() returns."""

from __future__ import annotations

from typing import Any, Optional


class ToolInfo:
    """The name, description, schemas and hints that a client gets for a tool."""

    __slots__ = (
        "name", "description", "input_schema", "output_schema",
        "read_only", "destructive", "idempotent", "open_world",
    )  # fmt: skip

    def __init__(self, listed: dict[str, Any]) -> None:
        self.name: str = listed["name"]
        self.description: str = listed["description"]
        self.input_schema: dict[str, Any] = listed["input_schema"]
        self.output_schema: Optional[dict[str, Any]] = listed["output_schema"]
        hints: dict[str, bool] = listed["annotations"]
        self.read_only = hints["read_only"]
        self.destructive = hints["destructive"]
        self.idempotent = hints["idempotent"]
        self.open_world = hints["open_world"]

    def __repr__(self) -> str:
        return f"brig.ToolInfo({self.name!r}, {self.description!r})"

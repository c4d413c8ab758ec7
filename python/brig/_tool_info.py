"""What a sandbox lists of a tool."""

from __future__ import annotations

from typing import Any, Optional


class ToolInfo:
    """What a client is told of a tool."""

    __slots__ = (
        "name", "description", "input_schema", "output_schema",
        "read_only", "destructive", "idempotent", "open_world",
    )  # fmt: skip

    def __init__(self, told: dict[str, Any]) -> None:
        self.name: str = told["name"]
        self.description: str = told["description"]
        self.input_schema: dict[str, Any] = told["input_schema"]
        self.output_schema: Optional[dict[str, Any]] = told["output_schema"]
        self.read_only: bool = told["read_only"]
        self.destructive: bool = told["destructive"]
        self.idempotent: bool = told["idempotent"]
        self.open_world: bool = told["open_world"]

    def __repr__(self) -> str:
        return f"brig.ToolInfo({self.name!r}, {self.description!r})"

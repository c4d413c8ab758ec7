"""What a call leaves: data, nothing of which was executed or trusted."""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any, Optional, Union

# json.loads() without what a text that brig has written does not need.
_scan = json.scanner.make_scanner(json.JSONDecoder())  # type: ignore[attr-defined]


class Report:
    """All that is known of one finished call."""

    __slots__ = ("_text", "_told")

    def __init__(self, told: Union[bytes, dict[str, Any]]) -> None:
        # Few look at it: its text is read when someone does.
        self._text = told if isinstance(told, bytes) else b""
        self._told = told if isinstance(told, dict) else None

    @property
    def _json(self) -> dict[str, Any]:
        if self._told is None:
            self._told = json.loads(self._text)
        return self._told

    def _stream(self, name: str) -> bytes:
        encoded: Optional[str] = self._json.get(name + "_base64")
        if encoded is not None:
            return base64.b64decode(encoded)
        text: str = self._json.get(name, "")
        return text.encode("utf-8")

    @property
    def outcome(self) -> str:
        """ok, tool_error, exit, signal, timeout, memory_limit, output_limit, process_limit, denied, cancelled,
        invalid_arguments, unknown_tool, overloaded or internal."""
        outcome: str = self._json["outcome"]
        return outcome

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    @property
    def stdout(self) -> bytes:
        """The kept part of what it printed."""
        return self._stream("stdout")

    @property
    def stderr(self) -> bytes:
        return self._stream("stderr")

    def __getattr__(self, name: str) -> Any:
        """exit_code, signal, signal_name, message, stdout_bytes, stderr_bytes, stdout_truncated,
        stderr_truncated, usage, steps, enforced, violations."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._json[name]
        except KeyError:
            raise AttributeError(f"a report has no {name!r}") from None

    def to_json(self) -> dict[str, Any]:
        return self._json

    def __repr__(self) -> str:
        return f"brig.Report({self.outcome}: {self.message})"


class ToolResult:
    """How a call ended."""

    __slots__ = (
        "call_id", "ok", "output", "error", "error_type", "traceback",
        "denied", "reason", "duration_ms", "report", "_started_at",
    )  # fmt: skip

    call_id: str
    ok: bool
    output: Any  # of a call that is ok
    error: Optional[str]  # of one that isn't: "Type: message" of what the tool raised, or a sentence
    error_type: Optional[str]  # the type alone, of what the tool raised
    traceback: Optional[str]  # from the tool's own first line on
    denied: bool
    reason: Optional[str]
    duration_ms: float
    report: Report

    def __init__(self, told: dict[str, Any], report: Report) -> None:
        self.call_id = told["call_id"]
        self.ok = told["ok"]
        self.output = told["output"]
        self.error = told["error"]
        self.error_type = told["error_type"]
        self.traceback = told["traceback"]
        self.denied = told["denied"]
        self.reason = told["reason"]
        self.duration_ms = told["duration_ms"]
        self.report = report
        self._started_at = told["started_at"]

    @property
    def error_message(self) -> Optional[str]:
        """What the tool raised, without the type."""
        if self.error is None or self.error_type is None:
            return self.error
        return self.error[len(self.error_type) + 2 :]

    @property
    def started_at(self) -> datetime.datetime:
        # RFC 3339, in UTC. (Python 3.9 knows no "Z".)
        return datetime.datetime.fromisoformat(self._started_at[:-1] + "+00:00")

    def fail(self, error: str, outcome: str = "tool_error") -> None:
        """Not what it seemed."""
        self.ok, self.output, self.error = False, None, error
        self.report._json["outcome"] = outcome
        self.report._json["message"] = error

    def __repr__(self) -> str:
        return f"brig.ToolResult(ok, {self.output!r})" if self.ok else f"brig.ToolResult({self.error})"


def refused(call_id: str, error: str) -> ToolResult:
    """Of a call that did not come to the library."""
    report = {"outcome": "invalid_arguments", "message": error, "exit_code": None, "signal": None}
    told: dict[str, Any] = dict.fromkeys(("output", "error_type", "traceback", "reason"))
    told.update(call_id=call_id, ok=False, error=error, denied=False, duration_ms=0.0)
    now = datetime.datetime.now(datetime.timezone.utc)
    told["started_at"] = now.isoformat(timespec="milliseconds")[:-6] + "Z"
    return ToolResult(told, Report(report))


def result_of(text: bytes) -> ToolResult:
    """Of two lines, as brig/c.h has it."""
    end = text.index(b"\n")
    report = Report(text[end + 1 :])
    head = str(memoryview(text)[:end], "utf-8")  # no copy of what may be large
    return ToolResult(_scan(head, 0)[0], report)


class Event:
    """Something that a sandbox did: tool_added, tool_removed, tool_updated, queued, started, output, progress,
    finished, or lost, when a watcher was too slow."""

    __slots__ = ("_json",)

    def __init__(self, text: bytes) -> None:
        self._json: dict[str, Any] = json.loads(text)

    @property
    def kind(self) -> str:
        kind: str = self._json["kind"]
        return kind

    @property
    def data(self) -> bytes:
        """Of `output`: the bytes."""
        encoded: Optional[str] = self._json.get("text_base64")
        if encoded is not None:
            return base64.b64decode(encoded)
        text: str = self._json["text"]
        return text.encode("utf-8")

    @property
    def at(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self._json["at"], datetime.timezone.utc)

    def __getattr__(self, name: str) -> Any:
        """tool, call_id, text, stream ("stdout" or "stderr"), fraction, outcome, dropped: None where an event
        has no such thing."""
        if name in ("tool", "call_id", "text", "stream", "fraction", "outcome", "dropped"):
            return self._json.get(name)
        raise AttributeError(f"an event has no {name!r}")

    def to_json(self) -> dict[str, Any]:
        return self._json

    def __repr__(self) -> str:
        return f"brig.Event({self._json})"

"""ToolResult, Report and Event: data from a call. brig executes and trusts nothing in it."""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any, Optional, Union

# json.loads() without the checks that a text from brig itself does not need.
_scan = json.scanner.make_scanner(json.JSONDecoder())  # type: ignore[attr-defined]


class Connection:
    """One try of a tool to reach a host through brig's proxy. The tool chose the host: treat it as data."""

    __slots__ = (
        "host", "port", "verdict", "rule", "reason", "address", "way",
        "sent_bytes", "received_bytes", "begin_ms", "duration_ms",
    )  # fmt: skip

    host: str
    port: int  # 0: the tool only looked up the name
    verdict: str  # allowed, denied or failed
    rule: str  # that decided; empty if there is none
    reason: str  # why it was denied or failed
    address: str  # that brig connected to; empty if it connected to none
    way: str  # how the tool asked: connect, http, socks, direct or dns
    sent_bytes: int
    received_bytes: int
    begin_ms: float  # since the call began
    duration_ms: float

    def __init__(self, data: dict[str, Any]) -> None:
        for name in self.__slots__:
            setattr(self, name, data[name])

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        return f"brig.Connection({self.verdict}: {self.host}:{self.port})"


class Report:
    """Everything that brig knows of one finished call."""

    __slots__ = ("_text", "_parsed")

    def __init__(self, data: Union[bytes, dict[str, Any]]) -> None:
        # Few programs look at the report, so its text is parsed on first use.
        self._text = data if isinstance(data, bytes) else b""
        self._parsed = data if isinstance(data, dict) else None

    @property
    def _json(self) -> dict[str, Any]:
        if self._parsed is None:
            self._parsed = json.loads(self._text)
        return self._parsed

    def _stream(self, name: str) -> bytes:
        encoded: Optional[str] = self._json.get(name + "_base64")
        if encoded is not None:
            return base64.b64decode(encoded)
        text: str = self._json.get(name, "")
        return text.encode("utf-8")

    @property
    def outcome(self) -> str:
        """ok, tool_error, exit, signal, timeout, memory_limit, output_limit, process_limit, denied,
        cancelled, invalid_arguments, unknown_tool, overloaded or internal."""
        outcome: str = self._json["outcome"]
        return outcome

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    @property
    def stdout(self) -> bytes:
        """The part of the output on stdout that brig kept."""
        return self._stream("stdout")

    @property
    def stderr(self) -> bytes:
        """The part of the output on stderr that brig kept."""
        return self._stream("stderr")

    @property
    def connections(self) -> list[Connection]:
        """The first connections through brig's proxy, at most 256, in the order in which they began."""
        return [Connection(each) for each in self._json.get("connections", ())]

    def __getattr__(self, name: str) -> Any:
        """exit_code, signal, signal_name, message, stdout_bytes, stderr_bytes, stdout_truncated,
        stderr_truncated, usage, steps, enforced, violations, connections_total."""
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


def _time(text: str) -> datetime.datetime:
    # RFC 3339, in UTC. (Python 3.9 knows no "Z".)
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00")


class ToolResult:
    """The result of a call, or the error that it ended with."""

    __slots__ = (
        "call_id", "ok", "output", "error", "error_type", "traceback",
        "denied", "reason", "duration_ms", "report", "_started_at",
    )  # fmt: skip

    call_id: str
    ok: bool
    output: Any  # the result, if the call is ok
    # Else: "Type: message" of the exception that the tool raised, or a sentence.
    error: Optional[str]
    error_type: Optional[str]  # the type of that exception
    traceback: Optional[str]  # of that exception, from the tool's own first line on
    denied: bool
    reason: Optional[str]
    duration_ms: float
    report: Report

    def __init__(self, data: dict[str, Any], report: Report) -> None:
        self.call_id = data["call_id"]
        self.ok = data["ok"]
        self.output = data["output"]
        self.error = data["error"]
        self.error_type = data["error_type"]
        self.traceback = data["traceback"]
        self.denied = data["denied"]
        self.reason = data["reason"]
        self.duration_ms = data["duration_ms"]
        self.report = report
        self._started_at = data["started_at"]

    @property
    def error_message(self) -> Optional[str]:
        """The error without the type of the exception."""
        if self.error is None or self.error_type is None:
            return self.error
        return self.error[len(self.error_type) + 2 :]

    @property
    def started_at(self) -> datetime.datetime:
        return _time(self._started_at)

    def fail(self, error: str, outcome: str = "tool_error") -> None:
        """Turns a result into an error: its output can't be used after all."""
        self.ok, self.output, self.error = False, None, error
        self.report._json["outcome"] = outcome
        self.report._json["message"] = error

    def __repr__(self) -> str:
        return f"brig.ToolResult({f'ok, {self.output!r}' if self.ok else self.error})"


def refused(call_id: str, error: str) -> ToolResult:
    """Returns the result of a call that brig refused before the library saw it."""
    report: dict[str, Any] = {
        "outcome": "invalid_arguments", "exit_code": None, "signal": None, "signal_name": None
    }
    report.update(message=error, stdout="", stderr="", stdout_bytes=0, stderr_bytes=0)
    report.update(stdout_truncated=False, stderr_truncated=False)
    report["usage"] = {
        "wall_ms": 0.0, "cpu_ms": 0.0, "memory_peak_bytes": 0, "processes_peak": None
    }
    report["steps"] = dict.fromkeys(("queue_ms", "dispatch_ms", "run_ms", "teardown_ms"), 0.0)
    report.update(room="fresh", enforced=[], violations=[], connections=[], connections_total=0)
    data: dict[str, Any] = dict.fromkeys(("output", "error_type", "traceback", "reason"))
    data.update(call_id=call_id, ok=False, error=error, denied=False, duration_ms=0.0)
    now = datetime.datetime.now(datetime.timezone.utc)
    data["started_at"] = now.isoformat(timespec="milliseconds")[:-6] + "Z"
    return ToolResult(data, Report(report))


def result_of(text: bytes) -> ToolResult:
    """Returns the result that the two lines of brig_c_sandbox_call() hold."""
    end = text.index(b"\n")
    report = Report(text[end + 1 :])
    head = str(memoryview(text)[:end], "utf-8")  # without a copy, since it may be large
    return ToolResult(_scan(head, 0)[0], report)


class Event:
    """Something that happened in a sandbox. `kind` is tool_added, tool_removed, tool_updated,
    queued, started, output, progress or finished; or lost, when the watcher was too slow."""

    __slots__ = ("_json",)

    def __init__(self, text: bytes) -> None:
        self._json: dict[str, Any] = json.loads(text)

    @property
    def kind(self) -> str:
        kind: str = self._json["kind"]
        return kind

    @property
    def data(self) -> bytes:
        """The bytes of an `output` event."""
        encoded: Optional[str] = self._json.get("text_base64")
        if encoded is not None:
            return base64.b64decode(encoded)
        text: str = self._json["text"]
        return text.encode("utf-8")

    @property
    def at(self) -> datetime.datetime:
        return _time(self._json["at"])

    def __getattr__(self, name: str) -> Any:
        """tool, call_id, text, stream ("stdout" or "stderr"), fraction, outcome, message and
        dropped. Each is None if the event does not have it."""
        if name in (
            "tool", "call_id", "text", "stream", "fraction", "outcome", "message", "dropped"
        ):
            return self._json.get(name)
        raise AttributeError(f"an event has no {name!r}")

    def to_json(self) -> dict[str, Any]:
        return self._json

    def __repr__(self) -> str:
        return f"brig.Event({self._json})"

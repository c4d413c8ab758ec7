"""Sandbox: tools behind a policy. Each call runs in a fresh cell."""

from __future__ import annotations

import asyncio
import concurrent.futures
import ctypes
import itertools
import json
import os
import secrets
import sys
import threading
import weakref
from typing import Any, AsyncIterator, Callable, Iterable, Mapping, Optional, Sequence, Union

from brig._errors import ConfigError
from brig._event_loop import ended, from_any_thread, in_event_loop
from brig._handles import finish, NativeSandbox, Queue, refuse_in_fork, start, submit, Watch
from brig._native import ErrorSlot, library, taken
from brig._policy import Duration, Network, Paths, Size, policy_json
from brig._request import LARGE, Request
from brig._result import Event, ToolResult, refused, result_of
from brig._signals import signals
from brig._spec import python_json
from brig._tool import Tool, as_tool
from brig._tool_info import ToolInfo as ToolInfo
from brig._values import pack_arguments, unpack

ToolLike = Union[Tool, Callable[..., Any]]
Arguments = Optional[Mapping[str, Any]]

_numbers = itertools.count(1)


def _by_name(items: Iterable[ToolLike]) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for item in items:
        tool = as_tool(item)
        if tool.name in tools:
            raise ConfigError(
                f"tool {tool.name!r}: two tools have this name; "
                "use brig.Tool(function, name=...) for one"
            )
        tools[tool.name] = tool
    return tools


class Sandbox:
    """Tools behind a policy. It may be used from many threads and event loops.

    A call returns a ToolResult and does not raise. The constructor raises ConfigError if a policy,
    tool or option is wrong, and UnsupportedError if this machine can't isolate. It takes as long as
    an interpreter needs to start and to import the tools' modules. Inside of a running event loop
    it does not wait for that: the first call or ``async with`` waits, and raises the error if there
    is one.

    ``policy`` has the keys of a brig.toml's [policy]. The keywords are its most used parts, and win
    over it. ``paths`` are directories for imports, which the tools can read. brig imports
    ``modules`` for their marked tools. With ``reload`` the sandbox calls reload() itself when a
    file that tools come from has changed. If the new files can't be loaded, the old tools stay and
    ``logging.getLogger("brig")`` gets a warning. """

    def __init__(
        self,
        tools: Iterable[ToolLike] = (),
        policy: Optional[Mapping[str, Any]] = None,
        *,
        timeout: Optional[Duration] = None,
        memory: Optional[Size] = None,
        network: Optional[Network] = None,
        read: Optional[Paths] = None,
        write: Optional[Paths] = None,
        read_optional: Optional[Paths] = None,
        write_optional: Optional[Paths] = None,
        noexec: Optional[Paths] = None,
        protect: Optional[Paths] = None,
        working_directory: Optional[str] = None,
        environment: Optional[Mapping[str, str]] = None,
        passthrough: Optional[Sequence[str]] = None,
        unset: Optional[Sequence[str]] = None,
        preset: Optional[Sequence[str]] = None,
        user: Optional[Union[int, str]] = None,
        output: Optional[Size] = None,
        result: Optional[Size] = None,
        processes: Optional[int] = None,
        scratch: Optional[Size] = None,
        connections: Optional[int] = None,
        upload: Optional[Size] = None,
        download: Optional[Size] = None,
        connection_time: Optional[Duration] = None,
        concurrency: int = 0,
        queue: int = 1024,
        ready_min: int = 1,
        ready_max: int = 16,
        interpreter: Optional[str] = None,
        paths: Sequence[str] = (),
        modules: Sequence[str] = (),
        manifest: Optional[str] = None,
        reload: bool = False,
    ) -> None:
        if isinstance(timeout, (int, float)) and not timeout > 0:
            raise ConfigError(f"timeout must be greater than 0, not {timeout}")
        self._policy = policy_json(
            policy, timeout=timeout, memory=memory, network=network, read=read, write=write,
            read_optional=read_optional, write_optional=write_optional, noexec=noexec,
            protect=protect, working_directory=working_directory, environment=environment,
            passthrough=passthrough, unset=unset, preset=preset, user=user, output=output,
            result=result, processes=processes, scratch=scratch,
            connections=connections, upload=upload, download=download,
            connection_time=connection_time,
        )  # fmt: skip
        self._options = {
            "concurrency": concurrency,
            "queue": queue,
            "ready_min": ready_min,
            "ready_max": ready_max,
        }
        self._interpreter, self._paths = interpreter, list(paths)
        self._modules, self._manifest = list(modules), manifest
        self._changing = threading.Lock()
        self._tools = _by_name(tools)
        self._typed: set[str] = set()
        self._bytes: set[str] = set()
        self._queues: weakref.WeakKeyDictionary[Any, Queue] = weakref.WeakKeyDictionary()
        self._active: dict[str, None] = {}
        self._closed = False
        self._pid = os.getpid()
        self._start(self._config(self._tools))
        self._end_reloads: Optional[Callable[[], Any]] = None
        if reload:
            from brig._reload import Reloader

            self._end_reloads = weakref.finalize(self, Reloader(self).stop)

    def _start(self, config: bytes) -> None:
        self._running: Optional[NativeSandbox] = None  # set when it has started
        self._starting: concurrent.futures.Future[NativeSandbox] = concurrent.futures.Future()
        # So that a task which stops waiting does not cancel it.
        self._starting.set_running_or_notify_cancel()
        if in_event_loop():
            threading.Thread(
                target=self._begin, args=(config,), name="brig-start", daemon=True
            ).start()
        else:
            self._begin(config)
            self._starting.result()
        # Runs when nothing refers to the sandbox any more, or the interpreter ends.
        self._finalizer = weakref.finalize(self, finish, self._starting, self._active, os.getpid())

    def _begin(self, config: bytes) -> None:
        try:
            self._running = start(config)
            self._starting.set_result(self._running)
        except BaseException as error:
            self._starting.set_exception(error)

    def _config(self, tools: Mapping[str, Tool]) -> bytes:
        config: dict[str, Any] = {"policy": self._policy, "options": self._options, "tools": []}
        for tool in tools.values():
            listed = tool.listed()
            if tool.policy is not None:
                listed["policy"] = policy_json(tool.policy)
            config["tools"].append(listed)
            (self._typed.add if tool.typed else self._typed.discard)(tool.name)
            is_bytes = not tool.typed and (listed.get("output_schema") or {}).get("contentEncoding")
            (self._bytes.add if is_bytes == "base64" else self._bytes.discard)(tool.name)
        if tools:
            config["python"] = python_json(list(tools.values()), self._interpreter, self._paths)
        if self._modules:
            config["modules"] = [
                {
                    "modules": self._modules,
                    "path": [os.path.realpath(path) for path in self._paths],
                    "interpreter": self._interpreter or sys.executable,
                }
            ]
        if self._manifest is not None:  # the library refuses ""
            config["manifest"] = os.fspath(self._manifest)
        return json.dumps(config).encode()

    # --- calls ---

    def _request(
        self, tool: str, arguments: Arguments, call_id: str, caller: str
    ) -> Union[Request, ToolResult]:
        given: Any = {} if arguments is None else arguments
        try:
            if tool in self._typed and isinstance(given, Mapping):
                given = dict(pack_arguments(given))
            return Request(tool, given, call_id, caller)
        except (ValueError, TypeError, RecursionError) as error:
            return refused(call_id, str(error))

    def _result(self, tool: str, text: bytes) -> ToolResult:
        result = result_of(text)
        if not result.ok or not (tool in self._typed or tool in self._bytes):
            return result
        try:
            if tool in self._typed:
                result.output = unpack(result.output)
            else:
                import binascii

                result.output = binascii.a2b_base64(result.output)
        except ValueError as error:
            result.fail(f"the tool's result can't be read: {error}")
        return result

    def call_sync(
        self, tool: str, arguments: Arguments = None, *, call_id: str = "", caller: str = ""
    ) -> ToolResult:
        """Calls a tool and waits for its result."""
        call_id = call_id or f"call-{secrets.token_hex(16)}"
        request = self._request(tool, arguments, call_id, caller)
        if isinstance(request, ToolResult):
            return request
        with self._started() as handle:
            self._active[call_id] = None
            size = ctypes.c_size_t()
            asked = signals.asked_here()
            try:
                answer = library().brig_c_sandbox_call(
                    handle, *request.arguments(), asked, ctypes.byref(size)
                )
            finally:
                self._active.pop(call_id, None)
            text = taken(answer, size)
        signals.throw(asked)
        return self._result(tool, text)

    async def call(
        self, tool: str, arguments: Arguments = None, *, call_id: str = "", caller: str = ""
    ) -> ToolResult:
        """Calls a tool. Cancelling the task ends the cell of the call at once."""
        native = await self._native()
        call_id = call_id or f"call-{secrets.token_hex(16)}"
        request = self._request(tool, arguments, call_id, caller)
        if isinstance(request, ToolResult):
            return request
        loop = asyncio.get_running_loop()
        queue = self._queue(loop)
        future: asyncio.Future[bytes] = loop.create_future()
        ticket = next(_numbers)

        def done(text: bytes) -> None:
            if not future.done():
                future.set_result(text)

        queue.waiting[ticket] = done
        with native as handle:
            self._active[call_id] = None
            try:
                if request.size < LARGE:
                    library().brig_c_sandbox_submit(
                        handle, queue.handle, ticket, *request.arguments()
                    )
                else:
                    # The library looks at every byte of the request: in another thread, so that
                    # this loop goes on.
                    await ended(loop.run_in_executor(None, submit, native, queue, ticket, request))
                text = await future
            except BaseException:  # GeneratorExit too, when the loop has ended without this task
                queue.waiting.pop(ticket, None)
                library().brig_c_sandbox_cancel(handle, call_id.encode(), 1)
                raise
            finally:
                self._active.pop(call_id, None)
        return self._result(tool, text)

    def _started(self) -> NativeSandbox:
        refuse_in_fork(self._pid)  # nothing starts the sandbox there
        return self._running if self._running is not None else self._starting.result()

    async def _native(self) -> NativeSandbox:
        refuse_in_fork(self._pid)
        if self._running is not None:
            return self._running
        return await asyncio.wrap_future(self._starting)

    def _queue(self, loop: asyncio.AbstractEventLoop) -> Queue:
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = Queue()
            loop.add_reader(queue.descriptor, queue.take)
        return queue

    def cancel(self, call_id: str, *, at_once: bool = False) -> bool:
        """Ends the calls with that id by SIGTERM and, after the grace period, SIGKILL. Returns
        False if there are none.

        With `at_once` the calls get SIGKILL without a grace period.
        """
        with self._started() as handle:
            return bool(library().brig_c_sandbox_cancel(handle, call_id.encode(), int(at_once)))

    # --- tools ---

    def list_tools(self, query: Optional[str] = None) -> list[ToolInfo]:
        """Returns the tools in the order of their names: all, or those with `query` in name or
        description in any case."""
        with self._started() as handle:
            text = taken(library().brig_c_sandbox_tools(handle, (query or "").encode()))
        return [ToolInfo(each) for each in json.loads(text)]

    def add(self, item: ToolLike) -> None:
        """Adds a tool. It takes as long as an interpreter needs to start; calls go on meanwhile."""
        tool = as_tool(item)
        with self._changing:
            if tool.name in self._tools:
                raise ConfigError(f"tool {tool.name!r} already exists; use replace()")
            self._set({**self._tools, tool.name: tool})

    def replace(self, item: ToolLike) -> None:
        """Puts a tool in the place of the one with the same name."""
        tool = as_tool(item)
        with self._changing:
            if tool.name not in self._tools:
                raise ConfigError(f"tool {tool.name!r} does not exist; use add()")
            self._set({**self._tools, tool.name: tool})

    def remove(self, name: str) -> bool:
        """Removes a tool. Returns False if there is none of that name."""
        with self._changing:
            if name not in self._tools:
                return False
            self._set({key: tool for key, tool in self._tools.items() if key != name})
        return True

    def reload(self) -> None:
        """Imports all modules again, as they are on disk now."""
        with self._changing:
            self._set(self._tools)

    def _set(self, tools: dict[str, Tool]) -> None:
        config, error = self._config(tools), ErrorSlot()
        with self._started() as handle:
            if library().brig_c_sandbox_set_tools(
                handle, config, len(config), error.reference()
            ) != 0:
                raise error.error()
        self._tools = tools

    # --- events ---

    def watch(self, buffer: int = 1024) -> AsyncIterator[Event]:
        """Yields the events from now on, until the sandbox is closed. `buffer` events can wait for
        the watcher. A watcher that is too slow loses events and gets their number; it never holds
        up a call."""
        with self._started() as handle:
            error = ErrorSlot()
            watch = library().brig_c_sandbox_watch(handle, buffer, error.reference())
            if not watch:
                raise error.error()
        return Watch(watch)

    # --- the end ---

    def close(self) -> None:
        """Ends all calls and all processes of the sandbox. Does nothing in a fork, whose copy has
        no processes."""
        if os.getpid() != self._pid:
            return
        self._closed = True
        if self._end_reloads is not None:
            self._end_reloads()
        self._finalizer()
        # Not earlier, so that calls get their result: cancelled.
        for loop, queue in list(self._queues.items()):
            if not loop.is_closed():
                from_any_thread(loop, queue.descriptor)

    def __enter__(self) -> Sandbox:
        self._started()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Sandbox:
        await self._native()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.close)

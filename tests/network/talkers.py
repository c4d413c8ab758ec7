"""Servers with manners of their own, each on its port, on every address of the internet."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Awaitable, Callable

import addresses as at

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
BLOCK = b"\0" * 65536


class Talkers:
    """What they got and sent is read by another thread: each value is replaced as a whole."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []  # per connection to RAW, everything that came
        self.open = 0
        self.opened = 0
        self.sent = 0  # by FLOOD
        begun = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.serve(begun)), daemon=True).start()
        if not begun.wait(30):
            raise OSError("the talkers did not start")

    async def serve(self, begun: threading.Event) -> None:
        for port, talk in (
            (at.SMTP, self.smtp),
            (at.SILENT, self.silent),
            (at.GREETS, self.greets),
            (at.FLOOD, self.flood),
            (at.DRIP, self.drip),
            (at.ECHO, self.echo),
            (at.SINK, self.sink),
            (at.HANGS_UP, self.hang_up),
            (at.RAW, self.record),
        ):
            await asyncio.start_server(
                self.counted(talk), "::", port, backlog=8192, family=socket.AF_INET6
            )
            # asyncio's own servers for "::" take IPv6 only.
            await asyncio.start_server(self.counted(talk), "0.0.0.0", port, backlog=8192)
        begun.set()
        await asyncio.Event().wait()

    def counted(
        self, talk: Callable[[Reader, Writer], Awaitable[None]]
    ) -> Callable[[Reader, Writer], Awaitable[None]]:
        async def connection(reader: Reader, writer: Writer) -> None:
            self.open += 1
            self.opened += 1
            try:
                await talk(reader, writer)
            except OSError:
                pass
            finally:
                self.open -= 1
                writer.close()

        return connection

    async def smtp(self, reader: Reader, writer: Writer) -> None:
        writer.write(b"220 mail.example.org ESMTP\r\n")
        while line := await reader.readline():
            word = line.split()[0].upper() if line.split() else b""
            writer.write(
                {b"QUIT": b"221 bye\r\n", b"EHLO": b"250-mail.example.org\r\n250 HELP\r\n"}.get(
                    word, b"250 ok\r\n"
                )
            )
            if word == b"QUIT":
                break
        await writer.drain()

    async def silent(self, reader: Reader, writer: Writer) -> None:
        await reader.read()

    async def greets(self, reader: Reader, writer: Writer) -> None:
        writer.write(b"hello, who is there?\n")
        await reader.read()

    async def flood(self, reader: Reader, writer: Writer) -> None:
        while True:
            writer.write(BLOCK)
            await writer.drain()
            self.sent += len(BLOCK)

    async def drip(self, reader: Reader, writer: Writer) -> None:
        while not reader.at_eof():
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.5)

    async def echo(self, reader: Reader, writer: Writer) -> None:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()

    async def sink(self, reader: Reader, writer: Writer) -> None:
        total = 0
        while piece := await reader.read(1 << 20):
            total += len(piece)
        writer.write(b"%d\n" % total)
        await writer.drain()

    async def hang_up(self, reader: Reader, writer: Writer) -> None:
        pass

    async def record(self, reader: Reader, writer: Writer) -> None:
        """Answers each head with a small page. Keeps all that comes, even after its last answer."""
        place = len(self.raw)
        self.raw.append(b"")
        while piece := await reader.read(65536):
            self.raw[place] = (self.raw[place] + piece)[:65536]
            for _ in range(piece.count(b"\r\n\r\n")):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nraw\n")
            await writer.drain()
            if b"connection: close" in piece.lower():
                writer.write_eof()

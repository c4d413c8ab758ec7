"""A WebSocket server that echoes, without and with TLS."""

from __future__ import annotations

import asyncio
import ssl

import websockets

import addresses as at
import certificates


async def echo(connection: websockets.WebSocketServerProtocol) -> None:
    async for message in connection:
        await connection.send(f"echo: {message}")


async def main() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates.CERTIFICATE, certificates.KEY)
    await websockets.serve(echo, None, at.WS)
    await websockets.serve(echo, None, at.WSS, ssl=tls)
    await asyncio.Event().wait()


asyncio.run(main())

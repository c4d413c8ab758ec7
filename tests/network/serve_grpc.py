"""A gRPC server with one method, /Greeter/Hello, without and with TLS."""

from __future__ import annotations

from concurrent import futures
from pathlib import Path

import grpc

import addresses as at
import certificates


def hello(request: bytes, context: grpc.ServicerContext) -> bytes:
    return b"hello, " + request


server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
method = grpc.unary_unary_rpc_method_handler(hello)
server.add_generic_rpc_handlers(
    [grpc.method_handlers_generic_handler("Greeter", {"Hello": method})]
)
pair = (Path(certificates.KEY).read_bytes(), Path(certificates.CERTIFICATE).read_bytes())
server.add_insecure_port(f"[::]:{at.GRPC}")
server.add_secure_port(f"[::]:{at.GRPC_TLS}", grpc.ssl_server_credentials([pair]))
server.start()
server.wait_for_termination()

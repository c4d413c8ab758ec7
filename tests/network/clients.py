"""The table of programs; client.py says what a row is."""

from __future__ import annotations

from client import BUILT, Client
from clients_other import OTHER
from clients_web import WEB

__all__ = ["BUILT", "CLIENTS", "Client", "table"]

CLIENTS = [*WEB, *OTHER]


def table() -> list[str]:
    """The rows of docs/network.md."""
    return [
        f"| {each.name} | {each.debian} | {each.what} | `{each.rules[0]}` | "
        f"{'proxy' if each.heeds else 'by itself'} |"
        for each in CLIENTS
    ]


if __name__ == "__main__":
    print(*table(), sep="\n")

"""A row of the table of programs: what it takes for one of them to reach one host of the ground.

`script` is run by a shell in an empty directory and prints `output`: first without brig, then in
cells whose policy allows the host, and in cells whose policy allows another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import addresses as at

BUILT = f"{at.OWN}/built"
DB4 = at.HOSTS["db.example.org"][0]
API4 = at.HOSTS["api.example.org"][0]


@dataclass
class Client:
    name: str
    debian: str
    what: str  # in docs/network.md
    host: str
    port: int
    script: str
    output: str
    # Whether it takes http_proxy and https_proxy. If not, brig's listener on that port gets the
    # connection.
    heeds: bool
    allow: list[str] = field(default_factory=list)  # host:port, if empty
    env: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)  # for brig
    quick: bool = False
    # Made once, outside of cells, in a directory that they may read: BUILT.
    build: str = ""

    @property
    def rules(self) -> list[str]:
        return self.allow or [f"{self.host}:{self.port}"]


def hello(host: str, scheme: str = "https") -> str:
    return f"hello from {host} over {scheme}"


ROOMY = [
    "--timeout",
    "120s",
    "--memory",
    "2G",
    "--processes",
    "512",
    "--scratch",
    "256M",
    "--open-files",
    "1024",
]

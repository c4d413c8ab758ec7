"""What crosses the cable to the internet: every TCP connection that is begun, and every UDP packet.

It is what a test asks to know that nothing went out, whichever server would have got it.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading
from collections import Counter

ETH_P_ALL, PACKET_OUTGOING, SO_ATTACH_FILTER = 3, 4, 26

# Classic BPF, over the network header: (code, if true, if false, k). It takes UDP, and TCP with SYN
# and without ACK.
LDB, LDB_X, LDX_IHL, AND, JEQ, RET = 0x30, 0x50, 0xB1, 0x54, 0x15, 0x06
FILTER = [
    (LDB, 0, 0, 0),
    (AND, 0, 0, 0xF0),
    (JEQ, 0, 7, 0x40),
    (LDB, 0, 0, 9),
    (JEQ, 11, 0, 17),
    (JEQ, 0, 13, 6),
    (LDX_IHL, 0, 0, 0),
    (LDB_X, 0, 0, 13),
    (AND, 0, 0, 0x12),
    (JEQ, 6, 7, 0x02),
    (JEQ, 0, 8, 0x60),
    (LDB, 0, 0, 6),
    (JEQ, 3, 0, 17),
    (JEQ, 0, 5, 6),
    (LDB, 0, 0, 53),
    (AND, 0, 0, 0x12),
    # A UDP packet comes here with 17, a SYN of either version with 2.
    (JEQ, 1, 0, 17),
    (JEQ, 0, 1, 0x02),
    (RET, 0, 0, 128),
    (RET, 0, 0, 0),
]


def open_tap(interface: str) -> int:
    """Needs CAP_NET_RAW. The descriptor belongs to the caller."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    code = b"".join(struct.pack("HBBI", *line) for line in FILTER)
    text = ctypes.create_string_buffer(code)
    tap.setsockopt(
        socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(FILTER), ctypes.addressof(text))
    )
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    tap.bind((interface, ETH_P_ALL))
    return tap.detach()


class Wire:
    def __init__(self, tap: int) -> None:
        self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, fileno=tap)
        self.lock = threading.Lock()
        self.packets: Counter[tuple[str, str, int]] = Counter()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        while True:
            packet, where = self.tap.recvfrom(2048)
            if where[2] == PACKET_OUTGOING:
                continue
            key = self.key(packet)
            with self.lock:
                self.packets[key] += 1

    @staticmethod
    def key(packet: bytes) -> tuple[str, str, int]:
        if packet[0] >> 4 == 4:
            size, protocol = (packet[0] & 15) * 4, packet[9]
            address = socket.inet_ntop(socket.AF_INET, packet[16:20])
        else:
            size, protocol = 40, packet[6]
            address = socket.inet_ntop(socket.AF_INET6, packet[24:40])
        return (
            "tcp" if protocol == 6 else "udp",
            address,
            struct.unpack("!H", packet[size + 2 : size + 4])[0],
        )

    def seen(self) -> list[list[object]]:
        """Rows of protocol, address, port and how many packets began something."""
        with self.lock:
            return [[*key, count] for key, count in sorted(self.packets.items())]

    def clear(self) -> None:
        with self.lock:
            self.packets.clear()

"""How much one answer of run_python may hold beside its value: displays, images and files share it."""

from __future__ import annotations

MOST_BYTES = 6 << 20  # as base64, half of what a result may be


class Budget:
    def __init__(self, size: int = MOST_BYTES) -> None:
        self.left = size

    def take(self, size: int) -> bool:
        if size > self.left:
            return False
        self.left -= size
        return True

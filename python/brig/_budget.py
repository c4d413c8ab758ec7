"""Counts the bytes that one answer of run_python may hold beside its value. Displays, images and
files share them."""

from __future__ import annotations

MOST_BYTES = 6 << 20  # as base64 they take half of the largest result


class Budget:
    def __init__(self, size: int = MOST_BYTES) -> None:
        self.left = size

    def take(self, size: int) -> bool:
        """Takes `size` bytes, or none and returns False if fewer are left."""
        if size > self.left:
            return False
        self.left -= size
        return True

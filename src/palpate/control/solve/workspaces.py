"""Records that are used again for problems of the same size."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class Workspaces(threading.local, Generic[R]):
    """Records that are used again for problems of the same size, each thread its own."""

    def __init__(self, make: Callable[..., R]) -> None:
        self.make = make
        self.known: dict[Hashable, R] = {}

    def of(self, *size: Any) -> R:
        """The one of a size."""
        if size not in self.known:
            if len(self.known) >= 32:
                self.known.clear()
            self.known[size] = self.make(*size)
        return self.known[size]

"""Memory for records that is used again: pages that were never written before cost more than what is written there."""

from __future__ import annotations

import sys
import threading
import weakref

import numpy as np

from palpate.checks import Array

MOST_KEPT = 4  # buffers at hand
MOST_BYTES = 32e6  # of one that is kept


class Buffers:
    """Lends arrays, and takes their memory back when nobody can see it any more."""

    def __init__(self) -> None:
        self._free: list[Array] = []
        self._lock = threading.Lock()
        self._alone = 0  # how many references a buffer has that nobody else sees: found by giving one back
        self.lend(1)

    def lend(self, *shape: int) -> Array:
        """An array of a shape; what stands in it is not said."""
        size = int(np.prod(shape))
        with self._lock:
            fitting = [k for k, memory in enumerate(self._free) if size <= memory.size <= 2 * size]
            memory = self._free.pop(min(fitting, key=lambda k: self._free[k].size)) if fitting else np.zeros(size)
        lent = memory[:size].reshape(shape)
        if 0 < memory.nbytes <= MOST_BYTES:
            weakref.finalize(lent, self._back, memory).atexit = False
        return lent

    def _back(self, memory: Array) -> None:
        """Keep a buffer for the next, unless a view of it outlives the array that was lent."""
        count = sys.getrefcount(memory)
        self._alone = self._alone or count
        if count > self._alone:
            return
        with self._lock:
            self._free = [*self._free[-MOST_KEPT + 1 :], memory]


RECORDS = Buffers()

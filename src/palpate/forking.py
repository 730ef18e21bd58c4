"""Safety of a fork beside a running thread: properties and locks that a child process cannot inherit held.

A child of `os.fork` (of multiprocessing, by default before Python 3.14) has a copy of every lock as it was, and none of
the threads that would release it. `functools.cached_property` of Python 3.11 holds one lock per property while a value
is computed; from Python 3.12 on it holds none.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - the name of the one it replaces
        """As that of functools, without a lock: where two threads compute a value at once, both get the first one."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the value kept in the instance's `__dict__`; compute it at the first access."""
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname not in kept:
                return kept.setdefault(self.attrname, self.func(instance))
            return kept[self.attrname]


def inherited_free(lock: Any = None) -> Any:
    """Return a lock, a new RLock by default, that is free in every child process, even if it was held at the fork."""
    made: Any = lock if lock is not None else threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=getattr(made, "_at_fork_reinit"))  # noqa: B009 - private, and stable
    return made

"""Optimal choices within limits, as a library: hierarchies of least squares, tasks, priorities, the fastest stop."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.control.solve import hierarchy, priorities, stop, tasks

__all__ = ["hierarchy", "priorities", "stop", "tasks"]

__getattr__, __dir__ = lazy_names(__name__, {name: f"{__name__}.{name}" for name in __all__})

"""Optimal choices within limits, as a library: hierarchies of least squares, tasks, priorities, the fastest stop."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.control.solve import hierarchy as hierarchy, priorities as priorities, stop as stop, tasks as tasks

__getattr__, __dir__, __all__ = lazy_names(__name__)

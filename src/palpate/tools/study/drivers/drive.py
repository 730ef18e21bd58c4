"""Drivers: each method as a generator that asks for stages of runs and, when their rows are there, for more.

A driver depends on the plan and on rows alone, so that it finds the same answer when it is driven again over rows that
are already there: that is how a sweep resumes.
"""

from __future__ import annotations

from collections.abc import Callable

from palpate.tools.study.drivers.map import drive_map
from palpate.tools.study.drivers.rare import drive_rare
from palpate.tools.study.drivers.search import Driver
from palpate.tools.study.drivers.stopping import drive_planned
from palpate.tools.study.running.store import Store


def drive(store: Store) -> Driver:
    """The driver of a sweep."""
    return _ADAPTIVE.get(store.plan.method, drive_planned)(store)


_ADAPTIVE: dict[str, Callable[[Store], Driver]] = {"rare": drive_rare, "map": drive_map}

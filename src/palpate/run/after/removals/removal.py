"""Causes that can keep a run from what its law promises: something that a run has, and the run without it.

A removal is offered only where there is something to remove: a limit that changed a command, a load, a filter. They are
tried in reruns; see `causes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from palpate.config import Config
from palpate.run.run import Run


@dataclass(frozen=True)
class Removal:
    """Something that a run has, and the run without it.

    Attributes:
        what: in words.
        without: the same run without it, given a run.
        load: whether it is a load on the tool.
    """

    what: str
    without: Callable[[Run], Run]
    load: bool = False


def with_world(**update: Any) -> Callable[[Run], Run]:
    """A run with other parts of its world."""
    return lambda run: replace(run, world=run.world.model_copy(update=update))


def with_part(name: str, **update: Any) -> Callable[[Run], Run]:
    """A run with other settings of a part of its world; as read from a file, so that they are checked."""

    def without(run: Run) -> Run:
        part = getattr(run.world, name)
        return with_world(**{name: type(part).model_validate({**given_settings(part), **update})})(run)

    return without


def without_item(name: str, item: Any) -> Callable[[Run], Run]:
    """A run whose world lacks one of its loads, pushes or faults."""
    return lambda run: with_world(**{name: tuple(x for x in getattr(run.world, name) if x is not item)})(run)


def given_settings(part: Config) -> dict[str, Any]:
    """The settings of a part that are given."""
    return {key: getattr(part, key) for key in part.model_fields_set}

"""One named quantity of a run: its unit, shape and frame."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from palpate.checks import whole_number
from palpate.errors import BadShape, InvalidInput
from palpate.forking import cached_property

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*", re.ASCII)


@dataclass(frozen=True)
class Channel:
    """Meaning of a channel of a trace.

    Attributes:
        name: letters, digits, `_`, `-`; a dot separates a total from its terms (`tau`, `tau.spring`).
        unit: SI, "1" where there is none. One text for all columns, or a tuple with one per column, as for a
            wrench `("N", "N", "N", "N·m", "N·m", "N·m")`; equal entries collapse to one text.
        shape: shape of one sample; () is a single number.
        frame: axes the numbers are expressed in, such as "world".
        labels: one per column in row-major order, such as joint names; indices where none are given.
        help: one sentence for people.
    """

    name: str
    unit: str | tuple[str, ...]
    shape: tuple[int, ...] = ()
    frame: str | None = None
    labels: tuple[str, ...] = ()
    help: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InvalidInput(
                f"a channel's name must be letters, digits, '_', '-' and inner dots, got {self.name!r}",
                hint="for example 'q', 'tool_position' or 'tau.spring'",
            )
        object.__setattr__(self, "shape", self._checked_shape())
        object.__setattr__(self, "labels", self._checked_labels())
        object.__setattr__(self, "unit", self._checked_unit())
        if self.frame is not None:
            _check_text(self.frame, f"frame of {self._called}")

    def __hash__(self) -> int:
        return hash(self.name)

    @cached_property
    def size(self) -> int:
        """How many numbers one sample has."""
        return math.prod(self.shape)

    @property
    def columns(self) -> tuple[str, ...]:
        """Flat column names in row-major order: `q[joint1]`, `rotation[0,2]`; just the name for a number."""
        if not self.shape:
            return (self.name,)
        labels = self.labels or (",".join(map(str, index)) for index in np.ndindex(self.shape))
        return tuple(f"{self.name}[{label}]" for label in labels)

    @property
    def column_units(self) -> tuple[str, ...]:
        """The unit of each of `columns`."""
        return (self.unit,) * self.size if isinstance(self.unit, str) else self.unit

    @property
    def _called(self) -> str:
        return f"channel {self.name!r}"

    def _checked_shape(self) -> tuple[int, ...]:
        if not isinstance(self.shape, list | tuple):
            raise InvalidInput(
                f"shape of {self._called} must be a tuple, got {self.shape!r}", hint=f"write ({self.shape!r},)"
            )
        return tuple(whole_number(n, f"shape of {self._called}", least=1) for n in self.shape)

    def _checked_labels(self) -> tuple[str, ...]:
        if not isinstance(self.labels, list | tuple):
            raise InvalidInput(f"labels of {self._called} must be a tuple of texts, got {self.labels!r}")
        labels = tuple(self.labels)
        if not labels:
            return labels
        if not self.shape or len(labels) != self.size:
            expected = self.size if self.shape else 0
            raise BadShape(f"{self._called} of shape {self.shape} takes {expected} labels, got {len(labels)}")
        for label in labels:
            _check_text(label, f"label of {self._called}", forbidden="[]")
        if len(set(labels)) != len(labels):
            raise InvalidInput(f"labels of {self._called} must differ from each other, got {labels}")
        return labels

    def _checked_unit(self) -> str | tuple[str, ...]:
        if not isinstance(self.unit, list | tuple):
            _check_text(self.unit, f"unit of {self._called}")
            return self.unit
        units = tuple(self.unit)
        if len(units) != self.size:
            raise BadShape(f"{self._called} of shape {self.shape} takes {self.size} units, got {len(units)}")
        for unit in units:
            _check_text(unit, f"unit of {self._called}")
        return units[0] if len(set(units)) == 1 else units


def _check_text(text: object, name: str, forbidden: str = "") -> None:
    """Refuse what would spoil a table's header."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or set(text) & set(forbidden):
        rule = "printable text" + (f" without {' or '.join(forbidden)}" if forbidden else "")
        raise InvalidInput(f"{name} must be {rule}, got {text!r}", hint="a quantity without unit has unit '1'")


TIME = Channel("time", "s", help="simulated time since the start of the run")

"""Two fingers that close on an object: one coordinate, a motor of limited force, and a compliant object between them.

    m ẅ = −F + N,    N = max(0, k (w₀ − w) − d ẇ) where w < w₀, else 0

w is the width between the fingers, F the closing force of the motor, N what the object of width w₀ and stiffness k
presses back with. At rest w = w₀ − F / k. The motor follows a ramp of the asked speed by a critically damped spring,
with no more than the asked force.

An object lies between the fingers wherever they are, or at a place of the world: then they close on it only where the
tool is there, carry it while they press it, and leave it where they open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput

MAX_WIDTH = 0.08  # m
FASTEST = 0.1  # m/s, both fingers together
STEP = 1e-3  # s
_MASS = 0.5  # kg, fingers and drive as felt at the width: chosen here
_STIFFNESS, _DAMPING = 2.0e4, 2.0 * math.sqrt(0.5 * 2.0e4)  # of the motor's own spring
_MOVING_FORCE = 40.0  # N, of a motion that is no grasp: chosen here
_CLOSE = 2e-4  # m, from which on a width is reached
_STILL = 1e-3  # m/s, below which fingers stand
_PATIENCE = 50  # steps that they have to stand
REACH = 0.01  # m between the tool and an object's centre, within which the pads meet it: about half of a pad's width


class Fingers:
    """A gripper's fingers and what is between them.

    Args:
        object_width: of what lies between the fingers, m; None for nothing.
        object_stiffness: N/m.
        object_position: of its centre in the world, m; None for an object that is between the fingers everywhere.

    Attributes:
        tool: position (m) and rotation of the tool in the world, set by whoever moves the arm; None until then.
        width, rate: m and m/s.
        force: with which the object is pressed, N.
        succeeded: how the last command ended; None while it runs.
        grasped: whether the last grasp holds something.
    """

    def __init__(
        self,
        object_width: float | None = None,
        object_stiffness: float = 1e5,
        object_position: Sequence[float] | Array | None = None,
    ) -> None:
        self.object_width, self.object_stiffness = object_width, object_stiffness
        self._place = None if object_position is None else np.array(object_position, float)
        self.put_back()
        self.width = max(MAX_WIDTH / 2.0, 0.0 if object_width is None else min(object_width + 0.01, MAX_WIDTH))
        self.rate = self.force = 0.0
        self.succeeded: bool | None = True
        self._range: tuple[float, float] | None = None  # widths that count as a grasp
        self._target = self._reference = self.width
        self._speed, self._limit, self._stood = FASTEST, _MOVING_FORCE, 0

    def put_back(self) -> None:
        """The object stands where it stood in the beginning."""
        self.object_position = None if self._place is None else self._place.copy()
        self.tool: tuple[Array, Array] | None = None
        self._between, self._carried = self._place is None, None

    @property
    def grasped(self) -> bool:
        """Whether the fingers stand on something of a width that counts."""
        return self._range is not None and self._range[0] < self.width < self._range[1] and self.force > 0.0

    def move(self, width: float, speed: float) -> None:
        """Go to a width, with at most a speed."""
        self._begin(width, speed, _MOVING_FORCE)
        self._range = None

    def grasp(self, width: float, speed: float, force: float, tolerance: tuple[float, float]) -> None:
        """Close with a force; it succeeds where the fingers stop inside the tolerances of a width."""
        self._begin(0.0, speed, force)
        self._range = (width - tolerance[0], width + tolerance[1])

    def stop(self) -> None:
        """Stand where they are."""
        self._begin(self.width, FASTEST, _MOVING_FORCE)
        self.succeeded, self._range = True, None

    def _begin(self, target: float, speed: float, limit: float) -> None:
        self._target, self._speed, self._limit = target, min(speed, FASTEST), limit
        self._reference, self._stood, self.succeeded = self.width, 0, None

    def step(self) -> None:
        """One millisecond."""
        self._meet()
        way = self._target - self._reference
        advance = max(-self._speed * STEP, min(self._speed * STEP, way))
        self._reference += advance
        closing = _STIFFNESS * (self.width - self._reference) + _DAMPING * (self.rate - advance / STEP)
        closing = max(-self._limit, min(self._limit, closing))
        self.force = self._contact()
        self.rate += STEP * (self.force - closing) / _MASS
        self.width += STEP * self.rate
        if not 0.0 <= self.width <= MAX_WIDTH:  # the ends of the guide
            self.width, self.rate = min(max(self.width, 0.0), MAX_WIDTH), 0.0
        self._judge()

    def _meet(self) -> None:
        """Note whether the object is between the fingers; carry it while they press it."""
        if self.object_position is None or self.object_width is None or self.tool is None:
            return
        position, rotation = self.tool
        if self._between and self.force > 0.0:
            if self._carried is None:
                self._carried = rotation.T @ (self.object_position - position)
            self.object_position = position + rotation @ self._carried
            return
        self._carried = None
        near = float(np.linalg.norm(self.object_position - position)) <= REACH
        # Fingers that come closed stay beside it: what they knock over is not simulated.
        self._between = near and (self._between or self.width >= self.object_width)

    def _contact(self) -> float:
        if not self._between or self.object_width is None or self.width >= self.object_width:
            return 0.0
        damping = math.sqrt(self.object_stiffness * _MASS)
        return max(0.0, self.object_stiffness * (self.object_width - self.width) - damping * self.rate)

    def _judge(self) -> None:
        """End a command whose fingers stand at the end of its ramp, or are held up."""
        held_up = abs(self.width - self._reference) > self._limit / _STIFFNESS
        arrived = self._reference == self._target
        self._stood = self._stood + 1 if abs(self.rate) < _STILL and (arrived or held_up) else 0
        if self.succeeded is None and self._stood >= _PATIENCE:
            reached = abs(self.width - self._target) < _CLOSE
            self.succeeded = reached if self._range is None else self.grasped


def read_fingers(text: str) -> Fingers:
    """Fingers from WIDTH or WIDTH@X,Y,Z: an object between them, or one that stands in the world; empty for neither.

    Raises:
        InvalidInput: these are no such numbers.
    """
    width, at, place = text.partition("@")
    try:
        size = float(width) if width else 0.0
        position = [float(x) for x in place.split(",")] if at else None
    except ValueError:
        size, position = math.nan, None
    if not 0.0 <= size <= MAX_WIDTH:
        raise InvalidInput(
            f"--gripper takes the width of an object, 0 to {MAX_WIDTH:g} m, and where it is; got {text!r}",
            hint="--gripper 0.03, or --gripper 0.03@0.5,0,0.1",
        )
    if position is not None and not (len(position) == 3 and np.isfinite(position).all() and size > 0.0):
        raise InvalidInput(f"--gripper takes an object's place as three numbers X,Y,Z in m, got {text!r}")
    return Fingers(size or None, object_position=position)

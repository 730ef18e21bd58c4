"""Facts of a run that a law is told before the first tick: the loop it will run in, and where the run begins."""

from __future__ import annotations

from dataclasses import dataclass

from palpate.checks import Array


@dataclass(frozen=True)
class Rig:
    """Facts of the loop that a law will run in, to choose what its settings leave open.

    Attributes:
        period: of control, s.
        delay: control periods between a measurement and the torque that answers it.
        noise_force, noise_moment: standard deviation of the wrench as it arrives, N and N·m.
        q: where the arm will work; home if None.
    """

    period: float = 1e-3
    delay: int = 0
    noise_force: float = 0.0
    noise_moment: float = 0.0
    q: Array | None = None

    @property
    def lag(self) -> float:
        """T (½ + delay), s: how late a held command is on average."""
        return self.period * (0.5 + self.delay)


@dataclass(frozen=True)
class Beginning:
    """The start of a run, as far as a law is told before the first tick.

    Attributes:
        q, v: the robot's state.
        period: of control, s.
        gravity: of the world, m/s².
        pole: length of the pole on the tool, m, mass of its sphere and of its rod, kg; None without one.
        camera: what watches the pole: s between pictures, s until one arrives, rad of noise; None if it is ideal.
    """

    q: Array
    v: Array
    period: float
    gravity: Array
    pole: tuple[float, float, float] | None = None
    camera: tuple[float, float, float] | None = None

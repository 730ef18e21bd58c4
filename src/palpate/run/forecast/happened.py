"""Results of a run, in numbers and words: force, contact, reserves of torque and speed, time to settle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.run.run import Run
from palpate.trace import Trace

LAST = 0.1  # of the run, over which steady values are averaged
BAND = 0.02  # of a step: settled within it


@dataclass(frozen=True)
class Reserve:
    """The joint that came nearest to its limit: the largest value, the limit, when, and the unit."""

    joint: str
    value: float
    limit: float
    time: float
    unit: str

    @property
    def share(self) -> float:
        """Of the limit that was used."""
        return self.value / self.limit

    def sentence(self, of: str) -> str:
        """In words."""
        return f"Largest {of}: {self.joint}, {self.value:.3g} of {self.limit:.3g} {self.unit} at {self.time:.4g} s."


@dataclass(frozen=True)
class Happened:
    """Results of a run.

    Attributes:
        outcome: how it ended, in words; completed: whether it came to its end.
        first_touch: s; nan without contact.
        peak_force, peak_time: N and s; nan without contact.
        steady_force: N, mean of the last tenth; nan without contact there.
        desired_force: N, mean of the last tenth; nan where none is desired.
        lost: how often contact was lost after the first touch.
        touching: share of the last tenth in contact.
        settled: s, when the tool, or the force where it touches, came within 2 % of its last value for good; nan where
            it did not, or nothing moved.
        torque, speed: the joints that came nearest to their limits; None where none is known.
        warnings: of the run.
    """

    outcome: str
    completed: bool
    first_touch: float
    peak_force: float
    peak_time: float
    steady_force: float
    desired_force: float
    lost: int
    touching: float
    settled: float
    torque: Reserve | None
    speed: Reserve | None
    warnings: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """The same to read."""
        return [*self._contact(), *self._settling(), *self._reserves()]

    def _contact(self) -> list[str]:
        if math.isnan(self.first_touch):
            return []
        steady = f"steady {self.steady_force:.3g} N" if self.touching > 0.0 else "no contact at the end"
        desired = f" (desired {self.desired_force:.3g} N)" if not math.isnan(self.desired_force) else ""
        lost = "never lost" if self.lost == 0 else f"lost {self.lost} {'time' if self.lost == 1 else 'times'}"
        return [
            f"First touch at {self.first_touch:.4g} s; peak force {self.peak_force:.3g} N at {self.peak_time:.4g} s,"
            f" {steady}{desired}; contact {lost}."
        ]

    def _settling(self) -> list[str]:
        what = "force" if self.touching == 1.0 else "tool"
        if math.isnan(self.settled):
            return []
        return [f"The {what} is within 2 % of its last value from {self.settled:.3g} s on."]

    def _reserves(self) -> list[str]:
        pairs = (("torque", self.torque), ("joint speed", self.speed))
        return [reserve.sentence(what) for what, reserve in pairs if reserve is not None]


def happened(run: Run, trace: Trace) -> Happened:
    """Results of a finished run."""
    time = trace.time
    force = np.linalg.norm(trace["contact_wrench"][:, :3], axis=1) if "contact_wrench" in trace else np.zeros(len(time))
    touches = force > 0.0
    late = slice(min(int((1.0 - LAST) * len(time)), max(len(time) - 1, 0)), None)
    first = int(np.argmax(touches)) if touches.any() else -1
    peak = int(np.argmax(force)) if touches.any() else -1
    steady = float(np.linalg.norm(trace["contact_wrench"][late, :3].mean(axis=0))) if touches[late].any() else math.nan
    edges = np.diff(touches.astype(int))
    return Happened(
        str(trace.outcome),
        trace.outcome.kind == "completed",
        float(time[first]) if touches.any() else math.nan,
        float(force[peak]) if touches.any() else math.nan,
        float(time[peak]) if touches.any() else math.nan,
        steady,
        _desired(trace, late),
        int((edges < 0).sum()),
        float(touches[late].mean()) if len(touches) else 0.0,
        _settled(trace, touches, late),
        _reserve(run, time, trace["tau"], np.array([math.nan if x is None else x for x in trace.facts.torque_limit]))
        if "tau" in trace and trace.facts.torque_limit
        else None,
        _reserve(run, time, trace["v"], np.asarray(run.robot.limits.velocity), "/s") if "v" in trace else None,
        tuple(trace.warnings),
    )


def _desired(trace: Trace, late: slice) -> float:
    """The wanted force at the end, N."""
    if "target_wrench" not in trace:
        return math.nan
    wanted = trace["target_wrench"][late, :3].mean(axis=0)
    return float(np.linalg.norm(wanted)) if wanted.any() else math.nan


def _settled(trace: Trace, touches: Array, late: slice) -> float:
    """When the force, or the tool where it does not touch at the end, stays near its last value."""
    name = "contact_wrench" if touches[late].all() else "tool_position"
    if name not in trace or len(trace.time) < 20 or trace.outcome.kind != "completed":
        return math.nan
    y = trace[name][:, :3]
    away = np.linalg.norm(y - y[late].mean(axis=0), axis=1)
    step = float(away.max())
    if step < 1e-9:
        return math.nan
    far = np.flatnonzero(away > BAND * step)
    last = int(far[-1]) + 1 if len(far) else 0
    return float(trace.time[last]) if last < len(trace.time) - len(trace.time[late]) // 2 else math.nan


def _reserve(run: Run, time: Array, values: Array, limits: Array, per: str = "") -> Reserve | None:
    """The joint with the largest share of its limit."""
    if len(limits) != values.shape[1] or not len(values):
        return None
    known = np.isfinite(limits) & (limits > 0.0)
    if not known.any():
        return None
    share = np.where(known, np.abs(values) / np.where(known, limits, 1.0), 0.0)
    k, j = (int(i) for i in np.unravel_index(np.argmax(share), share.shape))
    unit = run.robot.dof_units[j]
    unit = f"{unit}{per}" if per else ("N" if unit == "m" else "N·m")
    return Reserve(run.robot.dof_names[j], float(abs(values[k, j])), float(limits[j]), float(time[k]), unit)

"""The stop of document 001, equations (3), (5) and (6), as printed: nothing mended."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.law import CommandKind, Law, LawReport, Shown, Tick, law_kernel, per_joint, sizes_of
from palpate.engine.kernels import clear, kernel
from palpate.engine.records import Integers, Matrix, Record, Vector, sized

_NONE = 1e-12  # of the largest |a|: zero but for rounding


@dataclass(frozen=True)
class PrintedStop:
    """a and b of (3), λ_i of (5), λ* of (6) and u = a λ* + b; NaN where λ* is not finite."""

    a: Array
    b: Array
    rates: Array
    rate: float
    acceleration: Array
    bound: Array

    @property
    def excess(self) -> float:
        """By how much u leaves its bounds."""
        return max(float((np.abs(self.acceleration) - self.bound).max()), 0.0)

    @property
    def active(self) -> Array:
        """Whether each joint is at its bound."""
        return np.abs(np.abs(self.acceleration) - self.bound) <= 1e-9 * self.bound


class Gains(Record):
    """Which axes of the tool's position, and U_max."""

    axes: Integers
    bound: Vector = sized("nv")


class Memory(Record):
    """λ, whether it is finite, and scratch; m axes."""

    rate: float = 0.0
    rates: Vector = sized("nv")
    unanswered: float = 0.0
    a: Vector = sized("nv")
    b: Vector = sized("nv")
    p: Vector = sized("m")
    h: Vector = sized("m")
    L: Matrix = sized("m", "m")


class Terms(Record):
    """The command."""

    stop: Vector = sized("nv")


@kernel
def _factor(x: Tick, k: Gains, m: Memory) -> None:
    """L Lᵀ = J Jᵀ of the chosen rows; a row that depends on others gives a number that is none."""
    for i in range(k.axes.size):
        for j in range(i + 1):
            remainder = 0.0
            for c in range(x.v.size):
                remainder += x.J[k.axes[i], c] * x.J[k.axes[j], c]
            for c in range(j):
                remainder -= m.L[i, c] * m.L[j, c]
            m.L[i, j] = remainder / m.L[j, j] if i != j else math.sqrt(remainder) if remainder > 0.0 else math.nan


@kernel
def _minus_pseudoinverse(x: Tick, k: Gains, m: Memory, w: Vector, out: Vector) -> None:
    """out = −Jᵀ (J Jᵀ)⁻¹ w; w is used up."""
    size = k.axes.size
    for i in range(size):
        for c in range(i):
            w[i] -= m.L[i, c] * w[c]
        w[i] /= m.L[i, i]
    for i in range(size - 1, -1, -1):
        for c in range(i + 1, size):
            w[i] -= m.L[c, i] * w[c]
        w[i] /= m.L[i, i]
    clear(out)
    for i in range(size):
        for j in range(x.v.size):
            out[j] -= x.J[k.axes[i], j] * w[i]


@kernel
def _equation_5(a: float, b: float, U: float) -> float:
    """λ_i; the third and the fourth case for −U ≤ b ≤ U, whose minus sign is lost in the text."""
    if b < -U:
        return (U - b) / a if a > 0.0 else -math.inf
    if b > U:
        return -(U + b) / a if a < 0.0 else -math.inf
    return max(-(U + b) / a, (U - b) / a) if a != 0.0 else math.inf


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    for i in range(k.axes.size):
        m.h[i], m.p[i] = x.drift[k.axes[i]], 0.0
        for j in range(x.v.size):
            m.p[i] += x.J[k.axes[i], j] * x.v[j]
    _factor(x, k, m)
    _minus_pseudoinverse(x, k, m, m.p, m.a)
    _minus_pseudoinverse(x, k, m, m.h, m.b)
    size = 0.0
    for j in range(x.v.size):
        size = max(size, abs(m.a[j]))
    m.rate = math.inf
    for j in range(x.v.size):
        m.rates[j] = _equation_5(m.a[j] if abs(m.a[j]) > _NONE * size else 0.0, m.b[j], k.bound[j])
        m.rate = min(m.rate, m.rates[j])
    if not math.isfinite(m.rate):
        m.rate, m.unanswered = 0.0, 1.0
    for j in range(x.v.size):
        out.stop[j] = m.a[j] * m.rate + m.b[j] if m.unanswered == 0.0 else 0.0


class AsPrinted(Law):
    """The stop of an exam as it is printed: u = a λ* + b with λ* = min λ_i of its equation (5).

    a = −J⁺ṗ and b = −J⁺J̇q̇. The lower bounds that some joints put on λ are forgotten, as are all u beside this line, and
    the answer is taken as it comes. Where λ* is −∞ the document has no solution, and the run ends there.
    Closed loop: p̈ = −λ* ṗ, as long as there is a λ*; joint accelerations may exceed their bounds.
    Assumes: what the document assumes; for study beside `fastest-stop`.
    """

    name: ClassVar[str] = "as-printed"
    command: ClassVar[CommandKind] = "acceleration"
    kernel = _kernel

    axes: str = setting("xyz", "1", "which axes of the tool's position count", pattern=r"^x?y?z?$", min_length=1)
    acceleration: PerJoint | None = setting(
        None, "rad/s² or m/s²", "U_max, one for all joints or one each; the robot's limits if not given"
    )

    @property
    def report(self) -> LawReport:
        """λ*, and the end of the run where there is none."""
        shown = (
            Shown("rate", "rate", "1/s", help="λ* of (6); 0 where there is none"),
            Shown("unanswered", "unanswered", help="1 where (5) and (6) have no answer; the run ends"),
        )
        return LawReport(shown=shown, ending="unanswered", ended=self.lost_joint)

    def gains(self, robot: Any) -> Gains:
        """U_max of every joint."""
        chosen = tuple(robot.limits.acceleration) if self.acceleration is None else self.acceleration
        bound = per_joint(robot, chosen, "bound", above=0.0)
        return Gains(axes=["xyz".index(axis) for axis in self.axes], bound=bound)

    def memory(self, robot: Any) -> Memory:
        """Scratch."""
        return Memory({**sizes_of(robot), "m": len(self.axes)})

    def lost_joint(self, memory: Memory) -> str:
        """Which joint has no λ_i."""
        lost = int(np.argmax(~np.isfinite(memory.rates)))
        a, b, rate = memory.a[lost], memory.b[lost], memory.rates[lost]
        a = a if abs(a) > _NONE * np.abs(memory.a).max() else 0.0
        reason = f"joint {lost + 1} has a = {a:.4g}, b = {b:.4g} and so λ_{lost + 1} = {rate:g}"
        return f"equations (5)–(6) have no answer: {reason}".replace("inf", "∞").replace("-", "−")


def printed_stop(J: ArrayLike, h: ArrayLike, v: ArrayLike, bound: ArrayLike) -> PrintedStop:
    """Equations (3), (5) and (6) for one state.

    Args:
        J, h: Jacobian and drift J̇ q̇ of the task.
        v: q̇.
        bound: U_max.
    """
    J, U = np.asarray(J, dtype=float), np.asarray(bound, dtype=float)
    inverse = np.linalg.pinv(J)
    a, b = -inverse @ (J @ np.asarray(v, dtype=float)), -inverse @ np.asarray(h, dtype=float)
    zero = np.abs(a) <= _NONE * np.abs(a).max()
    rates = np.array([_equation_5.py_func(*each) for each in zip(np.where(zero, 0.0, a), b, U)])
    rate = float(rates.min())
    u = a * rate + b if np.isfinite(rate) else np.full(len(a), np.nan)
    return PrintedStop(a, b, rates, rate, u, U)

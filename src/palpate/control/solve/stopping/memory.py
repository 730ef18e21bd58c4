"""Gains, memory and terms of the law of the fastest stop, and the rows and limits of a tick."""

from __future__ import annotations

from palpate.control.solve.orthogonal import Factors
from palpate.control.solve.stack import Stack
from palpate.control.solve.stopping.problem import StopProblem, size_of
from palpate.control.tick import Tick
from palpate.engine.kernels import dot, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, Record, State, Vector, sized

WAITING, BRAKING, RESTING = range(3)
REMEMBERED = 16  # changes between a line that is kept and one that is lost


class Gains(Record):
    """Which version of the stop, along which axes, within which accelerations and torques."""

    optimal: bool  # or by the pseudo-inverse
    axes: Integers  # of the tool's position
    rest_rate: float
    straighten: float
    lag: float
    weight: float
    acceleration: Vector = sized("nv")
    torque: Vector = sized("nv")  # ∞ where it does not count


class Memory(Record):
    """Where the stop is, the direction it keeps, how it went, and scratch; m axes."""

    phase: Kept[int] = WAITING
    direction: State[Vector] = sized("m")
    first_speed: Kept[float] = 0.0
    tick: Kept[int] = 0
    # what the trace records
    rate: Kept[float] = 0.0
    deviation: Kept[float] = 0.0
    feasible: Kept[float] = 1.0
    active: Kept[Vector] = sized("nv")
    # how it went
    changes: Kept[int] = 0
    change_time: Kept[Vector] = sized(REMEMBERED)
    change_deviation: Kept[Vector] = sized(REMEMBERED)
    lost_time: Kept[float] = 0.0
    worst: Kept[float] = 0.0  # deviation, m/s²
    faster: Kept[int] = 0  # ticks at which every command sped the tool up
    conflicts: Kept[int] = 0  # ticks at which torque and acceleration bounds excluded each other
    replaced: Kept[int] = 0  # ticks at which the pseudo-inverse had no answer
    redirected: Kept[int] = 0  # how often another direction had to be taken
    switched: Kept[int] = 0  # changes of the active bounds
    stands: Kept[float] = -1.0  # when the tool stood still
    speed: State[float] = 0.0  # along the line, as it should be now
    unbelieved: Kept[int] = 0  # readings in a row that cannot be, and their sum
    unbelieved_sum: State[float] = 0.0
    missing: Kept[int] = 0  # all of them
    last: State[Vector] = sized("nv")  # command
    # scratch
    c: Vector = sized("m")
    a: Vector = sized("nv")
    b: Vector = sized("nv")
    rows: Factors  # of J
    problem: StopProblem
    stack: Stack  # of the rest


class Terms(Record):
    """Terms of the acceleration."""

    stop: Vector = sized("nv")
    rest: Vector = sized("nv")


@kernel
def choose_rows(x: Tick, k: Gains, m: Memory) -> None:
    """The chosen axes of the tool's position: Jacobian, drift and velocity."""
    for i in range(k.axes.size):
        axis = k.axes[i]
        m.problem.drift[i], m.problem.velocity[i] = x.drift[axis], dot(x.J[axis], x.v, x.v.size)
        put(m.problem.J[i], 0, x.J[axis])


@kernel
def put_limits(x: Tick, k: Gains, C: Matrix, lower: Vector, upper: Vector) -> None:
    """−acceleration ≤ u ≤ acceleration, then −torque ≤ M u + b ≤ torque where there is room for these rows."""
    n = x.v.size
    for j in range(n):
        C[j, j], lower[j], upper[j] = 1.0, -k.acceleration[j], k.acceleration[j]
    if lower.size < 2 * n:
        return
    for j in range(n):
        lower[n + j], upper[n + j] = -k.torque[j] - x.bias[j], k.torque[j] - x.bias[j]
        put(C[n + j], 0, x.M[j])


@kernel
def take_direction(m: Memory) -> None:
    """Remember the direction in which the tool moves now."""
    size = size_of(m.problem.velocity)
    for i in range(m.problem.velocity.size):
        m.direction[i] = m.problem.velocity[i] / size

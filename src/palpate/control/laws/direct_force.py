"""Direct PI force control against a compliant wall."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from pydantic import PrivateAttr

from palpate.checks import Array
from palpate.config import Vector6, setting
from palpate.control.design.force_gains import force_defaults
from palpate.control.report import LawReport
from palpate.control.rig import Rig
from palpate.control.steps.force_loop import (
    ForceGains,
    ForceMemory,
    PressingLaw,
    integrate_error,
    is_beyond,
    pi_wrench,
    refuse_negative,
    torque_of,
    undo_integral,
    wrenches_in_axes,
)
from palpate.control.steps.linear_algebra import times
from palpate.control.steps.task_space import DIRECTIONS, Gain6, hold_posture, open_task, symmetric6
from palpate.control.tick import Tick, law_kernel
from palpate.control.traits import LawTraits
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.robot.robot import Robot

_MOST_DELAY = 4  # samples; beyond, gains are sought for a slower clock that is as late on average, which is quicker


class Gains(ForceGains):
    """K and D along the axes of A."""

    K: Vector = sized(6)
    D: Matrix = sized(6, 6)


class Terms(Record):
    """Terms of the torque."""

    spring: Vector = sized("nv")
    damper: Vector = sized("nv")
    force: Vector = sized("nv")
    integral: Vector = sized("nv")
    null_space: Vector = sized("nv")
    bias: Vector = sized("nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: ForceMemory, out: Terms) -> None:
    open_task(x, k, m)
    wrenches_in_axes(x, m)
    integrate_error(x.dt, k, m)
    for i in range(6):
        m.e[i] *= k.K[i]
    torque_of(1.0, m.e, k, m, out.spring)  # J_tᵀ K e
    times(k.D, m.e_rate, m.W)
    torque_of(1.0, m.W, k, m, out.damper)  # J_tᵀ D (V_d − V)
    pi_wrench(k, m, m.W)
    torque_of(-1.0, m.W, k, m, out.force)  # −J_tᵀ (φ F_d + k_p (F_d − F))
    torque_of(-1.0, m.integral, k, m, out.integral)  # −J_tᵀ k_i ∫(F_d − F) dt
    hold_posture(x, k, m, out.null_space)
    for j in range(x.v.size):
        out.bias[j] = x.bias[j]
        m.tau[j] = out.spring[j] + out.damper[j] + out.force[j] + out.integral[j] + out.null_space[j] + out.bias[j]
    if is_beyond(m.tau, k.limits):
        undo_integral(m)
        torque_of(-1.0, m.integral, k, m, out.integral)


class DirectForce(PressingLaw):
    """PI force control along chosen directions, a spring and damper along the others.

    τ = J_tᵀ (K e + D (V_d − V) − [F_d + k_p (F_d − F) + k_i ∫(F_d − F) dt]_f) + N τ₀ + b̂(q, v), K = 0 along the force
    directions f. F_d and F are exerted by the environment on the robot.
    Closed loop of one force axis of apparent mass λ against a wall k_w, d_w:
    λ s³ + (D + (1 + k_p) d_w) s² + ((1 + k_p) k_w + k_i d_w) s + k_i k_w = 0, steady force F_d; stable without wall
    damping for k_i < (1 + k_p) D / λ (`force_loop_poles`). Free of contact it moves at about (1 + k_p) F_d / D, and
    faster as its integral winds up to its bound.
    Assumes: contact; directions that hardly couple through the task inertia (see the hybrid law if they do).
    """

    name: ClassVar[str] = "direct-force"
    kernel = _kernel

    stiffness: Vector6 | None = setting(
        None,
        "N/m, N·m/rad",
        "K along x, y, z, rx, ry, rz, unused along `force`; by `design.force_defaults` if not given",
    )
    damping: Gain6 | None = setting(
        None, "N·s/m, N·m·s/rad", "D: six numbers or 6×6; by design.force_defaults if not given"
    )
    _account: str = PrivateAttr("")

    @property
    def traits(self) -> LawTraits:
        """Along a force direction no position counts."""
        return replace(super().traits, drops_motion=True)

    @property
    def report(self) -> LawReport:
        """Its literature, beside what it remarks."""
        return replace(super().report, literature=("10.1007/978-1-4615-4431-9",))

    def springs(self) -> Array:
        """K, without the force-controlled directions."""
        return np.array([0.0 if d in self.force else k for d, k in zip(DIRECTIONS, self.stiffness or (0.0,) * 6)])

    def gains(self, robot: Robot) -> Gains:
        """K and D beside the loop's."""
        loop = self.loop_gains(robot)
        refuse_negative("stiffness", self.stiffness or ())
        if np.ndim(self.damping or ()) == 1:
            refuse_negative("damping", tuple(self.damping or ()))  # pyright: ignore[reportArgumentType]
        return Gains(**loop, K=self.springs(), D=symmetric6(self.damping or (0.0,) * 6, "damping"))

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """With the gains of `design.force_defaults` for what is not given; its account stands in the run's remarks."""
        open_ones = [name for name in ("stiffness", "damping", "integral") if getattr(self, name) is None]
        if not open_ones:
            return super().suited(robot, rig)
        self.check_directions(robot)
        q = robot.home if rig.q is None else rig.q
        period, delay = (rig.period, max(rig.delay, 1)) if rig.delay <= _MOST_DELAY else (rig.lag / 1.5, 1)
        defaults = force_defaults(
            robot, q, period, force=self.force, motion=self.motion, axes=self.axes_at(robot.pose(q).rotation),
            delay=delay,
        )  # fmt: skip
        defaults_by_name = {**vars(defaults), "damping": tuple(map(tuple, defaults.damping.tolist()))}
        names = [*open_ones, "posture_stiffness", "posture_damping"]
        update = {name: defaults_by_name[name] for name in names if getattr(self, name) is None}
        chosen = super().suited(robot, rig).model_copy(update=update)
        account = f"{self.name}: {', '.join(open_ones)} chosen {defaults.account}"
        chosen._account = account  # pyright: ignore[reportAttributeAccessIssue] - private, so pydantic lets it be set
        return chosen

    def remarks_of(self, memory: ForceMemory) -> list[str]:
        """The gains that were chosen for the arm and the loop's period, and directions lost near singular postures."""
        return [*([self._account] if self._account else []), *super().remarks_of(memory)]

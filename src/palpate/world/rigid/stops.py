"""Joint stops as rows of the velocity problem, as compliant as the engine has them.

The engine gives a stop at the distance r (negative beyond it, margin m) the impedance d(r) and the acceleration

    a = −B ṙ − K d (r − m),      R = (1 − d)/d · (the joint's mobility at the model's own posture)

with K, B from time constant and damping ratio of the model's solref, d from its solimp: J v̇ + R f ≥ a, f ≥ 0, one of
them tight.
"""

from __future__ import annotations

import mujoco
import numpy as np

from palpate.engine.kernels import kernel
from palpate.engine.maths import power
from palpate.engine.physics import Physics
from palpate.engine.records import Integers, Matrix, Record, Vector, sized
from palpate.world.plants.ties import Tie
from palpate.world.rigid.problem import VelocityProblem

_SLIDING = 2  # mjJNT_SLIDE; hinges follow
_LEAST = 1e-15  # the engine's least number
_SOLIMP = (1e-4, 0.9999)  # the engine's range of impedances


class JointStops(Record):
    """Stops of hinges and slides, one of each limited joint."""

    dof: Integers = sized("stops")
    coordinate: Integers = sized("stops")
    lower: Vector = sized("stops")
    upper: Vector = sized("stops")
    margin: Vector = sized("stops")
    stiffness: Vector = sized("stops")  # K
    damping: Vector = sized("stops")  # B
    mobility: Vector = sized("stops")
    impedance: Matrix = sized("stops", 5)  # solimp: least, most, width, midpoint, power


def joint_stops(model: mujoco.MjModel) -> JointStops:
    """The stops of a compiled scene."""
    joints = np.flatnonzero((model.jnt_type >= _SLIDING) & (model.jnt_limited != 0))
    stops = JointStops({"stops": len(joints)})
    stops.dof[:], stops.coordinate[:] = model.jnt_dofadr[joints], model.jnt_qposadr[joints]
    read_stops(stops, model)
    return stops


def read_stops(stops: JointStops, model: mujoco.MjModel) -> None:
    """Ranges and impedances as the compiled scene has them now."""
    joints = model.dof_jntid[stops.dof]
    (stops.lower[:], stops.upper[:]), stops.margin[:] = model.jnt_range[joints].T, model.jnt_margin[joints]
    read_mobility(stops, model)
    impedance = model.jnt_solimp[joints]
    impedance[:, :2] = impedance[:, :2].clip(*_SOLIMP)
    impedance[:, 2], impedance[:, 4] = impedance[:, 2].clip(0.0), impedance[:, 4].clip(1.0)
    impedance[:, 3] = impedance[:, 3].clip(*_SOLIMP)
    stops.impedance[:] = impedance
    time, ratio = model.jnt_solref[joints].T
    most = impedance[:, 1]
    safe = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_REFSAFE
    held = np.maximum(time, 2.0 * model.opt.timestep) if safe else time
    given = time > 0.0
    stops.stiffness[:] = np.where(given, 1.0 / np.maximum(_LEAST, (most * held * ratio) ** 2), -time / most**2)
    stops.damping[:] = np.where(given, 2.0 / np.maximum(_LEAST, most * held), -ratio / most)


def read_mobility(stops: JointStops, model: mujoco.MjModel) -> None:
    """Numbers of the stops that depend on masses."""
    stops.mobility[:] = model.dof_invweight0[stops.dof]


@kernel
def impedance_of(solimp: Vector, distance: float) -> float:
    """d at a distance beyond the margin: from least to most over a width, by a power on both sides of a point."""
    least, most, width, middle, exponent = solimp[0], solimp[1], solimp[2], solimp[3], solimp[4]
    if least == most or width <= _LEAST:
        return 0.5 * (least + most)
    x = abs(distance) / width
    if x >= 1.0:
        return most
    if exponent != 1.0:
        if x <= middle:
            x = power(x, exponent) / power(middle, exponent - 1.0) if x > 0.0 else 0.0
        else:
            x = 1.0 - power(1.0 - x, exponent) / power(1.0 - middle, exponent - 1.0)
    return least + x * (most - least)


@kernel
def add_stop_rows(s: JointStops, p: Physics, w: VelocityProblem, dt: float) -> None:
    """A row for each side of each joint that is at its stop."""
    for k in range(s.dof.size):
        q, margin = p.qpos[s.coordinate[k]], s.margin[k]
        if q - s.lower[k] < margin:
            _add_row(s, p, w, k, 1.0, q - s.lower[k], dt)
        if s.upper[k] - q < margin:
            _add_row(s, p, w, k, -1.0, s.upper[k] - q, dt)


@kernel
def fold_stop_rows(tie: Tie, w: VelocityProblem) -> None:
    """Let the stops of a joint that follows another act on its leader."""
    for r in range(3 * w.contacts, 3 * w.contacts + w.stops):
        if w.dof[r] == tie.follower:
            w.sign[r] *= tie.slope
            if tie.leader >= 0:
                w.dof[r] = tie.leader


@kernel
def _add_row(s: JointStops, p: Physics, w: VelocityProblem, k: int, sign: float, r: float, dt: float) -> None:
    row = 3 * w.contacts + w.stops
    w.stops += 1
    d, rate = impedance_of(s.impedance[k], r - s.margin[k]), sign * p.qvel[s.dof[k]]
    w.dof[row], w.sign[row], w.anchor[row], w.bound[row] = s.dof[k], sign, 0.0, 0.0
    w.R[row] = max(_LEAST, (1.0 - d) / d * s.mobility[k])
    w.aim[row] = rate - dt * (s.damping[k] * rate + s.stiffness[k] * d * (r - s.margin[k]))

"""One MuJoCo model and its data as a record: MuJoCo's own field names, with their true shapes."""

from __future__ import annotations

import ctypes
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from palpate.engine.kinds import Kind
from palpate.engine.library import WARNINGS
from palpate.engine.records import Int32Matrix, Int32s, IntegerAt, Kept, Matrix, RealAt, Record, State, Vector


class Physics(Record):
    """A model and its data. Valid only as long as both are alive; `Physics.of` keeps them.

    `model` and `data` are what MuJoCo's C functions take. Per body: pose xpos, xmat; centre of mass xipos and its axes
    ximat; spatial velocity cvel [ω; v] about subtree_com. Per degree of freedom: qvel, qacc and the forces qfrc_*.
    """

    model: int
    data: int
    nq: int
    nv: int
    nbody: int
    njnt: int
    # the data's
    time: Kept[RealAt]
    warning: Int32Matrix  # (kinds, 2): last info, how often
    efc_force: IntegerAt  # address of the constraints' forces, equalities first; moves from step to step
    qpos: State[Vector]
    qvel: State[Vector]
    qacc: State[Vector]
    qacc_warmstart: Kept[Vector]
    qfrc_bias: Vector
    qfrc_applied: Vector
    qfrc_constraint: Vector
    qfrc_inverse: Vector
    qfrc_damper: Vector
    qfrc_passive: Vector
    xpos: Matrix
    xmat: Matrix
    xipos: Matrix
    ximat: Matrix
    cvel: Matrix
    cdof: Matrix
    subtree_com: Matrix
    energy: Vector
    sensordata: State[Vector]
    mocap_pos: Matrix
    # the model's
    gravity: Vector
    body_mass: Vector
    body_inertia: Matrix
    body_ipos: Matrix
    body_subtreemass: Vector
    body_dofnum: Int32s
    body_dofadr: Int32s
    body_rootid: Int32s
    body_parentid: Int32s
    dof_bodyid: Int32s
    dof_parentid: Int32s
    jnt_type: Int32s
    jnt_qposadr: Int32s

    @classmethod
    def of(cls, model: mujoco.MjModel, data: mujoco.MjData) -> Physics:
        """The record of a model and its data, which it keeps alive."""
        values = {
            "model": model._address,
            "data": data._address,
            "time": _view(data._address + CLOCK_OFFSET, ctypes.c_double, 1),
            "warning": _view(data._address + WARNING_OFFSET, ctypes.c_int32, 2 * len(WARNINGS)).reshape(-1, 2),
            "efc_force": _view(data._address + EFC_FORCE_OFFSET, ctypes.c_int64, 1),
            "gravity": model.opt.gravity,
        }
        for name, field in cls.fields.items():
            if name not in values:
                value = getattr(data if hasattr(data, name) else model, name)
                values[name] = value if field.kind.dimensions == 0 else value.reshape(_shape(value, field.kind))
        record = cls(**values)
        record._held["alive"] = (model, data)
        return record


def _shape(value: NDArray[np.float64], kind: Kind) -> tuple[int, ...]:
    return (-1,) if kind.dimensions == 1 else (len(value), int(np.prod(value.shape[1:])))


def _view(address: int, element: Any, size: int) -> NDArray[np.float64]:
    return np.ctypeslib.as_array((element * size).from_address(address))


def _struct_offset(data: mujoco.MjData, mark: bytes) -> int:
    """Where in the data's own struct a value lies that was just written there through Python."""
    start, step = 0, 512  # in small steps, so that reading stops inside the struct
    while (offset := ctypes.string_at(data._address + start, step).find(mark)) < 0:
        start += step - len(mark)
    return start + offset


_TIED = """<mujoco><worldbody><body><geom size="1"/><joint name="j"/></body></worldbody>
<equality><joint joint1="j"/></equality></mujoco>"""


def _locate_header() -> tuple[int, int, int]:
    """Offsets of the warning counters, the clock and a pointer, which Python shows by value only."""
    model = mujoco.MjModel.from_xml_string(_TIED)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    data.time, data.warning[0].number = 1.2345e77, 123456789
    clock = _struct_offset(data, np.float64(data.time).tobytes())
    forces = _struct_offset(data, np.int64(data.efc_force.ctypes.data).tobytes())
    # A counter is a pair (lastinfo, number) of 32-bit integers.
    return _struct_offset(data, np.int32(123456789).tobytes()) - 4, clock, forces


WARNING_OFFSET, CLOCK_OFFSET, EFC_FORCE_OFFSET = _locate_header()

"""A run as flat arrays: the one argument of the compiled loop, and the names of the places in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, register_model

from palpate.engine import make_view
from palpate.errors import InvalidInput

# How a batch of steps ended.
(
    RUNNING, COMPLETED, STOPPED, BAD_COMMAND, BAD_SPEED, TOO_FAST, WARNED, CLOCK, BAD_MEASUREMENT, BAD_POSITION,
    BAD_REFERENCE,
) = range(11)  # fmt: skip
# Places in Loop.i.
(
    I_STEP, I_STEPS, I_RATIO, I_STRIDE, I_SHARED, I_SEED, I_COMMAND, I_TICK, I_RECORDED, I_NEEDS, I_BODY,
    I_NOMINAL_BODY, I_RK4, I_DELAY_JOINTS, I_DELAY_WRENCH, I_DELAY_COMMAND, I_GUARD, I_WHERE, I_TERM, I_FIRST_TARGET,
    I_EVENT, I_BLIND, I_POLE, I_ENERGIES,
    I_LIMIT_TORQUE, I_LIMIT_RATE, I_NQ, I_NV, I_GUARDED, I_WIDTH,
) = range(30)  # fmt: skip
# Places in Loop.x.
(
    X_DT, X_PERIOD, X_TIME, X_MAX_SPEED, X_INJECTED, X_PUSHED, X_DISSIPATED, X_STORED, X_POWER_PUSHED, X_POWER_CONTACT,
    X_POWER_DRIVE, X_LAST_LOST, X_DEPTH, X_CONTACT_WORK, X_BANDWIDTH, X_WIDTH,
) = range(16)  # fmt: skip
# Groups of a record row; Loop.at holds where each begins.
(
    R_Q, R_V, R_Q_MEASURED, R_V_MEASURED, R_TAU, R_COMMAND, R_TERMS, R_POSITION, R_QUAT, R_TWIST, R_TARGET_Q,
    R_TARGET_V, R_TARGET_POSITION, R_TARGET_QUAT, R_TARGET_TWIST, R_TARGET_WRENCH, R_CONTACT, R_MEASURED, R_PUSH,
    R_DEPTH, R_FORCE, R_ENERGY, R_GUARD, R_REST, R_SURFACES, R_GROUPS,
) = range(26)  # fmt: skip
GUARD_TORQUE, GUARD_RATE = 1, 2
# What the engine's contact sensors give: found, then force, moment and place of the net wrench on all of the robot or
# beyond its wrist sensor; or found, then distance.
K_ROBOT, K_FELT, K_DEPTH, K_WIDTH = 0, 1, 2, 10
E_COLUMN, E_KIND, E_VALUE = 0, 1, 2  # an event: row column, 0 above · 1 below · 2 magnitude above, threshold


class Loop(NamedTuple):
    """A run as flat arrays. Sizes: n joints (nq coordinates), N of the whole scene, k terms of the law."""

    plant: np.ndarray  # engine handle of the true scene
    nominal: np.ndarray  # engine handle of the law's model (the plant's where they are shared)
    i: np.ndarray  # integers, I_*
    x: np.ndarray  # reals, X_*
    # measurement
    q: np.ndarray  # (nq) what the law sees
    v: np.ndarray  # (n)
    wrench: np.ndarray  # (6)
    tau_measured: np.ndarray  # (n)
    sensors: np.ndarray  # settings, N_*
    joint_state: np.ndarray  # (2n) encoder memory
    wrench_state: np.ndarray  # (6) filter memory
    joint_ring: np.ndarray  # (delay+1, nq+n)
    wrench_ring: np.ndarray  # (delay+1, 6)
    fresh: np.ndarray  # (nq+n) scratch
    beyond: np.ndarray  # bodies of the tool in the plant
    known: np.ndarray  # the same in the nominal model
    # nominal model
    M: np.ndarray  # (n, n)
    bias: np.ndarray
    gravity: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    J: np.ndarray
    J_rate: np.ndarray
    drift: np.ndarray
    offset: np.ndarray  # tool frame on its nominal body
    turn: np.ndarray
    # law
    targets: np.ndarray  # (ticks of this batch, width)
    target: np.ndarray
    gains: np.ndarray
    memory: np.ndarray
    terms: np.ndarray  # (k, n)
    # command and actuators
    command: np.ndarray  # (n) sum of the terms
    torque: np.ndarray  # (n) the law's command as a torque
    servo_q: np.ndarray  # (n) held position command
    servo_v: np.ndarray  # (n) held velocity command
    command_ring: np.ndarray  # (delay+1, n)
    tau: np.ndarray  # (n) at the joints
    torque_limit: np.ndarray  # (n) negative where no motor drives a coordinate
    rate_limit: np.ndarray
    # plant
    true_position: np.ndarray
    true_rotation: np.ndarray
    true_twist: np.ndarray
    plant_offset: np.ndarray
    plant_turn: np.ndarray
    pushed: np.ndarray  # (N) generalised force of pushes
    outside: np.ndarray  # (N) of pushes and compliant contacts
    points: np.ndarray
    surfaces: np.ndarray
    axes: np.ndarray
    places: np.ndarray  # (surfaces, 3) now
    speeds: np.ndarray
    slips: np.ndarray  # (points, surfaces, 3)
    contacts: np.ndarray  # (points, surfaces, C_WIDTH)
    mocap: np.ndarray
    rigid: np.ndarray  # pairs: place in sensordata, K_* kind
    pushes: np.ndarray
    loads: np.ndarray  # (changes, 5): time, body, mass change, inertia change, done
    contact_wrench: np.ndarray
    push_wrench: np.ndarray
    felt_wrench: np.ndarray  # (6) of contacts and pushes beyond the wrist sensor
    load_wrench: np.ndarray
    J_plant: np.ndarray  # (6, N)
    J_plant_rate: np.ndarray
    q_old: np.ndarray
    v_old: np.ndarray
    stages: np.ndarray  # (2, N) Runge–Kutta: mean velocity and acceleration
    work: np.ndarray
    # record
    at: np.ndarray
    row: np.ndarray  # everything that can be recorded; several of the arrays above are parts of it
    runs: np.ndarray  # (2 per run) which columns of the row are kept: first, how many
    record: np.ndarray
    times: np.ndarray
    guards: np.ndarray  # (8) physics steps counted per bit of the guard channel
    events: np.ndarray
    # guards around the law, and the drives
    guard_numbers: np.ndarray
    guard_memory: np.ndarray
    rotor: np.ndarray  # (n) reflected rotor inertia that the servo knows


_INTEGERS = {"plant", "nominal", "i", "beyond", "known", "mocap", "rigid", "at", "runs", "guards"}
_MATRICES = {
    "joint_ring", "wrench_ring", "M", "rotation", "J", "J_rate", "turn", "targets", "terms", "command_ring",
    "true_rotation", "plant_turn", "points", "surfaces", "places", "speeds", "pushes", "loads", "J_plant",
    "J_plant_rate", "stages", "record", "events",
}  # fmt: skip
_CUBES = {"axes", "slips", "contacts"}


def _dimensions(name: str) -> int:
    return 3 if name in _CUBES else 2 if name in _MATRICES else 1


def loop_table(loop: Loop) -> np.ndarray:
    """Addresses and shapes of a loop's arrays, four numbers each: what the compiled code is handed.

    Passing the arrays themselves would make every call inside the loop carry hundreds of arguments.
    """
    table = np.zeros(4 * len(loop), dtype=np.int64)
    for place, (name, array) in enumerate(zip(loop._fields, loop)):
        wanted = np.int64 if name in _INTEGERS else np.float64
        if array.dtype != wanted or array.ndim != _dimensions(name) or not array.flags.c_contiguous:
            raise InvalidInput(
                f"loop field {name!r} must be a C-contiguous {_dimensions(name)}-d {wanted.__name__} array"
            )
        table[4 * place] = array.ctypes.data
        table[4 * place + 1 : 4 * place + 1 + array.ndim] = array.shape
    return table


class LoopType(types.Type):
    """The type of a loop in compiled code: the address of its table."""

    def __init__(self) -> None:
        super().__init__(name="palpate.Loop")


@register_model(LoopType)
class _LoopModel(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, ir.IntType(64))


_LOOP = LoopType()


@intrinsic
def as_loop(typingctx, table=None):
    """The loop behind a table, whose fields are then read as attributes: `as_loop(table).q`."""

    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.ptrtoint(array.data, ir.IntType(64))

    return _LOOP(types.int64[::1]), generate


@infer_getattr
class _LoopFields(AttributeTemplate):
    key = LoopType

    def generic_resolve(self, loop, name):
        if name in Loop._fields:
            element = types.int64 if name in _INTEGERS else types.float64
            return types.Array(element, _dimensions(name), "C")
        return None


@lower_getattr_generic(LoopType)
def _read_field(context, builder, kind, loop, name):
    """A field as an array, straight from the table."""
    array, place = _LoopFields(context).generic_resolve(kind, name), 4 * Loop._fields.index(name)
    word = ir.IntType(64)
    table = builder.inttoptr(loop, word.as_pointer())
    numbers = []
    for k in range(1 + array.ndim):
        number = builder.load(builder.gep(table, [ir.Constant(word, place + k)]))
        # The table never changes, so that the optimiser may read it once.
        number.set_metadata("invariant.load", builder.module.add_metadata([]))
        numbers.append(number)
    pointer = builder.inttoptr(numbers[0], context.get_data_type(array.dtype).as_pointer())
    return make_view(context, builder, array, pointer, numbers[1:])

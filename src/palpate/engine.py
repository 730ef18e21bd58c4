"""MuJoCo as compiled code sees it: its C functions, and a flat handle to one model and its data.

A kernel compiled by numba cannot take Python objects, so a model and its data travel as a `handle`: an int64
array of addresses and sizes, laid out by the constants below. `vector(handle[H_QPOS], n)` is then a view of the
engine's own memory. A handle is valid only as long as the model and data it was made from are alive.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import llvmlite.binding
import mujoco
import numpy as np
from numba import njit, types  # pyright: ignore[reportPrivateImportUsage]
from numba.extending import lower_builtin, register_jitable, type_callable
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from palpate.stale import drop_stale_kernels

Handle = NDArray[np.int64]

# Places in a handle. Sizes first, then addresses of the data's arrays.
H_MODEL, H_DATA, H_NQ, H_NV, H_NBODY = 0, 1, 2, 3, 4
H_QPOS, H_QVEL, H_QACC, H_BIAS, H_APPLIED = 5, 6, 7, 8, 10
H_XPOS, H_XMAT, H_XIPOS, H_XIMAT, H_ENERGY = 11, 13, 14, 15, 16
H_MASS, H_INERTIA, H_DOFNUM, H_WARNING, H_TIME = 17, 18, 19, 20, 21
H_CONSTRAINT, H_MOCAP_POS = 23, 24
H_CDOF, H_SUBTREE_COM, H_SUBTREE_MASS, H_DOF_BODY, H_BODY_ROOT, H_GRAVITY = 29, 30, 31, 32, 33, 34
H_JNT_TYPE, H_JNT_QPOSADR, H_NJNT, H_INVERSE = 35, 36, 37, 38
H_CVEL, H_SENSOR, H_DAMPER, H_IPOS, H_BODY_PARENT = 39, 40, 41, 42, 43
H_BODY_DOF, H_DOF_PARENT = 45, 46
HANDLE_SIZE = 48

_DATA_FIELDS = {
    H_QPOS: "qpos",
    H_QVEL: "qvel",
    H_QACC: "qacc",
    H_BIAS: "qfrc_bias",
    H_APPLIED: "qfrc_applied",
    H_XPOS: "xpos",
    H_XMAT: "xmat",
    H_XIPOS: "xipos",
    H_XIMAT: "ximat",
    H_ENERGY: "energy",
    H_CONSTRAINT: "qfrc_constraint",
    H_MOCAP_POS: "mocap_pos",
    H_CDOF: "cdof",
    H_SUBTREE_COM: "subtree_com",
    H_INVERSE: "qfrc_inverse",
    H_CVEL: "cvel",
    H_SENSOR: "sensordata",
    H_DAMPER: "qfrc_damper",
}
_MODEL_FIELDS = {
    H_MASS: "body_mass",
    H_INERTIA: "body_inertia",
    H_DOFNUM: "body_dofnum",
    H_SUBTREE_MASS: "body_subtreemass",
    H_DOF_BODY: "dof_bodyid",
    H_BODY_ROOT: "body_rootid",
    H_BODY_PARENT: "body_parentid",
    H_BODY_DOF: "body_dofadr",
    H_DOF_PARENT: "dof_parentid",
    H_IPOS: "body_ipos",
    H_JNT_TYPE: "jnt_type",
    H_JNT_QPOSADR: "jnt_qposadr",
}


def make_handle(model: mujoco.MjModel, data: mujoco.MjData) -> Handle:
    """Addresses and sizes of `model` and `data`; keep both alive while the handle is used."""
    handle = np.zeros(HANDLE_SIZE, dtype=np.int64)
    handle[H_MODEL], handle[H_DATA] = model._address, data._address
    handle[H_NQ], handle[H_NV], handle[H_NBODY], handle[H_NJNT] = model.nq, model.nv, model.nbody, model.njnt
    handle[H_GRAVITY] = model.opt.gravity.ctypes.data
    handle[H_WARNING], handle[H_TIME] = data._address + WARNING_OFFSET, data._address + CLOCK_OFFSET
    for place, name in _DATA_FIELDS.items():
        handle[place] = getattr(data, name).ctypes.data
    for place, name in _MODEL_FIELDS.items():
        handle[place] = getattr(model, name).ctypes.data
    return handle


def _struct_offset(data: mujoco.MjData, mark: bytes) -> int:
    """Where in the data's own struct a value lies that was just written there through Python."""
    head, step = b"", 512  # grown in small steps, so that reading stops inside the struct
    while mark not in head:
        head += ctypes.string_at(data._address + len(head), step)
    return head.index(mark)


def _locate_header() -> tuple[int, int]:
    """Offsets of the warning counters and of the clock, which Python shows by value only."""
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    data = mujoco.MjData(model)
    data.time, data.warning[0].number = 1.2345e77, 123456789
    clock = _struct_offset(data, np.float64(data.time).tobytes())
    # A counter is a pair (lastinfo, number) of 32-bit integers.
    return _struct_offset(data, np.int32(123456789).tobytes()) - 4, clock


def quiet_log() -> None:
    """Stop MuJoCo from leaving a log file in the user's folder; palpate reads its warning counters instead."""
    config = mujoco.MjLogConfig.get()
    config.logto_file = False
    config.logto_console = False
    config.set()


def _load_symbols() -> None:
    folder = Path(mujoco.__file__).parent
    library = next(iter(sorted(folder.glob("libmujoco*")) or sorted(folder.glob("mujoco*.dll"))))
    llvmlite.binding.load_library_permanently(str(library))


_load_symbols()
quiet_log()
drop_stale_kernels(Path(__file__).parent)
WARNING_OFFSET, CLOCK_OFFSET = _locate_header()
WARNINGS = tuple(name.removeprefix("mjWARN_").lower() for name in mujoco.mjtWarning.__members__ if "WARN_" in name)

_P = types.int64  # every pointer is passed as an address


def _declare(name: str, count: int, result=types.void):
    return types.ExternalFunction(name, result(*([_P] * count)))


mj_kinematics = _declare("mj_kinematics", 2)
mj_comPos = _declare("mj_comPos", 2)
mj_tendon = _declare("mj_tendon", 2)
mj_makeM = _declare("mj_makeM", 2)
mj_comVel = _declare("mj_comVel", 2)
mj_energyPos = _declare("mj_energyPos", 2)
mj_fullM = _declare("mj_fullM", 3)
mj_mulM = _declare("mj_mulM", 4)
mj_forward = _declare("mj_forward", 2)
mj_inverse = _declare("mj_inverse", 2)
mj_step = _declare("mj_step", 2)
mj_step1 = _declare("mj_step1", 2)
mj_step2 = _declare("mj_step2", 2)
mj_fwdPosition = _declare("mj_fwdPosition", 2)
mj_fwdVelocity = _declare("mj_fwdVelocity", 2)
mj_fwdActuation = _declare("mj_fwdActuation", 2)
mj_fwdAcceleration = _declare("mj_fwdAcceleration", 2)
mj_fwdConstraint = _declare("mj_fwdConstraint", 2)
mj_sensorAcc = _declare("mj_sensorAcc", 2)
mj_rne = types.ExternalFunction("mj_rne", types.void(_P, _P, types.int32, _P))
mj_jac = types.ExternalFunction("mj_jac", types.void(_P, _P, _P, _P, _P, types.int32))
mj_jacDot = types.ExternalFunction("mj_jacDot", types.void(_P, _P, _P, _P, _P, types.int32))
mj_integratePos = types.ExternalFunction("mj_integratePos", types.void(_P, _P, _P, types.float64))
mju_cholFactor = types.ExternalFunction("mju_cholFactor", types.int32(_P, types.int32, types.float64))
mju_cholSolve = types.ExternalFunction("mju_cholSolve", types.void(_P, _P, _P, types.int32))


# Views are written as code, not compiled from Python: the loop makes hundreds, and each would compile a function.


def make_view(context, builder, kind, pointer, shape):
    """The LLVM value of a C-contiguous array `kind` whose data lie at a pointer."""
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [context.get_constant(types.intp, size)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = context.make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, size)
    populate_array(array, data=pointer, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


def vector(address: int, size: int) -> NDArray[np.float64]:
    """A view of `size` doubles at `address`."""
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(address))


def matrix(address: int, rows: int, columns: int) -> NDArray[np.float64]:
    """A row-major view of rows × columns doubles at `address`."""
    return vector(address, rows * columns).reshape(rows, columns)


def int_vector(address: int, size: int) -> NDArray[np.int32]:
    """A view of `size` 32-bit integers at `address`."""
    return np.ctypeslib.as_array((ctypes.c_int32 * size).from_address(address))


def _compile_view(function, element, dimensions: int) -> None:
    kind, integers = types.Array(element, dimensions, "C"), [types.int64] * (1 + dimensions)
    signature = kind(*integers)

    @type_callable(function)
    def _(context):  # numba looks at the parameters
        return (lambda address, size: signature) if dimensions == 1 else (lambda address, rows, columns: signature)

    @lower_builtin(function, *integers)
    def _(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], context.get_data_type(element).as_pointer())
        return make_view(context, builder, kind, pointer, args[1:])


_compile_view(vector, types.float64, 1)
_compile_view(matrix, types.float64, 2)
_compile_view(int_vector, types.int32, 1)


def part(array, start, size):
    """array[start : start + size], in a fraction of the code a slice compiles to."""
    return array[start : start + size]


@type_callable(part)
def _type_part(context):
    return lambda array, start, size: array(array, types.int64, types.int64) if _is_flat(array) else None


@lower_builtin(part, types.Array, types.int64, types.int64)
def _lower_part(context, builder, signature, args):
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return make_view(context, builder, signature.return_type, builder.gep(data, [args[1]]), [args[2]])


def fold(array, start, rows, columns):
    """The rows × columns numbers of a flat array from `start` on, as a matrix."""
    return array[start : start + rows * columns].reshape((rows, columns))


@type_callable(fold)
def _type_fold(context):
    folded, integer = types.Array(types.float64, 2, "C"), types.int64

    def typed(array, start, rows, columns):
        return folded(array, integer, integer, integer) if _is_flat(array) else None

    return typed


@lower_builtin(fold, types.Array, types.int64, types.int64, types.int64)
def _lower_fold(context, builder, signature, args):
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return make_view(context, builder, signature.return_type, builder.gep(data, [args[1]]), args[2:])


def address_of(array):
    """Address of an array's first element."""
    return array.ctypes.data


@type_callable(address_of)
def _type_address_of(context):
    return lambda array: types.int64 if isinstance(array, types.Array) else None


@lower_builtin(address_of, types.Array)
def _lower_address_of(context, builder, signature, args):
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.ptrtoint(array.data, context.get_value_type(types.int64))


def _is_flat(array) -> bool:
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"


@register_jitable
def put(target, start, source):
    """target[start : start + len(source)] = source, in a fraction of the code a slice assignment compiles to."""
    for k in range(source.size):
        target[start + k] = source[k]


@register_jitable
def clear(target):
    """Set every element of a vector to 0."""
    for k in range(target.size):
        target[k] = 0.0


def kernel(*signature, lean: bool = False):
    """The house's njit: explicit signature, cached on disk, GIL released.

    A lean one counts no references, which is faster; it can neither allocate, nor assign slices, nor return arrays.
    """
    return njit(*signature, cache=True, nogil=True, error_model="numpy", _nrt=not lean)  # pyright: ignore[reportCallIssue]

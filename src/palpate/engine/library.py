"""MuJoCo's C functions as compiled code calls them; every pointer is passed as an address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import llvmlite.binding
import mujoco
from numba import types

from palpate.engine.compiling.numba_parts import ExternalFunction
from palpate.errors import UnsupportedVersion

_folder = Path(mujoco.__file__).parent
_files = sorted(_folder.glob("libmujoco*")) or sorted(_folder.glob("mujoco*.dll"))
llvmlite.binding.load_library_permanently(str(_files[0]))
# MuJoCo would leave a log file in the user's folder; palpate reads its warning counters instead.
_config = mujoco.MjLogConfig.get()
_config.logto_file = _config.logto_console = False
_config.set()
WARNINGS = tuple(name.removeprefix("mjWARN_").lower() for name in mujoco.mjtWarning.__members__ if "WARN_" in name)

_P = types.int64  # every pointer is passed as an address


def _function(name: str, result: types.Type, *arguments: types.Type) -> Any:
    """A function of the physics engine.

    Raises:
        UnsupportedVersion: this MuJoCo has it no longer; calling it would end the process.
    """
    if llvmlite.binding.address_of_symbol(name) is None:
        raise UnsupportedVersion(
            f"mujoco-core {mujoco.__version__} has no function {name}, which palpate's loop calls",
            hint="pip install 'mujoco-core==4.0.1', or a newer palpate",
        )
    return ExternalFunction(name, result(*arguments))


def _declare(name: str, count: int) -> Any:
    return _function(name, types.void, *([_P] * count))


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
mj_rne = _function("mj_rne", types.void, _P, _P, types.int32, _P)
mj_jac = _function("mj_jac", types.void, _P, _P, _P, _P, _P, types.int32)
mj_jacDot = _function("mj_jacDot", types.void, _P, _P, _P, _P, _P, types.int32)
mj_integratePos = _function("mj_integratePos", types.void, _P, _P, _P, types.float64)
mj_differentiatePos = _function("mj_differentiatePos", types.void, _P, _P, types.float64, _P, _P)
mju_copy = _function("mju_copy", types.void, _P, _P, types.int32)
mju_cholFactor = _function("mju_cholFactor", types.int32, _P, types.int32, types.float64)
mju_cholSolve = _function("mju_cholSolve", types.void, _P, _P, _P, types.int32)

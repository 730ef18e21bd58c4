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
# Where two versions were installed into one folder: the one that Python has loaded.
_loaded = [file for file in _files if mujoco.mj_versionString() in file.name]
llvmlite.binding.load_library_permanently(str((_loaded or _files)[0]))
# MuJoCo would leave a log file in the user's folder; palpate reads its warning counters instead.
_config = mujoco.MjLogConfig.get()
_config.logto_file = _config.logto_console = False
_config.set()
WARNINGS = tuple(name.removeprefix("mjWARN_").lower() for name in mujoco.mjtWarning.__members__ if "WARN_" in name)

_P = types.int64  # every pointer is passed as an address


def _function(name: str, *arguments: types.Type, result: types.Type = types.void) -> Any:
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


mj_kinematics = _function("mj_kinematics", _P, _P)
mj_comPos = _function("mj_comPos", _P, _P)
mj_tendon = _function("mj_tendon", _P, _P)
mj_makeM = _function("mj_makeM", _P, _P)
mj_comVel = _function("mj_comVel", _P, _P)
mj_energyPos = _function("mj_energyPos", _P, _P)
mj_fullM = _function("mj_fullM", _P, _P, _P)
mj_mulM = _function("mj_mulM", _P, _P, _P, _P)
mj_resetData = _function("mj_resetData", _P, _P)
mj_forward = _function("mj_forward", _P, _P)
mj_inverse = _function("mj_inverse", _P, _P)
mj_step = _function("mj_step", _P, _P)
mj_step1 = _function("mj_step1", _P, _P)
mj_step2 = _function("mj_step2", _P, _P)
mj_fwdPosition = _function("mj_fwdPosition", _P, _P)
mj_fwdVelocity = _function("mj_fwdVelocity", _P, _P)
mj_fwdActuation = _function("mj_fwdActuation", _P, _P)
mj_fwdAcceleration = _function("mj_fwdAcceleration", _P, _P)
mj_fwdConstraint = _function("mj_fwdConstraint", _P, _P)
mj_sensorAcc = _function("mj_sensorAcc", _P, _P)
mj_rne = _function("mj_rne", _P, _P, types.int32, _P)
mj_jac = _function("mj_jac", _P, _P, _P, _P, _P, types.int32)
mj_jacDot = _function("mj_jacDot", _P, _P, _P, _P, _P, types.int32)
mj_integratePos = _function("mj_integratePos", _P, _P, _P, types.float64)
mj_differentiatePos = _function("mj_differentiatePos", _P, _P, types.float64, _P, _P)
mju_copy = _function("mju_copy", _P, _P, types.int32)
mju_cholFactor = _function("mju_cholFactor", _P, types.int32, types.float64, result=types.int32)
mju_cholSolve = _function("mju_cholSolve", _P, _P, _P, types.int32)

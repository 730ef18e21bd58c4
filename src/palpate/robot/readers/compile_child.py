"""Compiles one MJCF file and prints what came of it as JSON. Runs alone, in a process of its own.

Called by path as `python -I compile_child.py MODEL SECONDS BYTES`; it imports nothing of palpate, so that start-up
stays short and a crash stays here.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from typing import Any


def _limit(seconds: float, memory: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # systems without such limits
        import resource

        cpu = math.ceil(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _stiffest(mujoco: Any, model: Any) -> float:
    """Highest natural frequency √(k/m) [rad/s] of joint springs and position servos, axis by axis at rest."""
    stiffness = [0.0] * model.nv
    for joint in range(model.njnt):
        stiffness[model.jnt_dofadr[joint]] += float(model.jnt_stiffness[joint])
    for actuator in range(model.nu):
        if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT:
            dof = model.jnt_dofadr[model.actuator_trnid[actuator, 0]]
            gain = -float(model.actuator_biasprm[actuator, 1])
            stiffness[dof] += max(gain, 0.0) * float(model.actuator_gear[actuator, 0]) ** 2
    return max((math.sqrt(max(k, 0.0) / m) for k, m in zip(stiffness, model.dof_M0) if m > 0), default=0.0)


def _compile(path: str) -> dict[str, Any]:
    import mujoco

    said: list[str] = []
    mujoco.set_mju_user_warning(said.append)
    try:
        model = mujoco.MjModel.from_xml_path(path)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
    except Exception as error:
        text = str(error)
        schema = mujoco.mj_printSchema(False, False) if "Schema violation" in text else ""
        return {"error": text, "schema": schema}
    return {
        "warnings": said,
        "bodies": int(model.nbody) - 1,
        "joints": int(model.njnt),
        "dof": int(model.nv),
        "mass": float(model.body_mass.sum()),
        "timestep": float(model.opt.timestep),
        "frequency": _stiffest(mujoco, model),
        "finite": bool(all(map(math.isfinite, data.qacc))),
    }


def main() -> None:
    """Limits itself first, then loads the engine."""
    path, seconds, memory = sys.argv[1:]
    _limit(float(seconds), int(memory))
    json.dump(_compile(path), sys.stdout)


if __name__ == "__main__":
    main()

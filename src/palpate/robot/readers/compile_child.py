"""Compiles one MJCF file and prints what came of it as JSON. Runs alone, in a process of its own.

Called by `limited.py` with the arguments MODEL and MISSING; it imports nothing of palpate but the file
`passive.py` beside it, so that start-up stays short and a crash stays here. MISSING is a JSON list of meshes that are
not there.
"""

from __future__ import annotations

import json
import math
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def _stiffest(model: Any) -> float:
    """Highest natural frequency √(k/m) [rad/s] of joint springs, axis by axis at rest."""
    stiffness = [0.0] * model.nv
    for joint in range(model.njnt):
        stiffness[model.jnt_dofadr[joint]] += float(model.jnt_stiffness[joint])
    return max((math.sqrt(max(k, 0.0) / m) for k, m in zip(stiffness, model.dof_M0) if m > 0), default=0.0)


def _compile(path: str, missing: list[str]) -> dict[str, Any]:
    import mujoco

    passive, warnings = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("passive.py")))), []
    mujoco.set_mju_user_warning(warnings.append)
    try:
        spec = mujoco.MjSpec.from_file(path)
        if weighty := passive.weighty_meshes(spec, missing):
            return {"weighty": weighty}
        spec = passive.read_spec(path, missing)
        passive.make_passive(spec)
        warnings.clear()  # about motors, which are gone
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
    except Exception as error:
        text = str(error)
        schema = mujoco.mj_printSchema(False, False) if "Schema violation" in text else ""
        return {"refusal": text, "schema": schema}
    facts = {
        "warnings": warnings,
        "bodies": int(model.nbody) - 1,
        "joints": int(model.njnt),
        "dof": int(model.nv),
        "mass": float(model.body_mass.sum()),
        "timestep": float(model.opt.timestep),
        "frequency": _stiffest(model),
        "finite": bool(all(map(math.isfinite, data.qacc))),
    }
    return {"facts": facts}


if __name__ == "__main__":
    json.dump(_compile(sys.argv[1], json.loads(sys.argv[2])), sys.stdout)

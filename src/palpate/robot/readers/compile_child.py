"""Compiles one MJCF file and prints what came of it as JSON. Runs alone, in a process of its own.

Called by path as `python -I compile_child.py MODEL SECONDS BYTES MISSING`; it imports nothing of palpate but the file
`passive.py` beside it, so that start-up stays short and a crash stays here. MISSING is a JSON list of meshes that are
not there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any


def _limit(seconds: float, memory: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # systems without such limits
        import resource

        cpu = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 2))  # a signal first, then the end
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _neighbour(name: str) -> Any:
    """A module beside this one, whatever the path of modules says."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        sys.exit(f"{name}.py is gone")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _stiffest(model: Any) -> float:
    """Highest natural frequency √(k/m) [rad/s] of joint springs, axis by axis at rest."""
    stiffness = [0.0] * model.nv
    for joint in range(model.njnt):
        stiffness[model.jnt_dofadr[joint]] += float(model.jnt_stiffness[joint])
    return max((math.sqrt(max(k, 0.0) / m) for k, m in zip(stiffness, model.dof_M0) if m > 0), default=0.0)


def _compile(path: str, missing: list[str]) -> dict[str, Any]:
    import mujoco

    passive, said = _neighbour("passive"), []
    mujoco.set_mju_user_warning(said.append)
    try:
        spec = mujoco.MjSpec.from_file(path)
        if weighty := passive.weighty_meshes(spec, missing):
            return {"weighty": weighty}
        spec = passive.read_spec(path, missing)
        passive.make_passive(spec)
        said.clear()  # about motors, which are gone
        model = spec.compile()
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
        "frequency": _stiffest(model),
        "finite": bool(all(map(math.isfinite, data.qacc))),
    }


def main() -> None:
    """Limits itself first, then loads the engine."""
    path, seconds, memory, missing = sys.argv[1:]
    _limit(float(seconds), int(memory))
    json.dump(_compile(path, json.loads(missing)), sys.stdout)


if __name__ == "__main__":
    main()

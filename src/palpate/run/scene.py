"""What a run's scene looks like, as plain data kept in its trace, so that a replay needs no model file."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.engine.kernels import kernel
from palpate.engine.physics import Physics
from palpate.engine.records import ReadMatrix, Vector
from palpate.engine.views import fold
from palpate.robot.kernels import OK, Place, read_jacobian, stage_position
from palpate.robot.robot import Robot
from palpate.world.bodies import point_on_body
from palpate.world.plant import Plant

_GEOMS = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box", 7: "mesh"}
_JOINTS = ("free", "ball", "slide", "hinge")
SINGULARITY_SAMPLES = 200


def scene_of(plant: Plant) -> list[dict[str, Any]]:
    """Every body of the scene, parents first: where it sits on its parent, how it moves, what is drawn of it.

    A joint's `coordinate` is its first place in [q, rest_q]; `reference` is the coordinate at which the body sits at
    its own place. A body with `surface` is where the channel `surface.<name>` says. Lengths in m, sizes are
    MuJoCo's: radius, half lengths.
    """
    model, surfaces = plant.model, {surface.name for surface in plant.surfaces}
    bodies = []
    for b in range(model.nbody):
        name = model.body(b).name
        bodies.append(
            {
                "name": name,
                "parent": int(model.body_parentid[b]),
                "position": model.body_pos[b].tolist(),
                "quat_wxyz": model.body_quat[b].tolist(),
                "surface": name if name in surfaces else None,
                "joints": [_joint(model, j) for j in range(model.njnt) if model.jnt_bodyid[j] == b],
                "geoms": [_geom(model, g) for g in range(model.ngeom) if model.geom_bodyid[g] == b],
            }
        )
    return bodies


def _joint(model: mujoco.MjModel, j: int) -> dict[str, Any]:
    coordinate = int(model.jnt_qposadr[j])
    return {
        "kind": _JOINTS[int(model.jnt_type[j])],
        "axis": model.jnt_axis[j].tolist(),
        "position": model.jnt_pos[j].tolist(),
        "coordinate": coordinate,
        "reference": float(model.qpos0[coordinate]),
    }


def _geom(model: mujoco.MjModel, g: int) -> dict[str, Any]:
    """A primitive as it is; anything else as the box around it."""
    shape = _GEOMS.get(int(model.geom_type[g]), "box")
    position, size, quat = model.geom_pos[g], model.geom_size[g], model.geom_quat[g]
    if shape == "mesh":
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, quat)
        shape, size = "box", model.geom_aabb[g, 3:]
        position = position + turn.reshape(3, 3) @ model.geom_aabb[g, :3]
    return {
        "shape": shape,
        "size": size.tolist(),
        "position": position.tolist(),
        "quat_wxyz": quat.tolist(),
        "rgba": [round(float(c), 4) for c in model.geom_rgba[g]],
    }


def singularity(robot: Robot, times: Array, q: Array) -> dict[str, float] | None:
    """Smallest singular value of the tool's Jacobian over samples spread evenly along the run, and when.

    Of the min(6, n) values that a Jacobian of n joints has; None without samples.
    """
    if not len(times):
        return None
    rows = np.unique(np.linspace(0, len(times) - 1, SINGULARITY_SAMPLES).astype(int))
    values = np.linalg.svd(_jacobians(robot, q[rows]), compute_uv=False)[:, -1]
    k = int(np.argmin(values))
    return {"smallest_singular_value": float(values[k]), "time": float(times[rows[k]])}


def _jacobians(robot: Robot, q: Array) -> Array:
    """The tool's Jacobian at every row of q."""
    if robot.coupling is not None:
        return np.array([robot.jacobian(row) for row in q])
    J = np.zeros((len(q), 6, robot.nv))
    _jacobians_along(robot._work.physics.address, q, robot.frame().place.address, np.zeros(3), J.reshape(-1))
    return J


@kernel
def _jacobians_along(p: Physics, q: ReadMatrix, place: Place, position: Vector, J: Vector) -> None:
    """J at every row of q, one after another; zero where a row is no position."""
    size = 6 * p.nv
    for k in range(q.shape[0]):
        if stage_position(p, q[k]) == OK:
            point_on_body(p, place.body, place.offset, position)
            read_jacobian(p, place.body, position, fold(J, k * size, 6, p.nv))

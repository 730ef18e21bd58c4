"""Scene of a run, as plain data kept in its trace, so that a replay needs no model file."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.engine.kernels import kernel
from palpate.engine.physics import Physics
from palpate.engine.records import ReadMatrix, Vector
from palpate.engine.views import fold
from palpate.robot.limits import KINDS
from palpate.robot.mechanics.kernels import OK, FrameOnBody, read_jacobian, stage_position
from palpate.robot.robot import Robot
from palpate.run.after.least_eigenvalue import choose_least, form_grams
from palpate.spatial.mesh import decimate
from palpate.world.plants.bodies import point_on_body
from palpate.world.plants.plant import Plant

_GEOMS = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box", 7: "mesh"}
SINGULARITY_SAMPLES = 200
MOST_TRIANGLES = 1200  # per mesh of the replay


def scene_of(plant: Plant) -> list[dict[str, Any]]:
    """Every body of the scene, parents first: where it sits on its parent, how it moves, what is drawn of it.

    A joint's `coordinate` is its first index in [q, rest_q]; `reference` is the coordinate at which the body sits at
    its own position. A joint that follows another stands at `slope` times that coordinate plus `constant`. A body with
    `surface` is where the channel `surface.<name>` says. Lengths in m, sizes are MuJoCo's: radius, half lengths.
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
                "joints": [_joint(plant, j) for j in range(model.njnt) if model.jnt_bodyid[j] == b],
                "geoms": [_geom(model, g) for g in range(model.ngeom) if model.geom_bodyid[g] == b],
            }
        )
    return bodies


def _joint(plant: Plant, j: int) -> dict[str, Any]:
    model = plant.model
    address = int(model.jnt_qposadr[j])
    return {
        "kind": KINDS[int(model.jnt_type[j])],
        "axis": model.jnt_axis[j].tolist(),
        "position": model.jnt_pos[j].tolist(),
        "reference": float(model.qpos0[address]),
        **_follows(plant, address),
    }


def _follows(plant: Plant, address: int) -> dict[str, Any]:
    """Where a joint's coordinate stands in [q, rest_q], or which one it follows, and how."""
    robot, kept = plant.robot, plant.places()[0]
    if address >= robot.model.nq:
        return {"coordinate": robot.nq + address - robot.model.nq}
    matches = np.flatnonzero(kept == address)
    if len(matches):
        return {"coordinate": int(matches[0])}
    tie = next(tie for tie in plant.ties.each if tie.follower_place == address)
    leader = np.flatnonzero(kept == tie.leader_place)
    return {"coordinate": int(leader[0]) if len(leader) else 0, "slope": tie.slope, "constant": tie.constant}


def _geom(model: mujoco.MjModel, g: int) -> dict[str, Any]:
    """A primitive as it is, a mesh with few enough triangles for a page, anything else as the box around it."""
    shape = _GEOMS.get(int(model.geom_type[g]), "box")
    geom = {
        "shape": shape,
        "size": model.geom_size[g].tolist(),
        "position": model.geom_pos[g].tolist(),
        "quat_wxyz": model.geom_quat[g].tolist(),
        "rgba": [round(float(c), 4) for c in model.geom_rgba[g]],
    }
    return geom | _mesh(model, int(model.geom_dataid[g])) if shape == "mesh" else geom


def _mesh(model: mujoco.MjModel, m: int) -> dict[str, Any]:
    first, last = model.mesh_vertadr[m], model.mesh_vertadr[m] + model.mesh_vertnum[m]
    start, stop = model.mesh_faceadr[m], model.mesh_faceadr[m] + model.mesh_facenum[m]
    vertices, faces = decimate(model.mesh_vert[first:last], model.mesh_face[start:stop], MOST_TRIANGLES)
    packed = base64.b64encode(vertices.astype("<f4").tobytes()).decode()
    return {"vertices": {"dtype": "f4", "bdata": packed}, "faces": faces.reshape(-1).tolist()}


def singularity(robot: Robot, times: Array, q: Array, *, equations: bool = False) -> dict[str, float] | None:
    """Smallest singular value of the tool's Jacobian over samples spread evenly along the run, and when.

    Of the min(6, n) values that a Jacobian of n joints has; None without samples. `equations`: by the robot's compiled
    equations, where there are any at hand, in a third of the engine's time.
    """
    if not len(times):
        return None
    asked = _spread(len(times))
    k, value = most_singular(_jacobians(robot, q[asked], equations))
    return {"smallest_singular_value": value, "time": float(times[asked[k]])}


@cache
def _spread(count: int) -> np.ndarray:
    """Samples out of so many, spread evenly."""
    return np.unique(np.linspace(0, count - 1, SINGULARITY_SAMPLES).astype(int))


def most_singular(J: Array) -> tuple[int, float]:
    """Which of the matrices has the smallest singular value, and that value.

    The eigenvalues of J Jᵀ are its squares; a few matrices are left to decompose.
    """
    count, rows, columns = J.shape
    size = min(rows, columns)
    gram, chosen = np.empty(count * size * size), np.empty(count)
    form_grams(J.reshape(-1), rows, columns, gram)
    choose_least(gram, size, np.zeros((size, size)), np.zeros(size), chosen)
    near = chosen.nonzero()[0]
    values = np.linalg.svd(J[near], compute_uv=False)[:, -1]
    k = int(values.argmin())
    return int(near[k]), float(values[k])


def _jacobians(robot: Robot, q: Array, equations: bool) -> Array:
    """The tool's Jacobian at every row of q, zero where a row is no position."""
    if equations:
        return robot.equations.jacobians(q, robot.frame().name)
    if robot.coordinates.coupled:
        return np.array([robot.jacobian(row) for row in q])
    J = np.zeros((len(q), 6, robot.nv))
    _jacobians_along(robot._work.physics.address, q, robot.frame().record.address, np.zeros(3), J.reshape(-1))
    return J


@kernel
def _jacobians_along(p: Physics, q: ReadMatrix, frame: FrameOnBody, position: Vector, J: Vector) -> None:
    """J at every row of q, one after another; zero where a row is no position."""
    size = 6 * p.nv
    for k in range(q.shape[0]):
        if stage_position(p, q[k]) == OK:
            point_on_body(p, frame.body, frame.offset, position)
            read_jacobian(p, frame.body, position, fold(J, k * size, 6, p.nv))

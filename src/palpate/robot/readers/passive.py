"""An MJCF file as palpate takes it: the passive machine, without what would drive it and without what only adorns it.

This file imports nothing of palpate: the guarded compilation of a stranger's file loads it by its path, so that what
is checked there and what is used here are one and the same.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import mujoco
import numpy as np


def read_spec(path: str, missing: Collection[str] = ()) -> mujoco.MjSpec:
    """The file, without textures and without the looks whose mesh `missing` names."""
    spec = mujoco.MjSpec.from_file(path)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(spec.textures):
        spec.delete(texture)
    for skin in list(spec.skins):
        spec.delete(skin)
    for geom in [geom for geom in spec.geoms if geom.meshname in missing]:
        spec.delete(geom)
    for mesh in [mesh for mesh in spec.meshes if mesh_name(mesh) in missing]:
        spec.delete(mesh)
    return spec


def mesh_name(mesh: Any) -> str:
    """A mesh's name, which is its file's unless it has one of its own."""
    return mesh.name or str(mesh.file).replace("\\", "/").rpartition("/")[2].rpartition(".")[0]


def weighty_meshes(spec: mujoco.MjSpec, missing: Collection[str]) -> list[str]:
    """Those meshes without which a body would lose mass: its inertia is computed from its shapes."""
    mesh_names = []
    from_shapes = spec.compiler.inertiafromgeom
    for geom in spec.geoms:
        if geom.meshname not in missing:
            continue
        explicit = (
            bool(geom.parent.explicitinertial) and from_shapes != mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
        )
        weightless = geom.mass == 0 or geom.density == 0
        if not explicit and not weightless and geom.parent.name != "world":
            mesh_names.append(geom.meshname)
    return sorted(set(mesh_names))


def make_passive(spec: mujoco.MjSpec) -> None:
    """Take the motors off, for laws command joint torques, and keep their torque limits on the joints."""
    model = spec.copy().compile()
    for j, limit in _torque_limits(model).items():
        joint = spec.joint(model.joint(j).name)
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_TRUE
        joint.actfrcrange = [-limit, limit]
    for sensor in list(spec.sensors):
        if sensor.objtype == mujoco.mjtObj.mjOBJ_ACTUATOR:
            spec.delete(sensor)
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for key in list(spec.keys):
        key.ctrl, key.act = [], []


def _torque_limits(model: mujoco.MjModel) -> dict[int, float]:
    """Largest torque each joint's motors can give, where the file bounds it and the joint does not yet."""
    limits: dict[int, float] = {}
    for a in range(model.nu):
        joint = int(model.actuator_trnid[a, 0])
        if model.actuator_trntype[a] != mujoco.mjtTrn.mjTRN_JOINT or model.jnt_actfrclimited[joint]:
            continue
        motor = model.actuator_gaintype[a] == mujoco.mjtGain.mjGAIN_FIXED and not model.actuator_biasprm[a].any()
        bound = np.inf
        if model.actuator_forcelimited[a]:
            bound = np.abs(model.actuator_forcerange[a]).min()
        elif motor and model.actuator_ctrllimited[a]:
            bound = np.abs(model.actuator_ctrlrange[a]).min() * abs(model.actuator_gainprm[a, 0])
        if np.isfinite(bound):
            limits[joint] = limits.get(joint, 0.0) + float(bound * abs(model.actuator_gear[a, 0]))
    return limits

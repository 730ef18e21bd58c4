"""A second opinion for the robot's tests: the same machine, built joint by joint in Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import pytest

from palpate.checks import Array
from palpate.robot.robot import Robot


@dataclass
class Twin:
    """A Pinocchio model with the robot's coordinates: q, v of palpate in, terms of palpate's convention out.

    Pinocchio's free base has its velocity in body axes and its quaternion as xyzw; ours has the linear velocity in
    world axes. With v = T v_pin, T = blkdiag(R, 1): M = T M_pin Tᵀ, and because d/dt (R v_B) = R (v̇_B + ω × v_B),
    the bias and the drift take the acceleration [−ω × v_B; 0] of a base whose world velocity does not change.
    """

    pin: Any
    model: Any
    zero: Array
    floating: bool

    def __post_init__(self) -> None:
        self.data = self.model.createData()

    def coordinates(self, q: Array) -> Array:
        if not self.floating:
            return q - self.zero
        w, x, y, z = q[3:7]
        return np.concatenate([q[:3], [x, y, z, w], q[7:] - self.zero[7:]])

    def axes(self, q: Array) -> Array:
        T = np.eye(self.model.nv)
        if self.floating:
            T[:3, :3] = self.pin.Quaternion(self.coordinates(q)[3:7]).toRotationMatrix()
        return T

    def still(self, q: Array, v: Array) -> Array:
        """Pinocchio's acceleration that is none in our coordinates."""
        a, u = np.zeros(self.model.nv), self.axes(q).T @ v
        if self.floating:
            a[:3] = -np.cross(u[3:6], u[:3])
        return a

    def mass_matrix(self, q: Array) -> Array:
        T, M = self.axes(q), self.pin.crba(self.model, self.data, self.coordinates(q))
        return T @ (np.triu(M) + np.triu(M, 1).T) @ T.T

    def bias(self, q: Array, v: Array) -> Array:
        T = self.axes(q)
        return T @ self.pin.rnea(self.model, self.data, self.coordinates(q), T.T @ v, self.still(q, v))

    def gravity(self, q: Array) -> Array:
        return self.axes(q) @ self.pin.computeGeneralizedGravity(self.model, self.data, self.coordinates(q))

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        T = self.axes(q)
        a = self.pin.aba(self.model, self.data, self.coordinates(q), T.T @ v, T.T @ tau)
        return T @ (a - self.still(q, v))

    def pose(self, q: Array, frame: str) -> tuple[Array, Array]:
        self.pin.framesForwardKinematics(self.model, self.data, self.coordinates(q))
        X = self.data.oMf[self.model.getFrameId(frame)]
        return X.translation.copy(), X.rotation.copy()

    def jacobian(self, q: Array, frame: str) -> Array:
        where, place = self.pin.LOCAL_WORLD_ALIGNED, self.model.getFrameId(frame)
        J = self.pin.computeFrameJacobian(self.model, self.data, self.coordinates(q), place, where)
        return J.reshape(6, -1) @ self.axes(q).T

    def drift(self, q: Array, v: Array, frame: str) -> Array:
        pin, place = self.pin, self.model.getFrameId(frame)
        pin.forwardKinematics(self.model, self.data, self.coordinates(q), self.axes(q).T @ v, self.still(q, v))
        pin.updateFramePlacements(self.model, self.data)
        return pin.getFrameClassicalAcceleration(self.model, self.data, place, pin.LOCAL_WORLD_ALIGNED).vector

    def energies(self, q: Array, v: Array) -> tuple[float, float]:
        kinetic = self.pin.computeKineticEnergy(self.model, self.data, self.coordinates(q), self.axes(q).T @ v)
        moving = self.pin.computePotentialEnergy(self.model, self.data, self.coordinates(q))
        ground = self.model.inertias[0]  # bodies that never move, which Pinocchio leaves out
        return kinetic, moving - ground.mass * float(self.model.gravity.linear @ ground.lever)


def _joint(pin: Any, mj: mujoco.MjModel, j: int) -> Any:
    kind, axis = int(mj.jnt_type[j]), mj.jnt_axis[j]
    if kind == mujoco.mjtJoint.mjJNT_FREE:
        return pin.JointModelFreeFlyer()
    if kind == mujoco.mjtJoint.mjJNT_SLIDE:
        return pin.JointModelPrismaticUnaligned(axis)
    assert kind == mujoco.mjtJoint.mjJNT_HINGE
    return pin.JointModelRevoluteUnaligned(axis)


def _se3(pin: Any, quat_wxyz: Array, position: Array) -> Any:
    w, x, y, z = quat_wxyz
    return pin.SE3(pin.Quaternion(w, x, y, z).normalized(), position)


def _add_body(pin: Any, mj: mujoco.MjModel, model: Any, b: int, joint_of: dict, place: dict) -> None:
    """Body b's joints, inertia and frame; `place` is the body's pose in the frame of the joint that carries it."""
    joint, X = joint_of[int(mj.body_parentid[b])], place[int(mj.body_parentid[b])]
    X = X * _se3(pin, mj.body_quat[b], mj.body_pos[b])
    for j in range(mj.body_jntadr[b], mj.body_jntadr[b] + mj.body_jntnum[b]):
        free = mj.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE
        anchor = pin.SE3(np.eye(3), np.zeros(3) if free else mj.jnt_pos[j])
        joint = model.addJoint(joint, _joint(pin, mj, j), pin.SE3.Identity() if free else X * anchor, mj.joint(j).name)
        X = anchor.inverse()
    axes = _se3(pin, mj.body_iquat[b], np.zeros(3)).rotation
    tensor = axes @ np.diag(mj.body_inertia[b]) @ axes.T
    model.appendBodyToJoint(joint, pin.Inertia(float(mj.body_mass[b]), mj.body_ipos[b], tensor), X)
    joint_of[b], place[b] = joint, X
    model.addFrame(pin.Frame(mj.body(b).name, joint, 0, X, pin.FrameType.OP_FRAME))


def twin_of(mj: mujoco.MjModel) -> Twin:
    """Pinocchio's model of a compiled body tree."""
    pin = pytest.importorskip("pinocchio")
    model, joint_of, place = pin.Model(), {0: 0}, {0: pin.SE3.Identity()}
    for b in range(1, mj.nbody):
        _add_body(pin, mj, model, b, joint_of, place)
    for s in range(mj.nsite):
        b = int(mj.site_bodyid[s])
        X = place[b] * _se3(pin, mj.site_quat[s], mj.site_pos[s])
        model.addFrame(pin.Frame(mj.site(s).name, joint_of[b], 0, X, pin.FrameType.OP_FRAME))
    model.armature = mj.dof_armature.copy()
    model.gravity.linear = mj.opt.gravity.copy()
    return Twin(pin, model, mj.qpos0.copy(), bool((mj.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)).any()))


@pytest.fixture
def twin() -> Callable[[Robot], Twin]:
    """A function from a robot to its twin."""
    return lambda robot: twin_of(robot.model)


@pytest.fixture
def state() -> Callable[..., tuple[Array, Array]]:
    """A function from a robot and a random generator to a random (q, v) inside the limits."""

    def draw(robot: Robot, random: np.random.Generator) -> tuple[Array, Array]:
        lower, upper = robot.limits.lower, robot.limits.upper
        bounds = np.where(np.isfinite(lower), lower, -2.0), np.where(np.isfinite(upper), upper, 2.0)
        x, v = random.uniform(*bounds), random.normal(size=robot.nv)
        if robot.nq == robot.nv:
            return x, v
        quat = random.normal(size=4)
        return np.concatenate([x[:3], quat / np.linalg.norm(quat), x[6:]]), v

    return draw

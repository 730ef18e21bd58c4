"""Cartesian impedance as a Python LeafSystem in Drake, stepped by its Simulator."""

from __future__ import annotations

import importlib
from typing import Any

import mujoco
import numpy as np

from benchmarks.peers import PressingTask, Record
from palpate.checks import Array

# By name, so that this file is read without Drake; its stubs are partial.
plants: Any = importlib.import_module("pydrake.multibody.plant")
tree: Any = importlib.import_module("pydrake.multibody.tree")
mathlib: Any = importlib.import_module("pydrake.math")
framework: Any = importlib.import_module("pydrake.systems.framework")
analysis: Any = importlib.import_module("pydrake.systems.analysis")
common: Any = importlib.import_module("pydrake.common.eigen_geometry")


def drake_arm(model: mujoco.MjModel, timestep: float) -> Any:
    """The moving bodies of a compiled model as a Drake plant, rotor inertias and joint damping included."""
    plant = plants.MultibodyPlant(timestep)
    bodies = {0: plant.world_body()}
    for b in range(1, model.nbody):
        if model.body_mass[b] == 0 and model.body_jntnum[b] == 0 and not np.any(model.body_parentid == b):
            continue
        bodies[b] = body = plant.AddRigidBody(model.body(b).name, _inertia(model, b))
        parent, place = bodies[int(model.body_parentid[b])], _pose(model.body_pos[b], model.body_quat[b])
        if model.body_jntnum[b] == 0:
            plant.WeldFrames(parent.body_frame(), body.body_frame(), place)
            continue
        j = int(model.body_jntadr[b])
        dof = int(model.jnt_dofadr[j])
        before = plant.AddFrame(tree.FixedOffsetFrame(f"before {b}", parent.body_frame(), place))
        damping = float(np.ravel(model.dof_damping[dof])[0])
        hinge = tree.RevoluteJoint(model.joint(j).name, before, body.body_frame(), model.jnt_axis[j], damping)
        joint = plant.AddJoint(hinge)
        actuator = plant.AddJointActuator(f"motor {b}", joint)
        actuator.set_default_rotor_inertia(float(model.dof_armature[dof]))
    plant.mutable_gravity_field().set_gravity_vector(model.opt.gravity)
    plant.Finalize()
    return plant


def _pose(position: Array, quat_wxyz: Array) -> Any:
    return mathlib.RigidTransform(common.Quaternion(quat_wxyz / np.linalg.norm(quat_wxyz)), position)


def _inertia(model: mujoco.MjModel, b: int) -> Any:
    if model.body_mass[b] == 0:
        return tree.SpatialInertia.Zero()
    R = mathlib.RotationMatrix(common.Quaternion(model.body_iquat[b] / np.linalg.norm(model.body_iquat[b])))
    about_com = tree.RotationalInertia(*model.body_inertia[b]).ReExpress(R)
    return tree.SpatialInertia.MakeFromCentralInertia(float(model.body_mass[b]), model.body_ipos[b], about_com)


class Controller(framework.LeafSystem):
    """State in, joint torques (contact included) out; model terms from the plant itself."""

    def __init__(self, plant: Any, task: PressingTask, ticks: int) -> None:
        super().__init__()
        self.plant, self.task, self.context = plant, task, plant.CreateDefaultContext()
        self.n = plant.num_velocities()
        self.state = self.DeclareVectorInputPort("state", 2 * self.n)
        self.DeclareVectorOutputPort("torque", self.n, self.calculate)
        self.frame = plant.GetBodyByName(task.model.body(task.body).name).body_frame()
        self.tip_frame = plant.GetBodyByName(task.model.body(task.tip_body).name).body_frame()
        self.world, self.record, self.ticks, self.force = plant.world_frame(), Record(ticks, self.n), ticks, 0.0
        self.wanted = mathlib.RotationMatrix(common.Quaternion(task.quat_wxyz))
        self.target = np.r_[task.position, task.quat_wxyz]

    def calculate(self, context: Any, output: Any) -> None:
        """One tick."""
        task, plant, own = self.task, self.plant, self.context
        x = self.state.Eval(context)
        q, v = x[: self.n], x[self.n :]
        plant.SetPositionsAndVelocities(own, x)
        J = self._jacobian(self.frame, task.offset)
        X = self.frame.CalcPoseInWorld(own)
        p, R = X.translation() + X.rotation().matrix() @ task.offset, X.rotation()
        turn = (self.wanted @ R.inverse()).ToAngleAxis()
        error = np.r_[turn.angle() * turn.axis(), task.position - p]
        K, D = np.r_[task.K[3:], task.K[:3]], np.r_[task.D[3:], task.D[:3]]  # Drake's order is [angular; linear]
        twist = J @ v
        spring, damper = J.T @ (K * error), -J.T @ (D * twist)
        M = plant.CalcMassMatrix(own)
        wanted = task.posture[0] * (task.q_start - q) - task.posture[1] * v
        Y = np.linalg.solve(M, J.T)
        null_space = wanted - J.T @ np.linalg.solve(J @ Y, Y.T @ wanted)
        bias = plant.CalcBiasTerm(own) - plant.CalcGravityGeneralizedForces(own)
        tau = np.clip(spring + damper + null_space + bias, -task.limit, task.limit)
        push, self.force, depth = self._contact(v)
        tick = round(context.get_time() / task.timestep)
        if tick < self.ticks:
            self.record.write(
                tick, q=q, v=v, tau=tau, spring=spring, damper=damper, null_space=null_space, bias=bias, position=p,
                quat_wxyz=R.ToQuaternion().wxyz(), twist=twist, target=self.target,
                contact=(-self.force, 0.0, 0.0), depth=depth,
            )  # fmt: skip
        output.SetFromVector(tau + push)

    def _jacobian(self, frame: Any, offset: Array) -> Array:
        kind = tree.JacobianWrtVariable.kV
        return self.plant.CalcJacobianSpatialVelocity(self.context, kind, frame, offset, self.world, self.world)

    def _contact(self, v: Array) -> tuple[Array | float, float, float]:
        task = self.task
        X = self.tip_frame.CalcPoseInWorld(self.context)
        R = X.rotation().matrix()
        tip = X.translation() + R @ task.tip_offset
        depth = tip[0] + task.tip_radius - task.wall
        if depth <= 0.0:
            return 0.0, 0.0, 0.0
        touching = task.tip_offset + R.T @ np.array([task.tip_radius, 0.0, 0.0])
        towards = self._jacobian(self.tip_frame, touching)[3]
        force = max(task.stiffness * depth + task.damping * float(towards @ v), 0.0)
        return -force * towards, force, depth


class DrakeLoop:
    """Plant and controller in a diagram."""

    def __init__(self, task: PressingTask, ticks: int) -> None:
        self.task, builder = task, framework.DiagramBuilder()
        self.plant = builder.AddSystem(drake_arm(task.model, task.timestep))
        self.controller = builder.AddSystem(Controller(self.plant, task, ticks))
        builder.Connect(self.plant.get_state_output_port(), self.controller.GetInputPort("state"))
        builder.Connect(self.controller.GetOutputPort("torque"), self.plant.get_actuation_input_port())
        self.simulator = analysis.Simulator(builder.Build())

    def run(self, ticks: int) -> float:
        """Simulate from the start; the contact force at the end."""
        root = self.simulator.get_mutable_context()
        root.SetTime(0.0)
        context = self.plant.GetMyMutableContextFromRoot(root)
        self.plant.SetPositionsAndVelocities(context, np.r_[self.task.q_start, np.zeros(self.plant.num_velocities())])
        self.simulator.Initialize()
        self.simulator.AdvanceTo((ticks - 0.5) * self.task.timestep)
        return self.controller.force

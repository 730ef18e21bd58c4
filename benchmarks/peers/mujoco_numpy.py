"""Cartesian impedance in NumPy around MuJoCo's Python API."""

from __future__ import annotations

import mujoco
import numpy as np

from benchmarks.peers import PressingTask, Record
from palpate.checks import Array


class NumpyLoop:
    """mj_step1, the law, mj_step2; everything that can be made once is made here."""

    def __init__(self, task: PressingTask) -> None:
        self.task, self.model, self.data = task, task.model, mujoco.MjData(task.model)
        n = task.model.nv
        self.M, self.J, self.J_tip = np.zeros((n, n)), np.zeros((6, n)), np.zeros((3, n))
        self.error, self.quat, self.turn = np.zeros(6), np.zeros(4), np.zeros(4)
        self.target = np.r_[task.position, task.quat_wxyz]

    def run(self, ticks: int) -> float:
        """Simulate from the start; the contact force at the end."""
        task, model, data = self.task, self.model, self.data
        mujoco.mj_resetData(model, data)
        data.qpos[:] = task.q_start
        record, force = Record(ticks, model.nv), 0.0
        for tick in range(ticks):
            mujoco.mj_step1(model, data)
            tau, seen = self._law()
            push, force, depth = self._contact()
            record.write(tick, tau=tau, contact=(-force, 0.0, 0.0), depth=depth, **seen)
            data.qfrc_applied[:] = tau + push
            mujoco.mj_step2(model, data)
        return force

    def _law(self) -> tuple[Array, dict[str, Array]]:
        task, model, data, J, M = self.task, self.model, self.data, self.J, self.M
        q, v = data.qpos, data.qvel
        xmat = data.xmat[task.body]
        p = data.xpos[task.body] + xmat.reshape(3, 3) @ task.offset
        mujoco.mj_jac(model, data, J[:3], J[3:], p, task.body)
        mujoco.mj_fullM(model, data, M)
        twist = J @ v
        spring, damper = J.T @ (task.K * self._pose_error(p, xmat)), -J.T @ (task.D * twist)
        wanted = task.posture[0] * (task.q_start - q) - task.posture[1] * v
        Y = np.linalg.solve(M, J.T)
        null_space = wanted - J.T @ np.linalg.solve(J @ Y, Y.T @ wanted)
        bias = data.qfrc_bias
        tau = np.clip(spring + damper + null_space + bias, -task.limit, task.limit)
        return tau, {
            "q": q, "v": v, "spring": spring, "damper": damper, "null_space": null_space, "bias": bias,
            "position": p, "quat_wxyz": self.quat, "twist": twist, "target": self.target,
        }  # fmt: skip

    def _pose_error(self, p: Array, xmat: Array) -> Array:
        task, error = self.task, self.error
        error[:3] = task.position - p
        mujoco.mju_mat2Quat(self.quat, xmat)
        mujoco.mju_negQuat(self.turn, self.quat)
        mujoco.mju_mulQuat(self.turn, task.quat_wxyz, self.turn)
        mujoco.mju_quat2Vel(error[3:], self.turn, 1.0)
        return error

    def _contact(self) -> tuple[Array | float, float, float]:
        task, data = self.task, self.data
        tip = data.xpos[task.tip_body] + data.xmat[task.tip_body].reshape(3, 3) @ task.tip_offset
        depth = tip[0] + task.tip_radius - task.wall
        if depth <= 0.0:
            return 0.0, 0.0, 0.0
        tip[0] += task.tip_radius
        mujoco.mj_jac(self.model, data, self.J_tip, None, tip, task.tip_body)
        towards = self.J_tip[0]
        force = max(task.stiffness * depth + task.damping * float(towards @ data.qvel), 0.0)
        return -force * towards, force, depth

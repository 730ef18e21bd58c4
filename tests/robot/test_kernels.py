"""Kernels that only the loop calls."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from palpate.engine.physics import Physics
from palpate.robot.mechanics.kernels import add_generalized_force

MODEL = """
<mujoco>
  <worldbody>
    <body name="base" pos="0.1 0 0.2">
      <freejoint/><geom size="0.1" mass="2"/>
      <body name="upper" pos="0.2 0 0"><joint axis="0 1 0"/><geom size="0.05" mass="1"/>
        <body name="fixed" pos="0.1 0 0.1"><geom size="0.02" mass="0.3"/></body>
        <body name="slider" pos="0 0 0.3"><joint type="slide" axis="1 0 1"/><geom size="0.02" mass="0.4"/></body>
      </body>
      <body name="other" pos="0 0.2 0"><joint type="ball"/><geom size="0.05" mass="1"/></body>
    </body>
    <body name="stone" pos="1 0 0"><geom size="0.1"/></body>
  </worldbody>
</mujoco>"""


@pytest.mark.parametrize("body", ["base", "upper", "fixed", "slider", "other", "stone"])
def test_a_force_reaches_the_joints_that_carry_it(body):
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(3)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    f, n, point, out = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), rng.normal(size=model.nv)
    number = model.body(body).id
    J = np.zeros((6, model.nv))
    mujoco.mj_jac(model, data, J[:3], J[3:], point, number)
    expected = out + J.T @ np.r_[f, n]
    add_generalized_force(Physics.of(model, data), number, f, n, point, out)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-14)

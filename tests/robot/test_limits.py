"""What a compiled model says of its joints' bounds."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from palpate.errors import ModelError
from palpate.robot.limits import FAR, clipped_zero, limits_from_model

inf = np.inf


def compiled(joints: str, custom: str = "", free: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><compiler angle="radian"/><custom>{custom}</custom><worldbody><body name="a">{free}
        <geom size=".1"/><body name="b"><geom size=".1"/>{joints}</body></body></worldbody></mujoco>"""
    )


def test_ranges_and_torques_are_read_and_absent_ones_are_infinite() -> None:
    limits = limits_from_model(
        compiled('<joint range="-1 2" actuatorfrcrange="-30 40"/><joint type="slide" axis="1 0 0"/>')
    )
    assert list(limits.lower) == [-1, -inf]
    assert list(limits.upper) == [2, inf]
    assert list(limits.torque) == [30, inf]  # the side that gives less
    for bounds in (limits.velocity, limits.acceleration, limits.torque_rate):
        assert list(bounds) == [inf, inf]


def test_a_far_bound_is_none() -> None:
    limits = limits_from_model(compiled(f'<joint range="-{FAR} 2"/><joint axis="1 0 0" range="0.5 {FAR}"/>'))
    assert list(limits.lower) == [-inf, 0.5]
    assert list(limits.upper) == [2, inf]


def test_custom_numbers_belong_to_the_scalar_joints_alone() -> None:
    custom = '<numeric name="velocity_limit" data="3 4"/><numeric name="torque_rate_limit" data="1000 500"/>'
    limits = limits_from_model(compiled('<joint/><joint axis="1 0 0"/>', custom, "<freejoint/>"))
    assert list(limits.velocity) == [inf] * 6 + [3, 4]
    assert list(limits.torque_rate) == [inf] * 6 + [1000, 500]


def test_custom_numbers_that_do_not_fit_are_refused() -> None:
    custom = '<numeric name="velocity_limit" data="3 4 5"/>'
    with pytest.raises(ModelError, match=r"custom numeric 'velocity_limit' holds 3 numbers.*1 scalar"):
        limits_from_model(compiled("<joint/>", custom))


def test_zero_is_moved_into_the_ranges() -> None:
    joints = '<joint range="0.5 1"/><joint axis="1 0 0" range="-2 -1"/><joint axis="0 1 0"/>'
    model = compiled(joints, free="<freejoint/>")
    assert clipped_zero(model) == pytest.approx([0, 0, 0, 1, 0, 0, 0, 0.5, -1, 0])
    assert model.qpos0[7] == 0

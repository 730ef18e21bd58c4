"""The figure that a report shows first is what its law says the run is about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate.control import LAWS
from palpate.control.design.pole import PoleModel, pole_texts
from palpate.control.laws.fastest_stop import FastestStop
from palpate.control.laws.pole_balance import PoleBalance
from palpate.robot import load_robot
from palpate.scenario.model import law_class
from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate.views.first_figure import KINDS, continuous_euler, leading
from palpate.views.pages.equation import pieces, typeset


def made(time: Any, facts: RunFacts, **channels: Any) -> Trace:
    data = {}
    for name, values in channels.items():
        array = np.asarray(values, dtype=float)
        unit = "rad" if "euler" in name else "1" if "quat" in name else "m"
        data[Channel(name.replace("__", "."), unit, array.shape[1:])] = array
    return Trace(time, data, Outcome("completed", "done", float(time[-1]), len(time)), facts=facts)


def test_every_law_names_a_figure_that_there_is() -> None:
    named = {law_class(law)().report.figure for law in LAWS}
    assert named - {None} == set(KINDS)


def test_a_stop_is_its_path_against_the_line_and_its_command_over_the_bound() -> None:
    time = np.linspace(0.0, 1.0, 101)
    speed = np.maximum(0.5 - time, 0.0)
    twist = np.zeros((101, 6))
    twist[:, 0] = speed
    position = np.stack([0.5 * time - time**2 / 2, 0.01 * time**2, np.zeros(101)], axis=1)
    u = np.tile([-10.0, 4.0], (101, 1))
    facts = RunFacts(figure="straight-path", terms=("stop", "friction"), computed=[{"name": "U", "value": [10.0, 8.0]}])
    trace = made(time, facts, tool_position=position, tool_twist=twist, tau__stop=u, tau__friction=u)
    figure = leading(trace)
    assert figure is not None
    path, shares = figure.panels
    assert path.over == "along the line (m)"
    np.testing.assert_allclose(path.lines[0].time[:40], position[:40, 0])
    np.testing.assert_allclose(path.lines[0].values[:40], position[:40, 1])
    assert [float(line.values[0]) for line in shares.lines] == [-1.0, 0.5, 1.0, -1.0]
    assert shares.lines[0].time[-1] == pytest.approx(1.6 * 0.49, abs=0.02)  # not all the standing still that follows


def test_a_force_is_shown_with_where_the_tool_is_along_it() -> None:
    time = np.arange(5.0)
    position, wrench, target = np.zeros((5, 3)), np.zeros((5, 6)), np.zeros((5, 6))
    position[:, 0], wrench[2:, 0], target[:, 0] = 0.1 * time, -5.0, -6.0  # the wall pushes back along −x
    facts = RunFacts(figure="force")
    trace = made(
        time, facts, contact_force=-wrench[:, 0], contact_wrench=wrench, target_wrench=target, tool_position=position
    )
    figure = leading(trace)
    assert figure is not None
    np.testing.assert_allclose(figure.panels[1].lines[0].values, [-0.2, -0.1, 0.0, 0.1, 0.2], atol=1e-12)


def test_euler_angles_do_not_jump() -> None:
    turn = np.linspace(0.0, 4 * np.pi, 400)
    angles = np.stack([turn, 0.4 * np.sin(turn), 0.3 - turn], axis=1)
    quat = Rotation.from_euler("XYZ", angles).as_quat()[:, [3, 0, 1, 2]]
    quat[::3] *= -1.0  # both signs are one rotation
    np.testing.assert_allclose(continuous_euler(quat), angles, atol=1e-12)
    facts = RunFacts(figure="compliant-frame")
    zero = np.zeros((400, 3))
    poses = {"tool_quat_wxyz": quat, "target_quat_wxyz": quat, "law__compliant_quat_wxyz": quat}
    trace = made(turn, facts, target_position=zero, law__compliant_position=zero, **poses)
    figure = leading(trace)
    assert figure is not None
    assert max(float(np.abs(np.diff(line.values)).max()) for line in figure.panels[0].lines) < 0.1


def test_a_pole_law_tells_its_gains_and_poles() -> None:
    law = PoleBalance()
    told = {one.name: one.value for one in law.report.computed(load_robot("iiwa14"))}
    A, B = law.model().linear_axis()
    K = np.array(told["K, horizontal"], dtype=float)
    poles = np.linalg.eigvals(A - np.outer(B, K))
    assert told["poles, horizontal"] == pole_texts(poles)
    assert len(pole_texts(np.array([-2.0 + 1j, -2.0 - 1j, -0.5]))) == 2
    assert pole_texts(np.array([-2.0 + 1j, -2.0 - 1j, -0.5])) == ["−0.5", "−2 ± 1i"]
    assert PoleModel(1.0, 0.1, 1.0, 9.81, 0.0).slowest_rate(law.force_gains()) == pytest.approx(
        -max(np.real(np.concatenate(law.model().poles(law.force_gains()))))
    )


def test_a_stop_tells_the_bounds_it_was_designed_with() -> None:
    panda = load_robot("panda")
    (bound,) = FastestStop().report.computed(panda)
    assert (bound.name, bound.value) == ("U", panda.limits.acceleration.tolist())


def test_a_long_equation_breaks_outside_brackets_only() -> None:
    assert pieces("τ = Jᵀ (K e + D (V_d − V)) + N τ₀") == ["τ", "= Jᵀ (K e + D (V_d − V))", "+ N τ₀"]
    assert pieces("u, |M u + b| ≤ torque, λ = −1") == ["u,", "|M u + b|", "≤ torque,", "λ", "= −1"]
    assert typeset("a = b + c").count("<math") == 3

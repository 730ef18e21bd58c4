"""What the laws at the tool share: task inertia, damping of lost directions, checks of matrices and directions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate.control import CartesianImpedance, OperationalSpace
from palpate.control.law import Tick, sizes_of
from palpate.control.steps.task_space import (
    DIRECTIONS,
    LEVER,
    checked_directions,
    find_inertia,
    into_axes,
    into_null_space,
    out_of_axes,
    push_along,
    set_axes,
    set_rows,
    symmetric6,
)
from palpate.errors import BadRotation, InvalidInput, NotFinite
from palpate.robot import load_robot

SCALE = np.diag([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])


def opened(robot, q, **settings):
    """A task's memory at a posture with its axes and rows set, the model's terms, and the heaviest mass it takes."""
    bound = OperationalSpace(**settings).bind(robot)
    x = robot.terms(q, np.zeros(robot.nv))
    tick = Tick(sizes_of(robot), q=q, rotation=x.rotation, J=x.J)
    set_axes(tick, bound.gains, bound.memory)
    set_rows(tick, bound.gains, bound.memory)
    return bound.memory, x, bound.gains.heaviest


@pytest.mark.parametrize("name", ["panda", "iiwa14", "ur5e"])
def test_task_inertia_is_the_robots_own(name: str) -> None:
    robot = load_robot(name)
    q = robot.home + 0.2
    m, x, heaviest = opened(robot, q)
    mass = find_inertia(x.M, heaviest, m)
    assert mass < heaviest
    assert SCALE @ m.Lambda @ SCALE == pytest.approx(robot.task_inertia(q), rel=1e-8, abs=1e-8)


def test_rows_along_tool_axes_are_the_turned_jacobian() -> None:
    robot = load_robot("panda")
    m, x, _ = opened(robot, robot.home + 0.3, directions=("z", "rx"), axes="tool")
    assert m.J_t[0] == pytest.approx(x.rotation[:, 2] @ x.J[:3])
    assert m.J_t[1] == pytest.approx(LEVER * x.rotation[:, 0] @ x.J[3:])


def test_a_frame_of_your_own_turns_the_axes() -> None:
    robot, turn = load_robot("panda"), Rotation.from_rotvec([0.2, -0.5, 0.9])
    quat = tuple(turn.as_quat(scalar_first=True))
    m, x, _ = opened(robot, robot.home, directions=("y",), axes_quat_wxyz=quat)
    assert m.J_t[0] == pytest.approx(turn.as_matrix()[:, 1] @ x.J[:3])
    vector, there, back = np.arange(6.0), np.empty(6), np.empty(6)
    into_axes(m.axes, vector, there)
    assert there[:3] == pytest.approx(turn.inv().apply(vector[:3]))
    out_of_axes(m.axes, there, back)
    assert back == pytest.approx(vector)


def test_what_is_left_to_the_null_space_moves_no_chosen_direction() -> None:
    robot = load_robot("iiwa14")
    m, x, heaviest = opened(robot, robot.home + 0.2, directions=("x", "z", "ry"))
    find_inertia(x.M, heaviest, m)
    torque = np.linspace(-5.0, 5.0, 7)
    into_null_space(m, torque)
    assert np.abs(torque).max() > 0.1
    assert m.J_t @ np.linalg.solve(x.M, torque) == pytest.approx(np.zeros(3), abs=1e-12)


def test_near_a_singular_posture_only_the_lost_direction_is_damped() -> None:
    robot = load_robot("planar2")
    m, x, _ = opened(robot, np.array([0.3, 0.005]), directions=("x", "y"))
    mobility = m.J_t @ np.linalg.solve(x.M, m.J_t.T)
    mu, U = np.linalg.eigh(mobility)
    limit = 1.0 / np.sqrt(mu[0] * mu[1])  # between the two apparent masses
    assert find_inertia(x.M, limit, m) == pytest.approx(1 / mu[0], rel=1e-6)
    answered = mobility @ m.Lambda  # acceleration given over acceleration asked for
    assert U[:, 1] @ answered @ U[:, 1] == pytest.approx(1.0, abs=1e-9)
    assert U[:, 0] @ answered @ U[:, 0] == pytest.approx((mu[0] * limit) ** 2, rel=1e-6)
    assert U[:, 0] @ answered @ U[:, 1] == pytest.approx(0.0, abs=1e-9)


def test_damping_sets_in_continuously() -> None:
    robot = load_robot("planar2")
    m, x, _ = opened(robot, np.array([0.3, 0.1]), directions=("x", "y"))
    largest = 1 / np.linalg.eigvalsh(m.J_t @ np.linalg.solve(x.M, m.J_t.T))[0]
    found = []
    for limit in (largest * (1 + 1e-9), largest * (1 - 1e-9)):
        find_inertia(x.M, limit, m)
        found.append(m.Lambda.copy())
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_at_the_singular_posture_itself_everything_is_finite() -> None:
    robot = load_robot("planar2")
    m, x, heaviest = opened(robot, np.array([0.7, 0.0]), directions=("x", "y"))
    find_inertia(x.M, heaviest, m)
    out = np.empty(2)
    push_along(m, np.array([3.0, -2.0]), out)
    assert np.isfinite(m.Lambda).all()
    along = np.array([-np.sin(0.7), np.cos(0.7)])  # the only way a stretched arm's tip can move
    reached = m.J_t @ np.linalg.solve(x.M, out)
    assert reached == pytest.approx(along * (along @ [3.0, -2.0]), abs=1e-9)


def test_remarks_say_what_was_damped_and_how_far_the_tool_was_turned() -> None:
    law = OperationalSpace(orientation_error="matrix")
    memory = law.memory(load_robot("panda"))
    assert law.report.remarks(memory) == []
    memory.damped, memory.angle = 12, np.pi
    damped, turned = law.report.remarks(memory)
    assert "12 ticks" in damped
    assert "180°" in turned
    assert "fades" in turned


def test_directions_are_checked() -> None:
    panda, planar = load_robot("panda"), load_robot("planar2")
    checked_directions(panda, DIRECTIONS, "law")
    checked_directions(planar, DIRECTIONS, "law", more=True)
    with pytest.raises(InvalidInput, match=r"2 degrees.*cannot follow 6"):
        checked_directions(planar, DIRECTIONS, "law")
    with pytest.raises(InvalidInput, match="different ones"):
        checked_directions(panda, ("x", "x"), "law")
    with pytest.raises(InvalidInput, match="different ones"):
        checked_directions(panda, (), "law")


def test_matrices_are_checked_with_their_numbers() -> None:
    assert symmetric6([1, 2, 3, 4, 5, 6], "K") == pytest.approx(np.diag([1, 2, 3, 4, 5, 6]))
    lopsided = np.eye(6)
    lopsided[1, 4] = 0.5
    with pytest.raises(InvalidInput, match=r"entry \(1, 4\) is 0.5, \(4, 1\) 0"):
        symmetric6(lopsided, "K")
    with pytest.raises(InvalidInput, match=r"semidefinite.*eigenvalue.*-3"):
        symmetric6([1, 1, 1, 1, -3, 1], "K")
    with pytest.raises(InvalidInput, match=r"definite.*eigenvalue.*0"):
        symmetric6([1, 1, 1, 1, 0, 1], "M", definite=True)
    with pytest.raises(InvalidInput, match=r"shape \(3,\)"):
        symmetric6([1, 1, 1], "K")
    with pytest.raises(NotFinite, match="nan"):
        symmetric6([1, 1, 1, np.nan, 0, 1], "K")


def test_a_quaternion_that_is_not_one_is_refused() -> None:
    with pytest.raises(BadRotation, match="norm 1"):
        CartesianImpedance(axes_quat_wxyz=(1.0, 1.0, 0.0, 0.0)).bind(load_robot("panda"))

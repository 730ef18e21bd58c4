"""Default gains of the force laws: stable by prediction on every arm of the catalogue, and near the edge of nothing."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import palpate as pp
from palpate.control.design import Timing, Wall, force_defaults, predict_for_arm
from palpate.control.design.force_gains import ForceDefaults
from palpate.errors import InvalidInput, UnknownName
from palpate.robot import catalogue

# Force and motion directions of the arms that cannot move in all six.
DIRECTIONS = {
    "cartesian2": (("x",), ("y",)),
    "pendulum": (("x",), ()),
    "planar2": (("x",), ("y",)),
    "planar3": (("x",), ("y", "rz")),
    "planar3-vertical": (("z",), ("x", "ry")),
    "ur5e-3link": (("x",), ("z",)),
}
ARMS = [name for name in catalogue.names() if name not in ("quadruped", "two-arm")]  # one tool moves one arm


def split(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return DIRECTIONS.get(name, (("z",), ("x", "y", "rx", "ry", "rz")))


def law(kind: str, gains: ForceDefaults, name: str, **changes: float) -> SimpleNamespace:
    force, motion = split(name)
    own = {
        "stiffness": gains.stiffness, "damping": gains.damping, "integral": gains.integral, "proportional": 0.0,
        "posture_stiffness": gains.posture_stiffness, "posture_damping": gains.posture_damping,
    }  # fmt: skip
    return SimpleNamespace(**{"name": kind, "force": force, "motion": motion, "axes": "world", **own, **changes})


@pytest.mark.parametrize("period", [5e-4, 1e-3, 4e-3])
@pytest.mark.parametrize("name", ARMS)
def test_the_defaults_are_stable_on_every_arm_with_twice_the_gains(name: str, period: float) -> None:
    robot = pp.load_robot(name)
    force, motion = split(name)
    gains = force_defaults(robot, robot.home, period, force=force, motion=motion)
    normal = np.eye(3)["xyz".index(force[0])]
    assert gains.margin == 2.0
    assert gains.integral > 0.5
    changes = ({}, {"damping": 2 * gains.damping}, {"integral": 2 * gains.integral})
    for kind in ("direct-force", "parallel-force"):
        for wall in (0.0, 0.03 * gains.stiffest_wall, gains.stiffest_wall):
            for change in changes:
                for delay in (0, 1):
                    found = predict_for_arm(
                        robot, robot.home, law(kind, gains, name, **change), wall=Wall(wall, 0.0, normal),
                        timing=Timing(period, command_delay=delay), limits=False,
                    )  # fmt: skip
                    assert found.stable, (kind, wall, change, delay, found.sentences)


@pytest.mark.parametrize("name", ["iiwa14", "panda", "ur5e"])
def test_at_one_kilohertz_the_defaults_are_of_use(name: str) -> None:
    """Errors vanish in a second or so: slow modes of coupled arms are damped."""
    robot = pp.load_robot(name)
    gains = force_defaults(robot, robot.home, 1e-3)
    assert min(gains.stiffness[:3]) > 100.0
    assert gains.integral > 3.0
    found = predict_for_arm(
        robot, robot.home, law("direct-force", gains, name), wall=Wall(1e4, 50.0), timing=Timing(1e-3), limits=False
    )
    assert found.rate > 1.0
    assert "Predicted stable" in gains.account


@pytest.mark.parametrize("name", ["iiwa14", "panda", "ur5e"])
def test_a_diagonal_damping_is_stable_too(name: str) -> None:
    robot = pp.load_robot(name)
    gains = force_defaults(robot, robot.home, 1e-3, diagonal=True)
    assert gains.margin == 2.0
    assert np.count_nonzero(gains.damping - np.diag(np.diag(gains.damping))) == 0


def test_one_axis_gets_the_gains_of_its_theory() -> None:
    """5 kg: K = 400 N/m, D = 2 √(K m), and k_i at most a third of D/m."""
    robot = pp.load_robot("cartesian2", mass=(3.0, 2.0))
    gains = force_defaults(robot, robot.home, 1e-4, force=("x",), motion=("y",), delay=0)
    D = 2 * np.sqrt(400.0 * 5.0)
    assert gains.stiffness[0] == 400.0
    assert gains.damping[0, 0] == pytest.approx(D, rel=1e-6)
    assert gains.integral == pytest.approx(D / 5.0 / 3, rel=0.05)


@pytest.mark.parametrize("name", ["iiwa14", "panda", "ur5e"])
def test_no_direction_is_stiffer_than_its_inertia_and_the_clock_allow(name: str) -> None:
    robot, T = pp.load_robot(name), 4e-3
    gains = force_defaults(robot, robot.home, T, delay=1)
    J = robot.jacobian(robot.home)
    inertia = 1 / np.diag(J @ np.linalg.solve(robot.mass_matrix(robot.home), J.T))
    assert (np.array(gains.stiffness) <= inertia * (0.2 / (1.5 * T)) ** 2 + 1e-9).all()


def test_turned_axes_turn_the_gains() -> None:
    robot = pp.load_robot("cartesian2", mass=(3.0, 2.0))
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # its x is the world's y
    straight = force_defaults(robot, robot.home, 1e-3, force=("y",), motion=("x",))
    turned = force_defaults(robot, robot.home, 1e-3, force=("x",), motion=("y",), axes=quarter)
    assert turned.damping[0, 0] == pytest.approx(straight.damping[1, 1])
    assert turned.integral == pytest.approx(straight.integral)


def test_bad_input_is_refused_by_name() -> None:
    robot = pp.load_robot("cartesian2")
    with pytest.raises(UnknownName, match="direction"):
        force_defaults(robot, robot.home, 1e-3, force=("up",))
    with pytest.raises(InvalidInput, match="at least one"):
        force_defaults(robot, robot.home, 1e-3, force=(), motion=("x",))
    with pytest.raises(InvalidInput, match="delay"):
        force_defaults(robot, robot.home, 1e-3, force=("x",), motion=(), delay=-1)
    with pytest.raises(InvalidInput, match="period"):
        force_defaults(robot, robot.home, 0.0, force=("x",), motion=())

"""Default gains of the force laws: stable by the loop's own poles, and near the edge of nothing."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

import palpate as pp
from palpate.control import (
    CartesianImpedance,
    DirectForce,
    HybridForce,
    IntegralForce,
    ParallelForce,
    ShapedImpedance,
)
from palpate.control.design import force_defaults
from palpate.control.design.force_gains import ForceDefaults
from palpate.control.law import Rig
from palpate.control.references.reference import Hold
from palpate.errors import InvalidInput, UnknownName
from palpate.robot import catalogue
from palpate.world.config import Driver, Surface, World

# Force and motion directions of the arms that cannot move in all six.
DIRECTIONS = {
    "cartesian2": (("x",), ("y",)),
    "pendulum": (("x",), ()),
    "planar2": (("x",), ("y",)),
    "planar3": (("x",), ("y", "rz")),
    "planar3-vertical": (("z",), ("x", "ry")),
    "point3": (("z",), ("x", "y")),
    "scara": (("z",), ("x", "y", "rz")),
    "ur5e-3link": (("x",), ("z",)),
}
ARMS = [name for name in catalogue.names() if name not in ("quadruped",)]


def split(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return DIRECTIONS.get(name, (("z",), ("x", "y", "rx", "ry", "rz")))


def law(kind: type[DirectForce], gains: ForceDefaults, name: str, **changes: Any) -> DirectForce:
    force, motion = split(name)
    own = {
        "stiffness": gains.stiffness, "damping": gains.damping.tolist(), "integral": gains.integral,
        "proportional": 0.0, "posture_stiffness": gains.posture_stiffness, "posture_damping": gains.posture_damping,
    }  # fmt: skip
    return kind.model_validate({"force": force, "motion": motion, "axes": "world", **own, **changes})


def pressed(robot: pp.Robot, law: Any, name: str, wall: float, period: float, delay: int) -> pp.run.LoopPoles:
    """The poles of the loop while the arm at home presses with 10 N on an undamped wall; in the air without a wall."""
    n = np.eye(3)["xyz".index(split(name)[0][0])]
    place = robot.pose(robot.home).position - (tip_of(robot) - 10.0 / max(wall, 1.0)) * n
    surface = Surface(position=tuple(place), normal=tuple(n), stiffness=max(wall, 1.0), damping=0.0)
    world = World(surfaces=(surface,) if wall else (), driver=Driver(delay=delay, torque_limit=False))
    clock = pp.world.Clock(duration=2.0, timestep=period / 5, period=period, integrator="rk4")
    wanted = (*((10.0 if wall else 0.0) * n), 0, 0, 0)
    run = pp.Run(robot, law, world, Hold(wrench=wanted), clock=clock)
    return pp.run.poles(run, at="end" if wall else 0.1, finer=False, probing=False)


def tip_of(robot: pp.Robot) -> float:
    """The radius of the tip; 0 for a point."""
    tips = [g for g in range(robot.model.ngeom) if robot.model.geom(g).name == "tip"]
    return float(robot.model.geom_size[tips[0], 0]) if tips else 0.0


def with_slow(names: Sequence[str]) -> list[Any]:
    return [pytest.param(n, marks=[] if n in ("panda", "ur5e", "cartesian2") else [pytest.mark.slow]) for n in names]


@pytest.mark.parametrize("name", with_slow(ARMS))
def test_the_defaults_are_stable_on_every_arm_with_twice_the_gains(name: str) -> None:
    """Asked of the loop itself, free and on undamped walls, with each gain doubled and a command one sample late."""
    robot = pp.load_robot(name)
    force, motion = split(name)
    for period in (1e-3, 4e-3):
        gains = force_defaults(robot, robot.home, period, force=force, motion=motion)
        assert gains.margin == 2.0
        assert gains.integral > 0.5
        changes = ({}, {"damping": (2 * gains.damping).tolist()}, {"integral": 2 * gains.integral})
        for kind in (DirectForce, ParallelForce):
            for wall in (0.0, 0.9 * gains.stiffest_wall):
                for change in changes:
                    found = pressed(robot, law(kind, gains, name, **change), name, wall, period, 1)
                    assert found.largest < 1.0 + 1e-6, (kind, wall, change, found.contact, found.poles[:4])


def test_at_one_kilohertz_the_defaults_are_of_use() -> None:
    """Errors vanish in a second or so: slow modes of coupled arms are damped."""
    for name in ("iiwa14", "panda", "ur5e"):
        robot = pp.load_robot(name, joints="ideal")
        gains = force_defaults(robot, robot.home, 1e-3)
        assert min(gains.stiffness[:3]) > 100.0
        assert gains.integral > 3.0
        found = pressed(robot, law(DirectForce, gains, name), name, 1e4, 1e-3, 0)
        assert -np.log(found.largest) / 1e-3 > 1.0
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


# ------------------------------------------------------------------ as the laws' own defaults


def pressing(name: str, kind: str) -> Any:
    force, motion = split(name)
    if kind == "integral-force":
        return IntegralForce(directions=tuple(d for d in (*motion, *force) if d in "xyz"))
    return {"direct-force": DirectForce, "parallel-force": ParallelForce, "hybrid-force": HybridForce}[kind](
        force=force, motion=motion
    )


def arm_and_law(name: str, kind: str) -> Any:
    marks = [] if name in ("panda", "ur5e", "iiwa14") else [pytest.mark.slow]
    return pytest.param(name, kind, marks=marks)


FORCE_LAWS = ("direct-force", "parallel-force", "hybrid-force", "integral-force")


@pytest.mark.parametrize(("name", "kind"), [arm_and_law(name, kind) for name in ARMS for kind in FORCE_LAWS])
def test_a_force_law_left_to_its_defaults_presses_any_arm_on_a_wall(name: str, kind: str) -> None:
    """10 N on a wall of 10 kN/m, which the tip touches: no joint beyond its rated speed, and the force is reached."""
    robot = pp.load_robot(name)
    normal = np.eye(3)["xyz".index(split(name)[0][0])]
    tip = next((float(robot.model.geom(g).size[0]) for g in range(robot.model.ngeom)
                if robot.model.geom(g).name == "tip"), 0.0)  # fmt: skip
    place = robot.pose(robot.home).position - tip * normal
    wall = Surface(position=tuple(place), normal=tuple(normal), stiffness=1e4, damping=50.0)
    reference = Hold(wrench=(*(10.0 * normal), 0, 0, 0))
    trace = pp.simulate(
        pp.Run(robot, pressing(name, kind), World(surfaces=(wall,)), reference, clock=pp.world.Clock(duration=2.5))
    )
    assert trace.outcome.kind == "completed"
    assert not [text for text in trace.warnings if "UNSTABLE" in text or "rated" in text], trace.warnings
    assert trace["contact_wrench"][-1, :3] @ normal == pytest.approx(10.0, abs=1.0)


def test_chosen_gains_are_told_and_given_ones_are_left_alone() -> None:
    robot = pp.load_robot("ur5e")
    law = DirectForce().suited(robot, Rig(2e-3))
    found = force_defaults(robot, robot.home, 2e-3)
    assert law.stiffness == found.stiffness
    assert law.damping == pytest.approx(found.damping)
    assert law.integral == found.integral
    assert re.search(r"chosen for ur5e.*period.*2 ms", law.report.remarks(law.memory(robot))[0])
    given = DirectForce(stiffness=(100.0,) * 6, damping=(5.0,) * 6, integral=0.5)
    kept = given.suited(robot, Rig(2e-3))
    assert (kept.stiffness, kept.damping, kept.integral) == ((100.0,) * 6, (5.0,) * 6, 0.5)
    assert kept.report.remarks(kept.memory(robot)) == []


def test_rates_of_the_hybrid_and_integral_laws_fall_with_the_period() -> None:
    robot = pp.load_robot("panda", joints="ideal")
    fast, slow = (cast(Any, HybridForce().suited(robot, Rig(T, delay=1))) for T in (1e-3, 1e-2))
    assert (fast.kd[0], fast.kp[0], fast.force_damping, fast.integral) == (40.0, 400.0, 60.0, 10.0)
    assert slow.force_damping == slow.kd[0] == pytest.approx(0.3 / 1.5e-2)
    assert slow.kp[0] == pytest.approx(slow.kd[0] ** 2 / 4)
    assert slow.integral == pytest.approx(slow.force_damping / 3)
    assert (fast.proportional, slow.proportional) == (0.0, 0.0)
    late = IntegralForce().suited(robot, Rig(1e-2, delay=1))
    assert late.joint_damping == pytest.approx(0.2 / 1.5e-2)
    assert late.joint_damping
    assert late.integral == pytest.approx(late.joint_damping / 3)


def test_an_arm_with_dry_friction_gets_a_proportional_force_gain_that_falls_with_the_period() -> None:
    """An integral alone lets it stick at a wrong force until it has wound through twice the friction."""
    robot = pp.load_robot("puma560")
    assert robot.model.dof_frictionloss.any()
    fast, slow = (HybridForce().suited(robot, Rig(T, delay=1)) for T in (1e-3, 1e-2))
    assert fast.proportional == 2.0
    assert slow.proportional == pytest.approx(2.0 * slow.force_damping / 60.0)
    assert HybridForce(proportional=0.0).suited(robot, Rig()).proportional == 0.0


@pytest.mark.parametrize("law", [CartesianImpedance(), ShapedImpedance(), HybridForce()])
def test_a_posture_is_softer_on_joints_too_light_for_the_clock(law: Any) -> None:
    """The idle arm of a two-arm machine is all null space: 2 N·m·s/rad on its last joint would be unstable at 1 ms."""
    for name, per_joint in (("panda", False), ("two-arm", True)):
        robot = pp.load_robot(name)
        suited = law.suited(robot, Rig(1e-3))
        assert isinstance(suited.posture_damping, tuple) == per_joint
        found = pp.run.poles(pp.Run(robot, law, clock=pp.world.Clock(duration=0.1)), at=0.01, finer=False)
        assert found.stable, found.poles[:4]


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

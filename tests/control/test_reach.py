"""More directions than a robot can move along: the ones it can are served exactly, the others are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from palpate.control import (
    CartesianImpedance,
    DirectForce,
    HybridForce,
    IntegralForce,
    OperationalSpace,
    ShapedImpedance,
)
from palpate.control.law import Target, Tick, sizes_of
from palpate.control.references.motions import Line
from palpate.control.references.reference import joint_target
from palpate.control.steps.reach import DIRECTIONS, LEVER, immovable, lost_mass, reachable
from palpate.control.steps.task_space import find_inertia, find_inertia_in_order, into_null_space, set_axes, set_rows
from palpate.errors import InvalidInput
from palpate.robot import Robot, catalogue, load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.world.clock import Clock

FEW = ["cartesian2", "pendulum", "planar2", "planar3", "planar3-vertical", "ur5e-3link", "scara"]
SCALE = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])


def target_with(robot: Robot, q: np.ndarray, acceleration: np.ndarray) -> Target:
    target = joint_target(robot, q)
    target.acceleration[:] = acceleration
    return target


def given(robot: Robot, q: np.ndarray, v: np.ndarray, wanted: np.ndarray, **settings) -> np.ndarray:
    """The tool's acceleration under the feed-forward alone."""
    x = robot.terms(q, v)
    decision = CartesianImpedance(form="exact", **settings).tick(robot, q, v, target=target_with(robot, q, wanted))
    return x.J @ np.linalg.solve(x.M, decision.terms["feed_forward"]) + x.drift


@pytest.mark.parametrize("name", FEW)
def test_an_acceleration_that_some_joint_motion_gives_is_given_exactly(name: str) -> None:
    robot, rng = load_robot(name), np.random.default_rng(3)
    for _ in range(5):
        q = robot.home + rng.uniform(-0.3, 0.3, robot.nv)
        v, a = rng.uniform(-1, 1, robot.nv), rng.uniform(-2, 2, robot.nv)
        wanted = robot.jacobian(q) @ a + robot.jacobian_drift(q, v)
        np.testing.assert_allclose(given(robot, q, v, wanted, heaviest=1e9), wanted, atol=1e-9)


def test_what_cannot_be_given_takes_nothing_from_the_directions_named_before_it() -> None:
    robot, q, v = load_robot("planar2"), np.array([0.4, 0.9]), np.array([0.5, -1.0])
    wanted = np.array([1.5, -0.7, 0.3, 0.0, 0.2, 4.0])  # z and ry never, rz only with x and y
    found = given(robot, q, v, wanted)
    np.testing.assert_allclose(found[:2], wanted[:2], atol=1e-10)
    turned = given(robot, q, v, wanted, directions=("rz", "x", "y"))
    np.testing.assert_allclose(turned[[5, 0]], wanted[[5, 0]], atol=1e-10)
    assert abs(turned[1] - wanted[1]) > 0.1


def opened(robot: Robot, q: np.ndarray, **settings):
    bound = CartesianImpedance(**settings).bind(robot)
    x = robot.terms(q, np.zeros(robot.nv))
    tick = Tick(sizes_of(robot), q=q, rotation=x.rotation, J=x.J)
    set_axes(tick, bound.gains, bound.memory)
    set_rows(tick, bound.gains, bound.memory)
    return bound, x


def test_in_order_is_the_usual_inertia_where_every_direction_is_free() -> None:
    robot = load_robot("panda")
    bound, x = opened(robot, robot.home + 0.1)
    find_inertia(x.M, 1e9, bound.memory)
    usual = bound.memory.Lambda.copy()
    assert find_inertia_in_order(x.M, 1e9, 6, bound.memory) == 0.0
    np.testing.assert_allclose(bound.memory.Lambda, usual, rtol=1e-9, atol=1e-9)


def test_in_order_a_lost_direction_fades_and_the_others_stay_exact() -> None:
    robot = load_robot("planar2")
    bound, x = opened(robot, np.array([0.0, 0.02]), directions=("x", "y", "z"))  # nearly stretched: x hardly moves
    m, J = bound.memory, bound.memory.J_t
    mu = float(J[0] @ np.linalg.solve(x.M, J[0]))

    def answered(heaviest: float) -> tuple[np.ndarray, float]:
        mass = find_inertia_in_order(x.M, heaviest, 2, m)
        return J @ np.linalg.solve(x.M, J.T @ m.Lambda), mass

    for heaviest in (1.001 / mu, 0.9 / mu, 0.1 / mu, 0.01 / mu):
        given, mass = answered(heaviest)
        np.testing.assert_allclose(given[1], (0, 1, 0), atol=1e-9)
        assert mass == pytest.approx(0.0 if heaviest * mu >= 1 else 1 / mu, rel=1e-9)
    np.testing.assert_allclose(answered((1 - 1e-7) / mu)[0], answered((1 + 1e-7) / mu)[0], atol=1e-5)
    shares = [answered(share / mu)[0][0, 0] for share in (1.01, 0.5, 0.1, 0.01)]
    assert shares[0] == pytest.approx(1.0, abs=1e-6)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 1e-3


def test_what_more_directions_than_freedoms_leave_over_is_held_as_a_posture() -> None:
    """x, y, z on an arm that moves in x and z: one joint motion is left, which moves neither."""
    robot = load_robot("ur5e-3link")
    q = robot.home + np.array([0.2, -0.3, 0.4])
    bound, x = opened(robot, q, directions=("x", "y", "z"))
    free = len(reachable(robot, ("x", "y", "z")))
    find_inertia_in_order(x.M, 1e9, free, bound.memory)
    torque = np.array([3.0, -2.0, 1.0])
    into_null_space(bound.memory, torque)
    np.testing.assert_allclose(x.J[:3] @ np.linalg.solve(x.M, torque), 0.0, atol=1e-10)
    assert (np.abs(torque).max() > 1e-3) == (free < 3)
    decision = CartesianImpedance(directions=("x", "y", "z")).tick(robot, q, np.full(3, 0.3))
    assert (np.abs(decision.terms["null_space"]).max() > 1e-3) == (free < 3)


# ------------------------------------------------------------------ in a run


def test_the_documents_feed_forward_is_there_with_six_directions_on_two_axes() -> None:
    """Document 001 (16): M p̈_d."""
    changes = ["reference.kind=line", "reference.offset=[0.3,0.2,0]", "world.pushes=[]"]
    trace = simulate(load_scenario("cartesian2-eigenvalues", changes))
    feed = trace["tau.feed_forward"]
    wanted = 0.3 * 10 / np.sqrt(3)  # of a minimum-jerk motion of 1 s
    np.testing.assert_allclose(np.abs(feed).max(axis=0), (5 * wanted, 2 * wanted * 2 / 3), rtol=1e-4)
    assert np.abs(trace["target_position"] - trace["tool_position"]).max() < 1e-4  # the hold of 0.5 ms and Euler's step
    assert trace.facts.remarks == ()
    finer = simulate(load_scenario("cartesian2-eigenvalues", [*changes, "run.timestep=1e-4", "run.integrator='rk4'"]))
    assert np.abs(finer["target_position"] - finer["tool_position"]).max() < 6.1e-6


@pytest.mark.parametrize(("name", "offset"), [("planar2", (-0.2, 0.3, 0)), ("ur5e-3link", (-0.1, 0.1, 0.1))])
def test_a_line_is_followed_with_all_six_directions_and_what_cannot_be_is_named(name: str, offset) -> None:
    robot = load_robot(name)
    still = reachable(robot, ("x", "y", "z"))
    law = CartesianImpedance(stiffness=(400, 400, 400, 0, 0, 0), damping=(80, 80, 80, 0, 0, 0), form="exact")
    start = robot.home + (0.0 if name == "planar2" else 0.5)  # the other's home is singular
    clock = Clock(duration=1.2, timestep=2e-4)
    trace = simulate(Run(robot, law, reference=Line(offset=offset), clock=clock, q_start=start))
    kept = ["xyz".index(d) for d in still]
    error = (trace["target_position"] - trace["tool_position"])[:, kept]
    assert np.abs(error).max() < 2e-4  # the hold of 0.2 ms: a tick's feed-forward is half a tick old
    (said,) = trace.facts.remarks
    assert "acceleration along r" in said
    assert not any(f" {d} (" in said for d in still)


# ------------------------------------------------------------------ what is refused


def test_reachable_directions_are_those_of_the_arm() -> None:
    named = {name: reachable(load_robot(name), DIRECTIONS) for name in ("planar2", "planar3", "scara", "panda")}
    assert named == {
        "planar2": ("x", "y"),
        "planar3": ("x", "y", "rz"),
        "scara": ("x", "y", "z", "rz"),
        "panda": DIRECTIONS,
    }
    assert immovable(load_robot("planar2"), DIRECTIONS) == ("z", "rx", "ry")
    lying = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])  # its y is the world's z
    assert reachable(load_robot("planar3"), DIRECTIONS, lambda _: lying) == ("x", "z", "ry")


@pytest.mark.parametrize("law", [OperationalSpace, ShapedImpedance, IntegralForce])
def test_directions_that_the_arm_never_moves_along_are_refused_by_name(law) -> None:
    with pytest.raises(InvalidInput, match=r"never moves.*z") as error:
        law(directions=("x", "z")).bind(load_robot("planar2"))
    assert "follow x" in str(error.value.hint)


@pytest.mark.parametrize("law", [DirectForce, HybridForce])
def test_so_are_those_of_the_laws_of_force(law) -> None:
    with pytest.raises(InvalidInput, match=r"rz.*together.*x, y"):
        law(force=("rz",), motion=("x", "y")).bind(load_robot("planar2"))


def test_a_spring_along_nothing_that_moves_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"never moves.*z, rx"):
        CartesianImpedance(directions=("z", "rx")).bind(load_robot("cartesian2"))
    CartesianImpedance(directions=("z", "x")).bind(load_robot("cartesian2"))


# ------------------------------------------------------------------ when a direction counts as lost


def with_rotors(robot: Robot, inertia: float) -> Robot:
    spec = robot.spec()
    for joint in spec.joints:
        joint.armature = inertia
    return robot._from_spec(spec)


@pytest.mark.parametrize("rotor", [0.0, 1.0, 5.0])
def test_a_large_rotor_inertia_is_no_singular_posture(rotor: float) -> None:
    robot = with_rotors(load_robot("sawyer"), rotor)
    law = OperationalSpace()
    trace = simulate(Run(robot, law, clock=Clock(duration=0.02), q_start=robot.home + 0.1))
    assert trace.facts.remarks == ()


@pytest.mark.parametrize("name", ["planar3", "planar3-vertical"])
def test_long_links_are_no_singular_posture(name: str) -> None:
    robot = load_robot(name)
    directions: Any = reachable(robot, DIRECTIONS)
    trace = simulate(Run(robot, OperationalSpace(directions=directions), clock=Clock(duration=0.02)))
    assert trace.facts.remarks == ()


@pytest.mark.parametrize("name", [n for n in catalogue.names() if n not in ("quadruped", "ur5e-3link")])
def test_a_lost_direction_is_heavier_than_any_at_home(name: str) -> None:
    robot = load_robot(name)
    rows = [DIRECTIONS.index(d) for d in reachable(robot, DIRECTIONS)]
    J = (SCALE[:, None] * robot.jacobian(robot.home))[rows]
    mobility = np.linalg.eigvalsh(J @ np.linalg.solve(robot.mass_matrix(robot.home), J.T))
    assert 20 * robot.mass <= lost_mass(robot)
    assert 1 / mobility[0] < lost_mass(robot)

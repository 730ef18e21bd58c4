"""What may be changed while an exported law runs, without a jump: gains, payload, tool, gravity, friction, target."""

from __future__ import annotations

import ctypes
import math
import re
from pathlib import Path

import numpy as np
import pytest

from palpate.control.law import Tick, sizes_of
from palpate.equations.code.tree_program import compute_frame, compute_terms
from palpate.robot import load_robot
from palpate.robot.robot import Robot
from palpate.tools.exporting.carrying import setup_of
from palpate.tools.exporting.code.own_model import OwnModel, own_model
from palpate.tools.exporting.code.records import Code
from palpate.tools.exporting.code.tuning import CENTRE, GRAVITY, MASS, POSITION, SHARE, TURN, Setup, ease_setup
from tools.exporting.library import SECONDS, Library, code_of

HALF = 2000  # a tick of fr3-wall's run at which it presses


@pytest.fixture
def library(pressing: Path) -> Library:
    return Library(pressing)


def places_of_gains(folder: Path) -> dict[str, slice]:
    header, at, found = (folder / "fr3_wall.h").read_text(), 0, {}
    struct = re.search(r"typedef struct \{([^}]*)\} fr3_wall_gains;", header)
    assert struct
    for name, shape in re.findall(r"(?:double|int64_t) (\w+)((?:\[\d+\])*);", struct[1]):
        size = math.prod(int(n) for n in re.findall(r"\d+", shape)) if shape else 1
        found[name], at = slice(at, at + size), at + size
    return found


class Standing:
    """The library after half the run, with the arm standing where it is then."""

    def __init__(self, library: Library, tick: int = HALF) -> None:
        self.library = library
        for row in library.inputs[:tick]:
            assert code_of(library.step(row)) is Code.OK
        self.row = library.inputs[tick].copy()
        self.row[library.place("v")] = 0.0

    def ticks(self, count: int) -> np.ndarray:
        answers = []
        for _ in range(count):
            answers.append(self.library.step(self.row))
            assert code_of(answers[-1]) is Code.OK
            self.row[1] += 1e-3
        return np.array(answers)

    def out(self, answers: np.ndarray, name: str) -> np.ndarray:
        return answers[..., self.library.place(name, "output")]


def test_stiffness_goes_from_400_to_40_and_back_without_a_jump(library: Library, pressing: Path) -> None:
    """Jᵀ K e with K × 0.1; a change of K by ΔK in T changes the torque by at most 15/8 Jᵀ ΔK e dt/T a tick."""
    arm, places = Standing(library), places_of_gains(pressing)
    size = max(place.stop for place in places.values())
    before, gains = arm.ticks(1)[0], library.block("gains", size)
    assert gains[places["stages_0_K"]].reshape(6, 6)[0, 0] == 400.0
    soft = gains.copy()
    soft[places["stages_0_K"]] *= 0.1
    assert library.put("gains", soft) == Code.OK
    down = arm.ticks(502)
    np.testing.assert_allclose(arm.out(down[-1], "term_spring"), 0.1 * arm.out(before, "term_spring"), rtol=1e-12)
    assert library.put("gains", gains) == Code.OK
    up = arm.ticks(502)
    assert arm.out(up[-1], "term_spring").tobytes() == arm.out(before, "term_spring").tobytes()
    torques = np.vstack([arm.out(before, "torque"), arm.out(down, "torque"), arm.out(up, "torque")])
    change = 0.9 * np.abs(arm.out(before, "term_spring"))
    steps = np.abs(np.diff(torques, axis=0))
    assert np.all(steps.max(axis=0) <= 15.0 / 8.0 * change / 500.0 * 1.001 + 1e-9)
    assert np.abs(np.diff(torques, 2, axis=0)).max() <= 10.0 / math.sqrt(3.0) * change.max() / 500.0**2 * 1.1
    assert steps.max() > 1e-3  # it did change


def test_gains_are_refused_where_no_law_has_them(library: Library, pressing: Path) -> None:
    places = places_of_gains(pressing)
    gains = library.block("gains", max(place.stop for place in places.values()))
    K = places["stages_0_K"].start
    for changes, code in [
        ({K: -1.0}, Code.BOUND),
        ({K + 1: 5.0}, Code.BOUND),  # not symmetric
        ({K + 1: 500.0, K + 6: 500.0}, Code.BOUND),  # indefinite
        ({K: 4001.0}, Code.BOUND),  # above ten times the exported value
        ({K: math.nan}, Code.BOUND),
        ({K + 1: 5.0, K + 6: 5.0}, Code.OK),
        ({places["heaviest"].start: 1.0}, Code.READ_ONLY),
        ({places["posture_stiffness"].start: 1.0}, Code.OK),
    ]:
        changed = gains.copy()
        for at, value in changes.items():
            changed[at] = value
        assert library.put("gains", changed) == code, changes
        assert library.put("gains", gains) == Code.OK


def test_every_gain_of_every_law_has_a_unit_and_a_meaning(pressing: Path) -> None:
    struct = re.search(r"typedef struct \{([^}]*)\} fr3_wall_gains;", (pressing / "fr3_wall.h").read_text())
    assert struct
    assert all(re.search(r"/\* [^:]+: .+; .+ \*/", line) for line in struct[1].strip().splitlines())


def test_a_payload_adds_its_weight_and_its_torque(library: Library) -> None:
    """Δĝ_j = m g ∂z/∂q_j of the payload's centre, by differences of poses; eased in without a jump."""
    arm, robot = Standing(library), load_robot("fr3")
    q, centre = arm.row[library.place("q")], np.array([0.02, -0.01, 0.08])

    def height(q: np.ndarray) -> float:
        pose = robot.pose(q)
        return float((pose.position + pose.rotation @ centre)[2])

    slope = [(height(q + d) - height(q - d)) / 2e-5 for d in 1e-5 * np.eye(7)]
    before, setup = arm.ticks(1)[0], library.block("setup", 15)
    setup[MASS], setup[CENTRE : CENTRE + 3] = 1.5, centre
    assert library.put("setup", setup) == Code.OK
    after = arm.ticks(502)
    change = arm.out(after[-1], "gravity") - arm.out(before, "gravity")
    np.testing.assert_allclose(change, 1.5 * 9.81 * np.array(slope), rtol=1e-6, atol=1e-6)
    assert np.abs(np.diff(arm.out(after, "torque"), axis=0)).max() < 0.1
    setup[MASS] = -0.1
    assert library.put("setup", setup) == Code.BOUND
    library.call("reset")
    assert library.block("setup", 15)[MASS] == 1.5  # as gains, it stays
    np.testing.assert_allclose(arm.out(arm.ticks(1)[0], "gravity"), arm.out(after[-1], "gravity"), rtol=1e-12)


@pytest.fixture(scope="module")
def carrying() -> tuple[Robot, OwnModel, Setup, Tick]:
    robot = load_robot("fr3")
    tick = Tick(sizes_of(robot))
    own = own_model(robot, tick)
    code, derived = own.code, robot.program.code
    code.replace("p", derived.p.copy())
    code.replace("k", derived.k.copy())
    code.constants, code.terms = derived.constants, derived.terms
    code.frames[:] = derived.frames[: code.frames.size]
    return robot, own, setup_of(robot, 0.0, own), tick


def changed(setup: Setup, own: OwnModel, tick: Tick, **values: tuple[int, list[float]]) -> None:
    wanted = setup.wanted.copy()
    wanted[:] = 0.0
    wanted[TURN], wanted[GRAVITY + 2] = 1.0, -9.81
    for first, numbers in values.values():
        wanted[first : first + len(numbers)] = numbers
    setup.wanted[:], setup.easing, setup.start = wanted, True, -1.0
    ease_setup(setup, 0.0, 0.0)
    compute_terms(own.code, own.q, own.v, own.tree)
    compute_frame(own.code, own.tree, own.tool, own.frame)


def test_payload_tool_and_gravity_are_those_of_the_model(carrying: tuple[Robot, OwnModel, Setup, Tick]) -> None:
    """M + m J_cᵀ J_c of a point mass; the tool's pose composed by hand; ĝ linear in the gravity vector."""
    robot, own, setup, tick = carrying
    q = robot.home + 0.1
    tick.q[:], tick.v[:] = q, 0.0
    M, pose, J = robot.mass_matrix(q), robot.pose(q), robot.jacobian(q)
    centre = np.array([0.02, -0.01, 0.08])
    changed(setup, own, tick, mass=(MASS, [1.5]), centre=(CENTRE, centre.tolist()))
    r = pose.rotation @ centre
    J_c = J[:3] - np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]]) @ J[3:]
    np.testing.assert_allclose(tick.M, M + 1.5 * J_c.T @ J_c, rtol=1e-9, atol=1e-10)
    half = math.sqrt(0.5)
    changed(setup, own, tick, tool=(POSITION, [0.0, 0.05, 0.1]), turn=(TURN, [half, half, 0.0, 0.0]))
    np.testing.assert_allclose(tick.position, pose.position + pose.rotation @ [0.0, 0.05, 0.1], atol=1e-12)
    quarter = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(tick.rotation, pose.rotation @ quarter, atol=1e-12)
    weights = []
    for axis in np.eye(3):
        changed(setup, own, tick, gravity=(GRAVITY, (2.0 * axis).tolist()))
        weights.append(tick.gravity.copy())
    np.testing.assert_allclose(-9.81 / 2.0 * weights[2], robot.gravity(q), atol=1e-9)
    assert np.abs(weights[0]).max() > 0.5  # along x it loads other joints
    changed(setup, own, tick)
    np.testing.assert_allclose(tick.M, M, rtol=1e-12, atol=1e-13)


def test_friction_is_compensated_by_its_share(library: Library) -> None:
    """τ − command = s (D̂ v + F̂ sat(v / v₀)) of the model."""
    arm, robot = Standing(library), load_robot("fr3")
    setup = library.block("setup", 15)
    setup[SHARE] = 0.5
    assert library.put("setup", setup) == Code.OK
    arm.ticks(502)
    v = np.array([0.02, -0.005, 0.0, 0.1, -0.1, 0.001, 0.2])
    arm.row[library.place("v")] = v
    answer = arm.ticks(5)[-1]  # the torque rate is limited
    sat = np.clip(v / 0.01, -1.0, 1.0)
    friction = 0.5 * (robot.model.dof_damping[:7] * v + robot.model.dof_frictionloss[:7] * sat)
    np.testing.assert_allclose(arm.out(answer, "torque") - arm.out(answer, "command"), friction, atol=1e-9)


def test_a_law_holds_where_the_arm_is_and_then_goes_over_to_the_target(library: Library) -> None:
    assert library.call("hold") == Code.OK
    row = library.inputs[HALF].copy()
    row[1], row[library.place("v")] = 1e-3, 0.0
    row[library.place("target_quat_wxyz")] = 0.0  # no target is needed
    first = library.step(row)
    assert code_of(first) is Code.OK
    spring, torque = library.place("term_spring", "output"), library.place("torque", "output")
    np.testing.assert_allclose(first[spring], 0.0, atol=1e-9)
    assert library.call("follow", 0.2, kinds=SECONDS) == Code.OK
    row[library.place("target_quat_wxyz")] = library.inputs[HALF][library.place("target_quat_wxyz")]
    row[library.place("target_position")] += [0.2, 0.0, 0.0]
    torques, answer = [first[torque]], first
    for _ in range(202):
        row[1] += 1e-3
        answer = library.step(row)
        assert code_of(answer) is Code.OK
        torques.append(answer[torque])
    assert np.abs(np.diff(torques, axis=0)).max() < 15.0 / 8.0 / 200.0 * np.abs(torques[-1] - torques[0]).max() * 1.5
    fresh = library.started()
    expected = np.zeros_like(answer)
    fresh.step(row.ctypes.data, expected.ctypes.data)
    np.testing.assert_array_equal(answer[spring], expected[spring])
    row[library.place("target_position")] += [0.2, 0.0, 0.0]
    row[1] += 1e-3
    assert code_of(library.step(row)) is Code.TARGET_JUMP


def test_times_that_are_none_are_refused(library: Library) -> None:
    for name in ("ease", "follow"):
        assert library.call(name, -1.0, kinds=SECONDS) == Code.NOT_FINITE
        assert library.native.function(f"fr3_wall_{name}", ctypes.c_double)(None, 0.1) == Code.NULL

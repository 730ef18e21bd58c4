"""Poles of the loop's own map beside closed forms, which the loop knows nothing of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import palpate as pp
from palpate.cli.main import main
from palpate.control import ComputedTorque, DirectForce, PoleBalance, PythonLaw
from palpate.control.design.pole import PoleModel
from palpate.control.references.reference import Hold
from palpate.robot import load_robot
from palpate.run import Run, poles
from palpate.run.assemble.assemble import assemble
from palpate.run.saved import carried_words
from palpate.run.simulate import as_run
from palpate.run.tangent.along import poles_along
from palpate.run.tangent.loop_poles import poles_here, run_until
from palpate.world.clock import Clock
from palpate.world.config import Driver, PlantChange, Push, Sensors, Surface, World

M, T, KP, KD = 5.0, 1e-3, 900.0, 60.0  # of the first of two sliding axes, 3 kg + 2 kg
K_W, D_W = 4000.0, 20.0


def held(mass: float, stiffness: float = 0.0, damping: float = 0.0, period: float = T) -> tuple[np.ndarray, np.ndarray]:
    """Φ and Γ of m ẍ = −k x − d ẋ + u with u held over a period, exactly."""
    A = np.zeros((3, 3))
    A[0, 1], A[1] = 1.0, [-stiffness / mass, -damping / mass, 1.0 / mass]
    whole = expm(A * period)
    return whole[:2, :2], whole[:2, 2]


def late(Phi: np.ndarray, Gamma: np.ndarray, feedback: np.ndarray, delay: int) -> np.ndarray:
    """x⁺ = Φ x + Γ u(d ticks ago), u = −feedback x."""
    n = len(Phi) + delay
    A = np.zeros((n, n))
    A[:2, :2] = Phi
    if delay == 0:
        A[:2, :2] -= np.outer(Gamma, feedback)
        return A
    A[:2, -1], A[2, :2] = Gamma, -feedback
    for k in range(3, n):
        A[k, k - 1] = 1.0
    return A


def matched(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest distance of an expected pole from the found one nearest to it, each found one taken once."""
    left, worst = list(found), 0.0
    for pole in sorted(expected, key=abs, reverse=True):
        k = int(np.argmin([abs(x - pole) for x in left]))
        worst = max(worst, abs(left.pop(k) - pole))
    return worst


def _axes() -> pp.Robot:
    return load_robot("cartesian2", mass=(3.0, 2.0))


def _home_x() -> float:
    return float(_axes().pose(_axes().home).position[0])


def sliding_axes(world: World | None = None, law: Any = None, reference: Any = None, **clock: Any) -> Run:
    made = Clock(duration=0.5, timestep=1e-3, integrator="rk4", **clock)
    return Run(_axes(), law or ComputedTorque(kp=KP, kd=KD), world or World(), reference or Hold(), clock=made)


def wall(**changes: Any) -> Surface:
    """A wall that presses the tool at home, 5 mm deep, without friction."""
    settings: dict[str, Any] = {"stiffness": K_W, "damping": D_W, "friction": 0.0} | changes
    return Surface(name="wall", position=(_home_x() - 5e-3, 0, 0), normal=(-1, 0, 0), **settings)


FEEDBACK = M * np.array([KP, KD])


@pytest.mark.parametrize("delay", [0, 1, 4])
def test_a_sampled_mass_on_a_wall_has_the_poles_of_its_exact_sampling(delay: int) -> None:
    result = poles(sliding_axes(World(surfaces=(wall(),), driver=Driver(delay=delay))))
    expected = np.linalg.eigvals(late(*held(M, K_W, D_W), FEEDBACK, delay))
    assert result.contact == {"wall": "slides"}
    assert result.not_differentiable is None
    assert result.not_known is None
    assert matched(result.poles, expected) < 1e-8


def test_late_sensors_and_late_commands_add_up() -> None:
    result = poles(sliding_axes(World(sensors=Sensors(delay=2), driver=Driver(delay=1))))
    assert matched(result.poles, np.linalg.eigvals(late(*held(M), FEEDBACK, 3))) < 1e-8


def test_a_filter_of_the_driver_is_a_state() -> None:
    """y ← y + g (u − y) before the mass takes y."""
    cutoff = 40.0
    g = T / (T + 1.0 / (2.0 * math.pi * cutoff))
    (Phi, Gamma), A = held(M, K_W, D_W), np.zeros((3, 3))
    A[2, :2], A[2, 2] = -g * FEEDBACK, 1.0 - g
    A[:2] = np.outer(Gamma, A[2])
    A[:2, :2] += Phi
    result = poles(sliding_axes(World(surfaces=(wall(),), driver=Driver(cutoff=cutoff))))
    assert matched(result.poles, np.linalg.eigvals(A)) < 1e-8


def test_a_rotor_that_the_law_does_not_know_is_in_the_poles() -> None:
    result = poles(sliding_axes(World(plant=PlantChange(rotor_inertia=(2.0, 0.0)))))
    assert matched(result.poles, np.linalg.eigvals(late(*held(M + 2.0), FEEDBACK, 0))) < 1e-8


def test_a_slower_control_period_is_one_map() -> None:
    result = poles(sliding_axes(World(surfaces=(wall(),)), rate=250))
    expected = np.linalg.eigvals(late(*held(M, K_W, D_W, 4e-3), FEEDBACK, 0))
    assert result.period == pytest.approx(4e-3)
    assert matched(result.poles, expected) < 1e-7


def test_a_servo_behind_a_position_law_in_plain_python_has_its_poles() -> None:
    """τ = M (ω² e + 2 ω ė) at every physics step; ė = −v of a set point that stands still."""
    law = PythonLaw(lambda tick, gains, memory: {"q": tick.target.q}, terms=("q",), command="position")
    w = 60.0
    run = sliding_axes(World(driver=Driver(servo_bandwidth=w), plant=PlantChange(rotor_inertia=(1e-9, 0.0))), law)
    result = poles(run)
    Phi, Gamma = held(M)
    expected = np.linalg.eigvals(Phi - np.outer(Gamma, M * np.array([w * w, 2.0 * w])))
    assert result.not_known is None
    assert matched(result.poles, expected) < 1e-6


def test_an_integral_of_the_force_is_a_state() -> None:
    """I⁺ = I + T k_i (F_d − F), F = −k x − d v on the tool; u = −D v − (1 + k_p)(F_d − F) − I⁺."""
    k_p, k_i, D = 0.5, 8.0, 40.0
    law = DirectForce(
        force=("x",), motion=("y",), proportional=k_p, integral=k_i, stiffness=(400,) * 6, damping=(D,) * 3 + (1,) * 3
    )
    result = poles(sliding_axes(World(surfaces=(wall(),)), law, Hold(wrench=(-10.0, 0, 0, 0, 0, 0))))
    Phi, Gamma = held(M, K_W, D_W)
    F = -np.array([K_W, D_W])
    u = np.zeros(3)
    u[:2] = k_p * F + [0.0, -D] + T * k_i * F
    u[2] = -1.0
    A = np.zeros((3, 3))
    A[:2, :2] = Phi
    A[:2] += np.outer(Gamma, u)
    A[2, :2], A[2, 2] = -T * k_i * F, 1.0
    assert matched(result.poles, np.linalg.eigvals(A)) < 1e-8
    assert any("integral" in name for name in result.states)


LIMITS = [(1, 0.0, 3.162e6), (1, 100.0, 1.124e6), (2, 0.0, 1.106e6), (2, 100.0, 0.4826e6)]
SLIDE, STIFF, DAMP = 3.0, 1000.0, 2 * 0.7 * math.sqrt(3.0 * 1000.0)


def filtered_and_late(wall_stiffness: float, delay: int, cutoff: float) -> np.ndarray:
    """x⁺ = Φ x + Γ y, y ← y + g (u(d ticks ago) − y), u = −K x − D v, over (x, v, u₁ … u_d, y)."""
    (Phi, Gamma), n = held(SLIDE, wall_stiffness), 3 + delay
    g = T / (T + 1.0 / (2.0 * math.pi * cutoff)) if cutoff else 1.0
    A = np.zeros((n, n))
    A[-1, -2], A[-1, -1] = g, 1.0 - g
    A[:2] = np.outer(Gamma, A[-1])
    A[:2, :2] += Phi
    A[2, :2] = [-STIFF, -DAMP]
    for k in range(3, 2 + delay):
        A[k, k - 1] = 1.0
    return A


def limit_in_theory(delay: int, cutoff: float) -> float:
    low, high = 1e4, 1e7
    while high > (1.0 + 1e-9) * low:
        k = math.sqrt(low * high)
        stable = np.abs(np.linalg.eigvals(filtered_and_late(k, delay, cutoff))).max() < 1.0
        low, high = (k, high) if stable else (low, k)
    return low


@pytest.mark.parametrize(("delay", "cutoff", "limit"), LIMITS)
def test_the_largest_walls_of_a_late_and_filtered_driver_are_those_of_theory(
    delay: int, cutoff: float, limit: float
) -> None:
    """Steps of 0.05 ms under a control period of 1 ms: ω h = 0.05 on the stiffest wall, which they follow to 1e-7."""
    found = limit_in_theory(delay, cutoff)
    assert found == pytest.approx(limit, rel=5e-4)
    robot = load_robot("cartesian2", mass=(1.0, 2.0))
    law = ComputedTorque(kp=(STIFF / SLIDE,) * 2, kd=(DAMP / SLIDE,) * 2)
    x = float(robot.pose(robot.home).position[0]) + float(robot.model.geom("tip").size[0])
    for share, stable in ((0.999, True), (1.0, None), (1.001, False)):
        k = share * found
        place = (x - 50.0 / k, 0, 0)  # where a push of 50 N is balanced
        stiff = Surface(name="wall", position=place, normal=(-1, 0, 0), stiffness=k, damping=0, friction=0)
        driver = Driver(delay=delay, cutoff=cutoff, torque_limit=False, torque_rate_limit=False)
        clock = Clock(duration=0.1, timestep=5e-5, rate=1000, integrator="rk4")
        world = World(surfaces=(stiff,), driver=driver, pushes=(Push(force=(50.0, 0.0, 0.0), duration=9.0),))
        result = poles(Run(robot, law, world, clock=clock), 0.0, finer=False)
        assert result.contact == {"wall": "slides"}
        expected = np.linalg.eigvals(filtered_and_late(k, delay, cutoff))
        assert matched(result.poles, expected[np.abs(expected) > 1e-9]) < 1e-6
        assert stable is None or result.stable is stable


def test_exercise_3_has_all_its_eigenvalues_at_minus_7() -> None:
    """Of a double pole the mean is well conditioned, each of the two is not: half the trace, and the product."""
    scenario = pp.load_scenario("cartesian2-eigenvalues").replace(run__integrator="rk4", run__timestep=1e-4)
    result = poles(scenario)
    T, one = result.period, np.array([[0.0, 1.0], [-49.0, -14.0]])
    Phi, Gamma = held(1.0, period=T)
    sampled = Phi - np.outer(Gamma, [49.0, 14.0])
    for k in range(2):
        block = result.A[np.ix_([k, 2 + k], [k, 2 + k])]
        assert np.trace(block) == pytest.approx(np.trace(sampled), abs=1e-9)
        assert np.linalg.det(block) == pytest.approx(np.linalg.det(sampled), abs=1e-9)
        # (A − 1)/T → the continuous matrix, whose eigenvalues are −7 twice
        assert np.trace(block - np.eye(2)) / T / 2 == pytest.approx(-7.0, rel=5e-4)
    assert np.linalg.eigvals(one) == pytest.approx([-7.0, -7.0], abs=1e-6)
    assert np.mean(np.real(result.rates)) == pytest.approx(-7.0, rel=1e-3)


def test_the_pole_on_a_tool_has_the_poles_of_its_regulator() -> None:
    """Each horizontal axis (x_A, ẋ_A, x_AB, ẋ_AB) under u = −K x held over a period; K from the Riccati equation."""
    scenario = pp.load_scenario("pole-alone").replace(run__integrator="rk4")
    result, law = poles(scenario), scenario.control
    assert isinstance(law, PoleBalance)
    model = PoleModel(1.0, 0.1, law.end_effector_mass)
    A, B = model.linear_axis()
    weights = [law.position_weight, law.velocity_weight, law.tilt_weight, law.tilt_rate_weight]
    K = model.gains(True, weights, law.effort_weight)
    whole = expm(np.block([[A, B], [np.zeros((1, 5))]]) * result.period)
    expected = np.linalg.eigvals(whole[:4, :4] - whole[:4, 4:] @ K.reshape(1, 4))
    assert matched(result.poles, np.concatenate([expected, expected])) < 1e-6
    assert result.stable


class TestPanda:
    """A Panda at a wall: values that the run itself confirms."""

    def test_ideal_joints_on_the_wall(self) -> None:
        result = poles(pp.load_scenario("panda-wall").replace(robot__joints="ideal"), 3.9)
        assert np.abs(result.poles[:4]) == pytest.approx([0.99701, 0.99599, 0.99533, 0.99485], abs=6e-6)
        assert result.contact == {"wall": "sticks"}
        assert any("foot" in name for name in result.neutral)
        assert result.stable
        assert result.of_simulation is False

    def test_two_ticks_late_ideal_joints_shake_in_the_air(self) -> None:
        result = poles(pp.load_scenario("panda-wall").replace(robot__joints="ideal", world__driver__delay=2), 0.01)
        assert result.largest == pytest.approx(1.06266, abs=1e-5)
        assert result.stable is False
        assert result.modes[0].joint == "joint7"

    def test_twenty_ticks_late_is_unstable_in_the_air_and_stable_where_it_sticks(self) -> None:
        scenario = pp.load_scenario("panda-wall").replace(world__driver__delay=20)
        air, pressed = poles(scenario, 0.1, finer=False), poles(scenario, 3.5, finer=False)
        assert air.largest == pytest.approx(1.0006, abs=1e-4)
        assert air.stable is False
        assert pressed.largest == pytest.approx(0.9987, abs=1e-4)
        assert pressed.stable
        assert air.held
        assert "friction" in air.held[0]

    def test_a_delay_line_that_is_not_filled_yet_is_filled_first(self) -> None:
        scenario = pp.load_scenario("panda-wall").replace(world__driver__delay=20)
        early, later = poles(scenario, 0.0, finer=False), poles(scenario, 0.05, finer=False)
        assert early.time == pytest.approx(0.021)
        assert early.largest == pytest.approx(later.largest, abs=1e-4)


def test_b_and_c_are_those_of_the_mass() -> None:
    """x⁺ gains Γ per newton held at the tool; the twist is the axis's velocity."""
    result = poles(sliding_axes(World(surfaces=(wall(),))))
    _, Gamma = held(M, K_W, D_W)
    assert result.B[[0, 2], 0] == pytest.approx(Gamma, rel=1e-6)
    assert result.C[0, 2] == pytest.approx(1.0, abs=1e-8)
    assert result.C[0, 0] == pytest.approx(0.0, abs=1e-8)


def test_a_joint_at_its_torque_limit_has_no_derivative_and_is_named() -> None:
    """A law that asks for exactly the limit: a little less passes, a little more is cut."""
    robot = load_robot("panda")
    limit = float(robot.limits.torque[3])

    def law(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
        torque = tick.bias - 20.0 * tick.v - 50.0 * (tick.q - robot.home)
        torque[3] = limit - 5.0 * tick.v[3]
        return {"torque": torque}

    world = World(driver=Driver(torque_rate_limit=False))
    result = poles(Run(robot, PythonLaw(law), world, clock=Clock(duration=0.01)), 0.0)
    assert result.not_differentiable == "joint4's torque limit"
    assert result.stable is None


def test_a_joint_well_beyond_its_torque_limit_is_told() -> None:
    robot = load_robot("panda")
    law = PythonLaw(lambda tick, gains, memory: {"torque": tick.bias + 500.0 * (np.arange(7) == 3)})
    world = World(driver=Driver(torque_rate_limit=False))
    result = poles(Run(robot, law, world, clock=Clock(duration=0.01)), 0.002)
    assert result.not_differentiable is None
    assert result.limits == ("joint4's torque limit",)


def test_a_tick_that_does_not_repeat_itself_is_not_predicted() -> None:
    count = {"ticks": 0}

    def law(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
        count["ticks"] += 1
        return {"torque": -tick.q * (100 + count["ticks"]) - 5.0 * tick.v + 0.1}

    result = poles(sliding_axes(law=PythonLaw(law)))
    assert result.stable is None
    assert result.not_known is not None
    assert "repeat" in result.not_known


def test_numbers_in_the_memory_of_a_plain_law_are_states() -> None:
    """An integrator in a dictionary, and the same in an array: the poles of PID control."""
    k_i = 4000.0

    def by_dictionary(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
        memory["sum"] += tick.dt * float(tick.target.q[0] - tick.q[0])
        return {
            "torque": M * (KP * (tick.target.q - tick.q) - KD * tick.v) + k_i * memory["sum"] * np.array([1.0, 0.0])
        }

    def by_array(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
        memory[0] += tick.dt * (tick.target.q[0] - tick.q[0])
        return {"torque": M * (KP * (tick.target.q - tick.q) - KD * tick.v) + k_i * memory[0] * np.array([1.0, 0.0])}

    (Phi, Gamma), A = held(M), np.zeros((3, 3))
    u = -np.array([M * KP + T * k_i, M * KD, -k_i])
    A[:2] = np.outer(Gamma, u)
    A[:2, :2] += Phi
    A[2] = [-T, 0.0, 1.0]
    for law, memory in ((by_dictionary, {"sum": 0.0}), (by_array, np.zeros(1))):
        result = poles(sliding_axes(law=PythonLaw(law, memory=memory)))
        assert result.not_known is None, result.not_known
        assert matched(result.poles, np.linalg.eigvals(A)) < 1e-8


def test_poles_of_a_step_that_is_too_long_are_told_apart_from_those_of_the_arm() -> None:
    """A semi-implicit step of h is unstable beyond k h²/m = 4, where the arm itself is not."""
    k = 5.0 * M / (1e-3) ** 2
    stiff = wall(stiffness=k, damping=2000.0).model_copy(update={"position": (_home_x() - 1e-4, 0, 0)})

    def pressed(clock: Clock) -> Run:
        return Run(_axes(), ComputedTorque(kp=KP, kd=KD), World(surfaces=(stiff,)), clock=clock)

    rough = poles(pressed(Clock(duration=0.1, timestep=1e-3)), 0.0)
    fine = poles(pressed(Clock(duration=0.1, timestep=5e-5, period=1e-3)), 0.0)
    assert rough.stable is False
    assert rough.of_simulation is True
    assert fine.stable is True
    assert fine.of_simulation is False


def test_exact_contact_is_not_known() -> None:
    result = poles("planar2-pinned")
    assert result.stable is None
    assert result.not_known is not None
    assert "exact" in result.not_known


@pytest.mark.parametrize(("name", "at"), [("panda-wall", 3.5), ("panda-slide", "end"), ("floating-stand", "end")])
def test_the_engine_and_the_equations_have_the_same_poles(name: str, at: Any) -> None:
    scenario = pp.load_scenario(name)
    equations = poles(scenario, at, finer=False)
    engine = poles(scenario.replace(run__physics="engine"), at, finer=False)
    assert len(equations.poles) == len(engine.poles)
    assert matched(engine.poles, equations.poles) < 1e-6
    assert engine.neutral == equations.neutral


def test_the_memory_of_an_admittance_behind_its_servo_is_a_state() -> None:
    """M ẍ + D ẋ + K x = 0 of the compliant frame, speeds first, in each direction; the arm does not change it."""
    T, m, d, k = 1e-3, 5.0, 14.142, 10.0
    step = np.array([[1.0 - T * T * k / m, T * (1.0 - T * d / m)], [-T * k / m, 1.0 - T * d / m]])
    result = poles("ur5e-admittance", finer=False)
    expected = np.linalg.eigvals(step)
    assert np.sum(np.abs(result.poles - expected[0]) < 1e-6) + np.sum(np.abs(result.poles - expected[1]) < 1e-6) >= 6
    assert result.largest == pytest.approx(np.abs(expected).max(), abs=2e-6)


def test_a_camera_and_its_estimator_repeat_themselves_after_some_pictures() -> None:
    """50 ticks for three pictures: the product of the maps is the map of the run over all of them."""
    scenario = pp.load_scenario("iiwa14-pole-camera").replace(world__sensors__camera__noise=0.0)
    result = poles(scenario, 9.9, finer=False)
    assert result.ticks == 50
    assert result.stable
    assert matched_by_moving(scenario, 9.9, 50) < 1e-5


def matched_by_moving(scenario: pp.Scenario, at: float, ticks: int) -> float:
    """The largest difference between a map and runs that were moved at its start, over joints and some others."""
    assembly = assemble(as_run(scenario))
    run_until(assembly, round(at / assembly.loop.period))
    result = poles_here(assembly, finer=False, probing=False)
    plant, words, worst = assembly.loop.plant, carried_words(assembly), 0.0
    start = words.save()
    moved = [(plant.qvel, k, f"loop.plant.qvel[{k}]") for k in range(plant.nv)]
    moved += [(plant.qpos, k, f"loop.plant.qpos[{k}]") for k in (1, 3)]
    rows = [result.states.index(f"loop.plant.qvel[{k}]") for k in range(plant.nv)]
    for array, k, name in moved:
        ends = []
        for side in (1e-6, -1e-6):
            words.restore(start)
            array[k] += side
            assert run_until(assembly, assembly.loop.tick_count + ticks)
            ends.append(np.array(plant.qvel))
        worst = max(worst, float(np.abs((ends[0] - ends[1]) / 2e-6 - result.A[rows, result.states.index(name)]).max()))
    return worst


def test_a_compensated_dry_friction_is_held_with_its_compensation() -> None:
    """Near rest the compensation alone would be a negative damper: τ = F v / v₀."""
    result = poles("panda-operational-space", finer=False)
    assert result.stable
    assert any("compensation" in text for text in result.held)


def test_poles_leave_the_run_where_it_stands() -> None:
    assembly = assemble(as_run("panda-wall"))
    run_until(assembly, 1500)
    before = carried_words(assembly).save()
    poles_here(assembly)
    assert np.array_equal(carried_words(assembly).save(), before)
    assert assembly.loop.friction.on
    assert run_until(assembly, 1600)


def test_a_run_is_asked_where_it_touches_and_at_its_end() -> None:
    moments = poles_along(pp.load_scenario("panda-wall").replace(world__driver__delay=20), finer=False)
    assert [moment.name for moment in moments] == ["start", "touching wall", "end"]
    assert [moment.poles.stable for moment in moments] == [False, True, True]


def test_a_loop_that_bounces_is_asked_in_contact_too() -> None:
    """Direct force control on a wall that is too stiff: free of contact nothing is wrong with it."""
    changes = {"control__integral": 44.0, "control__damping": [22.4] * 3 + [0.56] * 3, "world__driver__cutoff": 60.0}
    scenario = pp.load_scenario("cartesian2-press").replace(world__surfaces__wall__stiffness=8800.0, **changes)
    last = [moment.poles for moment in poles_along(scenario, finer=False) if moment.name == "end"]
    assert {state for found in last for state in found.contact.values()} == {"free", "slides"}
    assert [found.stable for found in last if found.contact["wall"] == "slides"] == [False]


def test_the_command_shows_one_line_for_each_moment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", "panda-wall", "--set", "world.driver.delay=20", "--poles"]) == 3
    out = capsys.readouterr().out
    assert "touch of 'wall'" in out
    assert "1.000653" in out
    assert main(["design", "panda-wall", "--poles"]) == 0

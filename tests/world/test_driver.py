"""The driver between law and joint: its filter, limits and lost packets against closed forms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.one_axis import largest_wall

import palpate as pp
from palpate.control import Admittance, GravityCompensation, JointImpedance, Passive, PythonLaw
from palpate.control.references.motions import Line
from palpate.engine.kernels import kernel
from palpate.errors import InvalidInput, ScenarioError
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.trace import Recording
from palpate.world.clock import Clock
from palpate.world.config import Driver, PlantChange, Push, Surface, World
from palpate.world.driver import PRESETS, SERVO_GIVE, filter_gain, servo_rotors
from palpate.world.sensing.faults import LOSS
from palpate.world.sensing.noise import uniform

MASS, STIFFNESS, DAMPING = 3.0, 1000.0, 2 * 0.7 * math.sqrt(1000.0 * 3.0)  # of one axis


def slide(gravity: float = 0.0):
    """A mass of 3 kg on a slide, a second axis of 2 kg on it."""
    return load_robot("cartesian2", mass=[1.0, 2.0], gravity=gravity)


def step_of(torque: float, **extra):
    """The joint torques of a step command at the first tick, behind libfranka's filter and limit on a slide."""
    law = PythonLaw(lambda tick, gains, memory: {"torque": np.full(tick.v.size, torque)})
    facts = {"cutoff": PRESETS["libfranka"].cutoff, "torque_rate_limit": PRESETS["libfranka"].torque_rate_limit}
    driver = Driver(torque_limit=False, **{**facts, **extra})
    clock = Clock(duration=0.05, rate=1000, max_speed=1e6)
    return simulate(Run(slide(), law, World(driver=driver), clock=clock))["tau"][:, 0]


def test_the_filters_gain_is_the_makers() -> None:
    assert filter_gain(100.0, 1e-3) == pytest.approx(0.385869545, abs=5e-10)
    assert filter_gain(0.0, 1e-3) == 1.0


def test_a_step_passes_the_limiter_alone_in_41_ticks() -> None:
    tau = step_of(40.0, cutoff=0.0)
    np.testing.assert_allclose(tau[:40], 0.999999 * np.arange(1, 41), rtol=1e-12)
    assert tau[39] < 40.0
    assert (tau[40:] == 40.0).all()


def test_a_step_passes_filter_and_limiter_as_the_makers_own_code_lets_it() -> None:
    """The filter goes on from what the limiter let pass: its gain times the gap, once that is below the limit."""
    tau = step_of(40.0)
    np.testing.assert_allclose(tau[38:41], [38.771716, 39.245673, 39.536745], atol=5e-7)
    gain, y, wanted = filter_gain(100.0, 1e-3), 0.0, []
    for _ in range(50):
        y += min(gain * (40.0 - y), 0.999999)
        wanted.append(y)
    np.testing.assert_allclose(tau[:50], wanted, rtol=1e-13)


@pytest.mark.parametrize(
    ("late", "cutoff", "limit"),
    [(1, None, 3.162e6), (1, 100.0, 1.124e6), (2, None, 1.106e6), (2, 100.0, 0.483e6)],
)
def test_the_filter_costs_the_largest_stable_wall(late: int, cutoff: float | None, limit: float) -> None:
    """m = 3 kg, K = 1000 N/m, ζ = 0.7, 1 kHz: in closed form to 0.1 %, and a simulation of 0.05 ms within 2 %."""
    loop = {"period": 1e-3, "delay": late, "cutoff": cutoff}
    found = largest_wall(MASS, STIFFNESS, DAMPING, 2e4, 1.3 * limit, **loop)
    assert found == pytest.approx(limit, rel=1e-3)
    driver = Driver(delay=late, cutoff=cutoff)
    assert growth(found * 0.98, driver) < 0 < growth(found * 1.02, driver)


def growth(stiffness: float, driver: Driver) -> float:
    """Whether the ringing of the slide on a wall grows (log of the ratio of late to early), pressed all the time."""
    pressed = 50.0 / stiffness  # by a push, as no command has arrived at the start; the tip's radius is 10 mm

    def law(tick, gains, memory):
        force = STIFFNESS * (pressed - tick.q[0]) - DAMPING * tick.v[0]
        return {"torque": np.array([force, -100.0 * tick.q[1] - 20.0 * tick.v[1]])}

    wall = Surface(position=(0.01, 0.0, 0.0), normal=(-1.0, 0.0, 0.0), stiffness=stiffness, damping=0.0)
    driver = driver.model_copy(update={"torque_limit": False})
    world = World(surfaces=(wall,), driver=driver, pushes=(Push(force=(50.0, 0.0, 0.0)),))
    clock = Clock(duration=0.3, timestep=5e-5, rate=1000, integrator="rk4")
    trace = simulate(Run(slide(), PythonLaw(law), world, clock=clock, q_start=[pressed, 0.0], v_start=[1e-4, 0.0]))
    assert trace["contact_force"].min() > 0.0
    depth = np.abs(trace["q"][:, 0] - pressed)
    return math.log(depth[-2000:].max() / depth[1000:3000].max())


def ticks_until_stopped(count: int, seed: int, duration: float = 20.0) -> int:
    """The tick at which `count` commands in a row were lost, each with probability ½."""
    world = World(driver=Driver(loss=0.5, stop_after=count))
    clock = Clock(duration=duration, rate=1000, seed=seed)
    record = Recording(("q",), 1000)
    trace = simulate(Run(slide(), GravityCompensation(), world, clock=clock, record=record))
    assert trace.outcome.kind == "stopped"
    assert f"{count} commands in a row lost" in trace.outcome.reason
    return trace.outcome.tick + 1


def mean_wait(count: int) -> float:
    """Mean ticks until n losses in a row of probability p: (1 − pⁿ)/((1 − p) pⁿ)."""
    return (1 - 0.5**count) / (0.5 * 0.5**count)


def test_the_arm_stops_after_so_many_lost_commands_in_a_row() -> None:
    assert mean_wait(20) == 2_097_150
    expected, runs = mean_wait(8), 60  # 510 ticks; their standard deviation is nearly the same
    found = np.mean([ticks_until_stopped(8, seed) for seed in range(runs)])
    assert found == pytest.approx(expected, rel=3 / math.sqrt(runs))


def test_twenty_losses_in_a_row_come_once_in_two_million_ticks_exactly() -> None:
    """By the Markov chain of k losses in a row, t_k = 1 + ½ t_{k+1} + ½ t_0 with t_20 = 0, solved in fractions."""
    of_start, beside = Fraction(0), Fraction(0)  # t_k = of_start · t_0 + beside
    for _ in range(20):
        of_start, beside = Fraction(1, 2) * of_start + Fraction(1, 2), Fraction(1, 2) * beside + 1
    assert beside / (1 - of_start) == 2_097_150 == mean_wait(20)


@kernel
def _ticks_until(count: int, seed: int) -> int:
    """The same count as the loop's, without a loop: ticks until so many numbers in a row are below ½."""
    in_row, tick = 0, 0
    while in_row < count:
        in_row = in_row + 1 if uniform(seed, LOSS, tick) < 0.5 else 0
        tick += 1
    return tick


@pytest.mark.parametrize("seed", range(5))
def test_the_loop_loses_what_its_random_numbers_say(seed: int) -> None:
    assert ticks_until_stopped(8, seed) == _ticks_until(8, seed)


@pytest.mark.slow
def test_twenty_losses_in_a_row_are_counted() -> None:
    """The mean of a geometric wait over 400 seeds; its standard deviation is nearly the mean."""
    assert np.mean([_ticks_until(20, seed) for seed in range(400)]) == pytest.approx(mean_wait(20), rel=3 / 20)


# ------------------------------------------------------------------ set points and friction


def _set_points(command: str, wanted: float, **limits: float) -> pp.Trace:
    """The set points of a slide whose law asks for one position, or speed, from the first tick on."""
    law = PythonLaw(lambda tick, gains, memory: {"torque": np.full(tick.v.size, wanted)}, command=command)  # pyright: ignore[reportArgumentType]
    driver = Driver(servo_bandwidth=300.0, torque_limit=False, **limits)  # pyright: ignore[reportArgumentType]
    clock = Clock(duration=1.5, timestep=2.5e-4, rate=1000)
    return simulate(Run(slide(), law, World(driver=driver), clock=clock))


def test_a_speed_command_rises_within_jerk_acceleration_and_speed() -> None:
    trace = _set_points("velocity", 5.0, joint_speed_limit=1.0, joint_acceleration_limit=4.0, joint_jerk_limit=40.0)
    v, T = trace["v"][:, 0], trace.time[1]
    assert v[-1] == pytest.approx(1.0, rel=1e-6)
    assert v.max() < 1.01
    assert np.diff(v[::4]).max() / (4 * T) == pytest.approx(4.0, rel=0.03)  # per tick: the servo follows its steps
    # 0.1 s to reach the acceleration by its jerk, v = 0.2 m/s; then 4 m/s²; from 0.9 m/s on it fades as 10 (1 − v).
    reaches = 0.1 + (0.6 - 0.2) / 4.0
    assert trace.time[np.searchsorted(v, 0.6)] == pytest.approx(reaches, abs=0.012)  # the servo lags by 2/300 s


def test_shaped_set_points_are_the_same_in_both_directions() -> None:
    """Jerk, acceleration and its fading near the largest speed hold towards −v_max as towards v_max."""
    limits = {"joint_speed_limit": 1.0, "joint_acceleration_limit": 4.0, "joint_jerk_limit": 40.0}
    up, down = (_set_points("velocity", sign * 5.0, **limits) for sign in (1.0, -1.0))
    np.testing.assert_allclose(down["v"], -up["v"], rtol=0.0, atol=1e-12)
    assert np.abs(down["v"]).max() > 0.99


def test_a_servo_gives_way_by_the_stated_angle_under_the_largest_torque() -> None:
    """A wrist without rotors: its own inertia and the assumed one together give τ_max / (ω² I) = SERVO_GIVE."""
    robot, driver = load_robot("iiwa14"), Driver(servo_bandwidth=200.0)
    rotors, own = servo_rotors(robot, driver), np.diag(robot.mass_matrix(robot.home))
    assumed = rotors > 0.0
    assert assumed.any()
    give = robot.limits.torque[assumed] / (200.0**2 * (own + rotors)[assumed])
    np.testing.assert_allclose(give, SERVO_GIVE, rtol=1e-12)


def test_a_speed_command_passes_unchanged_below_its_limits() -> None:
    limited = _set_points("velocity", 0.5, joint_speed_limit=1.0, joint_acceleration_limit=1e4)
    np.testing.assert_allclose(limited["v"], _set_points("velocity", 0.5)["v"], atol=1e-12)


def test_a_position_command_runs_at_the_speed_limit() -> None:
    trace = _set_points("position", 1.0, joint_speed_limit=0.8)
    q = trace["q"][:, 0]
    k = np.searchsorted(q, [0.2, 0.6])
    assert 0.4 / (trace.time[k[1]] - trace.time[k[0]]) == pytest.approx(0.8, rel=1e-3)
    assert q[-1] == pytest.approx(1.0, abs=1e-4)
    assert any("rate limit" in text for text in trace.warnings)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_driver_takes_its_share_of_friction_away(share: float) -> None:
    """A rod about the vertical, coasting: I v̇ = −(1 − s) (d v + F), its own friction alone."""
    I, d, F, v0, t = 2.0 * 0.25**2 + 0.01, 0.05, 0.04, 2.0, 0.5
    row = pp.robot.DHLink(a=0.5, mass=2.0, com=(-0.25, 0, 0), inertia=(0.01, 0.01, 0.01), friction=F, damping=d)
    robot = pp.Robot.from_dh([row]).with_gravity((0, 0, 0))
    driver = Driver(viscous_compensation=share, coulomb_compensation=share)
    clock = Clock(duration=t, timestep=1e-4, integrator="rk4")
    trace = simulate(Run(robot, Passive(), World(driver=driver), clock=clock, v_start=[v0]))
    rate = (1 - share) * d / I
    coasting = v0 if share == 1.0 else (v0 + F / d) * math.exp(-rate * t) - F / d
    assert trace["v"][-1, 0] == pytest.approx(coasting, rel=1e-4)
    added = World(driver=driver, plant=PlantChange(joint_friction=0.1))  # unknown to the maker: stays
    more = simulate(Run(robot, Passive(), added, clock=clock, v_start=[v0]))
    assert more["v"][-1, 0] < coasting - 0.1


def test_the_tools_limits_are_checked_after_the_run() -> None:
    reference = Line(offset=(0.0, 0.3, 0.0), duration=0.6)
    driver = Driver(servo_bandwidth=120.0, tool_speed_limit=(0.5, 2.5), tool_acceleration_limit=(3.0, 17.0))
    trace = simulate(Run(load_robot("ur5e"), Admittance(), World(driver=driver), reference, clock=Clock(duration=1.0)))
    assert any("the tool accelerated at" in text and "3 m/s²" in text for text in trace.warnings)
    assert any("the tool moved at 0.9" in text and "arm at 0.5" in text for text in trace.warnings)
    wide = Driver(servo_bandwidth=120.0, tool_speed_limit=(2.0, 2.5), tool_acceleration_limit=(30.0, 17.0))
    assert not simulate(
        Run(load_robot("ur5e"), Admittance(), World(driver=wide), reference, clock=Clock(duration=1.0))
    ).warnings


def test_a_lost_command_is_held() -> None:
    law = PythonLaw(lambda tick, gains, memory: {"torque": np.full(tick.v.size, 1.0 + tick.t)})
    trace = simulate(Run(slide(), law, World(driver=Driver(loss=0.3)), clock=Clock(duration=0.5, rate=1000, seed=4)))
    tau, command = trace["tau"][:, 0], trace["command"][:, 0]
    fresh = tau == command
    assert 0.6 < fresh.mean() < 0.8
    held = ~fresh
    held[0] = False
    assert (tau[1:][held[1:]] == tau[:-1][held[1:]]).all()
    assert any("lost" in text for text in trace.warnings)


def test_a_command_acts_up_to_the_jitter_later() -> None:
    law = PythonLaw(lambda tick, gains, memory: {"torque": np.full(tick.v.size, 1.0 + tick.t)})
    clock = Clock(duration=1.0, timestep=1e-4, rate=1000, seed=2)
    trace = simulate(Run(slide(), law, World(driver=Driver(jitter=4e-4)), clock=clock))
    tau = trace["tau"][:, 0]
    late = np.flatnonzero(np.diff(tau)) + 1
    counts = np.bincount(late % 10, minlength=10)
    assert (counts[5:] == 0).all()
    assert counts[1:5] == pytest.approx(250, abs=60)  # uniform over (0, 0.4] ms, whole steps


def test_gravity_that_the_interface_adds_is_neither_filtered_nor_added_twice() -> None:
    """A law that compensates gravity, and one that does not, both hold the arm: the first one's part is not sent."""
    robot = load_robot("panda")
    held = robot.gravity(robot.home)
    both = JointImpedance(stiffness=50.0, damping=5.0)
    silent = PythonLaw(lambda tick, gains, memory: {"torque": 50.0 * (robot.home - tick.q) - 5.0 * tick.v})
    clock = Clock(duration=0.2, rate=1000)
    for law in (both, silent):
        trace = simulate(Run(robot, law, World(driver=Driver(preset="libfranka")), clock=clock))
        np.testing.assert_allclose(trace["tau"], np.tile(held, (len(trace), 1)), atol=1e-9)
        np.testing.assert_allclose(trace["q"][-1], robot.home, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cutoff": 600.0}, "above half.*500 Hz"),
        ({"cutoff": -1.0}, "greater than or equal to 0"),
        ({"cutoff": math.inf}, "finite"),
        ({"preset": "libfrank"}, "libfranka"),
        ({"preset": "ur-direct-torque"}, "interface of ur3e, ur5e, ur10e.*panda.*another"),
        ({"torque_rate_limit": (1.0, 2.0)}, "panda has 7 joints, got 2 values"),
        ({"torque_rate_limit": -5.0}, "must not be negative"),
        ({"joint_jerk_limit": (-1.0,) * 7}, "must not be negative"),
        ({"coulomb_compensation": 1.5}, "share between 0 and 1"),
        ({"loss": 1.0}, "less than 1"),
        ({"jitter": 2e-3}, "less.*period"),
        ({"jitter": 1e-5}, "physics step"),
        ({"stop_after": -1}, "greater than or equal to 0"),
        ({"servo_bandwidth": 0.0}, "greater than 0"),
        ({"rate": 500.0}, "takes.*500 Hz.*0.001 s"),
        ({"rotor_inertia": 0.1}, "rotor_inertia"),
    ],
)
def test_a_driver_that_cannot_be_is_refused_by_name(settings, said) -> None:
    with pytest.raises(InvalidInput, match=said):
        simulate(Run(load_robot("panda"), JointImpedance(), World(driver=Driver(**settings)), clock=Clock(rate=1000)))


def test_old_keys_are_refused_with_the_new_name() -> None:
    with pytest.raises(InvalidInput, match=r"world\.actuators is now world\.driver"):
        World(actuators={"delay": 1})  # pyright: ignore[reportCallIssue]
    with pytest.raises(ScenarioError, match=r"world\.actuators is now world\.driver"):
        pp.load_scenario("panda-wall", ["world.actuators.delay=2"])


def test_what_is_given_takes_the_place_of_the_presets_number() -> None:
    driver = Driver(preset="libfranka", cutoff=0.0, stop_after=3)
    assert (driver.facts.cutoff, driver.facts.stop_after) == (0.0, 3)
    assert driver.facts.torque_rate_limit == PRESETS["libfranka"].torque_rate_limit == 999.999
    scenario = pp.load_scenario("panda-wall", ["world.driver.preset=libfranka", "world.driver.cutoff=0"])
    again = scenario.replace(run__duration=1.0)
    assert again.world.driver == scenario.world.driver

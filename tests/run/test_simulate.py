"""A run as a whole: repeatability, outcomes, recording."""

import os

import numpy as np
import pytest

from palpate.control import CartesianImpedance, GravityCompensation, JointImpedance, PythonLaw
from palpate.control.law import Target, sizes_of
from palpate.control.laws.joint_impedance import Terms
from palpate.control.references.reference import Hold
from palpate.errors import BadShape, InvalidInput, UnknownName
from palpate.robot import load_robot
from palpate.run.assemble.assemble import assemble, record_bytes
from palpate.run.run import Run
from palpate.run.simulate import execute, simulate, simulate_many
from palpate.trace import Recording, StopWhen
from palpate.world.clock import Clock
from palpate.world.config import Motion, PlantChange, Push, Sensors, Surface, World, WrenchSensor


def constant(torque):
    """A law that always asks for the same torque of every joint."""
    return PythonLaw(lambda tick, gains, memory: {"torque": np.full(tick.v.size, torque)})


SHORT = Clock(duration=0.3)


def pressing(clock=SHORT, **more):
    """A Panda that presses on a wall, with noise on every sensor."""
    robot = load_robot("panda")
    x = robot.pose(robot.home).position[0]
    wall = Surface(name="wall", position=(x + 0.015, 0, 0), normal=(-1, 0, 0), friction=0.3)
    sensors = Sensors(encoder_noise=1e-5, velocity_noise=1e-3, wrench=WrenchSensor(noise_force=0.1))
    world = World(surfaces=(wall,), sensors=sensors, pushes=(Push(force=(0, 5, 0), start=0.1, duration=0.1),))
    return Run(robot, CartesianImpedance(), world, Hold(offset=(0.03, 0, 0)), clock=clock, **more)


# ------------------------------------------------------------------------------------------------ repeatability


def test_the_same_seed_gives_the_same_bits_on_one_thread_or_two():
    once = simulate(pressing(Clock(duration=0.3, seed=7))).fingerprint()
    assert simulate(pressing(Clock(duration=0.3, seed=7))).fingerprint() == once
    many = simulate_many([pressing(Clock(duration=0.3, seed=seed)) for seed in (7, 8, 7, 8)], threads=2)
    assert [trace.fingerprint() == once for trace in many] == [True, False, True, False]
    assert many[1].fingerprint() == many[3].fingerprint()


def test_a_shared_and_a_separate_model_give_the_same_trace():
    robot = load_robot("panda")
    world = World(pushes=(Push(force=(5, -3, 4), duration=0.1),))
    parts = Run(robot, CartesianImpedance(), world, Hold(offset=(0.02, 0.01, 0)), clock=Clock(duration=0.3))
    shared, apart = assemble(parts), assemble(parts, share=False)
    assert shared.loop.shared
    assert not apart.loop.shared
    one, other = execute(shared), execute(apart)
    for name in one:
        np.testing.assert_allclose(one[name], other[name], atol=1e-9, err_msg=name)


def test_an_infinitesimally_changed_plant_gives_the_same_trace():
    robot = load_robot("iiwa14")
    parts = [
        Run(robot, JointImpedance(), World(plant=change), clock=Clock(duration=0.2), q_start=robot.home + 0.1)
        for change in (PlantChange(), PlantChange(mass_scale=1 + 1e-13))
    ]
    one, other = map(simulate, parts)
    np.testing.assert_allclose(one["q"], other["q"], atol=1e-10)


@pytest.mark.parametrize("integrator", ["euler", "implicit", "rk4"])
@pytest.mark.parametrize("period", [1e-3, 5e-3])
def test_a_law_in_python_gives_the_trace_of_the_compiled_one(integrator, period):
    robot = load_robot("ur5e")
    compiled = JointImpedance(stiffness=150.0, damping=(20.0, 20.0, 20.0, 1.0, 1.0, 0.3))
    bound = compiled.bind(robot)
    answer, kernel = Terms(sizes_of(robot)), bound.function

    def law(tick, gains, memory):
        kernel.py_func(tick, gains, memory, answer)
        return {name: getattr(answer, name).copy() for name in bound.terms}

    plain = PythonLaw(law, bound.terms, bound.command, bound.gains, bound.memory)
    world = World(pushes=(Push(force=(10, 5, 0), duration=0.05),))
    one, other = (
        simulate(Run(robot, law, world, clock=Clock(integrator=integrator, period=period, duration=0.2)))
        for law in (plain, compiled)
    )
    assert set(one) == set(other)
    for name in one:
        scale = max(1.0, np.abs(one[name]).max())
        np.testing.assert_allclose(one[name] / scale, other[name] / scale, atol=1e-12, err_msg=name)


def test_the_law_runs_once_per_control_period_and_its_command_is_held():
    times = []

    def law(tick, gains, memory):
        times.append(tick.t)
        assert tick.dt == pytest.approx(4e-3)
        return {"torque": np.array([np.sin(50 * tick.t)])}

    trace = simulate(Run(load_robot("pendulum"), PythonLaw(law), clock=Clock(duration=0.05, period=4e-3)))
    np.testing.assert_allclose(times, np.arange(13) * 4e-3, atol=1e-15)
    np.testing.assert_array_equal(trace["tau"][:48].reshape(12, 4), np.repeat(trace["tau"][:48:4], 4, axis=1))


def test_a_period_that_is_no_multiple_is_refused_with_the_nearest():
    with pytest.raises(InvalidInput, match="whole multiple") as caught:
        Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(period=2.4e-3, duration=1.0))
    assert "0.002" in str(caught.value)


# ------------------------------------------------------------------------------------------------ recording


def test_only_the_chosen_channels_are_kept_every_stride_steps():
    whole = simulate(pressing())
    parts = pressing(record=Recording(("q", "contact_wrench"), stride=10))
    assembly = assemble(parts)
    assert assembly.loop.record.shape == (31, 7 + 6)
    trace = execute(assembly)
    assert list(trace) == ["time", "q", "contact_wrench"]
    np.testing.assert_array_equal(trace["q"], whole["q"][::10])
    np.testing.assert_array_equal(trace["contact_wrench"], whole["contact_wrench"][::10])
    np.testing.assert_array_equal(trace.time, whole.time[::10])


def test_memory_grows_only_with_what_is_recorded():
    def held(duration, channels):
        loop = assemble(pressing(Clock(duration=duration), record=Recording(channels))).loop
        return sum(value.nbytes for value in loop._held.values() if isinstance(value, np.ndarray))

    assert held(11.0, ("q",)) == held(5.0, ("q",))  # the loop holds the samples of a batch
    assert held(11.0, ("q", "v")) - held(11.0, ("q",)) == 4001 * 8 * 7
    run = pressing(Clock(duration=11.0), record=Recording(("q",)))
    assert record_bytes(run, assemble(run).chosen) == 11_001 * 8 * (7 + 1)  # q and time


def test_an_unknown_channel_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="contact_wrench"):
        simulate(pressing(record=Recording(("contact_wrenches",))))


# ------------------------------------------------------------------------------------------------ outcomes


def test_an_event_stops_the_run_at_the_tick_it_happens():
    trace = simulate(pressing(stop=(StopWhen("contact_force", above=2.0),)))
    assert trace.outcome.kind == "stopped"
    assert trace.outcome.where == "contact_force"
    assert "above 2" in trace.outcome.reason
    assert trace["contact_force"][-1] > 2.0
    assert (trace["contact_force"][:-1] <= 2.0).all()
    assert trace.outcome.time == trace.time[-1]


def test_leaving_a_workspace_stops_the_run():
    robot = load_robot("panda")
    x = robot.pose(robot.home).position[0]
    events = (StopWhen("tool_position[x]", above=x + 0.01), StopWhen("tool_twist[wz]", above=50.0, magnitude=True))
    parts = Run(
        robot, CartesianImpedance(), clock=Clock(duration=1.0), reference=Hold(offset=(0.05, 0, 0)), stop=events
    )
    trace = simulate(parts)
    assert trace.outcome.kind == "stopped"
    assert trace["tool_position"][-1, 0] > x + 0.01
    below = simulate(
        Run(
            robot,
            CartesianImpedance(),
            clock=Clock(duration=1.0),
            reference=Hold(offset=(-0.05, 0, 0)),
            stop=(StopWhen("tool_position[x]", below=x - 0.01),),
        )
    )
    assert "below" in below.outcome.reason


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: StopWhen("q"), "exactly one"),
        (lambda: StopWhen("q", above=1, below=2), "exactly one"),
        (lambda: StopWhen("q", above=float("nan")), "finite"),
        (lambda: StopWhen("q", below=1, magnitude=True), "magnitude goes"),
    ],
)
def test_an_event_without_a_clear_bound_is_refused(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()


def test_an_event_on_an_unknown_column_is_refused():
    with pytest.raises(UnknownName, match="tool_position"):
        simulate(pressing(stop=(StopWhen("tool_position[X]", above=1.0),)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_term_that_is_no_number_is_named_with_joint_and_tick(value):
    def law(tick, gains, memory):
        spring = 0.0 * tick.v
        if tick.t > 0.0495:
            spring[2] = value
        return {"gravity": tick.gravity, "spring": spring}

    robot = load_robot("panda")
    trace = simulate(Run(robot, PythonLaw(law, terms=("gravity", "spring")), clock=Clock(period=2e-3, duration=1.0)))
    outcome = trace.outcome
    assert outcome.kind == "diverged"
    assert outcome.where == "tau.spring[joint3]"
    assert "'spring'" in outcome.reason
    assert "joint3" in outcome.reason
    assert (outcome.tick, outcome.time) == (25, pytest.approx(0.05))
    assert trace.time[-1] == pytest.approx(0.049)


def test_a_joint_that_moves_too_fast_is_named_and_the_trace_kept():
    trace = simulate(
        Run(
            load_robot("planar2", gravity=0.0),
            constant(50.0),
            clock=Clock(max_speed=20.0, duration=1.0),
        )
    )
    assert trace.outcome.kind == "diverged"
    assert trace.outcome.where in ("joint1", "joint2")
    assert "faster than 20 rad/s" in trace.outcome.reason
    assert len(trace) == trace.outcome.tick
    assert np.abs(trace["v"]).max() <= 20.0


def test_an_unstable_law_ends_as_a_value_not_as_an_error():
    law = JointImpedance(stiffness=1e9, damping=0.0)
    robot = load_robot("cartesian2")
    trace = simulate(Run(robot, law, clock=Clock(max_speed=1e300, duration=1.0), v_start=[0.1, 0.1]))
    assert trace.outcome.kind == "diverged"
    assert np.isfinite(trace["q"]).all()


def test_a_warning_of_the_engine_ends_the_run():
    # Beyond 1e10 MuJoCo warns of a bad velocity; our own speed limit is out of the way.
    trace = simulate(Run(load_robot("cartesian2"), constant(1e15), clock=Clock(max_speed=1e300, duration=0.1)))
    assert trace.outcome.kind == "diverged"
    assert "warned of 'bad" in trace.outcome.reason


def test_the_clock_of_the_engine_rises_with_ours():
    assembly = assemble(Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=0.01)))
    execute(assembly)
    assert assembly.data.time == pytest.approx(0.01)

    def meddling(tick, gains, memory):
        broken.data.time = 5.0
        return {"torque": 0.0 * tick.v}

    broken = assemble(Run(load_robot("pendulum"), PythonLaw(meddling), clock=Clock(duration=1.0)))
    trace = execute(broken)
    assert "engine's time did" in trace.outcome.reason


class Bad:
    """Holds, until its target is no number at 20 ms."""

    def sample(self, times, robot, q_start):
        rows = Hold().sample(times, robot, q_start)
        rows[times > 0.0195, 3] = np.nan
        return rows


def test_a_reference_that_is_no_number_ends_the_run_there():
    trace = simulate(Run(load_robot("panda"), GravityCompensation(), clock=Clock(duration=1.0), reference=Bad()))
    assert trace.outcome.kind == "diverged"
    assert "finite number" in trace.outcome.reason
    assert (trace.outcome.tick, len(trace)) == (20, 20)


def test_a_reference_of_the_wrong_width_is_refused():
    class Narrow:
        def sample(self, times, robot, q_start):
            return np.zeros((len(times), 3))

    robot = load_robot("pendulum")
    with pytest.raises(BadShape, match=str(Target.width(sizes_of(robot)))):
        simulate(Run(robot, GravityCompensation(), clock=Clock(duration=1.0), reference=Narrow()))


def test_ctrl_c_leaves_the_trace_up_to_there():
    def stop(time, duration):
        if time > 4.5:
            raise KeyboardInterrupt

    trace = simulate(Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=20.0)), progress=stop)
    assert trace.outcome.kind == "interrupted"
    assert 4.5 < trace.time[-1] < 9.0
    assert len(trace) == trace.outcome.tick


def test_progress_is_told_as_time_goes_on():
    told = []
    simulate(
        Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=9.0)),
        progress=lambda t, end: told.append((t, end)),
    )
    assert {end for _, end in told} == {9.0}
    assert len(told) >= 3
    assert [t for t, _ in told] == sorted(t for t, _ in told)
    assert told[-1][0] == pytest.approx(9.0)


def test_no_log_file_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    law = constant(1e15)
    simulate(Run(load_robot("cartesian2"), law, clock=Clock(max_speed=1e300, duration=0.1)))
    assert os.listdir(tmp_path) == []


def test_a_long_moving_world_runs_to_its_end_in_batches():
    robot = load_robot("planar2", gravity=0.0)
    wall = Surface(
        name="wall", position=(0, 5.0, 0), normal=(0, -1, 0), motion=Motion(amplitude=(0, 0.1, 0), frequency=2)
    )
    trace = simulate(Run(robot, GravityCompensation(), World(surfaces=(wall,)), clock=Clock(duration=9.0, period=3e-3)))
    assert trace.outcome.kind == "completed"
    np.testing.assert_allclose(trace["surface.wall"][:, 1], 5 + 0.1 * np.sin(4 * np.pi * trace.time), atol=1e-12)


def test_a_laws_own_gains_are_told_before_those_it_shares():
    trace = simulate(Run(load_robot("panda"), CartesianImpedance(), clock=Clock(duration=0.002)))
    names = [gain["name"] for gain in trace.facts.gains]
    assert names[:2] == ["stiffness", "damping_ratio"]  # damping follows from the ratio, and was not given
    assert names.index("posture_stiffness") < names.index("avoid_rate")
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("channel", ["tool_quat_wxyz", "target_position", "target_wrench", "energy.kinetic", "v"])
def test_a_channel_recorded_alone_is_what_it_is_among_all(channel):
    clock = Clock(duration=0.02)
    alone = simulate(pressing(clock, record=Recording(channels=(channel,))))
    np.testing.assert_array_equal(alone[channel], simulate(pressing(clock))[channel])

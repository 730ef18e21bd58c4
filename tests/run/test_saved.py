"""What a run carries from tick to tick is declared, all of it: restored alone, it goes on bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.control import GravityCompensation, JointImpedance, PythonLaw
from palpate.engine.carried import CarriedWords, carried_fields, carried_memory, marks_any
from palpate.engine.records import Carried, Kept, Record, State, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.loop.state import RUNNING
from palpate.run.run import Run
from palpate.run.saved import carried_words, restore_state, save_state
from palpate.run.simulate import as_run, fill_targets, stepper
from palpate.run.stepping import Ending
from palpate.scenario.file.folders import shipped
from palpate.world.clock import Clock
from palpate.world.config import Attachment, Driver, Sensors, World, WrenchSensor
from palpate.world.sensing.sensor import Sensor

EXACT = {f"planar2-{name}" for name in ("drop", "hybrid", "pinned", "slide", "slot")}


def advanced(assembly: Assembly, ticks: int) -> tuple[np.ndarray, int]:
    """Run some control ticks, or to the end: what was recorded, and how it stands."""
    L, ending, rows = assembly.loop, Ending(RUNNING), []
    step, end = stepper(assembly, ending), L.tick_count + ticks
    while L.tick_count < end and ending.status == RUNNING:
        now = min(200, end - L.tick_count, fill_targets(assembly, 200, ending))
        if now == 0:
            break
        goal = L.step + now * L.ratio
        while L.step < goal and ending.status == RUNNING:
            ending.status = step(goal - L.step)
            rows.append(L.record[: L.recorded].copy())
            L.recorded = 0
    return np.concatenate(rows), ending.status


def assert_goes_on(run: Run, before: int, after: int) -> None:
    """Save after some ticks, restore into a fresh assembly, and compare everything recorded after it."""
    first = assemble(run)
    _, status = advanced(first, before)
    assert status == RUNNING
    second = assemble(replace(run))
    restore_state(second, save_state(first))
    (rows, ended), (rows_restored, ended_restored) = advanced(first, after), advanced(second, after)
    assert ended == ended_restored
    assert len(rows) > 0
    assert rows.tobytes() == rows_restored.tobytes()
    words, own, other = carried_words(first), carried_words(first).save(), carried_words(second).save()
    assert [words.name_of(int(k)) for k in np.flatnonzero(own != other)] == []


def moments(run: Run, after: int) -> int:
    """A tick late in the run, so many before its end."""
    ticks = run.clock.steps // run.clock.ratio
    return max(min(int(0.6 * ticks), ticks - after), 2)


def with_physics(run: Run, physics: str) -> Run:
    return replace(run, clock=run.clock.model_copy(update={"physics": physics}))


class Memory(Record):
    """A filter's, and a count."""

    level: State[float] = 0.0
    calls: Kept[int] = 0
    scratch: Vector = sized(3)


class Smooth(Sensor):
    """The tool's x, smoothed."""

    def memory(self, robot: Any) -> Any:
        """The last value, and an array."""
        return {"x": 0.0, "all": np.zeros(2)}

    def read(self, truth: Any, memory: Any) -> Any:
        """x̄ ← x̄ + 0.1 (x − x̄)."""
        memory["x"] += 0.1 * (truth.position[0] - memory["x"])
        memory["all"] += memory["x"]
        return memory["x"] + 1e-3 * memory["all"][0]


def integrating(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
    """PID in plain Python."""
    memory["sum"] += tick.dt * (tick.target.q - tick.q)
    memory["ticks"] += 1
    return {"torque": 40.0 * (tick.target.q - tick.q) - 8.0 * tick.v + 5.0 * memory["sum"] + tick.bias}


# Changes of a Panda at a wall; keys without a group of their own are the world's.
WALL: dict[str, dict[str, Any]] = {
    "as it is": {},
    "rk4": {"run__integrator": "rk4"},
    "a slower law": {"run__rate": 250.0},
    "implicit steps": {"run__integrator": "implicit"},
    "a late command": {"driver__delay": 7},
    "late sensors": {"sensors__delay": 3, "sensors__wrench__delay": 5},
    "libfranka": {"driver__preset": "libfranka"},
    "losses": {"driver__loss": 0.2},
    "jitter": {"driver__jitter": 6e-4, "run__timestep": 2e-4, "run__rate": 1000.0},
    "a filter and a rate limit": {"driver__cutoff": 60.0, "driver__torque_rate_limit": 300.0},
    "rounded encoders": {"sensors__encoder_resolution": 1e-4, "sensors__velocity": "differentiated"},
    "filtered velocities": {"sensors__velocity": "differentiated", "sensors__velocity_cutoff": 80.0},
    "noisy joints": {"sensors__encoder_noise": 1e-5, "sensors__velocity_noise": 1e-3, "sensors__torque_noise": 0.1},
    "a noisy wrist": {"sensors__wrench__noise_force": 0.2, "sensors__wrench__cutoff": 30.0},
    "a wall that moves": {"surfaces__wall__motion": {"velocity": [0.001, 0, 0], "frequency": 1.0}},
    "a hunt-crossley wall": {"surfaces__wall__model": "hunt-crossley"},
    "a rigid wall": {"surfaces__wall__contact": "rigid"},
    "guards": {"guards": {"tool_speed": 0.05, "contact_force": 15.0, "on_contact_force": "retreat", "stale_ticks": 20}},
    "a frozen wrist": {"faults": [{"name": "wrist", "what": "wrench-frozen", "at": 1.0}]},
    "frozen joints": {"faults": [{"name": "joints", "what": "joints-frozen", "at": 2.0, "duration": 0.01}]},
    "friction": {"plant__joint_friction": 0.3, "control__friction_compensation": 0.5},
    "a load": {"attachments": [{"name": "weight", "mass": 0.5, "attach": 1.0, "release": 3.0}]},
    "an object": {"objects": [{"name": "ball", "position": [0.5, 0.4, 0.5]}]},
}


def at_the_wall(kind: str) -> Run:
    """A Panda at a wall with a change."""
    groups = ("run", "control", "guards")
    changes = {key if key.startswith(groups) else f"world__{key}": value for key, value in WALL[kind].items()}
    return as_run(pp.load_scenario("panda-wall").replace(**changes))


@pytest.mark.parametrize("kind", WALL)
def test_a_restored_run_goes_on_bit_for_bit(kind: str) -> None:
    run = at_the_wall(kind)
    assert_goes_on(run, moments(run, 300), 300)


@pytest.mark.parametrize("name", [name for name in shipped() if name not in EXACT])
def test_every_shipped_law_declares_its_memory(name: str) -> None:
    run = as_run(name)
    assert_goes_on(run, moments(run, 200), 200)


@pytest.mark.slow
@pytest.mark.parametrize("physics", ["engine", "auto"])
@pytest.mark.parametrize("name", [name for name in shipped() if name not in EXACT])
def test_every_shipped_scenario_goes_on_at_three_moments_on_both_plants(name: str, physics: str) -> None:
    run = with_physics(as_run(name), physics)
    ticks = run.clock.steps // run.clock.ratio
    for before in (1, ticks // 10, moments(run, 1000)):
        if 0 < before < ticks - 1:
            assert_goes_on(run, before, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("physics", ["engine", "auto"])
@pytest.mark.parametrize("kind", WALL)
def test_every_variation_goes_on_on_both_plants(kind: str, physics: str) -> None:
    run = with_physics(at_the_wall(kind), physics)
    for before in (1, 30, moments(run, 1000)):
        assert_goes_on(run, before, 1000)


@pytest.mark.parametrize(
    ("robot", "preset", "rate"),
    [
        ("panda", "libfranka", 1000.0),
        ("ur5e", "ur-direct-torque", 500.0),
        ("iiwa14", "fri", 1000.0),
        ("panda", "ros2-control", 1000.0),
    ],
)  # fmt: skip
def test_every_driver_preset_declares_its_state(robot: str, preset: Any, rate: float) -> None:
    world = World(driver=Driver(preset=preset, delay=2), sensors=Sensors(delay=1))
    clock = Clock(duration=1.0, rate=rate)
    assert_goes_on(Run(load_robot(robot), JointImpedance(stiffness=60.0), world, clock=clock), 120, 200)


def test_memories_in_plain_python_are_saved_too() -> None:
    robot = load_robot("planar2")
    law = PythonLaw(integrating, memory={"sum": np.zeros(robot.nv), "ticks": 0})
    world = World(sensors=Sensors(custom={"smooth": Smooth(delay=2, noise=1e-4)}, wrench=WrenchSensor(delay=1)))
    assert_goes_on(Run(robot, law, world, clock=Clock(duration=0.5)), 100, 300)


def test_a_state_is_saved_between_two_ticks() -> None:
    assembly = assemble(Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=0.1, rate=250)))
    fill_targets(assembly, 10, Ending(RUNNING))
    stepper(assembly, Ending(RUNNING))(3)
    with pytest.raises(InvalidInput, match=r"between.*control"):
        save_state(assembly)


def test_a_state_of_another_run_is_refused_and_the_difference_named() -> None:
    run = Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=0.1))
    late = replace(run, world=World(driver=Driver(delay=3)))
    with pytest.raises(InvalidInput, match=r"drives\.signal\.ring is of shape \(4, 1\) there and of shape \(1, 1\)"):
        restore_state(assemble(run), save_state(assemble(late)))


def test_a_memory_that_cannot_be_copied_is_named() -> None:
    law = PythonLaw(lambda tick, gains, memory: {"torque": 0.0 * tick.v}, memory=None)
    assembly = assemble(Run(load_robot("pendulum"), law, clock=Clock(duration=0.1)))
    object.__setattr__(assembly.law, "memory", (x for x in range(3)))
    with pytest.raises(InvalidInput, match="memory of the law cannot be copied"):
        save_state(assembly)


def test_a_load_that_is_attached_is_not_taken_off_again() -> None:
    weight = Attachment(name="weight", mass=0.5, attach=0.05)
    run = Run(load_robot("planar2"), GravityCompensation(), World(attachments=(weight,)), clock=Clock(duration=0.2))
    assembly = assemble(run)
    early = save_state(assembly)
    advanced(assembly, 100)
    with pytest.raises(InvalidInput, match="load"):
        restore_state(assembly, early)


class TestRecords:
    """How fields say that they are carried."""

    def test_marked_fields_are_found_with_their_addresses(self) -> None:
        memory = Memory()
        memory.level, memory.calls = 2.5, 7
        words = CarriedWords(carried_fields(memory, "m"))
        assert words.layout == [("m.level", ()), ("m.calls", ())]
        saved = words.save()
        assert saved.view(np.float64)[0] == 2.5
        assert saved[1] == 7
        memory.level, memory.calls = 0.0, 0
        words.restore(saved)
        assert (memory.level, memory.calls) == (2.5, 7)

    def test_a_memory_that_marks_nothing_is_carried_whole(self) -> None:
        class Plain(Record):
            a: float = 0.0
            b: Vector = sized(2)

        assert marks_any(Memory)
        assert not marks_any(Plain)
        assert [field.path for field in carried_memory(Plain(), "law")] == ["law.a", "law.b"]
        assert [field.path for field in carried_memory(Memory(), "law")] == ["law.level", "law.calls"]

    def test_a_mark_changes_neither_layout_nor_cache_key(self) -> None:
        class Marked(Record):
            a: State[float] = 0.0
            b: Kept[Vector] = sized(2)

        class Unmarked(Record):
            a: float = 0.0
            b: Vector = sized(2)

        assert Marked.digest == Unmarked.digest
        assert Marked.words == Unmarked.words
        assert Marked.fields["b"].carried == Carried(moves=False)


def test_a_law_whose_memory_is_not_marked_in_full_is_found() -> None:
    """The test above would notice: one mark taken away, and the run goes on otherwise."""
    from palpate.control.steps.force_loop import ForceMemory

    run = as_run("cartesian2-press")
    field = ForceMemory.fields["integral"]
    hidden = replace(field, carried=None)
    first = assemble(run)
    memory = type(first.law.memory)
    whole = memory.fields
    try:
        memory.fields = {**whole, "integral": hidden}
        with pytest.raises(AssertionError):
            assert_goes_on(run, 800, 200)
    finally:
        memory.fields = whole

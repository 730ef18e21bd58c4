"""Parts of an assembly: each setting belongs to one, and what is taken over in place gives the same bits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from palpate.run.assemble import parts
from palpate.run.assemble.parts import PARTS, are_alike, settings_of_runs, undeclared
from palpate.run.assemble.renew import Renewable
from palpate.run.build import build
from palpate.run.simulate import execute_bare
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.trace import Trace
from palpate.world.config import Pole, World

WALL = (
    "{name = 'wall', shape = 'plane', position = [0.321, 0, 0], normal = [-1, 0, 0],"
    " stiffness = 9000, damping = 80, friction = 0.3}"
)
Given = tuple[str, list[str]]
TOUCHING: Given = (
    "panda-wall",
    ["run.duration=0.06", "reference.start=0", "reference.duration=0.05", f"world.surfaces=[{WALL}]"],
)


def touching(*more: str) -> Given:
    """A Panda that touches its wall at once, and more about it."""
    return TOUCHING[0], [*TOUCHING[1], *more]


OTHER = touching("world.plant.joint_damping=0.01")  # a plant that is not the law's model
RUBBING = touching("reference.offset=[0.05, 0.05, 0.0]")
HUNT = touching("world.surfaces.0.model=hunt-crossley")
PUSHED = touching("world.pushes=[{force = [5.0, 3.0, 1.0], start = 0.01, duration = 0.02}]")
SINE = touching("world.pushes=[{kind = 'sine', force = [5.0, 0, 0], start = 0.0, duration = 0.05}]")
TWO = touching("world.pushes=[{frame = 'link4', force = [5.0, 3.0, 1.0]}, {frame = 'link7', force = [9, 0, 0]}]")
BOX: Given = (TOUCHING[0], [*TOUCHING[1][:-1], "world.surfaces.0.position=[0.351, 0, 0.256]"])
HARD = touching("control.stiffness=[30000, 30000, 30000, 20, 20, 20]", "reference.offset=[0.3, 0.3, 0.0]")
MEASURED = touching("world.sensors.velocity=measured", "world.sensors.velocity_noise=1e-4")
NOISY = touching("world.sensors.encoder_noise=1e-5")
LOSSY = touching("world.driver.loss=0.5")
PUSH = "world.pushes=[{force = [20.0, 5.0, 9.0], torque = [1, 0, 0]}]"
SERVO: Given = ("ur5e-admittance", ["run.duration=0.06", PUSH])
FEELING: Given = (SERVO[0], [*SERVO[1], "world.sensors.wrench.noise_force=0.5", "robot.payload={mass = 1.0}"])
SWAPPED = "world.pushes=[{frame = 'link7', force = [5.0, 3.0, 1.0]}, {frame = 'link4', force = [9, 0, 0]}]"
# A variation of each setting that is taken over in place: scenario, what it is given first, the changed value.
VARIED: dict[str, tuple[Given, str]] = {
    "law": (TOUCHING, "control.damping=[70, 70, 70, 5, 5, 5]"),
    "reference": (TOUCHING, "reference.offset=[0.03, 0.01, 0.0]"),
    "clock.seed": (NOISY, "run.seed=7"),
    "world.plant.mass_scale": (OTHER, "world.plant.mass_scale=1.1"),
    "world.plant.link_mass_scale": (OTHER, "world.plant.link_mass_scale={link7 = 1.5}"),
    "world.plant.com_offset": (touching("world.plant.com_offset=[1e-3, 0, 0]"), "world.plant.com_offset=[2e-3, 0, 0]"),
    "world.plant.joint_damping": (OTHER, "world.plant.joint_damping=0.4"),
    "world.plant.joint_friction": (OTHER, "world.plant.joint_friction=0.3"),
    "world.surfaces.position": (TOUCHING, "world.surfaces.0.position=[0.322, 0, 0]"),
    "world.surfaces.quat_wxyz": (BOX, "world.surfaces.0.quat_wxyz=[0.999998, 0.0, 0.002, 0.0]"),
    "world.surfaces.normal": (TOUCHING, "world.surfaces.0.normal=[-1.0, 0.002, 0.001]"),
    "world.surfaces.friction": (RUBBING, "world.surfaces.0.friction=0.1"),
    "world.surfaces.model": (TOUCHING, "world.surfaces.0.model=hunt-crossley"),
    "world.surfaces.stiffness": (TOUCHING, "world.surfaces.0.stiffness=7000"),
    "world.surfaces.damping": (TOUCHING, "world.surfaces.0.damping=5"),
    "world.surfaces.dissipation": (HUNT, "world.surfaces.0.dissipation=0.3"),
    "world.surfaces.exponent": (HUNT, "world.surfaces.0.exponent=1.2"),
    "world.surfaces.tangential_stiffness": (RUBBING, "world.surfaces.0.tangential_stiffness=900"),
    "world.surfaces.tangential_damping": (RUBBING, "world.surfaces.0.tangential_damping=3"),
    "world.pushes.name": (PUSHED, "world.pushes.0.name=shove"),
    "world.pushes.kind": (PUSHED, "world.pushes.0.kind=sine"),
    "world.pushes.frame": (TWO, SWAPPED),
    "world.pushes.force": (PUSHED, "world.pushes.0.force=[1.0, 2.0, 3.0]"),
    "world.pushes.torque": (PUSHED, "world.pushes.0.torque=[0.1, 0.2, 0.3]"),
    "world.pushes.start": (PUSHED, "world.pushes.0.start=0.02"),
    "world.pushes.duration": (PUSHED, "world.pushes.0.duration=0.01"),
    "world.pushes.frequency": (SINE, "world.pushes.0.frequency=30"),
    "world.pushes.axes": (PUSHED, "world.pushes.0.axes=frame"),
    "world.sensors.delay": (OTHER, "world.sensors.delay=2"),
    "world.sensors.delay_time": (OTHER, "world.sensors.delay_time=0.003"),
    "world.sensors.encoder_resolution": (OTHER, "world.sensors.encoder_resolution=1e-4"),
    "world.sensors.encoder_noise": (OTHER, "world.sensors.encoder_noise=1e-5"),
    "world.sensors.torque_noise": (TOUCHING, "world.sensors.torque_noise=0.1"),
    "world.sensors.velocity": (NOISY, "world.sensors.velocity=differentiated"),
    "world.sensors.velocity_noise": (MEASURED, "world.sensors.velocity_noise=1e-3"),
    "world.sensors.velocity_cutoff": (MEASURED, "world.sensors.velocity_cutoff=40"),
    "world.sensors.custom": (TOUCHING, ""),  # tests/world/test_custom.py: their code is a file of the user's
    "world.sensors.wrench.delay": (FEELING, "world.sensors.wrench.delay=3"),
    "world.sensors.wrench.delay_time": (FEELING, "world.sensors.wrench.delay_time=0.004"),
    "world.sensors.wrench.noise_force": (FEELING, "world.sensors.wrench.noise_force=0.1"),
    "world.sensors.wrench.noise_torque": (FEELING, "world.sensors.wrench.noise_torque=0.01"),
    "world.sensors.wrench.bias": (FEELING, "world.sensors.wrench.bias=[1.0, 0.5, 0.2, 0.0, 0.0, 0.0]"),
    "world.sensors.wrench.cutoff": (FEELING, "world.sensors.wrench.cutoff=30"),
    "world.sensors.wrench.compensate": (FEELING, "world.sensors.wrench.compensate=false"),
    "world.driver.delay": (TOUCHING, "world.driver.delay=2"),
    "world.driver.delay_time": (TOUCHING, "world.driver.delay_time=0.003"),
    "world.driver.rate": (TOUCHING, "world.driver.rate=1000"),
    "world.driver.cutoff": (TOUCHING, "world.driver.cutoff=60"),
    "world.driver.torque_limit": (HARD, "world.driver.torque_limit=false"),
    "world.driver.torque_rate_limit": (TOUCHING, "world.driver.torque_rate_limit=20.0"),
    "world.driver.joint_speed_limit": (SERVO, "world.driver.joint_speed_limit=0.01"),
    "world.driver.joint_acceleration_limit": (SERVO, "world.driver.joint_acceleration_limit=0.1"),
    "world.driver.joint_jerk_limit": (SERVO, "world.driver.joint_jerk_limit=1.0"),
    "world.driver.tool_speed_limit": (SERVO, "world.driver.tool_speed_limit=[0.01, 0.01]"),
    "world.driver.tool_acceleration_limit": (SERVO, "world.driver.tool_acceleration_limit=[0.1, 0.1]"),
    "world.driver.loss": (TOUCHING, "world.driver.loss=0.3"),
    "world.driver.stop_after": (LOSSY, "world.driver.stop_after=2"),
    "world.driver.jitter": (touching("run.timestep=0.0005"), "world.driver.jitter=0.0005"),
}
# Settings whose change changes no number of these runs.
SILENT = {
    "world.pushes.name",  # its name in messages
    "world.sensors.torque_noise",  # no shipped law reads measured torques
    "world.driver.rate",  # the only one that fits the period
    "world.driver.tool_speed_limit",  # the interface's: a run is compared with it afterwards
    "world.driver.tool_acceleration_limit",
}
# What of a scenario no part of an assembly reads.
OUTSIDE = {"name", "description", "document", "extends", "modules", "metrics", "sweep"}
OF_RUN = {"control": "law", "run": "clock", "reactions": "around"}


def test_every_setting_of_a_run_belongs_to_one_part_of_its_assembly() -> None:
    assert undeclared() == ()
    declared = Counter(path for one in PARTS.values() for path in (*one.built, *one.renewed))
    assert {path for path, count in declared.items() if count > 1} == set()
    assert set(declared) == set(settings_of_runs())
    sections = {path.split(".")[0] for path in declared}
    assert {OF_RUN.get(name, name) for name in set(Scenario.model_fields) - OUTSIDE} <= sections


def forget() -> None:
    """Let what was gathered from the declarations be gathered again."""
    parts._built_in.cache_clear()


def test_a_setting_that_nobody_declared_is_noticed_and_built_in_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = PARTS["outside"]
    rest = replace(scene, renewed=tuple(path for path in scene.renewed if path != "world.surfaces.stiffness"))
    monkeypatch.setitem(PARTS, "outside", rest)
    forget()
    try:
        assert undeclared() == ("world.surfaces.stiffness",)
        run = build(load_scenario(*TOUCHING))
        softer = build(load_scenario(*touching("world.surfaces.0.stiffness=7000")))
        assert not are_alike("world", run.world, softer.world)
    finally:
        monkeypatch.undo()
        forget()
    assert are_alike("world", run.world, softer.world)


def test_structure_is_what_is_built_in() -> None:
    bare, held = World(), World(pole=Pole())
    assert not are_alike("world", bare, held)
    assert not are_alike("world", held, World(pole=Pole(mass=0.2)))
    assert are_alike("world", held, World(pole=Pole()))


def test_every_setting_that_is_taken_over_in_place_is_varied_here() -> None:
    assert set(VARIED) == {path for one in PARTS.values() for path in one.renewed}


@pytest.mark.parametrize("path", [path for path, (_, change) in VARIED.items() if change])
def test_a_setting_taken_over_in_place_gives_the_bits_of_a_run_built_anew(path: str) -> None:
    (name, given), change = VARIED[path]
    kept = Renewable(build(load_scenario(name, given)))
    before = execute_bare(kept.assembly)
    changed = build(load_scenario(name, [*given, change]))
    assert kept.renew(replace(kept.first, law=changed.law, world=changed.world, clock=changed.clock,
                              reference=changed.reference)), path  # fmt: skip
    found, wanted = execute_bare(kept.assembly), execute_bare(Renewable(changed).assembly)
    assert _is_equal(found, wanted)
    assert _is_equal(found, before) == (path in SILENT), f"{change} changes nothing: nothing was tested"


def _is_equal(one: Trace, other: Trace) -> bool:
    return one.equals(other) and one.outcome == other.outcome


@pytest.mark.parametrize(
    "change",
    [
        "world.sensors.encoders=link",
        "world.driver.torque_feedback=0.5",
        "world.plant.joint_friction=0.3",
        "world.plant.breakaway=0.2",
    ],
)
def test_elastic_joints_are_built_anew_where_what_they_read_changes(change: str) -> None:
    given = "robot.joints=elastic", "run.timestep=0.0005"
    kept = Renewable(build(load_scenario(*touching(*given))))
    changed = build(load_scenario(*touching(*given, change)))
    assert not kept.renew(replace(kept.first, world=changed.world))

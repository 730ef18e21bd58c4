"""Exact contact in runs: the same laws, sensors, guards and records over a hybrid plant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.control.laws.passive import Passive
from palpate.errors import InvalidInput, ScenarioError
from palpate.metrics import evaluate
from palpate.run.run import Run
from palpate.tools.contact import HybridSystem, Plane
from palpate.trace import load_trace
from palpate.world.clock import Clock
from palpate.world.config import Attachment, ExactRules, LockedPoint, Motion, PlantChange, Push, Surface, World

WALL = Surface(name="wall", normal=(0, 1, 0), contact="exact")


@pytest.fixture(scope="session")
def planar2() -> pp.Robot:
    return pp.load_robot("planar2")


def world(*surfaces: Surface, **more) -> World:
    return World(surfaces=surfaces, contact_points=("tool",), **more)


def free_run(robot: pp.Robot, where: World, q, v=None, duration: float = 0.3, timestep: float = 1e-3) -> Run:
    return Run(robot, Passive(), where, clock=Clock(duration=duration, timestep=timestep), q_start=q, v_start=v)


def test_the_slide_of_document_002_has_the_audits_numbers(planar2) -> None:
    trace = pp.simulate("planar2-slide")
    assert trace["q"][300, 0] == pytest.approx(0.990168862966, abs=1e-12)
    assert trace["q"][500, 0] == pytest.approx(0.878183846981, abs=1e-12)
    assert trace["v"][500, 0] == pytest.approx(-0.749441462068, abs=1e-12)
    for k in (0, 150, 500):  # the recorded force is the multiplier
        found = pp.contact.constrained_dynamics(
            planar2, trace["q"][k], trace["v"][k], [0, 0], [pp.contact.Contact(Plane(normal=(0, 1, 0)), two_sided=True)]
        )
        assert trace["contact_multiplier"][k, 0] == pytest.approx(found.multipliers[0, 0], abs=1e-9)
        assert trace["contact_wrench"][k, 1] == pytest.approx(found.multipliers[0, 0], abs=1e-9)
    assert set(trace["contact_mode"][:, 0]) == {1.0}
    assert trace.channels["contact_mode"].labels == ("wall",)
    assert trace.facts.integrator == "exact"


def test_ticks_do_not_move_the_events_of_a_free_arm(planar2) -> None:
    """The run is cut at every millisecond; the hybrid system on its own is not."""
    trace = pp.simulate(pp.load_scenario("planar2-drop", ["run.duration=1.05"]))
    wall = pp.contact.Contact(Plane(normal=(0, 1, 0)), friction=0.1, restitution=0.5, name="wall")
    alone = HybridSystem(planar2, [wall]).run([1.2, -1.6], None, 1.05, [0, 0])
    found = [(e["what"], e["contact"], e["before"], e["after"]) for e in trace.facts.contact_events]
    assert found == [(e.what, e.contact, e.before, e.after) for e in alone.events]
    times = [e["time"] for e in trace.facts.contact_events]
    assert times == pytest.approx([e.time for e in alone.events], abs=1e-8)
    assert trace["q"][-1] == pytest.approx(alone.state.q, abs=1e-8)
    impulse = trace.facts.contact_events[0]["detail"]["impulse"]
    assert impulse[1] > 0 > impulse[0]  # upwards, and against the slip
    messages = [event.message for event in trace.events if event.source == "contact.wall"]
    assert "wall touches: free → sliding" in messages
    assert any("infinitely often: free → sliding" in one for one in messages)


def test_a_law_in_the_exact_loop_is_asked_as_by_hand(planar2) -> None:
    """A sampled damper, with the measured force of the tick before: the loop written out."""

    def damper(tick, gains, memory):
        return {"damper": -2.0 * tick.v, "push": 0.1 * np.array([tick.wrench[1], 0.0])}

    from palpate.control.law import PythonLaw

    law = PythonLaw(damper, terms=("damper", "push"))
    run = Run(planar2, law, world(WALL), clock=Clock(duration=0.2, rate=500), q_start=[np.pi / 3, -2 * np.pi / 3])
    trace = pp.simulate(run)
    system = HybridSystem(planar2, [pp.contact.Contact(Plane(normal=(0, 1, 0)))])
    state, felt = system.start([np.pi / 3, -2 * np.pi / 3]), 0.0
    for tick in range(100):
        tau = -2.0 * state.v + 0.1 * np.array([felt, 0.0])
        assert trace["tau"][2 * tick] == pytest.approx(tau, abs=1e-9)
        state = system.advance(state, (tick + 1) * 2e-3, tau).state
        felt = state.forces[0, 1]
    assert trace["q"][-1] == pytest.approx(state.q, abs=1e-11)


def test_the_plant_in_an_exact_run_is_the_true_one(planar2) -> None:
    """Heavier links, a load, rotors, dampers and another gravity: the multiplier is that of the changed robot."""
    changed = world(
        WALL,
        plant=PlantChange(mass_scale=1.3, joint_damping=0.4, rotor_inertia=0.2),
        attachments=(Attachment(mass=0.5),),
        gravity=(0.0, -5.0, 0.0),
    )
    trace = pp.simulate(free_run(planar2, changed, [0.9, -1.8], [0.3, -0.6]))
    k = 200
    q, v = trace["q"][k], trace["v"][k]
    M, bias = _true_terms(q, v)
    J, drift = planar2.jacobian(q)[1], planar2.jacobian_drift(q, v)[1]
    K = np.block([[M, -J[:, None]], [J[None, :], np.zeros((1, 1))]])
    answer = np.linalg.solve(K, [*(-bias - 0.4 * v), -drift])
    assert trace["contact_multiplier"][k, 0] == pytest.approx(answer[2], abs=1e-9)
    residual = {r.name: r.value for r in evaluate(trace)}["energy_residual"]
    assert residual is not None
    assert residual < 1e-6  # dampers are accounted for by the trapezoidal rule


def _true_terms(q, v, g: float = 5.0):
    """M and C v + g of unit links with 1.3 kg at the first end and 1.8 kg at the second, and rotors of 0.2 kg·m²."""
    a, b = 1.3 + 1.8, 1.8
    c2, s2, c1, c12 = np.cos(q[1]), np.sin(q[1]), np.cos(q[0]), np.cos(q[0] + q[1])
    M = np.array([[a + b + 2 * b * c2, b + b * c2], [b + b * c2, b]]) + 0.2 * np.eye(2)
    C = b * s2 * np.array([-2 * v[0] * v[1] - v[1] ** 2, v[0] ** 2])
    return M, C + g * np.array([a * c1 + b * c12, b * c12])


def test_a_push_works_on_an_arm_in_a_slot(planar2) -> None:
    push = Push(force=(3.0, 0, 0), start=0.1, duration=0.1)
    slot = WALL.model_copy(update={"two_sided": True})
    trace = pp.simulate(free_run(planar2, world(slot, pushes=(push,)), [np.pi / 3, -2 * np.pi / 3]))
    assert trace["push_wrench"][150, 0] == 3.0
    moved = trace["tool_position"][200, 0] - trace["tool_position"][100, 0]
    assert trace["energy.pushed"][-1] == pytest.approx(3.0 * moved, rel=1e-3)
    assert {r.name: r.value for r in evaluate(trace)}["energy_residual"] == pytest.approx(0.0, abs=1e-9)


def test_a_belt_carries_the_tip_along(planar2) -> None:
    """Stuck to a belt of 0.2 m/s by friction, an undriven arm held up by the wall goes where the belt goes."""
    belt = Surface(name="belt", normal=(0, 1, 0), contact="exact", friction=5.0, motion=Motion(velocity=(0.2, 0, 0)))
    q = np.array([np.pi / 3, -2 * np.pi / 3])
    v = np.linalg.solve(planar2.jacobian(q)[:2], [0.2, 0.0])
    trace = pp.simulate(free_run(planar2, world(belt), q, v))
    assert set(trace["contact_mode"][:, 0]) == {2.0}
    assert trace["tool_position"][:, 0] == pytest.approx(1.0 + 0.2 * trace.time, abs=1e-11)


def test_a_pin_locks_and_carries_the_whole_force(planar2) -> None:
    pinned = World(pins=(LockedPoint(name="vice"),))
    trace = pp.simulate(free_run(planar2, pinned, [1.0, -2.0]))
    assert np.ptp(trace["tool_position"], axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert set(trace["contact_mode"][:, 0]) == {3.0}
    J = planar2.jacobian([1.0, -2.0])[:2]
    assert trace["contact.vice"][0, :2] == pytest.approx(np.linalg.solve(J.T, planar2.gravity([1.0, -2.0])), abs=1e-9)


def test_two_surfaces_at_once_hold_the_tip_in_a_corner(planar2) -> None:
    q = np.array([1.0, -2.0])
    x = float(planar2.pose(q).position[0])
    floor = Surface(
        name="floor", position=(0, float(planar2.pose(q).position[1]), 0), normal=(0, 1, 0), contact="exact"
    )
    side = Surface(name="side", position=(x, 0, 0), normal=(-1, 0, 0), contact="exact")
    trace = pp.simulate(free_run(planar2, world(floor, side), q, duration=0.1))
    assert trace.channels["contact_mode"].labels == ("floor", "side")
    assert set(trace["contact_mode"].ravel()) == {1.0}
    assert np.ptp(trace["q"], axis=0) == pytest.approx(np.zeros(2), abs=1e-12)


def test_painleves_rule_is_the_scenarios() -> None:
    """A rod sliding into its jamming zone: the run stops there by name, or goes on by an impact without collision."""
    rod = pp.Robot.from_mjcf_text(ROD, name="rod")
    floor = Surface(name="floor", contact="exact", friction=2.5)
    angle = np.radians(60)
    q, v = [0.0, 0.5 * np.sin(angle), -angle], [3.0, 0.5 * np.cos(angle) * 2.0, -2.0]
    v[0] = 3.0
    stopping = World(surfaces=(floor,), contact_points=("end",), exact=ExactRules(painleve="stop"))
    ended = pp.simulate(free_run(rod, stopping, q, v))
    assert ended.outcome.kind == "stopped"
    assert "Painlevé's paradox at 'floor'" in ended.outcome.reason
    going = stopping.model_copy(update={"exact": ExactRules(painleve="impact")})
    gone = pp.simulate(free_run(rod, going, q, v))
    assert gone.outcome.kind == "completed"
    assert "painleve" in [e["what"] for e in gone.facts.contact_events]


ROD = """<mujoco><compiler angle="radian"/><worldbody><body name="rod">
<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/><joint name="turn" axis="0 -1 0"/>
<inertial pos="0 0 0" mass="1" diaginertia="1e-9 0.08333333333333333 0.08333333333333333"/>
<site name="end" pos="0.5 0 0"/></body></worldbody></mujoco>"""


def test_a_joint_that_meets_its_stop_is_held_there_and_said(planar2) -> None:
    text = ROD.replace('axis="0 0 1"/>', 'axis="0 0 1" limited="true" range="-0.2 1"/>')
    rod = pp.Robot.from_mjcf_text(text, name="rod")
    far = Surface(name="floor", position=(0, 0, -5), contact="exact")
    trace = pp.simulate(free_run(rod, World(surfaces=(far,), contact_points=("end",)), [0, 0, 0], duration=0.4))
    assert trace["q"][-1, 1] == pytest.approx(-0.2, abs=1e-12)
    assert any("stop at 0.2019" in warning for warning in trace.warnings)


def test_the_events_are_kept_in_the_file_and_shown(tmp_path: Path, capsys) -> None:
    from palpate.cli.main import main

    assert (
        main(["run", "planar2-drop", "--set", "run.duration=0.4", "--set", "metrics={}", "--out", f"{tmp_path}/run"])
        == 0
    )
    said = capsys.readouterr().out
    assert "0.3429331320  touchdown  wall     free" in said
    back = load_trace(tmp_path / "run" / "trace.parquet")
    assert back.facts.contact_events[0]["what"] == "touchdown"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Contact events" in page
    assert "0.3429331320 s" in page
    assert (tmp_path / "run" / "figures" / "exact_contact.png").exists()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["world.surfaces.wall.restitution=1.2"], "found 1.2; allowed.*number.*least 0.*most 1"),
        (["world.surfaces.wall.friction=-0.1"], "found -0.1; allowed: a number at least 0"),
        (
            ["world.surfaces.wall.static_friction=0.05"],
            "static_friction 0.05.*sliding.*0.1",
        ),
        (["world.surfaces.wall.contact=rigid"], "restitution.*exact.*rigid"),
        (["world.pole={}"], "exact.*hangs"),
        (["world.pins=[{name='wall'}]"], "'wall'.*already"),
        (["world.pins=[{frame='nose'}]"], "unknown frame 'nose'"),
        (["world.attachments=[{mass=1, attach=0.5}]"], "load 'payload'.*attached"),
        (["world.exact.painleve=ignore"], "impact"),
        (["world.exact.shortest_flight=0"], "greater than 0"),
    ],
)
def test_bad_keys_of_exact_contact_are_scenario_errors(overrides: list[str], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        pp.load_scenario("planar2-drop", overrides)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["world.surfaces.wall.position=[0, 1, 0]"], "contact 'wall' reaches 0.457.*into"),
        (["world.surfaces.wall.two_sided=true"], "two-sided.*0.542.*surface"),
        (["world.contact_points=['base']"], "frame 'base' of planar2 cannot move"),
        (["world.surfaces.wall.normal=[0, 0, 1]"], "never moves.*'s normal"),
        (["world.pins=[{}]", "world.surfaces.wall.two_sided=true"], "3 directions.* has 2 freedoms"),
        (["world.contact_points=['nose']"], "unknown contact point 'nose'"),
    ],
)
def test_what_exact_contact_cannot_hold_is_refused_before_step_0(overrides: list[str], words: str) -> None:
    with pytest.raises(pp.errors.PalpateError, match=words):
        pp.simulate(pp.load_scenario("planar2-drop", overrides))


def test_exact_and_compliant_surfaces_do_not_mix() -> None:
    with pytest.raises(InvalidInput, match=r"exact.*surface 'soft' is compliant"):
        World(surfaces=(WALL, Surface(name="soft")))

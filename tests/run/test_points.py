"""Forces at single contact points: they add up to the recorded wrench, and recording them changes nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.control.law import PythonLaw
from palpate.run.run import Run
from palpate.trace import Recording, Trace
from palpate.world.clock import Clock
from palpate.world.config import ContactShape, Surface, World

SLED = """<mujoco><option gravity="0 0 0"/><worldbody><body name="sled" pos="0 0 0.01">
<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/><geom name="tip" {}/>
</body></worldbody></mujoco>"""


def slid(shape: str, surface: Surface, points: bool = True, pad: bool = False) -> Trace:
    """A sled pressed down with 10 N and dragged along with 6 N: it rubs with 0.4 times its load."""
    robot = pp.Robot.from_mjcf_text(SLED.format(shape), name="sled")
    drag = PythonLaw(lambda tick, gains, memory: {"drag": np.array([6.0, -10.0])}, terms=("drag",))
    shapes = (ContactShape(shape="pad", size=(0.06, 0.04), count=12, position=(0, 0, -0.01)),) if pad else ()
    world, record = World(surfaces=(surface,), contact_shapes=shapes), Recording(points=points)
    return pp.simulate(Run(robot, drag, world, clock=Clock(duration=0.2), record=record))


def names(trace: Trace) -> list[str]:
    return [name.removeprefix("contact.") for name in trace if name.startswith("contact.")]


def added_up(trace: Trace) -> np.ndarray:
    """Σ (f, r × f) about the tool's origin."""
    wrench = np.zeros((len(trace), 6))
    for name in names(trace):
        force, arm = trace[f"contact.{name}"], trace[f"contact_position.{name}"] - trace["tool_position"]
        wrench += np.hstack([force, np.cross(arm, force)])
    return wrench


COMPLIANT = Surface(name="table", friction=0.4, stiffness=1e4, damping=50)
RIGID = Surface(name="table", friction=0.4, contact="rigid")
CASES = [
    ('size="0.01"', COMPLIANT, False, 1), ('size="0.01"', COMPLIANT, True, 12), ('size="0.01"', RIGID, False, 1),
    ('type="box" size="0.03 0.02 0.01"', RIGID, False, 8),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "surface", "pad", "count"), CASES)
def test_forces_at_points_add_up_to_the_wrench(shape: str, surface: Surface, pad: bool, count: int) -> None:
    trace = slid(shape, surface, pad=pad)
    wrench = trace["contact_wrench"]
    assert len(names(trace)) == count
    assert wrench[-1, 2] > 5 and wrench[-1, 0] < -2  # noqa: PT018 - it presses, and rubs
    np.testing.assert_allclose(added_up(trace), wrench, atol=1e-9)
    loads = [trace[f"contact.{name}"][-1, 2] for name in names(trace)]
    assert sum(load > 0.1 for load in loads) == (count if surface is COMPLIANT else min(count, 4))
    for name, load in zip(names(trace), loads):
        if load > 0.1:  # on the table, and no more friction than μ times the load
            force, where = trace[f"contact.{name}"][-1], trace[f"contact_position.{name}"][-1]
            assert abs(where[2]) < 3e-3
            assert np.hypot(*force[:2]) <= 0.4 * force[2] * (1 + 1e-3)
    bare = slid(shape, surface, points=False, pad=pad)
    assert set(trace) - set(bare) == {f"{kind}.{n}" for n in names(trace) for kind in ("contact", "contact_position")}
    assert all(bare[name].tobytes() == trace[name].tobytes() for name in bare)


def test_feet_on_the_floor_have_a_force_each() -> None:
    trace = pp.simulate(pp.load_scenario("floating-stand", ["record.points=true", "run.duration=0.1"]))
    assert names(trace) == [f"foot_{leg}-floor" for leg in ("fl", "fr", "rl", "rr")]
    np.testing.assert_allclose(added_up(trace), trace["contact_wrench"], atol=1e-9)


def test_exact_contacts_say_where_they_are_unasked() -> None:
    trace = pp.simulate(pp.load_scenario("planar2-drop", ["run.duration=1.05"]))
    assert names(trace) == ["wall"]
    np.testing.assert_allclose(added_up(trace), trace["contact_wrench"], atol=1e-9)

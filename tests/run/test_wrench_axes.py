"""The wanted wrench along the tool's, the target's or a surface's axes, in the loop."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.control.law import PythonLaw
from palpate.control.laws.direct_force import DirectForce
from palpate.control.references import Line
from palpate.control.references.reference import Hold
from palpate.errors import InvalidInput
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Surface, World

RADIUS, PRESS = 0.5, 20.0


CYLINDER = {"shape": "cylinder", "size": (RADIUS, 2.0), "position": (0, -RADIUS - 0.01, 0)}


def sampled_cylinder():
    """The same part as heights over a strip, its z turned up to the world's y."""
    x = np.linspace(-0.35, 0.35, 71)
    heights = tuple(map(tuple, np.tile(np.sqrt(RADIUS**2 - x**2) - RADIUS, (4, 1)).tolist()))
    turn = (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0)
    return {
        "shape": "height-field",
        "size": (0.7, 0.4),
        "heights": heights,
        "position": (0, -0.01, 0),
        "quat_wxyz": turn,
    }


def over_a_cylinder(axes, form=CYLINDER):
    """Two slides press on a cylinder from above while sliding a quarter of a metre along it, without friction."""
    law = DirectForce(force=("y",), motion=("x",), proportional=0.5, integral=8.0, damping=(40, 40, 40, 1, 1, 1))
    wanted = [0, PRESS, 0, 0, 0, 0] if axes == "world" else [0, 0, PRESS, 0, 0, 0]
    reference = Line(offset=(0.25, 0.0, 0.0), duration=4.0, wrench=wanted, wrench_axes=axes)
    part = Surface(name="part", stiffness=5000, damping=20, **form)
    clock = Clock(duration=5.0, timestep=5e-4)
    return simulate(Run(pp.load_robot("cartesian2"), law, World(surfaces=(part,)), reference, clock=clock))


def test_a_force_along_the_surface_keeps_its_size_on_a_curved_part():
    world, surface = over_a_cylinder("world"), over_a_cylinder("surface")
    assert abs(surface["contact_force"][-1] - PRESS) < 0.1
    assert np.abs(surface["contact_force"][surface.time > 1.0] - PRESS).max() < 1.0
    assert world["contact_force"][-1] > 1.1 * PRESS  # the axis that is controlled alone keeps its 20 N
    place = surface["tool_position"] - np.array([0, -RADIUS - 0.01, 0])
    normal = place[:, :2] / np.linalg.norm(place[:, :2], axis=1)[:, None]
    k = slice(1, None, 2)  # the channel holds what was wanted at the last control tick
    assert surface["target_wrench"][k, :2] == pytest.approx(PRESS * normal[k], abs=0.05)


def test_a_height_field_has_the_axes_of_the_cylinder_it_is_sampled_from():
    cylinder, field = over_a_cylinder("surface"), over_a_cylinder("surface", sampled_cylinder())
    assert field["target_wrench"] == pytest.approx(cylinder["target_wrench"], abs=1e-3)
    assert field["contact_force"] == pytest.approx(cylinder["contact_force"], abs=1e-3)


def wanted_in(axes, q, world=None):
    """What an arm is told of a constant wanted wrench along some axes, world axes."""
    robot, told = pp.load_robot("panda"), []

    def look(tick, gains, memory):
        told.append((tick.target.wrench.copy(), tick.rotation.copy()))
        return {"torque": tick.gravity}

    reference = Hold(wrench=(1.0, 2, 3, 4, 5, 6), wrench_axes=axes, quat_wxyz=(0.5, 0.5, 0.5, 0.5))
    simulate(Run(robot, PythonLaw(look), world or World(), reference, clock=Clock(duration=0.01), q_start=q))
    return told[-1]


def test_a_wrench_along_tool_and_target_axes_is_turned_into_the_world():
    q = pp.load_robot("panda").home + 0.2
    given = np.array([1.0, 2, 3, 4, 5, 6])
    wrench, R = wanted_in("tool", q)
    assert wrench == pytest.approx(np.r_[R @ given[:3], R @ given[3:]], abs=1e-12)
    wrench, _ = wanted_in("target", q)
    assert wrench == pytest.approx([3, 1, 2, 6, 4, 5], abs=1e-12)  # x to y to z to x
    wrench, _ = wanted_in("world", q)
    assert wrench == pytest.approx(given)


@pytest.mark.parametrize("normal", [(0.48, 0.6, 0.64), (0.96, 0.0, 0.28), (-0.6, 0.0, 0.8)])
def test_axes_of_an_oblique_surface_are_a_rotation_with_its_normal_as_z(normal):
    """x is the world's x (or y, where the normal is near x) less what it has along the normal; y = z × x."""
    wall = Surface(name="wall", normal=normal, position=tuple(-10.0 * np.array(normal)))
    told, _ = wanted_in("surface", pp.load_robot("panda").home, World(surfaces=(wall,)))
    z = np.array(normal)
    x = np.eye(3)[0 if abs(z[0]) < 0.9 else 1]
    x = x - (x @ z) * z
    R = np.column_stack([x / np.linalg.norm(x), np.cross(z, x / np.linalg.norm(x)), z])
    assert told == pytest.approx(np.r_[R @ [1, 2, 3], R @ [4, 5, 6]], abs=1e-12)


def test_surface_axes_without_a_surface_are_refused():
    with pytest.raises(InvalidInput, match=r"needs.*surface"):
        wanted_in("surface", pp.load_robot("panda").home)

"""Discs, pads, edges and whole links against compliant surfaces."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control import PythonLaw
from palpate.errors import InvalidInput, UnknownName
from palpate.robot import Robot
from palpate.run.assemble.assemble import assemble
from palpate.run.loop import loop
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import ContactShape, Surface, World
from palpate.world.plants.plant import build_plant
from palpate.world.surfaces.contact_points import hull, shape_points, thin_points

K = 2e4
FLOOR = Surface(name="floor", stiffness=K, damping=0.0)
IDLE = PythonLaw(lambda tick, gains, memory: {"torque": 0.0 * tick.v})


def hand(geom: str = "", mesh: str = "") -> Robot:
    """1 kg that can sink, slide and tilt about y, its tool looking down."""
    return Robot.from_mjcf_text(
        f"""<mujoco><asset>{mesh}</asset><worldbody><body name="palm">
        <inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/>
        <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
        <joint name="tilt" axis="0 1 0"/>{geom}<site name="tool" quat="0 1 0 0"/></body></worldbody></mujoco>""",
        name="hand",
    )


def pushed_back(robot: Robot, world: World, q: list[float]) -> np.ndarray:
    """The wrench of the surfaces on the robot at rest in a posture, about the tool."""
    assembly = assemble(Run(robot, IDLE, world=world, q_start=q))
    loop.before_law(assembly.loop.address)
    return np.array(assembly.loop.row.contact_wrench)


@pytest.mark.parametrize(
    ("shape", "second"),
    [
        (ContactShape(shape="disc", size=(0.03,), count=200), 0.03**2 / 4),
        (ContactShape(shape="pad", size=(0.06, 0.03), count=200), 0.06**2 / 12),
        (ContactShape(shape="edge", size=(0.06,), count=100), 0.06**2 / 12),
        (ContactShape(shape="points", points=((0.02, 0, 0), (-0.02, 0, 0))), 0.02**2),
    ],
)
def test_a_flat_shape_pressed_flat_has_the_surfaces_stiffness_and_tilts_by_its_second_moment(shape, second) -> None:
    """f = k δ, n = k θ ∫x² dA/A while all of it is in: the foundation of Winkler; 1 % for 100 points and more."""
    world = World(surfaces=(FLOOR,), contact_shapes=(shape,))
    assert pushed_back(hand(), world, [0, -1e-3, 0])[:3] == pytest.approx([0, 0, K * 1e-3], rel=1e-9)
    tilted = pushed_back(hand(), world, [0, -1e-3, 1e-3])
    assert tilted[2] == pytest.approx(K * 1e-3, rel=1e-3)
    assert tilted[4] == pytest.approx(-K * second * 1e-3, rel=1e-2)


def test_a_sphere_of_a_shape_is_the_sphere_of_a_geom() -> None:
    ball = '<geom name="tip" type="sphere" size="0.02" mass="0"/>'
    shape = World(surfaces=(FLOOR,), contact_shapes=(ContactShape(shape="sphere", size=(0.02,)),))
    one, two = (pushed_back(hand(ball), world, [0, 0.019, 0.3]) for world in (World(surfaces=(FLOOR,)), shape))
    assert one == pytest.approx([0, 0, K * 1e-3, 0, 0, 0], abs=1e-9)
    assert two == pytest.approx(one, abs=1e-12)


def test_a_disc_comes_to_rest_where_the_floor_carries_it() -> None:
    """m g = k δ; dropped tilted, it rocks flat, slides and sticks, and its energies add up."""
    floor = Surface(name="floor", stiffness=K, damping=2000.0, friction=0.3)
    world = World(surfaces=(floor,), contact_shapes=(ContactShape(size=(0.05,), count=32),))
    clock = Clock(duration=2.0, timestep=2e-4, integrator="rk4")
    trace = simulate(Run(hand(), IDLE, world=world, clock=clock, q_start=[0, 0.01, 0.1]))
    assert trace["q"][-1, 1:] == pytest.approx([-9.81 / K, 0.0], abs=1e-5)
    assert trace.warnings == ()  # the balance of energies is among what would be warned of


def test_a_shape_is_placed_in_its_frame() -> None:
    """The tool looks down: 10 mm along its z is 10 mm below; half a turn leaves a disc a disc."""
    shape = ContactShape(position=(0.02, 0, 0.01), count=10)
    force = pushed_back(hand(), World(surfaces=(FLOOR,), contact_shapes=(shape,)), [0, 0.009, 0])
    assert force[2] == pytest.approx(K * 1e-3, rel=1e-9)
    assert force[4] == pytest.approx(-0.02 * K * 1e-3, rel=1e-9)  # about the tool: n_y = −x f_z
    plant = build_plant(hand(), World(surfaces=(FLOOR,), contact_shapes=(shape,)), 1e-3)
    assert {point.group for point in plant.points} == {"pad"}
    assert sum(point.share for point in plant.points) == pytest.approx(1.0)


BOX = '<geom type="box" size="0.03 0.02 0.01" mass="0"/>'
CYLINDER = '<geom type="cylinder" size="0.02 0.03" mass="0"/>'
MESH = '<mesh name="m" vertex="0 0 -.01  .03 0 0  0 .03 0  -.03 0 0  0 -.03 0  0 0 .01  .001 0 0"/>'


@pytest.mark.parametrize(
    ("geom", "mesh", "lowest", "touching"),
    [(BOX, "", 0.01, 4), (CYLINDER, "", 0.03, 24), ('<geom type="mesh" mesh="m" mass="0"/>', MESH, None, 1)],
)
def test_a_whole_link_touches_with_the_corners_of_its_hull(geom, mesh, lowest, touching) -> None:
    robot = hand(geom, mesh)
    world = World(surfaces=(FLOOR,), contact_links=("palm",))
    plant = build_plant(robot, world, 1e-3)
    bottom = -min(point.offset[2] for point in plant.points)
    assert bottom == pytest.approx(0.01 if lowest is None else lowest, abs=1e-6)
    assert pushed_back(robot, world, [0, bottom - 1e-4, 0])[2] == pytest.approx(touching * K * 1e-4, rel=1e-6)
    assert pushed_back(robot, world, [0, bottom + 1e-4, 0])[2] == 0.0


def test_points_inside_a_hull_are_left_out_and_many_are_thinned() -> None:
    ball = np.random.default_rng(3).normal(size=(500, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    inside = 0.5 * ball
    assert len(hull(np.vstack([ball, inside]))) == 500
    few = thin_points(ball, 40)
    assert len(few) == 40
    nearest = np.sqrt(((ball[:, None] - few) ** 2).sum(axis=2)).min(axis=1)
    assert nearest.max() < 0.6  # no part of the ball is far from a point
    flat = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert len(hull(flat)) == 3


def test_a_pad_is_a_grid_even_over_its_area() -> None:
    points = shape_points(ContactShape(shape="pad", size=(0.4, 0.1), count=16))
    assert len(points) == 16
    assert np.abs(points).max(axis=0) == pytest.approx([0.175, 0.025, 0.0])


def test_shapes_are_drawn_where_they_touch_and_weigh_nothing() -> None:
    shapes = (
        ContactShape(size=(0.03,), position=(0.02, 0, 0.01)),
        ContactShape(shape="pad", size=(0.06, 0.03)),
        ContactShape(shape="points", points=((0.01, 0, 0), (0, 0.02, 0))),
    )
    robot, world = hand(), World(surfaces=(FLOOR,), contact_shapes=shapes)
    model = build_plant(robot, world, 1e-3).model
    assert model.body("palm").mass == pytest.approx(1.0)
    disc = model.geom("contact shape pad")
    assert disc.pos == pytest.approx([0.02, 0, -0.01])  # the tool looks down
    assert disc.size[0] == 0.03
    assert sum(model.geom(g).name.startswith("contact shape") for g in range(model.ngeom)) == 4


def test_what_cannot_touch_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="link"):
        build_plant(hand(), World(surfaces=(FLOOR,), contact_links=("thumb",)), 1e-3)
    with pytest.raises(InvalidInput, match=r"link 'palm'.*hand.*no shape"):
        build_plant(hand(), World(surfaces=(FLOOR,), contact_links=("palm",)), 1e-3)
    with pytest.raises(UnknownName, match="frame"):
        build_plant(hand(), World(surfaces=(FLOOR,), contact_shapes=(ContactShape(frame="thumb"),)), 1e-3)
    with pytest.raises(InvalidInput, match="points belong"):
        ContactShape(shape="disc", points=((0, 0, 0),))
    with pytest.raises(InvalidInput, match="a pad has 2 positive sizes"):
        ContactShape(shape="pad", size=(0.1,))
    with pytest.raises(InvalidInput, match="contact link 'hand' touches"):
        World(surfaces=(Surface(contact="rigid"),), contact_links=("hand",))
    with pytest.raises(InvalidInput, match="nothing that could touch the rigid surface"):
        build_plant(hand(), World(surfaces=(Surface(contact="rigid"),)), 1e-3)

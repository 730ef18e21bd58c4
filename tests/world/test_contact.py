"""Compliant contact: distances, forces, rest, bounce, friction."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from palpate.control import PythonLaw
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial.shapes import SHAPES
from palpate.world.clock import Clock
from palpate.world.config import FreeObject, Motion, Push, Surface, World
from palpate.world.forces.contact import normal_force, stored_energy, surface_state
from palpate.world.surfaces.forms import form_of

force_of, energy_of = normal_force, stored_energy
G, IDLE = 9.81, PythonLaw(lambda tick, gains, memory: {"torque": 0.0 * tick.v})
FLOOR_HEIGHT, RADIUS = -1.0, 0.05  # below the arm, which takes no part
BOX, CYLINDER, SPHERE = (0.2, 0.3, 0.1), (0.12, 0.2), (0.15,)


def row_of(surface):
    return surface_state(surface, -1, np.zeros(3))


def distance(surface, p, normal):
    """By the shape's own kernel."""
    return SHAPES[surface.shape].distance(form_of(surface), p, normal)


def samples_of(shape, size, h=2e-3):
    """Points on the surface, no further than h apart along each of its two directions."""
    if shape == "box":
        half = np.array(size) / 2
        faces = []
        for axis in range(3):
            u, v = (np.linspace(-half[k], half[k], round(2 * half[k] / h) + 1) for k in range(3) if k != axis)
            grid = np.stack(np.meshgrid(u, v, indexing="ij"), -1).reshape(-1, 2)
            faces += [np.insert(grid, axis, side * half[axis], axis=1) for side in (-1, 1)]
        return np.concatenate(faces)
    r, length = size
    turn, up = np.linspace(0, 2 * np.pi, round(2 * np.pi * r / h) + 1), np.linspace(-length / 2, length / 2, 101)
    wall = np.stack([a.ravel() for a in np.broadcast_arrays(r * np.cos(turn), r * np.sin(turn), up[:, None])], -1)
    ring = np.linspace(0, r, round(r / h) + 1)[:, None]
    caps = [
        np.stack([a.ravel() for a in np.broadcast_arrays(ring * np.cos(turn), ring * np.sin(turn), z)], -1)
        for z in (-length / 2, length / 2)
    ]
    return np.concatenate([wall, *caps])


@pytest.mark.parametrize(("shape", "size"), [("box", BOX), ("cylinder", CYLINDER)])
def test_distance_is_that_to_the_nearest_point_of_the_surface(shape, size):
    row, n = Surface(shape=shape, size=size), np.zeros(3)
    points, h = samples_of(shape, size), 2e-3
    inside = (
        (lambda p: (np.abs(p) < np.array(size) / 2).all())
        if shape == "box"
        else (lambda p: np.hypot(p[0], p[1]) < size[0] and abs(p[2]) < size[1] / 2)
    )
    for p in np.random.default_rng(1).uniform(-0.3, 0.3, (200, 3)):
        found = distance(row, p, n)
        assert (found < 0) == inside(p)
        nearest = np.sqrt(((points - p) ** 2).sum(axis=1).min())
        # A sample lies within h/√2 of every point of the surface, beside it or, on a curved one, off it.
        assert abs(found) - 2e-6 <= nearest <= np.sqrt(found**2 + h**2 / 2) + 1e-4
        assert np.linalg.norm(n) == pytest.approx(1, abs=1e-14)


def test_distances_to_a_sphere_and_a_plane_are_the_formulas():
    n = np.zeros(3)
    ball, plane = Surface(shape="sphere", size=SPHERE), Surface()
    for p in np.random.default_rng(2).uniform(-0.3, 0.3, (20, 3)):
        assert distance(ball, p, n) == pytest.approx(np.linalg.norm(p) - SPHERE[0], abs=1e-15)
        np.testing.assert_allclose(n, p / np.linalg.norm(p), atol=1e-15)
        assert distance(plane, p, n) == p[2]
        np.testing.assert_array_equal(n, [0, 0, 1])


@pytest.mark.parametrize(("shape", "size"), [("box", BOX), ("cylinder", CYLINDER), ("sphere", SPHERE)])
def test_the_normal_is_the_gradient_of_the_distance(shape, size):
    row, n, scratch, h = Surface(shape=shape, size=size), np.zeros(3), np.zeros(3), 1e-6
    for p in np.random.default_rng(3).uniform(-0.3, 0.3, (100, 3)):
        distance(row, p, n)
        gradient = [
            (distance(row, p + h * e, scratch) - distance(row, p - h * e, scratch)) / (2 * h) for e in np.eye(3)
        ]
        np.testing.assert_allclose(n, gradient, atol=1e-5)  # of the difference quotient near an edge


def test_kelvin_voigt_and_hunt_crossley_follow_their_formulas_and_never_pull():
    voigt = row_of(Surface(stiffness=2e3, damping=30.0))
    hunt = row_of(Surface(model="hunt-crossley", stiffness=2e5, exponent=1.5, dissipation=0.8))
    for depth, rate in [(1e-3, 0.0), (2e-3, 0.05), (3e-3, -0.02)]:
        assert force_of(voigt, depth, rate) == pytest.approx(2e3 * depth + 30 * rate, rel=1e-15)
        assert force_of(hunt, depth, rate) == pytest.approx(2e5 * depth**1.5 * (1 + 0.8 * rate), rel=1e-15)
    assert force_of(voigt, 1e-3, -1.0) == 0
    assert force_of(hunt, 1e-3, -2.0) == 0


@pytest.mark.parametrize("surface", [Surface(), Surface(model="hunt-crossley", exponent=1.7)])
def test_stored_energy_is_the_integral_of_the_elastic_force(surface):
    row, h = row_of(surface), 1e-7
    slope = (energy_of(row, 2e-3 + h) - energy_of(row, 2e-3 - h)) / (2 * h)
    assert slope == pytest.approx(force_of(row, 2e-3, 0.0), rel=1e-8)


# ------------------------------------------------------------------------------------------------ a ball on a floor


def drop(height, *, duration=1.0, integrator: Any = "rk4", timestep=1e-3, velocity=(0.0,) * 6, pushes=(), **surface):
    """A 1 kg ball of 5 cm, its lowest point at `height` above the floor."""
    place = (2.0, 0.0, FLOOR_HEIGHT + RADIUS + height)
    world = World(
        surfaces=(Surface(name="floor", position=(0, 0, FLOOR_HEIGHT), **surface),),
        objects=(FreeObject(name="ball", size=(RADIUS,), mass=1.0, position=place, velocity=velocity),),
        gravity=(0, 0, -G),
        pushes=pushes,
    )
    parts = Run(
        load_robot("cartesian2"), IDLE, world, clock=Clock(duration=duration, timestep=timestep, integrator=integrator)
    )
    trace = simulate(parts)
    assert trace.outcome.kind == "completed"
    return trace, trace["rest_q"][:, 2] - FLOOR_HEIGHT - RADIUS


@pytest.mark.parametrize("integrator", ["euler", "implicit", "rk4"])
def test_a_ball_at_rest_sinks_by_its_weight_over_the_stiffness(integrator):
    _, height = drop(0.0, duration=3.0, integrator=integrator, stiffness=1e4, damping=50.0)
    assert -height[-1] == pytest.approx(G / 1e4, rel=1e-6)
    assert abs(height[-1] - height[-100]) < 1e-12


def test_a_ball_at_rest_sinks_into_hunt_crossley_by_its_force_law():
    _, height = drop(0.0, duration=4.0, model="hunt-crossley", stiffness=1e6, exponent=1.5, dissipation=2.0)
    assert -height[-1] == pytest.approx((G / 1e6) ** (1 / 1.5), rel=1e-6)


def test_a_ball_thrown_up_out_of_a_damped_floor_is_not_held_back():
    trace, height = drop(-2e-3, velocity=(0, 0, 1.0, 0, 0, 0), duration=0.05, stiffness=1e3, damping=200.0)
    # Damping alone would pull with 200 N at first; without pull the ball flies as if nothing were there.
    np.testing.assert_allclose(height, -2e-3 + trace.time - G * trace.time**2 / 2, atol=1e-12)


def test_a_bounce_without_damping_conserves_energy():
    trace, height = drop(0.1, duration=1.0, stiffness=1e4, damping=0.0)
    total = trace["energy.kinetic"] + trace["energy.potential"] + trace["energy.stored"]
    assert np.abs(total - total[0]).max() < 1e-3 * G * 0.1
    assert height[300:].max() == pytest.approx(0.1, rel=1e-3)


def test_hunt_crossley_bounces_as_its_differential_equation_does():
    speed, k, c = 0.5, 1e5, 0.4

    def fall(t, x):
        force = max(k * max(-x[0], 0.0) * (1 - c * x[1]), 0.0)
        return [x[1], force - G]

    exact = solve_ivp(fall, (0, 0.03), [1e-3, -speed], rtol=1e-10, atol=1e-12, max_step=1e-5)
    trace, _ = drop(
        1e-3, velocity=(0, 0, -speed, 0, 0, 0), duration=0.03, timestep=2e-5, model="hunt-crossley",
        stiffness=k, exponent=1.0, dissipation=c,
    )  # fmt: skip
    assert trace["rest_v"][-1, 2] == pytest.approx(exact.y[1, -1], rel=1e-6)


def test_a_contact_in_the_middle_of_its_bounce_stores_what_the_ball_has_lost():
    trace, height = drop(0.1, duration=0.2, timestep=1e-4, stiffness=1e4, damping=0.0)
    lowest = int(np.argmin(height))
    assert trace["energy.stored"][lowest] == pytest.approx(0.5 * 1e4 * height[lowest] ** 2, rel=1e-12)
    assert trace["energy.stored"][lowest] == pytest.approx(G * (0.1 - height[lowest]), rel=1e-4)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_coulomb_friction_holds_below_and_slides_above(integrator):
    mu = 0.4
    held, free = (brick(share, mu, integrator) for share in (0.95, 1.05))
    assert np.abs(held["rest_q"][:, 0] - 2.0).max() < 1e-3  # the friction spring gives by μN/k_t
    assert np.abs(held["rest_v"][-1, 0]) < 1e-9
    # Above μN it slides under what is left over: a = 0.05 μ g.
    assert 2 * (free["rest_v"][-1, 0] - free["rest_v"][500, 0]) == pytest.approx(0.05 * mu * G, rel=1e-3)


def brick(share, mu, integrator):
    """A flat brick on four corners, which cannot roll, pushed with a share of what friction can hold."""
    size, k = (0.2, 0.2, 0.02), 1e4
    sunk = G / (4 * k)
    world = World(
        surfaces=(Surface(name="floor", position=(0, 0, FLOOR_HEIGHT), stiffness=k, damping=100.0, friction=mu),),
        objects=(
            FreeObject(
                name="brick", shape="box", size=size, position=(2, 0, FLOOR_HEIGHT + size[2] / 2 - sunk), mass=1.0
            ),
        ),
        gravity=(0, 0, -G),
        pushes=(Push(frame="brick", force=(share * mu * G, 0, 0), duration=9.0),),
    )
    return simulate(Run(load_robot("cartesian2"), IDLE, world, clock=Clock(integrator=integrator, duration=1.0)))


def test_a_wall_that_moves_carries_the_contact_along():
    robot = load_robot("cartesian2", gravity=0.0)
    wall = Surface(
        name="wall", normal=(1, 0, 0), position=(-0.0101, 0, 0), stiffness=1e4, damping=200.0,
        motion=Motion(velocity=(0.1, 0, 0), start=0.2, stop=0.7),
    )  # fmt: skip
    trace = simulate(Run(robot, IDLE, World(surfaces=(wall,)), clock=Clock(integrator="rk4", duration=1.0)))
    place = trace["surface.wall"][:, 0] + 0.0101
    np.testing.assert_allclose(place, np.clip(0.1 * (trace.time - 0.2), 0, 0.05), atol=1e-15)
    # Pushed from behind, the arm goes at least as fast as the wall and keeps its speed when the wall stops.
    assert trace["v"][-1, 0] >= 0.1 - 1e-3
    assert trace["energy.pushed"][-1] > 0.9 * trace["energy.kinetic"][-1]

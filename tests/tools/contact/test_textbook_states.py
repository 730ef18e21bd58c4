"""Bodies of the textbooks, let go from rest under gravity alone: more than 11 000 states of six families.

Ladders, blocks on slopes, rods and eccentric rollers in V grooves are compared with `modes_by_enumeration`, wheels and
tables with closed forms. Nothing pushes at random: multipliers that are 0, contacts that share a load and directions
that agree with an axis are what textbooks have and random states do not.
"""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import pytest
from tests.tools.contact.modes_by_enumeration import PlanarStates

from palpate.robot.robot import Robot
from palpate.tools.contact import Contact, Plane, static_equilibrium
from palpate.tools.contact.modes.dynamics import SPEED, Settled, closed_contacts, settle
from palpate.tools.contact.modes.model import ContactModel

G = 9.81
BOUNDARY = 1e-6  # N: states nearer than this to where two modes meet are not decided
UP = np.array([0.0, 0.0, 1.0])


def let_go(model: ContactModel, q: np.ndarray, friction: np.ndarray) -> Settled:
    """What the contacts do at rest under gravity."""
    model.records["friction"] = model.records["hold"] = friction
    snap = model.begin_at(q, np.zeros(model.robot.nv))
    closed = closed_contacts(model, snap)
    assert len(closed) == model.count
    return settle(model, snap, np.zeros(model.robot.nv), closed, SPEED)


def compare(models: list[tuple[ContactModel, slice]], q: np.ndarray, states: PlanarStates) -> dict[str, int]:
    """Every state of a family by both; how many rest and move."""
    rest, motions = states.rest_margin(), states.moving()
    accelerations = np.stack([a for a, _ in motions])
    consistent = np.stack([good for _, good in motions])
    counts = {"rest": 0, "move": 0, "boundary": 0}
    for model, part in models:
        for n in range(part.start, part.stop):
            settled = let_go(model, q[n], states.friction[n])
            a, size = settled.acceleration, G + np.abs(settled.acceleration).max()
            if abs(rest[n]) < BOUNDARY:
                counts["boundary"] += 1
                continue
            if rest[n] > 0:
                assert np.abs(a).max() < 1e-9 * size, (n, q[n], states.friction[n])
            else:
                error = np.abs(accelerations[:, n] - a).max(axis=1)[consistent[:, n]]
                assert error.size, (n, q[n], states.friction[n])
                assert error.min() < 1e-8 * size, (n, q[n], states.friction[n], error)
            counts["rest" if rest[n] > 0 else "move"] += 1
    return counts


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def planar(count: int, mass: float, inertia: float, lever, normal, friction) -> PlanarStates:
    force = np.tile([0.0, -mass * G, 0.0], (count, 1))
    return PlanarStates(np.full(count, mass), np.full(count, inertia), lever, normal, friction, force)


def turned(points: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Points of a body in its axes, turned: N × k × 2."""
    c, s = np.cos(angle), np.sin(angle)
    return np.einsum("nij,kj->nki", np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2), points)


def two_contacts(robot: Robot, normals, frames, points=((0, 0, 0), (0, 0, 0)), radius: float = 0.0) -> ContactModel:
    planes = [Plane(p, (n[0], 0, n[1])) for p, n in zip(points, normals)]
    names = ("first", "second")
    pairs = zip(planes, frames, names)
    return ContactModel(robot, [Contact(p, frame=f, friction=0.1, radius=radius, name=n) for p, f, n in pairs])


@pytest.mark.parametrize("load", [0.0, 0.3, -0.4], ids=["uniform", "load near the top", "load near the foot"])
def test_every_ladder_from_rest_stands_or_slides_as_all_its_modes_say(bodies, load: float) -> None:
    """A ladder of 1 m at a rough wall on a rough floor; its centre lies `load` of half its length from the middle."""
    count, rng = 1200, random(1)
    top, foot = (-0.5 - 0.5 * load, 0.0), (0.5 - 0.5 * load, 0.0)
    robot = bodies.planar_body(1.0, 1 / 12, {"a": top, "b": foot})
    angle = np.radians(np.concatenate([np.linspace(5, 89, 600), rng.uniform(5, 89, 600)]))
    friction = rng.uniform(0, 1, (count, 2))
    friction[:600, 1] = friction[:600, 0]
    lever = turned(np.array([top, foot]), -angle)
    q = np.column_stack([-lever[:, 0, 0], -lever[:, 1, 1], -angle])
    normal = np.tile([[1.0, 0.0], [0.0, 1.0]], (count, 1, 1))
    model = two_contacts(robot, [(1, 0), (0, 1)], "ab")
    counts = compare([(model, slice(0, count))], q, planar(count, 1.0, 1 / 12, lever, normal, friction))
    assert counts["rest"] > 200
    assert counts["move"] > 200


def test_a_uniform_ladder_stands_from_the_angle_of_the_textbook_on() -> None:
    """tan θ ≥ (1 − μ²)/(2μ) with the same friction at both ends: 64 frictions, a milliradian on either side."""
    text = (
        '<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody><body name="b">'
        '<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>'
        '<joint name="p" axis="0 -1 0"/><inertial pos="0 0 0" mass="1" diaginertia="1e-9 .0833333 .0833333"/>'
        '<site name="a" pos="-.5 0 0"/><site name="b" pos=".5 0 0"/></body></worldbody></mujoco>'
    )
    robot = Robot.from_mjcf_text(text, name="ladder")
    for mu in np.linspace(0.1, 0.8, 64):
        wall = Contact(Plane(normal=(1, 0, 0)), frame="a", friction=float(mu), name="wall")
        floor = Contact(Plane(normal=(0, 0, 1)), frame="b", friction=float(mu), name="floor")
        limit = np.arctan((1 - mu**2) / (2 * mu))
        for side in (-1e-3, 1e-3):
            th = limit + side
            q = [0.5 * np.cos(th), 0.5 * np.sin(th), -th]
            assert static_equilibrium(robot, q, np.zeros(3), [wall, floor]).holds == (side > 0)


def test_every_block_on_a_slope_stands_slides_or_tips_as_all_its_modes_say(bodies) -> None:
    models, parts = [], []
    rng, each = random(2), 250
    for width, height in [(0.3, 0.2), (0.2, 0.4), (0.1, 0.5), (0.4, 0.1)]:
        for slope in rng.uniform(0.02, 1.3, 2):
            n = np.array([-np.sin(slope), np.cos(slope)])
            models.append((two_contacts(bodies.block(width, height), [n, n], ("left", "right")), slope, width, height))
    q, lever, normal, friction, inertia = [], [], [], [], []
    for k, (model, slope, width, height) in enumerate(models):
        corners = np.array([[-width / 2, -height / 2], [width / 2, -height / 2]])
        arm = turned(corners, np.full(each, slope))
        along = rng.uniform(-1, 1, each)
        n = np.array([-np.sin(slope), np.cos(slope)])
        centre = np.outer(along, [n[1], -n[0]]) + 0.5 * height * n
        q.append(np.column_stack([centre, np.full(each, slope)]))
        lever.append(arm)
        normal.append(np.tile(n, (each, 2, 1)))
        friction.append(np.repeat(rng.uniform(0, 1.5, (each, 1)), 2, axis=1))
        inertia.append(np.full(each, (width**2 + height**2) / 12))
        parts.append((model, slice(k * each, (k + 1) * each)))
    count = each * len(models)
    states = planar(count, 1.0, 1.0, *map(np.concatenate, (lever, normal, friction)))
    states.inertia = np.concatenate(inertia)
    counts = compare(parts, np.concatenate(q), states)
    assert counts["rest"] > 100
    assert counts["move"] > 500


GROOVES = [
    (30, 30),
    (45, 45),
    (60, 20),
    (70, 70),
    (10, 50),
    (80, 35),
]  # degrees: slopes of the left and right faces


def faces(left: float, right: float) -> np.ndarray:
    """Normals of a V groove's faces, from its lowest line."""
    a, b = np.radians([left, right])
    return np.array([[np.sin(a), np.cos(a)], [-np.sin(b), np.cos(b)]])


@pytest.mark.parametrize("centre", [0.0, 0.35], ids=["uniform", "off centre"])
def test_every_rod_in_a_v_groove_rests_or_slides_as_all_its_modes_say(bodies, centre: float) -> None:
    """Its ends rest on the two faces: r₁ e₁ + L (cos φ, sin φ) = r₂ e₂ with distances r from the lowest line."""
    rng, each = random(3), 250
    ends = np.array([[-0.5 - 0.5 * centre, 0.0], [0.5 - 0.5 * centre, 0.0]])
    parts, q, lever, normal = [], [], [], []
    for k, groove in enumerate(GROOVES):
        n = faces(*groove)
        along = np.array([[-n[0, 1], n[0, 0]], [n[1, 1], -n[1, 0]]])  # up each face
        # Every angle at which both distances are positive: between the faces' own.
        low, high = -np.arctan2(along[0, 1], -along[0, 0]), np.arctan2(along[1, 1], along[1, 0])
        phi = rng.uniform(low + 0.02, high - 0.02, each)
        direction = np.column_stack([np.cos(phi), np.sin(phi)])
        r = np.linalg.solve(np.column_stack([-along[0], along[1]]), direction.T)  # unit length
        assert (r > 0).all()
        arm = turned(ends, phi)
        q.append(np.column_stack([np.outer(r[0], along[0]) - arm[:, 0], phi]))
        lever.append(arm)
        normal.append(np.tile(n, (each, 1, 1)))
        robot = bodies.planar_body(1.0, 1 / 12, {"a": ends[0].tolist(), "b": ends[1].tolist()})
        parts.append((two_contacts(robot, n, "ab"), slice(k * each, (k + 1) * each)))
    count = each * len(GROOVES)
    friction = rng.uniform(0.0, 1.2, (count, 2))
    friction[::3, 1] = friction[::3, 0]
    states = planar(count, 1.0, 1 / 12, np.concatenate(lever), np.concatenate(normal), friction)
    counts = compare(parts, np.concatenate(q), states)
    assert counts["rest"] > 200
    assert counts["move"] > 200


def test_every_eccentric_roller_in_a_v_groove_rests_rolls_or_slips_as_all_its_modes_say(bodies) -> None:
    """A cylinder of radius 0.1 m whose centre of mass lies off its axis."""
    rng, each, radius = random(4), 300, 0.1
    parts, q, lever, normal = [], [], [], []
    for k, groove in enumerate(GROOVES):
        n, off = faces(*groove), (0.0, 0.02, 0.06)[k % 3]
        axis = np.linalg.solve(n, [radius, radius])  # at a distance of one radius from both faces
        phi = rng.uniform(-np.pi, np.pi, each)
        robot = bodies.planar_body(1.0, 0.004, {"axis": (off, 0.0)}, thin=0.004)
        shift = turned(np.array([[off, 0.0]]), phi)[:, 0]
        q.append(np.column_stack([axis - shift, phi]))
        lever.append(shift[:, None] - radius * n[None])
        normal.append(np.tile(n, (each, 1, 1)))
        parts.append((two_contacts(robot, n, ("axis", "axis"), radius=radius), slice(k * each, (k + 1) * each)))
    count = each * len(GROOVES)
    friction = rng.uniform(0.0, 0.8, (count, 2))
    friction[::3, 1] = friction[::3, 0]
    states = planar(count, 1.0, 0.004, np.concatenate(lever), np.concatenate(normal), friction)
    counts = compare(parts, np.concatenate(q), states)
    assert counts["rest"] > 200
    assert counts["move"] > 200


def test_every_wheel_on_a_slope_rolls_or_slips_as_the_textbook_says(bodies) -> None:
    """I = c m r²: it rolls with g sin α/(1 + c) where tan α ≤ μ (1 + c)/c, else it slides with g (sin α − μ cos α)."""
    rng, radius = random(5), 0.2
    for share in (0.4, 0.5, 2 / 3, 1.0):
        robot = bodies.planar_body(
            2.0, share * 2.0 * radius**2, {"hub": (0.0, 0.0)}, thin=0.5 * share * 2.0 * radius**2
        )
        for slope in rng.uniform(0.02, 1.3, 25):
            n, down = np.array([-np.sin(slope), 0, np.cos(slope)]), np.array([-np.cos(slope), -np.sin(slope)])
            model = ContactModel(robot, [Contact(Plane(normal=n), frame="hub", radius=radius, friction=0.1)])
            for mu in rng.uniform(0.0, 1.2, 14):
                along = rng.uniform(-1, 1)
                q = np.array([*(along * down + radius * n[[0, 2]]), rng.uniform(-3, 3)])
                settled = let_go(model, q, mu)
                rolls = np.tan(slope) <= mu * (1 + share) / share
                a = G * np.sin(slope) / (1 + share) if rolls else G * (np.sin(slope) - mu * np.cos(slope))
                spin = a / radius if rolls else mu * G * np.cos(slope) / (share * radius)
                assert settled.acceleration == pytest.approx([*(a * down), spin], abs=1e-9 * G / radius)
                assert settled.solution.z[0] == pytest.approx(2.0 * G * np.cos(slope), rel=1e-10)


LEGS = {
    "three": [(0.3, 0.0), (-0.2, 0.25), (-0.15, -0.3)],
    "four": [(0.3, 0.2), (-0.3, 0.2), (-0.3, -0.2), (0.3, -0.2)],
}


@pytest.mark.parametrize("legs", ["three", "four"])
def test_every_table_on_a_slope_stands_or_slides_straight_down_as_the_textbook_says(legs: str) -> None:
    """It stands where tan α ≤ μ, else it slides with g (sin α − μ cos α), without turning, since the centre of pressure
    lies straight below or above the centre of mass; slope and table turned about the normal by any angle."""
    feet, height = LEGS[legs], 0.12
    sites = "".join(f'<site name="f{k}" pos="{x} {y} {-height}"/>' for k, (x, y) in enumerate(feet))
    text = (
        '<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="table"><freejoint name="free"/>'
        f'<inertial pos="0 0 0" mass="3" diaginertia="0.1 0.12 0.2"/>{sites}</body></worldbody></mujoco>'
    )
    robot, rng, stands = Robot.from_mjcf_text(text, name="table"), random(6), 0
    for slope in np.linspace(0.03, 0.6, 12):
        n = np.array([-np.sin(slope), 0.0, np.cos(slope)])
        uphill = np.array([np.cos(slope), 0.0, np.sin(slope)])
        plane = Plane(normal=n)
        model = ContactModel(robot, [Contact(plane, frame=f"f{k}", friction=0.1) for k in range(len(feet))])
        for mu in np.concatenate([rng.uniform(0.0, 0.9, 36), [0.0, np.tan(slope) * 1.001, np.tan(slope) * 0.999]]):
            yaw = rng.uniform(-np.pi, np.pi)
            X = np.column_stack([uphill, np.cross(n, uphill), n])
            c, s = np.cos(yaw), np.sin(yaw)
            R = X @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
            q = np.concatenate([height * n + rng.uniform(-1, 1) * uphill, quat(R)])
            settled = let_go(model, q, mu)
            a = max(G * (np.sin(slope) - mu * np.cos(slope)), 0.0) if mu < np.tan(slope) else 0.0
            assert settled.acceleration == pytest.approx([*(-a * uphill), 0, 0, 0], abs=1e-8 * G)
            stands += a == 0.0
            rows = settled.rows.candidates
            pressures = settled.solution.z[[c.normal for c in rows]]
            assert pressures.min() > -1e-9
            assert pressures.sum() == pytest.approx(3 * G * np.cos(slope), rel=1e-9)
    assert stands > 100


def quat(R: np.ndarray) -> np.ndarray:
    """wxyz of a rotation matrix near none of the singular cases."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return np.array([w, x, y, z])

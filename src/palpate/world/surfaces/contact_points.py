"""Points of the robot that touch compliant surfaces: of spheres, of shapes at the tool, of whole links."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, UnknownName
from palpate.robot.frames import Frame
from palpate.robot.mechanics.compiled import unused_name
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat, quat_from_matrix
from palpate.world.config import ContactShape, World

_GOLDEN = math.pi * (3.0 - math.sqrt(5.0))
SHAPE = "contact shape"  # begins the names of drawn shapes
_ROUND = 24  # points round a circle
MOST_HULL = 60  # points of a link


@dataclass(frozen=True)
class ContactPoint:
    """A sphere on a moving body that compliant surfaces push; radius 0 is a point.

    Attributes:
        name: how to call it.
        body, offset: on which body of the scene, and where there, m.
        radius: m.
        on_robot: whether the robot is pushed, not an object.
        share: of a surface's stiffness and damping: a pad of n points has an n-th each, and all of it pressed flat.
        group: what it is a part of.
    """

    name: str
    body: int
    offset: Array
    radius: float
    on_robot: bool
    share: float = 1.0
    group: str = ""


def shape_points(shape: ContactShape) -> Array:
    """The points of a shape, (n, 3), in its own axes: it lies in the plane z = 0."""
    n, size = shape.count, shape.size
    if shape.shape == "points":
        return np.array(shape.points, dtype=float)
    if shape.shape == "sphere":
        return np.zeros((1, 3))
    if shape.shape == "disc":
        return _disc(size[0], n)
    if shape.shape == "edge":
        return np.column_stack([_cells(size[0], n), np.zeros((n, 2))])
    columns = max(1, round(math.sqrt(n * size[0] / size[1])))
    rows = max(1, round(n / columns))
    x, y = np.meshgrid(_cells(size[0], columns), _cells(size[1], rows))
    return np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)])


def _disc(radius: float, count: int) -> Array:
    """Points even over a disc: half a sunflower and its mirror image, so that their middle is the disc's."""
    if count == 1:
        return np.zeros((1, 3))
    k = np.arange(count // 2) + 0.5
    r, angle = radius * np.sqrt(k / len(k)), _GOLDEN * k
    half = np.column_stack([r * np.cos(angle), r * np.sin(angle), np.zeros(len(k))])
    return np.vstack([half, -half])


def _cells(length: float, count: int) -> Array:
    """The middles of equal parts of a length around 0."""
    return ((np.arange(count) + 0.5) / count - 0.5) * length


def points_of_shapes(robot: Robot, world: World, frames: dict[str, Frame]) -> list[ContactPoint]:
    """The points of the world's contact shapes."""
    points: list[ContactPoint] = []
    for shape in world.contact_shapes:
        frame = frames[robot.frame(shape.frame).name]
        points_in_frame = shape_points(shape) @ matrix_from_quat(shape.quat_wxyz).T + np.array(shape.position)
        positions = frame.offset + points_in_frame @ frame.rotation.T
        share, radius = 1.0 / len(positions), shape.size[0] if shape.shape == "sphere" else 0.0
        points += [
            ContactPoint(f"{shape.name} point {k + 1}", frame.body, position, radius, True, share, shape.name)
            for k, position in enumerate(positions)
        ]
    return points


_THIN = 1e-3  # m, half the height a flat shape is drawn with
_DRAWN = {  # the engine's shape, and its half sizes from those given
    "disc": (mujoco.mjtGeom.mjGEOM_CYLINDER, lambda size: (size[0], _THIN, 0.0)),
    "pad": (mujoco.mjtGeom.mjGEOM_BOX, lambda size: (size[0] / 2, size[1] / 2, _THIN)),
    "edge": (mujoco.mjtGeom.mjGEOM_BOX, lambda size: (size[0] / 2, _THIN, _THIN)),
    "sphere": (mujoco.mjtGeom.mjGEOM_SPHERE, lambda size: (size[0], 0.0, 0.0)),
}


def draw_shapes(spec: mujoco.MjSpec, robot: Robot, world: World) -> None:
    """Let a replay show the contact shapes; they weigh nothing and the engine lets them touch nothing."""
    for shape in world.contact_shapes:
        frame = robot.frame(shape.frame)
        body = spec.body(robot.model.body(frame.body).name)
        position = frame.offset + frame.rotation @ np.array(shape.position)
        rotation = frame.rotation @ matrix_from_quat(shape.quat_wxyz)
        small = ("sphere", [(position + rotation @ np.array(p), (2 * _THIN,)) for p in shape.points])
        for kind, parts in [small] if shape.shape == "points" else [(shape.shape, [(position, shape.size)])]:
            for at, size in parts:
                geom, halves = _DRAWN[kind]
                body.add_geom(
                    name=unused_name(f"{SHAPE} {shape.name}", {g.name for g in spec.geoms}), type=geom,
                    size=halves(size), pos=at, quat=quat_from_matrix(rotation), rgba=(0.85, 0.45, 0.2, 1.0),
                    contype=0, conaffinity=0, mass=0, group=2,
                )  # fmt: skip


def points_of_links(model: mujoco.MjModel, robot: Robot, world: World) -> list[ContactPoint]:
    """Whole links: the corners of the convex hull around everything drawn of them."""
    points: list[ContactPoint] = []
    for link in world.contact_links:
        if link not in robot.frame_names or mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link) < 0:
            raise UnknownName("link", link, [robot.model.body(b).name for b in range(1, robot.model.nbody)])
        body = model.body(link).id
        cloud = link_points(model, body)
        if cloud is None:
            raise InvalidInput(f"contact_links: link {link!r} of {robot.name} has no shape that could touch")
        corners = thin_points(hull(cloud), MOST_HULL)
        points += [ContactPoint(f"{link} point {k + 1}", body, p, 0.0, True, group=link) for k, p in enumerate(corners)]
    return points


def link_points(model: mujoco.MjModel, body: int) -> Array | None:
    """Points whose convex hull holds all that is drawn of a body, body axes; None if nothing but contact shapes is."""
    clouds = [
        geom_points(model, g)
        for g in range(model.ngeom)
        if model.geom_bodyid[g] == body and not model.geom(g).name.startswith(SHAPE)
    ]
    return np.vstack(clouds) if clouds else None


def geom_points(model: mujoco.MjModel, g: int) -> Array:
    """Points whose convex hull is a geom's: corners, rims, vertices; round ones by points on them. Body axes."""
    kind, size = mujoco.mjtGeom(int(model.geom_type[g])), model.geom_size[g]
    rotation = matrix_from_quat(model.geom_quat[g])
    return model.geom_pos[g] + _points_in_geom(model, g, kind, size) @ rotation.T


def _points_in_geom(model: mujoco.MjModel, g: int, kind: mujoco.mjtGeom, size: Array) -> Array:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    geoms = mujoco.mjtGeom
    if kind == geoms.mjGEOM_BOX:
        return signs * size
    if kind == geoms.mjGEOM_MESH:
        m = int(model.geom_dataid[g])
        return np.asarray(model.mesh_vert[model.mesh_vertadr[m] :][: model.mesh_vertnum[m]], dtype=float)
    if kind == geoms.mjGEOM_CYLINDER:
        angle = np.arange(_ROUND) * 2 * math.pi / _ROUND
        rim = np.column_stack([size[0] * np.cos(angle), size[0] * np.sin(angle), np.zeros(_ROUND)])
        up = np.array([0.0, 0.0, size[1]])
        return np.vstack([rim + up, rim - up])
    k = np.arange(4 * _ROUND) + 0.5  # evenly over a ball
    z, angle = 1 - 2 * k / k.size, _GOLDEN * k
    ball = np.column_stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z])
    if kind == geoms.mjGEOM_CAPSULE:
        return size[0] * ball + np.sign(ball[:, 2:]) * np.array([0, 0, size[1]])
    return ball * (size if kind == geoms.mjGEOM_ELLIPSOID else size[0])


def hull(points: Array) -> Array:
    """The corners of the convex hull; all points where they are flat."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return np.unique(points, axis=0)


def thin_points(points: Array, most: int) -> Array:
    """At most `most` points, each time the one farthest from those taken."""
    if len(points) <= most:
        return points
    taken = [int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))]
    away = np.linalg.norm(points - points[taken[0]], axis=1)
    while len(taken) < most:
        taken.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(points - points[taken[-1]], axis=1))
    return points[taken]

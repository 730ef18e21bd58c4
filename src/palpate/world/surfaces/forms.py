"""Surfaces: their sizes, heights or triangles, for distances and drawing, and what of a robot touches them."""

from __future__ import annotations

import io
import math
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import FileError, InvalidInput, PalpateError, UnknownName, shortened
from palpate.files import open_regular
from palpate.lazy import check_extra
from palpate.robot.frames import Frame
from palpate.robot.mechanics.compiled import unused_name
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat, quat_from_matrix
from palpate.spatial.height_field import HALF_X, HALF_Y, heights_on
from palpate.spatial.mesh import MOST_TRIANGLES, joined
from palpate.spatial.shapes import SHAPES
from palpate.world.config import ContactShape, Surface, World

MOST_BYTES = 50_000_000
_CELLS = 21  # along each side of a drawn height field
_SOLID = b"solid"
Triangles = tuple[Array, Array]
FileState = tuple[str, int, int]  # a file, and what changes when it does


def form_of(surface: Surface) -> Array:
    """What the distance of a surface's shape takes.

    Raises:
        FileError: its file cannot be read.
        InvalidInput: what is in the file is no height field, or no closed mesh.
    """
    if not SHAPES[surface.shape].data:
        return SHAPES[surface.shape].form(surface.size)
    try:
        state = None if surface.file is None else _file_state(surface.name, surface.file)
        return _form(surface.shape, surface.size, surface.heights, surface.scale, state)
    except InvalidInput as error:
        where = f"surface {surface.name!r}" + ("" if surface.file is None else f", {_short_name(surface.file)}")
        raise InvalidInput(f"{where}: {error.args[0]}", hint=error.hint) from error


def drawn_mesh(surface: Surface) -> Triangles:
    """Vertices and faces that show a height field, as a block down to its lowest point, or a mesh as it is."""
    form = form_of(surface)
    if SHAPES[surface.shape].data == "triangles":
        assert surface.file is not None
        vertices, faces = _content("triangles", _file_state(surface.name, surface.file))
        return joined(vertices * surface.scale, faces)
    return _block(form)


@lru_cache(maxsize=8)
def _form(
    shape: str, size: tuple[float, ...], heights: tuple[tuple[float, ...], ...], scale: float, state: FileState | None
) -> Array:
    """What a shape with data takes: of its heights, or of its file."""
    if state is None:
        return SHAPES[shape].form(size, np.array(heights))
    content = _content(SHAPES[shape].data, state)
    data = scale * content if SHAPES[shape].data == "heights" else (content[0] * scale, content[1])
    return SHAPES[shape].form(size, data)


@lru_cache(maxsize=8)
def _content(data: str, state: FileState) -> Any:
    """Heights from the smallest y on, or vertices and faces, in units of the file."""
    file, readers = state[0], _READERS[data]
    reader = readers.get(Path(file).suffix.lower())
    if reader is None:
        takes = f"heights are in one of {', '.join(readers)}" if data == "heights" else "a mesh is an .stl or .obj"
        raise FileError(f"cannot read {_short_name(file)}: {takes}")
    try:
        with open_regular(file, most_bytes=MOST_BYTES) as opened:
            return reader(opened.read(MOST_BYTES + 1))
    except PalpateError:
        raise
    except (ValueError, TypeError, IndexError, OSError, EOFError, SyntaxError, MemoryError, struct.error) as error:
        why = getattr(error, "strerror", None) or shortened(" ".join(str(error).split()))
        raise FileError(f"cannot read {_short_name(file)}: {why}") from error


def _short_name(file: str) -> str:
    return shortened(os.path.basename(file))


def _file_state(name: str, file: str) -> FileState:
    try:
        state = os.stat(file)
    except (OSError, ValueError) as error:
        raise FileError(
            f"surface {name!r}: cannot read {shortened(file)}: {getattr(error, 'strerror', None) or error}",
            hint="paths are relative to the scenario file",
        ) from error
    return file, state.st_mtime_ns, state.st_size


# ------------------------------------------------------------------------------------------------ heights


def _from_npy(content: bytes) -> Array:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = reader(stream)
    if kind.kind not in "fiu" or len(shape) != 2 or int(np.prod(shape)) * kind.itemsize > len(content):
        raise InvalidInput(f"heights are an array of numbers with rows and columns, this is one of {shape} {kind}")
    return np.load(io.BytesIO(content), allow_pickle=False).astype(float)


def _from_csv(content: bytes) -> Array:
    lines = content.decode("utf-8-sig").splitlines()
    return np.loadtxt(lines, delimiter=",", ndmin=2)


def _from_png(content: bytes) -> Array:
    """0 for black to 1 for white; the picture as seen from above, its lower edge at the smallest y."""
    check_extra("PIL", "figures", "a picture of heights")
    from PIL import Image

    picture = Image.open(io.BytesIO(content), formats=("PNG",))
    if picture.width * picture.height > 10_000_000:
        raise InvalidInput(f"the picture has {picture.width} by {picture.height} points, too many for heights")
    deep = picture.mode.startswith("I")  # 16 bits of grey
    grey = np.asarray(picture if deep else picture.convert("L"), dtype=float)
    return grey[::-1] / (65535.0 if deep else 255.0)


def _block(field: Array) -> Triangles:
    """The spline on a grid of cells, walls below its edges, and a floor."""
    n = _CELLS + 1
    x, y = np.linspace(-field[HALF_X], field[HALF_X], n), np.linspace(-field[HALF_Y], field[HALF_Y], n)
    top = heights_on(field, x, y)
    low = top.min() - 0.05 * (field[HALF_X] + field[HALF_Y])
    X, Y = np.meshgrid(x, y)
    above = np.column_stack([X.ravel(), Y.ravel(), top.ravel()])
    k = (np.arange(_CELLS)[:, None] * n + np.arange(_CELLS)).ravel()
    faces = [np.column_stack([k, k + 1, k + n + 1]), np.column_stack([k, k + n + 1, k + n])]
    i = np.arange(n)
    rim = np.concatenate([i[:-1], n * i[:-1] + n - 1, n * n - 1 - i[:-1], n * (n - 1 - i[:-1])])
    below = above[rim] * [1.0, 1.0, 0.0] + [0.0, 0.0, low]
    base, next_index = n * n + np.arange(len(rim)), np.roll(np.arange(len(rim)), -1)
    faces += [np.column_stack([rim, base, base[next_index]]), np.column_stack([rim, base[next_index], rim[next_index]])]
    middle = n * n + len(rim)
    faces += [np.column_stack([base[next_index], base, np.full(len(rim), middle)])]
    return np.concatenate([above, below, [[0.0, 0.0, low]]]), np.concatenate(faces)


# ------------------------------------------------------------------------------------------------ triangles


def _from_stl(content: bytes) -> Triangles:
    """Binary or text: three corners for each triangle."""
    count = struct.unpack_from("<I", content, 80)[0] if len(content) >= 84 else 0
    if content.lstrip().startswith(_SOLID) and len(content) != 84 + 50 * count:
        words = [line.split() for line in content.decode("ascii", errors="replace").splitlines()]
        corners = np.array([[float(x) for x in w[1:4]] for w in words if w[:1] == ["vertex"]]).reshape(-1, 3)
    else:
        if len(content) < 84 + 50 * count or not count:
            raise InvalidInput(f"an STL of {len(content)} bytes does not hold the {count} triangles it claims")
        rows = np.frombuffer(
            content, dtype=np.dtype([("n", "<f4", 3), ("p", "<f4", (3, 3)), ("a", "<u2")]), count=count, offset=84
        )
        corners = rows["p"].reshape(-1, 3).astype(float)
    _refuse_many(len(corners) // 3)
    if len(corners) % 3:
        raise InvalidInput(f"an STL has three corners for each triangle, this one has {len(corners)} corners")
    return corners, np.arange(len(corners)).reshape(-1, 3)


def _from_obj(content: bytes) -> Triangles:
    """Lines v and f; faces of more than three corners as fans."""
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    for line in content.decode("utf-8", errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append([float(x) for x in words[1:4]])
        elif words[:1] == ["f"]:
            named = [int(word.split("/")[0]) for word in words[1:]]
            ring = [k - 1 if k > 0 else len(vertices) + k for k in named]
            faces += [[ring[0], ring[k], ring[k + 1]] for k in range(1, len(ring) - 1)]
            _refuse_many(len(faces))
    return np.array(vertices).reshape(-1, 3), np.array(faces, dtype=np.int64).reshape(-1, 3)


def _refuse_many(count: int) -> None:
    if count > MOST_TRIANGLES:
        raise InvalidInput(
            f"the mesh has {count} triangles, at most {MOST_TRIANGLES} are taken", hint="simplify it first"
        )


_READERS: dict[str, dict[str, Callable[[bytes], Any]]] = {
    "heights": {".npy": _from_npy, ".csv": _from_csv, ".png": _from_png},
    "triangles": {".stl": _from_stl, ".obj": _from_obj},
}


# ---------------------------------------- What of the robot touches compliant surfaces: spheres, shapes at the tool,
# whole links, each as a set of points


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
        corners = thinned(hull(cloud), MOST_HULL)
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


def thinned(points: Array, most: int) -> Array:
    """At most so many points, each time the one farthest from those taken."""
    if len(points) <= most:
        return points
    taken = [int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))]
    away = np.linalg.norm(points - points[taken[0]], axis=1)
    while len(taken) < most:
        taken.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(points - points[taken[-1]], axis=1))
    return points[taken]

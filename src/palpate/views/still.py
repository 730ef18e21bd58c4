"""A picture of the scene at one moment, drawn without a screen: triangles from far to near, by matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.lazy import check_extra
from palpate.spatial.rows import rotate
from palpate.trace import Trace
from palpate.views.kinematics import Path, body_paths, scene_of
from palpate.views.pages.player import camera_of, drawn_geoms

_SUN = np.array([0.4, -0.6, 1.0]) / np.linalg.norm([0.4, -0.6, 1.0])
_BACK = (0.965, 0.973, 0.98)
_AROUND = 20  # sides of a round shape
_WIDTH, _HEIGHT = 640, 480  # pixels


def picture(trace: Trace) -> np.ndarray:
    """The scene at the last sample, as bytes (height, width, 3).

    Raises:
        MissingExtra: matplotlib is not installed.
        TraceError: the trace holds no scene or no joint positions.
    """
    check_extra("matplotlib", "figures", "a picture")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    paths = body_paths(trace, np.array([len(trace) - 1]))
    corners, colours = _triangles(trace, paths)
    seen, depth = _projected(corners, camera_of(scene_of(trace), paths))
    order = np.argsort(-depth.max(axis=1))
    figure = Figure(figsize=(_WIDTH / 100, _HEIGHT / 100), dpi=100, facecolor=_BACK)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set(xlim=(0, _WIDTH), ylim=(0, _HEIGHT))
    axes.add_collection(PolyCollection(list(seen[order]), facecolors=colours[order], edgecolors="face", linewidths=0.3))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _triangles(trace: Trace, paths: list[Path]) -> tuple[Array, Array]:
    """Corners (n, 3, 3) in the world and lit colours (n, 4) of everything that is drawn."""
    corners, colours = [], []
    for geom in drawn_geoms(trace, paths):
        body, quat = paths[geom["body"]][0][0], paths[geom["body"]][1][0]
        local = rotate(np.array(geom["quat_wxyz"]), _surface(geom)) + np.array(geom["position"])
        world = body + rotate(quat, local)
        corners.append(world)
        colours.append(np.tile(geom["rgba"], (len(world), 1)))
    made, paint = np.concatenate(corners), np.concatenate(colours)
    normal = np.cross(made[:, 1] - made[:, 0], made[:, 2] - made[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    light = 0.45 + 0.5 * np.abs(normal @ _SUN)
    return made, np.column_stack([np.clip(paint[:, :3] * light[:, None], 0, 1), paint[:, 3]])


def _projected(corners: Array, camera: dict[str, Any]) -> tuple[Array, Array]:
    """Pixels (n, 3, 2) and distances (n, 3) seen through the replay's first view, without what lies behind it."""
    centre, direction = np.array(camera["centre"]), np.array(camera["direction"])
    back = direction / np.linalg.norm(direction)
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    up = np.cross(back, right)
    away = corners - (centre + camera["distance"] * back)
    depth = np.maximum(-away @ back, 1e-3)
    pixel = _HEIGHT / (2 * np.tan(0.35)) / depth
    return np.stack([_WIDTH / 2 + pixel * (away @ right), _HEIGHT / 2 + pixel * (away @ up)], axis=-1), depth


def _surface(geom: dict[str, Any]) -> Array:
    """Triangles of a geom in its own frame, (n, 3, 3); sizes are MuJoCo's: radius and half lengths."""
    size, shape = np.array(geom["size"], dtype=float), geom["shape"]
    if shape == "mesh":
        import base64

        vertices = np.frombuffer(base64.b64decode(geom["vertices"]["bdata"]), "<f4").reshape(-1, 3)
        return vertices[np.array(geom["faces"]).reshape(-1, 3)].astype(float)
    if shape == "box":
        sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
        faces = [half for a, b, c, d in sides for half in ((a, b, c), (a, c, d))]
        return (np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij")).reshape(3, -1).T * size)[
            np.array(faces)
        ]
    if shape == "cylinder":
        return _revolved(np.array([[0, 1], [1, 1], [1, -1], [0, -1]]) * size[:2])
    angle = np.linspace(0, np.pi, 13)
    if shape == "capsule":
        shift = np.where(angle <= np.pi / 2, size[1], -size[1])
        return _revolved(np.column_stack([size[0] * np.sin(angle), size[0] * np.cos(angle) + shift]))
    radii = size if shape == "ellipsoid" else np.full(3, size[0])
    return _revolved(np.column_stack([np.sin(angle), np.cos(angle)])) * radii


def _revolved(profile: Array) -> Array:
    """A profile of (radius, height) turned about z."""
    angle = np.linspace(0, 2 * np.pi, _AROUND, endpoint=False)
    ring = np.stack([np.outer(profile[:, 0], np.cos(angle)), np.outer(profile[:, 0], np.sin(angle))], axis=-1)
    points = np.concatenate([ring, np.repeat(profile[:, 1], _AROUND).reshape(len(profile), _AROUND, 1)], axis=-1)
    a, b, c, d = points[:-1], np.roll(points[:-1], -1, axis=1), points[1:], np.roll(points[1:], -1, axis=1)
    return np.concatenate(
        [np.stack([a, c, b], axis=2).reshape(-1, 3, 3), np.stack([b, c, d], axis=2).reshape(-1, 3, 3)]
    )

"""The 3D replay: one page with a timeline that plays a recorded run without a network."""

from __future__ import annotations

import contextlib
import io
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.checks import Array
from palpate.engine.bounds import check_versions
from palpate.files import atomic_write
from palpate.trace import Trace
from palpate.views.kinematics import Path as BodyPath
from palpate.views.kinematics import body_paths, rotate, scene_of
from palpate.views.shapes import capsule, drawn_as, quat_from_z, revolve, rods

if TYPE_CHECKING:
    from viser import SceneApi, ViserServer

    from palpate.views.serve import ReplayServer

FRAMES_PER_SECOND, MOST_FRAMES = 30.0, 3000
_FORCE, _PUSH, _TRAIL = (213, 60, 0), (190, 60, 140), (0, 114, 178)
_NOWHERE = SimpleNamespace(server=SimpleNamespace(sockets=()))  # what a server that listens nowhere looks like
_starting = threading.Lock()
_SMALLEST_FORCE = 1e-6  # N; below, no arrow


def replay(trace: Trace, path: str | os.PathLike[str]) -> Path:
    """Write the 3D replay of a trace as one HTML file that needs no network.

    Raises:
        TraceError: the trace holds no scene or no joint positions.
        FileError: the file cannot be written.
    """
    page = replay_html(trace).encode()
    return atomic_write(path, lambda file: file.write(page))


def serve_replay(trace: Trace, port: int = 0) -> ReplayServer:
    """Serve the replay on the loopback address; `.url` says where, `.wait()` blocks, `.close()` ends it.

    Args:
        trace: what to show.
        port: 0 picks a free one.
    """
    from palpate.views.serve import ReplayServer

    return ReplayServer(replay_html(trace).encode(), port)


def replay_html(trace: Trace) -> str:
    """The replay as a page."""
    scene_of(trace)
    with _server() as server:
        stage = _Stage(server, trace, frame_rows(trace.time))
        serializer = server.get_scene_serializer()
        for frame in range(1, len(stage.rows)):
            serializer.insert_sleep(float(stage.times[frame] - stage.times[frame - 1]))
            stage.show(frame)
        return serializer.as_html()


def frame_rows(time: Array) -> np.ndarray:
    """Samples to show: 30 a second, fewer in a run so long that this would be more than 3000."""
    length = float(time[-1] - time[0])
    count = int(min(length * FRAMES_PER_SECOND, MOST_FRAMES - 1)) + 1
    wanted = time[0] + np.linspace(0.0, length, max(count, 2))
    return np.unique(np.searchsorted(time, wanted + 1e-9, side="right") - 1)


@contextlib.contextmanager
def _server() -> Any:
    """A viser server that listens nowhere: the way to its recorder. No port is open while a page is written."""
    import viser

    check_versions(("viser",))  # its inner parts are touched
    with contextlib.redirect_stdout(io.StringIO()), _deaf():  # its greeting
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        yield server
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Let viser start its machinery without a socket: what it takes for the library of sockets opens none."""
    from viser.infra import _infra

    inner: Any = _infra
    with _starting:
        sockets = inner.websockets
        server = _with(sockets.asyncio.server, serve=lambda *_, **__: contextlib.nullcontext(_NOWHERE))
        inner.websockets = _with(sockets, asyncio=_with(sockets.asyncio, server=server))
        try:
            yield
        finally:
            inner.websockets = sockets


def _with(module: Any, **changed: Any) -> SimpleNamespace:
    return SimpleNamespace(**{**vars(module), **changed})


class _Stage:
    """The nodes of the scene, and how they stand at each frame."""

    def __init__(self, server: ViserServer, trace: Trace, rows: np.ndarray) -> None:
        self.rows, self.times = rows, trace.time[rows]
        self.scene: SceneApi = server.scene
        self.paths = body_paths(trace, rows)
        self.bodies = scene_of(trace)
        self.centre, self.reach = _extent(self.bodies, self.paths)
        self.focus = trace["tool_position"][-1] if "tool_position" in trace else self.centre
        self.frames = [self._add_body(b) for b in range(len(self.bodies))]
        self.target = self._add_target(trace)
        self.arrows = [
            _Arrow(self.scene, name, colour, trace, rows, self.reach)
            for name, colour in (("contact", _FORCE), ("push", _PUSH))
            if f"{name}_wrench" in trace and "tool_position" in trace
        ]
        self._add_surroundings(server, trace)
        self.show(0)

    def show(self, frame: int) -> None:
        """Move everything to where it was; what stands still is left alone."""
        moving = [*zip(self.frames, self.paths)]
        if self.target is not None:
            moving.append(self.target)
        for node, (positions, quats) in moving:
            if frame == 0 or not np.allclose(positions[frame], positions[frame - 1], atol=1e-7, rtol=0):
                node.position = positions[frame]
            if frame == 0 or not np.allclose(quats[frame], quats[frame - 1], atol=1e-7, rtol=0):
                node.wxyz = quats[frame]
        for arrow in self.arrows:
            arrow.show(frame)

    def _add_body(self, b: int) -> Any:
        body = self.bodies[b]
        name = f"/{b:02d}_{re.sub(r'[^A-Za-z0-9_-]', '_', body['name'])}"
        node = self.scene.add_frame(name, show_axes=False)
        for g, geom in enumerate(self._drawn(b)):
            _add_geom(self.scene, f"{name}/{g}", geom)
        return node

    def _drawn(self, b: int) -> list[dict[str, Any]]:
        """A body's shapes; rods to its children where the robot has none."""
        body = self.bodies[b]
        if not body["surface"] and not any(other["geoms"] for other in self.bodies if not other["surface"]):
            children = [np.array(other["position"]) for other in self.bodies[1:] if other["parent"] == b]
            return rods(children, 0.015 * self.reach) if b else []
        anchor = self.paths[b][0][0], self.paths[b][1][0]
        return [drawn_as(geom, anchor, self.focus, self.reach) for geom in body["geoms"]]

    def _add_target(self, trace: Trace) -> tuple[Any, BodyPath] | None:
        if "target_position" not in trace or "target_quat_wxyz" not in trace:
            return None
        length = 0.12 * self.reach
        node = self.scene.add_frame("/target", axes_length=length, axes_radius=length / 25)
        return node, (trace["target_position"][self.rows], trace["target_quat_wxyz"][self.rows])

    def _add_surroundings(self, server: ViserServer, trace: Trace) -> None:
        self.scene.set_up_direction("+z")
        self.scene.add_grid("/floor", width=3 * self.reach, height=3 * self.reach, cell_size=0.1, section_size=0.5)
        if "tool_position" in trace and len(self.rows) > 1:
            points = trace["tool_position"][self.rows]
            segments = np.stack([points[:-1], points[1:]], axis=1)
            self.scene.add_line_segments("/tool_path", segments, _TRAIL, thickness=0.003 * self.reach)
        server.initial_camera.look_at = self.centre
        server.initial_camera.position = self.centre + self.reach * _view(self.bodies, self.paths)
        server.initial_camera.near, server.initial_camera.far = 0.01 * self.reach, 100 * self.reach


class _Arrow:
    """The force of a wrench, drawn at the tool; as long as a third of the arm's reach at its largest.

    It moves by the poses of a frame and of its head, which the viewer follows at once; only the shaft is stretched.
    """

    def __init__(self, scene: SceneApi, name: str, colour: Any, trace: Trace, rows: np.ndarray, reach: float) -> None:
        force = trace[f"{name}_wrench"][:, :3]
        largest = max(float(np.linalg.norm(force, axis=1).max()), _SMALLEST_FORCE)
        self.force, self.start = force[rows], trace["tool_position"][rows]
        self.scale, self.least = reach / 3 / largest, 0.005 * reach / 3
        self.head_length, self.length, self.visible = 0.06 * reach, 0.0, False
        self.frame = scene.add_frame(f"/{name}_force", show_axes=False, visible=False)
        cone = revolve(np.array([[0.0, self.head_length], [0.025 * reach, 0.0], [0.025 * reach, 0.0], [0.0, 0.0]]))
        rod = revolve(np.array([[0.009 * reach, 1.0], [0.009 * reach, 0.0], [0.009 * reach, 0.0], [0.0, 0.0]]))
        self.head = scene.add_mesh_simple(f"/{name}_force/head", *cone, color=colour, cast_shadow=False)
        self.shaft = scene.add_mesh_simple(f"/{name}_force/shaft", *rod, color=colour, cast_shadow=False)

    def show(self, frame: int) -> None:
        """The arrow of a frame; none without force."""
        length = self.scale * float(np.linalg.norm(self.force[frame]))
        visible = length > self.least
        if visible != self.visible:
            self.frame.visible = self.visible = visible
        if not visible:
            return
        self.frame.position = self.start[frame]
        self.frame.wxyz = quat_from_z(self.scale * self.force[frame] / length)
        if abs(length - self.length) > self.least:
            self.length = length
            shaft = max(length - self.head_length, 1e-3 * length)
            self.head.position, self.shaft.scale = (0.0, 0.0, shaft), (1.0, 1.0, shaft)


def _add_geom(scene: SceneApi, name: str, geom: dict[str, Any]) -> None:
    rgb, alpha = tuple(int(255 * c) for c in geom["rgba"][:3]), geom["rgba"][3]
    size, shape = geom["size"], geom["shape"]
    common: dict[str, Any] = {
        "color": rgb,
        "opacity": None if alpha >= 1 else alpha,
        "wxyz": np.array(geom["quat_wxyz"]),
        "position": np.array(geom["position"]),
    }
    if shape == "box":
        scene.add_box(name, dimensions=tuple(2 * s for s in size), **common)
    elif shape in ("sphere", "ellipsoid"):
        radii = (size[0],) * 3 if shape == "sphere" else tuple(size)
        scene.add_icosphere(name, radius=1.0, scale=radii, subdivisions=3, **common)
    elif shape == "cylinder":
        scene.add_cylinder(name, radius=size[0], height=2 * size[1], radial_segments=32, **common)
    else:
        vertices, faces = capsule(size[0], size[1])
        scene.add_mesh_simple(name, vertices, faces, **common)


def _extent(bodies: list[dict[str, Any]], paths: list[BodyPath]) -> tuple[Array, float]:
    """Middle of everything that is no surface, and its size, m."""
    points = [_corners(geom, path) for body, path in _solid(bodies, paths) for geom in body["geoms"]]
    points += [path[0][[0, -1]] for _, path in _solid(bodies, paths)]
    cloud = np.vstack(points)
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    return (low + high) / 2, max(float(np.linalg.norm(high - low)), 0.1)


def _solid(bodies: list[dict[str, Any]], paths: list[BodyPath]) -> list[tuple[dict[str, Any], BodyPath]]:
    return [(body, path) for body, path in zip(bodies, paths) if not body["surface"]]


def _corners(geom: dict[str, Any], path: BodyPath) -> Array:
    ends = [0, -1]
    return path[0][ends] + rotate(path[1][ends], np.array(geom["position"]))


def _view(bodies: list[dict[str, Any]], paths: list[BodyPath]) -> Array:
    """Where the camera stands, in reaches from the middle: beside the arm, or above one that lies flat."""
    points = np.vstack([path[0][[0, -1]] for _, path in _solid(bodies, paths)])
    flat = np.ptp(points[:, 2]) < 0.15 * max(np.ptp(points[:, 0]), np.ptp(points[:, 1]), 1e-9)
    return np.array([0.0, -0.35, 1.0]) if flat else np.array([0.4, -0.95, 0.28])

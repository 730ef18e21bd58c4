"""The 3D replay: where everything was, as plain data that a page's own script (assets/replay.js) draws."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.checks import Array
from palpate.escape.documents import html_json, html_text
from palpate.files import write_file
from palpate.spatial.rows import rotate
from palpate.trace import Trace
from palpate.views.ghost import ghost_paths
from palpate.views.kinematics import Path as BodyPath, body_paths, scene_of
from palpate.views.pages.assets import script, style
from palpate.views.pages.interactive import packed
from palpate.views.pages.replay_arrows import FORCES, SMALLEST_FORCE, arrows, forces_on
from palpate.views.pages.replay_shapes import drawn_as, rods

if TYPE_CHECKING:
    from palpate.views.pages.serve import ReplayServer


FRAMES_PER_SECOND, MOST_FRAMES = 30.0, 3000
_STILL = 1e-7  # m or 1; what moves less stands still
# Nothing leaves the page: only what stands in it may run or be shown.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)


def replay(trace: Trace, path: str | os.PathLike[str]) -> Path:
    """Write the 3D replay of a trace as one HTML file that needs no network.

    Raises:
        TraceError: the trace holds no scene or no joint positions.
        FileError: the file cannot be written.
    """
    return write_file(path, replay_html(trace))


def serve_replay(trace: Trace, port: int = 0) -> ReplayServer:
    """Serve the replay on the loopback address; `.url` says where, `.wait()` blocks, `.close()` ends it.

    Args:
        trace: what to show.
        port: 0 picks a free one.
    """
    from palpate.views.pages.serve import ReplayServer

    return ReplayServer(replay_html(trace).encode(), port)


def replay_html(trace: Trace) -> str:
    """The replay as a page of its own."""
    title = f"{_name(trace)}: replay"
    return html(title, [f'<body class="alone"><h1>{html_text(title)}</h1>{replay_element(trace)}{script(*SCRIPTS)}'])


def live_html(first: Trace, events: str) -> str:
    """The page of a run under way: the replay of its first sample, and plots; frames from `events` are added."""
    scene = f'<div class="replay" data-live="{events}">{_data_script(live_data(first))}</div>'
    head = f'<body class="alone live"><h1>{html_text(_name(first))}: live <span class="soft" role="status"></span></h1>'
    body = [head, scene, '<div class="live-plots"></div>', script(*SCRIPTS, LIVE)]
    return html(f"{_name(first)}: live", body, f"{POLICY}; connect-src 'self'")


def html(
    title: str, body: Iterable[str], policy: str = POLICY, styles: Sequence[str] = ("page.css", "replay.css")
) -> str:
    """A whole page; `title` is text, `body` markup that begins with its body element."""
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f'<title>{html_text(title)}</title><link rel="icon" href="data:,">{style(*styles)}</head>',
            *body,
            "</body></html>",
        ]
    )


def _name(trace: Trace) -> str:
    return (trace.facts.scenario or {}).get("name", trace.facts.robot or "run")


SCRIPTS = ("charts.js", "shapes3d.js", "replay.js")
LIVE = "live.js"


def replay_element(trace: Trace) -> str:
    """The replay as a part of a page that brings the scripts."""
    return replay_of(replay_data(trace))


def replay_of(data: dict[str, Any]) -> str:
    """The replay of data that `replay_data` made, as a part of a page that brings the scripts."""
    return f'<div class="replay">{_data_script(data)}</div>'


def _data_script(data: dict[str, Any]) -> str:
    return f'<script type="application/json">{html_json(data)}</script>'


def live_frame(trace: Trace) -> dict[str, Any]:
    """The last sample of a run under way, as numbers to add to those that the page has; floats of 1 µm and 1e-6."""
    row = np.array([len(trace) - 1])
    paths = body_paths(trace, row)
    reach = _extent(scene_of(trace), paths)[1]
    target = [f"target_{name}" for name in ("position", "quat_wxyz")]
    return {
        "time": round(float(trace.time[-1]), 6),
        "bodies": [[_short(positions[0]), _short(quats[0])] for positions, quats in paths],
        "target": [_short(trace[name][-1]) for name in target] if set(target) <= set(trace) else None,
        "tool": _short(trace["tool_position"][-1]) if "tool_position" in trace else None,
        "arrows": [[_short(arrow.force[0]), _short(arrow.start[0])] for arrow in forces_on(trace, row, reach)],
        "plots": _live_plots(trace),
    }


def _live_plots(trace: Trace) -> list[dict[str, Any]]:
    """Numbers of the last sample for the plots of a live page: what, its unit, and each line's name and value."""
    forces = {"contact": "contact_wrench", "measured": "measured_wrench", "push": "push_wrench"}
    lines = {name: float(np.linalg.norm(trace[c][-1, :3])) for name, c in forces.items() if c in trace}
    plots = [("force", "N", lines)] if lines else []
    if "tool_position" in trace and "target_position" in trace:
        away = float(np.linalg.norm(trace["target_position"][-1] - trace["tool_position"][-1]))
        plots.append(("distance of the tool from its target", "m", {"distance": away}))
    return [{"title": title, "unit": unit, "lines": values} for title, unit, values in plots]


def live_data(first: Trace) -> dict[str, Any]:
    """A page's data before its first frame: shapes, views, and lists that frames are added to."""
    data = replay_data(first)
    forces = forces_on(first, np.array([len(first) - 1]), data["camera"]["reach"])
    empty: dict[str, Any] = {"p": [], "q": []}
    return {
        **data,
        "times": [],
        "bodies": [empty for _ in data["bodies"]],
        "target": None if data["target"] is None else empty,
        "tool": None if data["tool"] is None else [],
        "ghost": [],
        "arrows": [{**one.look, "scale": 0.0, "force": [], "start": []} for one in forces],
    }


def _short(values: Array) -> list[float]:
    return [round(float(value), 6) for value in values]


def replay_data(trace: Trace) -> dict[str, Any]:
    """Everything the replay draws, as plain data.

    Raises:
        TraceError: the trace holds no scene or no joint positions.
    """
    bodies, strongest = scene_of(trace), _strongest(trace)
    peak = np.searchsorted(trace.time, strongest["time"])  # shown as high as it was, between the frames too
    rows = np.unique(np.append(frame_rows(trace.time), np.minimum(peak, len(trace) - 1)))
    paths = body_paths(trace, rows)
    camera = camera_of(bodies, paths)
    centre, reach = np.array(camera["centre"]), camera["reach"]
    return {
        "times": packed(trace.time[rows]),
        "bodies": [_pose(path) for path in paths],
        "geoms": drawn_geoms(trace, paths),
        "target": _target(trace, rows),
        "ghost": [{"body": b, **_pose(path)} for b, path in ghost_paths(trace, rows, paths).items()],
        "tool": packed(trace["tool_position"][rows]) if "tool_position" in trace else None,
        "arrows": arrows(trace, rows, reach),
        "strongest": strongest,
        "camera": camera,
        "floor": _floor(centre, reach, bodies, paths),
    }


def frames_data(trace: Trace, reach: float) -> dict[str, Any]:
    """Frames of another run of the same scene, for a page that has the other parts of `replay_data`.

    Args:
        trace: with a scene and joint positions.
        reach: of the camera that the page has, m.
    """
    rows = frame_rows(trace.time)
    return {
        "times": packed(trace.time[rows]),
        "bodies": [_pose(path) for path in body_paths(trace, rows)],
        "target": _target(trace, rows),
        "tool": packed(trace["tool_position"][rows]) if "tool_position" in trace else None,
        "arrows": arrows(trace, rows, reach),
    }


def _strongest(trace: Trace) -> dict[str, float]:
    """The largest contact force or push of a run, N, and when it was, s; the replay opens there."""
    sizes = [
        np.linalg.norm(trace[name][:, :3], axis=1) for name in ("contact_wrench", "push_wrench") if name in trace
    ] + [np.linalg.norm(trace[name], axis=1) for name in trace if name.startswith(FORCES)]
    most = np.max(sizes, axis=0) if sizes and len(trace) else np.zeros(1)
    force = float(most.max(initial=0.0))
    when = float(trace.time[int(np.argmax(most))]) if force > SMALLEST_FORCE else float(trace.time[0])
    return {"force": force, "time": when}


def frame_rows(time: Array) -> np.ndarray:
    """Samples to show: 30 a second, fewer in a run so long that this would be more than 3000."""
    length = float(time[-1] - time[0])
    count = int(min(length * FRAMES_PER_SECOND, MOST_FRAMES - 1)) + 1
    wanted = time[0] + np.linspace(0.0, length, max(count, 2))
    return np.unique(np.searchsorted(time, wanted + 1e-9, side="right") - 1)


def _pose(path: BodyPath) -> dict[str, Any]:
    return {"p": _moving(path[0]), "q": _moving(path[1])}


def _moving(values: Array) -> Any:
    """A path; one point where it does not move."""
    return values[0].tolist() if np.ptp(values, axis=0).max() < _STILL else packed(values)


def _drawn(
    b: int, bodies: list[dict[str, Any]], paths: list[BodyPath], focus: Array, reach: float
) -> list[dict[str, Any]]:
    """A body's shapes; rods to its children where the robot has none."""
    body = bodies[b]
    if not body["surface"] and not any(other["geoms"] for other in bodies if not other["surface"]):
        children = [np.array(other["position"]) for other in bodies[1:] if other["parent"] == b]
        geoms = rods(children, 0.015 * reach) if b else []
    else:
        anchor = paths[b][0][0], paths[b][1][0]
        geoms = [drawn_as(geom, anchor, focus, reach) for geom in body["geoms"]]
    return [{**geom, "body": b} for geom in geoms if geom["rgba"][3] > 0]


def _target(trace: Trace, rows: np.ndarray) -> dict[str, Any] | None:
    if "target_position" not in trace or "target_quat_wxyz" not in trace:
        return None
    return _pose((trace["target_position"][rows], trace["target_quat_wxyz"][rows]))


def drawn_geoms(trace: Trace, paths: list[BodyPath]) -> list[dict[str, Any]]:
    """Every shape that is drawn, with the number of its body."""
    bodies = scene_of(trace)
    centre, reach = _extent(bodies, paths)
    focus = trace["tool_position"][-1] if "tool_position" in trace else centre
    return [geom for b in range(len(bodies)) for geom in _drawn(b, bodies, paths, focus, reach)]


def camera_of(bodies: list[dict[str, Any]], paths: list[BodyPath]) -> dict[str, Any]:
    """Where the first view looks, how large what it shows is (m), and from where."""
    centre, reach = _extent(bodies, paths)
    direction = _view(bodies, paths)
    return {"centre": centre.tolist(), "reach": reach, "distance": 1.45 * reach, "direction": direction.tolist()}


def _floor(centre: Array, reach: float, bodies: list[dict[str, Any]], paths: list[BodyPath]) -> dict[str, Any]:
    """A grid as large as what moves on it, at the height of a level surface or of the base."""
    cell = 10.0 ** np.floor(np.log10(reach / 3))
    level = [
        float(path[0][0, 2]) for body, path in zip(bodies, paths) if body["surface"] and abs(path[0][0, 2]) < reach
    ]
    z = min([*level, 0.0]) - 1e-3 * reach
    middle = np.round(centre[:2] / cell) * cell
    return {"centre": middle.tolist(), "half": int(np.ceil(1.2 * reach / cell)), "cell": float(cell), "z": z}


def _extent(bodies: list[dict[str, Any]], paths: list[BodyPath]) -> tuple[Array, float]:
    """Middle of everything that is no surface, over the whole run, and its size, m."""
    solid = _solid(bodies, paths)
    points = [p + rotate(q, np.array(geom["position"])) for body, (p, q) in solid for geom in body["geoms"]]
    points += [path[0] for _, path in solid]
    cloud = np.vstack(points)
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    return (low + high) / 2, max(float(np.linalg.norm(high - low)), 0.1)


def _solid(bodies: list[dict[str, Any]], paths: list[BodyPath]) -> list[tuple[dict[str, Any], BodyPath]]:
    return [(body, path) for body, path in zip(bodies, paths) if not body["surface"]]


def _view(bodies: list[dict[str, Any]], paths: list[BodyPath]) -> Array:
    """Where the camera stands, seen from the middle: beside the arm, or above one that lies flat.

    Of the four corners beside the arm the first from which no plane hides what is before it.
    """
    points = np.vstack([path[0][[0, -1]] for _, path in _solid(bodies, paths)])
    flat = np.ptp(points[:, 2]) < 0.15 * max(np.ptp(points[:, 0]), np.ptp(points[:, 1]), 1e-9)
    if flat:
        return np.array([0.0, -0.35, 1.0])
    faces = [rotate(quat[0], np.array([0.0, 0.0, 1.0])) for _, (_, quat) in _planes(bodies, paths)]
    corners = [np.array([x, y, 0.28]) for y in (-0.95, 0.95) for x in (0.4, -0.4)]
    return max(corners, key=lambda corner: min([0.0, *(float(face @ corner) for face in faces)]))


def _planes(bodies: list[dict[str, Any]], paths: list[BodyPath]) -> list[tuple[dict[str, Any], BodyPath]]:
    flat = [any(geom["shape"] == "plane" for geom in body["geoms"]) for body in bodies]
    return [(body, path) for body, path, one in zip(bodies, paths, flat) if body["surface"] and one]

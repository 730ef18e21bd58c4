"""The page of a recording: what it says, the log over the model in every panel, a replay with the model as a ghost."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.escape.documents import html_text
from palpate.files import write_file
from palpate.run.after.scene import scene_of
from palpate.spatial import Pose
from palpate.tools.logs.columns import Log
from palpate.tools.logs.identify import Identification
from palpate.tools.logs.rendered import Rendered
from palpate.tools.logs.rollout import Windows, millimetres, rollout
from palpate.tools.logs.timeline import Course, Happening, PredictedRun, happenings
from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate.views.pages.markup import Plots, bullets, contents, page, section, table
from palpate.views.pages.player import replay_element
from palpate.views.panels import LEAST, Figure, Panel, span_of, styled
from palpate.world.config import World
from palpate.world.plants.plant import build_plant

_MOST_ROWS = 4000  # of a page
_FLAT = 0.01  # of the widest panel of a figure: what moves less is drawn flat
_RESTART = 0.5  # s: how long the model runs on its own


@dataclass(frozen=True)
class Model:
    """The model's lines under the log: positions, speeds, torques and forces at the log's rows, and its name."""

    name: str
    q: Array
    v: Array
    torque: Array
    course: Course | None = None
    force: Array | None = None


def write_page(
    path: str | os.PathLike[str],
    log: Log,
    result: Identification,
    rendered: Rendered,
    predicted_run: PredictedRun | None = None,
) -> Path:
    """Write the page of a recording; of a scenario, its simulated run is drawn under the log."""
    run = result.motion.longest
    every = max(1, len(run.time) // _MOST_ROWS)
    rows = np.arange(0, len(run.time), every)
    model = _simulated(predicted_run, run.time) if predicted_run is not None else _restarted(result)
    time = run.time[rows] - run.time[0]
    told, plots = result.arm.robot, Plots()
    torque = run.more.get("tau", run.torque)
    pairs = [("q", "Joint positions", "rad", run.q, model.q), ("v", "Joint speeds", "rad/s", run.v, model.v),
             ("tau", "Joint torques", "N·m", torque, model.torque)]  # fmt: skip
    figures = [
        _figure(name, title, unit, time, (one[rows], other[rows]), told.dof_names, model.name)
        for name, title, unit, one, other in pairs
    ]
    positions = told.pose_batch(run.q[rows])[0], told.pose_batch(model.q[rows])[0]
    figures.insert(0, _figure("tool", "Tool position, world axes", "m", time, positions, ("x", "y", "z"), model.name))
    if "wrench" in run.more:
        wrench = run.more["wrench"][:, :3]
        expected = model.force if model.force is not None else np.full_like(wrench, np.nan)
        axes = "world axes" if log.wrench_frame in ("", "world") else f"axes of {log.wrench_frame}"
        title = f"Force of the environment, {axes}"
        figures.insert(
            1, _figure("force", title, "N", time, (wrench[rows], expected[rows]), ("x", "y", "z"), model.name)
        )
    events = happenings(_course(run, torque), model.course, told.limits, told.dof_names)
    about_rows = {*log.notes, *result.motion.remarks}
    says = [t for t in (*result.remarks, *rendered.lines()) if t not in about_rows]
    sections = [
        section("What it says", bullets([_sentence(t) for t in says])),
        section("Parity", _parity(result)),
        section("Quantities", _quantities(result)),
        section("Rollouts", _rollouts(result)),
        section("Time line", _promises(predicted_run), _timeline(events)),
        section(
            "Replay",
            f"<p class=soft>The ghost is the {html_text(model.name)}.</p>",
            _replay(result, run, model, rows, predicted_run),
        ),
        section("Plots", *(plots.figure(figure) for figure in figures)),
        section("How it was read", bullets([_sentence(t) for t in (*log.notes, *result.motion.remarks)])),
    ]
    sections = [one for one in sections if one.strip()]
    title = os.path.basename(log.source)
    body = [contents(sections), f"<main><h1>{html_text(title)}</h1>", *sections, "</main>"]
    return write_file(path, page(title, body, plots.data, ("shapes3d.js", "replay.js")))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _course(run: Any, torque: Array) -> Course:
    force = np.linalg.norm(run.more["wrench"][:, :3], axis=1) if "wrench" in run.more else None
    return Course(run.time, run.q, run.v, torque, force)


def _simulated(predicted_run: PredictedRun, time: Array) -> Model:
    """The scenario's run at the log's instants, counted from its start."""
    force = predicted_run.at("measured_wrench", time)[:, :3] if "measured_wrench" in predicted_run.trace else None
    q, v, torque = (predicted_run.at(name, time) for name in ("q", "v", "tau"))
    return Model("simulated run", q, v, torque, predicted_run.course, force)


def _restarted(result: Identification) -> Model:
    """The fitted model under the log's torques, set back to the log every half second."""
    arm, motion = result.arm, result.motion
    run = motion.longest
    rows = max(2, round(_RESTART / motion.period))
    count = len(run.time) // rows

    def cut(values):
        return values[: count * rows].reshape(count, rows, -1)

    windows = Windows(cut(run.q), cut(run.v), cut(run.torque), motion.period)
    q, speed = run.q.copy(), run.v.copy()
    if count:
        reached = rollout(arm, windows, result.identified, result.stribeck or 0.05, range(1, rows))
        whole = np.concatenate([windows.q[:, :1], np.where(np.isfinite(reached), reached, windows.q[:, 1:])], axis=1)
        rate = np.gradient(whole, motion.period, axis=1)
        q[: count * rows], speed[: count * rows] = (x.reshape(count * rows, -1) for x in (whole, rate))
    v = motion.filter(run.v)
    a = np.gradient(v, motion.period, axis=0)
    torque = arm.rigid(run.q, v, a) + arm.regressor(run.q, v, a, result.stribeck or 0.05) @ result.identified
    pushed = run.torque - run.more["tau"] if "tau" in run.more else 0.0
    return Model("fitted model, set back every 0.5 s", q, speed, torque - pushed)


def _figure(
    name: str, title: str, unit: str, time: Array, both: tuple[Array, Array], labels: tuple[str, ...], model: str
) -> Figure:
    panels = []
    for k, label in enumerate(labels):
        recorded, expected = styled(0, "recording", time, both[0][:, k]), both[1][:, k]
        under = (styled(1, model, time, expected),) if np.isfinite(expected).all() else ()
        panels.append(Panel(label, unit, (*under, recorded)))
    least = max(_FLAT * max(map(span_of, panels)), LEAST.get(unit, 0.0))
    return Figure(name, title, tuple(replace(panel, least=least) for panel in panels), columns=2)


def _parity(result: Identification) -> str:
    def cell(x):
        return f"{x:.3g}" if np.isfinite(x) else "—"

    rows = [[html_text(step), *map(cell, values)] for step, values in result.parity.residual.items()]
    heads = ["residual, N·m", *map(html_text, result.parity.joints)]
    return table(heads, rows, ["", *["number"] * len(result.parity.joints)])


def _quantities(result: Identification) -> str:
    """Those that the recording tells, and behind a click those that it does not."""
    known = [q for q in result.quantities.values() if not q.reason]
    rows = [[html_text(q.name), f"{q.value:.4g}", f"{q.low:.4g} … {q.high:.4g}", html_text(q.unit)] for q in known]
    shown = table(["quantity", "value", "95 % interval", "unit"], rows, ["", "number", "number", ""]) if rows else ""
    refused = [[html_text(q.name), html_text(q.reason)] for q in result.quantities.values() if q.reason]
    if not refused:
        return shown
    why = table(["quantity", "why there is no value"], refused, ["", ""])
    return (
        shown
        + f"<details class=print><summary>{len(refused)} that this recording does not tell</summary>{why}</details>"
    )


def _rollouts(result: Identification) -> str:
    judged = result.judgement
    if judged is None:
        return "<p class=soft>The runs are too short to hold some out, or rollouts were not asked for.</p>"
    rows = [[html_text(name), *map(millimetres, errors)] for name, errors in judged.errors.items()]
    shown = table(
        ["tool error, mm", *(f"{h:g} s" for h in judged.horizons)], rows, ["", *["number"] * len(judged.horizons)]
    )
    return shown + f"<p class=soft>{html_text(_sentence(judged.floor_sentence))}</p>"


def _promises(predicted_run: PredictedRun | None) -> str:
    if predicted_run is None or not predicted_run.promises:
        return ""
    rows = [
        [html_text(one.what), f"{one.predicted:.3g}", f"{one.happened:.3g}", f"{one.tolerance:.3g}",
         "kept" if one.since is None else f"broken since {one.since:.2f} s"]
        for one in predicted_run.promises
    ]  # fmt: skip
    heads = ["promise of the law", "predicted error", "error of the arm", "the loop may leave", "verdict"]
    return table(heads, rows, ["", "number", "number", "number", ""]) + bullets(
        [_sentence(t) for t in predicted_run.notes]
    )


def _timeline(events: list[Happening]) -> str:
    def at(t):
        return "—" if t is None else f"{t:.3f} s"

    rows = [[html_text(one.what), at(one.predicted), at(one.happened)] for one in events]
    return table(["event", "predicted", "happened"], rows, ["", "number", "number"]) if rows else ""


def _replay(result: Identification, run: Any, model: Model, rows: Array, predicted_run: PredictedRun | None) -> str:
    """The replay of the recording, in the scenario's world; its target, drawn as a ghost, is the model."""
    robot = result.arm.robot
    time = run.time[rows] - run.time[0]
    poses = robot.pose_batch(run.q[rows]), robot.pose_batch(model.q[rows])
    quats = [np.array([Pose(p, R).quat_wxyz for p, R in zip(*pose)]) for pose in poses]
    labels = robot.dof_names
    data = {
        Channel("q", "rad", (robot.nv,), labels=labels): run.q[rows],
        Channel("tool_position", "m", (3,), labels=("x", "y", "z")): poses[0][0],
        Channel("tool_quat_wxyz", "1", (4,), labels=("w", "x", "y", "z")): quats[0],
        Channel("target_q", "rad", (robot.nv,), labels=labels): model.q[rows],
        Channel("target_position", "m", (3,), labels=("x", "y", "z")): poses[1][0],
        Channel("target_quat_wxyz", "1", (4,), labels=("w", "x", "y", "z")): quats[1],
    }
    scene = predicted_run.trace.facts.scene if predicted_run is not None else None
    facts = RunFacts(robot=robot.name, scene=scene or scene_of(build_plant(robot, World(), 0.001)))
    return replay_element(
        Trace(time, data, Outcome("completed", "end of the recording", float(time[-1]), len(time)), (), facts)
    )

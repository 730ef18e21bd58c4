"""The documents' figures, drawn again, and with the corrected physics where it differs."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.files import atomic_write, make_folder
from palpate.lazy import check_extra
from palpate_documents.library import DOCUMENTS


def draw_figures(folder: str | os.PathLike[str], numbers: Sequence[str] = ()) -> list[Path]:
    """Draw the figures of some documents (all by default) as PNG files into a folder; their paths.

    Raises:
        FileError: the folder cannot be made or written to.
    """
    directory = Path(folder)
    check_extra("matplotlib", "figures", "a figure as a file")
    make_folder(directory)
    made = []
    for number in numbers or DOCUMENTS:
        for name, make in FIGURES[number].items():
            path = directory / f"{number}-{name}.png"
            drawing = make()
            atomic_write(path, lambda file, drawn=drawing: drawn.savefig(file, format="png", dpi=130))
            made.append(path)
    return made


def new_figure(rows: int, columns: int = 1, size: tuple[float, float] = (7.5, 4.5)) -> tuple[Any, Any]:
    """A figure and its axes, by row and column."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def label_axes(axes: Any, title: str, x: str, y: str, beside: bool = False) -> None:
    """Title, labels, grid and legend of a drawing; the legend inside, or beside it."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, **({"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {}))


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 70))


# ------------------------------------------------------------------ 000


def _balancing() -> Any:
    """The pole balanced with the right equations, and what the two slips change of it."""
    from palpate_documents.as_printed import balanced

    figure, axes = new_figure(2, 3, (12, 6))
    wrong, right = balanced(True), balanced(False)
    t, off = right.time, "as printed − right"
    panels = (("q", "From foot to sphere", ("x_AB", "y_AB"), "m", 1e3, "mm"),
              ("tool_position", "The foot", ("x", "y", "z"), "m", 1e3, "mm"),
              ("f", "Force of the arm", ("f_x", "f_y", "f_z"), "N", 1e3, "mN"))  # fmt: skip
    for column, (channel, title, labels, unit, scale, small) in enumerate(panels):
        axes[0, column].plot(t, right[channel], label=list(labels))
        axes[1, column].plot(t, scale * (wrong[channel] - right[channel]), label=list(labels))
        label_axes(axes[0, column], title, "t [s]", unit)
        label_axes(axes[1, column], f"{title}: {off}", "t [s]", small)
    return figure


# ------------------------------------------------------------------ 001


_CASES = ((-2.0, -3.0), (2.0, -3.0), (-2.0, 0.5), (2.0, 0.5), (-2.0, 3.0), (2.0, 3.0))


def _rates() -> Any:
    """Figure 2: u_i = a_i λ + b_i against its bounds, and the λ_i that follows."""
    from palpate_documents.d001.stop import scalar_rate

    figure, axes = new_figure(2, 3, (10, 5.4))
    rate = np.linspace(0, 3, 50)
    for ax, (a, b) in zip(axes.flat, _CASES):
        limit_rate = scalar_rate(a, b, 1.0)
        ax.axhspan(-1, 1, alpha=0.15, color="tab:green", label="|u| ≤ U")
        ax.plot(rate, a * rate + b, color="tab:blue")
        if np.isfinite(limit_rate):
            ax.plot([limit_rate], [a * limit_rate + b], "o", color="tab:red", label=f"λ_i = {limit_rate:.3g}")
        label_axes(ax, f"a = {a:g}, b = {b:g}: λ_i = {limit_rate:.3g}".replace("inf", "∞"), "λ", "u_i")
    return figure


def _geometry() -> Any:
    """Figure 3: n = 2; the line u = a λ + b and the box of the bounds."""
    from palpate_documents.stop_law import printed_stop

    figure, axes = new_figure(1, 3, (10, 3.6))
    cases = (([-1, -0.6], [0.8, 0.5]), ([-1, 0.2], [1.8, 0.3]), ([-1, -1], [3.0, 0.0]))
    for ax, (a, b) in zip(axes.flat, cases):
        stop = pp.control.fastest_stop(
            np.eye(2), -np.array(b), -np.array(a), [1.0, 1.0], method="pseudoinverse", velocity_of="tool"
        )
        law = printed_stop(np.eye(2), -np.array(b), -np.array(a), [1.0, 1.0])
        line = np.array(b) + np.outer(np.linspace(0, 4, 50), a)
        ax.fill([-1, 1, 1, -1], [-1, -1, 1, 1], alpha=0.15, color="tab:green")
        ax.plot(*line.T, color="tab:blue")
        ax.plot(*b, "s", color="tab:blue", label="b (λ = 0)")
        if stop.rate >= 0:
            ax.plot(*stop.acceleration, "o", color="tab:red", label=f"u*, λ* = {stop.rate:.3g}")
        else:
            ax.plot(*law.acceleration, "x", color="tab:red", label=f"(5)–(6): λ* = {law.rate:.3g}, outside")
        ax.set_aspect("equal")
        label_axes(ax, "a solution" if stop.rate >= 0 else "none: a lower bound is forgotten", "u_1", "u_2")
        ax.set_xlim(-2.5, 3.4)
        ax.set_ylim(-2.5, 2.5)
    return figure


def _stop() -> Any:
    """λ(t) and the path of the tip against its line, by the fastest stop; the law as printed ends at once."""
    from palpate_documents.as_printed import runs_as_printed
    from palpate_documents.d001.stop import XY, arm

    figure, axes = new_figure(1, 2, (10, 4))
    (name, ended), (right_name, right) = runs_as_printed("001")
    p = np.array([XY @ arm().jacobian(q) @ v for q, v in zip(right["q"], right["v"])])
    speed, t, path = np.linalg.norm(p, axis=1), right.time, right["tool_position"][:, :2]
    moving = speed > 0.02 * speed[0]
    rate = -np.gradient(np.log(np.maximum(speed, 1e-9)), t)
    axes[0, 0].plot(t[moving], rate[moving], label=right_name)
    axes[0, 0].plot([ended.outcome.time], [0], "x", color="tab:red", label=f"{name}: no answer")
    axes[0, 0].text(0.02, 0.03, _wrapped(ended.outcome.reason), transform=axes[0, 0].transAxes, fontsize=8)
    axes[0, 1].plot(*path.T, label=right_name)
    axes[0, 1].plot(*path[0], "x", color="tab:red", label=f"{name}: no answer")
    axes[0, 1].plot(*(path[0] + np.outer([0, 0.06], p[0])).T, color="grey", linewidth=0.8, label="the line of ṗ_0")
    axes[0, 0].set_ylim(-45, 200)
    axes[0, 1].set_aspect("equal")
    label_axes(axes[0, 0], "λ(t) = −d/dt log |ṗ|", "t [s]", "1/s")
    label_axes(axes[0, 1], "Path of the tip", "x [m]", "y [m]")
    return figure


# ------------------------------------------------------------------ 002


def _coded() -> Any:
    """The document's figure: its own code, reference (1, 2) N, from 1 s on (1, 3) N."""
    from palpate_documents.d002.forces import DOWN, coded_force, coded_torque

    return _force_figure("Tip force, the document's code", [("", coded_force(DOWN), coded_torque(DOWN))])


def _true() -> Any:
    """The same with a true arm: the printed correction in both elbows, and the right one."""
    from palpate_documents.d002.forces import DOWN, UP, coded_torque, force_of, torque_of

    cases = [
        (", (J^T)⁻¹, θ2 = −120°", force_of(DOWN), coded_torque(DOWN)),
        (", (J^T)⁻¹, θ2 = +120°", force_of(UP), coded_torque(UP)),
        (", J^T", force_of(UP), torque_of(UP)),
    ]
    return _force_figure("Tip force of a true arm (cut at ±8 N)", cases)


def _force_figure(title: str, cases: Sequence[tuple[str, Callable[[Array], Array], Callable[[Array], Array]]]) -> Any:
    from palpate_documents.d002.forces import loop

    figure, axes = new_figure(1)
    t = np.arange(0, 2, 1e-3)
    wanted = np.where(t[:, None] < 1, [1.0, 2.0], [1.0, 3.0])
    axes[0, 0].plot(t, wanted, "k--", linewidth=0.8)
    for (label, plant, correction), style in zip(cases, ("-", ":", "-.")):
        forces, _ = loop(plant, correction, len(t), wanted=wanted)
        for i, axis in enumerate("xy"):
            axes[0, 0].plot(t, np.clip(forces[:, i], -8, 8), style, color=f"C{i}", label=f"F_{axis}{label}")
    label_axes(axes[0, 0], title, "Time (seconds)", "Tip Force (N)")
    return figure


# ------------------------------------------------------------------ 003


def _pendulum() -> Any:
    """θ and θ̇ of the free pendulum, by the equation of motion."""
    figure, axes = new_figure(1)
    trace = pp.simulate(pp.load_scenario("pendulum"))
    axes[0, 0].plot(trace.time, trace["q"], label="θ [rad]")
    axes[0, 0].plot(trace.time, trace["v"], label="θ̇ [rad/s]")
    label_axes(axes[0, 0], "θ̈ = −(g/ℓ) sin θ, from 90°", "t [s]", "")
    return figure


def _planar_arm() -> Any:
    """The planar arm at three postures, angles from the vertical."""
    figure, axes = new_figure(1, size=(5, 5))
    robot = pp.load_robot("planar3-vertical")
    for q in ([0.2, 0.3, 0.4], [np.pi / 6, np.pi / 3, np.pi / 6], [-0.6, 0.9, 0.5]):
        frames = [robot.pose(q, name).position for name in ("link1", "link2", "link3")] + [robot.pose(q).position]
        points = np.vstack([[0, 0, 0], frames])
        label = "q = (" + ", ".join(f"{x:.2g}" for x in q) + ")"
        axes[0, 0].plot(points[:, 0], points[:, 2], "o-", label=label)
    axes[0, 0].set_aspect("equal")
    label_axes(axes[0, 0], "Planar arm: l_0, l_1, l_2, l_3", "x [m]", "z [m]")
    return figure


# ------------------------------------------------------------------ 004


def _fall() -> Any:
    """Figure 2: the damped arm; with one tensor for all links, and with each link's own."""
    from palpate_documents.d004.arm import fall

    figure, axes = new_figure(1)
    for style, name, one in ((":", "one tensor, as printed", True), ("-", "right", False)):
        t, q, _ = fall(one, 10.0)
        for i in range(3):
            axes[0, 0].plot(t, q[:, i], style, color=f"C{i}", label=f"q{i + 1}, {name}")
    label_axes(axes[0, 0], "Q = −5 q̇ from (1, π/3, π/3)", "t [s]", "rad")
    return figure


_CHANNELS = {
    "3": ("translation", "compliant_position", "xyz", "m"),
    "4": ("Euler angles", "compliant_euler", "φϑψ", "rad"),
    "5": ("quaternion", "compliant_quat_wxyz", "ηxyz", "1"),
}


def _desired(trace: Any, number: str) -> Array:
    """The desired motion in the coordinates of a figure, near the compliant one's."""
    if number == "3":
        return trace["target_position"]
    quats = trace["target_quat_wxyz"]
    if number == "4":
        return np.unwrap([pp.spatial.euler_from_quat(q, "XYZ") for q in quats], axis=0)
    return quats


def _admittance(number: str) -> Callable[[], Any]:
    """A figure of section 3: the UR5e along the point-to-point motion, under the document's force and torque."""
    kind, channel, labels, unit = _CHANNELS[number]

    def draw() -> Any:
        from palpate_documents.d004.admittance import SCENARIOS, motion_run

        figure, axes = new_figure(2, 1, (8, 6))
        trace = motion_run(SCENARIOS[number])
        t, compliant, wanted = trace.time, trace[f"law.{channel}"], _desired(trace, number)
        compliant = np.unwrap(compliant, axis=0) if number == "4" else compliant
        for i, label in enumerate(labels):
            axes[0, 0].plot(t, compliant[:, i], color=f"C{i}", label=f"{label}, compliant")
            axes[0, 0].plot(t, wanted[:, i], "--", color=f"C{i}", linewidth=0.8, label=f"{label}, desired")
        wrench = trace["measured_wrench"]
        axes[1, 0].plot(t, wrench[:, :3], label=["f_x", "f_y", "f_z"])
        axes[1, 0].plot(t, wrench[:, 3:], "--", label=["μ_x", "μ_y", "μ_z"])
        label_axes(axes[0, 0], f"Admittance of a UR5e: {kind}", "t [s]", unit, beside=True)
        label_axes(axes[1, 0], "Force and torque at the end-effector", "t [s]", "N, N·m", beside=True)
        return figure

    return draw


FIGURES: dict[str, dict[str, Callable[[], Any]]] = {
    "000": {"balancing": _balancing},
    "001": {"figure-2": _rates, "figure-3": _geometry, "stop": _stop},
    "002": {"tip-force-as-coded": _coded, "tip-force-true-arm": _true},
    "003": {"pendulum": _pendulum, "planar-arm": _planar_arm},
    "004": {
        "figure-2": _fall,
        "figure-3": _admittance("3"),
        "figure-4": _admittance("4"),
        "figure-5": _admittance("5"),
    },
}

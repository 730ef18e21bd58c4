"""The documents' figures, drawn again, and with the corrected physics where it differs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.documents.library import DOCUMENTS
from palpate.files import atomic_write, make_folder
from palpate.lazy import check_extra


def draw_figures(folder: str | os.PathLike[str], numbers: Sequence[str] = ()) -> list[Path]:
    """Draw the figures of some documents (all by default) as PNG files into a folder; their paths.

    Raises:
        FileError: the folder cannot be made or written to.
    """
    place = Path(folder)
    check_extra("matplotlib", "figures", "a figure as a file")
    make_folder(place)
    made = []
    for number in numbers or DOCUMENTS:
        for name, make in FIGURES[number].items():
            path = place / f"{number}-{name}.png"
            drawing = make()
            atomic_write(path, lambda file, drawn=drawing: drawn.savefig(file, format="png", dpi=130))
            made.append(path)
    return made


def _figure(rows: int, columns: int = 1, size: tuple[float, float] = (7.5, 4.5)) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _dress(axes: Any, title: str, x: str, y: str, legend: bool = True) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    if legend:
        axes.legend(fontsize=8)


# ------------------------------------------------------------------ 000


def _balancing() -> Any:
    """x_AB, tilt, height of the foot, f and f_B over time, as printed and right."""
    from palpate.documents.as_printed import balanced

    figure, axes = _figure(2, 3, (12, 6))
    for style, name, printed in ((":", "as printed", True), ("-", "right", False)):
        trace = balanced(printed)
        t = trace.time
        axes[0, 0].plot(t, trace["q"][:, 0], style, label=f"x_AB, {name}")
        axes[0, 0].plot(t, trace["q"][:, 1], style, label=f"y_AB, {name}")
        axes[0, 1].plot(t, np.degrees(trace["tilt"]), style, label=name)
        axes[0, 2].plot(t, trace["tool_position"][:, 2], style, label=name)
        axes[1, 0].plot(t, trace["f"][:, 2], style, label=f"f_z, {name}")
        axes[1, 0].plot(t, trace["f"][:, 0], style, label=f"f_x, {name}")
        axes[1, 1].plot(t, trace["f_B"][:, 2], style, label=f"f_B,z, {name}")
    _dress(axes[0, 0], "From foot to sphere", "t [s]", "m")
    _dress(axes[0, 1], "Tilt", "t [s]", "degrees")
    _dress(axes[0, 2], "Height of the foot", "t [s]", "m")
    axes[1, 2].axis("off")
    _dress(axes[1, 0], "Force of the arm", "t [s]", "N")
    _dress(axes[1, 1], "Force on the pole", "t [s]", "N")
    return figure


# ------------------------------------------------------------------ 001


_CASES = ((-2.0, -3.0), (2.0, -3.0), (-2.0, 0.5), (2.0, 0.5), (-2.0, 3.0), (2.0, 3.0))


def _rates() -> Any:
    """Figure 2: u_i = a_i λ + b_i against its bounds, and the λ_i that follows."""
    from palpate.documents.d001.about import scalar_stop

    figure, axes = _figure(2, 3, (10, 5.4))
    rate = np.linspace(0, 3, 50)
    for place, (a, b) in zip(axes.flat, _CASES):
        found = float(scalar_stop(a, b, 1.0).rates[0])
        place.axhspan(-1, 1, alpha=0.15, color="tab:green", label="|u| ≤ U")
        place.plot(rate, a * rate + b, color="tab:blue")
        if np.isfinite(found):
            place.plot([found], [a * found + b], "o", color="tab:red", label=f"λ_i = {found:.3g}")
        _dress(place, f"a = {a:g}, b = {b:g}: λ_i = {found:.3g}".replace("inf", "∞"), "λ", "u_i")
    return figure


def _geometry() -> Any:
    """Figure 3: n = 2; the line u = a λ + b and the box of the bounds."""
    figure, axes = _figure(1, 3, (10, 3.6))
    cases = (([-1, -0.6], [0.8, 0.5]), ([-1, 0.2], [1.8, 0.3]), ([-1, -1], [3.0, 0.0]))
    for place, (a, b) in zip(axes.flat, cases):
        stop = pp.control.fastest_stop(np.eye(2), -np.array(b), -np.array(a), [1.0, 1.0], method="pseudoinverse")
        law = pp.control.fastest_stop(np.eye(2), -np.array(b), -np.array(a), [1.0, 1.0], method="as-printed")
        line = np.array(b) + np.outer(np.linspace(0, 4, 50), a)
        place.fill([-1, 1, 1, -1], [-1, -1, 1, 1], alpha=0.15, color="tab:green")
        place.plot(*line.T, color="tab:blue")
        place.plot(*b, "s", color="tab:blue", label="b (λ = 0)")
        if stop.rate >= 0:
            place.plot(*stop.acceleration, "o", color="tab:red", label=f"u*, λ* = {stop.rate:.3g}")
        else:
            place.plot(*law.acceleration, "x", color="tab:red", label=f"(5)–(6): λ* = {law.rate:.3g}, outside")
        place.set_aspect("equal")
        _dress(place, "a solution" if stop.rate >= 0 else "none: a lower bound is forgotten", "u_1", "u_2")
        place.set_xlim(-2.5, 3.4)
        place.set_ylim(-2.5, 2.5)
    return figure


def _stop() -> Any:
    """λ(t) and the path of the tip against its line, by the law as printed and by the fastest stop."""
    from palpate.documents.as_printed import runs_as_printed
    from palpate.documents.d001.about import XY, arm

    figure, axes = _figure(1, 2, (10, 4))
    for style, (name, trace) in zip((":", "-"), runs_as_printed("001")):
        p = np.array([XY @ arm().jacobian(q) @ v for q, v in zip(trace["q"], trace["v"])])
        speed, t = np.linalg.norm(p, axis=1), trace.time
        moving = speed > 0.02 * speed[0]
        rate = -np.gradient(np.log(np.maximum(speed, 1e-9)), t)
        axes[0, 0].plot(t[moving], rate[moving], style, label=name)
        path = trace["tool_position"][:, :2]
        axes[0, 1].plot(*path.T, style, label=name)
        if style == "-":
            ends = path[0] + np.outer([0, 0.06], p[0])
            axes[0, 1].plot(*ends.T, color="grey", linewidth=0.8, label="the line of ṗ_0")
    axes[0, 0].set_ylim(0, 200)
    axes[0, 1].set_aspect("equal")
    _dress(axes[0, 0], "λ(t) = −d/dt log |ṗ|", "t [s]", "1/s")
    _dress(axes[0, 1], "Path of the tip", "x [m]", "y [m]")
    return figure


# ------------------------------------------------------------------ 002


def _coded() -> Any:
    """The document's figure: its own code, reference (1, 2) N, from 1 s on (1, 3) N."""
    from palpate.documents.d002.force import DOWN, coded_force, coded_torque

    return _force_figure("Tip force, the document's code", [("", coded_force(DOWN), coded_torque(DOWN))])


def _true() -> Any:
    """The same with a true arm: the printed correction in both elbows, and the right one."""
    from palpate.documents.d002.force import DOWN, UP, coded_torque, force_of, torque_of

    cases = [
        (", (J^T)⁻¹, θ2 = −120°", force_of(DOWN), coded_torque(DOWN)),
        (", (J^T)⁻¹, θ2 = +120°", force_of(UP), coded_torque(UP)),
        (", J^T", force_of(UP), torque_of(UP)),
    ]
    return _force_figure("Tip force of a true arm (cut at ±8 N)", cases)


def _force_figure(title: str, cases: Sequence[tuple[str, Callable[[Array], Array], Callable[[Array], Array]]]) -> Any:
    figure, axes = _figure(1)
    t = np.arange(0, 2, 1e-3)
    wanted = np.where(t[:, None] < 1, [1.0, 2.0], [1.0, 3.0])
    axes[0, 0].plot(t, wanted, "k--", linewidth=0.8)
    for (label, plant, correction), style in zip(cases, ("-", ":", "-.")):
        torque, forces = np.zeros(2), np.empty((len(t), 2))
        for k in range(len(t)):
            forces[k] = plant(torque)
            torque = torque + 10.0 * correction(wanted[k] - forces[k]) * 1e-3
        for i, axis in enumerate("xy"):
            axes[0, 0].plot(t, np.clip(forces[:, i], -8, 8), style, color=f"C{i}", label=f"F_{axis}{label}")
    _dress(axes[0, 0], title, "Time (seconds)", "Tip Force (N)")
    return figure


# ------------------------------------------------------------------ 003


def _pendulum() -> Any:
    """θ and θ̇ of the free pendulum, by the equation of motion."""
    figure, axes = _figure(1)
    trace = pp.simulate(pp.load_scenario("pendulum"))
    axes[0, 0].plot(trace.time, trace["q"], label="θ [rad]")
    axes[0, 0].plot(trace.time, trace["v"], label="θ̇ [rad/s]")
    _dress(axes[0, 0], "θ̈ = −(g/ℓ) sin θ, from 90°", "t [s]", "")
    return figure


def _planar_arm() -> Any:
    """The planar arm at three postures, angles from the vertical."""
    figure, axes = _figure(1, size=(5, 5))
    robot = pp.load_robot("planar3-vertical")
    for q in ([0.2, 0.3, 0.4], [np.pi / 6, np.pi / 3, np.pi / 6], [-0.6, 0.9, 0.5]):
        frames = [robot.pose(q, name).position for name in ("link1", "link2", "link3")] + [robot.pose(q).position]
        points = np.vstack([[0, 0, 0], frames])
        label = "q = (" + ", ".join(f"{x:.2g}" for x in q) + ")"
        axes[0, 0].plot(points[:, 0], points[:, 2], "o-", label=label)
    axes[0, 0].set_aspect("equal")
    _dress(axes[0, 0], "Planar arm: l_0, l_1, l_2, l_3", "x [m]", "z [m]")
    return figure


# ------------------------------------------------------------------ 004


def _fall() -> Any:
    """Figure 2: the damped arm; with one tensor for all links, and with each link's own."""
    from palpate.documents.d004.dynamics import fall

    figure, axes = _figure(1)
    for style, name, one in ((":", "one tensor, as printed", True), ("-", "right", False)):
        t, q, _ = fall(one, 10.0)
        for i in range(3):
            axes[0, 0].plot(t, q[:, i], style, color=f"C{i}", label=f"q{i + 1}, {name}")
    _dress(axes[0, 0], "Q = −5 q̇ from (1, π/3, π/3)", "t [s]", "rad")
    return figure


def admittance_run(rotation: str, dt: float = 5e-3) -> dict[str, Array]:
    """Section 3: a point-to-point motion of 25 s under the document's force and torque.

    Neither the motion nor dt is printed: ours goes by (0.2, 0.1, −0.1) m and (0.3, −0.2, 0.4) rad, 5 ms.
    """
    t = np.arange(0, 25, dt)
    s = np.clip(t / 20, 0, 1)
    way = 10 * s**3 - 15 * s**4 + 6 * s**5
    positions = np.array([0.4, -0.1, 0.2]) + np.outer(way, [0.2, 0.1, -0.1])
    angles = np.outer(way, [0.3, -0.2, 0.4])
    desired = [pp.Pose(p, pp.spatial.matrix_from_euler(a, "XYZ")) for p, a in zip(positions, angles)]
    wrench = np.zeros((len(t), 6))
    wrench[(t >= 5) & (t < 10), :3], wrench[(t >= 15) & (t < 20), 3:] = (1, 2, 3), (1, 0.5, 1)
    law = pp.control.Admittance(
        mass=(5,) * 6, damping=(14.142,) * 6, stiffness=(10,) * 6, rotation=rotation  # type: ignore[arg-type]
    )  # fmt: skip
    found = pp.control.admittance_response(law, wrench, dt, desired)
    quats = found.quat_wxyz[:-1]
    return {
        "t": t, "wrench": wrench, "desired": positions, "position": found.position[:-1], "desired_angles": angles,
        "angles": np.array([pp.spatial.euler_from_quat(q, "XYZ") for q in quats]), "quat": quats,
        "desired_quat": np.array([pose.quat_wxyz for pose in desired]),
    }  # fmt: skip


def _admittance(kind: str) -> Callable[[], Any]:
    rotation, name, wanted, labels, unit = {
        "translation": ("quaternion", "position", "desired", "xyz", "m"),
        "euler": ("euler", "angles", "desired_angles", "φϑψ", "rad"),
        "quaternion": ("quaternion", "quat", "desired_quat", "ηxyz", "1"),
    }[kind]

    def draw() -> Any:
        figure, axes = _figure(2, 1, (8, 6))
        run = admittance_run(rotation)
        for i, label in enumerate(labels):
            axes[0, 0].plot(run["t"], run[name][:, i], color=f"C{i}", label=f"{label}, compliant")
            axes[0, 0].plot(run["t"], run[wanted][:, i], "--", color=f"C{i}", linewidth=0.8, label=f"{label}, desired")
        axes[1, 0].plot(run["t"], run["wrench"][:, :3], label=["f_x", "f_y", "f_z"])
        axes[1, 0].plot(run["t"], run["wrench"][:, 3:], "--", label=["μ_x", "μ_y", "μ_z"])
        _dress(axes[0, 0], f"Admittance: {kind}", "t [s]", unit)
        _dress(axes[1, 0], "Force and torque at the end-effector", "t [s]", "N, N·m")
        return figure

    return draw


FIGURES: dict[str, dict[str, Callable[[], Any]]] = {
    "000": {"balancing": _balancing},
    "001": {"figure-2": _rates, "figure-3": _geometry, "stop": _stop},
    "002": {"tip-force-as-coded": _coded, "tip-force-true-arm": _true},
    "003": {"pendulum": _pendulum, "planar-arm": _planar_arm},
    "004": {
        "figure-2": _fall,
        "figure-3": _admittance("translation"),
        "figure-4": _admittance("euler"),
        "figure-5": _admittance("quaternion"),
    },
}

"""Document 003: the pendulum and the planar arm, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

import palpate as pp
from palpate_documents.drawing import label_axes, new_figure


def draw_pendulum() -> Any:
    """θ and θ̇ of the free pendulum, by the equation of motion."""
    figure, axes = new_figure(1)
    trace = pp.simulate(pp.load_scenario("pendulum"))
    axes[0, 0].plot(trace.time, trace["q"], label="θ [rad]")
    axes[0, 0].plot(trace.time, trace["v"], label="θ̇ [rad/s]")
    label_axes(axes[0, 0], "θ̈ = −(g/ℓ) sin θ, from 90°", "t [s]", "")
    return figure


def draw_planar_arm() -> Any:
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

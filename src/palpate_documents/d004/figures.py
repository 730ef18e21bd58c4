"""Document 004: figures 2 to 5, drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate_documents.drawing import label_axes, new_figure


def draw_fall() -> Any:
    """Figure 2: the damped arm; with one tensor for all links, and with each link's own."""
    from palpate_documents.d004.dynamics import fall

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


def admittance_drawing(number: str) -> Callable[[], Any]:
    """A figure of section 3: the UR5e along the point-to-point motion, under the document's force and torque."""
    kind, channel, labels, unit = _CHANNELS[number]

    def draw() -> Any:
        from palpate_documents.d004.simulations import SCENARIOS, motion_run

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

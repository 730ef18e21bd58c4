"""Document 001: figures 2 and 3, and the stop, drawn."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

import palpate as pp
from palpate_documents.drawing import label_axes, new_figure


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 70))


_CASES = ((-2.0, -3.0), (2.0, -3.0), (-2.0, 0.5), (2.0, 0.5), (-2.0, 3.0), (2.0, 3.0))


def draw_rates() -> Any:
    """Figure 2: u_i = a_i λ + b_i against its bounds, and the λ_i that follows."""
    from palpate_documents.d001.stop_arm import scalar_rate

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


def draw_geometry() -> Any:
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


def draw_stop() -> Any:
    """λ(t) and the path of the tip against its line, by the fastest stop; the law as printed ends at once."""
    from palpate_documents.as_printed import runs_as_printed
    from palpate_documents.d001.stop_arm import XY, arm

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

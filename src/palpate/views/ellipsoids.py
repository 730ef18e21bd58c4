"""Velocity and force ellipsoids and force polytopes, drawn at the arm's tip in a plane of the world."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.files import atomic_write
from palpate.lazy import check_extra
from palpate.robot.robot import Robot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#1f6f8b", "#c8553d", "#6a8d3a", "#8a5a9e")
_AXES = "xyz"


class Outlined(Protocol):
    """Something with a place and a boundary: an ellipsoid or a polytope of `palpate.tools.contact`."""

    @property
    def centre(self) -> Array:
        """Its place in the world, m."""
        ...

    @property
    def directions(self) -> Array:
        """Rows of its task, k × 6."""
        ...

    def outline(self, plane: tuple[int, int] = (0, 1), points: int = 181) -> Array:
        """Its boundary on two of its directions."""
        ...


def draw_ellipsoids(
    robot: Robot,
    q: ArrayLike,
    shapes: Mapping[str, Outlined],
    path: str | os.PathLike[str] | None = None,
    *,
    plane: str = "xy",
    sizes: Mapping[str, float] | None = None,
) -> Figure:
    """The arm in a plane with shapes at its tip, each scaled to be seen; the legend tells what one metre of it is.

    Args:
        robot: the robot; q: its posture.
        shapes: names and what to draw, such as {"velocity": …, "force within limits": …}; x, y, z directions.
        path: also write it there (.png, .svg or .pdf by its ending).
        plane: two of the world's axes, such as "xy" or "xz".
        sizes: how many units of a shape are drawn as one metre; chosen to fit if not given.
    """
    check_extra("matplotlib", "figures", "a drawing of ellipsoids")
    from matplotlib.figure import Figure

    pair = _pair(plane)
    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axes = figure.add_subplot()
    points = _skeleton(robot, q)[:, pair]
    reach = max(float(np.ptp(points, axis=0).max()), 0.1)
    axes.plot(points[:, 0], points[:, 1], "-o", color="#444444", lw=2.5, ms=4, label="arm")
    for colour, (name, shape) in zip(_COLOURS * 9, shapes.items()):
        _draw(axes, name, shape, pair, (sizes or {}).get(name), reach, colour)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel=f"{plane[0]} (m)", ylabel=f"{plane[1]} (m)")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    if path is not None:
        _write(figure, Path(path))
    return figure


def _pair(plane: str) -> list[int]:
    if len(plane) != 2 or plane[0] == plane[1] or not set(plane) <= set(_AXES):
        raise InvalidInput(f"plane must be two of x, y and z, got {plane!r}")
    return [_AXES.index(letter) for letter in plane]


def _skeleton(robot: Robot, q: ArrayLike) -> Array:
    """Where the links' frames are, from the base to the tool."""
    body, chain = robot.frame(robot.tool_frame).body, []
    while body > 0:
        chain.append(robot.model.body(body).name)
        body = int(robot.model.body_parentid[body])
    places = [robot.pose(q, name).position for name in reversed(chain)]
    return np.array([*places, robot.pose(q).position])


def _draw(
    axes: Axes, name: str, shape: Outlined, pair: list[int], size: float | None, reach: float, colour: str
) -> None:
    rows = [_row(shape, axis) for axis in pair]
    outline = shape.outline((rows[0], rows[1]))
    if size is None:
        size = _round(float(np.abs(outline).max()) / (0.35 * reach))
    points = np.asarray(shape.centre)[pair] + outline / size
    axes.fill(points[:, 0], points[:, 1], color=colour, alpha=0.15)
    axes.plot(points[:, 0], points[:, 1], color=colour, lw=1.3, label=f"{name} (1 m = {size:g})")


def _row(shape: Outlined, axis: int) -> int:
    """Which of a shape's directions is a world axis."""
    wanted = np.eye(6)[axis]
    for number, row in enumerate(np.asarray(shape.directions)):
        if np.abs(row - wanted).max() < 1e-12:
            return number
    raise InvalidInput(f"the shape has no direction {_AXES[axis]}", hint="give directions=np.eye(6)[:3]")


def _round(value: float) -> float:
    """One digit, upwards: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-12)))
    return float(next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-9)))


def _write(figure: Figure, path: Path) -> None:
    kind = path.suffix.lstrip(".").lower() or "png"
    if kind not in ("png", "svg", "pdf"):
        raise InvalidInput(f"a figure is written as .png, .svg or .pdf, got {path.name!r}")
    atomic_write(path, lambda file: figure.savefig(file, format=kind, dpi=150))

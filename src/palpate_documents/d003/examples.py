"""Document 003: the arms and the body that its claims are computed with, and random states of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.tools.derive import Derivation
from palpate_documents.compare import remembered


@remembered
def spatial_arm() -> pp.Robot:
    """Three joints in space: the first links of a UR5e."""
    return pp.load_robot("ur5e-3link")


@remembered
def spatial_equations() -> Derivation:
    """Its equations."""
    return pp.derive(spatial_arm(), parameters="numbers")


@remembered
def ur5e() -> pp.Robot:
    """Six joints in space."""
    return pp.load_robot("ur5e", joints="ideal")


@remembered
def vertical() -> Derivation:
    """The planar 3R arm of the kinematics section."""
    return pp.derive(pp.load_robot("planar3-vertical"))


@remembered
def body() -> pp.Robot:
    """A free rigid body of 2 kg with three different moments of inertia."""
    return pp.Robot.from_mjcf_text(
        '<mujoco><worldbody><body name="body"><freejoint/><inertial mass="2" pos="0 0 0" diaginertia="0.1 0.2 0.25"/>'
        "</body></worldbody></mujoco>",
        name="body",
    )


def state(robot: pp.Robot, seed: int = 0) -> tuple[Array, Array, Array]:
    """q, v, a at random, q near home."""
    rng = np.random.default_rng(seed)
    return robot.home + 0.3 * rng.normal(size=robot.nq), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def slope(function: Callable[[Array], object], q: Array, v: Array, h: float = 1e-6) -> Array:
    """d/dt of a function of q along v, by a central difference."""
    return (np.asarray(function(q + h * v)) - np.asarray(function(q - h * v))) / (2 * h)

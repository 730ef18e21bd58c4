"""Numbers of elastic joints that a model carries in its `<custom>`."""

from __future__ import annotations

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.robot.limits import joint_numbers


def elastic_numbers(model: mujoco.MjModel, name: str) -> Array | None:
    """Numbers of elastic joints that a model carries, per degree of freedom; None where it carries none."""
    known = joint_numbers(model, name)
    return known if np.isfinite(known).all() else None

"""Terms of many states at once: arrays with one state in each row, on all lanes and cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, as_numbers
from palpate.errors import BadShape
from palpate.robot.mechanics.kernels import OK
from palpate.robot.mechanics.tree_kernels import rows_of_accelerations, rows_of_terms, rows_of_torques
from palpate.robot.terms import has_losses, refusal

if TYPE_CHECKING:
    from palpate.robot.robot import Robot


def dynamics(
    robot: Robot, given: Mapping[str, ArrayLike], what: Literal["inverse dynamics", "forward dynamics"], losses: bool
) -> Array:
    """Torques for accelerations, or accelerations under torques."""
    robot.demand_masses(what)
    inputs, inverse = states(robot, given), what == "inverse dynamics"
    if losses and has_losses(robot.model):
        single = robot.inverse_dynamics if inverse else robot.forward_dynamics
        return np.array([single(*state) for state in zip(*inputs.values())]).reshape(-1, robot.nv)
    wanted = robot.equations.layout.where["bias"]
    return rows(robot, rows_of_torques if inverse else rows_of_accelerations, inputs, None, wanted)


def rows_at_rest(robot: Robot, Q: ArrayLike, frame: str | None, first: str, last: str) -> Array:
    """Rows of the terms from one to another, for v = 0."""
    inputs, where = states(robot, {"Q": Q}), robot.equations.layout.where
    inputs["V"] = np.zeros((len(inputs["Q"]), robot.nv))
    return rows(robot, rows_of_terms, inputs, frame, slice(where[first].start, where[last].stop))


def states(robot: Robot, given: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Arrays of as many rows each: coordinates in Q, velocities in everything else."""
    arrays = {name: as_numbers(value, f"{name} of {robot.name}") for name, value in given.items()}
    for name, array in arrays.items():
        size = robot.nq if name == "Q" else robot.nv
        if array.ndim != 2 or array.shape[1] != size:
            raise BadShape(
                f"{name} of {robot.name} must have shape (N, {size}), a state in each row, got {array.shape}",
                hint="for one state alone there is the function without _batch",
            )
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{count} in {name}" for name, count in lengths.items())
        raise BadShape(f"each array needs one row for each state of {robot.name}, got {counts}")
    return arrays


def rows(
    robot: Robot, kernel: Callable[..., int], inputs: Mapping[str, Array], frame: str | None, wanted: slice
) -> Array:
    """A kernel's rows for many states; refused where one of them is."""
    arrays = list(inputs.values())
    result, status, state = robot.equations.rows(kernel, arrays, frame, wanted)
    if status != OK:
        raise refusal(robot, status, [array[state] for array in arrays], list(inputs)[-1], f"[{state}]")
    return result

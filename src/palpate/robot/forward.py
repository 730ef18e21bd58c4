"""Forward dynamics of a robot with joint losses, in compiled code: at one state, and at many on every core."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.equations.code.tree_program import TreeTerms
from palpate.equations.code.tree_solver import solver_of
from palpate.errors import InvalidInput
from palpate.robot.joints.coupling import acceleration
from palpate.robot.mechanics.kernels import OK
from palpate.robot.mechanics.tree_forward import UNSETTLED, ForwardWork, accelerations, losses_of, rows_of_losses
from palpate.robot.mechanics.tree_kernels import BAD_SHAPE, STATUSES
from palpate.robot.terms import in_threads, reason_for_engine, refusal, thread_bounds

if TYPE_CHECKING:
    from palpate.robot.robot import Robot


class ForwardDynamics(threading.local):
    """The compiled equations of a robot with its losses; each thread has scratch of its own.

    Where Newton's steps do not settle, `engine` answers, for one state.
    """

    def __init__(
        self, robot: Robot, losses: Mapping[str, Array], engine: Callable[[Array, Array, Array], Array]
    ) -> None:
        self._robot, self._losses, self._engine = robot, losses, engine
        self._work = self._scratch()
        self._address, self._a = self._work.address, self._work.a

    def _scratch(self) -> ForwardWork:
        robot, program = self._robot, self._robot.program
        sizes = {"nv": robot.nv, "links": program.sizes.links}
        numbers = {"nq": robot.nq, "nv": robot.nv, "solver": solver_of(robot.model.dof_parentid.tolist())[0]}
        return ForwardWork(sizes, **numbers, code=program.code, terms=TreeTerms(sizes), **self._losses)

    def at(self, q: object, v: object, tau: object) -> Array | None:
        """v̇ at a state given as plain arrays; None where one of them is none, or misshapen."""
        try:
            plain = type(q) is type(v) is type(tau) is np.ndarray
            status = accelerations(q, v, tau, self._address) if plain else BAD_SHAPE  # pyright: ignore[reportArgumentType]
        except InvalidInput:
            return None
        if status == OK:
            return self._a.copy()
        if status == BAD_SHAPE:
            return None
        arrays: tuple[Array, Array, Array] = (q, v, tau)  # pyright: ignore[reportAssignmentType]
        if status == UNSETTLED:
            return self._engine(*arrays)
        raise refusal(self._robot, status, arrays, "tau")

    def rows(self, Q: Array, V: Array, T: Array) -> Array:
        """v̇ of many states, each with the bits it has alone."""
        out, left, edges = np.empty_like(V), np.zeros(len(Q), dtype=np.int64), thread_bounds(len(Q))
        results = [OK] * (len(edges) - 1)

        def work(share: int) -> None:
            part, scratch = slice(edges[share], edges[share + 1]), self._work if share == 0 else self._scratch()
            results[share] = rows_of_losses(Q[part], V[part], T[part], scratch.address, left[part], out[part])  # pyright: ignore[reportArgumentType]

        in_threads(work, len(results))
        for share, result in enumerate(results):
            if result != OK:
                k = edges[share] + result // STATUSES
                raise refusal(self._robot, result % STATUSES, (Q[k], V[k], T[k]), "T", f"[{k}]")
        for k in np.flatnonzero(left):
            out[k] = self._engine(Q[k], V[k], T[k])
        return out


def forward_dynamics_of(robot: Robot) -> ForwardDynamics | None:
    """The compiled forward dynamics of a robot; None where the engine has to answer."""
    if robot.coordinates.coupled or reason_for_engine(robot.model) is not None:
        return None
    losses = losses_of(robot.model)
    return None if losses is None else ForwardDynamics(robot, losses, partial(engine_accelerations, robot))


def accelerated(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    wrench: ArrayLike | Mapping[str, ArrayLike] | None,
    losses: bool,
) -> Array:
    """v̇ of any robot from anything that is an array, as `Robot.forward_dynamics` says."""
    applied = robot._plain(tau, "tau", robot.nv, finite=True)
    if wrench is not None:
        applied = applied + robot.generalised_force(q, wrench)
    if robot.coordinates.coupled or not losses:
        return acceleration(robot, q, v, applied, robot._work.data if losses else None)
    known, compiled = None, robot._forward
    if compiled is not None:
        known = compiled.at(robot._plain(q, "q", robot.nq), robot._plain(v, "v", robot.nv), applied)
    return engine_accelerations(robot, q, v, applied) if known is None else known


def engine_accelerations(robot: Robot, q: ArrayLike, v: ArrayLike, applied: Array) -> Array:
    """v̇ by the engine, with losses."""
    robot._stage(q, v)
    data = robot._work.data
    data.qfrc_applied[:] = applied
    mujoco.mj_forward(robot.model, data)
    data.qfrc_applied[:] = 0.0
    return data.qacc.copy()

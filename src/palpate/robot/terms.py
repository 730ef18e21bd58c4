"""Terms of a model that a controller needs, at one state or many, and each thread's workspace for them."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import mujoco
import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from palpate.checks import Array, as_numbers
from palpate.engine.arithmetic.lane_rows import DOUBLES_IN_LINE
from palpate.engine.lanes import LIMIT
from palpate.engine.physics import Physics
from palpate.engine.records import Record
from palpate.equations.code.tree_code import Sizes
from palpate.equations.code.tree_program import LANES, TreeMotion, TreePlace, TreeProgram
from palpate.equations.code.tree_solver import lane_solver_of
from palpate.equations.model.mechanism import LinkFrame, obstacle
from palpate.errors import BadRotation, BadShape, InvalidInput, NotFinite, PalpateError
from palpate.forking import cached_property
from palpate.robot.mechanics import kernels, tree_kernels
from palpate.robot.mechanics.kernels import OK
from palpate.robot.mechanics.tree_kernels import STATUSES, StateWork, tree_jacobians, tree_terms
from palpate.robot.mechanics.tree_rows import LaneWork, rows_of_accelerations, rows_of_terms, rows_of_torques

if TYPE_CHECKING:
    from palpate.robot.robot import Robot


class Terms(NamedTuple):
    """Everything a controller asks of a model at (q, v), for one frame E.

    Of N states (`Robot.terms_batch`) each has a first axis of length N.

    Attributes:
        M: mass matrix, n×n.
        bias: C(q, v) v + g(q).
        gravity: g(q).
        position, rotation: pose of E in the world.
        J: geometric Jacobian 6×n, rows [linear; angular], world axes.
        drift: J̇ v.
    """

    M: Array
    bias: Array
    gravity: Array
    position: Array
    rotation: Array
    J: Array
    drift: Array


class TermsLayout:
    """Where the terms of a state lie in one row of numbers, for a number of velocities.

    Attributes:
        shapes: of each of the terms.
        where: the part of a row that holds each.
        size: numbers in a row.
    """

    def __init__(self, nv: int) -> None:
        self.shapes = dict(zip(Terms._fields, ((nv, nv), (nv,), (nv,), (3,), (3, 3), (6, nv), (6,))))
        self.where: dict[str, slice] = {}
        self.size = 0
        for name, shape in self.shapes.items():
            end = self.size + math.prod(shape)
            self.where[name], self.size = slice(self.size, end), end

    def views(self, rows: Array) -> Terms:
        """The terms in rows of numbers, one row for each state."""
        return Terms(*(rows[:, self.where[name]].reshape(-1, *shape) for name, shape in self.shapes.items()))


def engine_terms(robot: Robot, q: Array, v: Array, frame: str) -> Terms:
    """All terms at a state by the engine, reduced to the independent coordinates."""
    engine, record, c = robot._stage(q, v), robot.frame(frame).record, robot.coordinates
    full = Terms(*(np.empty(shape) for shape in TermsLayout(robot.model.nv).shapes.values()))
    kernels.read_mass_matrix(engine, full.M)
    kernels.read_bias(engine, full.bias)
    kernels.read_gravity(engine, full.gravity)
    kernels.read_pose(engine, record.address, full.position, full.rotation)
    kernels.read_jacobian(engine, record.body, full.position, full.J)
    kernels.read_drift(engine, record.body, full.position, robot._v(v), np.empty_like(full.J), full.drift)
    forces = {"bias": c.reduce_force(full.bias), "gravity": c.reduce_force(full.gravity)}
    return full._replace(M=c.reduce_matrix(full.M), J=c.reduce_columns(full.J), **forces)


class Workspace(threading.local):
    """One thread's engine data and scratch: a Robot is shared between threads, its data never is."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.data = mujoco.MjData(model)
        self.physics = Physics.of(model, self.data)
        self.coriolis = kernels.CoriolisWork({"nv": model.nv})


# ----------------------------------------------------------------------------------------------
# A robot's compiled equations: terms at one state, and at many on every lane and core.


MOST_LINKS = 16  # beyond, code takes seconds to compile, and one state is better left to the engine
FEWEST_A_THREAD = 500  # states; fewer are computed sooner than a thread starts
_GROUND = LinkFrame(-1, np.zeros(3), np.eye(3))


def reason_for_engine(model: mujoco.MjModel) -> str | None:
    """Why single states of a model are left to the engine; None if its equations are compiled."""
    if model.njnt > MOST_LINKS:
        return f"it has {model.njnt} joints; equations are compiled for up to {MOST_LINKS}"
    return obstacle(model)


def has_losses(model: mujoco.MjModel) -> bool:
    """Whether joint damping, springs or friction take part in a model's motion, which no equation here holds."""
    effects = model.dof_damping, model.jnt_stiffness, model.dof_frictionloss
    return any(np.any(values) for values in effects) or model.opt.density > 0 or model.opt.viscosity > 0


class _Scratch(threading.local):
    """A thread's scratch for one state."""

    def __init__(self, sizes: Sizes) -> None:
        self.record = StateWork(nq=sizes.nq, nv=sizes.nv, motion=TreeMotion({"links": sizes.links}))
        self.address = self.record.address


class Equations:
    """The compiled equations of a robot, and scratch to call them with.

    `parents` tells of each velocity which other one carries it, −1 for the ground.
    """

    def __init__(self, program: TreeProgram, parents: Sequence[int]) -> None:
        self.program, self.layout, self._parents = program, TermsLayout(program.sizes.nv), parents
        self._scratch = _Scratch(program.sizes)
        self._code, self._nv = program.code.address, program.sizes.nv
        self._square, self._wide = (self._nv, self._nv), (6, self._nv)
        self._frames: dict[str | None, TreePlace] = {None: program.place(_GROUND)}
        self._spare: list[LaneWork] = []  # scratch for lanes that no thread uses now

    def frame(self, frame: str | None) -> TreePlace:
        """A named frame as the program takes it; None for the ground."""
        known = self._frames.get(frame)
        if known is None:
            known = self._frames[frame] = self.program.place(self.program.mechanism.frames[str(frame)])
        return known

    def terms(self, q: Array, v: Array, frame: str) -> Terms | int:
        """All terms at a state, or why there are none (a status of `tree_kernels`).

        Raises:
            InvalidInput: q or v is no plain array of doubles.
        """
        out = self._room()
        status = tree_terms(self._code, q, v, self.frame(frame).address, self._scratch.address, out)
        return Terms._make(out) if status == OK else status

    def _room(self) -> tuple[Array, ...]:
        n = self._nv
        return empty(self._square), empty(n), empty(n), empty(3), empty((3, 3)), empty(self._wide), empty(6)

    def jacobians(self, Q: Array, frame: str) -> Array:
        """J at every row of Q in one call, zero where a row is no position.

        For hundreds of rows in a thread of many; `rows` has all cores, and code of its own, which takes seconds to
        compile.
        """
        J, v = np.zeros((len(Q), *self._wide)), np.zeros(self._nv)
        place, scratch = self.frame(frame).address, self._scratch.address
        tree_jacobians(self._code, Q, v, place, scratch, self._room(), J.reshape(-1))
        return J

    def rows(
        self, kernel: Callable[..., int], inputs: Sequence[Array], frame: str | None, wanted: slice
    ) -> tuple[Array, int, int]:
        """A kernel's rows for many states, on every core: the rows, a status, and the first state it is about.

        Args:
            kernel: one of `tree_rows.rows_of_…`.
            inputs: arrays with one row for each state.
            frame: whose pose and Jacobian are among the terms; None for the ground.
            wanted: which numbers of a row of terms the result has.
        """
        count = len(inputs[0])
        out = np.empty((count, wanted.stop - wanted.start))
        edges = thread_bounds(count)
        results = [OK] * (len(edges) - 1)
        lanes, frame_address = self.program.lanes.address, self.frame(frame).address
        solver = self._solver if kernel is rows_of_accelerations else 0

        def work(share: int) -> None:
            part = slice(edges[share], edges[share + 1])
            scratch = self._lane_work()
            scratch.first, scratch.last, scratch.solver = wanted.start, wanted.stop, solver
            results[share] = kernel(lanes, *(x[part] for x in inputs), frame_address, scratch.address, out[part])
            self._spare.append(scratch)

        in_threads(work, len(results))
        share = next((i for i, result in enumerate(results) if result != OK), 0)
        return out, results[share] % STATUSES, edges[share] + results[share] // STATUSES

    def _lane_work(self) -> LaneWork:
        """Scratch for lanes: some that is spare, or new."""
        try:
            return self._spare.pop()
        except IndexError:
            sizes = self.program.sizes
        lengths = {"q": LANES * sizes.nq, "v": LANES * sizes.nv, "row": LANES * (self.layout.size + 6)}
        motion = TreeMotion(**_aligned_arrays(TreeMotion, {"links": LANES * sizes.links}))
        return LaneWork(**_aligned_arrays(LaneWork, lengths), motion=motion, first=0, last=0, solver=0)

    @cached_property
    def _solver(self) -> int:
        """Address of the program that solves with the mass matrices of LANES states."""
        return lane_solver_of(self._parents, LANES)


def _aligned_arrays(kind: type[Record], sizes: Mapping[str, int]) -> dict[str, Array]:
    """Arrays for a record of lanes, each at the beginning of a line of the cache: a vector across two takes longer."""
    doubles = np.zeros(kind.width(sizes) + DOUBLES_IN_LINE)
    aligned = doubles[-doubles.ctypes.data // doubles.itemsize % DOUBLES_IN_LINE :]
    return {name: array.reshape(kind.shapes(sizes)[name]) for name, array in kind.columns(aligned, sizes).items()}


def thread_bounds(count: int) -> list[int]:
    """Where each thread's states begin, and where the last one's end; whole lanes but for the last."""
    threads = max(1, min(_cores(), count // FEWEST_A_THREAD))
    size = -(-count // (threads * LANES)) * LANES
    return [*(min(i * size, count) for i in range(threads)), count]


def in_threads(work: Callable[[int], None], shares: int) -> None:
    """Do each share of some work in a thread of its own, the first in this one; return when all are done."""
    threads = [threading.Thread(target=work, args=(share,)) for share in range(1, shares)]
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ----------------------------------------------------------------------------------------------
# Terms of many states at once: arrays with one state in each row, on all lanes and cores.


def rows_of_dynamics(
    robot: Robot, given: Mapping[str, ArrayLike], what: Literal["inverse dynamics", "forward dynamics"], losses: bool
) -> Array:
    """Torques for accelerations, or accelerations under torques."""
    robot.demand_masses(what)
    inputs, inverse = checked_states(robot, given), what == "inverse dynamics"
    if losses and has_losses(robot.model):
        if not inverse and (compiled := robot._forward) is not None:
            return compiled.rows(*inputs.values())
        single = robot.inverse_dynamics if inverse else robot.forward_dynamics
        return np.array([single(*state) for state in zip(*inputs.values())]).reshape(-1, robot.nv)
    wanted = robot.equations.layout.where["bias"]
    return checked_rows(robot, rows_of_torques if inverse else rows_of_accelerations, inputs, None, wanted)


def rows_at_rest(robot: Robot, Q: ArrayLike, frame: str | None, first: str, last: str) -> Array:
    """Rows of the terms from one to another, for v = 0."""
    inputs, where = checked_states(robot, {"Q": Q}), robot.equations.layout.where
    inputs["V"] = np.zeros((len(inputs["Q"]), robot.nv))
    return checked_rows(robot, rows_of_terms, inputs, frame, slice(where[first].start, where[last].stop))


def checked_states(robot: Robot, given: Mapping[str, ArrayLike]) -> dict[str, Array]:
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


def checked_rows(
    robot: Robot, kernel: Callable[..., int], inputs: Mapping[str, Array], frame: str | None, wanted: slice
) -> Array:
    """A kernel's rows for many states; refused where one of them is."""
    arrays = list(inputs.values())
    result, status, state = robot.equations.rows(kernel, arrays, frame, wanted)
    if status != OK:
        raise refusal(robot, status, [array[state] for array in arrays], list(inputs)[-1], f"[{state}]")
    return result


# ----------------------------------------------------------------------------------------------
# What a kernel's status says about a robot's state, as the error that is raised.


def refusal(robot: Robot, status: int, arguments: Sequence[Array], third: str = "", where: str = "") -> PalpateError:
    """The error behind a status; `arguments` are q, v and what `third` names, `where` says of which state."""
    if status == kernels.BAD_QUATERNION:
        what = f"q{where} of {robot.name} holds a quaternion whose norm is not 1 (wxyz, after the base position)"
        return BadRotation(what, hint="normalise it before calling")
    if status == tree_kernels.NOT_POSITIVE:
        return InvalidInput(f"the mass matrix{where} of {robot.name} is not positive definite")
    if status == tree_kernels.TOO_FAR:
        return _too_far(robot, arguments[0], where)
    index = {kernels.BAD_POSITION: 0, kernels.BAD_VELOCITY: 1, kernels.BAD_INPUT: 2}[status]
    return not_finite(robot, ("q", "v", third)[index], arguments[index], where)


def not_finite(robot: Robot, name: str, values: Array, where: str = "") -> NotFinite:
    """The first number that is NaN or infinite, by the name of its coordinate."""
    labels = robot.coordinate_names if name in ("q", "seed") else robot.dof_names
    index = int(np.flatnonzero(~np.isfinite(values))[0])
    return NotFinite(f"{name}{where} of {robot.name} must be finite, got {values[index]} at {labels[index]}")


def _too_far(robot: Robot, q: Array, where: str) -> InvalidInput:
    first = 7 if robot.nq > robot.nv else 0  # after a free base
    index = first + int(np.flatnonzero(np.abs(q[first:]) >= LIMIT)[0])
    what = f"q{where} of {robot.name} is {q[index]:.6g} at {robot.coordinate_names[index]}, beyond ±{LIMIT:.0f}"
    return InvalidInput(what, hint="take whole turns off an angle before calling")

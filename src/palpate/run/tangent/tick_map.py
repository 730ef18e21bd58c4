"""The map of a control tick as the compiled loop has it, to first order: x⁺ = A x + B F, V = C x.

The coordinates x are numbers that the loop carries from tick to tick (`engine.records`): joint positions and
velocities of the whole scene, friction springs of contacts, delay lines, filters, servos, the law's memory. Rings are
written in the order of their age, so that the map does not depend on where a ring stands, and what only waits in a
delay line is shifted instead of being differentiated.

Held while differences are taken, and told: dry friction of joints, at its value; the rounding of encoders, which is
left out. Noise and losses are functions of seed and tick, and stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from palpate.checks import Array
from palpate.control.friction import KNEE
from palpate.engine.carried import CarriedField, CarriedWords
from palpate.errors import InvalidInput
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop import state as S, tangent
from palpate.run.loop.tangent import WRENCH, Tangent
from palpate.run.saved import carried_words, copied_memories
from palpate.run.stepping import Ending, run_python
from palpate.run.tangent.memory_numbers import MemoryNumbers
from palpate.world.forces.contact import PointContact
from palpate.world.plants.elastic.gears import set_armature
from palpate.world.plants.elastic.steps import set_step

# Of joints that rotate by a quaternion: coordinates before it.
_PLAIN_COORDINATES = {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_BALL): 0}
STEP = 1e-6  # of a coordinate of size 1
_NEVER = 2**62
_SLIP_SIZE = 1e-2  # m, of the stretch of a friction spring
_FINER = 16.0  # by which a step is shortened to tell a bend from a kink
_BENT = 1e-4  # of a column: one-sided differences that differ by more are looked at again
_KINKED = 0.3  # of their difference is left with the finer step: a kink
_ROUNDING = 1e-8  # of a step: what rounding gives
_SMALLEST = 1e-14
_AT_LIMIT = 1e-4  # of the friction: nearer to it a contact neither sticks nor slides
_SLIDES = 1e-9
_CREEP = 1e-3  # m/s
_PROBE = 1e-3  # N or N·m


@dataclass(frozen=True)
class Coordinates:
    """Numbers of the state where they lie, one entry each.

    Attributes:
        word: among the words carried; of a rotation, the first of its four.
        axis: about which a rotation is moved; −1 for a plain number.
        size: its typical size, of which `STEP` is taken; 0 for its own, at least 1.
        group: coordinates that are tried together for whether the tick reads them; −1 where it does.
        ring: number of the ring it is in, −1 for none; `row`, `column` are its places there.
        names: of those in no ring, such as "loop.plant.qvel[3]".
        rings: delay lines and others.
    """

    word: NDArray[np.int64]
    axis: NDArray[np.int64]
    size: Array
    group: NDArray[np.int64]
    ring: NDArray[np.int64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    names: tuple[str, ...]
    rings: tuple[Ring, ...]

    def __len__(self) -> int:
        return len(self.word)


@dataclass(frozen=True)
class Ring:
    """A ring of samples: the field, and whether all but the oldest sample only wait."""

    field: CarriedField
    line: bool

    @property
    def rows(self) -> int:
        """How many samples it holds, that to be overwritten next among them."""
        return self.field.shape[0]

    @property
    def width(self) -> int:
        """Numbers of a sample."""
        return self.field.shape[1]

    @property
    def count(self) -> int:
        """Samples so far: row count % rows is written next."""
        return int(getattr(self.field.record, self.field.how.counter))


@dataclass
class TickMap:
    """A control tick to first order, in coordinates whose rings are in the order of age.

    Attributes:
        A: (n, n); the tick's map.
        B: (n, inputs), per unit of what is held over the tick: wrench [f; n] at the tool's origin, world axes; where
            all are asked for also such a wrench that is read and does not act, and torques along every velocity.
        C: (6, n), the tool's twist at the tick's start.
        kink: where one-sided differences do not agree, what changes there; None if they do.
    """

    A: Array
    B: Array
    C: Array
    kink: str | None = None


@dataclass
class _Rows:
    """Differences after moved ticks, a row for each column that is read: of words, then of memories in plain Python."""

    plus: Array
    minus: Array
    steps: Array
    read: NDArray[np.int64]  # among the columns, those of memories in plain Python last
    answers: Array  # to a unit of each input, a row for each


class LoopState:
    """The state of an assembled run as coordinates, and the work of differentiating a tick of it.

    Attributes:
        words: all that is carried from tick to tick.
        memory: numbers of memories in plain Python.
        names: of the coordinates of a map: plain ones, those of memories, rings from the newest sample on.

    Raises:
        InvalidInput: contact is exact, or a memory cannot be copied.
    """

    def __init__(self, assembly: Assembly) -> None:
        self.assembly, self.words = assembly, carried_words(assembly)
        copied_memories(assembly)
        self._at = _coordinates(assembly, self.words)
        self.memory = MemoryNumbers(assembly)
        self._rings_start = len(self._at.names) + len(self.memory)
        ages = (
            f"{ring.field.path}[{age + 1} ago, {column}]"
            for ring in self._at.rings
            for age in range(ring.rows - 1)
            for column in range(ring.width)
        )
        self.names = (*self._at.names, *self.memory.names, *ages)
        self._work: dict[int, Tangent] = {}

    @property
    def all_inputs(self) -> int:
        """Wrenches at the tool, the same as its sensor reads them, and torques along every velocity."""
        return 2 * WRENCH + len(self.assembly.loop.plant.qvel)

    @property
    def columns(self) -> int:
        """Coordinates that a tick may read, each of which is moved both ways."""
        return len(self._moved()) + len(self.memory)

    @property
    def lacking(self) -> int:
        """Samples that some delay line still lacks to hold those of the motion alone."""
        return max((ring.rows - ring.count for ring in self._at.rings if ring.line), default=0)

    def differentiate(self, inputs: int = WRENCH) -> TickMap:
        """The map of the next tick, which the loop has then made.

        Args:
            inputs: how many are answered: none, those of a wrench, or `all_inputs`.

        Raises:
            InvalidInput: the tick ends the run, or does not repeat itself.
        """
        columns = self._moved()
        T = self._tangent(columns)
        T.probing = inputs
        values = np.where(self._at.axis < 0, np.abs(self.words.save().view(np.float64)[self._at.word]), 0.0)
        T.step[:] = STEP * np.where(self._at.size > 0.0, self._at.size, np.maximum(values, 1.0))
        T.probe_step = _PROBE
        of, before, memories = self._by_age(), self.words.save(), self.memory.saved()
        rows = self._run(T)
        to = self._by_age()
        kink = self._kink(T, rows, before, memories)
        n, moved = len(self.names), self._among_all(columns)
        A, B, C = np.zeros((n, n)), np.zeros((n, inputs)), np.zeros((6, n))
        waits = np.zeros(len(of), bool)
        waits[: len(self._at.ring)] = (self._at.ring >= 0) | (T.waits[:] == 1)
        waits[moved[rows.read]] = False
        waits &= (of >= 0) & (to >= 0)
        A[to[waits], of[waits]] = 1.0
        kept, there = of[moved[rows.read]] >= 0, to >= 0
        A[np.ix_(to[there], of[moved[rows.read[kept]]])] = (
            (rows.plus - rows.minus)[np.ix_(kept, there)] / (2.0 * rows.steps[kept, None])
        ).T
        if T.probing:
            B[to[there]] = rows.answers.T[there]
            twists = (T.twist_plus - T.twist_minus) / (2.0 * T.step[columns, None])
            C[:, of[columns]] = twists.T
        return TickMap(A, B, C, kink)

    def _ages(self) -> NDArray[np.int64]:
        """How many samples ago each coordinate of a ring was written, less one."""
        counts = np.array([ring.count for ring in self._at.rings] + [0])
        rows = np.array([ring.rows for ring in self._at.rings] + [1])
        return (counts[self._at.ring] - 1 - self._at.row) % rows[self._at.ring]

    def _by_age(self) -> NDArray[np.int64]:
        """For every coordinate its index among `names`; −1 for a sample that is overwritten next."""
        places = np.full(len(self._at.ring) + len(self.memory), -1, dtype=np.int64)
        own, ages, start = self._at.ring < 0, self._ages(), self._rings_start
        places[: len(self._at.ring)][own] = np.arange(own.sum())
        places[len(self._at.ring) :] = own.sum() + np.arange(len(self.memory))
        for k, ring in enumerate(self._at.rings):
            here = (self._at.ring == k) & (ages < ring.rows - 1)
            places[: len(self._at.ring)][here] = start + ages[here] * ring.width + self._at.column[here]
            start += (ring.rows - 1) * ring.width
        return places

    def _moved(self) -> NDArray[np.int64]:
        """Coordinates that the tick may read: not those that wait in delay lines, or are overwritten."""
        ages, moved = self._ages(), np.ones(len(self._at.ring), bool)
        for k, ring in enumerate(self._at.rings):
            here = self._at.ring == k
            moved &= ~here | (ages == ring.rows - 2 if ring.line else ages < ring.rows - 1)
        return np.flatnonzero(moved)

    def _among_all(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([columns, len(self._at.ring) + np.arange(len(self.memory))])

    def _is_read(self, T: Tangent) -> NDArray[np.bool_]:
        """Which of the columns the tick reads."""
        group = self._at.group[T.moved]
        return (group < 0) | (T.read[:][group] != 0) if len(T.read) else np.ones(len(group), bool)

    def _tangent(self, columns: NDArray[np.int64]) -> Tangent:
        if len(columns) not in self._work:
            groups = int(self._at.group.max(initial=-1)) + 1
            sizes = {"words": len(self.words), "n": len(self._at.ring), "columns": len(columns), "groups": groups,
                     "inputs": self.all_inputs}  # fmt: skip
            T = self._work[len(columns)] = Tangent(sizes, addresses=self.words.addresses)
            T.real[:] = self.words.real
            T.word[:], T.group[:] = self._at.word, self._at.group
            T.axis[:] = self._at.axis
        T = self._work[len(columns)]
        T.moved[:] = columns
        return T

    def _run(self, T: Tangent, of: NDArray[np.int64] | None = None) -> _Rows:
        """Run the moved ticks; the rows of some columns, or of those that the tick reads."""
        if not self.assembly.compiled:
            return self._run_python(T)
        self._refuse(self.assembly.rescues.call(tangent.differentiate, T.address), T)
        is_read = self._is_read(T)
        read = np.flatnonzero(is_read) if of is None else of
        plus, minus = T.plus[read], T.minus[read]
        plus[~is_read[read]] = minus[~is_read[read]] = 0.0
        answers = (T.pushed_plus[: T.probing] - T.pushed_minus[: T.probing]) / (2.0 * T.probe_step)
        return _Rows(plus, minus, T.step[T.moved[read]], read, answers)

    def _refuse(self, status: int, T: Tangent) -> None:
        if status != S.RUNNING:
            raise InvalidInput(f"the run ends at this tick (status {status})")
        if not T.repeats:
            raise InvalidInput(
                "a tick that is run twice from the same state does not repeat itself: the law or a sensor remembers"
                " something outside of its memory"
            )

    def _run_python(self, T: Tangent) -> _Rows:
        """The same around a law or sensors in plain Python; numbers of their memories are moved too."""
        L, memory, ending = self.assembly.loop, self.memory, Ending(S.RUNNING)
        moved, own = len(T.moved), len(T.word)
        plus, minus = (np.zeros((moved + len(memory), own + len(memory))) for _ in range(2))

        def tick() -> None:
            status = run_python(self.assembly, L.ratio, ending)
            if ending.raised is not None:
                raise InvalidInput(ending.raised)
            self._refuse(status, T)

        T.repeats = True
        T.waits[:] = 0
        tangent.begin(T.address)
        kept, start = memory.saved(), memory.read()
        tick()
        tangent.note_rest(T.address)
        rest, steps = memory.read(), memory.step(start)
        for c in range(moved + len(memory)):
            for side, rows in ((1.0, plus), (-1.0, minus)):
                tangent.set_back(T.address)
                memory.restore(kept)
                if c < moved:
                    tangent.move(T.address, int(T.moved[c]), side)
                    tangent.read_twist(L.address, T.address, (T.twist_plus if side > 0.0 else T.twist_minus)[c])
                else:
                    memory.write(start + side * steps * (np.arange(len(memory)) == c - moved))
                tick()
                tangent.read_difference(T.address, rows[c, :own])
                rows[c, own:] = memory.read() - rest
                if c < moved:
                    T.changed[c, int(side < 0)] = tangent.first_change(T.address)
        answers = np.zeros((T.probing, own + len(memory)))
        for i in range(T.probing):
            for side in (1.0, -1.0):
                tangent.set_back(T.address)
                memory.restore(kept)
                tangent.set_input(L.address, T.address, i, side)
                try:
                    tick()
                finally:
                    tangent.take_input(L.address, T.address, i)
                tangent.read_difference(T.address, answer := np.zeros(own))
                answers[i] += side * np.concatenate([answer, memory.read() - rest])
        tangent.set_back(T.address)
        memory.restore(kept)
        tick()
        tangent.check_repeated(T.address)
        self._refuse(S.RUNNING, T)
        if not np.array_equal(memory.read(), rest):
            T.repeats = False
            self._refuse(S.RUNNING, T)
        every = np.arange(len(plus))
        return _Rows(plus, minus, np.concatenate([T.step[T.moved], steps]), every, answers / (2.0 * T.probe_step))

    def _kink(self, T: Tangent, rows: _Rows, before: NDArray[np.int64], memories: dict[str, Any]) -> str | None:
        """Name of the kink where one-sided differences do not agree, however small the step; None where they do."""
        sizes = np.concatenate([np.where(self._at.size > 0.0, self._at.size, 1.0), np.ones(len(self.memory))])
        bent = np.abs(rows.plus + rows.minus) / sizes * self._counts(T)
        whole = (np.abs(rows.plus) + np.abs(rows.minus)).max(axis=1, initial=0.0)
        floor = _ROUNDING * rows.steps + _SMALLEST
        suspects = np.flatnonzero(bent.max(axis=1, initial=0.0) > _BENT * whole + floor)
        if not len(suspects):
            return None
        finer, changed = self._run_finer(T, before, memories, rows.read)
        closer = np.abs(finer.plus + finer.minus) / sizes * _FINER * self._counts(T)
        for c in suspects:
            row = int(bent[c].argmax())
            if closer[c, row] > _KINKED * bent[c, row] and closer[c, row] > _FINER * floor[c]:
                column = int(rows.read[c])
                word = next((int(w) for w in changed[column] if w >= 0), -1) if column < len(changed) else -1
                return self._cause(int(self._among_all(T.moved)[column]), row, word)
        return None

    def _counts(self, T: Tangent) -> NDArray[np.bool_]:
        """Which coordinates the motion goes on from: not those that the tick leaves as they are, or never reads."""
        counts = np.ones(len(self._at.ring) + len(self.memory), bool)
        if self.assembly.compiled and len(T.read):
            counts[: len(self._at.ring)] = (
                (self._at.group < 0) | (T.read[:][self._at.group] != 0) | (self._at.ring >= 0)
            )
        return counts

    def _run_finer(
        self, T: Tangent, before: NDArray[np.int64], memories: dict[str, Any], read: NDArray[np.int64]
    ) -> tuple[_Rows, NDArray[np.int64]]:
        """The same tick with shorter steps, and the whole numbers that changed with the longer ones."""
        after, kept, step = self.words.save(), self.memory.saved(), T.step.copy()
        changed = T.changed.copy()
        self.words.restore(before)
        self.memory.restore(memories)
        T.step[:] = step / _FINER
        finer = self._run(T, read)
        T.step[:] = step
        self.words.restore(after)
        self.memory.restore(kept)
        return finer, changed

    def _cause(self, column: int, row: int, word: int) -> str:
        """Name of the quantity that switches where the loop has no derivative."""
        L, d, robot = self.assembly.loop, self.assembly.loop.drives, self.assembly.run.robot
        if d.limit_torque and not L.kinematic:
            near = [j for j in range(robot.nv) if abs(abs(d.torque[j]) - d.torque_limit[j]) <= 1e-4 * d.torque_limit[j]]
            if near:
                return f"{robot.dof_names[near[0]]}'s torque limit"
        if near := nearly_sliding(self.assembly):
            return f"the friction limit of {next(iter(near))}"
        of = self._by_age()
        moved, what = (self.names[of[k]] if of[k] >= 0 else "a sample" for k in (column, row))
        return f"{self.words.name_of(word) if word >= 0 else what} changes its course when {moved} is moved either way"


def nearly_sliding(assembly: Assembly) -> dict[str, PointContact]:
    """Contacts whose friction is at its limit, by name."""
    pairs = zip(contact_names(assembly), assembly.loop.contacts)
    return {name: c for name, c in pairs if c.surface.compliant and c.depth > 0.0 and abs(_reserve(c)) <= _AT_LIMIT}


def contact_state(contact: PointContact) -> str:
    """Whether a contact is free, sticks or slides."""
    if contact.depth <= 0.0:
        return "free"
    return "sticks" if _reserve(contact) > _SLIDES else "slides"


def creeps(contact: PointContact) -> bool:
    """Whether a contact slides so slowly that any motion that is seen turns it back into one that sticks."""
    n, v = np.asarray(contact.normal), np.asarray(contact.velocity)
    return contact.surface.friction > 0.0 and float(np.linalg.norm(v - (v @ n) * n)) < _CREEP


def _reserve(contact: PointContact) -> float:
    """1 − |f_t| / μ f_n of a contact."""
    n, f = np.asarray(contact.normal), np.asarray(contact.force)
    normal = float(f @ n)
    most = contact.surface.friction * normal
    return 1.0 - float(np.linalg.norm(f - normal * n)) / most if most > 0.0 else 0.0


def contact_names(assembly: Assembly) -> list[str]:
    """Names of the pairs of a contact point and a surface, point by point."""
    plant = assembly.plant
    several = len(plant.points) > 1
    return [f"{p.name} on {s.name}" if several else s.name for p in plant.points for s in plant.surfaces]


def _coordinates(assembly: Assembly, words: CarriedWords) -> Coordinates:
    """The numbers that the motion goes on from."""
    rows: list[tuple[int, int, float, int, int, int, int]] = []  # word, axis, size, group, ring, row, column
    names: list[str] = []
    rings: list[Ring] = []
    group = 0
    for f, first in zip(words.fields, words.starts.tolist()):
        if not (f.real and f.how.moves) or (f.how.counter and f.shape[0] < 2):
            continue
        if f.how.counter:
            width, ring = f.shape[1], len(rings)
            rows += [(first + i, -1, 0.0, group + i // width, ring, i // width, i % width) for i in range(f.size)]
            rings.append(Ring(f, f.how.line))
            group += f.shape[0]
            continue
        if f.path == "loop.plant.qpos":
            places, own = _joint_coordinates(assembly.plant.model, first)
            rows += [(word, axis, 0.0, -1, -1, 0, 0) for word, axis in places]
        elif f.how.rotation:
            own = [f"{f.path} about {axis}" for axis in "xyz"]
            rows += [(first, axis, 0.0, -1, -1, 0, 0) for axis in range(3)]
        else:
            own, tried = [f.name_of(i) for i in range(f.size)], f.path != "loop.plant.qvel"
            size = _SLIP_SIZE if f.path.endswith(".slip") else 0.0
            rows += [(first + i, -1, size, group if tried else -1, -1, 0, 0) for i in range(f.size)]
            group += tried
        names += own
    whole = np.array(rows).T
    word, axis, _, group_of, ring_of, row, column = whole.astype(np.int64)
    return Coordinates(word, axis, whole[2], group_of, ring_of, row, column, tuple(names), tuple(rings))


def _joint_coordinates(model: mujoco.MjModel, first: int) -> tuple[list[tuple[int, int]], list[str]]:
    """Words and axes of hinges, slides and free bases, in the order of the velocities, and their names."""
    places: list[tuple[int, int]] = []
    names: list[str] = []
    for kind, at in zip(model.jnt_type.tolist(), model.jnt_qposadr.tolist()):
        plain = _PLAIN_COORDINATES.get(kind, 1)
        places += [(first + at + i, -1) for i in range(plain)]
        names += [f"loop.plant.qpos[{at + i}]" for i in range(plain)]
        if kind in _PLAIN_COORDINATES:
            places += [(first + at + plain, axis) for axis in range(3)]
            names += [f"loop.plant.qpos[{at + plain}] about {axis}" for axis in "xyz"]
    return places, names


@contextmanager
def held(assembly: Assembly) -> Iterator[tuple[str, ...]]:
    """Hold what has no derivative, and keep the loop from recording or ending; tells what is held.

    Dry friction stays at its value and encoders do not round. A joint that sticks then moves as if it slid.
    """
    L, run = assembly.loop, assembly.run
    table = {name: getattr(L, name) for name in ("steps", "stride")}
    rules, watching, friction, resolution = L.stop, L.watch.on, L.friction.on, L.joints.resolution
    coulomb = L.friction.coulomb.copy()
    force, comp = L.friction.force.copy(), L.compensation.coulomb.copy()
    told = []
    if friction:
        told.append("dry friction of the joints, at its value")
    if comp.any():
        told.append("the law's compensation of dry friction, at its value")
        if len(force):
            L.friction.force[L.dof] += comp * np.clip(np.asarray(L.row.v) / KNEE, -1.0, 1.0)
        L.compensation.coulomb[:] = 0.0
    if resolution > 0.0 and run.robot.nq == run.robot.nv:
        told.append("the rounding of the encoders, left out")
    if L.elastic.on and (L.elastic.coulomb.any() or L.elastic.breakaway.any()):
        told.append("dry friction of the motors, at its value")
    motors = L.elastic.friction.copy()
    L.elastic.rubs = False
    L.steps, L.stride, L.watch.on, L.friction.on, L.joints.resolution = _NEVER, _NEVER, False, False, 0.0
    L.replace("stop", [])
    if L.ties.each:
        L.friction.coulomb[:] = 0.0
    try:
        yield tuple(told)
    finally:
        L.steps, L.stride = table["steps"], table["stride"]
        L.watch.on, L.friction.on, L.joints.resolution = watching, friction, resolution
        L.friction.coulomb[:], L.friction.force[:], L.compensation.coulomb[:] = coulomb, force, comp
        L.elastic.rubs, L.elastic.friction[:] = True, motors
        L.replace("stop", rules)
        L.recorded = 0


def _finer_springs(assembly: Assembly, step: float) -> tuple[Array, ...]:
    """Let elastic joints take steps of another length; what their coefficients were."""
    e, model, known = assembly.loop.elastic, assembly.plant.model, assembly.plant.elastic
    were = e.ahead.copy(), e.behind.copy(), e.armature.copy(), np.array(e.share)
    if known is not None:
        facts = assembly.run.world.driver.facts_for(assembly.run.robot)
        set_step(e, known, model, facts, step, np.asarray(assembly.loop.plant.qpos))
    return were


def _restore_springs(assembly: Assembly, were: tuple[Array, ...]) -> None:
    e = assembly.loop.elastic
    e.ahead[:], e.behind[:], e.armature[:] = were[:3]
    e.share = float(were[3])
    if assembly.plant.elastic is not None:
        set_armature(assembly.plant.model, were[2])


@contextmanager
def finer_steps(assembly: Assembly, times: int) -> Iterator[None]:
    """Shorten the physics steps by a factor under the same control period."""
    L, d, model = assembly.loop, assembly.loop.drives, assembly.plant.model
    dt, ratio, jitter = L.dt, L.ratio, d.jitter
    L.dt, L.ratio, d.jitter = dt / times, ratio * times, jitter * times
    L.step, d.acts_from = L.step * times, d.acts_from * times
    model.opt.timestep = dt / times
    coefficients = _finer_springs(assembly, dt / times)
    try:
        yield
    finally:
        _restore_springs(assembly, coefficients)
        L.dt, L.ratio, d.jitter, model.opt.timestep = dt, ratio, jitter, dt
        L.step, d.acts_from = L.step // times, d.acts_from // times

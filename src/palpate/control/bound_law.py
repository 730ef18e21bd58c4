"""A law made ready for one robot, as the loop calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.commands import CommandKind
from palpate.control.reads import NEEDS, Need
from palpate.control.report import ended_by_law, no_sentences
from palpate.control.shown import Shown
from palpate.control.tick import Seen, Target, Tick, sizes_of
from palpate.engine.records import ReadOnly, Record
from palpate.errors import BadShape, InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial.kernels import quat_from_matrix

_TERMS = ("M", "bias", "gravity", "position", "rotation", "J", "drift")  # of a robot at (q, v)


@dataclass(frozen=True)
class Decision:
    """Answer of a law at one control tick.

    Attributes:
        terms: the named terms; their sum is the command.
        command: one number per degree of freedom, in the unit of `kind`.
    """

    terms: dict[str, Array]
    command: Array
    kind: CommandKind


@dataclass(frozen=True)
class BoundLaw:
    """A law made ready for one robot.

    Attributes:
        function: a kernel that writes its terms, or a Python function that returns them.
        terms: names of the terms.
        gains, memory: records of a compiled law; anything of a Python law.
        answer: the record that a compiled law writes its terms to, by rows of `rows`.
        needs: what it reads of the model.
        remarks: from the memory after a run, what the law did that its reader should know, in plain words.
        shown: what the trace records of the memory.
        warnings: what should be looked at before the run.
        alarms: from the memory after a run, where the law did not keep what it promises.
        ending: the shown number that ends the run once it is above 0.5; none by default.
        ended: from the memory, why the run was ended by it.
        compensates: whether the loop adds a last term, `FRICTION`, to the law's own.
        surrounded: whether the last of its own terms is the change by what stands around it (`control.around`).
    """

    name: str
    function: Any
    terms: tuple[str, ...]
    command: CommandKind
    gains: Any
    memory: Any
    rows: Array
    answer: Record | None = None
    needs: tuple[Need, ...] = NEEDS
    remarks: Callable[[Any], list[str]] = no_sentences
    shown: tuple[Shown, ...] = ()
    warnings: tuple[str, ...] = ()
    alarms: Callable[[Any], list[str]] = no_sentences
    ending: str | None = None
    ended: Callable[[Any], str] = ended_by_law
    compensates: bool = False
    surrounded: bool = False
    _ticks: dict[tuple[int, int], tuple[Tick, Target, Seen]] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def compiled(self) -> bool:
        """Whether it is machine code."""
        return self.answer is not None

    def decide(self, tick: Tick) -> None:
        """Write the terms for a tick into `rows`; the law's memory moves on."""
        if self.answer is not None:
            self.function(tick.address, self.gains.address, self.memory.address, self.answer.address)
        else:
            self.take(self.function(ReadOnly(tick), self.gains, self.memory))

    def take(self, terms: Any) -> None:
        """Check what a Python law returned and write it into `rows`."""
        if not isinstance(terms, Mapping):
            raise InvalidInput(
                f"law {self.name!r} returned {type(terms).__name__}, not its terms",
                hint=f"return a dictionary with {', '.join(map(repr, self.terms))}",
            )
        declared = self.terms[:-1] if self.compensates else self.terms
        if set(terms) != set(declared):
            differing = sorted(set(terms) ^ set(declared))
            raise InvalidInput(
                f"law {self.name!r} returned the terms {', '.join(map(repr, terms)) or 'none'}, declared are"
                f" {', '.join(map(repr, declared))}: see {', '.join(map(repr, differing))}"
            )
        for row, name in zip(self.rows, declared):
            value = np.asarray(terms[name])
            if value.shape != row.shape or value.dtype.kind not in "fiu":
                raise InvalidInput(
                    f"law {self.name!r}: term {name!r} must be {row.size} numbers, got"
                    f" {value.dtype} of shape {value.shape}"
                )
            row[:] = value

    def tick(
        self,
        robot: Robot,
        q: ArrayLike,
        v: ArrayLike,
        *,
        target: Target | None = None,
        wrench: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        seen: Seen | None = None,
        t: float = 0.0,
        dt: float = 1e-3,
    ) -> Decision:
        """One control tick from Python, model terms included; the law's memory moves on.

        Args:
            robot: the robot the law was bound to.
            q, v: measured joint positions and velocities.
            target: standing still at q by default (see `references.reference.joint_target`).
            wrench: measured wrench [f; n] of the environment on the robot; zero by default.
            tau: measured joint torques; zero by default.
            seen: what other sensors see; nothing by default.
            t, dt: time and control period, s.
        """
        x = robot.terms(q, v)
        if target is not None and (target.q.size, target.v.size) != (robot.nq, robot.nv):
            raise BadShape(f"the target has {target.q.size} coordinates, {robot.name} has {robot.nq}")
        known, resting, nothing = self._tick_of(robot)
        for name in _TERMS:
            getattr(known, name)[...] = getattr(x, name)
        known.t, known.dt = finite_number(t, "t"), finite_number(dt, "dt", above=0.0)
        known.q[:], known.v[:] = q, v
        known.wrench[:] = 0.0 if wrench is None else finite_array(wrench, "wrench", (6,))
        known.tau[:] = 0.0 if tau is None else finite_array(tau, "tau", (robot.nv,))
        if target is None:
            resting.q[:], resting.position[:] = q, x.position
            quat_from_matrix(x.rotation, resting.quat_wxyz)
        known.replace("target", resting if target is None else target)
        known.replace("seen", nothing if seen is None else seen)
        self.decide(known)
        return Decision(dict(zip(self.terms, self.rows.copy())), self.rows.sum(axis=0), self.command)

    def with_own_memory(self) -> BoundLaw:
        """The same law on a copy of its memory and without the loop's own term, for ticks that are no part of a run."""
        terms = len(self.terms) - self.compensates
        changes = {"terms": self.terms[:terms], "rows": self.rows[:terms], "compensates": False}
        return replace(self, memory=deepcopy(self.memory), **changes)

    def _tick_of(self, robot: Robot) -> tuple[Tick, Target, Seen]:
        """A tick to fill in, a target and a view of its own: to make them takes ten times as long as to use them."""
        size = robot.nq, robot.nv
        if size not in self._ticks:
            fresh = Tick(sizes_of(robot))
            self._ticks[size] = fresh, fresh.target, fresh.seen
        return self._ticks[size]

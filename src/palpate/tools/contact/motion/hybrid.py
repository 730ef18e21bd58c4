"""The exact integrator: free, sliding, sticking and locked contacts, located events, impacts, Zeno and Painlevé."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.errors import InvalidInput, check_names
from palpate.robot.robot import Robot
from palpate.tools.contact.collision.impacts import ORDERS, Order
from palpate.tools.contact.modes.accelerations import COAST_BEGIN
from palpate.tools.contact.modes.dynamics import GAP, Wrench, refuse_start
from palpate.tools.contact.modes.model import ContactModel, Snapshot
from palpate.tools.contact.motion.events import SLOW, ContactEvent, Memory, Rules
from palpate.tools.contact.motion.simulation import NO_TIMES, HybridState, Samples, Simulation, state_of
from palpate.tools.contact.motion.steps import Force, Stepper
from palpate.tools.contact.touch.contacts import FREE, SLIDING, Touch

_NUDGE = 1e-5  # rad or m: step of the differences that tell a gap's curvature
_ONE_SIGN = 1e-6  # of the squared size of the point's Jacobian: curvatures of both signs beyond this are a branch


@dataclass(frozen=True)
class Advance:
    """Result of `HybridSystem.advance`: the state reached, the events on the way, the samples asked for, how it ended.

    `outcome` is "done", or "painleve" where the system was told to stop at the paradox.
    """

    state: HybridState
    events: tuple[ContactEvent, ...]
    samples: Samples
    outcome: Literal["done", "painleve"]


class HybridSystem:
    """A robot and its contacts as an exact hybrid system.

    Between events M v̇ + C v + g + losses = τ + Jᵀ F + Σ J_cᵀ f is integrated in the present modes by an eighth-order
    method; events are found where a gap, a normal force, a slip or a friction margin falls through 0, and located
    to 1e-10 s. At an event, in this order: contacts that close collide (all at once), then every closed contact
    separates, slides or sticks as the complementarity problem of the accelerations says.

    Args:
        robot: any robot.
        contacts: what may hold it.
        losses: whether the model's joint damping, springs and dry friction act.
        painleve: what to do where friction leaves no answer: "impact" (an impact without collision) or "stop".
        order: how contacts that touch at once collide: "simultaneous" or "sequential" (see `impact`).
        relative, absolute: tolerance of the integration.
        shortest_flight: a bounce shorter than this, s, ends its series by the analytic tail.
        equations: take the terms from the robot's compiled equations where they carry it, else from the engine.

    A system may be used by one thread at a time; states are values and may be kept, copied and resumed.
    """

    def __init__(
        self,
        robot: Robot,
        contacts: Sequence[Touch],
        *,
        losses: bool = True,
        painleve: Literal["impact", "stop"] = "impact",
        order: Order = "simultaneous",
        relative: float = 1e-12,
        absolute: float = 1e-13,
        shortest_flight: float = 1e-5,
        equations: bool = False,
    ) -> None:
        if painleve not in ("impact", "stop"):
            raise InvalidInput(f"painleve must be 'impact' or 'stop', got {painleve!r}")
        self.model = ContactModel(robot, contacts, losses=losses, equations=equations)
        self.robot, self.contacts, self.names = robot, tuple(contacts), self.model.names[: len(contacts)]
        self.stepper = Stepper(
            self.model,
            finite_number(relative, "relative", above=0.0),
            finite_number(absolute, "absolute", above=0.0),
        )
        check_names("order", [order], ORDERS)
        self._rules = Rules(painleve, finite_number(shortest_flight, "shortest_flight", above=0.0), order)

    # ------------------------------------------------------------------ start

    def start(self, q: ArrayLike, v: ArrayLike | None = None, time: float = 0.0) -> HybridState:
        """A state to begin with. Pins hold their points where q has them.

        Raises:
            InvalidInput: a surface through the posture, a two-sided one off it, a pinned point that moves.
        """
        model = self.model
        time = finite_number(time, "time")
        snap = model.begin_at(q, np.zeros(self.robot.nv) if v is None else v, time)
        for i in range(model.given):
            refuse_start(model, i, snap.states[i])
            resting = abs(snap.states[i]["gap"]) <= GAP and abs(snap.states[i]["rate"]) <= SLOW
            if model.records[i]["mode"] == FREE and resting:
                model.records[i]["mode"] = SLIDING  # until the first force is known
        self._refuse_ends_of_reach(snap)
        memory = Memory(model.records.copy(), fresh=True)
        return state_of(model, time, snap.q, snap.v, memory)

    def _refuse_ends_of_reach(self, snap: Snapshot) -> None:
        """Refuse a two-sided surface at an end of the point's reach: no motion stays on it, and no force is defined.

        There the normal's row n·J is 0 and the gap's second derivative has one sign, so the gap is 0 at this posture
        alone. Where it has both signs (a branch point) the point can go on along the surface.
        """
        for i, record in enumerate(self.model.records[: self.model.given]):
            size = float(np.linalg.norm(snap.Jc[i]))
            if not record["two_sided"] or np.linalg.norm(snap.normals[i]) > COAST_BEGIN * size:
                continue
            curvature = np.linalg.eigvalsh(self._gap_curvature(snap, i))
            if curvature[0] * curvature[-1] > -_ONE_SIGN * size**2:
                raise InvalidInput(
                    f"contact {self.names[i]!r} is two-sided and touched at an end of the point's reach, where its"
                    " normal has no lever on the joints: the robot cannot move on it, and no force is defined",
                    hint="move the surface nearer, hold the point by a Pin, or let the surface be one-sided",
                )

    def _gap_curvature(self, snap: Snapshot, i: int) -> Array:
        """∂²g/∂q² by central differences of the gap's row."""
        model, n = self.model, self.robot.nv
        rows = [
            model.survey(snap.t, model.robot.integrate(snap.q, side * _NUDGE * np.eye(n)[k], 1.0), snap.v).normals[i]
            for k in range(n)
            for side in (1.0, -1.0)
        ]
        H = (np.array(rows[0::2]) - np.array(rows[1::2])) / (2 * _NUDGE)
        return 0.5 * (H + H.T)

    # ------------------------------------------------------------------ advance

    def advance(
        self,
        state: HybridState,
        until: float,
        tau: ArrayLike | Force,
        *,
        wrench: Wrench | None = None,
        samples: ArrayLike = (),
    ) -> Advance:
        """Move on to a time under a force held constant, or given as a smooth function of (t, q, v).

        Args:
            state: where to begin; of this system.
            until: the time to reach, s. A control tick is the end of one call and the beginning of the next.
            tau: generalised forces, N·m or N: numbers, or a function (t, q, v) → numbers.
            wrench: [f; n] of the environment at the tool frame, world axes, or a dict of frames to wrenches.
            samples: times in (state.time, until] at which to note the state; sorted.
        """
        until = finite_number(until, "until", least=state.time)
        simulation = self.simulation(state, np.atleast_1d(finite_array(samples, "samples")))
        simulation.push(self._force(tau, wrench))
        outcome = simulation.go(until)
        return Advance(simulation.state(), tuple(simulation.events), simulation.samples(), outcome)

    def simulation(self, state: HybridState, notes: Array = NO_TIMES) -> Simulation:
        """A way on from a state, force by force, without the states between: see `Simulation`."""
        return Simulation(self.model, self.stepper, state, self._rules, notes)

    def _force(self, tau: ArrayLike | Force, wrench: Wrench | None) -> Array | Force:
        robot = self.robot
        held = None if callable(tau) else robot._plain(tau, "tau", robot.nv, finite=True)
        if wrench is None:
            return held if held is not None else tau  # type: ignore[return-value]

        def both(t: float, q: Array, v: Array) -> Array:
            own = held if held is not None else np.asarray(tau(t, q, v))  # type: ignore[operator]
            return own + robot.generalised_force(q, wrench)

        return both

    def run(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        duration: float,
        tau: ArrayLike | Force | Callable[[HybridState], ArrayLike] = 0.0,
        *,
        period: float | None = None,
        sample: float | None = None,
    ) -> Advance:
        """From a start to the end, with or without a sampled law.

        Args:
            q, v: the start; at rest if v is None.
            duration: s.
            tau: a held force or a function (t, q, v); with a `period`, a law `state → force` asked at every tick.
            period: of the control ticks, s.
            sample: interval between noted states, s; only at the end if None.
        """
        state = self.start(q, v)
        ends = np.array([duration]) if period is None else _grid(period, duration)
        notes = np.array([duration]) if sample is None else _grid(sample, duration)
        force = np.zeros(self.robot.nv) if isinstance(tau, float) and tau == 0.0 else tau
        parts: list[Advance] = []
        for end in ends:
            held = force if period is None else force(state)  # type: ignore[operator]
            inside = notes[(notes > state.time) & (notes <= end)]
            parts.append(self.advance(state, float(end), held, samples=inside))  # type: ignore[arg-type]
            state = parts[-1].state
            if parts[-1].outcome != "done":
                break
        return _joined(parts)


def _grid(period: float, duration: float) -> Array:
    """Multiples of a period up to a duration, the end included."""
    count = int(np.ceil(duration / finite_number(period, "period", above=0.0) - 1e-9))
    return np.minimum(period * np.arange(1, count + 1), duration)


def _joined(parts: Sequence[Advance]) -> Advance:
    samples = Samples(*map(np.concatenate, zip(*(part.samples for part in parts))))
    return Advance(parts[-1].state, tuple(e for p in parts for e in p.events), samples, parts[-1].outcome)

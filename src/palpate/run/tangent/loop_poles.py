"""Poles of the loop as it runs: the map of its own control tick, at a moment of the real motion.

    x⁺ = A x + B F,     V = C x,     λ the eigenvalues of A,     s = ln λ / T

x are the numbers that the compiled loop carries from tick to tick, so that contact, driver, sensors, guards and the
law, a user's own too, are in A as they are in the run; no law states a linear model of itself. An error that is small
grows like |λ|ᵏ over k ticks: the loop is stable where every |λ| < 1. See Åström & Wittenmark, Computer-Controlled
Systems (3rd ed., 1997), sections 2.3 and 3.2, for sampled systems and their poles; Leine & Nijmeijer, Dynamics and
Bifurcations of Non-Smooth Mechanical Systems (2004), chapter 7, for maps of motions with contact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, PalpateError
from palpate.forking import cached_property
from palpate.run.advancing import fill_targets, stepper
from palpate.run.assemble.assemble import BATCH, Assembly, assemble
from palpate.run.build import Source, as_run
from palpate.run.loop import state as S
from palpate.run.loop.tangent import WRENCH
from palpate.run.stepping import Ending
from palpate.run.tangent.structure import Reduced, reduce_map
from palpate.run.tangent.tick_map import (
    LoopState,
    TickMap,
    contact_names,
    contact_state,
    creeps,
    finer_steps,
    held,
    nearly_sliding,
)

MARGIN = 1e-7  # |λ| nearer to 1 than this is neither stable nor unstable: what differences of the loop resolve
OF_STEP = 0.1  # of the rate ln|λ|/T: poles at h and h/4 that differ by more are those of the simulation
_FINER = 4
_WINDOW = 64  # ticks of the map where commands are lost, or come late, at random
_LONGEST = 100  # ticks of a camera's map, and of one that is also taken with finer steps
_NOISY = 512  # ticks at least where a camera's noise moves the arm: of less, the poles say little
_WITHIN = 0.98  # of its stretch: a friction spring at its limit
_MODES = 8


@dataclass(frozen=True)
class Mode:
    """One pole and how the arm moves with it.

    Attributes:
        pole: λ, over the ticks of the map.
        magnitude: |λ| per control tick.
        frequency: Hz; 0 for a pole on the real axis.
        damping_ratio: ζ of s = ln λ / T; negative where it grows.
        joints: share of each joint in the motion, largest 1.
        joint: the joint that moves most; empty where no joint does.
        direction: the tool's motion [v; ω] with it, world axes, of length 1 in m and rad; 0 where it does not move.
        state: the number of the loop that takes the largest part beside joints, by name.
    """

    pole: complex
    magnitude: float
    frequency: float
    damping_ratio: float
    joints: dict[str, float]
    joint: str
    direction: Array
    state: str


@dataclass(frozen=True)
class LoopPoles:
    """Poles of a loop at a moment of its motion; see `poles`.

    Attributes:
        time: s, when the map begins.
        period: s, of control.
        ticks: control ticks that the map spans: one, more where the loop repeats itself after several.
        poles: eigenvalues of the map without neutral ones, largest first.
        A, B, C: the map, per unit of wrench [f; n] held at the tool, and the tool's twist; B and C are those of the
            first tick.
        states: names of the coordinates of A.
        neutral: what is carried on and pulled back by nothing, by name: its pole of exactly 1 is left out.
        held: what was held or left out because it has no derivative, in words.
        limits: limits and guards at work at this moment, in words.
        saturated: whether the driver's limits of torque or rate are among these.
        contact: of each compliant contact "free", "sticks" or "slides"; of the rigid surfaces together "free" or
            "presses".
        not_differentiable: what changes its course here, so that there is no derivative; None where there is one.
        not_known: why nothing can be said; None otherwise.
        finer: the largest |λ| per control tick with four times as many physics steps; nan if it was not asked for.
        timestep: s, of the physics.
    """

    time: float
    period: float
    timestep: float
    ticks: int = 1
    poles: Array = field(default_factory=lambda: np.zeros(0, complex))
    A: Array = field(default_factory=lambda: np.zeros((0, 0)))
    B: Array = field(default_factory=lambda: np.zeros((0, 6)))
    C: Array = field(default_factory=lambda: np.zeros((6, 0)))
    states: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    saturated: bool = False
    contact: dict[str, str] = field(default_factory=dict)
    not_differentiable: str | None = None
    not_known: str | None = None
    finer: float = math.nan
    joint_names: tuple[str, ...] = ()
    _reduced: Reduced | None = field(default=None, repr=False, compare=False)
    _joint_states: tuple[tuple[int, ...], ...] = field(default=(), repr=False, compare=False)

    @property
    def largest(self) -> float:
        """The largest |λ| per control tick; nan where none is known, 0 where every error is gone after a few ticks."""
        if self.not_known is not None:
            return math.nan
        return float(abs(self.poles[0])) ** (1.0 / self.ticks) if len(self.poles) else 0.0

    @property
    def stable(self) -> bool | None:
        """Whether a small error dies out; None where it is not known, or every |λ| ≤ 1 and one is 1.

        While the driver cuts a torque or its rate, errors are not answered, and nothing is said.
        """
        if self.not_known is not None or self.not_differentiable is not None or self.saturated:
            return None
        return None if abs(self.largest - 1.0) <= MARGIN else self.largest < 1.0

    @property
    def rates(self) -> Array:
        """s = ln λ / T, 1/s, of every pole that is not 0; frequencies up to half of 1/(ticks · T) alone are told."""
        some = self.poles[np.abs(self.poles) > 0.0]
        return np.log(some.astype(complex)) / (self.ticks * self.period)

    @property
    def of_simulation(self) -> bool | None:
        """Whether the largest pole is that of the simulation's step: with steps of h/4 it decays otherwise.

        Its rate ln|λ|/T changes by more than a tenth, or its sign changes; None where that was not asked for.
        """
        if math.isnan(self.finer) or math.isnan(self.largest):
            return None
        now, finer = (math.log(max(x, 1e-300)) / self.period for x in (self.largest, self.finer))
        slack = 2.0 * MARGIN / self.period
        return abs(now - finer) > OF_STEP * max(abs(now), abs(finer)) + slack

    @cached_property
    def leading(self) -> Mode | None:
        """The mode of the largest pole; None where there is none."""
        return self._mode(complex(self.poles[0])) if self._reduced is not None and len(self.poles) else None

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """The modes of the largest poles, one of each conjugate pair."""
        if self._reduced is None:
            return ()
        shown = [pole for pole in self.poles if pole.imag >= 0.0 and abs(pole) > 0.0][:_MODES]
        return tuple(self._mode(complex(pole)) for pole in shown)

    def _mode(self, pole: complex) -> Mode:
        s = np.log(complex(pole)) / (self.ticks * self.period)
        vector = self._reduced.vector_of(pole)  # pyright: ignore[reportOptionalMemberAccess]
        at = {name: k for k, name in enumerate(self.states)}
        positions, velocities = ([at.get(f"loop.plant.{kind}[{k}]", -1) for k in places] for kind, places in
                                 zip(("qpos", "qvel"), self._joint_states))  # fmt: skip
        size = [max(abs(vector[p]) if p >= 0 else 0.0, (abs(vector[v]) / max(abs(s), 1e-9)) if v >= 0 else 0.0)
                for p, v in zip(positions, velocities)]  # fmt: skip
        most = max(size, default=0.0)
        shares = {name: x / most for name, x in zip(self.joint_names, size)} if most > 0.0 else {}
        twist = self.C @ vector
        k = int(np.argmax(np.abs(twist))) if twist.size else 0
        turned = (
            (twist * np.exp(-1j * np.angle(twist[k]))).real if np.abs(twist).max(initial=0.0) > 0.0 else np.zeros(6)
        )
        length = float(np.linalg.norm(turned))
        others = [(abs(x), name) for x, name in zip(vector, self.states) if ".plant.q" not in name and x != 0.0]
        return Mode(
            pole,
            abs(pole) ** (1.0 / self.ticks),
            abs(s.imag) / (2.0 * math.pi),
            -s.real / abs(s) if abs(s) > 0.0 else 1.0,
            shares,
            max(shares, key=lambda name: shares[name]) if shares else "",
            turned / length if length > 0.0 else np.zeros(6),
            max(others)[1] if others else "",
        )


def poles(
    source: Source | Assembly, at: float | Literal["end"] = "end", *, finer: bool = True, probing: bool = True
) -> LoopPoles:
    """The poles of a loop at a moment of its run, found by running it until then.

    The map of the next control tick is differentiated in compiled code, both ways in every number of the state. Where
    the loop repeats itself only after several ticks (a camera's pictures; losses and jitter, whose draws are kept), the
    map is the product over them. Delay lines are filled by the motion first. Poles of exactly 1 that follow from the
    loop's structure are left out and named: the foot of a sticking contact, positions that nothing pulls back, numbers
    that are only counted up.

    Args:
        source: a scenario, its name or file, a `Run`, or an assembly that has not come to `at` yet.
        at: s, or "end"; a run that ends sooner is asked there.
        finer: also find the largest pole with physics steps of h/4 under the same control period.
        probing: also find B and C.

    Returns:
        The poles; `not_known` says why there are none, `not_differentiable` where the loop has no derivative.
    """
    assembly = source if isinstance(source, Assembly) else assemble(as_run(source))
    clock = assembly.run.clock
    until = clock.duration if at == "end" else at
    if not 0.0 <= until <= clock.duration * (1.0 + 1e-9):
        raise InvalidInput(f"at must be within the run, 0 to {clock.duration:g} s, got {at!r}")
    try:
        assembly = _until(assembly, round(until / assembly.loop.period))
    except PalpateError as error:
        return LoopPoles(until, assembly.loop.period, assembly.loop.dt, not_known=str(error))
    return poles_here(assembly, finer=finer, probing=probing)


def poles_here(
    assembly: Assembly, *, finer: bool = True, probing: bool = True, state: LoopState | None = None
) -> LoopPoles:
    """The poles of a run that stands between two control ticks, and is left there; see `poles`.

    `state` is that of the assembly, where it is known already.
    """
    L = assembly.loop
    known: dict[str, Any] = {"period": L.period, "timestep": L.dt, "joint_names": tuple(assembly.run.robot.dof_names)}
    try:
        state = LoopState(assembly) if state is None else state
        start, memories = state.words.save(), state.memory.saved()
        try:
            with held(assembly) as told:
                fill_lines(assembly, state)
                known |= {"time": L.step * L.dt, "held": told}
                return _poles_now(assembly, state, known, finer=finer, probing=probing)
        finally:
            state.words.restore(start)
            state.memory.restore(memories)
    except PalpateError as error:
        return LoopPoles(**{"time": L.step * L.dt, **known}, not_known=str(error))


def _until(assembly: Assembly, tick: int) -> Assembly:
    """A run at a control tick; at the last one it makes, where it ends sooner."""
    while not run_until(assembly, tick):
        L = assembly.loop
        if L.step < L.ratio:
            raise InvalidInput("the run ends at its first tick")
        assembly, tick = assemble(assembly.run), L.step // L.ratio - 1
    return assembly


def run_until(assembly: Assembly, tick: int) -> bool:
    """Run up to a control tick; False where the run ends before it."""
    L, ending = assembly.loop, Ending(S.RUNNING)
    step, stride = stepper(assembly, ending), L.stride
    L.stride = 2**62  # nothing is recorded
    try:
        while L.tick_count < tick:
            ticks = fill_targets(assembly, min(max(1, BATCH // L.ratio), tick - L.tick_count), ending)
            ticks = min(ticks, tick - L.tick_count)
            goal = L.step + ticks * L.ratio
            while L.step < goal and ending.status == S.RUNNING:
                ending.status = step(goal - L.step)
            if ending.status != S.RUNNING or ticks == 0:
                return False
    finally:
        L.stride, L.recorded = stride, 0
    return True


def fill_lines(assembly: Assembly, state: LoopState) -> None:
    """Go on until every delay line holds samples of the motion alone."""
    if state.lacking > 0:
        _go_on(assembly, state.lacking)


def _go_on(assembly: Assembly, ticks: int) -> None:
    """Some more control ticks, beyond the end of the run too."""
    L, ending = assembly.loop, Ending(S.RUNNING)
    step, left = stepper(assembly, ending), ticks
    while left > 0:
        now = min(left, len(L.targets))
        sample_targets(assembly, now)
        goal = L.step + now * L.ratio
        while L.step < goal and ending.status == S.RUNNING:
            ending.status = step(goal - L.step)
        if ending.status != S.RUNNING:
            raise InvalidInput(f"the run ends at {L.step * L.dt:.6g} s")
        left -= now


def sample_targets(assembly: Assembly, ticks: int) -> None:
    """Targets of the next control ticks, where the loop does not hold them already."""
    L, run = assembly.loop, assembly.run
    first, last = assembly.sampled_span
    if assembly.sampled is run.reference and L.first_target == first <= L.tick_count <= last - ticks:
        return
    if L.tick_count > run.clock.steps // L.ratio:  # past the end the last target stays
        L.targets[:ticks] = np.array(L.targets[max(L.tick_count - 1 - L.first_target, 0)])
        L.first_target, assembly.sampled = L.tick_count, None
        return
    times = (L.tick_count + np.arange(ticks)) * L.period
    L.targets[:ticks] = run.reference.sample(times, run.robot, run.start()[0])
    L.first_target = L.tick_count
    assembly.sampled = None


def _poles_now(assembly: Assembly, state: LoopState, known: dict[str, Any], *, finer: bool, probing: bool) -> LoopPoles:
    L, ticks = assembly.loop, window(assembly)
    start, memories = state.words.save(), state.memory.saved()
    maps = _maps(assembly, state, ticks, probing=probing)
    near = nearly_sliding(assembly)
    if not any(m.kink is not None for m in maps):
        near = {name: contact for name, contact in near.items() if creeps(contact)}
    if near:
        state.words.restore(start)
        state.memory.restore(memories)
        for contact in near.values():
            contact.slip[:] *= _WITHIN
        start = state.words.save()
        maps = _maps(assembly, state, ticks, probing=probing)
        known = {
            **known,
            "held": (*known["held"], *(f"the friction of {name}, just within its limit" for name in near)),
        }
    limits, contact, sticking = _limits(assembly), _contact_states(assembly), _sticking(assembly)
    kink = next((m.kink for m in maps if m.kink is not None), None)
    reduced = reduce_map(_product(maps), state.names, sticking)
    largest = math.nan
    if finer and kink is None and ticks <= _LONGEST:
        state.words.restore(start)
        state.memory.restore(memories)
        with finer_steps(assembly, _FINER):
            short = _maps(assembly, state, ticks, probing=False)
        of_short = reduce_map(_product(short), state.names, sticking).poles
        largest = float(abs(of_short[0])) ** (1.0 / ticks) if len(of_short) else 0.0
    return LoopPoles(
        **known,
        ticks=ticks,
        poles=reduced.poles,
        A=reduced.whole,
        B=maps[0].B[:, :WRENCH],
        C=maps[0].C,
        states=state.names,
        neutral=reduced.neutral,
        limits=limits,
        saturated=bool(L.guard_bits & (S.TORQUE_LIMITED | S.RATE_LIMITED)),
        contact=contact,
        not_differentiable=kink,
        finer=largest,
        _reduced=reduced,
        _joint_states=tuple(tuple(int(k) for k in places) for places in assembly.plant.places()),
    )


def _maps(assembly: Assembly, state: LoopState, ticks: int, *, probing: bool) -> list[TickMap]:
    """The maps of the next control ticks."""
    maps, L = [], assembly.loop
    for k in range(ticks):
        if k % len(L.targets) == 0:
            sample_targets(assembly, min(ticks - k, len(L.targets)))
        maps.append(state.differentiate(WRENCH if probing and k == 0 else 0))
    return maps


def _product(maps: list[TickMap]) -> Array:
    A = maps[0].A
    for later in maps[1:]:
        A = later.A @ A
    return A


def window(assembly: Assembly) -> int:
    """Control ticks after which the loop repeats itself; some, where it does so by chance only."""
    L, camera, d = assembly.loop, assembly.loop.camera, assembly.loop.drives
    ticks = 1
    if camera.body >= 0 and not camera.ideal:
        per_picture = camera.interval / L.period
        whole = (k for k in range(1, _LONGEST) if abs(k * per_picture - round(k * per_picture)) < 1e-6)
        ticks = min(round(next(whole, 1) * per_picture), _LONGEST)
        ticks *= math.ceil(_NOISY / ticks) if camera.noise > 0.0 else 1
    random = d.loss > 0.0 or d.jitter > 0.0 or any(f.share < 1.0 for f in L.faults)
    return max(ticks, _WINDOW) if random else ticks


def _limits(assembly: Assembly) -> tuple[str, ...]:
    """Limits and guards at work in the tick just made."""
    from palpate.control.guards import GUARD_NAMES

    L, d, names = assembly.loop, assembly.loop.drives, assembly.run.robot.dof_names
    limits = []
    if d.limit_torque and L.guard_bits & S.TORQUE_LIMITED:
        beyond = [n for n, t, most in zip(names, d.torque, d.torque_limit) if 0.0 <= most < abs(t)]
        limits += [f"{name}'s torque limit" for name in beyond]
    if L.guard_bits & S.RATE_LIMITED:
        limits.append("a rate limit of the driver")
    return (*limits, *(words for bit, words in GUARD_NAMES.items() if L.guard_bits & bit))


def _contact_states(assembly: Assembly) -> dict[str, str]:
    """Whether each compliant contact is free, sticks or slides, and whether the robot presses on rigid surfaces."""
    pairs = zip(contact_names(assembly), assembly.loop.contacts)
    states = {name: contact_state(contact) for name, contact in pairs if contact.surface.compliant}
    rigid = [surface.name for surface in assembly.plant.surfaces if surface.contact == "rigid"]
    readings = [one.reading for one in assembly.loop.rigid if not one.distance and not one.felt]
    pressed = any(np.any(reading[1:4]) for reading in readings)
    return states | ({" or ".join(rigid): "presses" if pressed else "free"} if rigid else {})


def _sticking(assembly: Assembly) -> int:
    """Directions along which the foot of a friction spring stands still: two for each contact that sticks."""
    compliant = [c for c in assembly.loop.contacts if c.surface.compliant and c.surface.tangential_stiffness > 0.0]
    return 2 * sum(contact_state(c) == "sticks" for c in compliant)

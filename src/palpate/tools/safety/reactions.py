"""`[reactions]` of a scenario: observer, threshold, reaction, tank, passivity controller and barriers."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from palpate.checks import Array
from palpate.config import setting
from palpate.control.around import Around, Surroundings
from palpate.control.commands import COMMANDS
from palpate.control.law import Law
from palpate.control.shown import Shown
from palpate.control.steps.linear_algebra import cholesky, cholesky_solve
from palpate.control.tick import Tick
from palpate.engine.kernels import clear, kernel, put
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.errors import InvalidInput
from palpate.tools.safety.barriers import (
    BarrierMemory,
    Barriers,
    BarrierSettings,
    barrier_memory,
    conflicts_of,
    hold_limits,
    passed_of,
)
from palpate.tools.safety.energy import (
    EnergyMemory,
    EnergySettings,
    Passivity,
    Tank,
    brake_excess,
    keep_book,
    slow_set_points,
    turn_valve,
)
from palpate.tools.safety.observer import Observer, ObserverMemory, ObserverSettings, observe
from palpate.tools.safety.reaction import (
    POSITION,
    REACTIONS,
    VELOCITY,
    ReactionMemory,
    ReactionSettings,
    react,
    react_by_set_points,
    take_note,
)
from palpate.tools.safety.thresholds import Threshold, ThresholdMemory, ThresholdSettings, judge
from palpate.tools.safety.wrench import WrenchMemory, estimate_wrench

ACCELERATION = COMMANDS.index("acceleration")
_WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")
_WRENCH_UNITS = ("N",) * 3 + ("N·m",) * 3


class ReactionsSettings(Record):
    """Everything that stands around the law."""

    command: int = 0  # of the law, by its index in COMMANDS
    singular: float = 0.05  # m
    observer: ObserverSettings
    threshold: ThresholdSettings
    reaction: ReactionSettings
    energy: EnergySettings
    barriers: BarrierSettings


class ReactionsMemory(Record):
    """Memory that it carries from tick to tick."""

    observer: ObserverMemory
    threshold: ThresholdMemory
    wrench: WrenchMemory
    reaction: ReactionMemory
    energy: EnergyMemory
    barriers: BarrierMemory
    torque: Vector = sized("nv")  # scratch
    L: Matrix = sized("nv", "nv")


@kernel
def before(x: Tick, k: ReactionsSettings, m: ReactionsMemory) -> None:
    """Feel and judge; keep the energy book."""
    observe(x, k.observer, m.observer)
    felt = judge(x, k.threshold, m.observer, m.threshold)
    estimate_wrench(x, m.observer.residual, k.singular, m.wrench)
    take_note(x, k.reaction, m.reaction, felt, m.threshold.ratio, m.threshold.joint)
    if k.energy.book:
        keep_book(x, k.energy, m.energy)


@kernel
def after(x: Tick, k: ReactionsSettings, m: ReactionsMemory, command: Vector, change: Vector) -> None:
    """The change of the law's command: valve and brake, reaction, barriers, in this order."""
    clear(change)
    put(m.torque, 0, command)
    residual = m.observer.residual
    if k.command >= VELOCITY:
        slowed = k.energy.tank and slow_set_points(x, k.energy, m.energy, k.command == POSITION, m.torque)
        if react_by_set_points(x, k.reaction, m.reaction, residual, m.torque) or slowed:
            _write_change(m.torque, command, change)
        return
    if k.command == ACCELERATION:
        _torque_of(x, command, m.torque)
    m.energy.brake = 0.0
    if k.energy.tank:
        turn_valve(x, k.energy, m.energy, m.torque)
    if k.energy.brake:
        brake_excess(x, k.energy, m.energy, m.energy.work - k.energy.budget, m.torque)
    changed = m.energy.valve < 1.0 or m.energy.brake > 0.0
    changed = react(x, k.reaction, m.reaction, residual, m.torque) or changed
    if k.barriers.on:
        changed = hold_limits(x, k.barriers, m.barriers, m.torque) or changed
    if not changed:
        return
    if k.command == ACCELERATION:
        _acceleration_of(x, m)
    _write_change(m.torque, command, change)


@kernel(inline=True)
def _write_change(wanted: Vector, command: Vector, change: Vector) -> None:
    for i in range(change.size):
        change[i] = wanted[i] - command[i]


@kernel
def _torque_of(x: Tick, a: Vector, torque: Vector) -> None:
    """τ = M̂ a + b̂."""
    for i in range(a.size):
        torque[i] = x.bias[i]
        for j in range(a.size):
            torque[i] += x.M[i, j] * a[j]


@kernel
def _acceleration_of(x: Tick, m: ReactionsMemory) -> None:
    """a = M̂⁻¹ (τ − b̂), in place of the torque."""
    n = x.v.size
    for i in range(n):
        put(m.L[i], 0, x.M[i])
        m.torque[i] -= x.bias[i]
    if cholesky(m.L, n):
        cholesky_solve(m.L, n, m.torque)


class Reactions(Around):
    """Reactions around the law: a contact is felt from joint torques, judged, and answered.

    Force and torque limits that a law cannot see are held by `barriers`; energy by `tank` and `passivity`.
    """

    before: ClassVar = before
    after: ClassVar = after

    on_contact: Literal["nothing", "stop", "float", "retract", "soften"] = setting(
        "stop", "1", "what happens once a contact is felt"
    )
    observer: Observer = setting(Observer(), "1", "how external torques are observed")
    threshold: Threshold = setting(Threshold(), "1", "when a residual counts as a contact")
    ignore: float = setting(0.0, "s", "time at the start during which nothing counts as a contact", ge=0)
    resume_after: float | None = setting(None, "s", "time without a contact after which the law goes on; never if none")
    release: float = setting(0.5, "1", "share of the threshold below which a contact has ended", gt=0, le=1)
    blend: float = setting(0.2, "s", "time in which the law takes over again", gt=0)
    stop_frequency: float = setting(20.0, "rad/s", "ω of the posture that a stop holds", gt=0)
    float_damping: float = setting(2.0, "1/s", "c of a floating arm, a = −c v", ge=0)
    retract_speed: float = setting(0.1, "m/s", "speed of the tool on a retreat", gt=0)
    retract_distance: float = setting(0.05, "m", "length of the retreat at the tool", gt=0)
    soften_share: float = setting(0.1, "1", "share of the law's stiffness that is left", gt=0, le=1)
    torque_share: float = setting(0.9, "1", "share of the torque limits that a stop may use", gt=0, le=1)
    singular_value: float = setting(0.05, "m", "singular value below which the estimated wrench is damped", ge=0)
    tank: Tank | None = setting(None, "1", "an energy tank around the law; none if not given")
    passivity: Passivity | None = setting(None, "1", "a passivity controller around the law; none if not given")
    barriers: Barriers | None = setting(None, "1", "limits kept by the least change of the torque; none if not given")

    def settings(self, around: Surroundings) -> ReactionsSettings:
        """The numbers for the loop, checked against robot and law."""
        robot, period = around.robot, around.start.period
        if robot.nq != robot.nv or robot.unresisted:
            raise InvalidInput(
                f"reactions need a fixed base, single-axis joints and masses; {robot.name} does not have them",
                hint="leave [reactions] out",
            )
        self._refuse_misfit(around)
        object.__setattr__(self, "_barrier_names", None if self.barriers is None else self.barriers.names(robot))
        observer = self.observer.settings(robot, period)
        barriers = BarrierSettings({"nv": robot.nv})
        return ReactionsSettings(
            command=COMMANDS.index(around.command),
            singular=self.singular_value,
            observer=observer,
            threshold=self.threshold.settings(robot, observer.coulomb, self.ignore),
            reaction=self._reaction(around),
            energy=self._energy(around),
            barriers=barriers if self.barriers is None else self.barriers.settings(robot, around.rig.delay, period),
        )

    def _refuse_misfit(self, around: Surroundings) -> None:
        """Refuse what a law of this kind cannot be asked for."""
        law, command = around.bound.name, around.command
        if command in ("velocity", "position"):
            asked = [name for name in ("passivity", "barriers") if getattr(self, name) is not None]
            asked += [f'on_contact = "{self.on_contact}"'] if self.on_contact in ("float", "soften") else []
            if asked:
                raise InvalidInput(
                    f"reactions: {', '.join(asked)} needs a law of torques; {law!r} commands a {command}",
                    hint='on_contact = "stop" or "retract", and a tank, work with set points',
                )
        if self.on_contact == "soften" and self._spring(around) is None:
            raise InvalidInput(
                f'reactions: on_contact = "soften" needs a law with a stiffness at the tool; {law!r} has none',
                hint="use cartesian-impedance, or another reaction",
            )

    def _spring(self, around: Surroundings) -> tuple[Array, Array] | None:
        """K and D where the law reads them; none of a law in plain Python, or of one with a schedule."""
        law = around.law
        if not isinstance(law, Law) or not around.bound.compiled or getattr(law, "schedule", ()):
            return None
        return law.traits.spring_damper(around.bound.gains)

    def _reaction(self, around: Surroundings) -> ReactionSettings:
        limits = around.robot.limits
        return ReactionSettings(
            kind=REACTIONS.index(self.on_contact),
            command=COMMANDS.index(around.command),
            ignore=self.ignore,
            resume_after=math.inf if self.resume_after is None else self.resume_after,
            release=self.release,
            blend=self.blend,
            frequency=self.stop_frequency,
            floating=self.float_damping,
            speed=self.retract_speed,
            distance=self.retract_distance,
            share=self.soften_share,
            most_brake=_most_brake(around),
            torque=np.where(np.isfinite(limits.torque), self.torque_share * limits.torque, 1e9),
            rate=limits.torque_rate,
            rated=np.where(np.isfinite(limits.velocity), limits.velocity, 1e3),
        )

    def _energy(self, around: Surroundings) -> EnergySettings:
        tank, brake, at_tool = self.tank, self.passivity, around.command in ("velocity", "position")
        if tank is not None and not tank.floor <= tank.start <= tank.most:
            raise InvalidInput(
                f"reactions.tank: floor {tank.floor:g} J ≤ start {tank.start:g} J ≤ most {tank.most:g} J must hold"
            )
        return EnergySettings(
            book=True,
            tank=tank is not None,
            delay=around.rig.delay,
            at_tool=at_tool,
            **({} if tank is None else tank.settings(at_tool)),
            brake=brake is not None,
            budget=0.0 if brake is None else brake.budget,
            most_brake=_most_brake(around),
        )

    def memory(self, around: Surroundings) -> ReactionsMemory:
        """Fresh memory; where a spring is softened it holds the law's own K and D."""
        n, spring = around.robot.nv, self._spring(around) if self.on_contact == "soften" else None
        sizes = {"nq": around.robot.nq, "nv": n, "axes": 0 if spring is None else 6}
        matrices: dict[str, Array] = {}
        if spring is not None:
            matrices = {"K": spring[0], "D": spring[1], "K_law": spring[0].copy(), "D_law": spring[1].copy()}
        walls = 0 if self.barriers is None else len(self.barriers.walls)
        return ReactionsMemory(
            sizes,
            reaction=ReactionMemory(sizes, **matrices),
            barriers=barrier_memory(n if self.barriers is not None else 0, around.rig.delay, walls),
        )

    def shows(self, around: Surroundings) -> tuple[Shown, ...]:
        """Residual, threshold, wrench and mode; energy and barriers where they are on."""
        joints = around.robot.dof_names
        units = tuple("N" if unit == "m" else "N·m" for unit in around.robot.dof_units)
        frame = "world, about the tool's origin"
        shown = [
            Shown("reaction.residual", "observer.residual", units, joints, help="observed external torque"),
            Shown("reaction.threshold", "threshold.threshold", units, joints, help="residual that counts as a contact"),
            Shown("reaction.wrench", "wrench.wrench", _WRENCH_UNITS, _WRENCH, frame, "wrench behind the residual"),
            Shown("reaction.ratio", "threshold.ratio", help="largest residual over its threshold"),
            Shown("reaction.mode", "reaction.mode", help="0 the law, 1 reaction, 2 the law takes over again"),
            Shown("reaction.joint", "reaction.link", help="joint of the touched link, counted from 0; -1: none"),
            Shown(
                "reaction.work", "energy.work", "J", help="work of the law on the arm since the start, without gravity"
            ),
        ]
        if self.tank is not None:
            shown.append(Shown("reaction.tank", "energy.tank", "J", help="energy in the tank"))
            shown.append(Shown("reaction.flow", "energy.flow", "W", help="power out of the tank"))
            shown.append(
                Shown("reaction.valve", "energy.valve", help="share of the law's command that the valve lets through")
            )
        if self.passivity is not None or self.tank is not None:
            shown.append(
                Shown("reaction.brake", "energy.brake", "1/s", help="damping rate of tank and passivity controller")
            )
        if self.barriers is not None:
            shown.append(Shown("reaction.barriers", "barriers.active", help="number of barriers at work"))
        return tuple(shown)

    def remarks(self, memory: ReactionsMemory) -> list[str]:
        """When a contact was felt, and what valve and barriers did."""
        return _sentences(self, memory)

    def alarms(self, memory: ReactionsMemory) -> list[str]:
        """Barriers that excluded each other, and limits that were passed."""
        m, lines = memory.barriers, []
        rows = [f"row {k}" for k in range(len(m.conflicts))] if self._names is None else self._names
        if np.any(m.conflicts) or m.failed:
            failed = f"; no answer was found at {m.failed} ticks" if m.failed else ""
            lines.append(
                f"reactions: barriers excluded each other and were widened by up to {m.widened:.3g} of their widths:"
                f" {', '.join(conflicts_of(m, rows)) or 'none named'}{failed}"
            )
        if passed := passed_of(m, rows):
            cut = f"; the driver's torque rates cut their torque at {m.cut} ticks" if m.cut else ""
            lines.append(f"reactions: barriers were passed: {', '.join(passed)} (rad or m){cut}")
        return lines

    @property
    def _names(self) -> list[str] | None:
        return self.__dict__.get("_barrier_names")


def _most_brake(around: Surroundings) -> float:
    """1/s: 1 / (2 T (1 + delay)), a brake a = −λ v that a sampled, late loop keeps without swinging."""
    return 0.5 / (around.start.period * (1 + around.rig.delay))


def _sentences(settings: Reactions, m: ReactionsMemory) -> list[str]:
    r, lines = m.reaction, []
    if r.contacts:
        more = f"; {r.contacts} contacts in all" if r.contacts > 1 else ""
        lines.append(
            f"reactions: a contact was felt at {r.first_time:.4g} s on the link of joint {r.first_joint + 1};"
            f" reaction: {settings.on_contact}{more}"
        )
    if m.energy.closed:
        lines.append(
            f"reactions: the tank's valve was at work at {m.energy.closed} ticks; least energy {m.energy.least:.3g} J"
        )
    if m.energy.braked > 0.0:
        lines.append(f"reactions: {m.energy.braked:.3g} J were braked away")
    if m.barriers.changed:
        lines.append(f"reactions: barriers bent the law's torque at {m.barriers.changed} ticks")
    return lines

"""Facts of a run beside its numbers: typed, and plain data in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from palpate.errors import InvalidInput, check_names
from palpate.trace.plain_data import plain


@dataclass(frozen=True)
class RunFacts:
    """Facts of a run beside its numbers.

    Attributes:
        scenario: the file behind it, as data; None for a run put together in Python.
        robot, law: their names.
        terms: names of the law's terms.
        follows: whose target the law follows, "tool", "joints" or "nothing"; None for both, or if it is not known.
        figure: what the law says is to be seen first; None for contact force or errors.
        seed: of the noise.
        duration, timestep, period: s.
        integrator: of the physics.
        physics: what moved the plant: "equations", "engine", "exact" or "servos" (a robot whose masses are unknown).
        engine_steps: physics steps that the equations left to the engine, at joint stops.
        stride: physics steps between samples.
        versions: of everything that shapes a trace.
        warnings: what should be looked at before the numbers are believed.
        expected: what was predicted before the run, and how its contact went.
        remarks: what the law did that its reader should know.
        notes: those remarks that say that something probably was not meant: a reference that the law does not read, a
            surface that was never touched.
        assumptions: what was taken for granted.
        guard_ticks: physics steps at which each guard was at work.
        torque_limit: per joint, None where there is none.
        contact_events: of exact contact: what, which contact, when, where, the mode before and after, details.
        joint_watch: the longest that a joint was past its stop, `stop_time` (s), how far, `stop_excess` (rad or m), the
            largest joint speed as a share of its rating, `speed_share`, and the longest beyond it, `speed_time` (s);
            empty where joints have no ranges.
        edge: how near the edge of stability the loop was at the end of the run: the `largest` |λ| of its poles per
            control tick, whether it is `stable` (None where that is not known), the `rate` (1/s) at which the slowest
            error dies out, its `frequency` (Hz) and the `joint` that moves most with it; empty where it is not known.
        world: its settings, as data.
        scene: its bodies, for the replay.
        singularity: how close the arm came to a singular posture.
        law_text: the law's own account: equation, closed loop, what it assumes.
        gains: each setting of the law: its key, value, unit, help, and whether it is the default.
        computed: numbers that the law computed from its settings before the run: name, value, unit, help.
        changed: those settings of the scenario that are not the defaults, as data.
    """

    scenario: dict[str, Any] | None = None
    robot: str | None = None
    law: str | None = None
    terms: tuple[str, ...] = ()
    follows: str | None = None
    figure: str | None = None
    seed: int | None = None
    duration: float | None = None
    timestep: float | None = None
    period: float | None = None
    integrator: str | None = None
    physics: str | None = None
    engine_steps: int = 0
    stride: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    guard_ticks: dict[str, int] = field(default_factory=dict)
    torque_limit: tuple[float | None, ...] = ()
    contact_events: list[dict[str, Any]] = field(default_factory=list)
    joint_watch: dict[str, float] = field(default_factory=dict)
    edge: dict[str, Any] = field(default_factory=dict)
    world: dict[str, Any] = field(default_factory=dict)
    scene: list[dict[str, Any]] = field(default_factory=list)
    singularity: dict[str, Any] | None = None
    law_text: str = ""
    gains: list[dict[str, Any]] = field(default_factory=list)
    computed: list[dict[str, Any]] = field(default_factory=list)
    changed: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        values = vars(self)
        for name in _TUPLES:
            if (value := values[name]) == ():  # as most of a sweep's are
                continue
            if not isinstance(value, list | tuple):
                raise InvalidInput(f"facts.{name} must be a list, got {value!r}")
            object.__setattr__(self, name, tuple(plain(value, f"facts.{name}")) if value else ())
        for name in _PLAIN:
            if value := values[name]:
                object.__setattr__(self, name, plain(value, f"facts.{name}"))

    @classmethod
    def over(cls, **known: Any) -> Self:
        """Some facts, taken as they are and not validated; the others are not known."""
        facts = cls.__new__(cls)
        vars(facts).update(_UNKNOWN, **known)
        return facts

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Facts from plain data.

        Raises:
            UnknownName: an unknown fact.
        """
        data = {_FORMER.get(name, name): value for name, value in data.items()}
        check_names("fact", data, _KINDS)
        return cls(**data)

    def as_data(self) -> dict[str, Any]:
        """Plain data that `from_data` reads back."""
        return plain(asdict(self), "facts")


_FORMER = {"handed": "engine_steps"}  # names in traces of before
_KINDS = {each.name: str(each.type) for each in fields(RunFacts)}
_TUPLES = [name for name, kind in _KINDS.items() if kind.startswith("tuple")]
_PLAIN = [name for name, kind in _KINDS.items() if kind.startswith(("dict", "list"))]
_UNKNOWN = vars(RunFacts())

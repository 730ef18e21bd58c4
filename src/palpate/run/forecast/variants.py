"""The same run with other numbers: later, stiffer, softer, pushed; assembled once, and changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.law import Law
from palpate.run.assemble.assemble import Assembly, assemble, suited
from palpate.run.assemble.renew import Renewable
from palpate.run.run import Run
from palpate.world.config import Push
from palpate.world.plants.plant import dry_friction

_GAIN_UNITS = ("N/m", "N·s/m", "N·m/rad", "N·m·s/rad", "1/s", "1/s²")
_GAIN_NAMES = ("proportional", "damping_ratio", "frequency")  # gains without such a unit
_PUSH_TIME = 0.05  # s
_BREAKAWAY = 2.0  # times the dry friction, of the torques of a push
_LEAST_TORQUE = 1.0  # N·m or N, of a push on joints that have none
_MOST_FORCE = 60.0  # N


class Variants:
    """Runs of one structure, each made ready in turn.

    Attributes:
        base: the run as it is, with everything chosen that its settings leave open.
        end: s, where its own duration ends; it is prepared for some seconds more, `after`.
        moving: whether its reference still moves then.
        standing: an assembly of it that stands at its end, for whoever asks there.
    """

    def __init__(self, run: Run, after: float) -> None:
        """Take a run, and how many seconds may be run beyond its end."""
        self.end, self.after = run.clock.duration, after
        self.base = suited(replace(run, clock=run.clock.model_copy(update={"duration": run.clock.duration + after})))
        self.moving = moves_on(self.base, self.end, after)
        self.standing: Assembly | None = None
        self._kept: Renewable | None = None

    def ready(self, run: Run) -> Assembly:
        """A run of the same clock, ready to start.

        Raises:
            PalpateError: it is refused.
        """
        if self._kept is not None and self._kept.renew(run):
            return self._kept.assembly
        if self._kept is None:
            self._kept = Renewable(run)
            return self._kept.assembly
        return assemble(run)


@dataclass(frozen=True)
class Setting:
    """A number that is varied: what it is called, its present value, and the run with another one.

    Attributes:
        key: as `--set` takes it.
        value: of the run as it is; of a list, 1, and the factor is what is varied.
        unit: of the value.
        whole: whether it counts control ticks.
        surface: whose number it is; empty for others.
    """

    key: str
    value: float
    unit: str
    whole: bool = False
    surface: str = ""

    def at(self, run: Run, value: float) -> Run:
        """The run with another value."""
        if self.whole:
            return _late(run, round(value))
        if self.surface:
            surfaces = tuple(
                s.model_copy(update={"stiffness": value}) if s.name == self.surface else s for s in run.world.surfaces
            )
            return _with_world(run, surfaces=surfaces)
        name = self.key.removeprefix("control.")
        law: Any = run.law
        return replace(run, law=law.model_copy(update={name: _scaled(getattr(law, name), value)}))


def settings_of(run: Run) -> list[Setting]:
    """Settings whose limits are searched for: delay of the command, stiffness of each surface, gains of the law."""
    period = run.clock.control_period
    late = Setting("world.driver.delay", float(run.world.driver.delay), f"ticks of {1e3 * period:g} ms", whole=True)
    walls = [
        Setting(f"world.surfaces.{s.name}.stiffness", s.stiffness, "N/m", surface=s.name)
        for s in run.world.surfaces
        if s.contact == "compliant"
    ]
    return [late, *walls, *(Setting(f"control.{name}", 1.0, "× the present one") for name in gains_of(run))]


def gains_of(run: Run) -> list[str]:
    """The law's settings that are gains, by their unit, and that are numbers other than 0."""
    law = run.law
    if not isinstance(law, Law):
        return []
    names = []
    for name, field in type(law).model_fields.items():
        extra: Any = field.json_schema_extra
        units = set(str((extra or {}).get("unit", "1")).replace(" or ", ", ").split(", "))
        gain = bool(units) and (units <= set(_GAIN_UNITS) or name in _GAIN_NAMES)
        names += [name] if gain and _is_number(getattr(law, name)) else []
    return [name for name in names if name != "damping_ratio" or not _is_number(getattr(law, "damping", None))]


def calmer(run: Run) -> Iterator[tuple[str, Run]]:
    """The run with less delay, then also with less gain: in words, and itself."""
    sensors = run.world.sensors
    wrist = sensors.wrench.model_copy(update={"delay": 0})
    world = run.world.model_copy(
        update={
            "driver": run.world.driver.model_copy(update={"delay": 0}),
            "sensors": sensors.model_copy(update={"delay": 0, "wrench": wrist}),
        }
    )
    prompt = replace(run, world=world)
    if run.world.driver.delay or sensors.delay or sensors.wrench.delay:
        yield "without delay", prompt
    for share in (0.5, 0.2):
        law: Any = run.law
        changes = {name: _scaled(getattr(law, name), share) for name in gains_of(run)}
        if changes:
            yield f"without delay and with gains × {share:g}", replace(prompt, law=law.model_copy(update=changes))


def pushed(run: Run, at: float, share: float = 1.0) -> Run:
    """The run with a push on the tool from a time on, in place of its own pushes that come later.

    For 50 ms its joint torques are about twice the dry friction, at least 1 N·m, with at most 60 N; or a share of it.
    """
    friction = dry_friction(run.robot, run.world)
    J = run.robot.jacobian(run.start()[0])
    wrench: Array = np.linalg.pinv(J.T) @ np.maximum(_BREAKAWAY * friction, _LEAST_TORQUE)
    size = float(np.linalg.norm(wrench[:3]))
    wrench *= share * (min(1.0, _MOST_FORCE / size) if size > 0.0 else 1.0)
    push = Push(name="push of design", force=tuple(wrench[:3]), torque=tuple(wrench[3:]), start=at, duration=_PUSH_TIME)
    return _with_world(run, pushes=(*(p for p in run.world.pushes if p.start < at), push))


def moves_on(run: Run, end: float, after: float) -> bool:
    """Whether the reference still moves from a time on, for some seconds."""
    rows = np.asarray(run.reference.sample(np.linspace(end, end + after, 5), run.robot, run.start()[0]))
    return bool(np.abs(rows - rows[0]).max(initial=0.0) > 1e-9)


def _with_world(run: Run, **changes: Any) -> Run:
    return replace(run, world=run.world.model_copy(update=changes))


def _late(run: Run, ticks: int) -> Run:
    return _with_world(run, driver=run.world.driver.model_copy(update={"delay": ticks}))


def _is_number(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return bool(value) and all(_is_number(x) or x == 0.0 for x in value) and any(map(_is_number, value))
    return isinstance(value, float) and value != 0.0


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_scaled(x, factor) for x in value)
    return factor * value

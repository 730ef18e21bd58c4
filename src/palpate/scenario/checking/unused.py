"""Settings that were given and that nothing will read, each with what makes it so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from palpate.config import Config
from palpate.scenario.model import Scenario

Unused = tuple[tuple[str, ...], Callable[[Any], bool], str]
_COMPLIANT = ("stiffness", "damping", "model", "dissipation", "exponent", "tangential_stiffness", "tangential_damping")
# Keys, when they are not read, and why.
_DAMPED = "damping is given (control.damping= removes it)"
_OF_LAW: tuple[Unused, ...] = ((("damping_ratio",), lambda law: getattr(law, "damping", None) is not None, _DAMPED),)
_OF_SURFACE: tuple[Unused, ...] = (
    (_COMPLIANT, lambda s: s.contact != "compliant", "the contact is not compliant"),
    (("dissipation", "exponent"), lambda s: s.model == "kelvin-voigt", 'model is "kelvin-voigt"'),
    (("damping",), lambda s: s.model == "hunt-crossley", 'model is "hunt-crossley"; dissipation is its damping'),
    (("tangential_stiffness", "tangential_damping"), lambda s: s.friction == 0, "friction is 0"),
)
_OF_PUSH: tuple[Unused, ...] = (
    (("frequency",), lambda push: push.kind != "sine", 'kind is not "sine"'),
    (("duration",), lambda push: push.kind == "impulse", "an impulse lasts one physics step"),
)
_OF_FAULT: tuple[Unused, ...] = ((("share",), lambda fault: fault.what != "commands-lost", "no command is lost"),)


def unused_settings(scenario: Scenario) -> list[str]:
    """A sentence for each setting that differs from its default and is not read in this scenario."""
    world = scenario.world
    of_law = tuple(((key,), lambda _: True, why) for key, why in scenario.control.traits.ignored.items())
    sentences = [*_unused("control", scenario.control, (*_OF_LAW, *of_law))]
    for kind, rules in {"surfaces": _OF_SURFACE, "pushes": _OF_PUSH, "faults": _OF_FAULT}.items():
        for part in getattr(world, kind):
            sentences += _unused(f"world.{kind}.{part.name}", part, rules)
    if world.pole is None and not world.sensors.camera.ideal:
        sentences.append("world.sensors.camera is not used: it watches a pole, and there is none")
    if world.sensors.custom and not scenario.control.reads.sensors:
        names = ", ".join(world.sensors.custom)
        sentences.append(
            f"world.sensors.custom ({names}) is recorded only: {scenario.control.name} reads no seen.values"
        )
    return list(dict.fromkeys(sentences))


def _unused(path: str, part: Config, rules: tuple[Unused, ...]) -> Iterator[str]:
    done: set[str] = set()
    for keys, is_unused, why in rules:
        for key in keys:
            field = type(part).model_fields.get(key)
            if field is None or key in done or getattr(part, key) == field.default or not is_unused(part):
                continue
            done.add(key)
            yield f"{path}.{key} is not used: {why}"

"""Rotor inertias from URDF's `<transmission>` blocks: the joint feels I_rotor · gear², as Drake computes it.

The inertia stands in `<drake:rotor_inertia value="…"/>`, the gear in `<drake:gear_ratio value="…"/>` or, as ROS writes
it, in `<mechanicalReduction>…</mechanicalReduction>`, each below `<actuator>`, below the transmission's `<joint>` or
directly below `<transmission>`. A transmission without a rotor inertia says nothing about the dynamics.
"""

from __future__ import annotations

from collections.abc import Iterable

from palpate.robot.readers.findings import did_you_mean, quoted
from palpate.robot.readers.xmlfile import Element, Report, numbers, parse_number

_ROTOR, _GEARS = "drake:rotor_inertia", ("drake:gear_ratio", "mechanicalReduction")


def rotor_inertias(root: Element, joints: Iterable[str], report: Report) -> dict[str, float]:
    """I_rotor · gear² [kg·m², or kg for a prismatic joint], by joint; several motors of one joint add up."""
    known = set(joints)
    felt: dict[str, float] = {}
    for transmission in root.all("transmission"):
        for name, at in _driven(transmission):
            inertia = _armature(transmission, report)
            if inertia and name not in known:
                hint = did_you_mean(name, known)
                report.error(at, f"drives joint {quoted(name)}", "there is no such joint", hint)
            elif inertia:
                felt[name] = felt.get(name, 0.0) + inertia
    return felt


def _driven(transmission: Element) -> list[tuple[str, Element]]:
    return [(joint.attributes.get("name", ""), joint) for joint in transmission.all("joint")]


def _armature(transmission: Element, report: Report) -> float:
    """The inertia of one transmission, or 0 where it gives none."""
    places = [transmission, *transmission.all("actuator"), *transmission.all("joint")]
    rotor = next((e for parent in places for e in parent.all(_ROTOR)), None)
    if rotor is None:
        return 0.0
    inertia = _value(rotor, report)
    ratios = [e for tag in _GEARS for parent in places for e in parent.all(tag)]
    gear = _value(ratios[0], report) if ratios else 1.0
    if inertia is not None and inertia < 0:
        report.dynamics_error(rotor, f"rotor inertia {inertia:g} kg·m²", "an inertia is not negative")
        return 0.0
    return 0.0 if inertia is None or gear is None else inertia * gear**2


def _value(element: Element, report: Report) -> float | None:
    """The number of an element, in its attribute `value` or as its text."""
    if "value" in element.attributes:
        values = numbers(element, "value", report, 1)
        return values[0] if values else None
    value = parse_number(element.text.strip())
    if value is None or abs(value) == float("inf") or value != value:
        report.error(element, f"<{element.tag}> holds {quoted(element.text.strip())}", "this is not a number")
        return None
    return value

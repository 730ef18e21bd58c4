"""Parts of a reference that a law does not read, known before a run."""

from __future__ import annotations

from typing import Any

from palpate.control.law import Law
from palpate.control.references.reference import ZERO6, Hold, ReferenceSettings
from palpate.control.steps.reach import DIRECTIONS


def unread_of_reference(law: Any, reference: Any) -> list[str]:
    """Sentences on the parts of the reference that the law ignores, and what it does instead.

    Nothing is said of a law in plain Python or of a custom reference: what they read and move is not known.
    An impedance reads no wrench either; its spring presses towards a goal behind the surface, which is its use.
    """
    if not isinstance(law, Law) or not isinstance(reference, ReferenceSettings):
        return []
    wrenches = reference.wanted_wrench.value, reference.wanted_wrench.then or ZERO6
    wanted = [d for d, *values in zip(DIRECTIONS, *wrenches) if any(values)]  # along these at some time
    moved = f"the motion of the reference ({reference.kind})"
    wrench = "the desired wrench (reference.wrench)"
    traits = law.traits
    if traits.follows == "nothing":
        # A position held is what such a run is measured against.
        ignored = [*([] if isinstance(reference, Hold) else [moved]), *([wrench] if wanted else [])]
        return _sentence(law, "follows no target", ignored, "")
    if traits.follows == "joints":
        ignored = [*([moved] if reference.moves == "tool" else []), *([wrench] if wanted else [])]
        instead = "; the joints stay at the start posture" if reference.moves != "joints" else ""
        return _sentence(law, "reads the targets of the joints alone", ignored, instead)
    if not {"position", "q"} & set(law.reads.target):
        ignored = [moved] if reference.moves != "nothing" else []
        return _sentence(law, "reads the desired wrench only", ignored, "") + _uncontrolled(law, reference, wanted)
    if wanted and "wrench" not in law.reads.target and not traits.yields:
        return _sentence(law, "controls motion alone", [wrench], "; the contact force is what the motion makes of it")
    return _uncontrolled(law, reference, wanted)


def _sentence(law: Law, reads: str, ignored: list[str], instead: str) -> list[str]:
    if not ignored:
        return []
    verb = "is" if len(ignored) == 1 else "are"
    return [f"{law.name} {reads}: {' and '.join(ignored)} {verb} ignored{instead}"]


def _uncontrolled(law: Law, reference: ReferenceSettings, wanted: list[str]) -> list[str]:
    """Wanted along a direction in which the law controls no force, where both are along the same axes."""
    forced = law.traits.force_directions
    rotated_axes = getattr(law, "axes_quat_wxyz", (1.0, 0.0, 0.0, 0.0)) != (1.0, 0.0, 0.0, 0.0)
    if forced is None or rotated_axes or getattr(law, "axes", "world") != reference.wrench_axes:
        return []
    ignored = [d for d in wanted if d not in forced]
    if not ignored:
        return []
    return [
        f"{law.name} controls force along {', '.join(forced)} alone: what reference.wrench wants along"
        f" {', '.join(ignored)} is ignored; there the contact force is what the motion makes of it"
    ]

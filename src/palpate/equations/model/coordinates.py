"""Names of coordinates, velocities, accelerations and generalised forces, in the order of the robot's own vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from palpate.equations.model.mechanism import Mechanism

_BASE = (("x", "y", "z", "qw", "qx", "qy", "qz"), ("vx", "vy", "vz", "wx", "wy", "wz"))


@dataclass(frozen=True)
class Coordinates:
    """Names, in order.

    Attributes:
        q: coordinates. A free base comes first: position x, y, z and quaternion qw, qx, qy, qz.
        v: velocities, "dq1" for q̇1; a free base's are vx, vy, vz (world axes) and wx, wy, wz (body axes).
        a: accelerations, "ddq1" for q̈1.
        tau: generalised forces.
        angles: which of q are angles of joints.
    """

    q: tuple[str, ...]
    v: tuple[str, ...]
    a: tuple[str, ...]
    tau: tuple[str, ...]
    angles: tuple[str, ...]

    @property
    def quaternion(self) -> tuple[str, ...]:
        """The names of a free base's quaternion, wxyz; none for a fixed base."""
        return _BASE[0][3:] if _BASE[0][3] in self.q else ()


def coordinates_of(mechanism: Mechanism, renamed: Mapping[str, str]) -> Coordinates:
    """q1 … qn for the joints (mimicking ones left out), renamed as asked."""
    kept = set(range(len(mechanism.links) + 5))
    if mechanism.coupling is not None:
        kept = {int(index) for index in mechanism.coupling.kept}
    base = mechanism.floating
    first = 5 if base else 0  # a free base is one link and six velocities
    joints = [
        (i if base else i + 1, link)
        for i, link in enumerate(mechanism.links)
        if i + first in kept and link.kind != "free"
    ]
    names = [renamed.get(f"q{n}", f"q{n}") for n, _ in joints]
    angles = tuple(name for name, (_, link) in zip(names, joints) if link.kind == "revolute")
    q, v = (list(part) if base else [] for part in _BASE)
    a = [f"d{name}" for name in v]
    tau = [f"f{name[1]}" if name[0] == "v" else f"n{name[1]}" for name in v] + [f"tau{n}" for n, _ in joints]
    return Coordinates(
        (*q, *names), (*v, *(f"d{n}" for n in names)), (*a, *(f"dd{n}" for n in names)), tuple(tau), angles
    )

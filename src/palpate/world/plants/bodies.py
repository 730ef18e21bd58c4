"""Points and wrenches on the bodies of a scene, in compiled code."""

from __future__ import annotations

from palpate.engine.kernels import kernel
from palpate.engine.physics import Physics
from palpate.engine.records import Vector


@kernel
def point_on_body(p: Physics, body: int, offset: Vector, position: Vector) -> None:
    """World position of a point fixed on a body."""
    R = p.xmat[body]
    for i in range(3):
        k = 3 * i
        position[i] = p.xpos[body, i] + R[k] * offset[0] + R[k + 1] * offset[1] + R[k + 2] * offset[2]


@kernel
def velocity_at(p: Physics, body: int, position: Vector, v: Vector) -> None:
    """World velocity of the body's material point at a position, from MuJoCo's com-based velocity [ω; v]."""
    twist, c = p.cvel[body], p.subtree_com[p.body_rootid[body]]
    x, y, z = position[0] - c[0], position[1] - c[1], position[2] - c[2]
    v[0] = twist[3] + twist[1] * z - twist[2] * y
    v[1] = twist[4] + twist[2] * x - twist[0] * z
    v[2] = twist[5] + twist[0] * y - twist[1] * x


@kernel
def add_force(total: Vector, f: Vector, position: Vector, about: Vector) -> None:
    """Add force f acting at a point to a wrench about another point."""
    x, y, z = position[0] - about[0], position[1] - about[1], position[2] - about[2]
    total[0] += f[0]
    total[1] += f[1]
    total[2] += f[2]
    total[3] += y * f[2] - z * f[1]
    total[4] += z * f[0] - x * f[2]
    total[5] += x * f[1] - y * f[0]


@kernel
def add_wrench(total: Vector, f: Vector, n: Vector, position: Vector, about: Vector) -> None:
    """Add force f and moment n acting at a point to a wrench about another point."""
    add_force(total, f, position, about)
    for i in range(3):
        total[3 + i] += n[i]

"""Kinematics in the base frame on symbols: poses of the links, Jacobian and drift of the tool."""

from __future__ import annotations

from dataclasses import dataclass

from palpate.equations.algebra.graph import Node
from palpate.equations.algebra.vectors import cross, minus, plus, times, transposed
from palpate.equations.dynamics.link_motions import LinkMotion, base_rotation, position_in_parent
from palpate.equations.model.chain import Chain, Matrix, Vector, along
from palpate.equations.model.naming import NamedFrame


@dataclass
class LinkPose:
    """A link's frame in the base frame: origin, and axes as columns."""

    origin: Vector
    columns: list[Vector]

    def to_base(self, v: Vector) -> Vector:
        """A vector of the link's frame in base axes."""
        return times(transposed(self.columns), v)


def link_poses(chain: Chain) -> list[LinkPose]:
    """Pose of every link's frame in the base frame."""
    graph = chain.graph
    unit = unit_vectors(chain)
    base = LinkPose([graph.zero] * 3, unit)
    frames: list[LinkPose] = []
    for index, link in enumerate(chain.links):
        if link.kind == "free":
            frames.append(LinkPose(list(chain.q[:3]), transposed(base_rotation(chain))))
            continue
        before = frames[link.parent] if link.parent >= 0 else base
        origin = plus(before.origin, before.to_base(position_in_parent(chain, index)))
        x, y, z = (before.to_base(chain.fixed_to_parent(index, axis)) for axis in unit)
        c, s = link.cos, link.sin
        columns = [[c * a + s * b for a, b in zip(x, y)], [c * b - s * a for a, b in zip(x, y)], z]
        frames.append(LinkPose(origin, columns))
    return frames


def frame_pose(chain: Chain, frames: list[LinkPose], frame: NamedFrame) -> tuple[Vector, Matrix]:
    """Position and rotation matrix of a frame fixed on a link."""
    link = frames[frame.link]
    origin = plus(link.origin, link.to_base(chain.frame_origin(frame)))
    inner = [chain.rotated(frame.rotation, unit) for unit in unit_vectors(chain)]
    return origin, transposed([link.to_base(along(chain.links[frame.link].axes, axis)) for axis in inner])


def unit_vectors(chain: Chain) -> Matrix:
    """The unit vectors along x, y and z."""
    return [[chain.graph.one if i == k else chain.graph.zero for i in range(3)] for k in range(3)]


def jacobian(chain: Chain, frames: list[LinkPose], link: int, point: Vector) -> Matrix:
    """6×n, rows [linear; angular], base axes, at `point` of `link`; columns of joints that do not move it are zero."""
    zero, graph = chain.graph.zero, chain.graph
    columns: list[list[Node]] = []
    ancestors = _ancestors(chain, link)
    for index, k in enumerate(chain.links):
        axes, z = frames[index], frames[index].columns[2]
        arm = minus(point, axes.origin)
        if index not in ancestors:
            columns += [[zero] * 6] * (6 if k.kind == "free" else 1)
        elif k.kind == "free":
            columns += [[graph.one if r == c else zero for r in range(6)] for c in range(3)]
            columns += [[*cross(axis, arm), *axis] for axis in axes.columns]
        else:
            columns.append([*cross(z, arm), *z] if k.kind == "revolute" else [*z, zero, zero, zero])
    return [chain.reduced(row) for row in transposed(columns)]


def _ancestors(chain: Chain, link: int) -> set[int]:
    ancestors = set()
    while link >= 0:
        ancestors.add(link)
        link = chain.links[link].parent
    return ancestors


def drift(chain: Chain, frames: list[LinkPose], moving: list[LinkMotion], frame: NamedFrame) -> list[Node]:
    """J̇ v from motions at v̇ = 0: what is left of the frame's acceleration when gravity is taken out again."""
    motion, link = moving[frame.link], frames[frame.link]
    linear = plus(link.to_base(plus(motion.acc, times(motion.U, chain.frame_origin(frame)))), chain.gravity)
    return [*linear, *link.to_base(motion.dw)]

"""How much inertia each joint has to move, in the robot's zero position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palpate.checks import Array
from palpate.robot.tree import Joint, Link


def axis_inertias(links: Sequence[Link], joints: Sequence[Joint]) -> dict[str, float]:
    """The diagonal of the mass matrix at q = 0, by joint name: aᵀ I a [kg·m²], or the mass moved [kg].

    I is the inertia of everything beyond the joint, about the joint's origin. Links and joints must form a tree.
    """
    moved = _descending(links, joints)
    poses = _poses(links, moved)
    whole = {link.name: _moments(link, *poses[link.name]) for link in links}
    for joint in reversed(moved):
        whole[joint.parent] = whole[joint.parent] + whole[joint.child]
    values: dict[str, float] = {}
    for joint in moved:
        rotation, position = poses[joint.child]
        mass, first, second = whole[joint.child][0], whole[joint.child][1:4], whole[joint.child][4:].reshape(3, 3)
        if joint.kind == "prismatic":
            values[joint.name] = float(mass)
        elif joint.kind in ("revolute", "continuous"):
            about = second - np.outer(first, position) - np.outer(position, first) + mass * np.outer(position, position)
            axis = rotation @ joint.axis
            values[joint.name] = float(np.trace(about) - axis @ about @ axis)
    return values


def _descending(links: Sequence[Link], joints: Sequence[Joint]) -> list[Joint]:
    """The joints, each behind the one its parent link hangs on."""
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    children = {joint.child for joint in joints}
    reached = [link.name for link in links if link.name not in children]
    order: list[Joint] = []
    for name in reached:  # grows while it is walked
        order += below.get(name, [])
        reached += [joint.child for joint in below.get(name, [])]
    return order


def _poses(links: Sequence[Link], order: Sequence[Joint]) -> dict[str, tuple[Array, Array]]:
    poses = {link.name: (np.eye(3), np.zeros(3)) for link in links}
    for joint in order:
        rotation, position = poses[joint.parent]
        poses[joint.child] = rotation @ joint.rotation, position + rotation @ joint.position
    return poses


def _moments(link: Link, rotation: Array, position: Array) -> Array:
    """Mass, m r and ∫ r rᵀ dm about the root's origin, in one row, so that they add up."""
    centre = position + rotation @ link.com
    about_centre = 0.5 * np.trace(link.inertia) * np.eye(3) - rotation @ link.inertia @ rotation.T
    second = about_centre + link.mass * np.outer(centre, centre)
    return np.concatenate([[link.mass], link.mass * centre, second.ravel()])

"""A robot as a tree of moving links: what a derivation needs of it, in numbers, nothing that moves left in one piece.

Bodies that do not move against each other become one link. A body with several joints becomes a row of massless links
and the body. Each link's frame has the body's axes (turned only where the joint's axis is along none of them) and its
origin on the joint's axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.spatial import matrix_from_angle_axis

Kind = Literal["revolute", "prismatic", "free"]
SMALL = 1e-10  # relative to the robot's own lengths: what a file's rounding leaves of an exact zero
_KINDS: dict[int, Kind] = {0: "free", 2: "prismatic", 3: "revolute"}
_BALL = 1


@dataclass(frozen=True)
class MovingLink:
    """One moving link and the joint that carries it.

    Attributes:
        name: of the body, or of the joint for a massless link in between.
        parent: index of the parent link, −1 for the base.
        position, rotation: pose of the link's frame in the parent's at q = 0, m.
        axis: 0, 1 or 2: the joint turns or slides along x, y or z of the link's frame …
        sign: … in this sense, +1 or −1.
        mass, com, inertia: kg; m in the link's frame; kg·m² about the centre of mass, link axes.
        armature: rotor inertia felt at the joint, kg·m² or kg.
    """

    name: str
    joint: str
    kind: Kind
    parent: int
    position: Array
    rotation: Array
    axis: int
    sign: int
    mass: float
    com: Array
    inertia: Array
    armature: float


@dataclass(frozen=True)
class LinkFrame:
    """A frame fixed on a link: index of the link (−1 for the base) and its pose there."""

    link: int
    position: Array
    rotation: Array

    def carried(self, frame: BodyFrame) -> LinkFrame:
        """A frame on the body that stands here."""
        return LinkFrame(self.link, self.position + self.rotation @ frame.offset, self.rotation @ frame.rotation)


class BodyFrame(Protocol):
    """A frame fixed on a body of a model: its origin and axes there."""

    @property
    def body(self) -> int:
        """Number of the body."""
        ...

    @property
    def offset(self) -> Array:
        """Origin in the body's frame, m."""
        ...

    @property
    def rotation(self) -> Array:
        """Rotation in the body's frame."""
        ...


class Coupling(Protocol):
    """Joints that mimic others: v_all = map · v, q_all = map · q + position_offset; `kept` are the independent ones."""

    @property
    def map(self) -> Array:
        """Rows: all joints; columns: the independent ones."""
        ...

    @property
    def kept(self) -> Any:
        """Positions of the independent joints among all."""
        ...

    @property
    def position_offset(self) -> Array:
        """Offset added to each joint's position."""
        ...


@dataclass(frozen=True)
class Mechanism:
    """The moving links of a robot, parents before children.

    Attributes:
        tool: the frame whose pose and Jacobian are derived; `tool_name` is its name.
        frames: every named frame.
        gravity: acceleration of free fall in the base frame, m/s².
        coupling: joints that mimic others, or None.
        left_out: effects of the model that no equation here holds (damping, friction, springs), by name.
        bodies: every body of the model as a place on its link.
    """

    name: str
    links: tuple[MovingLink, ...]
    frames: dict[str, LinkFrame]
    tool_name: str
    gravity: Array
    coupling: Coupling | None
    left_out: tuple[str, ...]
    bodies: tuple[LinkFrame, ...] = ()

    @property
    def tool(self) -> LinkFrame:
        """Where the tool frame stands."""
        return self.frames[self.tool_name]

    def placed(self, frame: BodyFrame) -> LinkFrame:
        """A frame on a body of the model as one on the link that carries the body."""
        return self.bodies[frame.body].carried(frame)

    @property
    def floating(self) -> bool:
        """Whether the base moves freely."""
        return any(link.kind == "free" for link in self.links)

    @property
    def size(self) -> float:
        """A length that is typical of the robot, m."""
        lengths = [float(np.abs(link.position).max()) for link in self.links]
        return max([*lengths, *(float(np.abs(link.com).max()) for link in self.links), 1e-3])

    @property
    def axes(self) -> list[Array]:
        """Joint axes in the base frame at q = 0."""
        rotations: list[Array] = []
        for link in self.links:
            rotations.append((rotations[link.parent] if link.parent >= 0 else np.eye(3)) @ link.rotation)
        return [link.sign * rotation[:, link.axis] for link, rotation in zip(self.links, rotations)]


def mechanism_from_model(
    model: mujoco.MjModel, name: str, frames: Mapping[str, BodyFrame], tool: str = "", coupling: Coupling | None = None
) -> Mechanism:
    """The moving links of a compiled model.

    Args:
        model: hinges, slides and free bases.
        name: of the robot.
        frames: every named frame.
        tool: the frame whose pose and Jacobian a derivation gives.
        coupling: joints that mimic others.

    Raises:
        InvalidInput: the model has something else than hinges, slides and one free base.
    """
    reason = obstacle(model)
    if reason:
        raise InvalidInput(f"{name}: {reason}", hint=_ADVICE)
    reader = _Reader(model)
    link_frames = {key: _cleaned(reader.body_frames[frame.body].carried(frame)) for key, frame in frames.items()}
    links = tuple(map(_with_mass, reader.links, reader.masses))
    bodies = tuple(reader.body_frames[body] for body in range(model.nbody))
    weightless = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    gravity = np.zeros(3) if weightless else model.opt.gravity.copy()
    return Mechanism(name, links, link_frames, tool, gravity, coupling, _left_out(model), bodies)


_ADVICE = "equations are derived for trees of hinges and slides, on the ground or with one free base"


def obstacle(model: mujoco.MjModel) -> str | None:
    """Why no equations of motion are derived for a model; None if they are."""
    for joint in range(model.njnt):
        name, kind = model.joint(joint).name, int(model.jnt_type[joint])
        if kind == _BALL:
            return f"joint {name!r} is a ball joint; replace it by three hinges at one point"
        if kind == 0 and joint > 0:
            return f"joint {name!r} is a free joint beside others; only the first may be free"
    if model.ntendon:
        return f"tendon {model.tendon(0).name!r} ties its joints together"
    ties = np.flatnonzero(model.eq_type != mujoco.mjtEq.mjEQ_JOINT)
    if len(ties):
        return f"equality {model.equality(int(ties[0])).name!r} closes a loop"
    return None


class _Reader:
    """Walks a compiled model's bodies, collecting links and lumping fixed bodies into them."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model
        self.links: list[MovingLink] = []
        self.masses: list[list[tuple[float, Array, Array]]] = []
        self.body_frames: dict[int, LinkFrame] = {0: LinkFrame(-1, np.zeros(3), np.eye(3))}
        for body in range(1, model.nbody):
            self._read_body(body)

    def _read_body(self, body: int) -> None:
        model = self.model
        parent = self.body_frames[int(model.body_parentid[body])]
        position = parent.rotation @ model.body_pos[body] + parent.position
        frame = LinkFrame(parent.link, position, parent.rotation @ _rotation(model.body_quat[body]))
        for number in range(int(model.body_jntnum[body])):
            joint = int(model.body_jntadr[body]) + number
            frame = self._add_joint(joint, frame, model.body(body).name)
        self.body_frames[body] = frame
        if frame.link >= 0:
            inertia_axes = frame.rotation @ _rotation(model.body_iquat[body])
            tensor = inertia_axes @ np.diag(model.body_inertia[body]) @ inertia_axes.T
            com = frame.position + frame.rotation @ model.body_ipos[body]
            self.masses[frame.link].append((float(model.body_mass[body]), com, tensor))

    def _add_joint(self, joint: int, frame: LinkFrame, body: str) -> LinkFrame:
        """A link for the joint; returns where the body stands on it."""
        model, name = self.model, self.model.joint(joint).name
        kind = int(model.jnt_type[joint])
        if kind == 0:
            self._append(MovingLink(body, name, "free", -1, np.zeros(3), np.eye(3), 2, 1, *_NO_MASS, 0.0))
            return LinkFrame(len(self.links) - 1, np.zeros(3), np.eye(3))
        axis, alignment = _aligned(model.jnt_axis[joint])
        anchor = model.jnt_pos[joint]
        position, rotation = frame.position + frame.rotation @ anchor, frame.rotation @ alignment
        position, rotation = _at_zero(
            position, rotation, axis, _KINDS[kind], float(model.qpos0[model.jnt_qposadr[joint]])
        )
        armature = float(model.dof_armature[model.jnt_dofadr[joint]])
        index, sign = int(np.argmax(np.abs(axis))), int(np.sign(axis[np.argmax(np.abs(axis))]))
        link = MovingLink(body, name, _KINDS[kind], frame.link, _clean(position), _clean_rotation(rotation), index,
                          sign, *_NO_MASS, armature)  # fmt: skip
        self._append(link)
        return LinkFrame(len(self.links) - 1, -alignment.T @ anchor, alignment.T)

    def _append(self, link: MovingLink) -> None:
        self.links.append(link)
        self.masses.append([])


_NO_MASS = (0.0, np.zeros(3), np.zeros((3, 3)))


def _with_mass(link: MovingLink, parts: list[tuple[float, Array, Array]]) -> MovingLink:
    """The link with the mass, centre of mass and tensor of all its parts together."""
    mass = sum(part[0] for part in parts)
    com = sum((m * c for m, c, _ in parts), np.zeros(3)) / mass if mass > 0 else np.zeros(3)
    inertia = np.zeros((3, 3))
    for m, c, tensor in parts:
        d = c - com
        inertia += tensor + m * (d @ d * np.eye(3) - np.outer(d, d))
    return MovingLink(**{**vars(link), "mass": mass, "com": _clean(com), "inertia": inertia})


def _aligned(axis: Array) -> tuple[Array, Array]:
    """The axis along one of a frame's own, and the rotation from the body's axes to that frame's."""
    axis = axis / np.linalg.norm(axis)
    nearest = np.round(axis)
    if np.abs(axis - nearest).max() < SMALL:
        return nearest, np.eye(3)
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.array([0.0, 0.0, 1.0]), np.column_stack([x, np.cross(axis, x), axis])


def _at_zero(position: Array, rotation: Array, axis: Array, kind: Kind, reference: float) -> tuple[Array, Array]:
    """The pose for q = 0 from the one the file shows, at the joint's reference position."""
    if reference == 0.0:
        return position, rotation
    if kind == "prismatic":
        return position - rotation @ axis * reference, rotation
    return position, rotation @ matrix_from_angle_axis(-reference, axis)


def _rotation(quat_wxyz: Array) -> Array:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quat_wxyz)
    return matrix.reshape(3, 3)


def _clean(vector: Array) -> Array:
    """Without the rounding left of exact zeros."""
    return np.where(np.abs(vector) < SMALL * max(1e-3, float(np.abs(vector).max(initial=0.0))), 0.0, vector)


def _clean_rotation(matrix: Array) -> Array:
    """Exact where every entry is 0 or ±1 up to rounding."""
    nearest = np.round(matrix)
    return nearest if np.abs(matrix - nearest).max() < SMALL else matrix


def _cleaned(frame: LinkFrame) -> LinkFrame:
    return LinkFrame(frame.link, _clean(frame.position), _clean_rotation(frame.rotation))


def _left_out(model: mujoco.MjModel) -> tuple[str, ...]:
    effects = {
        "joint damping": model.dof_damping,
        "joint friction": model.dof_frictionloss,
        "joint springs": model.jnt_stiffness,
    }
    return tuple(name for name, values in effects.items() if np.any(values))

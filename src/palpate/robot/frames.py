"""Named frames of a compiled model: its bodies and sites, and which of them is the tool."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.forking import cached_property
from palpate.robot.mechanics.kernels import FrameOnBody

# What files call the frame that does the work, the most telling name first. A robot's own prefix or a number may
# stand around it: panda_hand_tcp, left/gripper_tcp, tool0.
CONVENTIONS = (
    *("tool", "attachment_site", "pinch_site", "pinch", "hand_tcp", "tool_center_point", "tcp", "tool_tip", "tool0"),
    *("grasp_site", "grasptarget", "ee_link", "end_effector", "end_effector_link", "ee_site", "eef", "ee", "flange"),
    "tool_link",
)
MOST_FINGER_JOINTS = 2  # a hand's fingers are short chains; legs and arms are longer
_LISTED = 6


@dataclass(frozen=True)
class Frame:
    """A frame fixed on a body: its origin and axes there."""

    name: str
    body: int
    offset: Array
    rotation: Array

    @cached_property
    def record(self) -> FrameOnBody:
        """The frame as compiled code reads it."""
        return FrameOnBody(body=self.body, offset=self.offset.copy(), rotation=self.rotation.copy())


@dataclass(frozen=True)
class ToolChoice:
    """Which frame a robot takes for its tool, and why.

    Attributes:
        name: the frame.
        reason: why this one.
        others: frames that could have been meant as well.
        guessed: nothing in the model says so, and there was more than one candidate.
    """

    name: str
    reason: str
    others: tuple[str, ...] = ()
    guessed: bool = False

    def __str__(self) -> str:
        shown = ", ".join(self.others[:_LISTED]) + (" …" if len(self.others) > _LISTED else "")
        return f"{self.name}, {self.reason}" + (f"; also there: {shown}" if shown else "")


def frames_of(model: mujoco.MjModel) -> dict[str, Frame]:
    """Every named body and site of a compiled model as a frame."""
    frames = {model.body(b).name: Frame(model.body(b).name, b, np.zeros(3), np.eye(3)) for b in range(model.nbody)}
    for s in range(model.nsite):
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, model.site_quat[s])
        name = model.site(s).name
        frames[name] = Frame(name, int(model.site_bodyid[s]), model.site_pos[s].copy(), rotation.reshape(3, 3))
    frames.pop("", None)
    return frames


def chosen_tool(requested: str | ToolChoice | None, model: mujoco.MjModel) -> ToolChoice:
    """The frame asked for, or the one a model suggests."""
    if isinstance(requested, ToolChoice):
        return requested
    return ToolChoice(requested, "as asked") if requested else choose_tool(model)


def choose_tool(model: mujoco.MjModel) -> ToolChoice:
    """The tool frame: one called like a tool, or else the end of the chain of most joints.

    Among frames called alike the one behind the most joints is taken; where that chain ends in several fingers, the
    body that carries them.
    """
    joints = _joints_before(model)
    conventional = _conventional_frames(model, joints)
    if conventional:
        twins = len(conventional) > 1 and _convention(conventional[1]) == _convention(conventional[0])
        return ToolChoice(conventional[0], "by its name", tuple(conventional[1:]), guessed=twins)
    deepest = [b for b in range(1, model.nbody) if joints[b] == joints.max() and _is_tip(model, b, joints)]
    deepest.sort(key=lambda b: -_depth(model, b))
    body = _carrier(model, joints, deepest)
    leaves = set(range(1, model.nbody)) - {body} - set(model.body_parentid.tolist())
    others = tuple(model.body(b).name for b in sorted(leaves))
    guessed = len(deepest) > 1 or bool(others)
    return ToolChoice(model.body(body).name, "where the longest chain of joints ends", others, guessed)


def _conventional_frames(model: mujoco.MjModel, joints: np.ndarray) -> list[str]:
    """Frames of a conventional name: best convention first, then those behind more joints, then file order."""
    sites = [(model.site(s).name, int(model.site_bodyid[s])) for s in range(model.nsite)]
    bodies = [(model.body(b).name, b) for b in range(1, model.nbody)]
    known = [(name, body) for name, body in sites + bodies if _convention(name) < len(CONVENTIONS)]
    named = [(name, body) for name, body in known if joints[body] or _convention(name) == 0]
    named.sort(key=lambda pair: (_convention(pair[0]), -joints[pair[1]]))
    return list(dict.fromkeys(name for name, _ in named))


def _convention(name: str) -> int:
    """The rank of a name among the conventions, or their number if it follows none."""
    low = name.lower().replace("-", "_").replace("/", "_").replace(":", "_")
    for rank, word in enumerate(CONVENTIONS):
        if low == word or (rank > 0 and low.endswith("_" + word)):
            return rank
    return len(CONVENTIONS)


def _joints_before(model: mujoco.MjModel) -> np.ndarray:
    """How many scalar or ball joints move each body; a free joint moves the whole machine and does not count."""
    count = np.zeros(model.nbody, dtype=int)
    for b in range(1, model.nbody):
        first = model.body_jntadr[b]
        own = range(first, first + model.body_jntnum[b])
        count[b] = count[model.body_parentid[b]] + sum(model.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE for j in own)
    return count


def _depth(model: mujoco.MjModel, body: int) -> int:
    return 0 if body == 0 else 1 + _depth(model, int(model.body_parentid[body]))


def _is_tip(model: mujoco.MjModel, body: int, joints: np.ndarray) -> bool:
    """The last body of a rigid group: no child is fixed to it."""
    children = [b for b in range(1, model.nbody) if model.body_parentid[b] == body]
    return not any(joints[b] == joints[body] for b in children)


def _carrier(model: mujoco.MjModel, joints: np.ndarray, tips: list[int]) -> int:
    """The tip of the longest chain; or what carries it, where it is one of several fingers beside each other."""
    below = joints[tips[0]]
    for steps in range(1, MOST_FINGER_JOINTS + 1):
        carrier = _ancestor_with(model, joints, tips[0], below - steps)
        fingers = [
            b for b in range(1, model.nbody) if model.body_parentid[b] == carrier and joints[b] > joints[carrier]
        ]
        if carrier > 0 and len(fingers) > 1 and joints[carrier] > 0:
            return carrier
    return tips[0]


def _ancestor_with(model: mujoco.MjModel, joints: np.ndarray, body: int, count: int) -> int:
    while body > 0 and joints[body] > count:
        body = int(model.body_parentid[body])
    return body

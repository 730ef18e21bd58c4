"""What the arm is: its description, its kinematics and its dynamics."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.robot.frames import Frame
    from palpate.robot.limits import JointLimits
    from palpate.robot.load import load_robot
    from palpate.robot.readers.dh.table import DHLink
    from palpate.robot.robot import Robot
    from palpate.robot.terms import Terms

__all__ = ["DHLink", "Frame", "JointLimits", "Robot", "Terms", "load_robot"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DHLink": "palpate.robot.readers.dh.table",
        "Frame": "palpate.robot.frames",
        "JointLimits": "palpate.robot.limits",
        "Robot": "palpate.robot.robot",
        "Terms": "palpate.robot.terms",
        "load_robot": "palpate.robot.load",
    },
)

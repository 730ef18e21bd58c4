"""The robot: its description, its kinematics and its dynamics."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.robot.frames import Frame as Frame
    from palpate.robot.limits import JointLimits as JointLimits
    from palpate.robot.load import load_robot as load_robot
    from palpate.robot.readers.dh.table import DHLink as DHLink
    from palpate.robot.robot import Robot as Robot
    from palpate.robot.terms import Terms as Terms

__getattr__, __dir__, __all__ = lazy_names(__name__)

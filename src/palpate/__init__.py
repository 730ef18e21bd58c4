"""Design, simulate and prove controllers for robots that touch things."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.robot.dh import DHLink
    from palpate.robot.load import load_robot
    from palpate.robot.robot import Robot
    from palpate.spatial.pose import Pose

__version__ = "0.1.0"
__all__ = ["DHLink", "Pose", "Robot", "load_robot"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DHLink": "palpate.robot.dh",
        "Pose": "palpate.spatial.pose",
        "Robot": "palpate.robot.robot",
        "load_robot": "palpate.robot.load",
    },
)

"""The references a scenario can name. One line per kind: add one by adding its class and its line here."""

from functools import partial

from palpate.control.references.motions import Circle, JointMotion, Line
from palpate.control.references.recorded import Recorded
from palpate.control.references.reference import Hold, ReferenceSettings
from palpate.control.references.surface_path import SurfacePath
from palpate.control.references.waypoints import Waypoint, Waypoints
from palpate.plugins import Table, of_kind

_SHIPPED: dict[str, type[ReferenceSettings]] = {
    "hold": Hold,
    "joint": JointMotion,
    "line": Line,
    "circle": Circle,
    "surface-path": SurfacePath,
    "waypoints": Waypoints,
    "recorded": Recorded,
}
REFERENCES = Table("palpate.references", _SHIPPED, partial(of_kind, ReferenceSettings))

__all__ = ["REFERENCES", "Circle", "Hold", "JointMotion", "Line", "Recorded", "SurfacePath", "Waypoint", "Waypoints"]

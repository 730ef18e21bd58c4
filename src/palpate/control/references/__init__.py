"""The references a scenario can name. To add a kind, add its class to `_CLASSES`."""

from typing import Any

from palpate.control.references.motions import Circle, JointMotion, Line
from palpate.control.references.recorded import Recorded
from palpate.control.references.reference import Hold, ReferenceSettings
from palpate.control.references.surface_path import SurfacePath
from palpate.control.references.waypoints import Waypoint, Waypoints
from palpate.errors import InvalidInput
from palpate.plugins import Table, of_kind
from palpate.user_code import is_address

_CLASSES: tuple[type[ReferenceSettings], ...] = (Hold, JointMotion, Line, Circle, SurfacePath, Waypoints, Recorded)
_SHIPPED = {str(cls.model_fields["kind"].default): cls for cls in _CLASSES}


def _entered(entry: Any, reference: Any) -> type[ReferenceSettings]:
    known = of_kind(ReferenceSettings, entry, reference)
    if is_address(entry.name) and known.model_fields["kind"].annotation is not str:
        raise InvalidInput(
            f"{reference.__name__} has a kind of its own, {known.model_fields['kind'].default!r}",
            hint="leave the field `kind` out and derive from ReferenceSettings: the scenario names it",
        )
    return known


REFERENCES = Table("palpate.references", _SHIPPED, _entered)

__all__ = ["REFERENCES", "Circle", "Hold", "JointMotion", "Line", "Recorded", "SurfacePath", "Waypoint", "Waypoints"]

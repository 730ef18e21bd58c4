"""What pushes back: the plant, surfaces, objects, a pole, pushes, sensors and the driver."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.world.clock import Clock
    from palpate.world.config import (
        Attachment,
        Driver,
        FreeObject,
        Motion,
        PlantChange,
        Pole,
        Push,
        Sensors,
        Surface,
        World,
        WrenchSensor,
    )
    from palpate.world.sensing.sensor import Sensor

__all__ = [
    "Attachment",
    "Clock",
    "Driver",
    "FreeObject",
    "Motion",
    "PlantChange",
    "Pole",
    "Push",
    "Sensor",
    "Sensors",
    "Surface",
    "World",
    "WrenchSensor",
]

_MODULES = {
    **dict.fromkeys(__all__, "palpate.world.config"),
    "Clock": "palpate.world.clock",
    "Sensor": "palpate.world.sensing.sensor",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)

"""The world around a law: the plant, surfaces, objects, a pole, pushes, sensors and the driver."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.world.clock import Clock as Clock
    from palpate.world.config import (
        Attachment as Attachment,
        Driver as Driver,
        FreeObject as FreeObject,
        Motion as Motion,
        PlantChange as PlantChange,
        Pole as Pole,
        Push as Push,
        Sensors as Sensors,
        Surface as Surface,
        World as World,
        WrenchSensor as WrenchSensor,
    )
    from palpate.world.sensing.sensor import Sensor as Sensor

__getattr__, __dir__, __all__ = lazy_names(__name__)

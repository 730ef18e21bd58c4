"""Assemble a run, step it through time, and record what happened."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.run.forecast.design import Design as Design, design as design
    from palpate.run.forecast.hold import HoldError as HoldError, hold_error as hold_error
    from palpate.run.forecast.walls import StabilityMap as StabilityMap, stability_map as stability_map
    from palpate.run.run import Run as Run
    from palpate.run.simulate import simulate_many as simulate_many
    from palpate.run.tangent.loop_poles import LoopPoles as LoopPoles, poles as poles

__getattr__, __dir__, __all__ = lazy_names(__name__, moved={"linearise": "palpate.tools.contact"})  # until 0.3

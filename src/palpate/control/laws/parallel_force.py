"""Parallel force/position control: both act along the same direction, and the force integral has the last word."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from palpate.checks import Array
from palpate.control.laws.direct_force import DirectForce
from palpate.control.report import LawReport
from palpate.control.traits import LawTraits


class ParallelForce(DirectForce):
    """As `direct-force`, with the spring kept along the force directions too.

    τ = J_tᵀ (K e + D (V_d − V) − [F_d + k_p (F_d − F) + k_i ∫(F_d − F) dt]_f) + N τ₀ + b̂(q, v), K everywhere.
    Closed loop of one force axis of apparent mass λ against a wall k_w, d_w:
    λ s³ + (D + (1 + k_p) d_w) s² + (K + (1 + k_p) k_w + k_i d_w) s + k_i k_w = 0. At rest in contact the force is F_d,
    whatever the position error: the integral outweighs the spring. Where there is no wall the spring and the bound of
    the integral keep the tool within (F_d (1 + k_p) + bound) / K of the target, so no switching is needed.
    Assumes: as `direct-force`. The wall may be elsewhere than planned; motion along it stays that of the spring.
    """

    name: ClassVar[str] = "parallel-force"

    @property
    def traits(self) -> LawTraits:
        """The target's position counts along every direction."""
        return replace(super().traits, drops_motion=False)

    @property
    def report(self) -> LawReport:
        """Its literature."""
        return replace(super().report, literature=("10.1109/3516.789685",))

    def springs(self) -> Array:
        """K along every direction."""
        return np.array(self.stiffness or (0.0,) * 6)

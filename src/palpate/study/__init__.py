"""Many runs: sweeps with a guarantee, maps, rare failures, robustness studies, tuning."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.study.axis import Span
    from palpate.study.maps import BoundaryMap, boundary_map
    from palpate.study.rare import RareEstimate, rare_failure
    from palpate.study.result import Sweep, open_sweep
    from palpate.study.robust import Robustness, robustness
    from palpate.study.statistics import (
        Interval,
        clopper_pearson,
        confidence_sequence,
        pareto_front,
        scenario_count,
        scenario_level,
    )
    from palpate.study.sweeps import sweep
    from palpate.study.theory import predicted_boundary, refuse
    from palpate.study.tuning import Tuned, tune

__all__ = [
    "BoundaryMap",
    "Interval",
    "RareEstimate",
    "Robustness",
    "Span",
    "Sweep",
    "Tuned",
    "boundary_map",
    "clopper_pearson",
    "confidence_sequence",
    "open_sweep",
    "pareto_front",
    "predicted_boundary",
    "rare_failure",
    "refuse",
    "robustness",
    "scenario_count",
    "scenario_level",
    "sweep",
    "tune",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BoundaryMap": "palpate.study.maps",
        "Interval": "palpate.study.statistics",
        "RareEstimate": "palpate.study.rare",
        "Robustness": "palpate.study.robust",
        "Span": "palpate.study.axis",
        "Sweep": "palpate.study.result",
        "Tuned": "palpate.study.tuning",
        "boundary_map": "palpate.study.maps",
        "clopper_pearson": "palpate.study.statistics",
        "confidence_sequence": "palpate.study.statistics",
        "open_sweep": "palpate.study.result",
        "pareto_front": "palpate.study.statistics",
        "predicted_boundary": "palpate.study.theory",
        "rare_failure": "palpate.study.rare",
        "refuse": "palpate.study.theory",
        "robustness": "palpate.study.robust",
        "scenario_count": "palpate.study.statistics",
        "scenario_level": "palpate.study.statistics",
        "sweep": "palpate.study.sweeps",
        "tune": "palpate.study.tuning",
    },
)

"""Many runs: sweeps with a guarantee, maps, rare failures, robustness studies, tuning."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.study.analysis.maps import BoundaryMap, boundary_map
    from palpate.study.analysis.rare import RareEstimate, rare_failure
    from palpate.study.analysis.statistics import (
        Interval,
        clopper_pearson,
        confidence_sequence,
        pareto_front,
        scenario_count,
        scenario_level,
    )
    from palpate.study.analysis.theory import predicted_boundary, refuse
    from palpate.study.plans.axis import Span
    from palpate.study.result import Sweep, open_sweep
    from palpate.study.robust import Robustness, robustness
    from palpate.study.sweeps import sweep
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
        "BoundaryMap": "palpate.study.analysis.maps",
        "Interval": "palpate.study.analysis.statistics",
        "RareEstimate": "palpate.study.analysis.rare",
        "Robustness": "palpate.study.robust",
        "Span": "palpate.study.plans.axis",
        "Sweep": "palpate.study.result",
        "Tuned": "palpate.study.tuning",
        "boundary_map": "palpate.study.analysis.maps",
        "clopper_pearson": "palpate.study.analysis.statistics",
        "confidence_sequence": "palpate.study.analysis.statistics",
        "open_sweep": "palpate.study.result",
        "pareto_front": "palpate.study.analysis.statistics",
        "predicted_boundary": "palpate.study.analysis.theory",
        "rare_failure": "palpate.study.analysis.rare",
        "refuse": "palpate.study.analysis.theory",
        "robustness": "palpate.study.robust",
        "scenario_count": "palpate.study.analysis.statistics",
        "scenario_level": "palpate.study.analysis.statistics",
        "sweep": "palpate.study.sweeps",
        "tune": "palpate.study.tuning",
    },
)

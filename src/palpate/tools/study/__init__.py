"""Many runs: sweeps with a guarantee, maps, rare failures, robustness studies, tuning."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.tools.study.analysis.maps import (
        BoundaryMap as BoundaryMap,
        boundary_map as boundary_map,
        predicted_boundary as predicted_boundary,
        refuse as refuse,
    )
    from palpate.tools.study.analysis.pareto import pareto_front as pareto_front
    from palpate.tools.study.analysis.rare import RareEstimate as RareEstimate, rare_failure as rare_failure
    from palpate.tools.study.analysis.scenario_bound import (
        scenario_count as scenario_count,
        scenario_level as scenario_level,
    )
    from palpate.tools.study.analysis.sensitivity import (
        Sensitivity as Sensitivity,
        Slope as Slope,
        sensitivities as sensitivities,
    )
    from palpate.tools.study.analysis.statistics import (
        Interval as Interval,
        clopper_pearson as clopper_pearson,
        confidence_sequence as confidence_sequence,
        failure_bound as failure_bound,
    )
    from palpate.tools.study.laws import LawComparison as LawComparison, compare as compare
    from palpate.tools.study.plans.axis import Span as Span
    from palpate.tools.study.result import Sweep as Sweep
    from palpate.tools.study.robust import Robustness as Robustness, robustness as robustness
    from palpate.tools.study.sweeps import open_sweep as open_sweep, sweep as sweep
    from palpate.tools.study.tuning import Tuned as Tuned, tune as tune

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""What is known without running: points that theory refuses are never simulated, and where it begins to refuse.

`refuse` is any function from a scenario to a reason or None. The one here asks whether the law's gains suit its
control period and delays in free space, from the exactly sampled loop of gain design.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palpate.checks import Array
from palpate.control.design.arm import period_warnings
from palpate.errors import InvalidInput, PalpateError
from palpate.run.assemble.assemble import suited
from palpate.run.build import build
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.file.overrides import apply_overrides
from palpate.scenario.model import Scenario
from palpate.study.analysis.maps import boundary_map
from palpate.study.plans.axis import Span, override
from palpate.study.plans.plan import Plan

Refuse = Callable[[Scenario], str | None]


def refuse(scenario: Scenario) -> str | None:
    """Why a scenario would be unstable, or None where theory has nothing against it."""
    parts = suited(build(scenario))
    late = parts.world.sensors.delay + parts.world.driver.delay
    warnings = period_warnings(
        parts.law.bind(parts.robot), parts.robot, period=parts.clock.control_period, q=parts.start()[0], delay=late
    )
    return warnings[0] if warnings else None


def refusal(plan: Plan, values: Sequence[object], judge: Refuse) -> str | None:
    """What theory says about a point of a plan; an impossible one is left for the run to name."""
    texts = [override(axis, value, plan.scenario) for axis, value in zip(plan.axes, values)]
    try:
        return judge(scenario_from_data(apply_overrides(plan.scenario, texts)))
    except PalpateError:
        return None


def predicted_boundary(plan: Plan, judge: Refuse = refuse, cells: int = 32) -> list[Array]:
    """The lines over a map's two parameters where theory begins to refuse; each (k, 2), in the parameters' units."""
    spans = [axis.span for axis in plan.axes]
    if len(spans) != 2 or not isinstance(spans[0], Span) or not isinstance(spans[1], Span):
        raise InvalidInput("a predicted boundary needs two parameters, each on a stretch of numbers")
    boundary = boundary_map(lambda x, y: refusal(plan, (x, y), judge) is None, spans[0], spans[1], cells=cells)
    return list(boundary.boundary)

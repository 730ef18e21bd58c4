from __future__ import annotations

import json

import numpy as np
import pytest

from palpate.errors import InvalidInput, UnknownName
from palpate.metrics import METRICS, Bound, as_json, evaluate

TIME = np.linspace(0.0, 1.0, 11)


def test_every_metric_has_a_name_a_unit_and_a_line_of_help() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.unit
        assert 5 < len(metric.help) < 80
        assert "\n" not in metric.help


def test_a_trace_without_channels_gives_reasons_not_errors(make) -> None:
    results = evaluate(make(TIME))
    assert [result.name for result in results] == list(METRICS)
    assert all(result.value is None and result.reason and result.passed is None for result in results)


def test_a_bound_passes_fails_and_needs_a_value(make) -> None:
    trace = make(TIME, contact_force=np.full(11, 30.0))
    bounds = {
        "force_peak": Bound(most=29.0),
        "contact_time": Bound(least=1.0, most=1.0),
        "bounces": Bound(least=1),
        "penetration_max": Bound(most=1.0),
    }
    judged = {result.name: result for result in evaluate(trace, bounds)}
    assert {name: judged[name].passed for name in bounds} == {
        "force_peak": False, "contact_time": True, "bounces": False, "penetration_max": None,
    }  # fmt: skip
    assert judged["chatter"].passed is None
    assert (judged["force_peak"].value, judged["force_peak"].most) == (30.0, 29.0)
    assert judged["penetration_max"].reason == "channel 'penetration' was not recorded"


def test_a_misspelt_metric_is_refused_with_the_right_name(make) -> None:
    with pytest.raises(UnknownName, match="mean 'force_peak'"):
        evaluate(make(TIME), {"force_paek": Bound(most=1.0)})


@pytest.mark.parametrize("fields", [{}, {"least": 2.0, "most": 1.0}, {"most": float("nan")}, {"moost": 1.0}])
def test_a_bound_that_says_nothing_or_nonsense_is_refused(fields: dict) -> None:
    with pytest.raises(InvalidInput):
        Bound(**fields)


def test_results_are_json(make) -> None:
    trace = make(TIME, contact_force=np.full(11, 30.0))
    read = json.loads(as_json(evaluate(trace, {"force_peak": Bound(most=40)})))
    assert list(read) == list(METRICS)
    assert read["force_peak"] == {
        "value": 30.0, "unit": "N", "help": METRICS["force_peak"].help, "reason": None, "least": None, "most": 40.0,
        "passed": True,
    }  # fmt: skip
    assert read["effort"]["value"] is None

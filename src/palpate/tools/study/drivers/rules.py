"""Rules of the command line: a metric, a sign and a level, such as force_peak<40."""

from __future__ import annotations

import re
from collections.abc import Sequence

from palpate.errors import InvalidInput, check_names
from palpate.metrics import METRICS
from palpate.tools.study.plans.plan import Plan
from palpate.user_code import is_address

_RULE = re.compile(r"\s*([a-z_]+|[\w.]+:\w+)\s*(?:(<=?|>=?)\s*([+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*)?")


def parse_rule(text: str, what: str, names: Sequence[str]) -> tuple[str, str | None, float | None]:
    """`name<number`: the name, the sign without its =, and the number; sign and number may be missing."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise InvalidInput(f"{what} {text!r} is not understood", hint="write NAME<NUMBER or NAME>NUMBER")
    check_names(f"name in {what}", [match[1]], names)
    return match[1], match[2] and match[2][0], None if match[3] is None else float(match[3])


def metric_names(plan: Plan) -> tuple[str, ...]:
    """Names that a rule may use: all metrics, and the plan's own written in Python."""
    return (*METRICS, *filter(is_address, plan.metrics))

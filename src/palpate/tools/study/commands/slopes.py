"""`palpate design --sensitivity`: how much the bounded metrics change per 1 % of a setting."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from palpate.cli.check import scenario_asked
from palpate.cli.console import patience
from palpate.cli.tables import print_table, say

if TYPE_CHECKING:
    from palpate.scenario.model import Scenario
    from palpate.tools.study import Slope


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument("--sensitivity", metavar="KEY", nargs="*",
                        help="change of bounded metrics per 1 %% of settings; without KEY, of all numbers")  # fmt: skip


def run(args: argparse.Namespace, command: Callable[[argparse.Namespace], int]) -> int:
    """Design, then print the slopes."""
    code = command(args)
    if args.sensitivity is not None:
        _print_sensitivities(scenario_asked(args), args.sensitivity)
    return code


def _print_sensitivities(scenario: Scenario, keys: list[str]) -> None:
    """A table of the settings that change a metric, most first by share; then those that change none."""
    from palpate.tools.study import sensitivities

    with patience("running the scenario on both sides of each setting …"):
        results = sensitivities(scenario, keys or None)
    names = [slope.metric for slope in results[0].slopes]
    moved = [result for result in results if any(slope.per_share != 0.0 for slope in result.slopes)]
    say("\nChange per 1 % more of a setting, by runs with 1 % more and less:")
    units = [f"{slope.metric} [{slope.unit}]" for slope in results[0].slopes]
    rows = [[result.setting, *(_change(slope) for slope in result.slopes)] for result in moved]
    print_table(["setting", *units], rows, "l" + "r" * len(names))
    still = [result.setting for result in results if result not in moved]
    if still:
        say(f"no effect on any of them: {', '.join(still)}")
    for text in dict.fromkeys(f"{s.metric}: {s.reason}" for r in moved for s in r.slopes if s.reason):
        say(f"no slope of {text}")


def _change(slope: Slope) -> str:
    return "–" if slope.per_percent is None else "0" if slope.per_percent == 0.0 else f"{slope.per_percent:+.3g}"

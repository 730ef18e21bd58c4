"""Metrics of a run that is only looked at: own ones as the run recorded them, or computed again with `--code`."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.folder import METRICS, SCENARIO
from palpate.errors import InvalidInput, PalpateError, printable, value_text
from palpate.files import is_there, read_text
from palpate.toml import toml_data
from palpate.user_code import is_address, is_loaded, load

if TYPE_CHECKING:
    from palpate.metrics import Bound, MetricResult
    from palpate.trace import Trace

RECORDED = "as the run recorded it"


def add_code_option(parser: argparse.ArgumentParser, what: str) -> None:
    """The option of a command that looks, to run the code of what it looks at."""
    parser.add_argument("--code", action="store_true", help=f"{what}; this runs the code that the scenario names")


def judged(paths: Sequence[Path], traces: Sequence[Trace], *, code: bool, bounded: bool) -> list[list[MetricResult]]:
    """The metrics of each trace; one note on stderr where own ones were not computed.

    Args:
        paths: where the traces lie; `metrics.json` beside them has what the run computed.
        traces: the runs.
        code: load the code of own metrics, from the modules that `scenario.toml` beside the trace names.
        bounded: hold them to the bounds that the trace carries.
    """
    left: dict[str, None] = {}
    results = []
    for path, trace in zip(paths, traces):
        named = (trace.facts.scenario or {}).get("metrics", {})
        own = [name for name in named if is_address(name)]
        if code:
            _load(own, path.parent)
        bounds = {name: pp.metrics.Bound.model_validate(bound) for name, bound in named.items()} if bounded else {}
        known = pp.metrics.evaluate(trace, bounds)
        missing = [name for name in own if not is_loaded(name)]
        recorded = _recorded(path.parent / METRICS, missing)
        left |= dict.fromkeys(missing)
        results.append([_as_recorded(one, recorded, bounds) if one.name in missing else one for one in known])
    if left:
        names = printable(", ".join(left))
        print(f"note: {names}: shown as recorded; --code runs the code again that computes it", file=sys.stderr)
    return results


def _load(names: Sequence[str], folder: Path) -> None:
    """Load own metrics, of the modules that the scenario in the folder of a run names."""
    from palpate.scenario.file.places import read_from

    modules: dict[str, str] = {}
    if names and is_there(folder / SCENARIO):
        try:
            modules = read_from(toml_data(read_text(folder / SCENARIO)), folder).get("modules", {})
        except InvalidInput as error:
            raise InvalidInput(f"{folder / SCENARIO} {error.args[0]}") from error
        if not isinstance(modules, dict):
            raise InvalidInput(f"{folder / SCENARIO}: modules must be a table, got {value_text(modules)}")
    for name in names:
        load(name, modules)


def _recorded(file: Path, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Metrics that a run has saved; none where the file is missing or damaged."""
    if not names:
        return {}
    try:
        content = json.loads(read_text(file, most_bytes=10_000_000))
        return {name: content[name] for name in names if isinstance(content.get(name), dict)}
    except (ValueError, AttributeError, RecursionError, PalpateError):
        return {}


def _as_recorded(
    result: MetricResult, recorded: Mapping[str, Mapping[str, Any]], bounds: Mapping[str, Bound]
) -> MetricResult:
    told = recorded.get(result.name, {})
    value = told.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return result
    unit, about, bound = told.get("unit"), told.get("help"), bounds.get(result.name)
    return replace(
        result,
        value=float(value),
        unit=unit if isinstance(unit, str) else "1",
        help=about if isinstance(about, str) else "",
        reason=RECORDED,
        passed=None if bound is None else bound.keeps(float(value)),
    )

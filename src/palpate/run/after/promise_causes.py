"""Promises of the law that a run did not keep, each with its causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from palpate.checks import Array
from palpate.errors import PalpateError
from palpate.run.after.causes import Ended, Search
from palpate.run.after.ending import End
from palpate.run.after.promise import Miss, judged, not_known, violations
from palpate.run.assemble.assemble import Assembly
from palpate.spatial import Pose, matrix_from_quat

_SMALL = {"m": (1e3, "mm"), "rad": (1e3, "mrad")}


def promise_warnings(end: End, search: Search) -> list[str]:
    """A sentence for every promise of the law that was not kept, with its causes.

    Where nothing is known of how the loop settles, a promise is judged against the run without its loads: it is broken
    if that run keeps it, and comes closer than this one by more than its loop leaves.
    """
    warnings = []
    for number, missed in violations(end):

        def kept(
            assembly: Assembly, named: Mapping[str, Array], number: int = number, missed: list[Miss] = missed
        ) -> bool:
            return _again((assembly, named), number, missed) is not None

        why = search.sentence(kept)
        unreached = _unreached(missed, end) if "it is kept" not in why else ""
        warnings.append(_broken(end, missed, unreached or why))
    return [*warnings, *_broken_by_loads(end, search)] if end.run.world.attachments else warnings


def _broken_by_loads(end: End, search: Search) -> list[str]:
    """The promises of which nothing is known in this run, and that it keeps without a load."""
    warnings = []
    for number, missed in not_known(end):
        nearer: list[Miss] = []

        def closer(
            assembly: Assembly,
            named: Mapping[str, Array],
            number: int = number,
            missed: list[Miss] = missed,
            nearer: list[Miss] = nearer,
        ) -> bool:
            again = _again((assembly, named), number, missed) or []
            far = [replace(m, tolerance=a.tolerance) for m, a in zip(missed, again) if m.size > a.tolerance]
            nearer[:] = nearer or far
            return bool(far)

        why = search.sentence(closer, loads=True)
        warnings += [_broken(end, nearer, why)] if nearer else []
    return warnings


def _again(ended: Ended, number: int, missed: list[Miss]) -> list[Miss] | None:
    """The same quantities in a rerun; None where it does not keep the promise about them, or that is not known."""
    again = {(miss.what, miss.unit): miss for miss in judged(*ended, number)}
    found = [again.get((miss.what, miss.unit)) for miss in missed]
    kept = [miss for miss in found if miss is not None and miss.kept and np.isfinite(miss.tolerance)]
    return kept if len(kept) == len(missed) else None


def _broken(end: End, missed: list[Miss], why: str) -> str:
    ended = " and ".join(_miss_in_words(miss) for miss in missed)
    return f"{end.law.name} did not keep its promise: at the end {ended}; {why}"


def _miss_in_words(miss: Miss) -> str:
    off = f"{miss.what} {'still move at' if miss.moving else 'has an error of'} {_with_unit(miss.size, miss)}"
    return f"{off} (the closed loop itself leaves at most {_with_unit(miss.tolerance, miss, 2)})"


def _with_unit(size: float, miss: Miss, digits: int = 3) -> str:
    """A size of what was missed, with its unit; small lengths and angles in thousandths."""
    factor, unit = _SMALL.get(miss.unit, (1.0, miss.unit))
    return f"{factor * size:.{digits}g} {unit}"


def _unreached(missed: list[Miss], end: End) -> str:
    """A target at which no posture of the arm was found, in words; empty where one was, or none is needed."""
    miss = missed[0]
    if miss.unit not in ("m", "rad") or miss.rows is None or len(miss.rows) == 1 or end.robot.nq != end.robot.nv:
        return ""
    goal = end.named["target_position"][-1]
    pose = Pose(goal, matrix_from_quat(end.named["target_quat_wxyz"][-1]))
    try:
        end.robot.inverse_kinematics(pose if end.robot.nv >= 6 else goal, seed=end.q, restarts=5)
    except PalpateError:
        return f"no posture of {end.robot.name} was found at its target"
    return ""

"""From a loop that has ended to its trace: how it ended, what happened on the way, and what was assumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palpate.checks import Array
from palpate.robot.readers.findings import CONTACT
from palpate.run.after.causes import Repeat, Search
from palpate.run.after.ending import End
from palpate.run.after.events import events_of
from palpate.run.after.facts import measured_facts, run_facts
from palpate.run.after.keep import Keeper, Noted
from palpate.run.after.observed.bounds import REMARKED, WARNED, beyond_bounds, beyond_the_interface
from palpate.run.after.observed.contact import contact_story
from palpate.run.after.observed.energies import energy_warnings
from palpate.run.after.observed.wrench_sensor import wrench_warnings
from palpate.run.after.outcome import outcome_of
from palpate.run.after.promise_causes import promise_warnings
from palpate.run.after.warnings import findings_and_meshes, friction_warnings, joint_warnings, limit_warnings
from palpate.run.assemble.assemble import Assembly
from palpate.run.before.checks import Prediction
from palpate.run.loop import state as S
from palpate.run.run import Run
from palpate.run.stepping import Ending
from palpate.run.tangent.edge import edge_fact, edge_warnings
from palpate.trace import Channel, Outcome, RunFacts, Trace, named_channels
from palpate.world.plants.plant import rubs

Read = tuple[Mapping[str, Channel], set[str]]
_LEFT = 0.25  # of an excess that a rerun may still have where its cause is taken away


def trace_of(
    assembly: Assembly, ending: Ending, keeper: Keeper, prediction: Prediction, repeat: Repeat | None = None
) -> Trace:
    """The trace of a run that has ended, up to its last finite sample.

    `repeat` makes reruns, in which the causes of a promise that was not kept are searched for.
    """
    keeper.take()
    named = keeper.named
    search = Search(assembly, named, repeat)
    warnings = _warnings(assembly, named, prediction, search)
    happened, bouncing = contact_story(named)
    edge: dict[str, Any] = {}
    if ending.status == S.COMPLETED:
        end = End(assembly, named)
        edge = edge_fact(end.poles, end.quiet)
        if assembly.run.law.traits.holds:  # else it is not meant to rest
            warnings += edge_warnings(edge, end.speed, rubs=rubs(assembly.run.robot, assembly.run.world))
        warnings += bouncing or promise_warnings(end, search)
    events = events_of(assembly, named, warnings)
    expected = [*prediction.expected, *(f"what happened: {text}" for text in happened)]
    facts = run_facts(assembly, expected, warnings, named, edge)
    return Trace(keeper.times, keeper.data, outcome_of(assembly, ending), events, facts, own=True)


def unfinished(assembly: Assembly, prediction: Prediction) -> Trace:
    """Trace of a run before it ends: without samples, and with the outcome "interrupted"."""
    keeper, outcome = Keeper(assembly), Outcome("interrupted", "the process ended before the run did", 0.0, 0)
    facts = run_facts(assembly, prediction.expected, prediction.warnings, keeper.named)
    return Trace(keeper.times, keeper.data, outcome, (), facts)


def bare_trace(
    assembly: Assembly,
    ending: Ending,
    arrays: Mapping[str, Array],
    prediction: Prediction,
    *,
    singular: bool,
    read: Read | None = None,
) -> Trace:
    """The trace of a run's arrays with the same outcome and warnings, no events and the facts that metrics ask for.

    `read` are the channels that the run has, by name, and a set that takes the names of those that are read.
    """
    channels, names = read or (named_channels(assembly.chosen), None)
    named = arrays if names is None else Noted(arrays, channels, names)
    facts = RunFacts.over(
        **measured_facts(assembly, named if singular else {}),
        warnings=tuple(_warnings(assembly, named, prediction)),
        world={"pole": None if assembly.run.world.pole is None else {}},
    )
    return Trace.over(named, channels, outcome_of(assembly, ending), facts)


def _robot_warnings(run: Run) -> list[str]:
    """The robot's warnings without the folder of its file; a missing mesh where links touch by their geometry."""
    findings, meshes = findings_and_meshes(run)
    doubts = [finding.sentence for finding in findings if finding.element != CONTACT]
    return [*doubts, *(meshes if run.world.contact_links else ())]


def _warnings(
    assembly: Assembly, named: Mapping[str, Array], prediction: Prediction, search: Search | None = None
) -> list[str]:
    alarms = assembly.law.alarms(assembly.law.memory)
    early_warnings = [*_robot_warnings(assembly.run), *prediction.warnings]
    run_warnings = [*joint_warnings(assembly), *(assembly.exact.stop_warnings() if assembly.exact else ())]
    run_warnings += energy_warnings(assembly.loop.energy_watch) + friction_warnings(assembly)
    run_warnings += beyond_the_interface(assembly, named)
    run_warnings += _bound_warnings(assembly, named, search)
    return [*early_warnings, *alarms, *run_warnings, *limit_warnings(assembly), *wrench_warnings(assembly, named)]


def _bound_warnings(assembly: Assembly, named: Mapping[str, Array], search: Search | None) -> list[str]:
    """Accelerations far beyond the law's bounds, with their causes where these are searched for."""
    excess, beyond = beyond_bounds(assembly, named)
    if excess <= WARNED or search is None:
        return [beyond] if excess > WARNED else []
    why = search.sentence(lambda *ended: beyond_bounds(*ended)[0] <= max(REMARKED, _LEFT * excess))
    return [f"{beyond}; {why}"]

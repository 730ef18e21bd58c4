"""A scenario that is simulated again: the assembly of its last run is kept and made ready once more.

Robot, scene and records are built anew only where something may have changed since: a file or code that the scenario
names, or the scenario itself. What is kept goes when the scenario does, and there is never more than one.
"""

from __future__ import annotations

import weakref

from palpate.run.assemble.renew import Renewable
from palpate.run.build import build
from palpate.scenario.file.places import with_paths
from palpate.scenario.model import Scenario


class _Kept:
    """The scenario of the last run and its assembly, or neither."""

    def __init__(self) -> None:
        self._slot: list[tuple[weakref.ref[Scenario], Renewable]] = []

    def take(self, scenario: Scenario) -> Renewable | None:
        """The assembly that is kept of a scenario, which nobody else then has."""
        try:
            known, kept = self._slot.pop()  # of two threads, one gets it
        except IndexError:
            return None
        return kept if known() is scenario else None

    def put(self, scenario: Scenario, kept: Renewable) -> None:
        """Keep an assembly in the place of the one before."""
        self._slot[:] = [(weakref.ref(scenario, self._let_go), kept)]

    def _let_go(self, gone: weakref.ref[Scenario]) -> None:
        self._slot[:] = [pair for pair in self._slot if pair[0] is not gone]


_last = _Kept()


def assembled(scenario: Scenario) -> Renewable:
    """A scenario ready to run: the kept assembly of its last run, or a new one."""
    kept = _last.take(scenario)
    if kept is not None and kept.renew(kept.first):
        return kept
    return Renewable(build(scenario))


def keep(scenario: Scenario, kept: Renewable) -> None:
    """Keep an assembly whose run is over, where the same scenario means the same run later on."""
    if kept.assembly.rescues.said is None and kept.assembly.compiled and not _names_files(scenario):
        _last.put(scenario, kept)


def _names_files(scenario: Scenario) -> bool:
    """Whether a scenario names files or code, which may be others by the next run."""
    named: list[str] = []

    def note(path: str) -> str:
        named.append(path)
        return path

    with_paths(scenario.as_data(), note)
    return bool(named or scenario.code)

"""Drawing of a run on the page: the scene once, and for each run the poses of its bodies and the lines of the plots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from palpate.errors import TraceError
from palpate.run.after.scene import scene_of
from palpate.run.assemble.assemble import Assembly
from palpate.trace import RunFacts, Trace
from palpate.views.first_figure import leading
from palpate.views.pages.interactive import charts
from palpate.views.pages.player import frames_data, replay_data
from palpate.views.panels import figures_of, marks_of

_NUMBERS = count(1)


class Drawing:
    """The drawing of one assembled structure, whose numbers may change.

    Attributes:
        structure: what it was made for.
        number: tells scenes apart; a page that has one is sent frames alone.
    """

    def __init__(self, assembly: Assembly, structure: object) -> None:
        """Begin with a structure."""
        self.structure, self.number = structure, next(_NUMBERS)
        self._facts = RunFacts(robot=assembly.run.robot.name, figure=assembly.run.law.report.figure)
        self._reach = 1.0  # m, of the camera

    def of(self, trace: Trace, assembly: Assembly, scene: int, figure: object) -> dict[str, Any]:
        """The drawing of a run.

        Args:
            trace: of the run.
            assembly: that made it.
            scene: number of the scene that the page has.
            figure: name of the second figure, None for none.
        """
        whole = with_scene(trace, assembly, self._facts)
        if not len(whole):
            return {"charts": [], "figures": []}
        lead, marks = leading(whole), marks_of(whole)
        shown = [] if lead is None else charts(lead, marks)
        if isinstance(figure, str):
            shown += [one for each in figures_of(whole) if each.name == figure for one in charts(each, marks)]
        answer: dict[str, Any] = {"charts": shown, "title": "" if lead is None else lead.title, "scene": self.number}
        if scene != self.number:
            answer["figures"] = [[each.name, each.title] for each in figures_of(whole)]
        try:
            return answer | self._motion(whole, scene)
        except TraceError as error:
            return answer | {"undrawn": str(error)}

    def _motion(self, trace: Trace, scene: int) -> dict[str, Any]:
        """The whole replay, or only its frames for a page that has the scene."""
        if scene == self.number:
            return {"frames": frames_data(trace, self._reach)}
        replay = replay_data(trace)
        self._reach = replay["camera"]["reach"]
        return {"replay": replay}


def with_scene(trace: Trace, assembly: Assembly, facts: RunFacts) -> Trace:
    """A bare trace with what is drawn of its scene."""
    arrays: Mapping[str, np.ndarray] = {name: trace[name] for name in trace}
    known = replace(trace.facts, scene=scene_of(assembly.plant), robot=facts.robot, figure=facts.figure)
    return Trace.over(arrays, trace.channels, trace.outcome, known)

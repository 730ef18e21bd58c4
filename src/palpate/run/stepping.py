"""How the compiled halves of a step are called: under guard, and around what is plain Python; and how a run ends."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from palpate.engine.fatal import FATAL, Rescue, call_guarded, fatal_message, rescue_for
from palpate.engine.kernels import Kernel
from palpate.engine.records import ReadOnly
from palpate.errors import PalpateError
from palpate.run.loop import loop
from palpate.run.loop.measure import pass_on_reading
from palpate.run.loop.state import RUNNING

if TYPE_CHECKING:
    from palpate.run.assemble.assemble import Assembly


INTERRUPTED, RAISED = -1, -3  # beside the loop's own ways to end, and FATAL


@dataclass
class Ending:
    """The status of a run under way.

    Attributes:
        status: RUNNING, or how it ended.
        raised: what the user's Python raised, in one sentence.
        by: whose Python it was: "law" or "reference".
    """

    status: int
    raised: str | None = None
    by: str = ""

    def interrupted(self) -> None:
        """The user wants no more of it; a run that is over already stays what it is."""
        if self.status == RUNNING:
            self.status = INTERRUPTED

    @contextmanager
    def noting(self, by: str, step: int) -> Iterator[None]:
        """Note what the user's Python raises instead of losing the run; a misuse at step 0 is raised as it is."""
        try:
            yield
        except PalpateError as error:
            if step == 0:
                raise
            self._note(by, error)
        except Exception as error:
            self._note(by, error)

    def _note(self, by: str, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        text = " ".join(str(error).split())
        self.by, self.raised = by, f"the {by} raised {type(error).__name__}: {text}{location}"


class Rescues:
    """Calls kernels of one loop under guard; `said` is what the engine gave as its reason, once one was fatal."""

    def __init__(self, loop: int) -> None:
        self._loop = loop
        self._rescues: dict[Kernel, Rescue] = {}
        self.said: str | None = None

    def call(self, code: Kernel, number: int = 0) -> int:
        """code(loop, number), or FATAL; nothing may be called after that."""
        return self.call_on(self._loop, code, number)

    def call_on(self, record: int, code: Kernel, number: int = 0) -> int:
        """The same of another record, which calls kernels of the loop."""
        return self.noted(code, call_guarded(self.rescue(code).address, record, number))

    def rescue(self, code: Kernel) -> Rescue:
        """Numbers that guard a kernel, for compiled code that calls it."""
        if code not in self._rescues:
            self._rescues[code] = rescue_for(code)
        return self._rescues[code]

    def noted(self, code: Kernel, status: int) -> int:
        """The status of a guarded call; what the engine said is noted where it was fatal."""
        if status == FATAL:
            self.said = fatal_message(self._rescues[code])
        return status


def _decision(assembly: Assembly) -> Callable[[Ending], bool]:
    """The function between the two halves of a step: plain sensors read, the law decides; False if one raised."""
    L, law = assembly.loop, assembly.law
    plain = [(k, sensor) for k, sensor in enumerate(assembly.sensors) if not sensor.compiled]
    tick, truth = ReadOnly(L.tick), ReadOnly(L.truth)

    def decide(ending: Ending) -> bool:
        if L.blind:
            return True
        for k, sensor in plain:
            with ending.noting("sensor", L.step):
                sensor.read(truth)
                pass_on_reading(L.address, k)
        if ending.raised is None:
            with ending.noting("law", L.step):
                if law.compiled:
                    law.decide(L.tick)
                else:
                    law.take(law.function(tick, law.gains, law.memory))
        return ending.raised is None

    return decide


def run_python(assembly: Assembly, steps: int, ending: Ending, second_half: Callable[[int], int] | None = None) -> int:
    """The same loop with a law or sensors in plain Python between its two halves; how the last step went.

    The second half is the compiled one if not given; it takes whether a control tick is due, as 0 or 1.
    """
    call, status, decide = assembly.rescues.call, RUNNING, _decision(assembly)
    second_half = second_half or partial(call, loop.second_half)
    for _ in range(steps):
        due = call(loop.first_half)
        if due == FATAL:
            return FATAL
        if due and not decide(ending):
            return RAISED
        status = second_half(due)
        if status != RUNNING:
            break
    return status

"""How the compiled halves of a step are called: under guard, and around what is plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from palpate.engine.fatal import FATAL, Rescue, guarded, rescue_for, said
from palpate.engine.kernels import Kernel
from palpate.engine.records import ReadOnly
from palpate.run.after.ending import RAISED, Ending
from palpate.run.loop import loop
from palpate.run.loop.measure import pass_on_reading
from palpate.run.loop.state import RUNNING

if TYPE_CHECKING:
    from palpate.run.assemble.assemble import Assembly


class Rescues:
    """Calls kernels of one loop under guard; `said` is what the engine gave as its reason, once one was fatal."""

    def __init__(self, loop: int) -> None:
        self._loop = loop
        self._rescues: dict[Kernel, Rescue] = {}
        self.said: str | None = None

    def call(self, code: Kernel, number: int = 0) -> int:
        """code(loop, number), or FATAL; nothing may be called after that."""
        rescue = self._rescues.get(code)
        if rescue is None:
            rescue = self._rescues[code] = rescue_for(code)
        status = guarded(rescue.address, self._loop, number)
        if status == FATAL:
            self.said = said(rescue)
        return status


def thinking(assembly: Assembly) -> Callable[[Ending], bool]:
    """What happens between the two halves of a step: plain sensors read, the law decides; False if one raised."""
    L, law = assembly.loop, assembly.law
    plain = [(k, sensor) for k, sensor in enumerate(assembly.sensors) if not sensor.compiled]
    tick, truth = ReadOnly(L.tick), ReadOnly(L.truth)

    def think(ending: Ending) -> bool:
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

    return think


def run_python(assembly: Assembly, steps: int, ending: Ending) -> int:
    """The same loop with a law or sensors in plain Python between its two compiled halves."""
    call, status, think = assembly.rescues.call, RUNNING, thinking(assembly)
    for _ in range(steps):
        due = call(loop.first_half)
        if due == FATAL:
            return FATAL
        if due and not think(ending):
            return RAISED
        status = call(loop.second_half, due)
        if status != RUNNING:
            break
    return status

"""A run taken a few ticks at a time, with a target that the caller may change in between."""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.control.tick import Target, sizes_of
from palpate.errors import InvalidInput
from palpate.run.advancing import stepper
from palpate.run.after.finish import trace_of
from palpate.run.after.keep import Keeper
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.before.checks import check_start
from palpate.run.loop import loop, state as S
from palpate.run.run import Run
from palpate.run.stepping import Ending
from palpate.trace import Trace


class Steps:
    """A run under way: the same loop as `simulate`, step by step.

    Attributes:
        assembly: everything the loop works on.
        target: what the law is asked for until the caller changes it: its fields `position`, `quat_wxyz`, `q`, … may be
            written between two calls of `advance`.
        target_numbers: the same numbers as one array.
    """

    def __init__(self, run: Run) -> None:
        """Make the run ready.

        Raises:
            InvalidInput: the start is refused.
        """
        self.assembly: Assembly = assemble(run)
        self._prediction = check_start(self.assembly)
        self._keeper, self._ending = Keeper(self.assembly), Ending(S.RUNNING)
        self._step = stepper(self.assembly, self._ending)
        q, _ = run.start()
        self.target_numbers = np.array(run.reference.sample(np.zeros(1), run.robot, q))[0]
        self.target = Target.over(self.target_numbers, sizes_of(run.robot))

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.assembly.loop.step * self.assembly.loop.dt

    @property
    def compiled(self) -> bool:
        """Whether its steps are the compiled loop's, which `note` is told of where other compiled code calls it."""
        return self.assembly.compiled and self.assembly.exact is None

    @property
    def running(self) -> bool:
        """Whether there is anything left to run."""
        return self._ending.status == S.RUNNING

    def advance(self, ticks: int) -> None:
        """Run some control ticks with the target as it stands."""
        L, left = self.assembly.loop, ticks
        while left > 0 and self.running:
            now = min(left, self.most_ticks)
            L.targets[:now] = self.target_numbers
            L.first_target = L.tick_count
            self.make_room()
            steps = now * L.ratio
            while steps > 0 and self.running:
                began = L.step
                self._ending.status = self._step(steps)
                steps -= max(L.step - began, 1)
            left -= now

    @property
    def most_ticks(self) -> int:
        """Control ticks that can be run at once: the loop has room for their targets and, in half of it, samples."""
        L = self.assembly.loop
        return max(1, min(len(L.targets), len(L.times) // 2 * L.stride // L.ratio))

    def make_room(self) -> None:
        """Take samples out of the loop where it is half full; they are left there otherwise, for taking is slow."""
        if 2 * self.assembly.loop.recorded >= len(self.assembly.loop.times):
            self._keeper.take()

    def note(self, status: int) -> None:
        """Take over how the loop's steps went that compiled code has called itself."""
        self._ending.status = self.assembly.rescues.noted(loop.run_steps, status)

    def column(self, name: str) -> Array:
        """The numbers of a channel at the last step.

        Raises:
            InvalidInput: the run has no such channel.
        """
        rows = self.assembly.layout
        if name not in rows.starts:
            raise InvalidInput(f"this run has no channel {name!r}", hint="palpate list channels")
        size = next(channel.size for channel in rows.channels if channel.name == name)
        return rows.array[rows.starts[name] :][:size].copy()

    def trace(self) -> Trace:
        """The record up to now."""
        return trace_of(self.assembly, self._ending, self._keeper, self._prediction)

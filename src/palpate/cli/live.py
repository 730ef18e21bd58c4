"""`palpate run --live`: a page that follows the run while it computes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

import palpate as pp
from palpate.cli.console import open_address
from palpate.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from palpate.run.after.keep import Keeper
    from palpate.run.assemble.assemble import Assembly
    from palpate.scenario.model import Scenario
    from palpate.trace import RunFacts, Trace

FRAMES_PER_SECOND = 30.0
PATIENCE = 15.0  # s for a browser to come, before the run goes on without one


class Live:
    """Follows a run at real time, or slower where the run itself is: it waits between frames and changes nothing.

    Attributes:
        steps: physics steps between two frames.
        url: where the page is.
    """

    def __init__(self, port: int) -> None:
        """Start the server, on 127.0.0.1 alone.

        Raises:
            FileError: the port is taken.
        """
        from palpate.views.pages.serve import LiveServer

        self._server = LiveServer(port)
        self.url, self.steps, self._began, self._shown = self._server.url, 1, 0.0, 0
        self._facts: RunFacts | None = None

    def of(self, scenario: Scenario, assembly: Assembly) -> Self:
        """Made ready for a run.

        Raises:
            InvalidInput: it records no joint positions.
        """
        from palpate.run.after.scene import scene_of

        if "q" not in [channel.name for channel in assembly.chosen]:
            raise InvalidInput("--live shows what is recorded, and 'q' is not", hint="add q to record.channels")
        self.steps = max(1, round(1 / FRAMES_PER_SECOND / assembly.run.clock.timestep))
        self._facts = pp.trace.RunFacts(
            scenario={"name": scenario.name}, robot=assembly.run.robot.name, scene=scene_of(assembly.plant)
        )
        return self

    def __call__(self, keeper: Keeper) -> None:
        """Show the last sample, and wait until its time has come."""
        from palpate.views.pages.player import live_frame

        if keeper.count == self._shown:
            return
        sample = self._last(keeper)
        if self._shown == 0:
            self._begin(sample)
        self._shown = keeper.count
        self._server.send(live_frame(sample))
        time.sleep(max(0.0, sample.time[-1] - (time.monotonic() - self._began)))

    def _last(self, keeper: Keeper) -> Trace:
        data = {channel: array[-1:] for channel, array in keeper.data.items()}
        outcome = pp.trace.Outcome("interrupted", "under way", 0.0, 0)
        return pp.Trace(keeper.times[-1:], data, outcome, (), self._facts)

    def _begin(self, first: Trace) -> None:
        """Offer the page, and wait for a viewer."""
        from palpate.views.pages.player import live_html
        from palpate.views.pages.serve import EVENTS

        self._server.page = live_html(first, EVENTS).encode()
        print(f"live at {self.url}", file=sys.stderr, flush=True)
        if not open_address(self.url):
            print(f"palpate: no display and no browser here; the run waits {PATIENCE:.0f} s for one", file=sys.stderr)
        if not self._server.wait_for_viewer(PATIENCE):
            print("palpate: nobody opened the live view; the run starts", file=sys.stderr)
        self._began = time.monotonic() - first.time[-1]

    def finish(self, trace: Trace, output: Path) -> None:
        """Tell the page how it ended, and hand it the report."""
        outcome = trace.outcome
        ending = f"{outcome.kind} at {outcome.time:.6g} s"
        self._server.finish(ending, output.read_bytes() if output.suffix == ".html" else b"")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._server.close()

"""A run at real time that is pushed by hand and goes on beyond its end, with settings that may change on the way."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.errors import InvalidInput, PalpateError
from palpate.run.after.outcome import outcome_of
from palpate.run.after.scene import scene_of
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop import state as S
from palpate.run.prepared import Prepared
from palpate.run.saved import SavedState, restore_state, save_state
from palpate.run.simulate import stepper
from palpate.run.stepping import Ending
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.robot import build_robot
from palpate.trace import Outcome, RunFacts, Trace, named_channels
from palpate.views.pages.player import live_data, live_frame
from palpate.views.pages.serve import Stream

FRAMES_PER_SECOND = 30.0
LARGEST_FORCE = 1e4  # N, of a hand
HELD = 1.0  # s of silence after which a hand has let go
_ENDLESS = 2**62
_HAND = "hand."  # the pushes that stand for a hand, one on each body


class LiveRun:
    """A run under way and the hand that pushes it.

    Attributes:
        stream: of its frames.
        said: what the page is told beside the frames.
        first: the page's data before the first frame.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        """Make a scenario's data ready to run.

        Raises:
            PalpateError: it is refused, or records no joint positions.
        """
        self.stream, self.said = Stream(), ""
        self._lock, self._closed = threading.RLock(), threading.Event()
        self._runs = 1  # how often it was started
        self._push: tuple[int, Array, Array] | None = None
        self._pushed = -np.inf
        self._thread: threading.Thread | None = None
        self._begin(data)

    def _begin(self, data: dict[str, Any]) -> None:
        self._prepared, self._hands = Prepared(data), hands_of(data)
        self._take(self._ready(data), None)
        if "q" not in [channel.name for channel in self.assembly.chosen]:
            raise InvalidInput("a live run shows what is recorded, and 'q' is not", hint="add q to record.channels")
        self.advance(1)
        self.first = live_data(self.sample())

    def _ready(self, data: dict[str, Any]) -> Assembly:
        """The assembly of a scenario's data with a push of 0 N on every link, for a hand to change."""
        world = data["world"]
        pushes = [*world.get("pushes", []), *self._hands]
        return self._prepared.ready({**data, "world": {**world, "pushes": pushes}})[0].assembly

    def _take(self, assembly: Assembly, saved: SavedState | None) -> None:
        """Go on with an assembly, from a saved state if there is one."""
        self.assembly, self._ending = assembly, Ending(S.RUNNING)
        if saved is not None:
            restore_state(assembly, saved)
        L = assembly.loop
        L.steps = _ENDLESS
        self._step = stepper(assembly, self._ending)
        self._row: Array | None = None
        robot = assembly.run.robot
        self._facts = RunFacts(robot=robot.name, scene=scene_of(assembly.plant), figure=assembly.run.law.report.figure)
        self._bodies = {int(push.body): k for k, push in enumerate(L.pushes) if self._is_hand(k)}

    @property
    def bodies(self) -> list[int]:
        """Numbers of the bodies that a hand can push; the tool's is the last."""
        tool = int(self.assembly.plant.tool.body)
        return sorted(self._bodies, key=lambda body: (body == tool, body))

    def _is_hand(self, k: int) -> bool:
        return self.assembly.run.world.pushes[k].name.startswith(_HAND)

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.assembly.loop.step * self.assembly.loop.dt

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._ending.status == S.RUNNING

    def push(self, body: int, point: ArrayLike, force: ArrayLike) -> None:
        """Push a body from now on until another push, `release`, or a second of silence.

        Args:
            body: number of the body in the scene.
            point: where, in the body's own axes, m.
            force: world axes, N.

        Raises:
            InvalidInput: the body is none of the robot, or a number is not finite.
        """
        if body not in self._bodies:
            raise InvalidInput(f"body {body} is none that a hand can push; these are {sorted(self._bodies)}")
        where, wrench = finite_array(point, "point", (3,)), finite_array(force, "force", (3,))
        size = float(np.linalg.norm(wrench))
        if size > LARGEST_FORCE:
            raise InvalidInput(f"a hand pushes with at most {LARGEST_FORCE:g} N, got {size:.4g} N")
        with self._lock:
            self._push, self._pushed = (body, where, wrench), self.time

    def release(self) -> None:
        """Let go."""
        with self._lock:
            self._push = None

    def change(self, data: dict[str, Any]) -> None:
        """Go on with other settings from the state that the run is in; start again where that is another loop.

        Raises:
            PalpateError: the settings are refused; the run goes on as before.
        """
        with self._lock:
            saved = self._saved()
            assembly = self._ready(data)
            try:
                self._take(assembly, saved)
                self.said = "" if saved is not None else "started again"
            except PalpateError as error:
                self._take(assembly, None)
                self.said = f"started again: {error}"
            if self.said:
                self._runs += 1
                self.stream.forget()

    def _saved(self) -> SavedState | None:
        """The state of the run; None where it has ended, or its contact is exact and cannot be saved."""
        try:
            return save_state(self.assembly) if self.running else None
        except PalpateError:
            return None

    def advance(self, ticks: int) -> None:
        """Run some control ticks under the push that acts now."""
        with self._lock:
            L, left = self.assembly.loop, ticks
            self._place_hand()
            while left > 0 and self.running:
                now = min(left, len(L.targets), max(1, (len(L.times) - 1) * L.stride // L.ratio))
                self._sample_targets(now)
                goal = L.step + now * L.ratio
                while L.step < goal and self.running:
                    self._ending.status = self._step(goal - L.step)
                    self._keep_last()
                left -= now

    def _sample_targets(self, ticks: int) -> None:
        L, run = self.assembly.loop, self.assembly.run
        times = (L.tick_count + np.arange(ticks)) * L.period
        L.targets[:ticks] = run.reference.sample(times, run.robot, run.start()[0])
        L.first_target = L.tick_count
        self.assembly.sampled = None

    def _keep_last(self) -> None:
        L = self.assembly.loop
        if L.recorded and np.isfinite(L.record[L.recorded - 1]).all():
            self._row, self._time = L.record[L.recorded - 1].copy(), float(L.times[L.recorded - 1])
        L.recorded = 0

    def _place_hand(self) -> None:
        """Let the pushes that stand for a hand do what it does."""
        pushes = self.assembly.loop.pushes
        for k in self._bodies.values():
            pushes[k].wrench[:] = 0.0
        if self._push is None or self.time - self._pushed > HELD:
            return
        body, where, force = self._push
        hand = pushes[self._bodies[body]]
        hand.offset[:], hand.wrench[:3] = where, force

    def sample(self) -> Trace:
        """The last sample as a trace.

        Raises:
            InvalidInput: there is none.
        """
        if self._row is None:
            raise InvalidInput(f"the run ended before its first sample: {self.outcome}")
        arrays, column = {"time": np.array([self._time])}, 0
        for channel in self.assembly.chosen:
            arrays[channel.name] = self._row[column : column + channel.size].reshape(1, *channel.shape)
            column += channel.size
        return Trace.over(arrays, named_channels(self.assembly.chosen), self.outcome, self._facts)

    @property
    def outcome(self) -> Outcome:
        """How the run stands."""
        if self.running:
            return Outcome("interrupted", "under way", self.time, self.assembly.loop.tick_count)
        return outcome_of(self.assembly, self._ending)

    # At real time, in a thread of its own.

    def start(self) -> None:
        """Run at real time, or slower where the run is, while a page is connected."""
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the run."""
        self._closed.set()
        self.stream.end({"said": f"ended at {self.time:.4g} s", "report": None})
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        due = time.monotonic()
        while not self._closed.is_set():
            if not self.stream.viewers:
                self.stream.wait_for_viewer(0.2)
                due = time.monotonic()
                continue
            self.show_next()
            if not self.running:
                return self._say_end()
            due = max(due + 1.0 / FRAMES_PER_SECOND, time.monotonic() - 0.2)  # what is late by more is given up
            self._closed.wait(max(0.0, due - time.monotonic()))
        return None

    def show_next(self) -> None:
        """Run one thirtieth of a second, and show it."""
        self.advance(max(1, round(1.0 / FRAMES_PER_SECOND / self.assembly.loop.period)))
        with self._lock:
            frame = live_frame(self.sample()) | {"said": self.said, "run": self._runs}
            if self._push is not None and frame["arrows"]:  # the last is the sum of all pushes
                hand = self.assembly.loop.pushes[self._bodies[self._push[0]]]
                frame["arrows"][-1][1] = [round(float(x), 6) for x in hand.position]
            self.stream.send(frame)

    def _say_end(self) -> None:
        self.stream.end({"said": str(self.outcome), "report": None})


def hands_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """A push of 0 N on every link of a scenario's robot."""
    robot = build_robot(scenario_from_data(data).robot)
    names = [robot.model.body(b).name for b in range(1, robot.model.nbody)]
    return [{"name": f"{_HAND}{name}", "frame": name, "duration": 1e9} for name in names if name]

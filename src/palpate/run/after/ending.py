"""The last part of a run, and the loop as it stands there: its poles, and how the arm gives way under its law."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palpate.checks import Array
from palpate.forking import cached_property
from palpate.run.after.tolerance import HOLD
from palpate.run.assemble.assemble import Assembly
from palpate.run.before.differences import ModelDifference, differences
from palpate.run.run import Run
from palpate.run.tangent.edge import affordable_state, rate_of
from palpate.run.tangent.loop_poles import LoopPoles, poles_here
from palpate.run.tangent.rest import Compliance, compliance_here, contact_slope, unlimited
from palpate.run.tangent.tick_map import LoopState
from palpate.world.config import Push

WINDOW = 0.05  # of the run, at its end, over which is averaged
_SIGNALS = ("target_position", "target_quat_wxyz", "target_q", "target_wrench", "push_wrench")
_CHANGED = 1e-3  # of a signal's size: less is no change


class End:
    """The last part of a run that has come to its end."""

    def __init__(self, assembly: Assembly, named: Mapping[str, Array]) -> None:
        self.assembly, self.run, self.named = assembly, assembly.run, named
        self.robot, self.law, self.times = assembly.run.robot, assembly.run.law, named["time"]
        self.window = slice(max(int((1.0 - WINDOW) * len(self.times)), 0), None)

    @property
    def q(self) -> Array:
        """Joint positions at the end."""
        return self.named["q"][-1]

    def mean(self, channel: str) -> Array:
        """Of a channel over the last part."""
        return self.named[channel][self.window].mean(axis=0)

    @cached_property
    def jacobian(self) -> Array:
        """6×n, world axes, at the end."""
        return self.robot.jacobian(self.q)

    @cached_property
    def wrench(self) -> Array:
        """Of surfaces, objects and pushes on the robot."""
        return self.mean("contact_wrench") + self.mean("push_wrench")

    @cached_property
    def state(self) -> LoopState | None:
        """Of the loop as it stands; None where asking it anything would take too long."""
        return affordable_state(self.assembly)

    @cached_property
    def poles(self) -> LoopPoles | None:
        """Of the loop as it stands."""
        return None if self.state is None else self._poles()

    def _poles(self) -> LoopPoles:
        return poles_here(self.assembly, finer=False, probing=False, state=self.state)

    @property
    def speed(self) -> float:
        """The largest of the joints in the last part, rad/s or m/s; 0 where it was not recorded."""
        return float(np.abs(self.named["v"][self.window]).max(initial=0.0)) if "v" in self.named else 0.0

    @cached_property
    def rate(self) -> float | None:
        """1/s, of the slowest pole; 0 where the loop is not stable, None where it is not known.

        Where the driver cuts torques errors are not answered: there it is that of the loop without its limits.
        """
        poles = self.poles
        if poles is not None and poles.saturated:
            with unlimited(self.assembly):
                poles = self._poles()
        return None if poles is None else rate_of(poles, self.quiet)

    @cached_property
    def compliance(self) -> Compliance | None:
        """How the arm gives way under its law."""
        pressing = bool(self.law.traits.force_directions)
        return None if self.state is None else compliance_here(self.assembly, pressing=pressing, state=self.state)

    @cached_property
    def contact_slope(self) -> Array | None:
        """6×n: the change of the surfaces' wrench with each joint."""
        return None if self.state is None else contact_slope(self.assembly, self.state)

    @cached_property
    def differences(self) -> list[ModelDifference]:
        """Declared ones that are there at the end."""
        end = self.times[-1]
        return [each for each in differences(self.assembly, self.q) if each.since < end < each.until]

    @cached_property
    def quiet_since(self) -> float:
        """When target, pushes, contact, loads or sensor last changed, s; at the end, where that was not recorded."""
        world, end = self.run.world, float(self.times[-1])
        if not {*_SIGNALS, "contact_force"} <= set(self.named):
            return end
        spans = [(push, push.start + _duration(push, self.run)) for push in world.pushes]
        waving = any(push.kind in ("ramp", "sine") and push.start < end < until for push, until in spans)
        if waving or any(surface.motion is not None for surface in world.surfaces):
            return end
        instants = [t for load in world.attachments for t in (load.attach, load.release)]
        instants += [t for fault in world.faults for t in (fault.at, fault.end)]
        instants += [t for push, until in spans for t in (push.start, until)]
        clock = [t for t in instants if t is not None and t < end]
        touching = self.named["contact_force"] > 0
        return max(0.0, *clock, *map(self._last_change, _SIGNALS), self._last_time(touching != touching[-1]))

    def _last_change(self, name: str) -> float:
        x = self.named[name]
        size = max(float(np.abs(x).max(initial=0.0)), 1e-12)
        return self._last_time((np.abs(x - x[-1]) > _CHANGED * size).any(axis=1))

    def _last_time(self, differs: Array) -> float:
        """When samples have differed from the end's for the last time, s."""
        away = np.flatnonzero(differs)
        return float(self.times[min(away[-1] + 1, len(self.times) - 1)]) if len(away) else 0.0

    @property
    def quiet(self) -> float:
        """s since the last change."""
        return float(self.times[-1]) - self.quiet_since

    @property
    def since(self) -> int:
        """The sample of the last change."""
        return min(int(np.searchsorted(self.times, self.quiet_since)), len(self.times) - 1)

    @property
    def late(self) -> float:
        """s by which sensors, driver and the hold of commands delay the loop."""
        world, T = self.run.world, self.run.clock.control_period
        return T * (HOLD + world.sensors.delay + world.driver.delay)

    @property
    def noisy(self) -> bool:
        """Whether sensors scatter."""
        s = self.run.world.sensors
        wrist = s.wrench.noise_force or s.wrench.noise_torque
        return bool(s.encoder_noise or s.velocity_noise or s.encoder_resolution or wrist or s.camera.noise)


def _duration(push: Push, run: Run) -> float:
    return run.clock.timestep if push.kind == "impulse" else push.duration

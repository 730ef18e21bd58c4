"""The wrench sensor of a finished run.

It is judged by what it must show: a reading of exactly 0 while something acts on the tool, one that is the same to the
last bit while that changes (or while it has noise), and one that is not 0 at the start while nothing touches. There are
no warnings where the law does not read the wrench.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palpate.checks import Array
from palpate.control.law import Law
from palpate.run.assemble.assemble import Assembly
from palpate.run.run import Run

_NEEDED = ("time", "measured_wrench", "contact_wrench", "push_wrench", "v")
NOTICED = 1e-6  # N or N·m: less does not count as a wrench, or as a change of one
_LEAST_SAMPLES = 10  # samples of control that a fault of the wrench sensor is watched for
_START, _STILL = 0.05, 1e-6  # s at the start that count, and rad/s or m/s of an arm at rest
_SIGMAS = 6.0  # of the noise, that a mean reading must leave to be a bias


# A sensor is judged by what it must show: a reading of exactly 0 while something acts on the tool, one that is the same
# to the last bit while that changes (or while it has noise), and one that is not 0 at the start while nothing touches.
# There are no warnings where the law does not read the wrench.
def wrench_warnings(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A dead, stuck or biased wrench sensor, in words."""
    run = assembly.run
    feels = not isinstance(run.law, Law) or run.law.reads.wrench
    if not feels or not set(_NEEDED) <= set(named) or len(named["time"]) < _LEAST_SAMPLES:
        return []
    acting = named["contact_wrench"] + named["push_wrench"] if all_is_felt(assembly) else None
    return [*_biased(assembly, named), *_stuck(run, named, acting)]


def all_is_felt(assembly: Assembly) -> bool:
    """Whether everything that can touch or push the robot does so at the wrist sensor or beyond it."""
    run, loop = assembly.run, assembly.loop
    bodies = {int(loop.wrist.body), *map(int, loop.wrist.beyond)}
    tool = {None, run.robot.tool_frame}
    touching = all(point.body in bodies for point in assembly.plant.points if point.on_robot)
    return touching and all(push.frame in tool for push in run.world.pushes) and not run.world.objects


def _stuck(run: Run, named: Mapping[str, Array], acting: Array | None) -> list[str]:
    """Of a reading that has not changed any more up to the end."""
    readings, times, sensor = named["measured_wrench"], named["time"], run.world.sensors.wrench
    other = np.flatnonzero((readings != readings[-1]).any(axis=1))
    since = int(other[-1]) + 1 if len(other) else 0
    late = sensor.delay * run.clock.control_period
    if times[-1] - times[since] < late + _LEAST_SAMPLES * run.clock.control_period:
        return []
    # What acts is read only after the delay.
    end = int(np.searchsorted(times, times[-1] - late, side="right"))
    seen = None if acting is None else acting[since:end]
    most = 0.0 if seen is None else float(np.abs(seen).max(initial=0.0))
    if not readings[-1].any() and seen is not None and (np.abs(seen).max(axis=1) > NOTICED).sum() >= _LEAST_SAMPLES:
        return [
            f"the wrench sensor reads exactly 0 from {times[since]:.4g} s on, although up to {most:.3g} N or N·m act on"
            " the tool: it is dead, and the law does not feel what it touches"
        ]
    changed = 0.0 if seen is None or not len(seen) else float(np.ptp(seen, axis=0).max())
    scatters = bool(sensor.noise_force or sensor.noise_torque)
    if not (scatters or changed > max(NOTICED, 1e-6 * most)):
        return []
    why = f"what acts on the tool changed by up to {changed:.3g} N or N·m" if changed > NOTICED else "it has noise"
    return [f"the measured wrench is stuck from {times[since]:.4g} s on, although {why} since"]


def _biased(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """Of a reading at the start, while nothing touches and the arm stands."""
    sensor, period = assembly.run.world.sensors.wrench, assembly.run.clock.control_period
    times = named["time"]
    free = ~(named["contact_wrench"].any(axis=1) | named["push_wrench"].any(axis=1))
    still = np.abs(named["v"]).max(axis=1) <= _STILL
    begins = max(sensor.delay * period, 3.0 / (2 * np.pi * sensor.cutoff) if sensor.cutoff else 0.0)
    if not assembly.loop.wrist.beyond.size:  # nothing hangs on it: its motion is not read either
        still[:] = True
    held = np.minimum.accumulate(free & still)
    chosen = held & (times >= begins) & (times <= begins + _START)
    if not chosen.any():
        return []
    mean, ticks = named["measured_wrench"][chosen].mean(axis=0), max(int(np.ptp(times[chosen]) / period), 1)
    noise = np.repeat([sensor.noise_force, sensor.noise_torque], 3)
    over = np.abs(mean) > _SIGMAS * noise / np.sqrt(ticks) + 1e-9
    if not over.any():
        return []
    words = ", ".join(f"{x:.3g}" for x in np.where(over, mean, 0.0))
    return [
        f"the wrench sensor reads ({words}) N, N·m at the start, while nothing touches the tool: a bias, or a load that"
        " the law's model lacks; the law takes it for contact"
    ]

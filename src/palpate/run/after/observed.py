"""What a finished run shows: its contact, its energies, what the loop around the law adds, and its wrench sensor."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.control.law import Law
from palpate.control.promise import promise_axes
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop.state import EnergyWatch
from palpate.run.run import Run
from palpate.spatial import matrix_from_quat
from palpate.world.plants.distances import depths

MOST_RESIDUAL = 0.05  # of the energy that was moved
_SMALLEST = 1e-6  # J; below, there is nothing to balance
REMARKED, WARNED = 2e-3, 0.05  # of a bound: an excess that is remarked on, and one that is warned of
_MOVED = 1e-6  # m or rad
_NEEDED = ("time", "measured_wrench", "contact_wrench", "push_wrench", "v")
_MOST_SAMPLES = 200  # samples of a run that are searched for the closest distance
_LEAST_SAMPLES = 10  # samples of control that a fault of the wrench sensor is watched for
_NOTICED = 1e-6  # N or N·m: less does not count as a wrench, or as a change of one
_START, _STILL = 0.05, 1e-6  # s at the start that count, and rad/s or m/s of an arm at rest
_LAST = 1 / 3  # of the time since the first touch: what is judged
_LOST, _LEAST = 3, 0.02  # times, and share of that time without contact, from which on it counts as bouncing
_LEADS = ("target_position", "target_q", "target_wrench")
_SIGMAS = 6.0  # of the noise, that a mean reading must leave to be a bias


# ---------------------------------------------------------------------------------------------- contact


def contact_story(named: Mapping[str, Array]) -> tuple[list[str], list[str]]:
    """How the contact went, and a warning where it is lost again and again under a target that stands still."""
    force = named.get("contact_force")
    touched = np.flatnonzero(force > 0) if force is not None else np.zeros(0, dtype=int)
    if force is None or not len(touched):
        return [], []
    since = force.ravel()[touched[0] :] > 0
    text = f"in contact {100 * since.mean():.3g} % of the time since the first touch, lost {_times_lost(since)} times"
    last = since[-max(int(_LAST * len(since)), 1) :]
    lost, free = _times_lost(last), 1.0 - last.mean()
    if lost < _LOST or free <= _LEAST or not _stands_still(named, len(last)):
        return [text], []
    span = float(named["time"][-1] - named["time"][-len(last)])
    return [text], [
        f"contact bounces: lost {lost} times in the last {span:.3g} s, {100 * free:.3g} % of this time without contact;"
        " more damping of the wall or law, less delay of the wrench, or a slower approach end it"
    ]


def _times_lost(touching: Array) -> int:
    """How often contact was lost."""
    return int(np.count_nonzero(touching[:-1] & ~touching[1:]))


def _stands_still(named: Mapping[str, Array], samples: int) -> bool:
    """Whether in so many last samples nothing pushed and the target stood still: neither takes the tool away."""
    if not {*_LEADS, "push_wrench"} <= set(named) or named["push_wrench"][-samples:].any():
        return False
    return all(np.ptp(named[name][-samples:], axis=0).max(initial=0.0) <= _NOTICED for name in _LEADS)


def contact_remarks(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A sentence where there was something to touch and it was never touched: the closest distance, and to what."""
    world, plant = assembly.run.world, assembly.plant
    if not world.surfaces or assembly.exact is not None or not {"contact_force", "q"} <= set(named):
        return []
    if not len(named["q"]) or np.any(named["contact_force"] > 0):  # a run that has not begun says nothing
        return []
    L = assembly.loop
    # Whether the loop found the robot in a surface at any step, recorded or not.
    if any(c.point.on_robot and c.looks for c in L.contacts) or any(reading.looks for reading in L.rigid):
        every = assembly.run.record.stride
        return [f"a surface was touched, between two of the recorded samples: every {every}th step is recorded"]
    still = [surface for surface in plant.surfaces if surface.motion is None]
    points = [point for point in plant.points if point.on_robot]
    if not still or not points or plant.model.nq != assembly.run.robot.nq:
        return ["no surface was touched"]
    data, q = mujoco.MjData(plant.model), named["q"]
    samples = np.linspace(0, len(q) - 1, min(len(q), _MOST_SAMPLES)).astype(int)
    centres = np.empty((len(points), len(samples), 3))
    for row, sample in enumerate(samples):
        data.qpos[:] = q[sample]
        mujoco.mj_kinematics(plant.model, data)
        for k, point in enumerate(points):
            centres[k, row] = data.xpos[point.body] + data.xmat[point.body].reshape(3, 3) @ point.offset
    distances = {
        (point.name, surface.name): float(-depths(surface, centre, point.radius).max())
        for point, centre in zip(points, centres)
        for surface in still
    }
    (point, surface), closest = min(distances.items(), key=lambda item: item[1])
    return [f"no surface was touched; the closest distance was {1e3 * closest:.3g} mm, from {point!r} to {surface!r}"]


# ---------------------------------------------------------------------------------------------- energies


def energy_warnings(w: EnergyWatch) -> list[str]:
    """Warn of energies that do not add up, and of a loss that gives some back; see `watch_energies`.

    Where dissipated energy falls, a contact or damper is too stiff for the step.
    """
    moved = max(w.worked, w.most_kinetic - w.least_kinetic, w.most_potential - w.least_potential)
    if moved < _SMALLEST:
        return []
    warnings = []
    if abs(w.residual) > MOST_RESIDUAL * moved:
        warnings.append(
            f"the energies do not add up: {w.residual:.3g} J too much at {w.residual_time:.4g} s,"
            f" {abs(w.residual) / moved:.0%} of the {moved:.3g} J that were moved; use a shorter physics step, or"
            " integrator = 'rk4'"
        )
    if w.fall > max(MOST_RESIDUAL * moved, _SMALLEST):
        warnings.append(
            f"dissipated energy fell by {w.fall:.3g} J until {w.fall_time:.4g} s, which is impossible; use"
            " a shorter physics step, or less contact stiffness and damping"
        )
    return warnings


# ---------------------------------------------------------------------------------------------- around the law


def beyond_bounds(assembly: Assembly, named: Mapping[str, Array]) -> tuple[float, str]:
    """By how much accelerations left the bounds that the law keeps at its ticks, a share of them, and a sentence.

    Torques are held for a period while the arm moves on; and what the law's model lacks accelerates the arm, too.
    """
    run = assembly.run
    most = run.law.acceleration_bound(run.robot) if isinstance(run.law, Law) else None
    if most is None or not {"v", "time"} <= set(named) or len(named["time"]) < 3:
        return 0.0, ""
    steps = np.diff(named["time"])[:, None]
    share = np.abs(np.diff(named["v"], axis=0) / steps) / most - 1.0
    k, j = (int(i) for i in np.unravel_index(np.argmax(share), share.shape))
    return float(share[k, j]), (
        f"{run.robot.dof_names[j]} passed its acceleration bound of {most[j]:.4g} {run.robot.dof_units[j]}/s² by"
        f" {100 * share[k, j]:.2g} % at {named['time'][k]:.4g} s"
    )


def beyond_the_interface(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A warning of a tool that was faster under position or velocity commands than its interface lets it be."""
    if assembly.law.command not in ("position", "velocity") or "tool_twist" not in named or len(named["time"]) < 2:
        return []
    facts, twist, time = assembly.run.world.driver.facts_for(assembly.run.robot), named["tool_twist"], named["time"]
    changes = np.diff(twist, axis=0) / np.diff(time)[:, None]
    warnings = []
    for part, per in ((slice(0, 3), "m/s"), (slice(3, 6), "rad/s")):
        at = part.start // 3
        pairs = (
            ("moved at", twist, facts.tool_speed_limit[at], per, "tool_speed_limit"),
            ("accelerated at", changes, facts.tool_acceleration_limit[at], f"{per}²", "tool_acceleration_limit"),
        )
        for verb, rows, limit, unit, key in pairs:
            size = np.linalg.norm(rows[:, part], axis=1)
            k = int(np.argmax(size))
            if limit and size[k] > (1.0 + REMARKED) * limit:
                warnings.append(
                    f"the tool {verb} {size[k]:.4g} {unit} at {time[k]:.4g} s; the interface stops an arm at"
                    f" {limit:g} {unit} (world.driver.{key}), which is not simulated"
                )
    return warnings


def dropped_motion(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A remark on motion of the target along a direction in which the law controls the force instead."""
    run = assembly.run
    if not isinstance(run.law, Law) or not run.law.drops_motion:
        return []
    if not {"target_position", "tool_quat_wxyz"} <= set(named) or not len(named["time"]):
        return []
    moved = named["target_position"] - named["target_position"][0]
    for promise in run.law.promises(run.robot):
        axes = promise_axes(promise, matrix_from_quat(named["tool_quat_wxyz"][-1]), promise.force)
        size = np.abs(moved @ axes[:, :3].T).max(axis=0, initial=0.0)
        along = [f"{d} ({1e3 * s:.3g} mm)" for d, s in zip(promise.force, size) if s > _MOVED]
        if along:
            return [
                f"{run.law.name} controls the force along {', '.join(promise.force)}: the motion of the reference along"
                f" {', '.join(along)} is ignored while in contact"
            ]
    return []


# ---------------------------------------------------------------------------------------------- the wrench sensor
# A sensor is judged by what it must show: a reading of exactly 0 while something acts on the tool, one that is the same
# to the last bit while that changes (or while it has noise), and one that is not 0 at the start while nothing touches.
# There are no warnings where the law does not read the wrench.


def wrench_warnings(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A dead, stuck or biased wrench sensor, in words."""
    run = assembly.run
    feels = not isinstance(run.law, Law) or run.law.feels
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
    if not readings[-1].any() and seen is not None and (np.abs(seen).max(axis=1) > _NOTICED).sum() >= _LEAST_SAMPLES:
        return [
            f"the wrench sensor reads exactly 0 from {times[since]:.4g} s on, although up to {most:.3g} N or N·m act on"
            " the tool: it is dead, and the law does not feel what it touches"
        ]
    changed = 0.0 if seen is None or not len(seen) else float(np.ptp(seen, axis=0).max())
    scatters = bool(sensor.noise_force or sensor.noise_torque)
    if not (scatters or changed > max(_NOTICED, 1e-6 * most)):
        return []
    why = f"what acts on the tool changed by up to {changed:.3g} N or N·m" if changed > _NOTICED else "it has noise"
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

"""What a finished run shows: its contact, the balance of its energies, and what the loop around the law adds to it."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.control.design.press import Press
from palpate.control.law import Law
from palpate.control.promise import promise_axes
from palpate.run.assemble.assemble import Assembly
from palpate.run.before.foresee import depths
from palpate.spatial import matrix_from_quat

MOST_RESIDUAL = 0.05  # of the energy that was moved
_SMALLEST = 1e-6  # J; below, there is nothing to balance
_NAMES = ("kinetic", "potential", "stored", "injected", "pushed", "dissipated")
_WORTH, _MUCH = 2e-3, 0.05  # of a bound: an excess that is remarked on, and one that is warned of
_MOVED = 1e-6  # m or rad
_LAST = 1 / 3  # of the time since the first touch, that is judged
_LOST, _FREE = 3, 0.02  # times, and share of that time without contact, from which on it counts as bouncing
_LOOKS = 200  # samples of a run that are looked at for the closest distance


# ---------------------------------------------------------------------------------------------- contact


def contact_story(named: Mapping[str, Array], presses: Mapping[str, Press | str]) -> tuple[list[str], list[str]]:
    """What happened, beside what was foretold, and a warning where contact did not last as it should have."""
    force = named.get("contact_force")
    touched = np.flatnonzero(force > 0) if force is not None else np.zeros(0, dtype=int)
    if force is None or not len(touched):
        return [], []
    since = force.ravel()[touched[0] :] > 0
    text = f"in contact {100 * since.mean():.3g} % of the time since the first touch, lost {_lost(since)} times"
    foretold = [press for press in presses.values() if isinstance(press, Press)]
    if not foretold or not _undisturbed(named, len(since)):
        return [f"what happened: {text}"], []
    last, predicted = since[-max(int(_LAST * len(since)), 1) :], any(press.bounces for press in foretold)
    lost, free = _lost(last), 1.0 - last.mean()
    bounced = lost >= _LOST and free > _FREE
    happened = [f"what happened: {text}; {'as predicted' if bounced == predicted else 'not as predicted'}"]
    if not bounced:
        return happened, []
    span = float(named["time"][-1] - named["time"][-len(last)])
    compared = "as predicted" if predicted else "although lasting contact was predicted"
    return happened, [
        f"contact bounces: lost {lost} times in the last {span:.3g} s, {100 * free:.3g} % of this time without contact,"
        f" {compared}; more damping of the wall or law, less delay of the wrench, or a slower approach end it"
    ]


def _undisturbed(named: Mapping[str, Array], samples: int) -> bool:
    """Whether nothing else took the tool away in the last third: no push."""
    last = -max(int(_LAST * samples), 1)
    return "push_wrench" in named and not named["push_wrench"][last:].any()


def _lost(touching: Array) -> int:
    """How often contact was lost."""
    return int(np.count_nonzero(touching[:-1] & ~touching[1:]))


def contact_remarks(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A sentence where there was something to touch and it was never touched: the closest distance, and to what."""
    world, plant = assembly.run.world, assembly.plant
    if not world.surfaces or assembly.exact is not None or not {"contact_force", "q"} <= set(named):
        return []
    if not len(named["q"]) or np.any(named["contact_force"] > 0):  # a run that has not begun says nothing
        return []
    if _was_touched(assembly):
        every = assembly.run.record.stride
        return [f"a surface was touched, between two of the recorded samples: every {every}th step is recorded"]
    still = [surface for surface in plant.surfaces if surface.motion is None]
    points = [point for point in plant.points if point.on_robot]
    if not still or not points or plant.model.nq != assembly.run.robot.nq:
        return ["no surface was touched"]
    data, q = mujoco.MjData(plant.model), named["q"]
    samples = np.linspace(0, len(q) - 1, min(len(q), _LOOKS)).astype(int)
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


def _was_touched(assembly: Assembly) -> bool:
    """Whether the loop found the robot in a surface at any step, recorded or not."""
    L = assembly.loop
    return any(c.point.on_robot and c.looks for c in L.contacts) or any(reading.looks for reading in L.rigid)


# ---------------------------------------------------------------------------------------------- energies


def energy_warnings(named: Mapping[str, Array]) -> list[str]:
    """Warn of energies that do not add up, and of a loss that gives some back.

    kinetic + potential + stored rises by injected + pushed − dissipated; what is missing is an error of the physics
    step. Dissipated energy never falls: where it does, a contact or damper is too stiff for the step.
    """
    times = named["time"]
    if len(times) < 2 or not all(f"energy.{name}" in named for name in _NAMES):
        return []
    e = {name: named[f"energy.{name}"].reshape(len(times)) for name in _NAMES}
    total = e["kinetic"] + e["potential"] + e["stored"]
    residual = (total - total[0]) - sum(e[name] - e[name][0] for name in ("injected", "pushed")) + e["dissipated"]
    residual -= e["dissipated"][0]
    moved = sum(float(np.abs(np.diff(e[name])).sum()) for name in ("injected", "pushed", "dissipated"))
    moved = max(moved, float(np.ptp(e["kinetic"])), float(np.ptp(e["potential"])))
    return _residual_warning(times, residual, moved) + _falling_warning(times, e["dissipated"], moved)


def _residual_warning(times: Array, residual: Array, moved: float) -> list[str]:
    k = int(np.argmax(np.abs(residual)))
    if moved < _SMALLEST or abs(residual[k]) <= MOST_RESIDUAL * moved:
        return []
    wrong, share = residual[k], abs(residual[k]) / moved
    return [
        f"the energies do not add up: {wrong:.3g} J too much at {times[k]:.4g} s, {share:.0%} of the {moved:.3g} J"
        " that were moved; use a shorter physics step, or integrator = 'rk4'"
    ]


def _falling_warning(times: Array, dissipated: Array, moved: float) -> list[str]:
    fall = np.maximum.accumulate(dissipated) - dissipated
    k = int(np.argmax(fall))
    if moved < _SMALLEST or fall[k] <= max(MOST_RESIDUAL * moved, _SMALLEST):
        return []
    return [
        f"dissipated energy fell by {fall[k]:.3g} J until {times[k]:.4g} s, which is impossible; use a shorter"
        " physics step, or less contact stiffness and damping"
    ]


# ---------------------------------------------------------------------------------------------- around the law


def beyond_bounds(assembly: Assembly, named: Mapping[str, Array]) -> tuple[list[str], list[str]]:
    """(remarks, warnings) on accelerations between ticks that leave the bounds which the law keeps at its ticks.

    A torque is held for a period while the arm moves on, so that its acceleration is not the one that was chosen.
    """
    run = assembly.run
    most = run.law.acceleration_bound(run.robot) if isinstance(run.law, Law) else None
    if most is None or not {"v", "time"} <= set(named) or len(named["time"]) < 3:
        return [], []
    steps = np.diff(named["time"])[:, None]
    share = np.abs(np.diff(named["v"], axis=0) / steps) / most - 1.0
    worst = share.max(axis=0)
    j = int(np.argmax(worst))
    if worst[j] < _WORTH:
        return [], []
    k, T, unit = int(np.argmax(share[:, j])), run.clock.control_period, run.robot.dof_units[j]
    text = (
        f"{run.robot.dof_names[j]} passed its acceleration bound of {most[j]:.4g} {unit}/s² by {100 * worst[j]:.2g} %"
        f" between ticks, at {named['time'][k]:.4g} s: torques are held for {1e3 * T:.3g} ms; a shorter period or"
        " lower bounds keep it"
    )
    return ([], [text]) if worst[j] > _MUCH else ([text], [])


def beyond_the_interface(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A warning of a tool that was faster under position or velocity commands than its interface lets it be."""
    if assembly.law.command not in ("position", "velocity") or "tool_twist" not in named or not len(named["time"]):
        return []
    said, limits = [], assembly.run.world.driver.facts.tool_speed_limit
    for part, limit, unit in zip((slice(0, 3), slice(3, 6)), limits, ("m/s", "rad/s")):
        speed = np.linalg.norm(named["tool_twist"][:, part], axis=1)
        k = int(np.argmax(speed))
        if limit and speed[k] > (1.0 + _WORTH) * limit:
            said.append(
                f"the tool moved at {speed[k]:.4g} {unit} at {named['time'][k]:.4g} s; the interface stops an arm at"
                f" {limit:g} {unit} (world.driver.tool_speed_limit), which is not simulated"
            )
    return said


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

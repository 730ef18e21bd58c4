"""Every law's tick on a Panda: from Python with the model's terms, beside NumPy; and what it adds to the loop.

From Python a tick is `BoundLaw.tick`: the model's terms, then the law. The NumPy laws get their terms from the same
`robot.terms`, so that the difference is the law's own arithmetic. In the loop a law adds what a run takes beyond the
same run with all joints passive; its model terms are counted as the law's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

import palpate as pp
from benchmarks import Measurement, interleaved_medians
from benchmarks.loop import bare_steps, fill_targets, pressing
from palpate.checks import Array
from palpate.control import LAWS, Standing
from palpate.control.law import BoundLaw, Law, Target, Tick, sizes_of
from palpate.control.references.reference import joint_target
from palpate.engine.physics import Physics
from palpate.errors import PalpateError
from palpate.robot import Robot
from palpate.run.assemble.assemble import assemble
from palpate.run.loop import loop
from palpate.run.run import Run
from palpate.scenario.model import law_class
from palpate.spatial import matrix_from_quat, rotation_error
from palpate.tools.safety.barriers import Barriers
from palpate.tools.safety.energy import Tank
from palpate.tools.safety.reactions import Reactions
from palpate.tools.safety.thresholds import Threshold
from palpate.trace import Recording
from palpate.world.config import Driver, World

TICKS, STEPS, ROUNDS = 1500, 200, 60
KP, KD = 100.0, 20.0
DRIVEN, PRESET = "cartesian-impedance", "libfranka"  # the law that a driver's cost is measured with
BRAKING, MOVING = "fastest-stop, its tool moving,", np.array([0.5, -0.4, 0.3, 0.6, -0.2, 0.4, 0.1])  # rad/s


def measure() -> list[Measurement]:
    """Ticks from Python, then shares of the loop, what stands around a law, then the law of a machine on legs."""
    return [*_from_python(), *_in_the_loop(), *_around(), *_standing()]


def laws() -> dict[str, Law]:
    """Every registered law with its default gains."""
    return {name: law_class(name)() for name in LAWS}


def _bound(robot: Robot) -> dict[str, BoundLaw]:
    """The laws that take a Panda as it comes; the pole's law wants a pole."""
    found = {}
    for name, law in laws().items():
        try:
            found[name] = law.bind(robot)
        except PalpateError:
            continue
    return found


# ---------------------------------------------------------------------------------------------- from Python


def _from_python() -> list[Measurement]:
    robot = pp.load_robot("panda")
    q, v = robot.home + 0.05, np.linspace(-0.2, 0.2, 7)
    target, wrench = joint_target(robot, robot.home), np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    calls = {
        name: lambda law=law: law.tick(robot, q, v, target=target, wrench=wrench) for name, law in _bound(robot).items()
    }
    arrays = {f"{name}, NumPy": lambda f=f: f(robot, q, v, target) for name, f in NUMPY.items()}
    _agree(robot, q, v, target)
    taken = _distribution({**calls, **arrays})
    rows = []
    for name, seconds in taken.items():
        rows.append(Measurement(f"{name}, tick from Python, median", float(np.median(seconds)) * 1e6, "µs"))
        rows.append(Measurement(f"{name}, tick from Python, 99 %", float(np.percentile(seconds, 99)) * 1e6, "µs"))
    for name in NUMPY:
        ratio = float(np.median(taken[f"{name}, NumPy"]) / np.median(taken[name]))
        rows.append(Measurement(f"{name}, NumPy / palpate", ratio, "×"))
    return rows


def _distribution(calls: dict[str, Callable[[], object]]) -> dict[str, Array]:
    """Seconds of single calls; the contenders take turns."""
    taken = {name: np.empty(TICKS) for name in calls}
    for call in calls.values():
        call()
    for k in range(TICKS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            taken[name][k] = time.perf_counter() - start
    return taken


# ---------------------------------------------------------------------------------------------- the same in NumPy


def numpy_computed_torque(robot: Robot, q: Array, v: Array, target: Target) -> Array:
    """τ = M (a_d + K_d ė + K_p e) + b."""
    x = robot.terms(q, v)
    return x.M @ (target.a + KD * (target.v - v) + KP * (target.q - q)) + x.bias


def _task_terms(robot: Robot, q: Array, v: Array, target: Target):
    x, turn = robot.terms(q, v), matrix_from_quat(target.quat_wxyz)
    e = np.concatenate([target.position - x.position, rotation_error(turn, x.rotation)])
    rate = target.twist - x.J @ v
    Y = np.linalg.solve(x.M, x.J.T)
    inertia = np.linalg.inv(x.J @ Y)
    return x, e, rate, inertia, Y


def numpy_operational_space(robot: Robot, q: Array, v: Array, target: Target) -> Array:
    """τ = Jᵀ Λ (A_d + K_d ė + K_p e − J̇ v) + N M a₀ + b."""
    x, e, rate, inertia, Y = _task_terms(robot, q, v, target)
    force = inertia @ (target.acceleration + KD * rate + KP * e - x.drift)
    posture = x.M @ (25.0 * (target.q - q) - 10.0 * v)
    return x.J.T @ (force - inertia @ (Y.T @ posture)) + posture + x.bias


def numpy_cartesian_impedance(robot: Robot, q: Array, v: Array, target: Target, K: Array, D: Array) -> Array:
    """τ = Jᵀ (K e + D ė + Λ A_d) + N τ₀ + b."""
    x, e, rate, inertia, Y = _task_terms(robot, q, v, target)
    force = K @ e + D @ rate + inertia @ target.acceleration
    posture = 5.0 * (target.q - q) - 2.0 * v
    return x.J.T @ (force - inertia @ (Y.T @ posture)) + posture + x.bias


def _impedance(robot: Robot, q: Array, v: Array, target: Target) -> Array:
    return numpy_cartesian_impedance(robot, q, v, target, *_IMPEDANCE_GAINS)


def _impedance_gains() -> tuple[Array, Array]:
    stage = laws()["cartesian-impedance"].bind(pp.load_robot("panda")).gains.stages[0]
    return stage.K, stage.D


_IMPEDANCE_GAINS = _impedance_gains()
NUMPY = {
    "computed-torque": numpy_computed_torque,
    "operational-space": numpy_operational_space,
    "cartesian-impedance": _impedance,
}


def _agree(robot: Robot, q: Array, v: Array, target: Target) -> None:
    """The NumPy laws must do the same thing, or their times say nothing."""
    for name, law in NUMPY.items():
        ours = _bound(robot)[name].tick(robot, q, v, target=target).command
        if not np.allclose(ours, law(robot, q, v, target), atol=1e-8):
            raise PalpateError(f"the NumPy version of {name} disagrees with ours")


# ---------------------------------------------------------------------------------------------- on legs


def _standing() -> list[Measurement]:
    """A tick of `standing` with its model terms given, as the loop calls it."""
    robot, law = pp.load_robot("quadruped"), Standing()
    v, pose, target = np.zeros(robot.nv), robot.pose(robot.home), Target(sizes_of(robot))
    target.q[:], target.position[:], target.quat_wxyz[:] = robot.home, pose.position, pose.quat_wxyz
    x = robot.terms(robot.home, v)
    known = {part: getattr(x, part) for part in ("M", "bias", "gravity", "position", "rotation", "J", "drift")}
    tick = Tick(sizes_of(robot), **known, q=robot.home.copy(), v=v, target=target)
    seconds = interleaved_medians({"standing": partial(law.bind(robot).decide, tick)}, 100, 5)
    return [Measurement("standing on four legs, the law's tick, compiled", 1e6 * seconds["standing"], "µs", 100.0)]


# ---------------------------------------------------------------------------------------------- in the loop


def _in_the_loop() -> list[Measurement]:
    base = replace(pressing(), world=World(), record=Recording(channels=("q",)))  # recording is not the law's
    runs = {name: _timed(replace(base, law=law)) for name, law in laws().items() if _takes(replace(base, law=law))}
    # A stop is planned for an arm without friction and limits of torque rates: with them it leaves its line and has
    # more to solve, which is measured apart.
    stop = replace(base, law=laws()["fastest-stop"], v_start=MOVING)
    unlimited = World(driver=Driver(torque_rate_limit=False))
    runs[BRAKING] = _timed(replace(stop, robot=base.robot.with_ideal_joints(), world=unlimited))
    runs[f"{BRAKING} with friction and rate limits,"] = _timed(stop)
    driven = replace(base, law=laws()[DRIVEN], world=World(driver=Driver(preset=PRESET)))
    seconds = _undisturbed({**runs, "driver": _timed(driven), "bare mj_step": _bare(base)})
    bare, empty = seconds["bare mj_step"], seconds["passive"]
    added = {name: (seconds[name] - empty) / bare for name in runs if name != "passive"}
    return [
        Measurement("bare mj_step", bare * 1e6, "µs"),
        *(
            Measurement(f"{name} adds to the loop / bare mj_step", share, "×", None if "friction" in name else 1.0)
            for name, share in added.items()
        ),
        Measurement(f"the driver {PRESET} adds / bare mj_step", (seconds["driver"] - seconds[DRIVEN]) / bare, "×"),
    ]


def _around() -> list[Measurement]:
    """Shares of `[reactions]` around a law: observer with threshold, tank, barriers not met and met by all joints."""
    base = replace(pressing(), world=World(), record=Recording(channels=("q",)), law=laws()[DRIVEN], v_start=MOVING)
    never = Threshold(level=1e6)
    parts = {"observer": {}, "tank": {"tank": Tank()}, "barriers": {"barriers": Barriers()}}
    parts["barriers, every joint at its limit"] = {"barriers": Barriers(acceleration=1.0)}
    around = {name: Reactions(on_contact="nothing", threshold=never, **more) for name, more in parts.items()}
    runs = {name: _timed(replace(base, around=each)) for name, each in around.items()}
    seconds = _undisturbed({**runs, "law": _timed(base), "bare mj_step": _bare(base)})
    below = {name: "law" if name == "observer" else "observer" for name in around}
    goals = {"observer": 0.2, "tank": 0.05, "barriers": 0.5, "barriers, every joint at its limit": 0.5}
    return [
        Measurement(
            f"reactions: {name} / bare mj_step",
            (seconds[name] - seconds[below[name]]) / seconds["bare mj_step"],
            "×",
            goals[name],
        )
        for name in around
    ]


def _undisturbed(runs: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The time a tenth of many short runs stays below, in turns: medians would differ by the machine's noise."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            taken[name].append(run())
    return {name: float(np.percentile(seconds, 10)) for name, seconds in taken.items()}


def _takes(parts: Run) -> bool:
    """Whether the law is compiled and takes this world; the force laws press on nothing here, at the same cost."""
    try:
        return assemble(parts).law.compiled
    except PalpateError:
        return False


def _timed(parts: Run) -> Callable[[], float]:
    """Seconds per tick of the first STEPS ticks: few, because an arm without a law does not stay where it is."""

    def run() -> float:
        assembly = assemble(parts)
        fill_targets(assembly, STEPS)
        start = time.perf_counter()
        loop.run_steps(assembly.loop.address, STEPS)
        return (time.perf_counter() - start) / STEPS

    return run


def _bare(parts: Run) -> Callable[[], float]:
    """Seconds per mj_step of the same arm from C, over as many steps, held up against gravity."""
    assembly = assemble(parts)
    model, data = assembly.plant.model, assembly.data
    physics = Physics.of(model, data)
    q, torque = data.qpos.copy(), parts.robot.gravity(parts.robot.home)

    def run() -> float:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, 0.0, torque
        start = time.perf_counter()
        bare_steps(physics.address, STEPS)
        return (time.perf_counter() - start) / STEPS

    return run

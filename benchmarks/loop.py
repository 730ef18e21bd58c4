"""The closed loop per tick, beside bare physics, NumPy around MuJoCo, and Drake; threads; memory.

A Panda under Cartesian impedance presses on a wall at 1 kHz, every channel recorded. A compliant wall costs bare
physics nothing, for the loop computes its force; a rigid one is held by either's own solver. The contenders take turns
in one process, and what counts is their ratios. Ticks are timed by the thread's own clock, which stands still while
other processes have the core. NumPy and Drake are compared on ideal joints and without a limit of torque rates, which
they do not have; dry friction is another model in each.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
import tracemalloc
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import mujoco
import numpy as np

import palpate as pp
from benchmarks import Measurement, interleaved_medians
from benchmarks.peers import PressingTask
from benchmarks.peers.mujoco_numpy import NumpyLoop
from palpate.checks import Array
from palpate.control.laws.cartesian_impedance import CartesianImpedance
from palpate.control.references.reference import Hold
from palpate.engine.kernels import kernel
from palpate.engine.library import mj_step
from palpate.engine.physics import Physics
from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.loop import loop, state as S
from palpate.run.run import Run
from palpate.run.simulate import fill_targets as sample_targets, simulate, simulate_many
from palpate.run.stepping import Ending
from palpate.trace import Recording
from palpate.world.clock import Clock
from palpate.world.config import PlantChange, Surface, World
from palpate.world.driver import Driver

TICKS, ROUNDS, SLOW_ROUNDS = 2000, 25, 5
K, D, POSTURE = (400.0, 400.0, 400.0, 20.0, 20.0, 20.0), (60.0, 60.0, 60.0, 4.0, 4.0, 4.0), (5.0, 2.0)
DEEP, GAP = 0.06, 0.02  # m: how far the target and the wall lie in front of the tool
Timed = Callable[[], float]  # seconds per tick


def measure() -> list[Measurement]:
    """Ratios per tick, threads, memory."""
    return [*_ticks(), *_threads(), *_memory()]


def pressing(**changes: object) -> Run:
    """The parts of the run."""
    robot = pp.load_robot("panda")
    wall = Surface(normal=(-1.0, 0.0, 0.0), position=(robot.pose(robot.home).position[0] + GAP, 0.0, 0.0))
    law = CartesianImpedance(stiffness=K, damping=D, posture_stiffness=POSTURE[0], posture_damping=POSTURE[1])
    parts = Run(robot, law, World(surfaces=(wall,)), Hold(offset=(DEEP, 0.0, 0.0)), clock=Clock(duration=TICKS * 1e-3))
    return replace(parts, **changes)  # pyright: ignore[reportArgumentType]


def fill_targets(assembly: Assembly, ticks: int) -> None:
    """Sample the reference, as a run does between batches."""
    sample_targets(assembly, ticks, Ending(S.RUNNING))


def against_rigid_wall(parts: Run) -> Run:
    """The same run with a rigid wall."""
    walls = tuple(wall.model_copy(update={"contact": "rigid"}) for wall in parts.world.surfaces)
    return replace(parts, world=parts.world.model_copy(update={"surfaces": walls}))


def another_nominal_model(parts: Run) -> Run:
    """The same run with a plant a little heavier than the law believes, so that nothing can be shared."""
    return replace(parts, world=parts.world.model_copy(update={"plant": PlantChange(mass_scale=1.001)}))


# ---------------------------------------------------------------------------------------------- per tick


def _ticks() -> list[Measurement]:
    parts = pressing()
    few = Recording(channels=("q", "v", "tau", "tool_position", "contact_wrench"))
    world = parts.world.model_copy(update={"driver": Driver(torque_rate_limit=False)})
    ideal = replace(parts, robot=parts.robot.with_ideal_joints(), world=world)
    task = _task(ideal)
    ours = {
        "palpate": _timed(parts),
        "palpate, ideal joints": _timed(ideal),
        "palpate, separate nominal model": _timed(another_nominal_model(parts)),
        "palpate, five channels": _timed(replace(parts, record=few)),
        "bare mj_step": _bare(parts),
        "palpate, rigid wall": _timed(against_rigid_wall(parts)),
        "palpate, rigid wall, separate nominal model": _timed(another_nominal_model(against_rigid_wall(parts))),
        "bare mj_step, rigid wall": _bare(against_rigid_wall(parts)),
    }
    slow = {"NumPy around MuJoCo": Peer(NumpyLoop(task).run)}
    if importlib.util.find_spec("pydrake"):
        drake = importlib.import_module("benchmarks.peers.drake_loop")
        slow["Drake's Python loop"] = Peer(drake.DrakeLoop(task, TICKS).run)
    _same_task(ideal, slow)
    seconds = _medians(ours, ROUNDS)
    # The slow ones in rounds of their own, each round with ours for the ratio.
    beside = _medians({"palpate, ideal joints": ours["palpate, ideal joints"], **slow}, SLOW_ROUNDS)
    return _rows(seconds, beside)


def _rows(seconds: dict[str, float], beside: dict[str, float]) -> list[Measurement]:
    bare = seconds["bare mj_step"]
    everyone = seconds | {name: taken for name, taken in beside.items() if name not in seconds}
    rows = [Measurement(f"a tick, {name}", taken * 1e6, "µs") for name, taken in everyone.items()]
    goals = {"palpate": 0.4, "palpate, separate nominal model": 0.6, "palpate, five channels": 0.4}
    rows += [Measurement(f"{name} / bare mj_step", seconds[name] / bare, "×", goal) for name, goal in goals.items()]
    rigid = seconds["bare mj_step, rigid wall"]
    goals = {"palpate, rigid wall": 0.8, "palpate, rigid wall, separate nominal model": 1.0}
    rows += [Measurement(f"{name} / bare mj_step of it", seconds[name] / rigid, "×", g) for name, g in goals.items()]
    for name, goal in {"NumPy around MuJoCo": 30.0, "Drake's Python loop": 80.0}.items():
        if name in beside:
            taken = beside[name] / beside["palpate, ideal joints"]
            rows.append(Measurement(f"{name} / palpate, ideal joints", taken, "×", goal, at_least=True))
    return rows


def _medians(contenders: Mapping[str, Timed], rounds: int) -> dict[str, float]:
    """Median seconds per tick; the contenders take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, run in contenders.items():
            seconds[name].append(run())
    return {name: float(np.median(taken[1:])) for name, taken in seconds.items()}  # the first warms up


def _timed(parts: Run) -> Timed:
    """The loop itself: building the scene before and the trace after are a fixed cost per run."""

    def run() -> float:
        assembly = assemble(parts)
        fill_targets(assembly, TICKS + 1)
        return _steps(assembly)

    return run


def _steps(assembly: Assembly) -> float:
    start = time.thread_time()
    status = loop.run_steps(assembly.loop.address, TICKS + 1)
    taken = time.thread_time() - start
    if status != S.COMPLETED:
        raise PalpateError(f"the benchmark's run ended with status {status}")
    return taken / TICKS


@kernel
def bare_steps(p: Physics, steps: int) -> None:
    """mj_step, so many times."""
    for _ in range(steps):
        mj_step(p.model, p.data)


def _bare(parts: Run) -> Timed:
    """mj_step of the same world from C, resting where the run ends, under its last forces."""
    end = assemble(parts)
    fill_targets(end, TICKS + 1)
    _steps(end)
    model, data = end.plant.model, mujoco.MjData(end.plant.model)
    physics = Physics.of(model, data)

    def run() -> float:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = end.data.qpos, end.data.qvel, end.data.qfrc_applied
        start = time.thread_time()
        bare_steps(physics.address, TICKS)
        return (time.thread_time() - start) / TICKS

    return run


@dataclass
class Peer:
    """Somebody else's loop; `force` is what it pressed with at the end of its last run."""

    run: Callable[[int], float]
    force: float = 0.0

    def __call__(self) -> float:
        start = time.thread_time()
        self.force = self.run(TICKS)
        return (time.thread_time() - start) / TICKS


def _task(parts: Run) -> PressingTask:
    """The run's numbers for the peers."""
    robot, plant = parts.robot, assemble(parts).plant
    pose, tip, wall = robot.pose(robot.home), plant.points[0], plant.surfaces[0]
    quat: Array = np.zeros(4)
    mujoco.mju_mat2Quat(quat, pose.rotation.ravel())
    return PressingTask(
        model=plant.model, body=plant.tool.body, offset=plant.tool.offset,
        tip_body=tip.body, tip_offset=tip.offset, tip_radius=tip.radius, q_start=robot.home,
        position=pose.position + np.array([DEEP, 0.0, 0.0]), quat_wxyz=quat,
        K=np.array(K), D=np.array(D), posture=POSTURE,
        wall=wall.position[0], stiffness=wall.stiffness, damping=wall.damping,
        limit=robot.limits.torque, timestep=parts.clock.timestep,
    )  # fmt: skip


def _same_task(parts: Run, peers: Mapping[str, Peer]) -> None:
    """A comparison counts only if everyone ends with the same contact force."""
    ours = simulate(parts)["contact_force"][-2]
    for name, peer in peers.items():
        peer()
        if abs(peer.force - ours) > 1e-6 * ours:
            raise PalpateError(f"{name} ends pressing with {peer.force} N, palpate with {ours} N: not the same task")


# ---------------------------------------------------------------------------------------------- threads, memory


def _threads() -> list[Measurement]:
    """Runs in two threads; beside them bare physics, which shows what the machine has to give just now."""
    runs = [pressing(clock=Clock(duration=20.0), record=Recording(channels=("q",), stride=10))] * 4
    contenders = {str(threads): lambda threads=threads: simulate_many(runs, threads=threads) for threads in (1, 2)}
    contenders |= {f"bare {threads}": lambda threads=threads: _bare_in_threads(threads) for threads in (1, 2)}
    seconds = interleaved_medians(contenders, 5)
    return [
        Measurement("two threads over one, speed", seconds["1"] / seconds["2"], "×", 1.7, at_least=True),
        Measurement("two threads over one, speed of bare mj_step", seconds["bare 1"] / seconds["bare 2"], "×"),
    ]


def _bare_in_threads(threads: int) -> None:
    parts = pressing()

    def rest(_: int) -> None:
        model = assemble(parts).plant.model
        data = mujoco.MjData(model)
        data.qpos[:] = parts.robot.home
        physics = Physics.of(model, data)
        bare_steps(physics.address, 20 * TICKS)

    with ThreadPoolExecutor(max_workers=threads) as pool:
        list(pool.map(rest, range(4)))


def _memory() -> list[Measurement]:
    def peak(duration: float, stride: int) -> tuple[int, int]:
        trace_numbers = 0
        tracemalloc.start()
        trace = simulate(pressing(clock=Clock(duration=duration), record=Recording(stride=stride)))
        trace_numbers = sum(trace[name].size for name in trace)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most, trace_numbers

    simulate(pressing())
    short, few = peak(10.0, 10_000)
    long, _ = peak(100.0, 10_000)
    dense, many = peak(10.0, 1)
    return [
        Measurement("peak memory, 100 s over 10 s, every 10 000th tick recorded", long / short, "×", 1.1),
        Measurement("peak memory per recorded number", (dense - short) / (many - few), "B", 24.0),
    ]

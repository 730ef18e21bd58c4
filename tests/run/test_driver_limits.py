"""Predicted limit against simulated limit: random arms, laws, drivers and walls.

`python tests/run/test_driver_limits.py docs/driver-limits.md` writes the table of thirty, which takes some minutes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from palpate.checks import Array
from palpate.control import CartesianImpedance, JointImpedance
from palpate.control.law import Law, Target, sizes_of
from palpate.control.references.reference import joint_target
from palpate.files import write_file
from palpate.robot import Robot, load_robot
from palpate.run.assemble.assemble import assemble
from palpate.run.forecast.moments import transferred
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.run.tangent.loop_poles import poles, run_until
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.trace import Recording
from palpate.world.clock import Clock
from palpate.world.config import Driver, Surface, World

ARMS = ("panda", "fr3", "iiwa14", "ur5e", "ur10e", "gen3", "xarm7", "sawyer")
FORCE = 20.0  # N, with which the wall is pressed
WITHIN = 0.05


@dataclass(frozen=True)
class Case:
    """An arm at home before a wall, pressing with FORCE."""

    robot: Robot
    law: Law
    driver: Driver
    normal: Array
    limit: float

    def run(self, stiffness: float) -> Run:
        """The arm pressing on a wall of this stiffness."""
        robot, n, depth = self.robot, self.normal, FORCE / stiffness
        tool = robot.pose(robot.home).position
        radius = tip_radius(robot)
        wall = Surface(
            position=tuple(tool - (radius - 1.01 * depth) * n), normal=tuple(n), stiffness=stiffness, damping=0.0
        )
        clock = Clock(duration=0.5, timestep=1e-4, rate=1000, integrator="rk4")
        # Dry friction holds the ringing of an arm as built at any stiffness: no limit can be seen with it.
        without = {"torque_limit": False, "torque_rate_limit": False, "coulomb_compensation": 1.0}
        driver = self.driver.model_copy(update=without)
        world, reference = World(surfaces=(wall,), driver=driver), Goal(self)
        record = Recording(("contact_force",), 10)
        return Run(robot, self.law, world, reference, clock, record, q_start=robot.home)  # pyright: ignore[reportArgumentType]

    def growth(self, stiffness: float) -> float:
        """log of late over early ringing of the contact force, on a wall of this stiffness."""
        ringing = np.abs(np.diff(simulate(self.run(stiffness))["contact_force"]))
        return float(np.log(ringing[-120:].max() / ringing[30:150].max()))

    def stable(self, stiffness: float) -> bool:
        """Whether the loop's poles are stable where the same arm without its driver stands, in contact."""
        prompt = replace(self, driver=Driver()).run(stiffness)
        damped = prompt.world.surfaces[0].model_copy(update={"damping": 300.0})
        standing = assemble(replace(prompt, world=prompt.world.model_copy(update={"surfaces": (damped,)})))
        run_until(standing, 480)
        found = transferred(standing, assemble(self.run(stiffness)), finer=False)
        return found.stable is True and "free" not in found.contact.values()


@dataclass(frozen=True)
class Goal:
    """A target so far behind the wall that the law presses with FORCE from where the arm stands."""

    case: Case

    def sample(self, times: Array, robot: Robot, q0: Array) -> Array:
        law, n = self.case.law, self.case.normal
        row = np.zeros(Target.width(sizes_of(robot)))
        target = Target.over(row, sizes_of(robot))
        still = joint_target(robot, q0)
        for name in ("q", "position", "quat_wxyz"):
            getattr(target, name)[:] = getattr(still, name)
        if isinstance(law, CartesianImpedance):
            target.position[:] -= FORCE / np.asarray(law.stiffness)[0] * n
        else:
            target.q[:] -= robot.jacobian(q0)[:3].T @ (FORCE * n) / np.asarray(law.stiffness)  # pyright: ignore
        return np.tile(row, (len(times), 1))


def tip_radius(robot: Robot) -> float:
    """Of the sphere that touches; 0 for a point."""
    found = [g for g in range(robot.model.ngeom) if robot.model.geom(g).name == "tip"]
    return float(robot.model.geom_size[found[0], 0]) if found else 0.0


def drawn(seed: int) -> Case:
    """A case whose predicted limit is finite and within a simulation's reach."""
    rng = np.random.default_rng(seed)
    while True:
        robot = load_robot(str(rng.choice(ARMS)))
        law = impedance(rng, robot)
        driver = Driver(delay=int(rng.integers(1, 4)), cutoff=float(rng.choice([0.0, 60.0, 100.0, 200.0])))
        angle = rng.uniform(0, 2 * np.pi)
        n = np.array([np.cos(angle), np.sin(angle), 1.0])
        n /= np.linalg.norm(n)
        limit = predicted(Case(robot, law, driver, n, 0.0))
        if 5e3 < limit < 3e6:
            return Case(robot, law, driver, n, limit)


def impedance(rng: np.random.Generator, robot: Robot) -> Law:
    """Stiffness in all directions alike, or in all joints."""
    if rng.random() < 0.6:
        K, D = float(rng.uniform(200, 2000)), float(rng.uniform(20, 80))
        return CartesianImpedance(stiffness=(K, K, K, 30.0, 30.0, 30.0), damping=(D, D, D, 1.0, 1.0, 1.0))
    share = rng.uniform(0.3, 1.0)
    inertia = np.maximum(np.diag(robot.mass_matrix(robot.home)), 1e-3)
    w = 30.0 * share
    return JointImpedance(stiffness=tuple(inertia * w * w), damping=tuple(1.2 * inertia * w))


def predicted(case: Case) -> float:
    """The largest stable wall by the loop's poles, N/m, from 2 kN/m on; 0 where that is unstable already."""
    low, high = 0.0, 2e3
    while case.stable(high):
        low, high = high, 1.5 * high
        if high > 1e7:
            return float("inf")
    while low and high > 1.005 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if case.stable(middle) else (low, middle)
    return low


def around(case: Case) -> tuple[float, float]:
    """Growth on a wall a little softer than the predicted limit, and on one a little stiffer."""
    return case.growth((1 - WITHIN) * case.limit), case.growth((1 + WITHIN) * case.limit)


def check(seed: int) -> None:
    case = drawn(seed)
    below, above = around(case)
    what = f"{case.robot.name} under {case.law.name} at {case.limit:.4g} N/m, delay {case.driver.delay}"
    assert below < 0 < above, f"{what}, cut-off {case.driver.facts.cutoff:g} Hz: grows by {below:.3g} and {above:.3g}"


def row(case: Case, below: float, above: float) -> str:
    """A case in the table."""
    cutoff = f"{case.driver.facts.cutoff:g}" if case.driver.facts.cutoff else "–"
    kept = "yes" if below < 0 < above else "no"
    what = f"| {case.robot.name} | {case.law.name} | {case.driver.delay} | {cutoff} | {case.limit / 1e3:.4g} |"
    return f"{what} {below:+.3f} | {above:+.3f} | {kept} |"


def page(rows: list[str]) -> str:
    """The table, with what it says."""
    head = """# Predicted and simulated limits

The largest stable wall by [the loop's own poles](loop-poles.md) for random arms at home, laws, drivers and walls'
normals, and whether the ringing of a simulated contact (20 N, physics step 0.1 ms, Runge–Kutta) dies out on a wall 5 %
softer and grows on one 5 % stiffer: the natural logarithm of its size after 0.5 s over that at the start. Torque
and torque-rate limits are off and the driver compensates dry friction: both end a ringing at any stiffness, so that
no limit can be seen (friction holds it; a rate limit turns it into a small limit cycle, see [the
driver](driver.md)). Rotor inertia and viscous friction are the arms' own. Written by `make driver-table`.

| arm | law | command late, ms | filter, Hz | by poles, kN/m | growth at −5 % | at +5 % | within 5 % |
|---|---|---|---|---|---|---|---|
"""
    return head + "\n".join(rows) + "\n"


DAMPED = [
    "world.driver.torque_rate_limit=false", "world.driver.torque_limit=false", "world.surfaces=[]", "metrics={}",
    "reference={kind='hold'}", "world.pushes=[{force=[3,2,1],start=0.02,duration=0.02}]",
    "run.timestep=0.0001", "run.integrator='rk4'", "run.duration=0.5", "world.driver.coulomb_compensation=1",
]  # fmt: skip


def test_cartesian_damping_ends_where_it_is_predicted_to() -> None:
    """26.2 times the damping of fr3-wall: 2 % less dies out, 2 % more diverges."""

    def damped(factor: float) -> Scenario:
        values = [factor * d for d in (80, 80, 80, 5, 5, 5)]
        return load_scenario("fr3-wall", [*DAMPED, f"control.damping={values}"])

    low, high = 20.0, 30.0
    while high - low > 0.02:
        middle = 0.5 * (low + high)
        stable = poles(damped(middle), at=0.01, finer=False, probing=False).stable
        low, high = (middle, high) if stable else (low, middle)
    limit = low
    assert limit == pytest.approx(26.2, rel=5e-3)
    assert simulate(damped(0.98 * limit)).outcome.kind == "completed"
    assert simulate(damped(1.02 * limit)).outcome.kind == "diverged"


@pytest.mark.parametrize("seed", range(3))
def test_the_predicted_limit_is_the_simulated_one(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 30))
def test_the_predicted_limit_is_the_simulated_one_for_thirty(seed: int) -> None:
    check(seed)


if __name__ == "__main__":
    cases = [drawn(seed) for seed in range(30)]
    write_file(Path(sys.argv[1]), page([row(case, *around(case)) for case in cases]))

"""Five rules of what a promise tolerates, each beside its formula worked out by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.linalg import expm

from palpate.checks import Array
from palpate.control import CartesianImpedance, ComputedTorque
from palpate.control.law import Target, sizes_of
from palpate.control.references.reference import Hold, joint_target
from palpate.robot import Robot, load_robot
from palpate.run.after import tolerance
from palpate.run.after.ending import End
from palpate.run.after.keep import Keeper
from palpate.run.after.promise import judged
from palpate.run.after.tolerance import Span
from palpate.run.assemble.assemble import assemble
from palpate.run.build import build
from palpate.run.run import Run
from palpate.run.simulate import _run
from palpate.run.tangent.edge import rate_of
from palpate.run.tangent.loop_poles import LoopPoles
from palpate.scenario.file.load import load_scenario
from palpate.world.clock import Clock
from palpate.world.config import Driver, PlantChange, Push, Sensors, World

KP, KD = 49.0, 14.0  # both poles of a joint at −7 1/s


def test_settling_is_twice_a_double_pole_of_the_largest_error() -> None:
    """r t = 2: 2 · 3 e⁻² · 0.5."""
    assert tolerance.settling(0.5, 4.0, 0.5) == pytest.approx(3.0 * math.exp(-2.0), rel=1e-12)
    assert tolerance.settling(0.5, 4.0, 1e6) == pytest.approx(0.0, abs=1e-200)


def test_what_hardly_moves_cannot_come_farther_than_twice_its_speed_over_the_rate() -> None:
    assert tolerance.settling(0.5, 4.0, 0.5, speed=0.01) == pytest.approx(2.0 * 0.01 / 4.0, rel=1e-12)


def test_a_loop_that_never_settles_is_excused_nothing_and_an_unknown_one_all() -> None:
    assert tolerance.settling(0.5, 0.0, 10.0) == 0.0
    assert tolerance.settling(0.5, None, 10.0) == math.inf


def test_a_tenth_of_what_yields_is_tolerated() -> None:
    assert tolerance.yielding(0.03) == pytest.approx(0.003, rel=1e-12)
    assert tolerance.yielding(0.6) == pytest.approx(0.06, rel=1e-12)
    assert tolerance.yielding(0.6, turns=True) == pytest.approx(0.18, rel=1e-12)
    assert tolerance.yielding(0.1, turns=True) == pytest.approx(0.01, rel=1e-12)


def test_lag_is_that_of_delays_of_a_speed_that_is_not_told_and_of_acceleration() -> None:
    """2 (0.2 · 0.004 + 1.5 / 5²), and 2 · 0.2 / 5 more where the law is not told the speed."""
    told = tolerance.lag(0.2, 1.5, 0.004, 5.0, told_speed=True)
    assert told == pytest.approx(2.0 * (0.0008 + 0.06), rel=1e-12)
    assert tolerance.lag(0.2, 1.5, 0.004, 5.0, told_speed=False) == pytest.approx(told + 0.08, rel=1e-12)
    assert tolerance.lag(0.0, 1.5, 0.004, None, told_speed=False) == 0.0
    assert tolerance.lag(0.2, 0.0, 0.004, None, told_speed=True) == math.inf


@pytest.mark.parametrize(
    ("friction", "others", "asked", "as_built", "expected"),
    [
        (0.002, 0.003, 0.1, False, 0.005),
        (0.02, 0.03, 0.1, False, 0.02),  # a tenth of 0.2
        (0.02, 0.03, 0.1, True, 0.04),  # friction whole, of the others a tenth
        (0.2, 0.03, 0.1, True, 0.12),  # half of 0.2, and a tenth
        (0.2, 0.03, 0.0, True, 0.22),  # none was asked for: friction whole
    ],
)
def test_statics_are_tolerated_up_to_shares_of_the_motion(
    friction: float, others: float, asked: float, as_built: bool, expected: float
) -> None:
    found = tolerance.statics(friction, others, Span(asked, 0.2), as_built=as_built)
    assert found == pytest.approx(expected, rel=1e-12)


def test_three_sigmas_of_noise_and_a_hundredth_of_the_motion() -> None:
    assert tolerance.noise(0.01) == pytest.approx(0.03, rel=1e-12)
    assert tolerance.resolution(Span(0.0, 0.4)) == pytest.approx(0.004, rel=1e-12)


def ended(run: Run) -> End:
    assembly = assemble(run)
    keeper = Keeper(assembly)
    _run(assembly, keeper)
    keeper.take()
    return End(assembly, keeper.named)


@dataclass(frozen=True)
class Step:
    """The first joint's target is so far away from the start on."""

    size: float

    def sample(self, times: Array, robot: Robot, q0: Array) -> Array:
        row = np.zeros(Target.width(sizes_of(robot)))
        target, still = Target.over(row, sizes_of(robot)), joint_target(robot, q0)
        for name in ("q", "position", "quat_wxyz"):
            getattr(target, name)[:] = getattr(still, name)
        target.q[0] += self.size
        return np.tile(row, (len(times), 1))


def sliding(reference: object, world: World | None = None, duration: float = 1.0) -> End:
    """Two sliding axes of 5 kg and 2 kg, of which each has both poles at −7 1/s."""
    robot = load_robot("cartesian2", mass=(3.0, 2.0))
    clock = Clock(duration=duration, timestep=1e-3, integrator="rk4")
    return ended(Run(robot, ComputedTorque(kp=KP, kd=KD), world or World(), reference, clock=clock))  # pyright: ignore[reportArgumentType]


def test_the_rate_is_that_of_the_loops_slowest_pole_at_the_end() -> None:
    """Near a double pole of −7: sampled, the two come apart by some parts in a hundred."""
    whole = expm(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]) * 1e-3)
    sampled = np.linalg.eigvals(whole[:2, :2] - np.outer(whole[:2, 2], [KP, KD]))
    assert sliding(Hold()).rate == pytest.approx(-math.log(np.abs(sampled).max()) / 1e-3, rel=1e-5)


def test_the_end_after_a_step_is_settled_by_the_double_pole() -> None:
    """A step of 0.1 m at 0: x = 0.1 (1 + 7 t) e^(−7 t) is left; tolerated are twice that and a hundredth of it."""
    end = sliding(Step(0.1), duration=0.5)
    (first, _) = judged(end.assembly, end.named, 0)
    r, t = end.rate, end.quiet
    assert r is not None
    left = 0.1 * (1.0 + r * t) * math.exp(-r * t)
    speed = float(np.abs(end.named["v"][end.window, 0]).max())
    assert first.tolerance == pytest.approx(2.0 * min(left, speed / r) + 1e-3, rel=1e-9)
    assert first.size == pytest.approx(0.1 * (1.0 + 7.0 * t) * math.exp(-7.0 * t), rel=0.15)
    assert first.kept


def test_compliance_is_that_of_the_laws_stiffness() -> None:
    """A wrench moves an axis by F / (m kp), a torque too, and nothing is read."""
    found = sliding(Hold()).compliance
    assert found is not None
    assert np.diag(found.torque) == pytest.approx([1.0 / (5.0 * KP), 1.0 / (2.0 * KP)], rel=1e-6)
    assert found.wrench[0, 0] == pytest.approx(1.0 / (5.0 * KP), rel=1e-6)
    assert found.held.all()
    assert found.free.shape[1] == 0
    assert np.abs(found.reading).max() == 0.0


def test_a_pressed_panda_gives_way_by_the_stiffness_of_its_law() -> None:
    """J Y = K⁻¹ also where the arm is bent and a push of 12 N is balanced by it."""
    K = (400.0, 400.0, 400.0, 20.0, 20.0, 20.0)
    world = World(pushes=(Push(force=(0.0, 12.0, 0.0), duration=9.0),))
    robot = load_robot("panda").with_ideal_joints()
    end = ended(Run(robot, CartesianImpedance(stiffness=K), world, Hold(), clock=Clock(duration=2.0)))
    found = end.compliance
    assert found is not None
    assert end.jacobian @ found.wrench * np.array(K)[:, None] == pytest.approx(np.eye(6), abs=0.02)
    assert end.named["tool_position"][-1, 1] - end.named["tool_position"][0, 1] == pytest.approx(12.0 / 400.0, rel=1e-3)


def test_an_admittance_yields_by_its_own_stiffness_however_late_its_sensor_is() -> None:
    """K = 10 N/m and 10 N·m/rad along every direction, with a wrench that is read two ticks late."""
    scenario = load_scenario("ur5e-admittance-quaternion", ["world.sensors.wrench.delay=2", "run.duration=0.5"])
    end = ended(build(scenario))
    found = end.compliance
    assert found is not None
    assert end.jacobian @ found.wrench == pytest.approx(0.1 * np.eye(6), abs=1e-4)
    assert end.jacobian @ found.reading == pytest.approx(0.1 * np.eye(6), abs=1e-3)


def test_a_joint_under_friction_is_tolerated_by_what_friction_can_hold() -> None:
    """F / (m kp) of 3 N on 5 kg is 12.2 mm, less than a tenth of 0.4 m; and a hundredth of that."""
    world = World(plant=PlantChange(joint_friction=3.0))
    end = sliding(Step(0.4), world, duration=4.0)
    (first, _) = judged(end.assembly, end.named, 0)
    assert first.size == pytest.approx(3.0 / (5.0 * KP), rel=1e-3)
    assert first.tolerance == pytest.approx(3.0 / (5.0 * KP) + 0.004, rel=1e-3)
    assert first.kept


def test_a_late_loop_is_late_by_its_delays_and_one_and_a_half_periods() -> None:
    world = World(sensors=Sensors(delay=2), driver=Driver(delay=3))
    assert sliding(Hold(), world, duration=0.2).late == pytest.approx(6.5e-3, rel=1e-12)


def test_a_driver_that_cuts_torques_is_asked_without_its_limits() -> None:
    """While the torque is cut, errors are not answered: the rate is that of the loop that would answer them."""
    robot = load_robot("panda").with_ideal_joints().with_payload(12.0)
    law = CartesianImpedance(stiffness=(400.0,) * 3 + (20.0,) * 3)
    end = ended(Run(robot, law, World(), Hold(offset=(0.05, 0.0, 0.0)), clock=Clock(duration=3.0)))
    assert end.poles is not None
    assert end.poles.saturated
    assert end.poles.stable is None
    assert end.rate is not None


def test_instability_is_believed_once_an_error_would_have_grown_twentyfold() -> None:
    """1.001 per tick of 1 ms grows by e^(0.9995 t): e³ after 3.0015 s."""
    grows = LoopPoles(0.0, 1e-3, 1e-3, poles=np.array([1.001 + 0j]))
    assert rate_of(grows, 2.9) is None
    assert rate_of(grows, 3.1) == 0.0


def test_a_panda_that_presses_a_wall_gives_way_by_the_stiffness_of_its_law() -> None:
    """The wrench of the wall stays while the wall is opened: without it J Y K is 5 % off, with its sign turned 10 %."""
    end = ended(build(load_scenario("panda-wall", ["metrics={}"])))
    found = end.compliance
    assert found is not None
    K = np.array([400.0] * 3 + [20.0] * 3)
    assert end.jacobian @ found.wrench * K[:, None] == pytest.approx(np.eye(6), abs=0.01)

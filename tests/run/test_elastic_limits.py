"""Largest stable stiffness of a motor's loop and of a link's, some ticks late: characteristic equation, poles, runs.

A motor B and a link m on a gear K, D move as one mass and as a deflection δ = θ − q. With z = e^(s h), r = e^(−σh),
σ = D/2μ, c = cos(h √(Ω² − σ²)), μ = 1/(1/B + 1/m), Ω² = K/μ a motor's torque moves samples of them by

    X/τ = h² z/(z − 1)²/(B + m)       δ/τ = (1 − 2rc + r²)/Ω² · z/(z² − 2rc z + r²)/B

with θ = X + m/(B + m) δ and q = X − B/(B + m) δ. Under τ = −kp x − kd (x − x₋)/h, d ticks late, the loop is

    1 + z^(−d) (kp + kd (1 − 1/z)/h) x/τ = 0

and a stiffness is at its limit where z lies on the unit circle: kp = −z^d/(x/τ) − kd (1 − 1/z)/h, real and positive.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

from palpate.control import JointImpedance
from palpate.robot import Robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.run.tangent.loop_poles import poles
from palpate.world.clock import Clock
from palpate.world.config import PlantChange, Push, Sensors, World
from palpate.world.driver import Driver

ONE = """<mujoco><option gravity="0 0 0"/><worldbody><body name="b">
<joint name="x" type="slide" axis="1 0 0" armature="{B}"/>
<geom name="tip" type="sphere" size="0.1" mass="{m}"/><site name="tool"/></body></worldbody></mujoco>"""
B, M, K, D, H = 0.3, 0.7, 4000.0, 1.5, 1e-3
KD = {"motor": 20.0, "link": 0.4}


def response(side: str, h: float) -> Any:
    """x/τ of a side, as a function of z."""
    mu = 1.0 / (1.0 / B + 1.0 / M)
    square, sigma = K / mu, D / (2.0 * mu)
    r, c = math.exp(-sigma * h), math.cos(h * math.sqrt(square - sigma**2))
    share = M / (B + M) if side == "motor" else -B / (B + M)

    def of(z: complex) -> complex:
        whole = h * h * z / (z - 1.0) ** 2 / (B + M)
        bent = (1.0 - 2.0 * r * c + r * r) / square * z / (z * z - 2.0 * r * c * z + r * r) / B
        return whole + share * bent

    return of


def stiffness_limit(side: str, delay: int, h: float = H) -> float:
    """The smallest positive stiffness at which a pole lies on the unit circle, by its argument."""
    x = response(side, h)

    def stiffness(angle: float) -> complex:
        z = np.exp(1j * angle)
        return -(z**delay) / x(z) - KD[side] * (1.0 - 1.0 / z) / h

    angles = np.concatenate([np.geomspace(1e-3, 0.02, 400), np.linspace(0.02, math.pi - 1e-9, 20000)])
    values: Any = np.array([stiffness(a) for a in angles])
    found = []
    for k in np.flatnonzero(np.signbit(values.imag[:-1]) != np.signbit(values.imag[1:])):
        root: Any = brentq(lambda a: stiffness(a).imag, angles[k], angles[k + 1], xtol=1e-15)
        if abs(stiffness(root).imag) < 1e-6:
            found.append(stiffness(root).real)
    found.append(stiffness(math.pi).real)
    return min(value for value in found if value > 1e-6)


def loop(kp: float, side: Any, delay: int, *, push: float = 0.0, h: float = H, **clock: Any) -> Run:
    """A position that is held by its motor, by the motor's angle or the link's."""
    pushes = (Push(name="p", kind="impulse", force=(push, 0, 0), start=0.0, duration=h),) if push else ()
    world = World(
        plant=PlantChange(joint_stiffness=K, gear_damping=D),
        sensors=Sensors(encoders=side),
        driver=Driver(delay=delay, torque_limit=False, torque_rate_limit=False),
        pushes=pushes,
    )
    timing: dict[str, Any] = {"duration": 0.05, "timestep": h, "period": H} | clock
    robot = Robot.from_mjcf_text(ONE.format(B=B, m=M), name="one")
    return Run(robot, JointImpedance(stiffness=(kp,), damping=(KD[side],)), world, clock=Clock(**timing))


def largest_pole(kp: float, side: Any, delay: int) -> float:
    return poles(loop(kp, side, delay), 0.02, finer=False).largest


CASES = [("motor", 0), ("motor", 1), ("motor", 4), ("link", 0), ("link", 1), ("link", 4)]


@pytest.mark.parametrize(("side", "delay"), CASES)
def test_the_characteristic_equation_and_the_loops_poles_have_the_same_limit(side: Any, delay: int) -> None:
    limit = stiffness_limit(side, delay)
    assert largest_pole(limit, side, delay) == pytest.approx(1.0, abs=1e-10)
    below, beyond = (largest_pole(share * limit, side, delay) for share in (0.999, 1.001))
    assert below < 1.0 - 1e-8
    assert beyond > 1.0 + 1e-8


def test_a_loop_around_the_motor_bears_more_than_one_around_the_link() -> None:
    """A motor's loop is collocated: without delay only the step limits it, at z = −1; a link's is not."""
    limits = {case: stiffness_limit(*case) for case in CASES}
    for delay in (0, 1, 4):
        assert limits["motor", delay] > 30.0 * limits["link", delay]
    for side in ("motor", "link"):
        assert limits[side, 0] > limits[side, 1] > limits[side, 4]


@pytest.mark.parametrize(("side", "delay"), CASES)
def test_runs_just_below_the_limit_die_out_and_just_above_grow_at_the_rate_of_the_pole(side: Any, delay: int) -> None:
    limit = stiffness_limit(side, delay)
    for share in (0.98, 1.02):
        sizes = np.sort(np.abs(poles(loop(share * limit, side, delay), 0.02, finer=False).poles))[::-1]
        rate = math.log(sizes[0])
        others = sizes[sizes < sizes[0] - 1e-9]
        alone = round(12.0 / (rate - math.log(others[0])))  # ticks after which the leading mode is alone
        ticks = min(round(2.0 / abs(rate)), 100000)
        window = 1000 if ticks > 1000 else ticks
        duration = H * (alone + ticks + 2 * window)
        trace = simulate(loop(share * limit, side, delay, push=1e-6, duration=duration))
        bent = np.abs(trace["motor_q"][:, 0] - trace["q"][:, 0])
        first, last = (bent[start : start + window].max() for start in (alone, alone + ticks))
        assert math.log(last / first) / ticks == pytest.approx(rate, rel=0.01)
        assert (last > first) == (share > 1.0)


@pytest.mark.parametrize("side", ["motor", "link"])
def test_the_limit_of_ever_smaller_steps_is_that_of_a_torque_held_between_samples(side: Any) -> None:
    """The step's own limits go, in first order of the physics step, to those by the exponential of both masses."""
    A = np.zeros((5, 5))  # θ, q, θ̇, q̇, τ
    A[0, 2] = A[1, 3] = 1.0
    A[2] = np.array([-K, K, -D, D, 1.0]) / B
    A[3] = np.array([K, -K, D, -D, 0.0]) / M
    E = expm(H * A)

    def largest(kp: float) -> float:
        P, read = np.zeros((5, 5)), [0, 2] if side == "motor" else [1, 3]
        P[:4, :4], P[:4, 4] = E[:4, :4], E[:4, 4]
        P[4, read] = -kp, -KD[side]
        return float(np.abs(np.linalg.eigvals(P)).max())

    guess = stiffness_limit(side, 1)
    exact: Any = brentq(lambda kp: largest(kp) - 1.0, 0.3 * guess, 3.0 * guess)
    errors = []
    for ratio in (4, 8):
        at: Any = brentq(
            lambda kp, ratio=ratio: poles(loop(kp, side, 1, h=H / ratio), 0.02, finer=False).largest - 1.0,
            0.5 * exact, 2.0 * exact, xtol=1e-5 * exact,
        )  # fmt: skip
        errors.append(at / exact - 1.0)
    assert abs(errors[1]) < 0.05
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.3)

"""What a law reads of the tick is found in its kernel: the loop computes it, and metrics know what is followed."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
import pytest

import palpate as pp
from palpate.config import setting
from palpate.control import LAWS, Priorities, PythonLaw
from palpate.control.law import Law, NoMemory, Target, Tick, law_kernel, sizes_of
from palpate.control.laws.priorities import Level
from palpate.control.reads import NEEDS, TARGET, reads_of
from palpate.engine.kernels import kernel
from palpate.engine.records import Record, Vector, sized
from palpate.metrics import evaluate
from palpate.scenario.model import law_class


class Gains(Record):
    """K."""

    stiffness: float


class Terms(Record):
    """What the torque is made of."""

    spring: Vector = sized("nv")
    bias: Vector = sized("nv")


@kernel
def pull(x: Tick, wanted: Target, k: float, out: Vector) -> None:
    """out = Jᵀ k (p_d − p), for any Jacobian that the tick has."""
    J = x.J
    for j in range(out.size):
        out[j] = 0.0
        for i in range(3):
            out[j] += J[i, j] * k * (wanted.position[i] - x.position[i])


@law_kernel
def _kernel(x: Tick, k: Gains, m: NoMemory, out: Terms) -> None:
    target, n = x.target, x.v.size
    pull(x, target, k.stiffness, out.spring)
    for i in range(n):
        out.bias[i] = x.bias[i] - 2.0 * x.v[i]


class TipSpring(Law):
    """A spring at the tool: τ = Jᵀ K (p_d − p) + b̂ − 2 v."""

    name: ClassVar[str] = "tip-spring"
    memoryless: ClassVar[bool] = True
    kernel = _kernel
    stiffness: float = setting(100.0, "N/m", "K", ge=0)

    def gains(self, robot: pp.Robot) -> Gains:
        """K."""
        return Gains(stiffness=self.stiffness)


def law_of(name: str) -> type[Law]:
    return law_class(name)


def test_reads_through_helpers_and_aliases_are_found() -> None:
    assert reads_of(_kernel).needs == ("bias", "J")
    assert reads_of(_kernel).target == ("position",)


def test_a_compiled_law_that_declares_nothing_is_given_what_its_helpers_read() -> None:
    """Without the Jacobian the tool would not be held at all: zeros in, zeros out."""
    robot = pp.load_robot("planar2")
    start = np.array([0.4, 0.9])
    trace = pp.simulate(pp.Run(robot, TipSpring(), clock=pp.world.Clock(duration=0.02), q_start=start))
    wanted = 100.0 * (trace["target_position"] - trace["tool_position"])
    expected = [robot.jacobian(q)[:3].T @ f for q, f in zip(trace["q_measured"], wanted)]
    assert np.abs(trace["tau.bias"] - [robot.bias(q, v) - 2.0 * v for q, v in zip(trace["q"], trace["v"])]).max() < 1e-9
    assert np.abs(trace["tau.spring"] - expected).max() < 1e-9
    late = pp.simulate(
        pp.Run(
            robot, TipSpring(), clock=pp.world.Clock(duration=0.02), q_start=start,
            reference=pp.control.references.Line(offset=(0.0, 0.1, 0.0), duration=0.01),
        )
    )  # fmt: skip
    assert np.abs(late["tau.spring"]).max() > 1.0


def test_a_law_at_the_tool_reports_no_joint_errors() -> None:
    robot = pp.load_robot("planar2")
    trace = pp.simulate(pp.Run(robot, TipSpring(), clock=pp.world.Clock(duration=0.01), q_start=np.array([0.4, 0.9])))
    assert trace.facts.follows == "tool"
    found = {result.name: result for result in evaluate(trace)}
    assert found["joint_error_rms"].value is None
    assert re.search(r"joints.*none", str(found["joint_error_rms"].reason))
    assert found["position_error_rms"].value is not None


def test_a_law_in_python_says_what_it_follows_or_both_errors_are_reported() -> None:
    robot, clock = pp.load_robot("planar2"), pp.world.Clock(duration=0.01)

    def still(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
        return {"torque": tick.bias}

    for follows, applies in ((None, {"joint", "position"}), ("tool", {"position"}), ("nothing", set())):
        trace = pp.simulate(pp.Run(robot, PythonLaw(still, follows=follows), clock=clock))  # pyright: ignore[reportArgumentType]
        found = {result.name: result.value for result in evaluate(trace)}
        assert {what for what in ("joint", "position") if found[f"{what}_error_rms"] is not None} == applies


@pytest.mark.parametrize(
    ("name", "follows"),
    [
        ("passive", "nothing"), ("gravity-compensation", "nothing"), ("fastest-stop", "nothing"),
        ("joint-impedance", "joints"), ("computed-torque", "joints"),
        ("cartesian-impedance", "tool"), ("admittance", "tool"), ("integral-force", "tool"), ("hybrid-force", "tool"),
        ("pole-balance", "tool"), ("standing", "tool"), ("priorities", None),
    ],
)  # fmt: skip
def test_what_the_shipped_laws_follow(name: str, follows: str | None) -> None:
    assert law_of(name)().traits.follows == follows


def test_a_stack_of_postures_follows_the_joints() -> None:
    assert Priorities(levels=(Level(kind="posture"),)).traits.follows == "joints"
    assert Priorities(levels=(Level(kind="position"),)).traits.follows == "tool"


def test_what_a_law_ignores_of_the_reference() -> None:
    assert set(TARGET) - set(law_of("joint-impedance")().reads.target) == {
        "position", "quat_wxyz", "twist", "acceleration", "wrench"
    }  # fmt: skip
    assert "wrench" not in law_of("cartesian-impedance")().reads.target
    assert "wrench" in law_of("hybrid-force")().reads.target


@pytest.mark.parametrize("name", sorted(set(LAWS.shipped) - {"standing", "pole-balance", "fastest-stop"}))
def test_what_a_law_does_not_read_can_be_anything(name: str) -> None:
    """Terms that were not found are set to NaN: the command stays what it was."""
    robot, rng = pp.load_robot("panda"), np.random.default_rng(3)
    law = law_of(name)()
    bounds = [law.bind(robot) for _ in range(2)]
    q, v = robot.home + 0.02 * rng.normal(size=7), 0.1 * rng.normal(size=7)
    x = robot.terms(q, v)
    found = []
    for bound, poison in zip(bounds, (False, True)):
        tick = Tick(sizes_of(robot))
        for term in (*(need for need in NEEDS if need != "J_rate"), "position", "rotation"):
            known = term in bound.needs or term in ("position", "rotation")
            getattr(tick, term)[...] = np.nan if poison and not known else getattr(x, term)
        tick.q[:], tick.v[:] = q, v
        for field, size in (("q", 7), ("v", 7), ("a", 7), ("twist", 6), ("acceleration", 6), ("wrench", 6)):
            taken = field in law.reads.target or not poison
            getattr(tick.target, field)[:] = 0.1 * np.ones(size) if taken else np.nan
        tick.target.position[:] = x.position if "position" in law.reads.target or not poison else np.nan
        tick.target.quat_wxyz[:] = (1.0, 0, 0, 0) if "quat_wxyz" in law.reads.target or not poison else np.nan
        bound.decide(tick)
        found.append(bound.rows.copy())
    assert np.isfinite(found[0]).all()
    assert np.array_equal(found[0], found[1])

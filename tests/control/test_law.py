"""The law's interface: one tick from Python, gains per joint."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from palpate.config import Config, setting
from palpate.control import LAWS, JointImpedance, PlainLaw, PythonLaw
from palpate.control.law import MOVED, Follows, Law, PoleView, Seen, per_joint, refuse_free_base
from palpate.control.references.reference import joint_target
from palpate.errors import BadShape, InvalidInput, NotFinite
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.scenario.model import law_class
from palpate.world.clock import Clock


def test_a_tick_is_what_the_loop_does_at_its_first_instant() -> None:
    robot = load_robot("panda")
    start, speed = robot.home + 0.05, np.linspace(-0.2, 0.2, 7)
    law = JointImpedance(stiffness=50.0)
    trace = simulate(Run(robot, law, clock=Clock(duration=0.002), q_start=start, v_start=speed))
    tick = law.tick(robot, start, speed, target=joint_target(robot, start))
    assert list(tick.terms) == ["spring", "damper", "feed_forward", "gravity"]
    assert tick.command == pytest.approx(trace["command"][0], abs=1e-12)
    for name, value in tick.terms.items():
        assert value == pytest.approx(trace[f"tau.{name}"][0], abs=1e-12)
    assert tick.kind == "torque"


def test_a_tick_without_a_target_stands_still() -> None:
    robot = load_robot("panda")
    q = robot.home + 0.1
    tick = JointImpedance().tick(robot, q, np.zeros(7))
    assert tick.command == pytest.approx(robot.gravity(q), abs=1e-12)


def test_nothing_of_a_tick_is_left_in_the_next_but_the_laws_memory() -> None:
    """Everything a tick knows, told back by a law; given, left out, given again."""

    def told(tick, gains, memory):
        parts = [tick.q, tick.v, tick.wrench, tick.tau, tick.target.q, tick.target.wrench, tick.seen.pole.AB]
        memory.append(np.concatenate([np.array(part) for part in parts]))
        return {"torque": np.zeros(tick.v.size)}

    panda, rng = load_robot("panda"), np.random.default_rng(1)
    law = PythonLaw(told, memory=[]).bind(panda)
    target, seen = joint_target(panda, rng.normal(size=7)), Seen(pole=PoleView(AB=[0.1, 0.2, 0.3]))
    target.wrench[:] = 4.0
    q, v = panda.home + 0.1, rng.normal(size=7)
    given = {"target": target, "wrench": np.ones(6), "tau": np.full(7, 2.0), "seen": seen}
    law.tick(panda, q, v, **given)
    law.tick(panda, q, v)
    law.tick(panda, q, v, **given)
    full, bare, again = law.memory
    assert full.tolist() == [*q, *v, *[1.0] * 6, *[2.0] * 7, *target.q, *[4.0] * 6, 0.1, 0.2, 0.3]
    assert bare.tolist() == [*q, *v, *[0.0] * 13, *q, *[0.0] * 9]
    assert again.tolist() == full.tolist()


def test_a_bound_law_keeps_its_memory_between_ticks() -> None:
    def count(tick, gains, memory):
        memory[0] += tick.wrench[2] * tick.dt
        return {"torque": np.full(tick.v.size, memory[0])}

    robot = load_robot("planar2")
    bound = PythonLaw(count, memory=np.zeros(1)).bind(robot)
    ticks = [bound.tick(robot, robot.home, np.zeros(2), wrench=[0, 0, 4, 0, 0, 0], dt=0.5) for _ in range(3)]
    assert ticks[-1].command == pytest.approx([6.0, 6.0])
    assert bound.remarks(bound.memory) == []


@pytest.mark.parametrize("name", LAWS.shipped)
def test_every_law_of_the_table_knows_its_name(name: str) -> None:

    law = law_class(name)
    assert law.name == name
    assert law.__doc__


def test_bad_ticks_are_refused() -> None:
    robot = load_robot("planar2")
    law, still = JointImpedance(), np.zeros(2)
    with pytest.raises(NotFinite, match="nan"):
        law.tick(robot, [np.nan, 0], still)
    with pytest.raises(NotFinite, match="wrench"):
        law.tick(robot, still, still, wrench=[np.inf, 0, 0, 0, 0, 0])
    with pytest.raises(BadShape, match="target"):
        law.tick(robot, still, still, target=joint_target(load_robot("pendulum"), np.zeros(1)))


def test_gains_per_joint() -> None:
    robot = load_robot("planar2")
    assert per_joint(robot, 3.0, "gain").tolist() == [3.0, 3.0]
    assert per_joint(robot, (1.0, 2.0), "gain", least=0.0).tolist() == [1.0, 2.0]
    with pytest.raises(InvalidInput, match=r"gain of joint .*at least 0, got -2"):
        per_joint(robot, (1.0, -2.0), "gain", least=0.0)
    with pytest.raises(BadShape, match="planar2"):
        per_joint(robot, (1.0,), "gain")
    with pytest.raises(NotFinite):
        per_joint(robot, float("nan"), "gain")
    refuse_free_base(robot, "any")
    with pytest.raises(InvalidInput, match="quadruped"):
        refuse_free_base(load_robot("quadruped"), "any")


def test_a_law_that_overrides_bind_is_refused_since_a_run_would_pass_over_it() -> None:
    with pytest.raises(InvalidInput, match=r"(?s)overrides `bind`.*override `bound_to"):

        class _Old(JointImpedance):
            def bind(self, robot):
                return super().bind(robot)


@pytest.mark.parametrize(
    ("body", "new"),
    [
        ({"remarks": lambda self, memory: []}, r"`report` now.*LawReport\(remarks"),
        ({"holds": False}, r"`traits` now.*replace\(super\(\).traits, holds"),
        ({"needed": lambda self: ()}, r"replace\(super\(\).reads, needs"),
        ({"term_names": lambda self: ()}, "it is `terms` now"),
        ({"shown": (), "__annotations__": {"shown": "ClassVar[tuple[Shown, ...]]"}}, r"LawReport\(shown"),
    ],
)
def test_a_law_with_an_attribute_that_moved_is_refused_with_the_new_one(body: dict, new: str) -> None:
    with pytest.raises(InvalidInput, match=f"(?s)the law Mine defines.*{new}"):
        type("Mine", (JointImpedance,), {"__module__": __name__, **body})


def test_an_attribute_that_moved_is_answered_with_its_new_place() -> None:
    law: Any = JointImpedance()
    assert law.traits.follows == "joints"
    with pytest.raises(AttributeError, match=r"law\.traits\.follows"):
        _ = law.follows
    with pytest.raises(AttributeError, match=r"law\.reads\.target"):
        _ = law.takes
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = law.nothing_of_the_kind


def test_a_setting_may_have_a_name_that_moved() -> None:
    class Mine(JointImpedance):
        """A law with settings that are called so."""

        holds: float = setting(2.0, "s", "how long")
        figure: int = 3

    assert (Mine().holds, Mine().figure, Mine().traits.holds) == (2.0, 3, True)


def test_a_plain_law_says_what_it_follows_and_promises_it() -> None:
    class Mine(PlainLaw):
        """Nothing."""

        name: ClassVar[str] = "mine"
        follows: ClassVar[Follows | None] = "joints"

        def decide(self, tick: Any, memory: Any) -> Any:
            return {"torque": 0.0 * tick.v}

    assert Mine().traits.follows == "joints"
    assert [promise.joints for promise in Mine().traits.promises(load_robot("planar2"))] == [True]


def test_a_law_has_sixteen_names_and_none_of_a_shipped_one_is_a_moved_one() -> None:
    assert len({name for name in vars(Law) | Law.__annotations__ if name[0] != "_"} - set(vars(Config))) == 16
    for name in LAWS:
        assert not set(MOVED) & (set(vars(law_class(name))) | set(law_class(name).model_fields)), name

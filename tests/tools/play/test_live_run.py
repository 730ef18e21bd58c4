"""A run at real time under a hand: the same run as `simulate` until it is touched, and beyond its end."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.errors import InvalidInput, PalpateError
from palpate.run.simulate import simulate_quietly
from palpate.scenario.file.load import load_scenario
from palpate.tools.play.live import HELD, LiveRun
from palpate.trace import Trace

SHORT = ["run.duration=1"]


@pytest.fixture
def data() -> dict:
    return load_scenario("panda-wall", SHORT).as_data()


@pytest.fixture(scope="module")
def trace() -> Trace:
    return simulate_quietly(load_scenario("panda-wall", SHORT))


def test_an_untouched_live_run_is_the_run_of_simulate(data: dict, trace: Trace) -> None:
    live = LiveRun(data)
    for ticks in (33, 100, 700):
        live.advance(ticks)
        sample = live.sample()
        row = int(np.searchsorted(trace.time, sample.time[0] - 1e-9))
        for name in ("q", "v", "tau", "contact_wrench"):
            np.testing.assert_array_equal(sample[name][0], trace[name][row])


def test_a_change_on_the_way_goes_on_from_where_the_run_is(data: dict, trace: Trace) -> None:
    live = LiveRun(data)
    live.advance(400)
    live.change(data)  # to what it was
    live.advance(400)
    sample = live.sample()
    row = int(np.searchsorted(trace.time, sample.time[0] - 1e-9))
    np.testing.assert_array_equal(sample["q"][0], trace["q"][row])
    before = live.time
    soft = load_scenario("panda-wall", [*SHORT, "control.stiffness=[100, 100, 100, 20, 20, 20]"]).as_data()
    live.change(soft)
    assert (live.time, live.said) == (before, "")
    live.advance(200)
    assert live.running  # it goes on beyond its end
    other = load_scenario("panda-wall", [*SHORT, "world.driver.delay=7"]).as_data()
    live.change(other)
    assert live.time == 0.0
    assert "started again" in live.said
    with pytest.raises(PalpateError):
        live.change(load_scenario("panda-wall", SHORT).as_data() | {"control": {"law": "none"}})
    live.advance(10)


def test_a_push_acts_at_the_point_that_is_held(data: dict) -> None:
    """The generalised force of a push f at a point p is Jᵀ f, with J the Jacobian of the point."""
    live, force, point = LiveRun(data), np.array([3.0, -20.0, 5.0]), np.array([0.02, -0.03, 0.1])
    L = live.assembly.loop
    body = live.bodies[3]
    live.push(body, point, force)
    live.advance(1)
    import mujoco

    model, plant = live.assembly.plant.model, mujoco.MjData(live.assembly.plant.model)
    plant.qpos[:] = live.assembly.data.qpos  # one step later; compared with what that step will feel
    mujoco.mj_forward(model, plant)
    live.advance(1)
    where = plant.xpos[body] + plant.xmat[body].reshape(3, 3) @ point
    J = np.zeros((3, model.nv))
    mujoco.mj_jac(model, plant, J, np.zeros((3, model.nv)), where, body)
    np.testing.assert_allclose(L.pushed.force, J.T @ force, atol=1e-9)
    np.testing.assert_allclose(L.pushes[live._bodies[body]].position, where, atol=1e-12)
    np.testing.assert_allclose(live.sample()["push_wrench"][0, :3], force)


def test_a_hand_that_is_silent_has_let_go(data: dict) -> None:
    live = LiveRun(data)
    live.push(live.bodies[-1], [0, 0, 0], [0, 10, 0])
    live.advance(round(0.5 * HELD / 1e-3))
    assert live.sample()["push_wrench"][0, 1] == 10.0
    live.advance(round(HELD / 1e-3))
    live.advance(1)
    assert live.sample()["push_wrench"][0, 1] == 0.0
    live.push(live.bodies[-1], [0, 0, 0], [0, 10, 0])
    live.release()
    live.advance(1)
    assert live.sample()["push_wrench"][0, 1] == 0.0


def test_what_no_hand_can_do_is_refused(data: dict) -> None:
    live = LiveRun(data)
    link, here = live.bodies[0], [0.0, 0.0, 0.0]
    wrong = ((0, here, [1, 0, 0]), (link, [0, 0], [1, 0, 0]), (link, here, [np.nan, 0, 0]), (link, here, [1e6, 0, 0]))
    for body, point, force in wrong:
        with pytest.raises(PalpateError):
            live.push(body, point, force)
    with pytest.raises(InvalidInput, match="'q' is not"):
        LiveRun(load_scenario("panda-wall", [*SHORT, 'record.channels=["contact_force"]']).as_data())


def test_a_live_run_that_diverges_says_so(data: dict) -> None:
    live = LiveRun(load_scenario("panda-wall", ["run.max_speed=0.05"]).as_data())
    live.advance(2000)
    assert not live.running
    assert live.outcome.kind == "diverged"
    live.change(data)
    live.advance(10)
    assert live.running

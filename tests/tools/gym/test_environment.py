"""The Gymnasium environment: its contract, that it is the same loop, and what an agent can do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from palpate.errors import InvalidInput, UnknownName
from palpate.run.simulate import simulate
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario
from palpate.spatial import matrix_from_quat, matrix_from_rotation_vector

gymnasium = pytest.importorskip("gymnasium")
checker = pytest.importorskip("gymnasium.utils.env_checker")

from palpate.tools.gym import ContactEnv, ThreadedEnvs  # noqa: E402

STILL = np.zeros(6, dtype=np.float32)


@pytest.mark.parametrize("stiffness", [False, True])
def test_gymnasiums_own_check_passes(stiffness: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(ContactEnv("panda-wall", stiffness=stiffness), skip_render_check=True)


def test_every_shipped_scenario_has_a_name_of_gymnasiums() -> None:
    names = [name for name in gymnasium.registry if name.startswith("palpate/")]
    assert {"palpate/PandaWall-v0", "palpate/Ur5eAdmittance-v0"} <= set(names)
    assert len(names) == len(shipped())
    env = gymnasium.make("palpate/PandaWall-v0", rate=25, render_mode="rgb_array")
    assert env.unwrapped.scenario.name == "panda-wall"
    assert env.metadata["render_fps"] == 25
    observation, _ = env.reset(seed=3)
    direct, _ = ContactEnv("panda-wall").reset(seed=3)
    np.testing.assert_array_equal(observation, direct)


def test_observations_are_bounded_and_a_number_beyond_is_cut() -> None:
    env = ContactEnv("panda-wall")
    assert env.observation_space == gymnasium.spaces.Box(-env.bounds, env.bounds, dtype=np.float64)
    assert np.isfinite(env.bounds).all()
    assert env.bounds[:3].tolist() == [10.0] * 3  # the tool's position, m
    assert env.bounds[3:7].tolist() == [1.0] * 4  # its quaternion
    env.steps.assembly.layout.array[:] = 1e9  # a run that went astray
    assert env._observation().tolist() == env.bounds.tolist()


def test_a_picture_shows_where_the_arm_is_and_html_the_episode() -> None:
    pytest.importorskip("matplotlib")
    env = ContactEnv("panda-wall", render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    for _ in range(20):
        env.step(np.array([-1, 1, 1, 0, 0, 0], dtype=np.float32))
    after = env.render()
    assert before.shape == (480, 640, 3)
    assert before.dtype == np.uint8
    inked = np.abs(before.astype(int) - before[0, 0]).max(axis=2) > 30
    assert 0.03 < inked.mean() < 0.6
    assert np.mean(np.abs(before.astype(int) - after).max(axis=2) > 30) > 0.005
    env.render_mode = "html"
    assert "3D replay" in env.render()._repr_html_()
    with pytest.raises(InvalidInput, match="rgb_array, html"):
        ContactEnv("panda-wall", render_mode="human")


def test_without_actions_it_is_a_run_that_holds() -> None:
    scenario = load_scenario("panda-wall").replace(run__duration=0.2)
    env = ContactEnv(scenario)
    env.reset(seed=0)
    over, info = False, {}
    while not over:
        *_, terminated, truncated, info = env.step(STILL)
        over = terminated or truncated
    held = simulate(scenario.replace(reference__kind="hold", reference__wrench={"value": [-20, 0, 0, 0, 0, 0]}))
    assert env.steps.trace()["q"][-1].tolist() == held["q"][-1].tolist()  # to the bit
    assert info["outcome"].startswith("completed")
    assert info["metrics"]["position_error_max"] is not None


def test_moving_the_target_into_the_wall_presses_and_a_softer_spring_presses_less() -> None:
    forces = []
    for wish in (0.0, -1.0):
        env = ContactEnv("panda-wall", stiffness=True)
        env.reset(seed=0)
        for k in range(60):
            env.step(np.r_[1.0 if k < 17 else 0.0, np.zeros(5), np.full(6, wish)].astype(np.float32))
        forces.append(env.steps.column("contact_force")[0])
    firm, soft = forces
    assert 15 < firm < 25
    assert soft == pytest.approx(firm / 3, rel=0.15)


def test_turns_add_up_as_rotation_vectors_in_world_axes() -> None:
    env, rng = ContactEnv("panda-wall", turn=0.2), np.random.default_rng(2)
    env.reset(seed=0)
    wanted = matrix_from_quat(env.steps.target.quat_wxyz)
    position = env.steps.target.position.copy()
    for _ in range(5):
        action = rng.uniform(-1, 1, 6)
        env.step(action)
        wanted = matrix_from_rotation_vector(0.2 * action[3:]) @ wanted
        position += env.reach * action[:3]
    np.testing.assert_allclose(matrix_from_quat(env.steps.target.quat_wxyz), wanted, atol=1e-14)
    np.testing.assert_allclose(env.steps.target.position, position, atol=1e-15)


def test_an_environment_that_cannot_be_stepped_at_once_sees_the_same() -> None:
    envs = ContactEnv("panda-wall"), ContactEnv("panda-wall")
    envs[0].reset(seed=1)
    envs[1].reset(seed=1)
    assert envs[0].at_once
    envs[1].at_once = False
    for _ in range(5):
        action = np.array([1, 0.3, 0, 0, 0.2, 0])
        one, other = envs[0].step(action), envs[1].step(action)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:4] == other[1:4]
    assert envs[0].steps.trace().equals(envs[1].steps.trace())


def test_the_reward_grows_towards_the_wanted_force() -> None:
    env = ContactEnv("panda-wall")
    env.reset(seed=0)
    last = env.step(STILL)
    first = last[1]
    for _ in range(17):
        last = env.step(np.array([1, 0, 0, 0, 0, 0], dtype=np.float32))
    for _ in range(30):
        last = env.step(STILL)
    assert first == pytest.approx(-1.0, abs=0.01)
    assert last[1] > -0.2


def test_many_step_side_by_side_like_one() -> None:
    scenario = load_scenario("panda-wall").replace(run__duration=0.1)
    many = ThreadedEnvs([lambda: ContactEnv(scenario)] * 3, threads=2)
    one = ContactEnv(scenario)
    seen, _ = many.reset(seed=5)
    np.testing.assert_array_equal(seen[1], one.reset(seed=6)[0])
    actions = np.tile(np.array([1, 0, 0, 0, 0, 0.5]), (3, 1))
    terminated, truncated, infos = np.zeros(3), np.zeros(3), {}
    for _ in range(5):
        seen, rewards, terminated, truncated, infos = many.step(actions)
        alone = one.step(actions[1])
        np.testing.assert_array_equal(seen[1], alone[0])
        assert rewards[1] == alone[1]
    assert truncated.all()
    assert not terminated.any()
    assert "metrics" in infos
    many.step(actions)  # begins anew
    assert many.envs[0].steps.time < 0.01
    many.close()


def test_what_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="contact_forc"):
        ContactEnv("panda-wall", observed=("contact_forc",))
    with pytest.raises(InvalidInput, match="control rate"):
        ContactEnv("panda-wall", rate=1e5)
    with pytest.raises(InvalidInput, match="cannot be set"):
        ContactEnv("panda-joint-impedance", stiffness=True)

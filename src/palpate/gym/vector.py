"""Many environments at once: the compiled loop releases the interpreter, so threads run side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import numpy as np

from palpate.checks import Array
from palpate.gym.environment import ContactEnv


class ThreadedEnvs(gymnasium.vector.VectorEnv):
    """Environments of one kind, stepped in threads; one that has ended begins anew at its next step."""

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012 - Gymnasium's own name

    def __init__(self, makers: Sequence[Callable[[], ContactEnv]], threads: int = 2) -> None:
        """Make the environments.

        Args:
            makers: functions that make one each, all of one kind.
            threads: how many are stepped at the same time.
        """
        self.envs = [make() for make in makers]
        self.num_envs = len(self.envs)
        self.single_observation_space, self.single_action_space = (
            self.envs[0].observation_space,
            self.envs[0].action_space,
        )
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, self.num_envs)
        self.action_space = batch(self.single_action_space, self.num_envs)
        self._pool = ThreadPoolExecutor(max_workers=threads)
        self._over = np.zeros(self.num_envs, dtype=bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin everywhere; the k-th environment gets seed + k."""
        seeds = [None if seed is None else seed + k for k in range(self.num_envs)]
        observations = list(self._pool.map(lambda env, one: env.reset(seed=one)[0], self.envs, seeds))
        self._over[:] = False
        return np.array(observations), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Step everywhere."""
        results = list(self._pool.map(self._step, range(self.num_envs), actions))
        seen, rewards, terminated, truncated, infos = zip(*results)
        self._over = np.array(terminated) | np.array(truncated)
        info: dict[str, Any] = {}
        for k, one in enumerate(infos):
            info = self._add_info(info, one, k)
        return np.array(seen), np.array(rewards), np.array(terminated), np.array(truncated), info

    def _step(self, index: int, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        env = self.envs[index]
        return (env.reset()[0], 0.0, False, False, {}) if self._over[index] else env.step(action)

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._pool.shutdown()

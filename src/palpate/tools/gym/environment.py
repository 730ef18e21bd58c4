"""A scenario as an environment: the agent moves the target of a law, and may set its stiffness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from palpate.checks import Array, finite_array
from palpate.errors import InvalidInput, check_names
from palpate.metrics import evaluate
from palpate.run.build import build
from palpate.run.steps import Steps
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.spatial import Pose

OBSERVED = ("tool_position", "tool_quat_wxyz", "tool_twist", "contact_wrench", "target_position", "target_quat_wxyz")
# Largest size of an observed number by its unit, far beyond what a sound episode reaches: a network needs finite ones.
BOUNDS = {
    "m": 10.0, "rad": 100.0, "m/s": 50.0, "rad/s": 100.0, "N": 1e4, "N·m": 1e4, "J": 1e5,
}  # fmt: skip
LARGEST = 1e6  # of any other unit
STIFFEST, SOFTEST = 3.0, 1.0 / 3.0  # factors on the law's own stiffness


@dataclass(frozen=True)
class Moment:
    """Inputs of a reward: the channels now, and the force that the scenario wants.

    Attributes:
        time: s.
        channels: every observed channel by name.
        wanted_force: size of the force that the scenario's reference asks for, N.
        action: what the agent did.
    """

    time: float
    channels: Mapping[str, Array]
    wanted_force: float
    action: Array


def force_reward(moment: Moment) -> float:
    """Minus the distance from the wanted force, in wanted forces (N where none is wanted), and a little for haste."""
    force = float(np.linalg.norm(moment.channels["contact_wrench"][:3]))
    return -abs(force - moment.wanted_force) / max(moment.wanted_force, 1.0) - 0.01 * float(
        np.sum(moment.action[:6] ** 2)
    )


class ContactEnv(gymnasium.Env):
    """A robot under a compiled law on the scenario's world; the agent moves the law's target.

    Action, each in [−1, 1]: the target's increment of position (x, y, z, times `reach`) and of orientation (rotation
    vector, world axes, times `turn`); with `stiffness=True` six more, which scale the stiffness of
    a law with a spring at the tool per direction between 1/3 and 3 times its own, and the damping by the root of that.
    Observation: the chosen channels one after another, SI units, cut at the bounds of their unit (`BOUNDS`).
    An episode ends (`terminated`) where the run diverges or a stop event fires, and is cut (`truncated`) at the
    scenario's duration; `info["metrics"]` then holds every metric of the episode, `info["outcome"]` how it ended.
    """

    metadata = {"render_modes": ["rgb_array", "html"], "render_fps": 50}  # noqa: RUF012 - Gymnasium's own name

    def __init__(
        self,
        scenario: str | Scenario = "panda-wall",
        *,
        rate: float = 50.0,
        reach: float = 0.005,
        turn: float = 0.02,
        stiffness: bool = False,
        observed: Sequence[str] = OBSERVED,
        reward: Callable[[Moment], float] = force_reward,
        render_mode: str | None = None,
    ) -> None:
        """Prepare the environment.

        Args:
            scenario: a shipped name, a file, or a scenario; its reference gives the first target and the wanted force.
            rate: steps of the agent per second, Hz.
            reach, turn: largest increment of a step, m and rad.
            stiffness: whether the agent sets the stiffness, too.
            observed: channels of the observation.
            reward: from a moment to a number.
            render_mode: what `render` gives: "rgb_array", a picture of the scene now (extra figures), or "html", the
                replay of the episode so far.

        Raises:
            UnknownName: no such channel.
            InvalidInput: a rate that does not fit the control period, a law whose stiffness cannot be set, or no such
                render_mode.
        """
        self.scenario = (scenario if isinstance(scenario, Scenario) else load_scenario(scenario)).with_code()
        self.reach, self.turn, self.observed, self.reward = reach, turn, tuple(observed), reward
        self.ticks = round(1.0 / (rate * self.scenario.run.control_period))
        if self.ticks < 1:
            raise InvalidInput(f"rate must be at most the control rate, got {rate:g} Hz")
        if render_mode not in (None, *self.metadata["render_modes"]):
            modes = ", ".join(self.metadata["render_modes"])
            raise InvalidInput(f"render_mode must be one of {modes}, or None; got {render_mode!r}")
        self.render_mode, self.stiffness = render_mode, stiffness
        self.metadata = {**self.metadata, "render_fps": round(rate)}
        self.steps = self._begin(0)
        self.bounds = self._bounds()
        self.observation_space = gymnasium.spaces.Box(-self.bounds, self.bounds, dtype=np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (12 if stiffness else 6,), np.float32)

    def _begin(self, seed: int) -> Steps:
        clock = self.scenario.run.model_copy(update={"seed": seed})
        steps = Steps(build(self.scenario.model_copy(update={"run": clock})))
        names = [channel.name for channel in steps.assembly.layout.channels]
        check_names("channel", self.observed, names)
        self._wanted = float(np.linalg.norm(steps.target.wrench[:3]))
        if self.stiffness:
            K, D = self._spring_damper(steps)
            self._own = K.copy(), D.copy()
        steps.advance(1)
        return steps

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; the seed is that of the sensors' noise."""
        super().reset(seed=seed)
        self.steps = self._begin(int(self.np_random.integers(2**31)))
        return self._observation(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Move the target, run until the next step of the agent, look.

        Raises:
            BadShape, NotFinite, InvalidInput: the action is not as many finite numbers as `action_space` says.
        """
        action = np.clip(finite_array(action, "an action", self.action_space.shape), -1.0, 1.0)
        self._move(action)
        if self.stiffness:
            self._stiffen(action[6:])
        self.steps.advance(self.ticks)
        seen = {name: self.steps.column(name) for name in self.observed}
        moment = Moment(
            self.steps.time, {**seen, "contact_wrench": self.steps.column("contact_wrench")}, self._wanted, action
        )
        truncated = self.steps.time >= self.scenario.run.duration - 1e-9
        terminated = not self.steps.running and not truncated
        info = self._summary() if terminated or truncated else {}
        return self._observation(), float(self.reward(moment)), terminated, truncated, info

    def _move(self, action: Array) -> None:
        target = self.steps.target
        target.position[:] += self.reach * action[:3]
        angle = self.turn * action[3:6]
        half = np.linalg.norm(angle) / 2
        quaternion = np.r_[np.cos(half), np.sinc(half / np.pi) * angle / 2]
        turned = Pose.from_quat((0, 0, 0), quaternion).rotation @ Pose.from_quat((0, 0, 0), target.quat_wxyz).rotation
        target.quat_wxyz[:] = Pose((0, 0, 0), turned).quat_wxyz

    def _spring_damper(self, steps: Steps) -> tuple[Array, Array]:
        """K and D as the law's kernel reads them."""
        law, gains = self.scenario.control, steps.assembly.law.gains
        if (matrices := law.traits.spring_damper(gains)) is None:
            raise InvalidInput(
                f"the stiffness of {law.name!r} cannot be set", hint="use a law with a spring at the tool"
            )
        return matrices

    def _stiffen(self, wish: Array) -> None:
        """K ← S K S with S = √factor per direction, so that it stays symmetric; D by the root of that."""
        (K_now, D_now), (K, D) = self._spring_damper(self.steps), self._own
        root = np.sqrt(SOFTEST * (STIFFEST / SOFTEST) ** ((wish + 1.0) / 2.0))
        K_now[:] = root[:, None] * K * root
        D_now[:] = np.sqrt(root[:, None] * root) * D

    def _bounds(self) -> Array:
        """The largest size of every observed number, by its unit; components of a unit quaternion end at 1."""
        channels = {channel.name: channel for channel in self.steps.assembly.layout.channels}
        sizes = [
            1.0 if "quat" in name else BOUNDS.get(unit, LARGEST)
            for name in self.observed
            for unit in channels[name].column_units
        ]
        return np.array(sizes)

    def _observation(self) -> Array:
        seen = np.concatenate([self.steps.column(name) for name in self.observed])
        return np.clip(seen, -self.bounds, self.bounds)

    def render(self) -> Any:
        """The scene now as bytes (height, width, 3), or the replay of the episode so far; see `render_mode`.

        Raises:
            MissingExtra: a picture without matplotlib.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called without a render_mode, such as gymnasium.make(…, render_mode=…)")
            return None
        trace = self.steps.trace()
        if self.render_mode == "html":
            return trace.replay()
        from palpate.views.still import picture

        return picture(trace)

    def _summary(self) -> dict[str, Any]:
        trace = self.steps.trace()
        metrics = {result.name: result.value for result in evaluate(trace, self.scenario.metrics)}
        return {"metrics": metrics, "outcome": str(trace.outcome)}


class ThreadedEnvs(gymnasium.vector.VectorEnv):
    """Environments of one kind, stepped in threads, which the compiled loop lets run side by side.

    One that has ended is reset at its next step.
    """

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

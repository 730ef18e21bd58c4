"""A scenario as an environment: the agent moves the target of a law, and may set its stiffness."""

from __future__ import annotations

import math
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
from palpate.run.loop.loop import run_steps
from palpate.run.steps import Steps
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.tools.gym.batch import Agent, Batch, look, move_target, take_step, take_steps

OBSERVED = ("tool_position", "tool_quat_wxyz", "tool_twist", "contact_wrench", "target_position", "target_quat_wxyz")
# Largest size of an observed number by its unit, far beyond what a sound episode reaches: a network needs finite ones.
BOUNDS = {
    "m": 10.0, "rad": 100.0, "m/s": 50.0, "rad/s": 100.0, "N": 1e4, "N·m": 1e4, "J": 1e5,
}  # fmt: skip
LARGEST = 1e6  # of any other unit
_FORCE = "contact_wrench"
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
    force, moved = moment.channels[_FORCE][:3], moment.action[:6]
    error = abs(math.sqrt(force @ force) - moment.wanted_force)
    return -error / max(moment.wanted_force, 1.0) - 0.01 * float(moved @ moved)


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
        self.render_mode, self.stiffness, self._duration = render_mode, stiffness, self.scenario.run.duration
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
        self._meet(steps)
        return steps

    def _meet(self, steps: Steps) -> None:
        """Give compiled code the new episode's loop and target, and what is seen of it."""
        loop, rows = steps.assembly.loop, steps.assembly.layout
        names = [*self.observed, *({_FORCE} - {*self.observed})]  # a reward is told the force in any case
        sizes = {channel.name: channel.size for channel in rows.channels}
        new = {
            "rescue": steps.assembly.rescues.rescue(run_steps),
            "loop": loop,
            "target": steps.target_numbers,
            "position": steps.target.position,
            "quat_wxyz": steps.target.quat_wxyz,
            "seen": np.array([(rows.starts[name], sizes[name]) for name in names]).ravel(),
        }
        if not hasattr(self, "agent"):
            self.agent = Agent({}, on=True, ticks=self.ticks, reach=self.reach, turn=self.turn, **new)
        else:
            self.agent.replace_all(new)
        ends = np.cumsum([sizes[name] for name in names]).tolist()
        self._parts = {name: slice(end - sizes[name], end) for name, end in zip(names, ends)}
        self._width, self.numbers = ends[len(self.observed) - 1] if self.observed else 0, np.zeros(ends[-1])
        self.at_once = steps.compiled and self.ticks <= steps.most_ticks

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
        action = self.prepare(action)
        if self.at_once:
            take_step(self.agent, action, self.numbers)
        else:
            move_target(self.agent, action)
            self.steps.advance(self.ticks)
            look(self.agent, self.numbers)
        return self.judge(action)

    def prepare(self, action: Array) -> Array:
        """An action as the step takes it, cut at its bounds; the stiffness is set."""
        action = finite_array(action, "an action", self.action_space.shape).clip(-1.0, 1.0)
        if self.stiffness:
            self._stiffen(action[6:])
        self.steps.make_room()
        return action

    def judge(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Results of `step`, once the step has been run."""
        if self.at_once:
            self.steps.note(self.agent.status)
        time, numbers = self.steps.time, self.numbers.copy()
        moment = Moment(time, {name: numbers[part] for name, part in self._parts.items()}, self._wanted, action)
        truncated = time >= self._duration - 1e-9
        terminated = not truncated and not self.steps.running
        info = self._summary() if terminated or truncated else {}
        seen = numbers[: self._width].clip(-self.bounds, self.bounds)
        return seen, float(self.reward(moment)), terminated, truncated, info

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
        look(self.agent, self.numbers)
        return self.numbers[: self._width].clip(-self.bounds, self.bounds)

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
        self._parts = [
            _Part(self.envs, indices) for indices in np.array_split(np.arange(self.num_envs), threads) if len(indices)
        ]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin everywhere; the k-th environment gets seed + k."""
        seeds = [None if seed is None else seed + k for k in range(self.num_envs)]
        observations = list(self._pool.map(lambda env, one: env.reset(seed=one)[0], self.envs, seeds))
        self._over[:] = False
        return np.array(observations), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Step everywhere: each thread its share of the environments, in one compiled call."""
        results = [
            one for part in self._pool.map(lambda part: part.step(actions, self._over), self._parts) for one in part
        ]
        seen, rewards, terminated, truncated, infos = zip(*results)
        self._over = np.array(terminated) | np.array(truncated)
        info: dict[str, Any] = {}
        for k, one in enumerate(infos):
            info = self._add_info(info, one, k)
        return np.array(seen), np.array(rewards), np.array(terminated), np.array(truncated), info

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._pool.shutdown()


class _Part:
    """Environments that one thread steps."""

    def __init__(self, envs: Sequence[ContactEnv], indices: Array) -> None:
        self._envs = [(int(k), envs[k]) for k in indices]
        self._batch = Batch({}, agents=[env.agent for _, env in self._envs])
        first = self._envs[0][1]
        self._actions = np.zeros((len(self._envs), *first.action_space.shape))
        self._numbers = np.zeros((len(self._envs), len(first.numbers)))

    def step(self, actions: Array, over: Array) -> list[tuple[Array, float, bool, bool, dict[str, Any]]]:
        """Step each; one that is over begins anew instead."""
        for row, (k, env) in enumerate(self._envs):
            env.agent.on = env.at_once and not over[k]
            if env.agent.on:
                self._actions[row] = env.prepare(actions[k])
        take_steps(self._batch, self._actions, self._numbers)
        return [self._result(row, env, actions[k], over[k]) for row, (k, env) in enumerate(self._envs)]

    def _result(
        self, row: int, env: ContactEnv, action: Array, over: bool
    ) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        if over:
            return env.reset()[0], 0.0, False, False, {}
        if not env.agent.on:
            return env.step(action)
        env.numbers[:] = self._numbers[row]
        return env.judge(self._actions[row].copy())

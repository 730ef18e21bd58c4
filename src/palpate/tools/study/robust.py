"""A robustness study: everything that is not known exactly, drawn from stated spreads, around a scenario.

The spreads say what a careful engineer would not bet on: masses to 5 %, centres of mass to 5 mm, friction that no model
has, a wall within a factor of two, sensors that are noisy and biased, up to two periods of delay.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from palpate.config import Config, required
from palpate.errors import FileError, InvalidInput, check_names
from palpate.files import make_folder, read_text, write_file
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario
from palpate.scenario.file.places import absolute_path, relative_path
from palpate.scenario.model import Scenario
from palpate.scenario.robot import build_robot
from palpate.sealed import sealed, unsealed
from palpate.tools.study.planning import check_points, make_plan
from palpate.tools.study.plans.axis import Spec
from palpate.tools.study.plans.override import override
from palpate.tools.study.plans.plan import IMPOSSIBLE, Plan
from palpate.tools.study.plans.spec import parse_axis
from palpate.tools.study.result import Sweep
from palpate.tools.study.running.store import Store, check_content
from palpate.tools.study.running.worker import run_row, whole_trace
from palpate.tools.study.sweeps import Progress, finish

RUNS = 300
STUDY, DRAWS, MAP = "study.json", "draws", "map"  # what was asked for; folders of the two sweeps
FRICTION, VISCOUS = 0.02, 0.01  # of the smallest torque limit: N·m, and N·m·s/rad
UNKNOWN_LIMIT = 5.0  # N·m or N, where a robot states no torque limit
TENFOLD = "0.1:10:17:log"  # how far a map goes in a stiffness, up and down


@dataclass(frozen=True)
class Spread:
    """A quantity that a study draws: its key, its distribution, and why."""

    key: str
    spec: str
    why: str


@dataclass(frozen=True)
class Robustness:
    """Result of a robustness study.

    Attributes:
        draws: the runs at independent draws, with the sentence they prove.
        map: the runs of the map; None where the scenario has no two parameters for one.
        spreads: what was drawn.
        left_out: keys that the scenario cannot have, and why.
    """

    draws: Sweep
    map: Sweep | None
    spreads: tuple[Spread, ...]
    left_out: dict[str, str]

    @property
    def sentence(self) -> str:
        """A sentence on what the draws prove."""
        return self.draws.sentence


def robustness(
    scenario: Scenario | str | os.PathLike[str],
    *,
    vary: Mapping[str, Spec] | None = None,
    without: Sequence[str] = (),
    runs: int = RUNS,
    seed: int = 0,
    over: Mapping[str, Spec] | None = None,
    confidence: float = 0.95,
    overrides: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Robustness:
    """Draw everything that is uncertain, and map where it fails.

    Args:
        scenario: a scenario, its shipped name, or its file.
        vary: further spreads, or others than the stated ones, by key.
        without: keys that are left as they are.
        runs, seed, confidence: of the draws.
        over: two keys and stretches for the map; chosen from what the scenario has if not given, {} for no map.
        overrides: `key=value` texts put into the scenario first.
        out, workers, cluster, progress: as for `sweep`; the folder gets one sweep in `draws` and one in `map`.
    """
    typed = (scenario if isinstance(scenario, Scenario) else load_scenario(scenario, overrides)).with_code()
    wanted, left_out = spreads(typed, vary or {}, without)
    varied: dict[str, Spec] = {**{one.key: one.spec for one in wanted}, **(vary or {})}
    keeper = tempfile.TemporaryDirectory(prefix="palpate-study-") if out is None else None
    folder = Path(keeper.name if keeper else str(out))
    if not isinstance(scenario, Scenario):
        request = {"vary": vary or {}, "without": without, "runs": runs, "seed": seed, "over": over}
        _write_request(folder, request | {"confidence": confidence, "overrides": overrides}, os.fspath(scenario))
    common: dict[str, Any] = {"overrides": overrides, "seed": seed, "confidence": confidence}
    plan = make_plan(scenario, varied, method="random", runs=runs, **common)
    stretch = map_axes(typed) if over is None else dict(over)
    mapped = make_plan(scenario, stretch, method="map", **common) if stretch else None

    def made(name: str, one: Plan) -> Sweep:
        check_points(one)
        make_folder(folder / name)
        return finish(Store.begin(folder / name, one, keeper), workers, cluster, progress)

    draws = made(DRAWS, plan)
    return Robustness(draws, made(MAP, mapped) if mapped else None, tuple(wanted), left_out)


def _write_request(folder: Path, request: Mapping[str, Any], scenario: str) -> None:
    """Write down what was asked for, so that a study can go on by its folder alone; a file as seen from there."""
    check_content(folder, "a study", STUDY)
    make_folder(folder)
    name = scenario if scenario in shipped() else relative_path(os.path.realpath(scenario), folder)
    write_file(folder / STUDY, sealed({**request, "scenario": name}))


class _Request(Config):
    """A study's request, as its folder keeps it."""

    scenario: str = required("1", "shipped name, or file as seen from the folder")
    vary: dict[str, Any] = required("1", "spreads that were asked for, by key")
    without: list[str] = required("1", "keys that are not varied")
    runs: int = required("1", "independent draws")
    seed: int = required("1", "of the draws")
    over: dict[str, Any] | None = required("1", "axes of the map; none: chosen")
    confidence: float = required("1", "level of every interval")
    overrides: list[str] = required("1", "KEY=VALUE texts put into the scenario first")


def study_folder(folder: str | os.PathLike[str]) -> tuple[Path, dict[str, Any]]:
    """The folder of a study that was begun, and what was asked for."""
    path = Path(folder) / STUDY
    try:
        request = _Request.model_validate(unsealed(read_text(path), str(path)), strict=True).model_dump()
        name = request["scenario"]
        return Path(folder), {**request, "scenario": name if name in shipped() else absolute_path(name, folder)}
    except FileError as error:
        raise FileError(f"{folder} holds no study: {error.args[0]}", hint="give the folder of a study") from error
    except ValueError as error:
        raise FileError(f"{folder} holds no study: {path}: {error}", hint="give the folder of a study") from error


def spreads(
    scenario: Scenario, vary: Mapping[str, Spec] | None = None, without: Sequence[str] = ()
) -> tuple[list[Spread], dict[str, str]]:
    """The spreads of a scenario, and the keys that it cannot have with the reason."""
    data = {key: value for key, value in scenario.as_data().items() if key != "sweep"}
    offered = [*_of_plant(scenario), *_of_walls(scenario), *_of_sensors(scenario, data), *_of_delay(scenario)]
    check_names("spread to leave out", without, [one.key for one in offered])
    tried = {one: _refusal(one, data) for one in offered if one.key not in {*without, *(vary or ())}}
    kept = [one for one, reason in tried.items() if reason is None]
    left_out = {one.key: reason for one, reason in tried.items() if reason is not None}
    if not kept and not vary:
        raise InvalidInput("nothing is left to draw", hint="name a spread with --vary")
    return kept, left_out


def _refusal(one: Spread, data: Mapping[str, Any]) -> str | None:
    """Why the scenario cannot have this spread, tried with a few steps of a run."""
    axis = parse_axis(one.key, one.spec)
    steps = f"run.duration={5 * data['run']['timestep']!r}"
    row = run_row(data, [override(axis, axis.at(0.6), data), steps], ())
    return " ".join(str(row["reason"]).split()) if row["outcome"] == IMPOSSIBLE else None


def _of_plant(scenario: Scenario) -> Iterator[Spread]:
    plant = scenario.world.plant
    yield _around("world.plant.mass_scale", plant.mass_scale, 0.05, "masses and inertias of the links, to 5 %")
    for k, axis in enumerate("xyz"):
        key = f"world.plant.com_offset.{k}"
        yield Spread(key, f"normal({plant.com_offset[k]!r}, 0.005)", f"centres of mass, {axis} of each link, to 5 mm")
    most = smallest_torque(scenario)
    for key, share, what in (("joint_friction", FRICTION, "Coulomb"), ("joint_damping", VISCOUS, "viscous")):
        value = getattr(plant, key)
        if np.any(value):
            yield Spread(f"world.plant.{key}*", "uniform(0.5, 1.5)", f"{what} friction of the joints, to a half")
        else:
            yield Spread(f"world.plant.{key}", f"uniform(0.0, {share * most:.4g})", f"{what} friction of the joints")


def _around(key: str, value: float, share: float, why: str) -> Spread:
    ends = ", ".join(f"{value * factor:.6g}" for factor in (1.0, share, 1.0 - 4 * share, 1.0 + 4 * share))
    return Spread(key, f"normal({ends})", why)


def smallest_torque(scenario: Scenario) -> float:
    """The smallest torque limit of the robot, N·m or N; a guess where it states none."""
    limits = build_robot(scenario.robot).limits.torque
    known = limits[np.isfinite(limits) & (limits > 0)]
    return float(known.min()) if len(known) else UNKNOWN_LIMIT


def _of_walls(scenario: Scenario) -> Iterator[Spread]:
    for wall in scenario.world.surfaces:
        key = f"world.surfaces.{wall.name}"
        if wall.contact == "compliant":
            yield Spread(f"{key}.stiffness*", "loguniform(0.5, 2)", f"stiffness of {wall.name}, to a factor of two")
            if wall.damping > 0:
                yield Spread(f"{key}.damping*", "uniform(0.5, 1.5)", f"damping of {wall.name}, to a half")
        if wall.friction > 0:
            yield Spread(f"{key}.friction*", "uniform(0.5, 1.5)", f"friction of {wall.name}, to a half")


def _of_sensors(scenario: Scenario, data: Mapping[str, Any]) -> Iterator[Spread]:
    sensors, key = scenario.world.sensors, "world.sensors"
    yield Spread(f"{key}.encoder_noise", "loguniform(1e-6, 1e-4)", "noise of the joint encoders, rad or m")
    if sensors.velocity == "measured":
        yield Spread(f"{key}.velocity_noise", "loguniform(1e-4, 1e-2)", "noise of the joint velocities")
    if not uses_wrench(data):
        return
    for k, axis in enumerate("xyz"):
        bias = sensors.wrench.bias[k]
        yield Spread(f"{key}.wrench.bias.{k}", f"normal({bias!r}, 0.5)", f"bias of the wrist sensor along {axis}, N")
    yield Spread(f"{key}.wrench.noise_force", "loguniform(0.01, 0.5)", "noise of the wrist sensor, N")


def uses_wrench(data: Mapping[str, Any]) -> bool:
    """Whether the law minds what the wrist sensor says: a bias of 1 N changes the run."""
    short = ["record.channels=[]", f"run.duration={20 * data['run']['timestep']!r}", "world.sensors.wrench.delay=0"]
    bias = "world.sensors.wrench.bias=[1.0, 1.0, 1.0, 0.1, 0.1, 0.1]"
    plain, biased = (whole_trace(data, [*short, *more]) for more in ([], [bias]))
    return len(plain) != len(biased) or not np.array_equal(plain["tau"], biased["tau"])


def _of_delay(scenario: Scenario) -> Iterator[Spread]:
    delay = scenario.world.driver.delay
    yield Spread("world.driver.delay", f"integers({delay}, {delay + 2})", "control periods until a command acts")


def map_axes(scenario: Scenario) -> dict[str, Spec]:
    """The keys and stretches of a map: the first two that the scenario has of gains, wall, masses and friction."""
    axes: dict[str, Spec] = {}
    if isinstance(scenario.as_data()["control"].get("stiffness"), int | float | list):
        axes["control.stiffness*"] = TENFOLD
    walls = [wall.name for wall in scenario.world.surfaces if wall.contact == "compliant"]
    axes |= {f"world.surfaces.{name}.stiffness*": TENFOLD for name in walls[:1]}
    axes["world.plant.mass_scale"] = "0.5:2:17"
    axes["world.plant.joint_friction"] = f"0:{4 * FRICTION * smallest_torque(scenario):g}:17"
    return dict(list(axes.items())[:2])

"""Runs that share a scene: every bit as if each were built from nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from palpate.checks import Array
from palpate.control.laws.cartesian_impedance import CartesianImpedance
from palpate.errors import NotKept, PalpateError
from palpate.metrics import METRICS
from palpate.metrics.table import judge
from palpate.robot.robot import Robot
from palpate.run.assemble.renew import Renewable
from palpate.run.build import build
from palpate.run.prepared import Prepared
from palpate.run.run import Run
from palpate.run.simulate import execute_bare, simulate
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.scenario.file.overrides import apply_overrides
from palpate.tools.study.planning import draw_overrides, make_plan
from palpate.tools.study.running.worker import Job, RunTask, run_chunk, run_row
from palpate.tools.study.sweeps import time_per_run

SHORT = [
    "run.duration=0.08",
    "reference.start=0",
    "reference.duration=0.05",
    "world.surfaces.0.position=[0.351, 0, 0.256]",
]


def wall() -> dict[str, object]:
    """A Panda that touches its wall at once."""
    return load_scenario("panda-wall", SHORT).as_data()


def draws(rng: np.random.Generator) -> list[str]:
    """Numbers for everything that can be changed in place."""
    scale, delay = rng.uniform(0.8, 1.3), int(rng.integers(0, 3))
    choices = [
        f"world.plant.mass_scale={scale!r}",
        f"world.plant.link_mass_scale={{link7 = {rng.uniform(0.5, 2.0)!r}}}",
        f"world.plant.com_offset={[*rng.normal(0, 2e-3, 3)]!r}",
        f"world.plant.joint_damping={rng.uniform(0, 0.5)!r}",
        f"world.plant.joint_friction={rng.uniform(0, 0.5)!r}",
        f"world.surfaces.0.stiffness={rng.uniform(5e3, 3e4)!r}",
        f"world.surfaces.0.friction={rng.uniform(0, 0.6)!r}",
        f"world.surfaces.0.normal={[-1.0, *rng.normal(0, 2e-3, 2)]!r}",
        f"world.surfaces.0.model={rng.choice(['kelvin-voigt', 'hunt-crossley'])}",
        f"world.sensors.delay={delay}",
        f"world.sensors.encoder_noise={rng.uniform(0, 1e-5)!r}",
        f"world.sensors.wrench.bias={[*rng.normal(0, 1, 6)]!r}",
        f"world.driver.delay={delay}",
        f"world.pushes=[{{force = {[*rng.normal(0, 5, 3)]!r}, start = 0.01, duration = 0.02}}]",
        f"control.stiffness={[*rng.uniform(100, 900, 3), 20.0, 20.0, 20.0]!r}",
        f"control.form={rng.choice(['classic', 'exact'])}",
        f"reference.offset={[*rng.uniform(0, 0.05, 3)]!r}",
    ]
    chosen = [text.replace("np.float64(", "").replace(")", "") for text in choices if rng.random() < 0.4]
    return [*chosen, f"run.seed={int(rng.integers(0, 1000))}"]


def test_runs_in_a_kept_scene_have_every_bit_of_runs_built_from_nothing() -> None:
    scenario, rng, renewed = wall(), np.random.default_rng(5), 0
    prepared = Prepared(scenario)
    for _ in range(40):
        overrides = draws(rng)
        kept = prepared._kept
        _, found = prepared.run(overrides)
        renewed += kept is not None and prepared._kept is kept
        wanted = simulate(scenario_from_data(apply_overrides(dict(scenario), overrides)))
        assert found.equals(wanted), overrides
        assert found.outcome == wanted.outcome
        for metric in METRICS.values():
            assert judge(metric, found, None) == judge(metric, wanted, None), (metric.name, overrides)
    assert renewed >= 8, "nothing was tested"


@pytest.mark.parametrize(
    ("name", "vary"),
    [
        ("pendulum", "control.damping={}"),
        ("iiwa14-pole", "world.pole.mass={}"),
        ("ur5e-admittance", "world.plant.joint_friction={}"),
        ("panda-priorities", "control.levels.0.damping_ratio={}"),
        ("panda-wall", "world.plant.mass_scale={}"),
        ("panda-wall", "robot.payload={{mass = {}}}"),
    ],
)
def test_a_scenario_run_twice_in_one_scene_forgets_the_run_before(name: str, vary: str) -> None:
    scenario = load_scenario(name, ["run.duration=0.03"]).as_data()
    prepared = Prepared(scenario)
    for value in (0.4, 0.7, 0.4, 0.4):
        _, found = prepared.run([vary.format(value)])
        assert found.equals(simulate(scenario_from_data(apply_overrides(dict(scenario), [vary.format(value)]))))


def test_a_run_refused_at_its_start_leaves_no_targets_of_another_reference_behind() -> None:
    scenario = wall()
    prepared = Prepared(scenario)
    wanted = simulate(scenario_from_data(scenario))
    prepared.run([])
    prepared.run(["reference.offset=[0.0, 0.05, 0.0]"])
    with pytest.raises(PalpateError, match="inside surface"):
        prepared.run(["world.surfaces.0.position=[0.3, 0, 0.256]"])
    assert prepared.run(["world.surfaces.0.stiffness=9000"])[1].outcome.ok
    assert prepared.run([])[1].equals(wanted)


def test_targets_that_were_not_finite_are_not_taken_for_those_of_the_run_before() -> None:
    run = build(scenario_from_data(wall()))
    kept = Renewable(run)
    wanted = execute_bare(kept.assembly)

    class Broken:
        def sample(self, times: Array, robot: Robot, q_start: Array) -> Array:
            rows = np.array(run.reference.sample(times, robot, q_start)) + 0.1
            rows[len(rows) // 2 :] = np.nan
            return rows

    assert kept.renew(replace(run, reference=Broken()))
    assert execute_bare(kept.assembly).outcome.kind == "diverged"
    assert kept.renew(run)
    assert execute_bare(kept.assembly).equals(wanted)


def test_a_run_of_several_batches_is_the_same_in_a_kept_scene() -> None:
    for more in ([], ["run.duration=4.5", "run.timestep=0.001"]):
        scenario = load_scenario("panda-wall", [*SHORT, *more]).as_data()
        _, found = Prepared(scenario).run([])
        assert found.equals(simulate(scenario_from_data(scenario)))
        assert all(array.flags.c_contiguous for array in (found[name] for name in found))


def test_a_scene_changed_in_place_is_the_scene_that_would_be_compiled() -> None:
    rng = np.random.default_rng(2)
    first = ["world.plant.com_offset=[0.001, 0, 0]", "world.surfaces.0.friction=0.1"]
    kept = Renewable(build(load_scenario("panda-wall", first)))
    for _ in range(5):
        text = [
            f"world.plant.mass_scale={rng.uniform(0.5, 2)}",
            f"world.plant.com_offset=[{rng.normal(0, 1e-3)}, {rng.normal(0, 1e-3)}, 0.0]",
            f"world.plant.joint_damping={rng.uniform(0, 1)}",
            f"world.plant.joint_friction={rng.uniform(0, 1)}",
            f"world.surfaces.0.position=[{rng.uniform(0.34, 0.4)}, 0, 0]",
            f"world.surfaces.0.friction={rng.uniform(0, 1)}",
        ]
        run = build(load_scenario("panda-wall", text))
        assert kept.renew(_sharing(run, kept))
        fresh, used = Renewable(run).assembly.plant.model, kept.assembly.plant.model
        for name in dir(fresh):
            value = getattr(fresh, name)
            if not isinstance(value, np.ndarray):
                continue
            here = getattr(used, name)
            if name == "body_ipos":  # of a surface, which has no mass, it says nothing
                value, here = value[fresh.body_mass > 0], here[fresh.body_mass > 0]
            assert np.array_equal(value, here), name


def _sharing(run: Run, kept: Renewable) -> Run:
    """The same run out of the kept one's own parts, as a sweep makes it."""
    return replace(kept.first, law=run.law, world=run.world, clock=run.clock)


def test_what_cannot_be_changed_in_place_is_built_anew_and_what_is_wrong_is_refused_alike() -> None:
    scenario = wall()
    prepared = Prepared(scenario)
    prepared.run(["control.damping_ratio=0.5"])
    kept = prepared._kept
    prepared.run(["world.gravity=[0, 0, -5]"])
    assert prepared._kept is not kept
    for text in ("control.stiffness=[1, 2]", "world.surfaces.0.stiffness=-3", "world.plant.link_mass_scale={nix = 2}"):
        with pytest.raises(PalpateError) as found:
            prepared.run([text])
        with pytest.raises(PalpateError) as wanted:
            simulate(scenario_from_data(apply_overrides(dict(scenario), [text])))
        assert str(found.value) == str(wanted.value)


def test_a_run_without_overrides_does_not_inherit_those_of_the_run_before() -> None:
    scenario = wall()
    plain = run_row(scenario, ())
    run_row(scenario, ["control.stiffness=[900, 900, 900, 20, 20, 20]"])
    assert run_row(scenario, ()) == plain


def test_a_law_is_made_once_for_a_sweep_that_leaves_it_alone_and_anew_where_its_gains_vary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, begin = [], CartesianImpedance.begin
    monkeypatch.setattr(CartesianImpedance, "begin", lambda law, *rest: made.append(law) or begin(law, *rest))
    prepared = Prepared(load_scenario("panda-wall", ["run.duration=0.01"]).as_data())
    for mass in (1.01, 1.02, 1.03):
        prepared.run([f"world.plant.mass_scale={mass}"])
    assert len(made) == 1
    for stiffness in (300, 301):
        prepared.run(["world.plant.mass_scale=1.01", f"control.stiffness.0={stiffness}"])
    assert len(made) == 3


def test_overrides_leave_the_data_they_are_put_on_alone() -> None:
    data = load_scenario("panda-wall").as_data()
    before = json.dumps(data)
    changed = apply_overrides(data, ["world.surfaces.wall.stiffness=1", "control.stiffness.0=2", "run.duration=3"])
    assert json.dumps(data) == before
    assert changed["world"]["surfaces"][0]["stiffness"] == 1


@pytest.mark.parametrize(
    ("key", "spec", "rebuilt"),
    [("robot.parameters.mass", "0.5:2", True), ("world.plant.mass_scale", "0.8:1.2", False)],
)
def test_points_drawn_to_estimate_a_sweep_are_rebuilt_as_its_runs_are(key: str, spec: str, rebuilt: bool):
    plan = make_plan("pendulum", {key: spec}, ["run.duration=0.02"], runs=10)
    prepared, kept = Prepared(plan.scenario), []
    for texts in draw_overrides(plan, 4):
        prepared.run(texts)
        kept.append(prepared._kept)
    assert len({id(one) for one in kept}) == (4 if rebuilt else 1)
    assert len({tuple(texts) for texts in draw_overrides(plan, 4)}) == 4
    assert time_per_run(plan, samples=draw_overrides(plan, 3)) > 0


@pytest.mark.parametrize("names", [("force_peak", "bounces"), tuple(METRICS.shipped), ("smallest_singular_value",)])
def test_a_row_of_the_channels_that_are_read_is_the_row_of_the_whole_run(names: tuple[str, ...]) -> None:
    scenario, rng = wall(), np.random.default_rng(8)
    away = "world.surfaces.0.position=[0.6, 0, 0.256]"
    fast = "run.max_speed=0.05"
    runs = [[away], [away], *(draws(rng) for _ in range(6)), [fast], []]  # contact begins late, and one run fails
    for overrides in runs:
        row = run_row(scenario, overrides, names)
        bounds, trace = Prepared(scenario).run(overrides)
        results = {name: judge(METRICS[name], trace, bounds.get(name)) for name in {*names, *bounds}}
        assert row["warnings"] == list(trace.warnings)
        assert (row["outcome"], row["end_time"]) == (trace.outcome.kind, trace.outcome.time)
        assert {name: row[name] for name in names} == {name: results[name].value for name in names}, overrides
        assert row["failed"] == [name for name in bounds if results[name].passed is False]
    assert run_row(scenario, [fast], names)["outcome"] == "diverged"


@pytest.mark.parametrize("names", [("force_peak", "bounces"), tuple(METRICS.shipped)])
def test_runs_made_in_one_compiled_call_have_the_rows_of_runs_made_alone(names: tuple[str, ...]) -> None:
    scenario, rng = wall(), np.random.default_rng(9)
    away, fast, refused = "world.surfaces.0.position=[0.6, 0, 0.256]", "run.max_speed=0.05", "world.plant.mass_scale=-1"
    runs = [[away], *(draws(rng) for _ in range(5)), [fast], [], [refused], *(draws(rng) for _ in range(4)), [away]]
    alone = [run_row(scenario, overrides, names) for overrides in runs]
    tasks = [RunTask(k, tuple(overrides)) for k, overrides in enumerate(runs)]
    for _ in range(3):  # those that fail are made alone, with every channel, before the next ones are made together
        chunks = (tasks[:4], tasks[4:9], tasks[9:])
        assert [result.row for chunk in chunks for result in run_chunk(Job(scenario, names), chunk)] == alone


def test_a_run_that_keeps_every_channel_leaves_room_for_those_that_are_made_together_after_it() -> None:
    prepared, read, peak = Prepared(wall()), set[str](), METRICS["force_peak"].compute
    runs = [[f"world.plant.mass_scale={scale}"] for scale in (1.02, 1.03, 1.04)]
    peaks = [peak(prepared.run(overrides, read=read)[1]) for overrides in runs]
    for _ in range(2):
        together = [peak(trace) for _, _, trace in prepared.several(runs, singular=False, read=read)]
        assert together == peaks
        assert len(prepared.run(runs[0])[1]["tau"]) == 81


def test_a_sweep_keeps_no_channel_that_nobody_reads() -> None:
    scenario = wall()
    prepared, read = Prepared(scenario), set[str]()
    bounds, whole = prepared.run([], read=read, singular=False)
    assert judge(METRICS["force_peak"], whole, None).value is not None
    assert {"contact_force"} <= read
    assert "target_q" not in read
    _, trace = prepared.run([], read=read, singular=False)
    assert trace["contact_force"].tolist() == whole["contact_force"].tolist()
    assert "target_q" in trace  # the run has it
    with pytest.raises(NotKept, match="target_q"):
        trace["target_q"]
    assert "target_q" in read  # and the next run keeps it
    _, trace = prepared.run([], read=read, singular=False)
    assert trace["target_q"].tolist() == whole["target_q"].tolist()
    assert bounds == load_scenario("panda-wall").metrics

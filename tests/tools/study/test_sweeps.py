"""A sweep from end to end: the table, what it says, what is kept, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import palpate as pp
from palpate.errors import FileError, InvalidInput, UnknownName
from palpate.metrics import METRICS
from palpate.parquet import read_footer
from palpate.scenario.model import Scenario
from palpate.sealed import sealed
from palpate.tools.study import open_sweep
from palpate.tools.study.counts import _counted_warning
from palpate.tools.study.planning import make_plan
from palpate.tools.study.plans.plan import plan_from_text
from palpate.tools.study.running.store import KEY, Store
from palpate.tools.study.running.table import schema
from palpate.tools.study.sweeps import finish
from palpate.trace import load_trace

FEW = ["energy_residual", "effort"]
EFFORT = 1.5e-6  # (N·m)²·s, of a pendulum let go at about 50°
DRAWN = {"robot.parameters.mass": "uniform(0.5, 2)", "control.damping": "loguniform(0.01, 1)"}


def test_a_grid_gives_a_row_per_run_in_order(pendulum: Scenario, tmp_path: Path) -> None:
    found = pp.sweep(
        pendulum, {"robot.parameters.mass": "1:2:3", "run.integrator": ["rk4", "euler"]}, repeat=2, out=tmp_path / "s"
    )
    assert len(found) == 12
    assert found["run"] == list(range(12))
    assert found["robot.parameters.mass"][::4] == [1.0, 1.5, 2.0]
    assert found["run.integrator"][:4] == ["rk4", "rk4", "euler", "euler"]
    assert found["seed"][:2] == [0, 1]
    assert found["outcome"] == ["completed"] * 12
    assert found["energy_residual"][0] == found["energy_residual"][1]  # nothing here is noisy
    assert set(METRICS) <= set(found.columns)
    assert not (tmp_path / "s" / "chunks").exists()
    assert "no draw" in found.sentence


def test_every_row_is_the_run_that_its_command_makes(pendulum: Scenario) -> None:
    found = pp.sweep(pendulum, DRAWN, runs=6, seed=3)
    for run in (0, 5):
        trace = found.trace(run)
        assert METRICS["energy_residual"].compute(trace) == found["energy_residual"][run]
        assert trace.facts.seed == found["seed"][run]
        assert trace.facts.as_data()["scenario"]["control"]["damping"] == found["control.damping"][run]
    assert found.command(2).startswith(f"palpate run {found.folder / 'scenario.toml'} --set robot.parameters.mass=")
    with pytest.raises(InvalidInput, match="numbered 0 to 5"):
        found.command(6)
    with pytest.raises(UnknownName, match="column"):
        _ = found["nonsense"]


def test_the_sentence_is_the_exact_one_sided_bound(pendulum: Scenario) -> None:
    bounded = pendulum.model_copy(update={"metrics": {"effort": pp.metrics.Bound(most=EFFORT)}})
    found = pp.sweep(bounded, {"robot.start.q.0": "uniform(0.2, 1.5)"}, runs=40, metrics=FEW)
    failed = found["passed"].count(False)
    assert 0 < failed < 40
    bound = pp.study.failure_bound(failed, 40)
    assert f"({failed} of 40 independent runs failed; exact one-sided bound" in found.sentence
    assert found.sentence.startswith("P(failure) < ")
    shown = next(float(word) / 100 for word in found.sentence.replace(" %", "").split() if _is_number(word))
    assert bound <= shown <= 1.01 * bound
    assert found.summary["broken"] == {"effort": failed}
    assert found.summary["said"][0].startswith(f"{failed} runs broke effort (at most {EFFORT:g} (N·m)²·s)")
    assert found["failed"][found["passed"].index(False)] == ["effort"]
    worst = max(found["effort"])
    assert f"the largest effort seen, {worst:.6g} (N·m)²·s, is exceeded with probability < 7.22 %" in str(
        found.summary["said"]
    )
    assert found.worst(1) == [found["effort"].index(worst)]
    assert found.failing()[0] == found["passed"].index(False)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def test_nothing_failed_is_said_as_an_upper_bound(pendulum: Scenario) -> None:
    found = pp.sweep(pendulum, DRAWN, runs=20, metrics=FEW)
    assert found.sentence.startswith("P(failure) < 14 % with 95 % confidence (0 of 20")  # 1 − 0.05^(1/20) = 13.91 %


def test_one_box_has_one_number_for_one_fact(pendulum: Scenario) -> None:
    """Without a failure, the bound on failing and that on exceeding the largest value seen are the same."""
    bounded = pendulum.model_copy(update={"metrics": {"effort": pp.metrics.Bound(most=1e9)}})
    found = pp.sweep(bounded, DRAWN, runs=30, metrics=FEW)
    told = [line for line in (found.sentence, *found.summary["said"]) if " % " in line]
    assert len(told) == 2
    assert len({line.split("< ")[1].split(" %")[0] for line in told}) == 1


def test_the_worst_run_is_the_farthest_beyond_the_bound_that_it_broke(pendulum: Scenario) -> None:
    """Ranked by its own broken bound, not by the first bounded metric, which every run keeps."""
    bounds = {"energy_residual": pp.metrics.Bound(most=1e9), "effort": pp.metrics.Bound(most=EFFORT)}
    bounded = pendulum.model_copy(update={"metrics": bounds})
    found = pp.sweep(bounded, {"robot.start.q.0": "uniform(0.2, 1.5)"}, runs=40, metrics=FEW)
    failed = found.failing()
    assert failed
    assert found.worst(len(failed)) == sorted(failed, key=lambda run: -found["effort"][run])
    assert found.summary["worst"][0]["broken"]["effort"]["value"] == max(found["effort"])


def test_a_hostile_sweep_finishes_counts_and_names(pendulum: Scenario) -> None:
    """About 1 % of the runs diverge and 1 % have a mass that no robot has."""
    hostile = {
        "run.max_speed": [100.0] * 79 + [1e-3],
        "robot.parameters.mass": [1.0] * 79 + [-1.0],
    }
    found = pp.sweep(pendulum, hostile, runs=250, method="random", metrics=FEW, workers=0)
    asked = list(zip(found["run.max_speed"], found["robot.parameters.mass"]))
    impossible = [k for k, (_, mass) in enumerate(asked) if mass < 0]
    diverged = [k for k, (speed, mass) in enumerate(asked) if speed < 1 and mass > 0]
    assert impossible
    assert diverged
    assert [k for k, kind in enumerate(found["outcome"]) if kind == "impossible"] == impossible
    assert [k for k, kind in enumerate(found["outcome"]) if kind == "diverged"] == diverged
    summary = found.summary
    assert summary["counts"]["impossible"] == len(impossible)
    assert summary["counted"].startswith(f"250 runs: {250 - len(impossible) - len(diverged)} passed")
    assert [one["run"] for one in summary["named"]["impossible"]] == impossible[:5]
    assert "mass" in summary["named"]["impossible"][0]["reason"]
    assert "faster than 0.001 rad/s" in summary["named"]["diverged"][0]["reason"]
    assert f"{len(impossible)} that could not run count as failures" in found.sentence
    assert found["energy_residual"][impossible[0]] is None
    assert found.worst(1)[0] in diverged


def test_sensitivity_finds_the_parameter_that_matters(pendulum: Scenario) -> None:
    vary = {"robot.start.q.0": "uniform(0.5, 1.5)", "run.max_speed": "uniform(50, 100)"}
    found = pp.sweep(pendulum, vary, method="saltelli", runs=80, metrics=FEW, metric="effort")
    first, second = found.summary["sensitivity"]
    assert first["first"] == pytest.approx(1.0, abs=0.35)  # 20 rows
    assert first["total"] == pytest.approx(1.0, abs=0.35)
    assert second["total"] == 0.0
    assert "(0 of 40 independent" in found.sentence  # rows A and B alone
    with pytest.raises(InvalidInput, match="saltelli"):
        pp.sweep(pendulum, vary, runs=4, metrics=FEW).sensitivity("effort")


def test_a_sweep_may_stop_by_itself_by_a_confidence_sequence(pendulum: Scenario) -> None:
    found = pp.sweep(pendulum, DRAWN, runs=2000, metrics=FEW, until="failure<0.2", workers=0)
    assert len(found) < 300
    assert len(found) % 8 == 0
    interval = pp.study.confidence_sequence(0, len(found))
    assert interval.high < 0.2
    assert found.finding == interval
    assert "confidence sequence" in found.sentence


def test_a_rare_failure_is_found_by_importance_sampling(pendulum: Scenario) -> None:
    """The pendulum swings from q₀: effort grows with |q₀| (weight on the joint), q₀ ~ N(0.5, 0.1)."""
    vary = {"robot.start.q.0": "normal(0.5, 0.1)"}
    probe = pp.sweep(pendulum, {"robot.start.q.0": [0.85]}, metrics=FEW)
    level = probe["effort"][0]  # q₀ = 0.85 is 3.5 standard deviations out
    found = pp.sweep(pendulum, vary, runs=400, metrics=FEW, rare=f"effort>{level!r}", workers=0)
    truth = 2.326e-4  # 1 − Φ(3.5)
    assert found.rare.interval.low < truth < found.rare.interval.high
    assert found.rare.probability == pytest.approx(truth, rel=0.6)
    assert found.rare.plain_runs > 20 * 400
    assert len(found) == 400
    assert "plain sampling" in found.sentence


def test_a_map_of_runs_has_its_boundary_where_the_runs_change(pendulum: Scenario) -> None:
    """The speed after 20 ms is g/l · t: max_speed below it diverges."""
    vary = {"robot.parameters.length": "0.5:2:9", "run.max_speed": "0.05:0.45:9"}
    found = pp.sweep(pendulum, vary, method="map", by="ended", metrics=FEW, workers=0)
    line = np.concatenate(found.map.boundary)
    assert line[:, 0] * line[:, 1] == pytest.approx(9.81 * 0.02, rel=0.03)
    assert found["stage"][0] == 0
    assert max(found["stage"]) > 0
    assert len(found) == found.map.runs
    again = open_sweep(found.folder)
    assert [a.tolist() for a in again.map.boundary] == [b.tolist() for b in found.map.boundary]


# ------------------------------------------------------------------ the file


@pytest.fixture(scope="module")
def table(pendulum: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    vary = {
        **DRAWN,
        "run.integrator": ["rk4", "implicit"],
        "robot.start.q": [[1.0], [1.2]],
        "world.driver.delay": [0, 1],
    }
    found = pp.sweep(pendulum, vary, runs=12, method="latin", out=tmp_path_factory.mktemp("t") / "s", workers=0)
    return found.path


@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
def test_the_table_opens_as_it_is(table: Path, library: str) -> None:
    module = pytest.importorskip(library)
    expected = pq.read_table(table)
    if library == "duckdb":
        rows = module.sql(f"select run, \"control.damping\", warnings, energy_residual from '{table}' order by run")
        assert rows.fetchall()[3][:2] == (3, expected["control.damping"][3].as_py())
        assert module.sql(f"select count(*) from '{table}' where outcome = 'completed'").fetchall() == [(12,)]
        return
    frame = module.read_parquet(table)
    assert list(frame.columns) == expected.column_names
    assert frame["control.damping"].to_list() == expected["control.damping"].to_pylist()
    assert (frame["outcome"] == "completed").sum() == 12
    assert str(frame["energy_residual"].dtype).lower() == "float64"


def test_the_table_tells_units_and_how_it_was_made(table: Path) -> None:
    plan = plan_from_text(read_footer(table).metadata[KEY], str(table)).read_in(table.parent)
    assert plan.method == "latin"
    assert [column.name for column in schema(plan)] == pq.read_schema(table).names
    assert json.loads((pq.read_metadata(table).metadata or {})[b"palpate.units"])["force_peak"] == "N"
    assert str(pq.read_schema(table).field("world.driver.delay").type) == "int64"
    assert str(pq.read_schema(table).field("robot.start.q").type) == "string"


def test_lists_and_texts_come_back_as_they_went_in(table: Path) -> None:
    found = open_sweep(table.parent)
    values = found.values(0)
    assert values["robot.start.q"] in ([1.0], [1.2])
    assert values["run.integrator"] in ("rk4", "implicit")
    assert found.trace(0).facts.as_data()["scenario"]["robot"]["start"]["q"] == values["robot.start.q"]


# ------------------------------------------------------------------ traces


@pytest.mark.parametrize(("kept", "expected"), [("all", {0, 1, 2, 3}), ("failing", {3}), ("none", set())])
def test_traces_are_kept_as_chosen(pendulum: Scenario, tmp_path: Path, kept: str, expected: set[int]) -> None:
    vary = {"run.max_speed": [100.0, 50.0, 20.0, 0.01]}
    found = pp.sweep(pendulum, vary, traces=kept, out=tmp_path / "s", metrics=FEW)
    assert {int(path.stem) for path in (tmp_path / "s").glob("traces/*.parquet")} == expected
    for run in expected:
        assert load_trace(found.store.trace_path(run)).equals(found.trace(run))


def test_traces_of_the_worst_are_made_when_the_worst_are_known(pendulum: Scenario) -> None:
    found = pp.sweep(pendulum, {"robot.start.q.0": "0.1:1.5:8"}, traces="worst", metrics=FEW, metric="effort")
    paths = found.keep_traces()
    order = np.argsort(found.numbers("effort"))[::-1][:5]
    assert [int(path.stem) for path in paths] == sorted(order.tolist())


# ------------------------------------------------------------------ going on, and mistakes


def test_the_same_call_goes_on_and_another_one_is_refused(pendulum: Scenario, tmp_path: Path) -> None:
    first = pp.sweep(pendulum, DRAWN, runs=5, metrics=FEW, out=tmp_path / "s")
    before = first.path.read_bytes()
    again = pp.sweep(pendulum, DRAWN, runs=5, metrics=FEW, out=tmp_path / "s")
    assert again.path.read_bytes() == before
    with pytest.raises(FileError, match=r"holds.*runs \(5 there, 6 now\)"):
        pp.sweep(pendulum, DRAWN, runs=6, metrics=FEW, out=tmp_path / "s")


def test_only_missing_chunks_are_made_and_damaged_ones_again(pendulum: Scenario, tmp_path: Path) -> None:
    whole = pp.sweep(pendulum, DRAWN, runs=6, metrics=FEW, out=tmp_path / "whole").path.read_bytes()
    store = Store.begin(tmp_path / "part", make_plan(pendulum, DRAWN, runs=6, metrics=FEW))
    seen: list[int] = []

    def stop_at_four(done: int, total: int, failed: int) -> None:
        seen.append(done)
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish(store, 0, progress=stop_at_four)
    files = sorted((tmp_path / "part" / "chunks").iterdir())
    assert len(files) == 4
    files[2].write_bytes(files[2].read_bytes()[:100])
    seen.clear()
    finish(store, 0, progress=lambda done, total, failed: seen.append(done))
    assert seen == [3, 4, 5, 6]  # three were there, one was damaged, two were missing
    assert (tmp_path / "part" / "table.parquet").read_bytes() == whole


def test_a_sweep_does_not_go_on_with_other_versions_or_other_files(pendulum: Scenario, tmp_path: Path) -> None:
    Store.begin(tmp_path / "s", make_plan(pendulum, DRAWN, runs=2, metrics=FEW))
    plan = tmp_path / "s" / "sweep.json"
    text = plan.read_text("utf-8")
    content = {key: value for key, value in json.loads(text).items() if key != "sha256"}
    plan.write_text(sealed({**content, "versions": {**content["versions"], "numpy": "1.0"}}))
    with pytest.raises(FileError, match=r"began.*numpy 1\.0 then"):
        finish(Store.open(tmp_path / "s"), 0)
    plan.write_text(json.dumps({**content, "files": {str(tmp_path / "arm.urdf"): "0" * 64}}))
    with pytest.raises(FileError, match=r"arm\.urdf.*missing here"):
        finish(Store.open(tmp_path / "s"), 0)
    plan.write_text("{}")
    with pytest.raises(FileError, match="describes no sweep"):
        Store.open(tmp_path / "s")
    plan.write_text(text)
    assert len(finish(Store.open(tmp_path / "s"), 0)) == 2


def test_parameters_keep_their_order_on_disk(pendulum: Scenario, tmp_path: Path) -> None:
    """Draws belong to parameters by their order, so that a plan read back must have the same."""
    backwards = dict(reversed(DRAWN.items()))
    for vary in (DRAWN, backwards):
        store = Store.begin(tmp_path / next(iter(vary)), make_plan(pendulum, vary, runs=2, metrics=FEW))
        assert list(Store.open(store.folder).plan.vary) == list(vary)
    with pytest.raises(FileError, match=r"vary \(in another order\)"):
        Store.begin(tmp_path / next(iter(DRAWN)), make_plan(pendulum, backwards, runs=2, metrics=FEW))


def test_other_peoples_folders_are_left_alone(pendulum: Scenario, tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_text("meow")
    with pytest.raises(FileError, match=r"things.*sweep"):
        pp.sweep(pendulum, DRAWN, runs=2, out=tmp_path)
    with pytest.raises(FileError, match="is a file"):
        pp.sweep(pendulum, DRAWN, runs=2, out=tmp_path / "cat.png")
    with pytest.raises(FileError, match="holds no sweep"):
        open_sweep(tmp_path)


def test_two_processes_do_not_work_on_one_folder(pendulum: Scenario, tmp_path: Path) -> None:
    store = Store.begin(tmp_path / "s", make_plan(pendulum, DRAWN, runs=2, metrics=FEW))
    with store.held(), pytest.raises(FileError, match="another process"):
        finish(Store.open(tmp_path / "s"), 0)


@pytest.mark.parametrize(
    ("vary", "options", "complaint"),
    [
        ({"robot.parameters.mas": "1:2:3"}, {}, "mean 'mass'"),
        ({"world.driver.delay": "uniform(0.1, 0.9)"}, {}, "whole number"),
        ({}, {}, "nothing varies"),
        (DRAWN, {"method": "montecarlo"}, "unknown method"),
        (DRAWN, {"traces": "some"}, "unknown choice"),
        (DRAWN, {"until": "failure>3"}, "--until"),
        (DRAWN, {"until": "failure<0.1", "method": "sobol"}, "independent draws"),
        (DRAWN, {"rare": "force_peek>3"}, "mean 'force_peak'"),
        (DRAWN, {"rare": "force_peak"}, "no bound"),
        (DRAWN, {"metric": "nonsense"}, "unknown metric"),
        (DRAWN, {"metrics": ["nonsense"]}, "unknown metric"),
        (DRAWN, {"by": "ended"}, "goes with --method map"),
        (DRAWN, {"method": "map", "runs": 5}, "chooses.*runs"),
        ({"control.damping": "normal(1, 2)"}, {"method": "map"}, "exactly.*parameters"),
        (DRAWN, {"confidence": 1.5}, "between 0 and 1"),
        (DRAWN, {"seed": -1}, "seed must be"),
        (DRAWN, {"workers": -3, "runs": 3}, "--workers"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    pendulum: Scenario, vary: dict[str, str], options: dict[str, object], complaint: str
) -> None:
    with pytest.raises((InvalidInput, UnknownName), match=complaint):
        pp.sweep(pendulum, vary, **options)  # pyright: ignore[reportArgumentType]


def test_the_scenarios_own_table_is_used_and_overruled(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nextends = "pendulum"\n[run]\nduration = 0.02\n[sweep]\nruns = 7\nmetric = "effort"\n'
        '[sweep.vary]\n"robot.parameters.mass" = "uniform(0.5, 2)"\n"control.damping" = [0.0, 0.1]\n'
    )
    plan = make_plan(tmp_path / "mine.toml")
    assert (plan.runs, plan.method, plan.options["metric"]) == (7, "random", "effort")
    assert list(plan.vary) == ["robot.parameters.mass", "control.damping"]
    other = make_plan(tmp_path / "mine.toml", {"control.damping": "0:1:3"}, runs=9)
    assert (other.runs, other.vary["control.damping"]) == (9, "0:1:3")
    assert "sweep" not in plan.scenario
    assert json.loads(plan.text())["source"] == []  # no path of the user's machine is written down


def test_warnings_that_differ_in_numbers_are_one_told_of_the_largest() -> None:
    told = [(k, f"the physics step is coarse: dt·ω = {x}, wall") for k, x in enumerate((0.21, 0.29, 0.23))]
    assert _counted_warning(told) == "3 runs, largest in run 1: the physics step is coarse: dt·ω = 0.29, wall"
    assert _counted_warning([(4, "joint2 is at its stop")]) == "1 run: joint2 is at its stop"

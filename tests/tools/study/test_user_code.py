"""Own laws, metrics and references in sweeps, studies, searches, reports and comparisons: as the shipped ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.scenario.test_user_code import METRIC, PLAIN, Folder, compiled_twin

import palpate as pp
from counting import calls
from palpate import user_code
from palpate.cli.judged import RECORDED
from palpate.cli.main import main
from palpate.errors import FileError
from palpate.module_copies import texts_of
from palpate.run.assemble.assemble import assemble
from palpate.run.build import build
from palpate.scenario.file.load import scenario_from_data
from palpate.tools.study.planning import make_plan
from palpate.tools.study.running.pool import LocalPool
from palpate.tools.study.running.worker import Job, RunTask, run_chunk

SHORT = ["run.duration=0.05", "reference.start=0", "reference.duration=0.05", "record.stride=5"]
VARY = {"world.plant.mass_scale": "uniform(0.9, 1.1)"}
BOUND = '[metrics."MODULE:peak_torque"]\nmost = 1000\n'
FREE = [f"metrics.{name}=" for name in ("joint_error_max", "position_final_error", "saturation_time")]
CODE = compiled_twin() + METRIC.replace('"largest', 'r"largest')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(user_code, "_allowed", "all")
    return Folder(tmp_path)


def test_a_sweep_in_two_processes_gives_the_numbers_of_the_shipped_law(folder: Folder) -> None:
    mine = pp.sweep(pp.load_scenario(folder.write(CODE, BOUND), SHORT), VARY, runs=6, workers=2)
    shipped = pp.sweep(pp.load_scenario("panda-joint-impedance", SHORT), VARY, runs=6, workers=0)
    for name in ("joint_error_max", "effort", "peak_torque_ratio"):
        assert np.array_equal(mine[name], shipped[name])
    own = mine[f"{folder.module}:peak_torque"]
    assert min(own) > 1
    assert own[3] == abs(mine.trace(3)["tau"]).max()


def test_a_sweep_of_a_law_in_plain_python_in_two_processes(folder: Folder) -> None:
    mine = pp.sweep(pp.load_scenario(folder.write(PLAIN), SHORT), VARY, runs=4, workers=2, metrics=["effort"])
    shipped = pp.sweep(pp.load_scenario("panda-joint-impedance", SHORT), VARY, runs=4, workers=0, metrics=["effort"])
    assert np.allclose(mine["effort"], shipped["effort"], rtol=1e-9, atol=0)


def job_without_the_file(folder: Folder) -> tuple[Job, Job]:
    """The work of a sweep as planned here, and as it reaches a machine that has no such file."""
    plan = make_plan(folder.write(CODE, BOUND), VARY, SHORT, runs=2, metrics=["effort"])
    here = Job(plan.scenario, plan.metrics, files=plan.files, contents=texts_of(plan.scenario["modules"]))
    assert str(folder.file) in here.files
    elsewhere = f"/no/such/folder/{folder.module}.py"
    scenario = {**here.scenario, "modules": {folder.module: elsewhere}}
    text = here.contents[str(folder.file)]
    return here, replace(here, scenario=scenario, contents={elsewhere: text}, files={elsewhere: "0"})


def test_a_process_without_the_file_makes_the_same_runs_from_its_text(folder: Folder) -> None:
    here, there = job_without_the_file(folder)
    tasks = [RunTask(0, ()), RunTask(1, ("world.plant.mass_scale=1.05",))]
    pool = LocalPool(1)
    try:
        [(_, results)] = pool.results(there, [tasks])
        with pytest.raises(FileError, match="missing here"):
            list(pool.results(replace(there, contents={}), [tasks]))
    finally:
        pool.close()
    assert [one.row for one in results] == [one.row for one in run_chunk(here, tasks)]
    assert results[0].row["outcome"] == "completed"
    assert results[0].row[f"{folder.module}:peak_torque"] > 1


def test_an_edit_during_a_sweep_is_not_seen_by_its_workers(folder: Folder) -> None:
    here, _ = job_without_the_file(folder)
    before = run_chunk(here, [RunTask(0, ())])
    folder.file.write_text(CODE.replace("out.gravity[i] = ", "out.gravity[i] = 0.5 * "))
    pool = LocalPool(1)
    try:
        [(_, after)] = pool.results(here, [[RunTask(0, ())]])
    finally:
        pool.close()
    assert before[0].row["effort"] == after[0].row["effort"]


def test_a_sweep_goes_on_from_its_folder_with_its_module(folder: Folder) -> None:
    words = ["sweep", folder.write(CODE, BOUND), "--vary", "world.plant.mass_scale=uniform(0.9, 1.1)", "--runs", "3"]
    sets = [word for text in SHORT for word in ("--set", text)]
    assert main([*words, *sets, "--workers", "0", "--out", "swept", "--no-report"]) == 0
    assert main(["sweep", "--resume", "swept", "--workers", "0"]) == 0
    assert Path("swept/report.html").is_file()
    assert str(folder.path) not in Path("swept/sweep.json").read_text()


def test_tune_minimises_an_own_metric_under_a_bound_on_it(folder: Folder) -> None:
    pytest.importorskip("optuna")
    name = f"{folder.module}:final_error"
    tuned = pp.tune(
        folder.write(CODE), {"control.stiffness.0": "100:600"}, name, keep=[f"{name}<1"], runs=4, workers=0,
        overrides=[*SHORT, *FREE],
    )  # fmt: skip
    assert tuned.value == min(tuned.sweep[name])
    assert name in tuned.sentence


def test_study_and_design_take_an_own_law(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    sets = [word for text in SHORT for word in ("--set", text)]
    scenario = folder.write(CODE, BOUND)
    assert main(["design", scenario]) == 0
    mine = capsys.readouterr().out
    assert main(["design", "panda-joint-impedance"]) == 0
    shipped = capsys.readouterr().out
    renamed = mine.replace(f"{folder.module}:Mine", "joint-impedance").replace("own: ", "panda-joint-impedance: ")
    assert renamed.split() == shipped.split()  # columns are as wide as the names
    words = ["sweep", scenario, "--uncertain", *sets, "--runs", "4", "--no-map", "--workers", "0", "--out", "studied"]
    assert main([*words, "--no-report"]) in (0, 1)
    assert "4 runs" in capsys.readouterr().out


def test_report_and_compare_know_own_metrics(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    scenario, name = folder.write(CODE, BOUND), f"{folder.module}:peak_torque"
    short = [word for text in SHORT for word in ("--set", text)]
    assert main(["run", scenario, *short, "--out", "a"]) in (0, 1)
    assert main(["run", "panda-joint-impedance", *short, "--out", "b", "--no-report"]) in (0, 1)
    value = json.loads(Path("a/metrics.json").read_text())[name]["value"]
    for code in ([], ["--code"]):
        capsys.readouterr()
        assert main(["report", "a", "--out", "again.html", *code]) == 0
        assert (RECORDED in Path("again.html").read_text()) is not bool(code)
        assert capsys.readouterr().err.count(name) == (0 if code else 1)
        assert main(["compare", "a", "b", "--json", *code]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["metrics"][name]["values"] == [value, None]
    assert answer["metrics"]["effort"]["values"][0] == answer["metrics"]["effort"]["values"][1]
    assert name in Path("compare.html").read_text()
    assert main(["report", "a", "--out", "bare.html", "--no-code"]) == 0
    assert RECORDED in Path("bare.html").read_text()
    Path("a/metrics.json").write_text("{")
    assert main(["report", "a", "--out", "bare.html", "--no-code"]) == 0
    assert "--no-code forbids" in Path("bare.html").read_text()


def test_a_sweep_of_a_compiled_law_takes_as_little_python_as_one_of_the_shipped(folder: Folder) -> None:
    sources = (folder.write(compiled_twin()), "panda-joint-impedance")
    plans = [make_plan(source, VARY, ["run.duration=0.5"], runs=10, metrics=["effort"]) for source in sources]
    modules = [plan.scenario.get("modules", {}) for plan in plans]
    jobs = [Job(plan.scenario, plan.metrics, contents=texts_of(m)) for plan, m in zip(plans, modules)]
    tasks, work = [RunTask(k, (f"world.plant.mass_scale=1.0{k}",)) for k in range(10)], []
    for job in jobs:
        run_chunk(job, tasks)  # what a change of scenario costs, and kernels to load, is none of the sweep's
        work.append(calls(lambda job=job: run_chunk(job, tasks)))
        assert assemble(build(scenario_from_data(dict(job.scenario)))).compiled
    assert work[0] < 1.2 * work[1]  # 4100 and 3800 for a run; a law in Python is called at each of its 500 ticks

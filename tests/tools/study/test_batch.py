"""Sweeps on a batch system: its scripts, a `sbatch` that runs them on this machine, workers without the files."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.robot.test_files_beside import INERTIAL, stl
from tests.scenario.test_user_code import Folder
from tests.world.test_custom import CODE

import palpate as pp
from palpate import user_code
from palpate.cli.main import main
from palpate.errors import InvalidInput, PalpateError, StudyError
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.model import Scenario
from palpate.scenario.robot import build_robot
from palpate.tools.study.planning import make_plan
from palpate.tools.study.running import address as address_module, shipping
from palpate.tools.study.running.address import cluster_address
from palpate.tools.study.running.jobs import read_job_file
from palpate.tools.study.running.worker import Job, RunTask, run_chunk

pytest.importorskip("distributed", reason="Dask is not installed")

from palpate.tools.study.running import cluster as cluster_module

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own
JOB = 'jobs = 1\ncores = 1\nmemory = "2GB"\nwalltime = "01:00:00"\ninterface = "lo"\n'
VARY = {"world.plant.mass_scale": "uniform(0.9, 1.1)"}
# The arm of a ROS package: its mesh is found by the name of a folder above the model.
URDF = f"""<robot name="arm"><link name="base"/><link name="upper">{INERTIAL}<visual><geometry>
  <mesh filename="package://arm_description/meshes/link.stl"/></geometry></visual></link>
  <link name="tip">{INERTIAL}</link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="tip"/><axis xyz="0 1 0"/>
  <origin xyz="0 0 0.3"/></joint></robot>"""
SCENARIO = """name = "shipped"
[robot]
model = "arm_description/urdf/arm.urdf"
tool_frame = "tip"
start = {{q = [0.4, 0.3]}}
[control]
law = "{0}:FastCareful"
[world.sensors.custom.eye]
kind = "{0}:Fast"
noise = 1e-3
[run]
duration = 0.05
[metrics."{0}:nearest"]
most = 10
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario with a model, a mesh, a law, a sensor and a metric of its own, in a folder."""
    monkeypatch.setattr(user_code, "_allowed", "all")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "home"
    stl(folder / "arm_description" / "meshes" / "link.stl")
    (folder / "arm_description" / "urdf").mkdir()
    (folder / "arm_description" / "urdf" / "arm.urdf").write_text(URDF)
    module = Folder(folder).module
    (folder / f"{module}.py").write_text(CODE)
    (folder / "own.toml").write_text(SCENARIO.format(module))
    return folder / "own.toml"


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`sbatch` and `scancel` for this machine: a job is a session of its own; its number is that of its process."""
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    import dask

    folder = tmp_path / "slurm"
    folder.mkdir()
    commands = {
        "sbatch": f'cp "$1" {folder}/$$.sh\nsetsid bash {folder}/$$.sh > {folder}/$$.log 2>&1 &\n'
        f'echo $! >> {folder}/jobs\necho "Submitted batch job $!"',
        "scancel": 'kill -9 -- -"$1"',
    }
    for name, text in commands.items():
        (folder / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (folder / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    job = tmp_path / "job.toml"
    job.write_text(JOB)
    with dask.config.set(  # pyright: ignore[reportPrivateImportUsage]
        {"distributed.deploy.lost-worker-timeout": "500 ms", "distributed.adaptive.interval": "500 ms"}
    ):
        yield job
    for number in numbers(folder):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(number, signal.SIGKILL)


def numbers(folder: Path) -> list[int]:
    """The jobs that were handed in."""
    return [int(line) for line in (folder / "jobs").read_text().split()] if (folder / "jobs").is_file() else []


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_slurm_gives_the_table_of_one_process_though_its_job_dies_and_has_none_of_the_files(
    own: Path, slurm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scenario's folder is gone while runs are made; the only job is killed and another one handed in."""
    given: dict[str, Any] = {"runs": 24, "metrics": ["effort"]}
    alone = pp.sweep(str(own), VARY, **given, workers=0, out=tmp_path / "alone")
    assert set(alone["outcome"]) == {"completed"}
    wait = cluster_module.DaskCluster._await_a_worker
    away = own.parent.with_name("away")

    def hidden(self: Any) -> None:
        own.parent.rename(away)
        wait(self)

    seen: list[int] = []

    def kill_the_job(done: int, total: int, failed: int) -> None:
        seen.append(done)
        if len(seen) == 5:
            os.killpg(numbers(slurm.parent / "slurm")[0], signal.SIGKILL)
        if done == total:
            away.rename(own.parent)

    monkeypatch.setattr(cluster_module.DaskCluster, "_await_a_worker", hidden)
    there = pp.sweep(str(own), VARY, **given, cluster=f"slurm:{slurm}", out=tmp_path / "there", progress=kill_the_job)
    assert digest(there.path) == digest(alone.path)
    assert seen == list(range(1, 25))  # each run, a chunk of its own, once
    assert len(numbers(slurm.parent / "slurm")) >= 2
    script = next((slurm.parent / "slurm").glob("*.sh")).read_text()
    assert "#SBATCH -t 01:00:00" in script
    assert "--lifetime 3420s" in script


def test_local_workers_give_the_table_of_one_process_and_go_on_after_an_interruption(
    pendulum: Scenario, tmp_path: Path
) -> None:
    vary, given = {"robot.parameters.mass": "uniform(0.5, 2)"}, {"runs": 64, "metrics": ["energy_residual"]}
    alone = pp.sweep(pendulum, vary, **given, workers=0, out=tmp_path / "alone")

    def stop(done: int, total: int, failed: int) -> None:
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pp.sweep(pendulum, vary, **given, cluster="local:1", out=tmp_path / "there", progress=stop)
    done: list[int] = []
    there = pp.sweep(
        pendulum, vary, **given, cluster="local:1", out=tmp_path / "there", progress=lambda *at: done.append(at[0])
    )
    assert done[0] >= 20
    assert digest(there.path) == digest(alone.path)


def test_the_dry_run_prints_the_job_script_and_what_it_will_cost(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    job = tmp_path / "job.toml"
    job.write_text(
        'jobs = 20\ncores = 8\nmemory = "16GB"\nwalltime = "02:00:00"\nqueue = "compute"\naccount = "arms"\n'
        'prologue = ["module load python"]\ndirectives = ["--exclusive"]\npython = "python3"\nprice = 0.02\n'
    )
    words = ["sweep", "pendulum", "--vary", "robot.parameters.mass=uniform(0.5, 2)", "--runs", "10000", "--dry-run"]
    assert main([*words, "--set", "run.duration=0.02", "--cluster", f"slurm:{job}"]) == 0
    shown = capsys.readouterr().out
    for line in ("-p compute", "-A arms", "--cpus-per-task=8", "--mem=15G", "-t 02:00:00", "--exclusive"):
        assert f"#SBATCH {line}\n" in shown
    assert "\nmodule load python\npython3 -m distributed.cli.dask_worker tcp://THIS-MACHINE:PORT" in shown
    assert "--nworkers 8 --nanny --death-timeout 60 --lifetime 6840s --lifetime-stagger 90s" in shown
    assert "cost: 20 jobs of 8 cores, about" in shown
    assert re.search(r"at 0\.02.*work.*1\.9 h.*02:00:00", shown)
    assert main([*words, "--set", "run.duration=0.02", "--cluster", f"pbs:{job}"]) == 0
    assert "#PBS -l walltime=02:00:00\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ssh:node1", "cluster 'ssh:'; known: local:N, pbs:FILE.toml"),
        ("k8s:palpate", "--cluster k8s: is not"),
        ("local:many", "workers from 1 to 1000, got 'many'"),
        ("none.json", "scheduler file"),
        ("slurm:none.toml", "such file or directory"),
        ("slurm:short.toml", "job file short.toml lacks the keys memory, walltime"),
        ("slurm:odd.toml", "job file odd.toml: JobFile: partition: Extra inputs are not permitted"),
        ("slurm:time.toml", "job file time.toml: walltime = 'an hour' is not"),
        ("slurm:small.toml", "job file small.toml: 2GB for 8 worker processes"),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_is_written(
    given: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short.toml").write_text("jobs = 1\ncores = 1\n")
    Path("odd.toml").write_text(JOB + 'partition = "compute"\n')
    Path("time.toml").write_text(JOB.replace("01:00:00", "an hour"))
    Path("small.toml").write_text(JOB.replace("cores = 1", "cores = 8"))
    assert main(["sweep", "pendulum", "--vary", "run.seed=1,2", "--quiet", "--cluster", given]) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("  hint: ")]
    assert len(error) == 1
    assert said in error[0]
    assert not Path("runs").exists()


def test_a_package_that_is_not_installed_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = tmp_path / "job.toml"
    job.write_text(JOB)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with pytest.raises(StudyError, match=r"dask-jobqueue.*not installed") as told:
        cluster_address(f"slurm:{job}")
    assert told.value.hint == "pip install 'palpate[cluster]'"
    monkeypatch.setattr(address_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StudyError, match=r"Dask.*not installed"):
        cluster_address("tcp://127.0.0.1:8786")


def test_no_sbatch_and_an_address_for_a_folder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pendulum: Scenario
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StudyError, match=r"no sbatch.*machine"):
        address_module.check_command("slurm")
    with pytest.raises(PalpateError, match=r"no folder.*machine"):
        pp.sweep(pendulum, {"run.seed": "1,2"}, runs=2, workers=0, out="s3://bucket/table")


def test_a_job_that_is_too_short_for_a_run_is_refused_and_work_is_handed_out_in_pieces(tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    job = tmp_path / "job.toml"
    job.write_text(JOB)
    there = cluster_address(f"slurm:{job}")
    assert there.job_file is not None
    assert there.job_file.lifetime == 3600 - 180
    with pytest.raises(StudyError, match=r"about 2000.*worker.*3420 s"):
        cluster_module._largest_piece(there, 2000.0)
    assert cluster_module._largest_piece(there, 100.0) == 3
    chunk = [RunTask(k, ()) for k in range(7)]
    pieces = [[task.run for task in part] for _, part in cluster_module._pieces([chunk], 3)]
    assert pieces == [[0, 1, 2], [3, 4, 5], [6]]


def test_wall_times_and_memory_are_read_as_batch_systems_write_them(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(JOB.replace("01:00:00", "1-12:00:00").replace("2GB", "1.5TB"))
    file = read_job_file(str(job))
    assert (file.seconds, file.bytes) == (36 * 3600, 1.5e12)
    job.write_text(JOB.replace("01:00:00", "00:00:10"))
    with pytest.raises(InvalidInput, match=r"walltime.*10.*short"):
        read_job_file(str(job))


def test_every_file_of_a_scenario_is_known_and_its_copies_are_found_by_the_model(own: Path) -> None:
    plan = make_plan(str(own), VARY, runs=2, metrics=["effort"])
    names = {os.path.basename(path) for path in plan.files}
    assert {"arm.urdf", "link.stl"} < names
    assert any(name.startswith("own_module_") for name in names)
    contents = {path: Path(path).read_bytes() for path in plan.files}
    before = run_chunk(Job(plan.scenario, plan.metrics, files=plan.files), [RunTask(0, ())])
    own.parent.rename(own.parent.with_name("gone"))
    data = shipping.moved(plan.scenario, contents)
    assert build_robot(scenario_from_data(data).robot).model.nmesh == 1
    job = Job(plan.scenario, plan.metrics, files=plan.files, contents=contents)
    assert run_chunk(job, [RunTask(0, ())]) == before
    wrong = run_chunk(job, [RunTask(0, ("world.sensors.custom.eye.kind=" + plan.scenario["control"]["law"],))])
    assert str(own.parent) not in wrong[0].row["reason"]
    assert "palpate-files-" not in wrong[0].row["reason"]

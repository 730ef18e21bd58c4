"""Local processes: the same rows as here, whatever happens to a process."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import spawn
from pathlib import Path

import pytest

import palpate as pp
from moments import ENDLESS
from palpate.errors import FileError, StudyError
from palpate.scenario.model import Scenario
from palpate.tools.study import sweeps
from palpate.tools.study.planning import make_plan
from palpate.tools.study.running import pool as pools
from palpate.tools.study.running.pool import InProcess, LocalPool, Threads
from palpate.tools.study.running.worker import Job, RunResult, RunTask, run_chunk
from palpate.tools.study.sweeps import executor_for

FEW = ("energy_residual",)
DRAWN = {"world.sensors.encoder_noise": "uniform(0, 1e-3)"}


@pytest.fixture(scope="module")
def job(pendulum: Scenario) -> Job:
    return Job(pendulum.as_data(), FEW)


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    made = LocalPool(2)
    yield made
    made.close()


def chunks(count: int, size: int = 3) -> list[list[RunTask]]:
    tasks = [RunTask(run, (f"robot.parameters.mass={1 + run / 10}",)) for run in range(count * size)]
    return [tasks[k : k + size] for k in range(0, len(tasks), size)]


def by_run(answers: Iterator[tuple[list[RunTask], list[RunResult]]]) -> dict[int, dict[str, object]]:
    rows: dict[int, dict[str, object]] = {}
    for _, results in answers:
        for result in results:
            assert result.run not in rows, "made twice"
            rows[result.run] = result.row
    return dict(sorted(rows.items()))


def number(pool: LocalPool) -> int:
    """The number of one of the processes."""
    pid = next(iter([*pool.busy, *pool.free])).process.pid
    assert pid is not None
    return pid


class Sleeper:
    """Hangs whatever process reads it."""

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return signal.pause, ()


class Bomb:
    """Kills whatever process reads it."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (3,)


def test_processes_give_the_same_rows_as_here_and_stay_for_the_next_stage(pool: LocalPool, job: Job) -> None:
    expected = by_run(InProcess().results(job, chunks(3)))
    assert by_run(pool.results(job, chunks(3))) == expected
    numbers = {process.process.pid for process in pool.free}
    assert by_run(pool.results(job, chunks(3))) == expected
    assert {process.process.pid for process in pool.free} >= numbers
    assert not pool.busy


def test_the_chunk_of_a_killed_process_is_made_again(pool: LocalPool, job: Job) -> None:
    answers = pool.results(job, chunks(20, 2))
    first = next(answers)
    os.kill(number(pool), signal.SIGKILL)
    rows = by_run(iter([first, *answers]))
    assert list(rows) == list(range(40))
    assert {row["outcome"] for row in rows.values()} == {"completed"}


def test_a_run_that_kills_its_process_is_a_row_and_costs_no_other(pool: LocalPool, job: Job) -> None:
    tasks = chunks(1, 4)[0]
    hostile = [*tasks[:2], RunTask(2, (Bomb(),)), tasks[3]]  # pyright: ignore[reportArgumentType]
    rows = by_run(pool.results(job, [hostile]))
    assert [rows[k]["outcome"] for k in range(4)] == ["completed", "completed", "crashed", "completed"]
    assert "run (exit code 3" in str(rows[2]["reason"])
    assert rows[2]["energy_residual"] is None


def test_a_run_that_hangs_is_noticed_and_costs_no_other(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of what sleeps for ever is short; whatever else there is may take as long as the machine needs."""
    limits, ask = list[float | None](), pools._Process.ask

    def patient(self: pools._Process, job: Job, chunk: list[RunTask], limit: float | None) -> list[RunResult]:
        limits.append(limit)
        asleep = any(isinstance(word, Sleeper) for task in chunk for word in task.overrides)
        return ask(self, job, chunk, 1.0 if asleep else None)

    monkeypatch.setattr(pools._Process, "ask", patient)
    pool = LocalPool(1)
    first, second = chunks(2, 2)
    hostile = [RunTask(2, (Sleeper(),)), second[1]]  # pyright: ignore[reportArgumentType]
    rows = by_run(pool.results(job, [first, hostile]))
    pool.close()
    assert [rows[k]["outcome"] for k in range(4)] == ["completed", "completed", "crashed", "completed"]
    assert "no answer within 1 s" in str(rows[2]["reason"])
    assert limits[0] is None  # nothing is known of how long a chunk takes
    assert min(limit for limit in limits[1:] if limit is not None) >= pools.HUNG


def test_a_script_without_a_guard_sweeps_in_processes_that_take_nothing_from_the_folder(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import palpate as pp\n"
        "vary = {'robot.parameters.mass': 'uniform(0.5, 2)'}\n"
        "short = pp.load_scenario('pendulum', ['run.duration=0.02'])\n"
        "found = pp.sweep(short, vary, runs=4, workers=2)\n"
        "print(len(found), 'runs')\n"
    )
    (tmp_path / "multiprocessing.py").write_text("raise SystemExit('planted')")  # in the folder where it runs
    command = [sys.executable, "-P", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ENDLESS, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "4 runs\n"), done.stderr


def test_leaving_early_ends_the_work_at_once(job: Job) -> None:
    pool = LocalPool(2)
    answers = pool.results(job, chunks(1000, 5))
    next(answers)
    processes = [process.process for process in (*pool.free, *pool.busy)]
    answers.close()
    pool.close()
    assert not any(process.is_alive() for process in processes)
    assert threading.active_count() < 20


def test_threads_give_the_same_rows_as_one_and_end_early(job: Job) -> None:
    expected = by_run(InProcess().results(job, chunks(4)))
    assert by_run(Threads(2).results(job, chunks(4))) == expected
    answers = Threads(2).results(job, chunks(1000, 5))
    next(answers)
    answers.close()  # waits for the runs under way alone
    assert threading.active_count() < 20


def test_a_thread_takes_several_chunks_at_a_time_and_hands_each_back_with_its_own_results(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []

    def counted(job: Job, tasks: list[RunTask], stopped: Callable[[], bool] = lambda: False) -> list[RunResult]:
        taken.append(len(tasks))
        return run_chunk(job, tasks, stopped)

    monkeypatch.setattr(pools, "run_chunk", counted)
    monkeypatch.setattr(pools, "HAND_OVER", math.inf)  # as if runs took no time
    expected = by_run(InProcess().results(job, chunks(12)))
    taken.clear()
    answers = list(Threads(1).results(job, chunks(12)))
    assert [[result.run for result in results] for _, results in answers] == [
        [task.run for task in chunk] for chunk in chunks(12)
    ]
    assert taken[0] == 3
    assert max(taken) > 3
    assert sum(taken) == 36
    assert by_run(iter(answers)) == expected


def test_runs_on_equations_share_a_process_and_others_have_their_own(pendulum: Scenario) -> None:
    wanted = {"physics": "engine"}, {"physics": "equations"}
    plans = [make_plan(pendulum.replace(**{f"run__{k}": v for k, v in one.items()}), DRAWN, runs=2) for one in wanted]
    assert [type(executor_for(plan, 2, None)) for plan in plans] == [LocalPool, Threads]
    assert isinstance(executor_for(plans[1], 0, None), InProcess)


def test_a_defect_in_a_run_is_a_row(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("palpate.run.prepared.execute_bare", broken)
    row = run_chunk(job, chunks(1, 1)[0])[0].row
    assert (row["outcome"], row["reason"], row["passed"]) == ("crashed", "ZeroDivisionError: oops", False)


def test_a_file_that_changed_under_the_sweep_is_told_from_any_process(
    pool: LocalPool, job: Job, tmp_path: Path
) -> None:
    arm = tmp_path / "arm.urdf"
    arm.write_text("<robot/>")
    wrong = Job(job.scenario, FEW, files={str(arm): "0" * 64})
    for executor in (InProcess(), pool):
        with pytest.raises(FileError, match=r"arm\.urdf.*missing.*changed"):
            list(executor.results(wrong, chunks(1)))


def test_a_worker_that_cannot_start_is_an_error_with_its_last_words(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawn, "_python_exe", b"/bin/false")
    pool = LocalPool(1)
    with pytest.raises(StudyError, match="not start: exit code 1"):
        list(pool.results(job, chunks(1)))
    pool.close()


def test_a_sweep_in_threads_and_in_processes_has_the_same_table_bit_for_bit(
    pendulum: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vary = {"robot.parameters.mass": "uniform(0.5, 2)", "world.sensors.encoder_noise": "uniform(0, 1e-3)"}
    tables = []
    for workers, compiled in ((0, True), (2, True), (2, False)):
        monkeypatch.setattr(sweeps, "is_compiled", lambda scenario, compiled=compiled: compiled)
        out = tmp_path / f"{workers} {compiled}"
        tables.append(pp.sweep(pendulum, vary, runs=30, out=out, workers=workers, traces="failing").path.read_bytes())
    assert tables[0] == tables[1] == tables[2]

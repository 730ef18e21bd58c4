"""Whatever ends a run, what was recorded is kept: fatal errors of the engine, raising laws, signals, kills, memory."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from palpate import Run, World, load_robot, load_trace, simulate
from palpate.control import PythonLaw
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.errors import InvalidInput, TooLarge, TraceError
from palpate.files import refusals
from palpate.run import simulate_many
from palpate.run.assemble import assemble as assembling
from palpate.run.assemble.assemble import assemble
from palpate.run.simulate import execute
from palpate.trace import Recording
from palpate.world import Clock, FreeObject, Surface

CRAMPED = """<mujoco><size memory="{memory}"/><worldbody><body name="link"><joint name="j" axis="0 1 0"/>
<geom size=".05" mass="1"/><site name="tool" pos="0 0 0.1"/></body></worldbody></mujoco>"""


def cramped(folder: Path, memory: str) -> Run:
    """A pendulum whose engine has little memory, in a world where twelve spheres fall on a rigid floor at 0.1 s."""
    (folder / "cramped.xml").write_text(CRAMPED.format(memory=memory))
    spheres = tuple(FreeObject(name=f"s{k}", position=(3 + 0.2 * k, 0, -4.899), size=(0.05,)) for k in range(12))
    floor = Surface(name="floor", position=(0, 0, -5), contact="rigid")
    world = World(objects=spheres, surfaces=(floor,))
    robot = load_robot(folder / "cramped.xml")
    return Run(robot, GravityCompensation(), world=world, clock=Clock(duration=0.3))


def test_a_fatal_error_of_the_engine_is_an_outcome_with_its_trace_and_ends_no_other_run(tmp_path: Path):
    fatal, fine = (
        cramped(tmp_path, "20K"),
        Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=0.1)),
    )
    broken, whole, again = simulate_many([fatal, fine, fatal])
    assert broken.outcome.kind == "diverged"
    assert broken.outcome.where == "physics engine"
    assert "memory" in broken.outcome.reason
    assert 50 < len(broken) < 250  # the spheres have fallen 5 cm
    assert broken.equals(again)
    assert whole.outcome.kind == "completed"
    assert simulate(cramped(tmp_path, "10M")).outcome.kind == "completed"


def test_a_fatal_error_before_the_first_step_is_refused_by_its_reason():
    many = tuple(Surface(name=f"w{k}", position=(0, 0, -1 - 0.001 * k), contact="rigid") for k in range(4000))
    with pytest.raises(InvalidInput, match=r"gives.*start.*memory"):
        simulate(Run(load_robot("pendulum"), GravityCompensation(), world=World(surfaces=many)))


def test_a_fatal_error_under_a_law_in_python_is_an_outcome_too(tmp_path: Path, idle):
    run = cramped(tmp_path, "20K")
    trace = simulate(Run(run.robot, idle, world=run.world, clock=run.clock))
    assert "memory" in trace.outcome.reason
    assert len(trace) > 50


# ------------------------------------------------------------------------------------------------ raising laws


def failing(after: float) -> PythonLaw:
    def law(tick, gains, memory):
        if tick.t > after:
            return {"torque": tick.v * (1 / 0)}
        return {"torque": 0.0 * tick.v}

    return PythonLaw(law)


def test_a_raising_law_keeps_its_trace_with_the_exception_as_outcome_and_the_other_runs():
    robot, clock = load_robot("pendulum"), Clock(duration=0.1)
    runs = [Run(robot, law, clock=clock) for law in (failing(0.0505), GravityCompensation())]
    one, other = simulate_many(runs)
    assert (one.outcome.kind, one.outcome.where) == ("diverged", "law")
    assert re.search(r"ZeroDivisionError: division.*zero", one.outcome.reason)
    assert "test_nothing_lost.py, line" in one.outcome.reason
    assert (len(one), one.outcome.tick) == (51, 51)
    assert other.outcome.kind == "completed"


def test_a_law_that_raises_at_once_leaves_an_empty_trace():
    trace = simulate(Run(load_robot("pendulum"), failing(-1.0), clock=Clock(duration=0.1)))
    assert len(trace) == 0
    assert "ZeroDivisionError" in trace.outcome.reason


def test_a_misuse_that_shows_at_once_is_raised():
    with pytest.raises(InvalidInput):
        simulate(Run(load_robot("pendulum"), PythonLaw(lambda tick, gains, memory: {"torque": "much"})))


class Failing:
    """A reference that breaks after a second."""

    def sample(self, times, robot, q_start):
        from palpate.control.references.reference import Hold

        if times[0] > 1.0:
            raise OSError("the cable is out")
        return Hold().sample(times, robot, q_start)


def test_a_raising_reference_ends_the_run_and_keeps_it():
    trace = simulate(Run(load_robot("pendulum"), GravityCompensation(), reference=Failing(), clock=Clock(duration=9.0)))
    assert "the reference raised OSError: the cable is out" in trace.outcome.reason
    assert len(trace) == 4000


# ------------------------------------------------------------------------------------------------ interrupts and kills


def test_ctrl_c_after_the_last_step_keeps_the_run_complete():
    def stop(simulated, duration):
        if simulated >= duration:
            raise KeyboardInterrupt

    run = Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=0.5))
    trace = simulate(run, progress=stop)
    assert trace.outcome.kind == "completed"
    assert trace.equals(simulate(run))


LONG = """
import sys
from palpate import Run, load_robot, simulate
from palpate.world import Clock
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.run.after import keep
keep.EVERY = 0.0
def progress(simulated, duration):
    if simulated > 5.0:
        print(simulated, flush=True)
        sys.stdin.read()
run = Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=30.0))
simulate(run, partial=sys.argv[1], progress=progress)
"""


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_leaves_all_that_was_written_on_the_way(tmp_path: Path, kind: signal.Signals):
    file = tmp_path / "run.parts"
    command = [sys.executable, "-c", LONG, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        simulated = float(process.stdout.readline())
        process.send_signal(kind)
    trace = load_trace(file)
    assert trace.outcome.kind == "interrupted"
    assert trace.outcome.time == trace.time[-1] == pytest.approx(simulated, abs=1.1e-3)
    assert "process ended" in trace.outcome.reason
    np.testing.assert_allclose(trace.time, 1e-3 * np.arange(len(trace)), atol=1e-9)
    assert trace.facts.robot == "pendulum"


def test_a_run_is_written_on_the_way_every_two_seconds(tmp_path: Path, monkeypatch):
    """By a clock of the test's own, which goes on by 0.3 s between two looks at the run."""
    from palpate.run.after import keep

    now, written = [0.0], []
    monkeypatch.setattr(keep.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(keep.PartialFile, "append", lambda self, times, data: written.append((now[0], times[-1])))
    looks: list[float] = []

    def progress(simulated: float, duration: float) -> None:
        looks.append(simulated)
        now[0] += 0.3

    run = Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=100.0))
    simulate(run, partial=tmp_path / "run.parts", progress=progress)
    assert len(looks) >= 25  # batches of at most 4000 steps
    assert [when for when, _ in written] == pytest.approx(2.1 * np.arange(1, 1 + (len(looks) - 1) // 7))
    assert [latest for _, latest in written] == pytest.approx(looks[7::7], abs=1.1e-3)


def test_a_partial_trace_cut_anywhere_is_read_up_to_its_last_whole_batch(tmp_path: Path, monkeypatch):
    from palpate.run.after import keep

    monkeypatch.setattr(keep, "EVERY", 0.0)
    file = tmp_path / "run.parts"
    run = Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=2.0), v_start=[1.0])
    whole = simulate(run, partial=file)
    assert load_trace(file).equals(whole)
    content, lengths = file.read_bytes(), []
    for share in (0.999, 0.8, 0.5, 0.3):
        (tmp_path / "cut.parts").write_bytes(content[: int(share * len(content))])
        cut = load_trace(tmp_path / "cut.parts")
        lengths.append(len(cut))
        assert cut.equals(whole.slice(stop=cut.time[-1] if len(cut) else -1.0))
    assert len(whole) >= lengths[0] > lengths[-1]
    (tmp_path / "cut.parts").write_bytes(content[:50])
    with pytest.raises(TraceError):
        load_trace(tmp_path / "cut.parts")


def test_a_disk_that_fills_up_on_the_way_costs_the_partial_file_not_the_run(tmp_path: Path, monkeypatch):
    from palpate.run.after import keep

    monkeypatch.setattr(keep, "EVERY", 0.0)
    run = Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=0.5))
    trace = simulate(run, partial=tmp_path / "absent" / "run.parts")
    assert trace.outcome.kind == "completed"
    assert any("partial trace" in warning for warning in trace.warnings)
    if Path("/dev/full").exists():
        monkeypatch.setattr(keep.PartialFile, "append", _full)
        assert simulate(run, partial=tmp_path / "run.parts").equals(trace)


def _full(self, times, data) -> None:
    with refusals(self._path), open("/dev/full", "wb", buffering=0) as full:
        full.write(b"x")


# ------------------------------------------------------------------------------------------------ memory


def test_a_record_beyond_what_is_free_is_refused_before_anything_is_computed(monkeypatch):
    long = Run(load_robot("pendulum"), GravityCompensation(), clock=Clock(duration=1e6, timestep=1e-5))
    monkeypatch.setattr("palpate.run.simulate.check_start", None)  # the first thing that computes
    with pytest.raises(TooLarge, match=r"needs .* TB \(100000000001 samples.* are free"):
        simulate(long)
    monkeypatch.undo()
    monkeypatch.setattr(assembling, "free_bytes", lambda: 1_000_000)
    fits = Run(load_robot("pendulum"), GravityCompensation(), record=Recording(("q",), stride=1))
    assert simulate(fits).outcome.ok  # 2001 · 16 bytes
    with pytest.raises(TooLarge, match="stride"):
        simulate(Run(load_robot("panda"), GravityCompensation(), clock=Clock(duration=10.0)))


MEASURE = """
import sys
from palpate import Run, load_robot, simulate
from palpate.world import Clock
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.run.assemble.assemble import assemble
from palpate.run.assemble.assemble import record_bytes
from palpate.run.after import keep
keep.EVERY = 0.0  # the file on the way is written too

def peak():  # kB since exec; ru_maxrss would count the test's own process too
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

robot = load_robot("panda", joints="ideal")  # one that sticks leaves a small file
simulate(Run(robot, GravityCompensation(), clock=Clock(duration=1.0))).save(sys.argv[1] + "/warm.parquet")
run = Run(robot, GravityCompensation(), clock=Clock(duration=80.0))
before = peak()
trace = simulate(run, partial=sys.argv[1] + "/run.parts")
trace.save(sys.argv[1] + "/run.parquet")
after = peak()
print(1024 * (after - before) / record_bytes(run, assemble(run).chosen))
"""


def test_a_run_and_its_file_take_at_most_one_and_a_half_times_the_record(tmp_path: Path):
    out = subprocess.run([sys.executable, "-c", MEASURE, str(tmp_path)], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert float(out.stdout) < 1.5
    assert (tmp_path / "run.parts").stat().st_size > 1e5


def test_how_a_run_is_sliced_changes_nothing_in_it(monkeypatch):
    from palpate.run import advancing as module

    run = Run(load_robot("panda"), GravityCompensation(), clock=Clock(duration=0.3))
    whole = simulate(run)
    monkeypatch.setattr(module._Slices, "run", lambda self, steps: self._call(module.loop.run_steps, min(steps, 7)))
    assert execute(assemble(run)).equals(whole)

"""The page that `make bench` writes, and the driver that runs every benchmark."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import Measurement, __main__ as driver
from benchmarks._page import Line, Outcome, lines_of, page
from benchmarks.peers import elsewhere

from moments import ENDLESS, wait_until

ROOT = Path(__file__).parents[1]


def line(name: str, values: tuple[float, ...], goal: float | None = None, at_least: bool = False) -> Line:
    return Line(Measurement(name, values[0], "×", goal, at_least), values)


def test_the_page_begins_with_what_is_lost_largest_miss_first_and_tells_the_quartiles() -> None:
    won, lost = line("a tick", (1.1, 1.2, 1.4), 1.5), line("a run", (1.9, 2.0, 2.2), 1.3)
    faster = line("threads", (1.2,), 1.7, at_least=True)
    worse = line("peer", (0.1,), 1.0, at_least=True)
    text = page([Outcome("loop", "The loop.", (won, faster)), Outcome("sweep", "Many.", (lost, worse))])
    head = text[text.index("## Where we lose") : text.index("## loop")]
    assert head.index("sweep: peer") < head.index("sweep: a run") < head.index("loop: threads")
    assert "sweep: a run | 2 × | 1.95 … 2.1 | ≤ 1.3: MISSED" in head
    assert "loop: threads | 1.2 × |  | ≥ 1.7: MISSED" in head
    assert "a tick" not in head
    assert "| a tick | 1.2 × | 1.15 … 1.3 | ≤ 1.5: reached |" in text
    assert "Run 3 times" in text
    assert "processors" in text


def test_repeats_are_put_together_by_name() -> None:
    first, second = ([Measurement("a", value, "s"), Measurement("b", 2.0, "s")] for value in (1.0, 3.0))
    found = lines_of([first, second[:1]])
    assert [(each.row.name, each.values) for each in found] == [("a", (1.0, 3.0)), ("b", (2.0,))]


def test_what_failed_is_named_with_its_reason_before_the_numbers() -> None:
    text = page(
        [Outcome("derive", "Deriving.", problem="ended after 300 s"), Outcome("loop", "x", (line("a", (1.0,)),))]
    )
    assert text.index("- derive: ended after 300 s") < text.index("## loop")
    assert "## derive" not in text


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules count as benchmarks."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name in ("__init__.py", "_repeat.py"):
        (folder / name).write_text((ROOT / "benchmarks" / name).read_text("utf-8"), encoding="utf-8")
    monkeypatch.setattr(driver, "ROOT", tmp_path)
    monkeypatch.setattr(driver, "title", lambda name: name)
    return folder


class EndedLater(subprocess.Popen):
    """A process whose time is over when two rounds are in its file, however long they take."""

    def communicate(self, input: Any = None, timeout: float | None = None) -> Any:
        if timeout is not None:
            file = Path(self.args[4])  # pyright: ignore
            wait_until(lambda: file.exists() and file.read_text().count('"x"') == 2, self)
            raise subprocess.TimeoutExpired(self.args, timeout)
        return super().communicate(input, timeout)


def test_a_benchmark_that_raises_or_never_ends_costs_only_itself(
    pretended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pretended / "broken.py").write_text("def measure():\n    raise ValueError('no peer today')\n")
    (pretended / "endless.py").write_text("import signal\ndef measure():\n    signal.pause()\n")
    (pretended / "late.py").write_text(
        "import signal\nfrom benchmarks import Measurement\ncount = []\ndef measure():\n    count.append(1)\n"
        "    len(count) > 2 and signal.pause()\n    return [Measurement('x', len(count), 's')]\n"
    )
    assert driver.run("broken", 1, 1.0, ENDLESS).problem == "ValueError: no peer today"
    endless = driver.run("endless", 1, 1.0, 2.0)
    assert (endless.problem, endless.lines) == ("ended after 2 s", ())
    monkeypatch.setattr(subprocess, "Popen", EndedLater)
    late = driver.run("late", 5, ENDLESS, 5.0)
    assert [each.values for each in late.lines] == [(1.0, 2.0)]
    assert late.problem == "ended after 5 s"


def test_every_benchmark_of_the_pages_is_there_and_has_a_title() -> None:
    wanted = {"loop", "laws", "compile", "before", "robot_terms", "derive", "exact", "pole", "fastest_stop", "sweep"}
    assert wanted | {"growth", "rollout", "priorities"} <= set(driver.names())
    assert all(driver.title(name) for name in driver.names())
    assert {left.name for left in driver._left_out(["loop"])} == set(driver.names()) - {"loop"}
    pages = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert [name for name in driver.names() if f"`{name}`" not in pages] == []


def test_a_peer_elsewhere_is_asked_by_lines_and_one_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(elsewhere, "PYTHON", Path(sys.executable))
    script = tmp_path / "peer.py"
    serving = ROOT / "benchmarks" / "peers"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(serving)!r})\nfrom answering import serve\n"
        "serve(lambda job: {'twice': lambda: 2 * job['x']}, ('numpy',))\n"
    )
    peer = elsewhere.started("Twice", str(script), {"x": 21})
    assert peer is not None
    assert peer.answers == {"twice": 42}
    assert peer.seconds("twice", 10) >= 0.0
    peer.close()
    script.write_text("raise SystemExit(3)\n")
    assert elsewhere.started("Gone", str(script), {}) is None
    assert "exit code 3), so not compared" in capsys.readouterr().out


def test_the_urdf_for_peers_is_the_same_arm() -> None:
    pin = pytest.importorskip("pinocchio")
    robot = importlib.import_module("palpate").load_robot("panda")
    model = pin.buildModelFromXML(elsewhere.urdf_of(robot))
    data = model.createData()
    for q in (robot.home, robot.home + 0.3):
        pin.framesForwardKinematics(model, data, q)
        there, here = data.oMf[model.getFrameId("tool")], robot.pose(q)
        assert abs(there.translation - here.position).max() < 1e-12
        assert abs(there.rotation - here.rotation).max() < 1e-12


def test_results_can_be_written_as_numbers() -> None:
    text = driver.as_json([Outcome("loop", "x", (line("a", (1.0, 2.0), 3.0),)), Outcome("no", "y", problem="why")])
    assert json.loads(text)["results"]["loop"][0]["values"] == [1.0, 2.0]
    assert json.loads(text)["problems"] == {"no": "why"}


def test_an_unknown_benchmark_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "lop"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 2
    assert "no benchmark lop" in done.stderr


def test_the_long_sweeps_figures_stay_on_every_page_with_date_and_machine(tmp_path: Path) -> None:
    missed = Outcome("sweep", "Many.", (line("10000 runs", (2.0,), 1.3),), seconds=400.0, load=0.5)
    file = tmp_path / "long_sweep.json"
    assert "bench-sweep" in driver.long_sweep(file).problem
    file.write_text(driver.as_json([missed]), encoding="utf-8")
    kept, found = driver.long_sweep(file), json.loads(file.read_text("utf-8"))
    text = page([Outcome("loop", "The loop.", (line("a tick", (1.1,), 1.5),)), kept])
    assert "| long_sweep: 10000 runs | 2 × |  | ≤ 1.3: MISSED |" in text[: text.index("## loop")]
    assert f"on {found['date']}: palpate {found['palpate']}; {found['machine']}." in text
    assert "Run once in 400 s; the machine's load when it ended was 0.5." in text

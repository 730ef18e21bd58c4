"""The first hour as a newcomer types it, in a terminal of 80 columns, with what must be seen on the screen.

The examples of the help and the programs of README and tutorials are run by `test_arriving` and `test_docs`; that each
changes a number by `test_examples`.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.robot.test_corpus import FILES

from palpate.cli.main import main

Capture = pytest.CaptureFixture[str]
# What is typed, how it ends, and what must be seen.
FIRST = [
    ("palpate list robots", 0, ["panda", "Franka Emika Panda with hand"]),
    ("palpate show panda-wall", 0, ["cartesian-impedance", "wall"]),
    ("palpate run panda-wall --out soft", 0, ["contact: first at 0.", "force_peak", "4 of 4 bounds kept"]),
    (
        "palpate run panda-wall --set world.surfaces.wall.stiffness=4e4 --out stiff",
        0,
        ["contact: first at 0.", "force_peak", "bounds kept"],
    ),
    ("palpate compare soft stiff", 0, ["world.surfaces.wall.stiffness", "10000", "40000", "force_peak"]),
    ("palpate explain control.cartesian-impedance", 0, ["stiffness", "A spring and damper at the tool"]),
    ("palpate explain force_peak", 0, ["largest"]),
    ("palpate run panda-wall --set control.law=computed-torque", 1, ["no surface was touched; the closest distance"]),
    ("palpate run panda-wall --set control.damping_ratio=0.3", 0, ["damping_ratio is not used: damping is given"]),
    ("palpate run panda-wall --set control.stiffness=400", 2, ["control.stiffness=[400, 400, 400"]),
    ("palpate design panda-wall", 0, ["stable"]),
    (
        "palpate sweep panda-wall --vary world.surfaces.wall.stiffness=200:20000:5:log --no-report",
        0,
        ["5 runs: 3 passed, 2 broke a bound", "worst: run 0"],
    ),
    ("palpate new mine", 0, ["wrote mine.toml; run it with: palpate run mine.toml"]),
    ("palpate run mine.toml --no-report", 0, ["contact: first at", "force_peak"]),
]
OURS = ("panda", "ur5e", "iiwa14", "scara", "planar3")
FOREIGN = (
    "erd/panda_description/urdf/panda.urdf", "erd/ur_description/urdf/ur5_robot.urdf",
    "erd/kinova_description/robots/kinova.urdf", "erd/xarm_description/urdf/xarm7.urdf",
    "rtb/xacro/kuka_description/kuka_kr16/urdf/kr16_2.urdf",
)  # fmt: skip


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def typed(line: str, capsys: Capture) -> tuple[int, str]:
    """What a line that is typed ends with, and what it shows."""
    ending = main(shlex.split(line)[1:])
    shown = capsys.readouterr()
    return ending, re.sub(r"[ \t]*\n\s*", " ", shown.err) + "\n" + shown.out


def test_what_is_typed_first_shows_what_it_did(terminal: None, capsys: Capture) -> None:
    for line, ending, wanted in FIRST:
        ended, shown = typed(line, capsys)
        assert ended == ending, f"{line} ended with {ended}:\n{shown}"
        missing = [text for text in wanted if text not in shown]
        assert not missing, f"{line} does not show {missing}:\n{shown}"


@pytest.mark.parametrize("robot", [*OURS, *(name for name in FOREIGN if name in FILES)])
def test_an_arm_presses_a_wall_and_a_change_is_seen(robot: str, terminal: None, capsys: Capture) -> None:
    """New, run, change one number: the force follows, and it is printed."""
    model = str(FILES.get(robot, robot))
    ended, shown = typed(f"palpate new mine --robot {shlex.quote(model)}", capsys)
    assert ended == 0
    assert "3 cm before" in shown
    pressed = re.search(r"presses with (\d+) N", shown)
    assert pressed is not None
    force = []
    for change in ("", "--set world.surfaces.wall.stiffness=300"):
        ended, shown = typed(f"palpate run mine.toml --no-report {change}", capsys)
        assert ended in (0, 1)
        assert "contact: first" in shown
        peak = re.search(r"force_peak +([\d.]+) +N", shown)
        assert peak is not None
        force.append(float(peak[1]))
    assert force[0] == pytest.approx(float(pressed[1]), rel=0.5)
    assert force[1] < 0.95 * force[0]

"""What MJCF can say and a tree of joints cannot: refused by name; what a law would do twice: taken off."""

from __future__ import annotations

import re

import numpy as np
import pytest

import palpate as pp
from palpate.errors import ModelError
from palpate.robot.readers.check import check_model

BODIES = """<body name="a"><joint name="ja" axis="0 1 0"/><geom size="0.05" pos="0.2 0 0"/>
    <body name="b" pos="0.4 0 0"><joint name="jb" axis="0 1 0"/><geom size="0.05" pos="0.2 0 0"/></body></body>
  <body name="c" pos="0 0 0.3"><joint name="jc" axis="0 1 0"/><geom size="0.05" pos="0.3 0 0"/></body>"""
TEXT = """<mujoco><compiler angle="radian"/><worldbody>{}</worldbody>
<tendon><fixed name="t1"><joint joint="ja" coef="1"/></fixed>
<fixed name="t2"><joint joint="jb" coef="1"/></fixed></tendon>
<equality>
{}
</equality></mujoco>"""


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ('<connect name="loop" body1="b" body2="c" anchor="0 0 0"/>', "'loop' connects two bodies in a point"),
        ('<weld name="loop" body1="b" body2="c"/>', "'loop' welds two bodies"),
        ('<connect body1="b" body2="c" anchor="0 0 0"/>', "number 1 connects two bodies"),
        ('<tendon name="pull" tendon1="t1" tendon2="t2"/>', "'pull' ties tendons"),
    ],
)
def test_a_closed_loop_is_refused_by_name_in_check_and_loader(tmp_path, constraint, words) -> None:
    path = tmp_path / "loop.xml"
    path.write_text(TEXT.format(BODIES, constraint))
    report = check_model(path)
    (error,) = report.errors
    assert words in error.found
    assert (error.line, "closed loop" in error.rule, "delete" in error.hint) == (7, True, True)
    with pytest.raises(ModelError, match=words):
        pp.load_robot(path)
    with pytest.raises(ModelError, match=f"is not a tree: equality {words}"):
        pp.Robot.from_mjcf_text(path.read_text())


def test_a_constraint_that_is_switched_off_is_none(tmp_path) -> None:
    path = tmp_path / "open.xml"
    path.write_text(TEXT.format(BODIES, '<connect active="false" body1="b" body2="c" anchor="0 0 0"/>'))
    assert pp.load_robot(path).nv == 3


def test_a_mimic_by_a_curve_is_refused_in_check_and_loader(tmp_path) -> None:
    path = tmp_path / "curve.xml"
    path.write_text(TEXT.format(BODIES, '<joint joint1="jb" joint2="ja" polycoef="0 1 0.5 0 0"/>'))
    assert re.search(r"mimics.*curve", check_model(path).errors[0].found)
    with pytest.raises(ModelError, match=r"mimics.*curve"):
        pp.load_robot(path)


def test_gravity_compensation_of_the_file_is_taken_off_and_told(tmp_path) -> None:
    """The law compensates gravity; g(q) then holds the arm still, in the robot's terms and in the plant's."""
    path = tmp_path / "arm.xml"
    path.write_text(TEXT.format(BODIES.replace("<body", '<body gravcomp="1"'), ""))
    robot = pp.load_robot(path)
    q = np.array([0.3, -0.5, 0.9])
    assert np.abs(robot.gravity(q)).max() > 1
    assert robot.forward_dynamics(q, np.zeros(3), robot.gravity(q)) == pytest.approx(np.zeros(3), abs=1e-12)
    assert not robot.model.body_gravcomp.any()
    assert any("gravcomp on 3 bodies" in str(warning) and "twice" in str(warning) for warning in robot.warnings)


def test_gravity_compensation_in_a_text_is_taken_off_too() -> None:
    robot = pp.Robot.from_mjcf_text(TEXT.format(BODIES.replace("<body", '<body gravcomp="1"'), ""))
    q = np.array([0.3, -0.5, 0.9])
    assert robot.forward_dynamics(q, np.zeros(3), robot.gravity(q)) == pytest.approx(np.zeros(3), abs=1e-12)
    assert any("gravcomp" in str(warning) for warning in robot.warnings)


def test_nothing_is_said_of_actuators_that_are_taken_off(tmp_path) -> None:
    motors = '<actuator><position joint="ja" kp="1e9" ctrlrange="0 0"/><motor joint="jb" forcerange="0 0"/></actuator>'
    path = tmp_path / "arm.xml"
    path.write_text(TEXT.format(BODIES, "").replace("</mujoco>", f"{motors}</mujoco>"))
    others = ("tool frame", "contact geometry")
    assert [str(w) for w in pp.load_robot(path).warnings if not any(other in str(w) for other in others)] == []


def test_the_engines_own_words_do_not_reach_the_terminal(tmp_path, capfd, monkeypatch) -> None:
    """A mesh with a material file that is not there makes MuJoCo speak; so does a texture of odd size."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.obj").write_text(
        "mtllib gone.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    text = """<mujoco><asset><mesh name="m" file="m.obj"/><texture name="t" type="2d" file="gone.png"/>
      <material name="s" texture="t"/></asset><worldbody><body><joint/><geom size="0.1" material="s"/>
      <geom type="mesh" mesh="m" mass="0"/></body></worldbody></mujoco>"""
    (tmp_path / "r.xml").write_text(text)
    robot = pp.load_robot(tmp_path / "r.xml")
    assert robot.model.ntex == 0
    assert capfd.readouterr() == ("", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.obj", "r.xml"]

"""Reading scenarios: files, extends, every problem at once, and where it stands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palpate.control.references import JointMotion
from palpate.errors import ScenarioError, UnknownName
from palpate.scenario.checking.problems import Problem
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.scenario.file.sources import MOST_BYTES, MOST_PARENTS
from palpate.scenario.model import Scenario

Write = Callable[[str, str], Path]
GOOD = """\
name = "small"

[robot]
model = "pendulum"

[control]
law = "passive"

[run]
duration = 0.1
"""


def problems(error: ScenarioError) -> dict[str, Problem]:
    return {problem.key: problem for problem in error.problems if isinstance(problem, Problem)}


def refused(text: str, write: Write) -> tuple[str, dict[str, Problem]]:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write("bad.toml", text))
    return str(caught.value), problems(caught.value)


def test_a_small_file_is_read(write: Write) -> None:
    scenario = load_scenario(write("small.toml", GOOD))
    assert (scenario.name, scenario.robot.model, scenario.control.name) == ("small", "pendulum", "passive")
    assert scenario.reference.kind == "hold"


BAD = """\
name = "bad"
descripton = "x"
[robot]
model = "panda"
[control]
law = "cartesian-impedance"
stifness = [1, 1, 1, 1, 1, 1]
posture_stiffness = "5 Nm/rad"
damping = [80, 80, 80, 5, nan, 5]
[reference]
kind = "line"
offset = [0.1, 0]
duration = "1500 ms"
[[world.surfaces]]
contact = "soft"
stiffness = "10 N/mm"
[[world.surfaces]]
damping = -1
[sensors]
delay = 1
[run]
rate = 999
[metrics.chatter]
lest = 1
"""


def test_every_problem_is_told_at_once_with_its_line_and_what_is_allowed(write: Write) -> None:
    message, found = refused(BAD, write)
    assert set(found) == {
        "descripton", "control.stifness", "control.posture_stiffness", "control.damping.4", "reference.offset",
        "reference.duration", "world.surfaces.0.contact", "world.surfaces.0.stiffness", "world.surfaces.1.damping",
        "sensors", "run", "metrics.chatter.lest",
    }  # fmt: skip
    assert "bad.toml has 12 problems:" in message
    for line in (
        "line 2: descripton: unknown key; did you mean 'description'?",
        "line 7: control.stifness: unknown key; did you mean 'stiffness'?",
        "line 8: control.posture_stiffness: found '5 Nm/rad'; allowed: a number or a list of numbers, in N·m/rad"
        " (its unit is N·m/rad; write 5)",
        "line 9: control.damping.4: found nan",
        "line 12: reference.offset: found [0.1, 0]; allowed: a list of three numbers, in m",
        "line 13: reference.duration: found '1500 ms'; allowed: a number greater than 0, in s"
        " (its unit is s; write 1.5)",
        "line 15: world.surfaces.0.contact: found 'soft'; allowed: one of compliant, rigid",
        "line 16: world.surfaces.0.stiffness: found '10 N/mm'; allowed: a number greater than 0, in N/m"
        " (its unit is N/m; write 10000)",
        "line 18: world.surfaces.1.damping: found -1; allowed: a number at least 0, in N·s/m",
        "line 19: sensors: unknown key; did you mean 'world.sensors'?",
        "line 21: run: the control period 0.001001 s must be a whole multiple of the physics step 0.001 s"
        " (the nearest is 0.001 s)",
        "line 24: metrics.chatter.lest: unknown key; did you mean 'least'?",
    ):
        assert f"\n  {line}" in message


def test_sections_that_are_well_formed_are_held_against_each_other_all_the_same(write: Write) -> None:
    text = (
        GOOD
        + 'integrator = "magic"\n[robot.start]\nq = [1, 2]\n[[world.attachments]]\nmass = 1\nattach = 2\nrelease = 1\n'
    )
    _, found = refused(text, write)
    assert "allowed: one of euler, implicit, rk4" in found["run.integrator"].message
    assert "shape (1,), got (2,)" in found["robot.start"].message
    assert "come after" in found["world.attachments.0.release"].message


@pytest.mark.parametrize(
    ("extra", "key", "words"),
    [
        ('[robot.start]\nq = [0]\nposition = [0, 0, 0]', "robot.start", "not both"),
        ('[robot.start]\nposition = [9, 0, 0]', "robot.start", "posture of pendulum"),
        ('[[world.pushes]]\nframe = "tol"', "world.pushes.0.frame", "unknown frame 'tol'"),
        ('[[world.surfaces]]\nname = "a"\n[[world.surfaces]]\nname = "a"', "world.surfaces.1.name", "already"),
        ('[[world.surfaces]]\nshape = "box"', "world.surfaces.0", "a box has 3 sizes, got 0"),
        ("[[world.surfaces]]\n[world.surfaces.motion]\nstart = 2\nstop = 1", "world.surfaces.0.motion.stop", "before"),
        ('[metrics]\nbounce = {most = 0}', "metrics.bounce", "you mean 'bounces'?"),
        ("[metrics]\nbounces = {}", "metrics.bounces", "least, most"),
        ('[[stop]]\ncolumn = "q"', "stop.0", "exactly one of above and below"),
        ('[reference]\nkind = "lin"', "reference.kind", "unknown kind 'lin'"),
        ('[reference]\nkind = "joint"\nq = [1, 2]', "reference", "shape (1,)"),
        ("[robot.parameters]\nlenth = 1", "robot", "robot 'pendulum' 'lenth'"),
        ("[record]\nstride = 0.5", "record.stride", "whole number at least 1"),
        ("[record]\nstride = true", "record.stride", "found true"),
        ('[world.sensors]\nvelocity = "guessed"', "world.sensors.velocity", "one of measured, differentiated"),
        ("[world]\nsurfaces = 3", "world.surfaces", "a list of tables"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(extra: str, key: str, words: str, write: Write) -> None:
    message, found = refused(f"{GOOD}\n{extra}\n", write)
    assert words in str(found[key]), message


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        (GOOD.replace('law = "passive"', "damping = 1"), "control", "the key 'law' is missing"),
        (GOOD.replace('"passive"', '"pasive"'), "control.law", "you mean 'passive'"),
        (GOOD.replace('"passive"', "3"), "control.law", "unknown law '3'"),
        (GOOD.replace('[control]\nlaw = "passive"', ""), "control", "missing"),
        (GOOD.replace('"pendulum"', '"pendulm"'), "robot", "you mean 'pendulum'"),
        (GOOD.replace('model = "pendulum"', ""), "robot", "exactly one of model and dh"),
        (GOOD.replace('name = "small"', 'name = "a b"'), "name", "found 'a b'"),
        (GOOD.replace('name = "small"', ""), "name", "missing"),
        (GOOD.replace("duration = 0.1", "duration = inf"), "run.duration", "found inf"),
        (GOOD.replace("duration = 0.1", "duration = 1e-4"), "run", "physics step"),
        (GOOD.replace("duration = 0.1", "period = 0.002\nrate = 500"), "run", "not both"),
    ],
)
def test_what_is_missing_or_wrong_is_named(text: str, key: str, words: str, write: Write) -> None:
    message, found = refused(text, write)
    assert words in str(found[key]), message


def test_an_extended_scenario_is_merged_and_a_new_law_takes_no_old_gains(write: Write) -> None:
    write("base.toml", GOOD + '\n[[world.pushes]]\nname = "a"\n')
    child = write(
        "child.toml", 'name = "child"\nextends = "base.toml"\n[run]\nseed = 3\n[control]\nlaw = "joint-impedance"\n'
    )
    scenario = load_scenario(child)
    assert (scenario.name, scenario.run.seed, scenario.run.duration) == ("child", 3, 0.1)
    assert scenario.control.name == "joint-impedance"
    assert [push.name for push in scenario.world.pushes] == ["a"]
    assert scenario.extends is None


def test_a_shipped_scenario_can_be_extended(write: Write) -> None:
    scenario = load_scenario(write("x.toml", 'name = "x"\nextends = "pendulum"\n[run]\nduration = 0.2\n'))
    assert (scenario.run.duration, scenario.run.integrator) == (0.2, "rk4")


def test_a_problem_of_the_extended_file_is_told_with_that_files_name_and_line(write: Write) -> None:
    write("base.toml", GOOD + "sed = 1\n")
    message, _ = refused('name = "child"\nextends = "base.toml"\n', write)
    assert re.search(r"base\.toml, line 11: run\.sed: unknown.*'seed'\?", message)


def test_a_ring_of_extensions_is_refused(write: Write) -> None:
    write("a.toml", 'name = "a"\nextends = "b.toml"\n')
    path = write("b.toml", 'name = "b"\nextends = "a.toml"\n')
    with pytest.raises(ScenarioError, match="extends"):
        load_scenario(path)


def test_sixteen_ancestors_are_read_and_a_seventeenth_is_refused(write: Write) -> None:
    write("0.toml", GOOD)
    for k in range(1, MOST_PARENTS + 2):
        write(f"{k}.toml", f'name = "s{k}"\nextends = "{k - 1}.toml"\n')
    deepest = load_scenario(write("last.toml", f'name = "last"\nextends = "{MOST_PARENTS - 1}.toml"\n'))
    assert (deepest.name, deepest.robot) == ("last", load_scenario(write("good.toml", GOOD)).robot)
    with pytest.raises(ScenarioError, match=f"extends more than {MOST_PARENTS} others"):
        load_scenario(write("beyond.toml", f'name = "beyond"\nextends = "{MOST_PARENTS}.toml"\n'))


def test_paths_inside_a_file_start_at_its_folder(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    urdf = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1"
    izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="a"/>
    <child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""
    write("deep/arm.urdf", urdf)
    write("deep/way.csv", "time,q[j]\n0,0\n1,0.5\n2,1\n")
    reference = '[reference]\nkind = "recorded"\nfile = "way.csv"\n'
    path = write("deep/s.toml", GOOD.replace('"pendulum"', '"arm.urdf"') + reference)
    monkeypatch.chdir(tmp_path)
    assert load_scenario(path).robot.model == str(tmp_path / "deep" / "arm.urdf")
    child = write("s2.toml", 'name = "s2"\nextends = "deep/s.toml"\n')
    assert load_scenario(child).robot.model == str(tmp_path / "deep" / "arm.urdf")
    assert load_scenario(os.path.join("deep", "s.toml")).name == "small"


def test_files_that_are_none_are_refused(write: Write, tmp_path: Path) -> None:
    for name, text, words in (
        ("x.toml", "name = ", "is no TOML"),
        ("y.toml", "a = " + "[" * 5000, "TOML|deeply"),
        ("dotted.toml", ".".join("a" * 400_000) + " = 1\n", "nested too deeply"),
        ("header.toml", "[" + " . ".join(['"a"'] * 140_000) + "]\n", "nested too deeply"),
        ("z.toml", "#" * (MOST_BYTES + 1), "larger than"),
    ):
        with pytest.raises(ScenarioError, match=words):
            load_scenario(write(name, text))
    (tmp_path / "l.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(ScenarioError, match="UTF-8"):
        load_scenario(tmp_path / "l.toml")
    with pytest.raises(ScenarioError, match="cannot read"):
        load_scenario(tmp_path / "none.toml")
    with pytest.raises(UnknownName, match="mean 'panda-wall'"):
        load_scenario("panda-wal")


def test_dh_tables_tools_payloads_and_bases_are_built(write: Write) -> None:
    text = """
name = "dh"
[robot]
dh = [{a = 0.5, mass = 2, com = [-0.25, 0, 0], inertia = [0.01, 0.05, 0.05], lower = -2, upper = 2}, {a = 0.3}]
gravity = [0, 0, -1]
[robot.base]
position = [0, 0, 1]
[robot.tool]
mass = 0.5
tip_position = [0.1, 0, 0]
[robot.payload]
mass = 0.25
[control]
law = "passive"
[run]
duration = 0.01
"""
    from palpate.run.build import build

    parts = build(load_scenario(write("dh.toml", text)))
    assert parts.robot.mass == pytest.approx(3.75)
    assert parts.robot.pose([0.0, 0.0]).position.tolist() == pytest.approx([0.9, 0, 1])
    assert parts.robot.limits.upper[0] == 2
    assert parts.robot.model.opt.gravity.tolist() == [0, 0, -1]


def test_overrides_are_told_as_such() -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario("pendulum", ["run.seed=-1", "control.dampin=2"])
    assert "--set run.seed: found -1" in str(caught.value)
    assert re.search(r"--set control\.dampin: unknown.*'damping'\?", str(caught.value))


def test_data_from_python_is_checked_the_same_way() -> None:
    data: dict[str, Any] = {"name": "x", "robot": {"model": "pendulum"}, "control": {"law": "passive"}}
    assert isinstance(scenario_from_data(data), Scenario)
    data["reference"] = {"kind": "joint", "q": [0.1], "duration": 0.5}
    assert isinstance(scenario_from_data(data).reference, JointMotion)
    with pytest.raises(ScenarioError, match="scenario has 1 problem"):
        scenario_from_data({**data, "rn": {}})

"""What the catalogue knows of joints: every number with its source and grade, and what follows where it is unknown."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import palpate as pp
from palpate.errors import PalpateError, UnknownName
from palpate.robot import catalogue
from palpate.robot.build import joint_remarks
from palpate.robot.catalogue.joint_facts import GRADES, QUANTITIES, read_facts

GRADED = {name: catalogue.facts(name) for name in catalogue.names() if catalogue.facts(name)}
FACT = '[[fact]]\nquantity = "rotor_inertia"\nvalues = [0.1, 0.2]\ngrade = "measured"\nsource = "a bench"\n'


@pytest.mark.parametrize("name", GRADED)
def test_every_fact_has_a_source_a_grade_and_a_unit(name: str) -> None:
    for fact in GRADED[name]:
        assert fact.grade in GRADES
        assert len(fact.source) > 20
        assert fact.unit == QUANTITIES[fact.quantity].unit


@pytest.mark.parametrize("name", ["panda", "fr3", "ur10e", "puma560"])
def test_rotor_inertia_and_friction_are_known_of_every_joint(name: str) -> None:
    model = pp.load_robot(name).model
    assert (model.dof_armature > 0).all()
    assert (model.dof_frictionloss > 0).all()
    assert joint_remarks(pp.load_robot(name)) == []


@pytest.mark.parametrize("name", GRADED)
def test_the_arm_has_the_facts_that_are_used_and_no_guess(name: str) -> None:
    arm = catalogue.facts(name), pp.load_robot(name).model
    for quantity, about in QUANTITIES.items():
        if not about.attribute or name == "two-arm":
            continue
        expected: dict[str, float] = {}
        for fact in arm[0]:
            expected |= fact.values if fact.quantity == quantity and fact.used else {}
        found = {arm[1].joint(j).name: getattr(arm[1], f"dof_{about.attribute}")[j] for j in range(arm[1].njnt)}
        assert found == {joint: expected.get(joint, 0.0) for joint in found}


def test_the_mass_matrix_has_the_rotors_on_its_diagonal_as_the_engine_has_it() -> None:
    robot = pp.load_robot("fr3")
    q = robot.home
    data, M = mujoco.MjData(robot.model), np.zeros((7, 7))
    data.qpos[:] = q
    mujoco.mj_forward(robot.model, data)
    mujoco.mj_fullM(robot.model, data, M)
    assert robot.mass_matrix(q) == pytest.approx(M, abs=1e-14)
    links = robot.with_ideal_joints().mass_matrix(q)
    assert robot.mass_matrix(q) - links == pytest.approx(np.diag([0.195] * 4 + [0.074] * 3), abs=1e-14)


@pytest.mark.parametrize("name", catalogue.names())
def test_ideal_joints_have_nothing_and_lack_nothing(name: str) -> None:
    robot = pp.load_robot(name, joints="ideal")
    for numbers in (robot.model.dof_armature, robot.model.dof_damping, robot.model.dof_frictionloss):
        assert not numbers.any()
    assert joint_remarks(robot) == []


def test_uneven_friction_of_a_table_goes_with_the_rest() -> None:
    robot = pp.Robot.from_dh([pp.robot.DHLink(a=1.0, mass=1.0, friction=(0.5, 0.3), motor_inertia=1e-4, gear=100.0)])
    still, moving = np.zeros(1), np.ones(1)
    assert robot.inverse_dynamics(still, moving, still)[0] != 0.0
    ideal = robot.with_ideal_joints()
    assert ideal.inverse_dynamics(still, moving, still) == pytest.approx(ideal.bias(still, moving), abs=1e-12)


def test_a_machine_without_facts_says_so_and_a_textbook_does_not() -> None:
    said = joint_remarks(pp.load_robot("iiwa14"))
    assert said[0] == "no rotor inertia known: predicted limits are pessimistic along the wrist"
    assert "friction" in said[1]
    assert joint_remarks(pp.load_robot("ur5e"))[0].startswith("no rotor inertia known of joint4, joint5, joint6:")
    assert joint_remarks(pp.load_robot("planar3")) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0.2", "-0.2", "rotor_inertia.*b.*arm.*not be.*-0.2"),
        ("0.2", "nan", "rotor_inertia of arm"),
        ("0.2", "inf", "rotor_inertia of arm"),
        (", 0.2", "", "rotor_inertia of arm"),
        ("measured", "dreamt", "unknown grade"),
        ("source", 'side = "left"\nsource', "unknown side"),
        ("rotor_inertia", "colour", "unknown quantity"),
        ("values", 'joints = ["a", "c"]\nvalues', "unknown joint of arm 'c'"),
    ],
)
def test_a_fact_that_cannot_be_is_refused_by_name(old: str, new: str, words: str) -> None:
    assert read_facts(FACT, ("a", "b"), "arm")[0].values == {"a": 0.1, "b": 0.2}
    with pytest.raises(PalpateError, match=words):
        read_facts(FACT.replace(old, new), ("a", "b"), "arm")


@pytest.mark.parametrize(("name", "remains"), [("fr3", True), ("panda", True), ("ur10e", False), ("iiwa14", False)])
def test_a_robot_says_whether_its_friction_is_what_the_maker_leaves(name: str, remains: bool) -> None:
    robot = pp.load_robot(name)
    assert robot.friction_remains == remains
    assert robot.with_payload(1.0).friction_remains == remains


def test_friction_from_both_sides_of_a_compensation_is_refused() -> None:
    both = "".join(
        f'[[fact]]\nquantity = "{kind}_friction"\nvalues = [0.1]\ngrade = "measured"\nsource = "x"\nside = "{side}"\n'
        for kind, side in (("viscous", "joint"), ("coulomb", "behind_compensation"))
    )
    with pytest.raises(PalpateError, match=r"behind.*'s compensation"):
        read_facts(both, ("a",), "arm")


@pytest.mark.parametrize("attribute", ["armature", "damping", "frictionloss"])
@pytest.mark.parametrize("value", ["-0.1", "nan", "inf"])
def test_joints_of_a_model_file_that_cannot_be_are_refused_by_name(tmp_path, attribute: str, value: str) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(
        f'<mujoco><worldbody><body name="l"><joint name="j" {attribute}="{value}"/><geom size="0.1"/></body>'
        "</worldbody></mujoco>"
    )
    with pytest.raises(PalpateError, match=attribute):
        pp.load_robot(path)


def test_an_unknown_kind_of_joints_is_refused() -> None:
    with pytest.raises(UnknownName, match=r"unknown kind.*'rusty'; known: as_built, elastic, ideal"):
        pp.load_robot("panda", joints="rusty")  # pyright: ignore[reportArgumentType]


def _row(name: str, fact: catalogue.Fact, source: int) -> str:
    """A line of the table in docs/catalogue.md, with the number of its source in the list below it."""
    joints = pp.load_robot(name).joint_names
    values = ", ".join(f"{fact.values[joint]:.4g}" if joint in fact.values else "–" for joint in joints)
    grade = fact.grade if fact.used else f"{fact.grade}, not used"
    side = "" if fact.side == "joint" else f", {fact.side.replace('_', ' ')}"
    return f"| `{name}` | {fact.quantity.replace('_', ' ')}, {fact.unit} | {values} | {grade}{side} | {source} |"


def test_the_page_of_the_catalogue_shows_every_fact() -> None:
    page = (Path(__file__).parents[2] / "docs" / "catalogue.md").read_text(encoding="utf-8")
    facts = [(name, fact) for name in GRADED if name != "two-arm" for fact in GRADED[name]]
    sources = list(dict.fromkeys(fact.source for _, fact in facts))
    lines = [_row(name, fact, sources.index(fact.source) + 1) for name, fact in facts]
    lines += [f"{number}. {source}" for number, source in enumerate(sources, 1)]
    assert [line for line in lines if line not in page.splitlines()] == []

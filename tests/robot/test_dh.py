"""DH tables: kinematics against plain matrix products, and every row that is refused."""

from __future__ import annotations

from dataclasses import replace
from math import cos, inf, nan, pi, sin

import numpy as np
import pytest

import palpate as pp
from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.robot.mechanics.tensor import checked_inertia
from palpate.robot.readers.dh.table import capsule_between, tree_from_dh

ROW = pp.robot.DHLink(a=0.4, alpha=0.7, d=0.2, theta=0.3, mass=2.0, com=(0.1, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))


def standard(a: float, alpha: float, d: float, theta: float) -> Array:
    """The textbook matrix, written out."""
    ct, st, ca, sa = cos(theta), sin(theta), cos(alpha), sin(alpha)
    return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]])


def modified(a: float, alpha: float, d: float, theta: float) -> Array:
    """Craig's matrix, written out."""
    ct, st, ca, sa = cos(theta), sin(theta), cos(alpha), sin(alpha)
    return np.array([[ct, -st, 0, a], [st * ca, ct * ca, -sa, -d * sa], [st * sa, ct * sa, ca, d * ca], [0, 0, 0, 1]])


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_every_link_frame_is_the_product_of_dh_matrices(convention) -> None:
    random = np.random.default_rng(3)
    rows = [
        pp.robot.DHLink(*random.normal(size=4), kind=kind, inertia=(0.1, 0.1, 0.1))
        for kind in ("revolute", "prismatic", "revolute", "revolute", "prismatic")
    ]
    robot, q = pp.Robot.from_dh(rows, convention), random.normal(size=5)
    X = np.eye(4)
    for number, (row, x) in enumerate(zip(rows, q), start=1):
        theta, d = (row.theta + x, row.d) if row.kind == "revolute" else (row.theta, row.d + x)
        X = X @ (standard if convention == "standard" else modified)(row.a, row.alpha, d, theta)
        assert robot.pose(q, f"link{number}").matrix == pytest.approx(X, abs=1e-14)
    assert robot.pose(q).matrix == pytest.approx(X, abs=1e-14)


def test_one_link_pendulum_has_the_closed_form() -> None:
    """A rod about a horizontal axis: M = I + m c², g = m g c cos q."""
    upright = pp.spatial.Pose([0, 0, 0], [[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # turns the joint's z to the world's −y
    rod = pp.Robot.from_dh([pp.robot.DHLink(a=1.0, mass=3.0, com=(-0.6, 0, 0), inertia=(0, 0.2, 0.2))]).with_base(
        upright
    )
    for q in (0.0, 0.7, -2.0):
        assert rod.mass_matrix([q])[0, 0] == pytest.approx(0.2 + 3.0 * 0.4**2, rel=1e-12)
        assert rod.gravity([q])[0] == pytest.approx(3.0 * 9.81 * 0.4 * cos(q), rel=1e-12)


def test_full_tensor_in_link_axes_is_kept() -> None:
    inertia = np.array([[0.03, 0.002, -0.001], [0.002, 0.04, 0.003], [-0.001, 0.003, 0.05]])
    robot = pp.Robot.from_dh([replace(ROW, inertia=inertia)])
    axes = np.zeros(9)
    import mujoco

    mujoco.mju_quat2Mat(axes, robot.model.body("link1").iquat)
    R = axes.reshape(3, 3)
    assert R @ np.diag(robot.model.body("link1").inertia) @ R.T == pytest.approx(inertia, abs=1e-15)


@pytest.mark.parametrize("moments", [(0.1, 0.2, 0.3), (0.0, 0.2, 0.2), (0.3, 0.1, 0.2), (0.0, 0.0, 0.0)])
def test_plates_rods_and_points_are_robots(moments) -> None:
    """Their moments lie on the edge of the triangle inequality, where rounding decides."""
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    robot = pp.Robot.from_dh([replace(ROW, inertia=turn @ np.diag(moments) @ turn.T)])
    z = np.array([0, sin(0.7), cos(0.7)])  # the joint's axis in link axes
    lever = np.cross(z, np.array([0.1 + 0.4, 0.0, 0.0]) + 0.2 * z)  # from the joint to the centre of mass
    about_axis = z @ turn @ np.diag(moments) @ turn.T @ z + 2.0 * lever @ lever
    assert robot.mass_matrix([0.4])[0, 0] == pytest.approx(about_axis, rel=1e-10)


def test_a_light_point_mass_is_a_robot() -> None:
    robot = pp.Robot.from_dh([pp.robot.DHLink(a=0.5, mass=1e-4)])
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(1e-4 * 0.5**2, rel=1e-9)


def test_limits_of_a_table_reach_the_robot_even_one_sided() -> None:
    rows = [
        replace(ROW, lower=-1.0, upper=2.0, velocity=3.0, torque=40.0),
        replace(ROW, lower=0.0),
        replace(ROW, upper=0.5, torque=10.0),
        ROW,
    ]
    limits = pp.Robot.from_dh(rows).limits
    assert list(limits.lower) == [-1.0, 0.0, -inf, -inf]
    assert list(limits.upper) == [2.0, inf, 0.5, inf]
    assert list(limits.velocity) == [3.0, inf, inf, inf]
    assert list(limits.torque) == [40.0, inf, 10.0, inf]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "screw"}, "DH row 2: kind.*'revolute' or 'prismatic', got 'screw'"),
        ({"a": nan}, "DH row 2.*finite.*nan"),
        ({"theta": inf}, "DH row 2: theta.*finite.*inf"),
        ({"alpha": "flat"}, "DH row 2: alpha.*numbers.*'flat'"),
        ({"mass": 0.0}, "DH row 2: mass.*greater.*0, got 0"),
        ({"mass": -1.0}, "DH row 2: mass.*greater.*0, got -1"),
        ({"damping": -0.1}, "DH row 2: damping.*0, got -0.1"),
        ({"friction": nan}, "DH row 2: friction.*nan"),
        ({"motor_inertia": -1e-4}, "DH row 2: motor_inertia.*least 0"),
        ({"gear": nan}, "DH row 2: gear.*finite"),
        ({"lower": 1.0, "upper": -1.0}, "DH row 2: lower limit 1.*upper.*-1"),
        ({"lower": nan}, "DH row 2: lower limit nan.*upper.*inf"),
        ({"velocity": 0.0}, "DH row 2: velocity.*positive.*0"),
        ({"torque": nan}, "DH row 2: torque.*positive.*nan"),
        ({"com": (0, 0)}, r"DH row 2: com.*shape \(3,\), got \(2,\)"),
        ({"com": (0, 0, nan)}, "DH row 2: com.*finite.*nan.*index 2"),
        ({"inertia": (1, 2)}, r"DH row 2: inertia.*principal.* got shape \(2,\)"),
        ({"inertia": (0.1, 0.1, 0.3)}, r"DH row 2: inertia.*inequality: 0.1 \+ 0.1 < 0.3"),
    ],
)
def test_a_wrong_row_is_refused_by_number_and_field(change, words) -> None:
    with pytest.raises(InvalidInput, match=words):
        pp.Robot.from_dh([ROW, replace(ROW, **change)])


def test_a_wrong_table_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"a DH table.*least"):
        pp.Robot.from_dh([])
    with pytest.raises(InvalidInput, match=r"DH convention.*'standard' or 'modified', got 'craig'"):
        pp.Robot.from_dh([ROW], "craig")  # pyright: ignore[reportArgumentType]


def test_inertia_check_returns_the_tensor_and_names_its_defects() -> None:
    assert np.array_equal(checked_inertia(np.diag([1.0, 2.0, 3.0]), "I"), np.diag([1.0, 2.0, 3.0]))
    with pytest.raises(InvalidInput, match=r"symmetric.*defect 0.5 kg·m²"):
        checked_inertia([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], "I")


def test_tree_has_one_link_per_row_and_looks_like_an_arm() -> None:
    tree = tree_from_dh([ROW, ROW], name="two")
    assert [link.name for link in tree.links] == ["base", "link1", "link2"]
    assert all(link.visuals for link in tree.links[1:])


@pytest.mark.parametrize("end", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (-0.3, 0.4, 1.2)])
def test_capsule_runs_from_start_to_end(end) -> None:
    start = np.array([0.1, -0.2, 0.3])
    capsule = capsule_between(start, np.array(end), 0.03)
    half = capsule.rotation @ [0, 0, capsule.size[1] / 2]
    assert capsule.position + half == pytest.approx(end)
    assert capsule.position - half == pytest.approx(start)
    assert np.linalg.det(capsule.rotation) == pytest.approx(1.0)


def test_pi_offset_turns_the_zero_of_a_joint() -> None:
    plain, turned = (pp.Robot.from_dh([replace(ROW, theta=t)]) for t in (0.0, pi))
    assert turned.pose([0.4]).matrix == pytest.approx(plain.pose([0.4 + pi]).matrix, abs=1e-14)

"""The shipped robots against their tables: independent DH products, closed forms, published limits."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from math import cos, pi, radians, sin
from pathlib import Path

import mujoco
import numpy as np
import pytest

from palpate.checks import Array
from palpate.errors import BadShape, InvalidInput, NotFinite, UnknownName
from palpate.robot import catalogue

ARMS = ("iiwa14", "panda", "ur5e")
TEXTBOOK = ("cartesian2", "pendulum", "planar2", "planar3", "planar3-vertical", "point3", "scara", "ur5e-3link")
FURTHER = ("fr3", "gen3", "puma560", "sawyer", "two-arm", "ur10e", "ur3e", "xarm7")  # see test_catalogue_arms
ALL = sorted([*ARMS, *TEXTBOOK, *FURTHER, "quadruped"])
RNG = np.random.default_rng(20210910)


def load(name: str, **parameters: float | list[float]) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(catalogue.model_xml(name, **parameters))


def at(model: mujoco.MjModel, q: Array | list[float], v: Array | list[float] | None = None) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:] = q
    if v is not None:
        data.qvel[:] = v
    mujoco.mj_forward(model, data)
    return data


def pose(data: mujoco.MjData, site: str = "tool") -> Array:
    X = np.eye(4)
    X[:3, :3] = data.site(site).xmat.reshape(3, 3)
    X[:3, 3] = data.site(site).xpos
    return X


def mass_matrix(model: mujoco.MjModel, q: Array | list[float]) -> Array:
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, at(model, q), M)
    return M


def bias(model: mujoco.MjModel, q: Array | list[float], v: Array | list[float] | None = None) -> Array:
    return at(model, q, v).qfrc_bias.copy()


def jacobian(model: mujoco.MjModel, q: Array | list[float]) -> Array:
    J = np.zeros((6, model.nv))
    mujoco.mj_jacSite(model, at(model, q), J[:3], J[3:], model.site("tool").id)
    return J


def random_angles(count: int) -> Array:
    return RNG.uniform(-pi, pi, count)


def rotated(axis: str, angle: float) -> Array:
    c, s = cos(angle), sin(angle)
    blocks = {"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}
    X = np.eye(4)
    X[:3, :3] = blocks[axis]
    return X


def moved(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Array:
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X


# --- the real arms' tables, typed once more from the sources ------------------------------------------------

UR5E_DH = [  # a, d, alpha
    (0.0, 0.1625, pi / 2),
    (-0.425, 0.0, 0.0),
    (-0.3922, 0.0, 0.0),
    (0.0, 0.1333, pi / 2),
    (0.0, 0.0997, -pi / 2),
    (0.0, 0.0996, 0.0),
]
UR5E_MASS = [3.761, 8.058, 2.846, 1.37, 1.3, 0.365]
UR5E_COM = [
    (0, -0.02561, 0.00193),
    (0.2125, 0, 0.11336),
    (0.15, 0, 0.0265),
    (0, -0.0018, 0.01634),
    (0, 0.0018, 0.01634),
    (0, 0, -0.001159),
]


def cylinder(mass: float, radius: float, length: float) -> tuple[float, float, float]:
    across = mass * (3 * radius**2 + length**2) / 12
    return across, across, mass * radius**2 / 2


UR5E_INERTIA = [
    (0.0084, 0.0064, 0.0084),
    (0.0078, 0.21, 0.21),
    (0.0016, 0.0462, 0.0462),
    cylinder(1.37, 0.0375, 0.1),
    cylinder(1.3, 0.0375, 0.1),
    cylinder(0.365, 0.0375, 0.03),
]

PANDA_DH = [  # a, d, alpha (modified)
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -pi / 2),
    (0.0, 0.316, pi / 2),
    (0.0825, 0.0, pi / 2),
    (-0.0825, 0.384, -pi / 2),
    (0.0, 0.0, pi / 2),
    (0.088, 0.0, pi / 2),
]
PANDA_LINKS = [  # mass, centre of mass, Ixx Iyy Izz Ixy Ixz Iyz
    (4.970684, 0.003875, 0.002081, -0.04762, 0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169),
    (0.646926, -0.003141, -0.02872, 0.003495, 0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704),
    (3.228604, 0.027518, 0.039252, -0.066502, 0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805),
    (3.587895, -0.05317, 0.104419, 0.027454, 0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641),
    (1.225946, -0.011953, 0.041065, -0.038437, 0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229),
    (1.666555, 0.060149, -0.014117, -0.010517, 0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341),
    (0.735522, 0.010517, -0.004252, 0.061597, 0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741),
    (0.73, -0.01, 0.0, 0.03, 0.001, 0.0025, 0.0017, 0.0, 0.0, 0.0),
]

IIWA_LINKS = [  # mass, centre of mass, Ixx Iyy Izz
    (5, -0.1, 0, 0.07, 0.05, 0.06, 0.03),
    (5.76, 0, -0.03, 0.12, 0.0333, 0.033, 0.0123),
    (6.35, 0.0003, 0.059, 0.042, 0.0305, 0.0304, 0.011),
    (3.5, 0, 0.03, 0.13, 0.025, 0.0238, 0.0076),
    (3.5, 0, 0.067, 0.034, 0.017, 0.0164, 0.006),
    (3.5, 0.0001, 0.021, 0.076, 0.01, 0.0087, 0.00449),
    (1.8, 0, 0.0006, 0.0004, 0.0049, 0.0047, 0.0036),
    (1.2, 0, 0, 0.02, 0.001, 0.001, 0.001),
]


def standard_dh(rows: list[tuple[float, float, float]], q: Array) -> Array:
    X = np.eye(4)
    for (a, d, alpha), angle in zip(rows, q):
        X = X @ rotated("z", angle) @ moved(z=d) @ moved(x=a) @ rotated("x", alpha)
    return X


def panda_chain(q: Array) -> Array:
    X = np.eye(4)
    for (a, d, alpha), angle in zip(PANDA_DH, q):
        X = X @ rotated("x", alpha) @ moved(x=a) @ rotated("z", angle) @ moved(z=d)
    return X @ moved(z=0.107) @ rotated("z", -pi / 4) @ moved(z=0.1034)


def iiwa_chain(q: Array) -> Array:
    """The chain of frames; half a turn about (0, 1, 1) swaps y and z and mirrors x."""
    swap = np.array([[-1.0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    quarter = rotated("x", pi / 2)
    frames = [
        moved(z=0.1575),
        moved(z=0.2025) @ swap,
        moved(y=0.2045) @ swap,
        moved(z=0.2155) @ quarter,
        moved(y=0.1845) @ swap,
        moved(z=0.2155) @ quarter,
        moved(y=0.081) @ swap,
    ]
    X = np.eye(4)
    for frame, angle in zip(frames, q):
        X = X @ frame @ rotated("z", angle)
    return X @ moved(z=0.045)


CHAINS: dict[str, Callable[[Array], Array]] = {
    "iiwa14": iiwa_chain,
    "panda": panda_chain,
    "ur5e": lambda q: standard_dh(UR5E_DH, q),
    "ur5e-3link": lambda q: standard_dh(UR5E_DH[:3], q),
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_tool_is_where_the_table_of_frames_puts_it(name: str) -> None:
    model = load(name)
    for _ in range(20):
        q = random_angles(model.nq)
        np.testing.assert_allclose(pose(at(model, q)), CHAINS[name](q), rtol=0, atol=1e-12)


def body_inertia(model: mujoco.MjModel, name: str) -> Array:
    """Tensor about the centre of mass, body axes."""
    body = model.body(name)
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, body.iquat)
    R = R.reshape(3, 3)
    return R @ np.diag(body.inertia) @ R.T


@pytest.mark.parametrize("index", range(8))
def test_iiwa_links_have_the_published_masses(index: int) -> None:
    model, name = load("iiwa14"), f"link{index}" if index else "base"
    mass, *rest = IIWA_LINKS[index]
    assert model.body(name).mass[0] == mass
    np.testing.assert_array_equal(model.body(name).ipos, rest[:3])
    np.testing.assert_allclose(body_inertia(model, name), np.diag(rest[3:]), rtol=0, atol=1e-16)


@pytest.mark.parametrize("index", range(8))
def test_panda_links_have_the_identified_masses_unaltered(index: int) -> None:
    model, name = load("panda"), "hand" if index == 7 else f"link{index + 1}"
    mass, x, y, z, xx, yy, zz, xy, xz, yz = PANDA_LINKS[index]
    assert model.body(name).mass[0] == mass
    np.testing.assert_array_equal(model.body(name).ipos, (x, y, z))
    tensor = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    # 1e-14: the engine stores principal moments and axes, rounded
    np.testing.assert_allclose(body_inertia(model, name), tensor, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["ur5e", "ur5e-3link"])
def test_ur5e_links_have_the_published_masses_in_their_dh_frames(name: str) -> None:
    model = load(name)
    for index in range(model.nv):
        a, d, alpha = UR5E_DH[index]
        X_body_dh = moved(z=d) @ moved(x=a) @ rotated("x", alpha)
        R, link = X_body_dh[:3, :3], f"link{index + 1}"
        assert model.body(link).mass[0] == UR5E_MASS[index]
        com = R @ UR5E_COM[index] + X_body_dh[:3, 3]
        np.testing.assert_allclose(model.body(link).ipos, com, rtol=0, atol=1e-16)
        tensor = R @ np.diag(UR5E_INERTIA[index]) @ R.T
        np.testing.assert_allclose(body_inertia(model, link), tensor, rtol=0, atol=1e-16)


LIMITS: dict[str, tuple[list[float], list[float], list[float], list[float]]] = {  # lower, upper, v, torque
    "iiwa14": (
        [radians(-x) for x in (170, 120, 170, 120, 170, 120, 175)],
        [radians(x) for x in (170, 120, 170, 120, 170, 120, 175)],
        [radians(x) for x in (85, 85, 100, 75, 130, 135, 135)],
        [320, 320, 176, 176, 110, 40, 40],
    ),
    "ur5e": (
        [radians(-x) for x in (360, 360, 180, 360, 360, 360)],
        [radians(x) for x in (360, 360, 180, 360, 360, 360)],
        [pi] * 6,
        [150, 150, 150, 28, 28, 28],
    ),
    "panda": (
        [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973],
        [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973],
        [2.175] * 4 + [2.61] * 3,
        [87.0] * 4 + [12.0] * 3,
    ),
}


@pytest.mark.parametrize("name", ARMS)
def test_limits_are_the_makers(name: str) -> None:
    model = load(name)
    lower, upper, velocity, torque = LIMITS[name]
    assert model.jnt_limited.all()
    assert model.jnt_actfrclimited.all()
    np.testing.assert_allclose(model.jnt_range, np.transpose([lower, upper]), rtol=1e-15)
    np.testing.assert_array_equal(model.jnt_actfrcrange, np.outer(torque, [-1, 1]))
    np.testing.assert_allclose(model.numeric("velocity_limit").data, velocity, rtol=1e-15)


def test_arms_start_in_their_usual_home() -> None:
    homes = {
        "iiwa14": [0, pi / 4, 0, -pi / 2, 0, 0, 0],
        "panda": [0, -pi / 4, 0, -3 * pi / 4, 0, pi / 2, pi / 4],
        "ur5e": [pi, -pi / 2, pi / 2, -pi / 2, -pi / 2, 0],
    }
    for name, home in homes.items():
        np.testing.assert_array_equal(load(name).key("home").qpos, home)


def test_panda_carries_its_further_limits() -> None:
    model = load("panda")
    assert list(model.numeric("acceleration_limit").data) == [15, 7.5, 10, 12.5, 15, 20, 20]
    assert list(model.numeric("torque_rate_limit").data) == [1000] * 7
    assert list(model.numeric("cartesian_velocity_limit").data) == [1.7, 2.5]


def test_panda_hand_and_flange_frames_are_where_the_maker_says() -> None:
    data = at(load("panda"), random_angles(7))
    X_flange_hand = np.linalg.inv(pose(data, "flange")) @ pose(data, "hand")
    np.testing.assert_allclose(X_flange_hand, rotated("z", -pi / 4), rtol=0, atol=1e-15)
    X_hand_tool = np.linalg.inv(pose(data, "hand")) @ pose(data)
    np.testing.assert_allclose(X_hand_tool, moved(z=0.1034), rtol=0, atol=1e-15)


# --- the documents' robots against closed forms ----------------------------------------------------------


def test_planar2_has_the_documents_dynamics() -> None:
    model, g = load("planar2"), 9.81
    q, v = np.array([0.4, -1.1]), np.array([1.3, -0.7])
    c1, c2, s2, c12 = cos(q[0]), cos(q[1]), sin(q[1]), cos(q[0] + q[1])
    # 1e-11: the point masses' stand-in inertia of 1e-12 appears twice in M11
    M = [[3 + 2 * c2, 1 + c2], [1 + c2, 1]]
    np.testing.assert_allclose(mass_matrix(model, q), M, rtol=0, atol=1e-11)
    velocity_terms = [-2 * s2 * v[0] * v[1] - s2 * v[1] ** 2, s2 * v[0] ** 2]
    gravity_terms = [2 * g * c1 + g * c12, g * c12]
    np.testing.assert_allclose(bias(model, q, v), np.add(velocity_terms, gravity_terms), rtol=0, atol=1e-10)
    tool = [c1 + c12, sin(q[0]) + sin(q[0] + q[1]), 0]
    np.testing.assert_allclose(pose(at(model, q))[:3, 3], tool, rtol=0, atol=1e-15)


def test_planar2_takes_a_length_and_a_mass_per_link() -> None:
    (l1, l2), (m1, m2), q = (0.7, 0.4), (3.0, 0.5), [0.3, 0.9]
    model = load("planar2", length=[l1, l2], mass=[m1, m2], gravity=1.6)
    c2, coupling = cos(q[1]), m2 * l1 * l2 * cos(q[1])
    assert mass_matrix(model, q)[0, 0] == pytest.approx(
        (m1 + m2) * l1**2 + m2 * l2**2 + 2 * m2 * l1 * l2 * c2, rel=1e-11
    )
    assert mass_matrix(model, q)[0, 1] == pytest.approx(m2 * l2**2 + coupling, rel=1e-11)
    assert bias(model, q)[1] == pytest.approx(m2 * 1.6 * l2 * cos(q[0] + q[1]), rel=1e-12)


def planar3_mass_matrix(q: Array, mL2: float) -> Array:
    """Eq. (12) of document 001."""
    c2, c3, c23 = cos(q[1]), cos(q[2]), cos(q[1] + q[2])
    M12 = 5 / 3 + 3 / 2 * c2 + c23 / 2 + c3
    M13 = 1 / 3 + c23 / 2 + c3 / 2
    M23 = 1 / 3 + c3 / 2
    return mL2 * np.array([[4 + 3 * c2 + c23 + c3, M12, M13], [M12, 5 / 3 + c3, M23], [M13, M23, 1 / 3]])


@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (0.5, 5.0)])
def test_planar3_has_the_inertia_of_equation_12(length: float, mass: float) -> None:
    model = load("planar3", length=length, mass=mass)
    for _ in range(5):
        q = random_angles(3)
        expected = planar3_mass_matrix(q, mass * length**2)
        np.testing.assert_allclose(mass_matrix(model, q), expected, rtol=0, atol=1e-13)


def test_planar3_cartesian_inertia_is_the_printed_one() -> None:
    model, q = load("planar3", length=0.5, mass=5.0), np.array([pi / 2, pi / 2, 0.0])
    J = jacobian(model, q)[:2]
    np.testing.assert_allclose(J, [[-0.5, 0, 0], [-1, -1, -0.5]], rtol=0, atol=1e-15)
    M_p = np.linalg.inv(J @ np.linalg.solve(mass_matrix(model, q), J.T))
    np.testing.assert_allclose(M_p, np.diag([35 / 3, 35 / 24]), rtol=0, atol=1e-12)


def test_planar3_lies_flat_unless_gravity_is_asked_for() -> None:
    q = np.array([0.3, 0.5, -0.4])
    assert not bias(load("planar3"), q).any()
    assert bias(load("planar3", gravity=9.81), q)[2] == pytest.approx(9.81 / 2 * cos(0.4), rel=1e-14)


def test_planar3_vertical_counts_its_angles_from_the_vertical() -> None:
    lengths = [0.5, 0.4, 0.3]
    model = load("planar3-vertical", length=lengths, base_height=0.7)
    for _ in range(5):
        q = random_angles(3)
        s, c = np.sin(np.cumsum(q)), np.cos(np.cumsum(q))
        tool = [lengths @ s, 0.0, 0.7 + lengths @ c]
        np.testing.assert_allclose(pose(at(model, q))[:3, 3], tool, rtol=0, atol=1e-14)
        # column j of the printed Jacobian sums the links from j on
        x_row = [np.dot(lengths[j:], c[j:]) for j in range(3)]
        z_row = [-np.dot(lengths[j:], s[j:]) for j in range(3)]
        expected = [x_row, [0, 0, 0], z_row, [0, 0, 0], [1, 1, 1], [0, 0, 0]]
        np.testing.assert_allclose(jacobian(model, q), expected, rtol=0, atol=1e-14)


def test_planar3_vertical_is_heaviest_stretched_out_sideways() -> None:
    model = load("planar3-vertical")
    np.testing.assert_allclose(bias(model, [0, 0, 0]), 0, atol=1e-14)
    expected = -9.81 * np.array([0.5 + 1.5 + 2.5, 0.5 + 1.5, 0.5])  # gravity turns it further towards +x
    np.testing.assert_allclose(bias(model, [pi / 2, 0, 0]), expected, rtol=1e-14)


def test_pendulum_obeys_its_equation() -> None:
    model = load("pendulum", length=0.8, mass=2.5)
    for theta in (-2.0, -0.3, 0.0, 1.2):
        data = at(model, [theta], [0.6])
        assert data.qacc[0] == pytest.approx(-9.81 / 0.8 * sin(theta), rel=1e-11)
        tool = [0.8 * sin(theta), 0, -0.8 * cos(theta)]
        np.testing.assert_allclose(pose(data)[:3, 3], tool, rtol=0, atol=1e-15)
    assert mass_matrix(model, [0.4])[0, 0] == pytest.approx(2.5 * 0.8**2, rel=1e-11)


def test_cartesian2_is_two_decoupled_masses() -> None:
    model, q = load("cartesian2", mass=[3.0, 2.0]), [0.4, -0.2]
    np.testing.assert_array_equal(mass_matrix(model, q), np.diag([5.0, 2.0]))
    np.testing.assert_allclose(bias(model, q, [0.3, -0.8]), [0, 2 * 9.81], rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(pose(at(model, q)), moved(0.4, -0.2), rtol=0, atol=1e-16)


def test_ur5e_3link_has_the_corrected_dynamics_of_document_004() -> None:
    model = load("ur5e-3link")
    q, v = [0.3, -0.7, 1.1], [0.5, -1.2, 0.8]
    B = [
        [1.3454380249, -0.1385844102, 0.0071133031],
        [-0.1385844102, 1.5668412613, 0.3460310997],
        [0.0071133031, 0.3460310997, 0.2131487506],
    ]
    g = np.array([0, -28.1513814184, -6.2282556792])
    coriolis = [-0.5302065666, 0.1984594366, 0.4167409215]
    # the reference figures carry ten decimals
    np.testing.assert_allclose(mass_matrix(model, q), B, rtol=0, atol=6e-11)
    np.testing.assert_allclose(bias(model, q), g, rtol=0, atol=6e-11)
    np.testing.assert_allclose(bias(model, q, v) - bias(model, q), coriolis, rtol=0, atol=1.2e-10)


# --- the quadruped ---------------------------------------------------------------------------------------

FEET = ("foot_fl", "foot_fr", "foot_rl", "foot_rr")


def test_quadruped_trunk_is_the_stated_box() -> None:
    model = load("quadruped")
    box = [12 / 12 * (0.2**2 + 0.1**2), 12 / 12 * (0.4**2 + 0.1**2), 12 / 12 * (0.4**2 + 0.2**2)]
    assert model.body("base").mass[0] == 12
    np.testing.assert_allclose(body_inertia(model, "base"), np.diag(box), rtol=1e-14)


@pytest.mark.parametrize("leg", ["fl", "fr", "rl", "rr"])
def test_quadruped_legs_are_the_stated_primitives(leg: str) -> None:
    model = load("quadruped")
    assert [model.body(f"{leg}_{part}").mass[0] for part in ("hip", "thigh", "shank")] == [0.7, 0.9, 0.25]
    across, _, along = cylinder(0.7, 0.045, 0.06)
    np.testing.assert_allclose(body_inertia(model, f"{leg}_hip"), np.diag([across, along, across]), rtol=1e-12)
    thigh = np.diag(cylinder(0.9, 0.022, 0.2))
    np.testing.assert_allclose(body_inertia(model, f"{leg}_thigh"), thigh, rtol=1e-12)
    rod, foot, com = cylinder(0.2, 0.014, 0.2), 0.4 * 0.05 * 0.02**2, (0.2 * 0.1 + 0.05 * 0.2) / 0.25
    across = rod[0] + 0.2 * (com - 0.1) ** 2 + foot + 0.05 * (0.2 - com) ** 2
    assert model.body(f"{leg}_shank").ipos[2] == pytest.approx(-com, rel=1e-15)
    shank = np.diag([across, across, rod[2] + foot])
    np.testing.assert_allclose(body_inertia(model, f"{leg}_shank"), shank, rtol=1e-12)


def test_quadruped_has_its_feet_on_the_ground_at_home() -> None:
    model = load("quadruped")
    data = at(model, model.key("home").qpos)
    corners = [(0.17, 0.18), (0.17, -0.18), (-0.17, 0.18), (-0.17, -0.18)]
    for foot, corner in zip(FEET, corners):
        np.testing.assert_allclose(data.site(foot).xpos[:2], corner, rtol=0, atol=1e-15)
        lowest = data.site(foot).xpos[2] - model.geom(foot).size[0]
        assert lowest == pytest.approx(0, abs=1e-15)


def test_quadruped_stands_on_a_floor_within_its_torque_limits() -> None:
    spec = mujoco.MjSpec.from_string(catalogue.model_xml("quadruped"))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1], contype=1, conaffinity=1)
    for foot in FEET:
        spec.geom(foot).contype = spec.geom(foot).conaffinity = 1
    model = spec.compile()
    home = model.key("home").qpos
    data = at(model, home)
    highest = np.zeros(12)
    for _ in range(1000):
        torque = 200 * (home[7:] - data.qpos[7:]) - 5 * data.qvel[6:]
        data.qfrc_applied[6:] = torque
        highest = np.maximum(highest, np.abs(torque))
        mujoco.mj_step(model, data)
    assert (highest < model.jnt_actfrcrange[1:, 1]).all()
    assert data.qpos[2] == pytest.approx(0.34, abs=0.02)  # the springs give a little
    assert data.qpos[3] > 0.999
    assert np.abs(data.qvel).max() < 0.01


# --- every robot -----------------------------------------------------------------------------------------


def test_the_catalogue_lists_its_robots_in_order() -> None:
    assert catalogue.names() == ALL


@pytest.mark.parametrize("name", ALL)
def test_compiles_without_warnings_and_leaves_no_log(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model = load(name)
    data = at(model, model.key("home").qpos)
    mujoco.mj_step(model, data)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
    assert data.warning.number.sum() == 0


@pytest.mark.parametrize("name", ALL)
def test_says_where_its_figures_come_from(name: str) -> None:
    entry, text = catalogue.describe(name), catalogue.model_xml(name)
    assert entry.name == name
    assert entry.summary
    assert "\n" not in entry.summary
    assert len(entry.provenance) > 40
    assert "Apache-2.0" in entry.licence
    assert text.startswith("<!--")
    assert ET.fromstring(text).get("model") == name


@pytest.mark.parametrize("name", ALL)
def test_home_is_within_the_limits(name: str) -> None:
    model = load(name)
    home = model.key("home").qpos
    assert np.isfinite(home).all()
    for joint in np.flatnonzero(model.jnt_limited):
        low, high = model.jnt_range[joint]
        assert low < home[model.jnt_qposadr[joint]] < high


@pytest.mark.parametrize("name", ALL)
def test_nothing_collides_weighs_or_drives_until_a_world_says_so(name: str) -> None:
    model = load(name)
    assert not model.geom_contype.any()
    assert not model.geom_conaffinity.any()
    masses = [geom.get("mass") for geom in ET.fromstring(catalogue.model_xml(name)).iter("geom")]
    assert [mass for mass in masses if mass is not None] == ["0"]  # the default, overridden nowhere
    assert model.nu == 0
    assert model.opt.timestep == 0.001


@pytest.mark.parametrize("name", [name for name in ALL if name != "quadruped"])
def test_the_tip_is_a_small_ball_on_the_tool_point(name: str) -> None:
    model = load(name)
    tip, tool = model.geom("tip"), model.site("tool")
    assert tip.type[0] == mujoco.mjtGeom.mjGEOM_SPHERE
    assert tip.size[0] == 0.01
    assert tip.bodyid == tool.bodyid
    np.testing.assert_array_equal(tip.pos, tool.pos)


@pytest.mark.parametrize("name", ALL)
def test_further_limits_have_one_value_per_actuated_joint(name: str) -> None:
    model = load(name)
    actuated = int((model.jnt_type != mujoco.mjtJoint.mjJNT_FREE).sum())
    for index in range(model.nnumeric):
        numeric = model.numeric(index)
        expected = 2 if numeric.name == "cartesian_velocity_limit" else actuated
        assert len(numeric.data) == expected
        assert (numeric.data > 0).all()


# --- asking for the wrong thing --------------------------------------------------------------------------


def test_a_misspelt_robot_is_answered_with_the_nearest_name() -> None:
    for ask in (catalogue.model_xml, catalogue.describe):
        with pytest.raises(UnknownName, match="unknown robot 'iiwa41'") as caught:
            ask("iiwa41")
        assert caught.value.hint is not None
        assert "'iiwa14'" in caught.value.hint


@pytest.mark.parametrize(("name", "given"), [("planar3", "lenght"), ("iiwa14", "mass"), ("ur5e-3link", "gravity")])
def test_a_parameter_the_robot_does_not_have_is_refused(name: str, given: str) -> None:
    with pytest.raises(UnknownName, match=f"unknown parameter of robot '{name}' '{given}'"):
        catalogue.model_xml(name, **{given: 1.0})


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("length", 0.0, InvalidInput),
        ("length", -1.0, InvalidInput),
        ("length", [1.0, 2.0], BadShape),
        ("length", [[1.0, 1.0, 1.0]], BadShape),
        ("length", [], BadShape),
        ("mass", float("nan"), NotFinite),
        ("mass", [1.0, float("inf"), 1.0], NotFinite),
        ("mass", 1e300, InvalidInput),
        ("mass", "heavy", InvalidInput),
        ("gravity", -9.81, InvalidInput),
        ("gravity", [9.81, 9.81], BadShape),
    ],
)
def test_a_bad_value_is_refused_by_the_parameters_name(parameter: str, value: object, error: type) -> None:
    with pytest.raises(error, match=parameter):
        catalogue.model_xml("planar3", **{parameter: value})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", [name for name in TEXTBOOK if name != "ur5e-3link"])
@pytest.mark.parametrize("bound", ["least", "most"])
def test_every_parameter_works_at_its_bounds(name: str, bound: str) -> None:
    parameters = catalogue.describe(name).parameters
    assert parameters
    model = load(name, **{parameter.name: getattr(parameter, bound) for parameter in parameters})
    M = mass_matrix(model, model.key("home").qpos)
    assert np.linalg.eigvalsh(M)[0] > 0


def test_the_defaults_are_the_values_the_entry_states() -> None:
    for name in catalogue.names():
        stated = {parameter.name: parameter.default for parameter in catalogue.describe(name).parameters}
        assert catalogue.model_xml(name, **stated) == catalogue.model_xml(name)

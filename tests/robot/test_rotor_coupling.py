"""Inertial coupling of rotors: closed forms of planar arms, and bodies that turn in the engine."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput
from palpate.robot.catalogue import facts
from palpate.robot.catalogue.joint_facts import ranges
from palpate.robot.joints.elastic_modes import elastic_modes
from palpate.robot.joints.rotor_coupling import coupled_frequencies, coupling_of_modes, rotor_coupling


def planar(n: int, B: list[float], K: float = 3000.0) -> pp.Robot:
    """n links of a metre in a plane, with rotors and gears."""
    inner = '<geom name="tip" type="sphere" size="0.05" pos="1 0 0" mass="1"/><site name="tool" pos="1 0 0"/>'
    for k in reversed(range(n)):
        joint = f'<joint name="j{k}" type="hinge" axis="0 0 1" armature="{B[k]}"/>'
        mass = '<geom type="sphere" size="0.05" pos="0.5 0 0" mass="2"/>'
        inner = f'<body pos="{1.0 if k else 0.0} 0 0">{joint}{mass}{inner}</body>'
    gears = " ".join([str(K)] * n)
    text = f'<mujoco><option gravity="0 0 0"/><custom><numeric name="joint_stiffness" data="{gears}"/></custom>'
    return pp.Robot.from_mjcf_text(f"{text}<worldbody>{inner}</worldbody></mujoco>", name="planar")


def test_a_planar_arm_has_the_constant_coupling_of_the_textbook() -> None:
    """S of 2R is [0 B₂/n₂; 0 0] (De Luca and Book): the first link carries the second motor."""
    B, n = [0.4, 0.3, 0.2], np.array([100.0, 80.0, -50.0])
    arm = planar(3, B)
    expected = np.array([[0.0, 0.3 / 80.0, -0.2 / 50.0], [0.0, 0.0, -0.2 / 50.0], [0.0, 0.0, 0.0]])
    for q in np.random.default_rng(0).uniform(-2, 2, (3, 3)):
        assert rotor_coupling(arm, q, n) == pytest.approx(expected, abs=1e-15)


def test_axes_at_right_angles_have_no_coupling() -> None:
    """Of two joints at a right angle the second rotor's link turns across the rotor's axis: Spong's model is exact."""
    arm = pp.load_robot("ur5e", joints="elastic")
    S = rotor_coupling(arm, arm.home, np.full(6, 100.0))
    assert abs(S[0, 1]) < 1e-12
    assert S[1, 2] == pytest.approx(arm.model.dof_armature[2] / 100.0, rel=1e-6)
    assert np.tril(S) == pytest.approx(np.zeros((6, 6)), abs=1e-15)


@pytest.mark.parametrize("name", ["panda", "iiwa14", "ur10e"])
def test_the_coupling_is_that_of_bodies_that_turn_on_the_links(name: str) -> None:
    """Rotors as bodies of an engine's model: S is n times the block of its mass matrix between rotors and joints."""
    arm = pp.load_robot(name, joints="elastic")
    n, q = 100.0, arm.home + 0.3
    spec = arm.spec()
    for k in range(arm.nv):
        joint = spec.joints[k]
        body = joint.parent
        rotor = body.parent.add_body(name=f"rotor{k}", pos=body.pos, quat=body.quat, mass=1e-14,
                                     inertia=[arm.model.dof_armature[k] / n**2] * 3, explicitinertial=True)  # fmt: skip
        rotor.add_joint(name=f"spin{k}", type=joint.type, axis=joint.axis, pos=joint.pos)
    model = spec.compile()
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    joints = [model.joint(j).dofadr[0] for j in arm.joint_names]
    spins = [model.joint(f"spin{k}").dofadr[0] for k in range(arm.nv)]
    data.qpos[joints] = q
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fullM(model, data, M)
    assert rotor_coupling(arm, q, np.full(arm.nv, n)) == pytest.approx(n * M[np.ix_(joints, spins)], abs=1e-11)


def test_without_coupling_the_frequencies_are_those_of_the_reduced_model_and_it_vanishes_with_the_gear_ratio() -> None:
    arm = planar(3, [0.4, 0.3, 0.2])
    q = np.array([0.2, 0.7, -0.4])
    plain = coupled_frequencies(arm, q, np.zeros((3, 3))) / (2.0 * np.pi)
    assert plain == pytest.approx([mode.frequency for mode in elastic_modes(arm, q)], rel=1e-9)
    changes = [coupling_of_modes(arm, q, np.full(3, n)).change for n in (50.0, 100.0, 200.0)]
    assert changes[0] / changes[1] == pytest.approx(2.0, rel=0.1)
    assert changes[1] / changes[2] == pytest.approx(2.0, rel=0.05)


def test_frequencies_of_two_links_have_a_closed_form() -> None:
    """det(K − ω² I) of M, S and B by hand: two pairs that move along one line, coupled through the first."""
    arm, n = planar(2, [0.4, 0.3]), np.array([100.0, 20.0])
    q = np.array([0.1, 1.2])
    S, M, B = 0.3 / 20.0, arm.mass_matrix(q) - np.diag([0.4, 0.3]), np.diag([0.4, 0.3])
    squares = coupled_frequencies(arm, q, rotor_coupling(arm, q, n)) ** 2
    for square in squares:
        full = np.block([[M, np.array([[0.0, S], [0.0, 0.0]])], [np.array([[0.0, 0.0], [S, 0.0]]), B]])
        gears = 3000.0 * np.block([[np.eye(2), -np.eye(2)], [-np.eye(2), np.eye(2)]])
        values = np.linalg.svd(gears - square * full, compute_uv=False)
        assert values[-1] < 1e-9 * values[0]


@pytest.mark.parametrize("name", ["panda", "fr3", "iiwa14", "ur5e", "ur10e"])
def test_what_the_reduced_model_leaves_out_of_catalogue_arms_is_small(name: str) -> None:
    arm = pp.load_robot(name, joints="elastic")
    known = ranges(facts(name), "gear_ratio", arm.dof_names)
    ratios = np.full(arm.nv, 100.0) if known is None else known[1]
    postures = np.random.default_rng(1).uniform(arm.limits.lower, arm.limits.upper, (10, arm.nv))
    changes = [coupling_of_modes(arm, q, ratios).change for q in (arm.home, *postures)]
    assert max(changes) < 0.02


def test_a_free_base_is_refused() -> None:
    with pytest.raises(InvalidInput, match="free"):
        rotor_coupling(pp.load_robot("quadruped"), np.zeros(19), np.full(18, 100.0))

"""From a tree to the engine's description: bodies, looks, names."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from palpate.errors import MassesMissing, ModelError
from palpate.robot.build import POINT_INERTIA, set_inertia, spec_from_tree
from palpate.robot.mechanics.tree import Joint, Link, LinkShape, Tree
from palpate.robot.robot import Robot

ARM = Link("arm", 2.0, np.array([0.1, 0.0, 0.0]), np.diag([0.01, 0.02, 0.03]))
TREE = Tree("one", (Link("base"), ARM), (Joint("turn", "revolute", "base", "arm"),))


@pytest.mark.parametrize(
    ("shape", "kind", "size"),
    [
        (LinkShape("box", (0.2, 0.4, 0.6)), mujoco.mjtGeom.mjGEOM_BOX, (0.1, 0.2, 0.3)),
        (LinkShape("sphere", (0.2,)), mujoco.mjtGeom.mjGEOM_SPHERE, (0.2, 0.0, 0.0)),
        (LinkShape("cylinder", (0.2, 0.6)), mujoco.mjtGeom.mjGEOM_CYLINDER, (0.2, 0.3, 0.0)),
        (LinkShape("capsule", (0.2, 0.6)), mujoco.mjtGeom.mjGEOM_CAPSULE, (0.2, 0.3, 0.0)),
    ],
)
def test_shapes_are_drawn_at_their_size_without_mass_or_contact(shape, kind, size) -> None:
    tree = replace(TREE, links=(Link("base"), replace(ARM, visuals=(shape,))))
    model = spec_from_tree(tree).compile()
    assert model.geom_type[0] == kind
    assert model.geom_size[0][: np.count_nonzero(size)] == pytest.approx(size[: np.count_nonzero(size)])
    assert (model.geom_contype[0], model.geom_conaffinity[0]) == (0, 0)
    assert model.body("arm").mass[0] == 2.0
    assert sorted(model.body("arm").inertia) == pytest.approx([0.01, 0.02, 0.03])


def test_a_link_without_looks_is_drawn_by_its_collision_shapes() -> None:
    seen, solid = LinkShape("sphere", (0.1,)), LinkShape("sphere", (0.3,))
    for visuals, radius in (((seen,), 0.1), ((), 0.3)):
        tree = replace(TREE, links=(Link("base"), replace(ARM, visuals=visuals, collisions=(solid,))))
        model = spec_from_tree(tree).compile()
        assert model.ngeom == 1
        assert model.geom_size[0][0] == radius


def test_a_root_called_world_is_the_world() -> None:
    shown = Link("world", visuals=(LinkShape("box", (1, 1, 1)),))
    robot = Robot.from_tree(Tree("one", (shown, ARM), (Joint("turn", "revolute", "world", "arm"),)))
    assert robot.frame_names == ("world", "arm")
    assert robot.model.geom_bodyid[0] == 0


def test_the_joint_stands_where_the_tree_has_it() -> None:
    """A hinge about the child's y through an anchor: p = position + R (anchor − Ry(q) anchor)."""
    anchor, R = np.array([0.2, 0.0, -0.1]), np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    joint = Joint(
        "turn", "revolute", "base", "arm", np.array([1.0, 2.0, 3.0]), R, axis=np.array([0.0, 1.0, 0.0]), anchor=anchor
    )
    robot, c, s = Robot.from_tree(replace(TREE, joints=(joint,))), np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    pose = robot.pose([0.7], "arm")
    assert pose.rotation == pytest.approx(R @ turn, abs=1e-15)
    assert pose.position == pytest.approx([1.0, 2.0, 3.0] + R @ (anchor - turn @ anchor), abs=1e-15)


def test_floating_and_fixed_joints_are_built() -> None:
    tip = Link("tip", 0.5, np.zeros(3), 0.01 * np.eye(3))
    joints = (Joint("free", "floating", "base", "arm"), Joint("weld", "fixed", "arm", "tip", np.array([0.5, 0, 0])))
    robot = Robot.from_tree(Tree("drone", (Link("base"), ARM, tip), joints))
    assert (robot.nq, robot.nv) == (7, 6)
    assert robot.pose(robot.home, "tip").position == pytest.approx([0.5, 0, 0])


def test_a_part_of_a_machine_cannot_float() -> None:
    tip = Link("tip", 0.5, np.zeros(3), 0.01 * np.eye(3))
    joints = (*TREE.joints, Joint("free", "floating", "arm", "tip"))
    with pytest.raises(ModelError, match=r"lost: floating joint 'free' hangs on 'arm', not on.*'base'"):
        spec_from_tree(Tree("lost", (Link("base"), ARM, tip), joints))


def test_a_point_mass_gets_the_least_inertia_the_engine_takes() -> None:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="point")
    body.add_joint()
    set_inertia(body, 3.0, np.zeros(3), np.zeros((3, 3)))
    assert spec.compile().body("point").inertia == pytest.approx([3.0 * POINT_INERTIA] * 3)


def test_left_handed_principal_axes_are_made_a_rotation() -> None:
    """eigh may return a reflection; the tensor must survive."""
    for turn in (np.eye(3), np.eye(3)[[1, 0, 2]], np.eye(3)[[2, 0, 1]]):
        inertia = turn @ np.diag([0.01, 0.02, 0.025]) @ turn.T
        model = spec_from_tree(replace(TREE, links=(Link("base"), replace(ARM, inertia=inertia)))).compile()
        axes = np.zeros(9)
        mujoco.mju_quat2Mat(axes, model.body("arm").iquat)
        R = axes.reshape(3, 3)
        assert R @ np.diag(model.body("arm").inertia) @ R.T == pytest.approx(inertia, abs=1e-16)


def test_what_the_engine_refuses_is_a_model_error() -> None:
    twice = Tree("twice", (Link("base"), ARM, ARM), (*TREE.joints, Joint("other", "revolute", "base", "arm")))
    with pytest.raises(ModelError, match=r"robot 'twice' cannot be.*repeated name"):
        spec_from_tree(twice)


def test_a_tree_without_masses_gives_its_kinematics_and_names_what_needs_masses() -> None:
    robot = Robot.from_tree(replace(TREE, links=(Link("base"), Link("arm"))))
    assert robot.unresisted == tuple(joint.name for joint in TREE.joints)
    assert np.isfinite(robot.jacobian(robot.home)).all()
    with pytest.raises(MassesMissing, match=r"matrix.*needs masses"):
        robot.mass_matrix(robot.home)

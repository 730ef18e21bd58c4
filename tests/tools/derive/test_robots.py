"""Derivations of robots against the numeric robot and against Pinocchio; the methods against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.equations.dynamics.link_motions import LinkMotion, inertia_force
from palpate.equations.model.chain import Chain
from palpate.robot import catalogue
from palpate.tools.derive import Derivation
from palpate.tools.derive.verify import Checked, random_states


def assert_agrees(derivation: Derivation, robot: pp.Robot, states: int = 20) -> None:
    verification = derivation.check(robot, states=states)
    assert verification.ok, str(verification)


@pytest.mark.parametrize("parameters", ["symbols", "numbers", "all"])
@pytest.mark.parametrize("name", catalogue.names())
def test_every_catalogue_robot_is_derived_rightly(name: str, parameters: Any) -> None:
    robot = pp.load_robot(name)
    derivation = pp.derive(robot, parameters=parameters)
    assert derivation.engine == ("closed" if robot.nv <= 3 else "recursive")
    assert_agrees(derivation, robot)


@pytest.mark.parametrize("name", ["planar2", "planar3", "ur5e-3link", "cartesian2", "pendulum"])
@pytest.mark.parametrize("method", ["newton-euler", "projected"])
def test_every_method_gives_the_robot(name: str, method: Any) -> None:
    robot = pp.load_robot(name)
    assert_agrees(pp.derive(robot, method), robot)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("engine", ["closed", "recursive"])
@pytest.mark.parametrize("parameters", ["symbols", "numbers"])
def test_arms_of_any_geometry_are_derived_rightly(seed: int, engine: Any, parameters: Any, random_arm: Any) -> None:
    joints = 2 if engine == "closed" else 5  # closed forms with oblique axes grow beyond reading, and patience
    robot = random_arm(seed, joints, "standard" if seed % 2 else "modified")
    derivation = pp.derive(robot, engine=engine, parameters=parameters)
    assert_agrees(derivation, robot, states=5)
    assert derivation.compare().agree


@pytest.mark.parametrize("parameters", ["symbols", "numbers"])
def test_a_tree_with_everything_is_derived_rightly(parameters: Any, tree: Any) -> None:
    robot = tree()
    derivation = pp.derive(robot, parameters=parameters)
    assert derivation.engine == "recursive"
    assert_agrees(derivation, robot)
    assert derivation.compare().agree
    assert any("joint damping" in note for note in derivation.notes)


def test_a_tree_in_closed_form_with_numbers_is_right(tree: Any) -> None:
    robot = tree()
    assert_agrees(pp.derive(robot, engine="closed", parameters="numbers"), robot)


@pytest.mark.parametrize("engine", ["closed", "recursive"])
def test_a_joint_that_mimics_another_is_no_coordinate(engine: Any, tree: Any) -> None:
    robot = tree("0.3 2")
    derivation = pp.derive(robot, engine=engine, parameters="numbers")
    assert len(derivation.q) == 3
    assert_agrees(derivation, robot)
    assert derivation.compare().agree


def test_a_mimic_by_a_fraction_needs_the_recursive_engine(tree: Any) -> None:
    robot = tree("0.3 0.5")
    derivation = pp.derive(robot)
    assert derivation.engine == "recursive"
    assert_agrees(derivation, robot)
    with pytest.raises(pp.errors.InvalidInput, match=r"mimics.*fraction"):
        pp.derive(robot, engine="closed", parameters="numbers")


def test_an_arm_with_a_free_base_is_derived_rightly() -> None:
    robot = pp.load_robot("ur5e-3link").with_payload(1.0, (0.1, 0, 0)).with_gravity((0, 0, -3.7))
    free = pp.load_robot("quadruped")
    for machine in (robot, free):
        assert_agrees(pp.derive(machine), machine)
    comparison = pp.derive(free).compare()
    assert comparison.agree
    assert comparison.methods == ("newton-euler", "projected")  # its velocities are no rates of coordinates


@pytest.mark.parametrize("name", ["planar3", "ur5e-3link", "ur5e", "iiwa14"])
def test_the_three_methods_agree_exactly(name: str) -> None:
    comparison = pp.derive(pp.load_robot(name)).compare()
    assert comparison.agree
    assert comparison.methods == ("lagrange", "newton-euler", "projected")
    assert "They agree" in str(comparison)


def test_a_wrong_term_in_the_recursion_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check and the comparison can fail: ω × I ω dropped from the moment."""

    def slip(mass: Any, motion: LinkMotion) -> Any:
        return inertia_force(mass, LinkMotion([x * 0 for x in motion.w], motion.dw, motion.acc, motion.U))

    monkeypatch.setattr("palpate.equations.dynamics.recursive.inertia_force", slip)
    robot = pp.load_robot("ur5e")
    derivation = pp.derive(robot)
    assert not derivation.check(robot, states=3).ok
    assert not derivation.compare().agree


def test_a_nan_is_no_agreement() -> None:
    assert not Checked("x", float("nan")).ok


@pytest.mark.parametrize("name", ["ur5e", "panda"])
def test_the_recursion_agrees_with_pinocchio(name: str) -> None:
    pin: Any = pytest.importorskip("pinocchio")
    robot = pp.load_robot(name, joints="ideal")
    derivation = pp.derive(robot)
    model = pin.Model()
    model.gravity.linear = robot.model.opt.gravity
    joint = 0
    assert derivation.model is not None
    for link in derivation.model.mechanism.links:  # every joint of these arms turns about its link's z
        assert (link.kind, link.axis, link.sign) == ("revolute", 2, 1)
        joint = model.addJoint(joint, pin.JointModelRZ(), pin.SE3(link.rotation, link.position), link.joint)
        model.appendBodyToJoint(joint, pin.Inertia(link.mass, link.com, link.inertia), pin.SE3.Identity())
    data = model.createData()
    q, v, a = random_states(derivation, 20, seed=5)
    torques, masses = derivation.function("tau")(q, v, a), derivation.function("M")(q)
    for i in range(len(q)):
        np.testing.assert_allclose(torques[i], pin.rnea(model, data, q[i], v[i], a[i]), atol=1e-11)
        upper = np.triu(pin.crba(model, data, q[i]))
        np.testing.assert_allclose(np.triu(masses[i]), upper, atol=1e-12)


def test_the_coriolis_matrix_is_christoffels() -> None:
    """C_ij = Σ_k ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q̇_k, the derivatives of the numeric robot's M."""
    robot = pp.load_robot("panda")
    found = pp.derive(robot).function("C")
    rng, h = np.random.default_rng(2), 1e-5
    q, v = rng.uniform(-2, 2, 7), rng.uniform(-2, 2, 7)
    D = np.stack([(robot.mass_matrix(q + h * e) - robot.mass_matrix(q - h * e)) / (2 * h) for e in np.eye(7)], axis=2)
    C = 0.5 * (np.einsum("ijk,k->ij", D, v) + np.einsum("ikj,k->ij", D, v) - np.einsum("jki,k->ij", D, v))
    np.testing.assert_allclose(found(q, v), C, atol=1e-8)  # finite differences


@pytest.mark.parametrize("euler", ["XYZ", "ZYX"])
@pytest.mark.parametrize("name", ["ur5e-3link", "panda"])
def test_the_analytical_jacobian_is_the_robots(name: str, euler: str) -> None:
    robot = pp.load_robot(name)
    found = pp.derive(robot, euler=euler).function("Ja")
    q = np.random.default_rng(3).uniform(-1, 1, robot.nq)
    np.testing.assert_allclose(found(q), robot.analytical_jacobian(q, euler=euler), atol=1e-10)


@pytest.mark.parametrize("name", ["planar2", "planar3", "ur5e-3link", "cartesian2", "panda", "ur5e"])
def test_task_space_terms_are_those_of_their_definition(name: str) -> None:
    """Λ = (J M⁻¹ Jᵀ)⁻¹, μ = Λ (J M⁻¹ C q̇ − J̇ q̇), p = Λ J M⁻¹ g with the numeric robot's terms."""
    robot = pp.load_robot(name)
    derivation = pp.derive(robot)
    rows = derivation.forms.rows  # type: ignore[attr-defined]
    rng = np.random.default_rng(4)
    q, v = rng.uniform(-1, 1, robot.nq), rng.uniform(-1, 1, robot.nv)
    t = robot.terms(q, v)
    J, drift = t.J[rows], t.drift[rows]
    W = np.linalg.solve(t.M, J.T).T
    inertia = np.linalg.inv(J @ W.T)
    values = dict(
        zip(("Lambda", "mu", "p"), (inertia, inertia @ (W @ (t.bias - t.gravity) - drift), inertia @ W @ t.gravity))
    )
    states = {"Lambda": (q,), "mu": (q, v), "p": (q,)}
    for quantity, wanted in values.items():
        found = derivation.function(quantity)(*states[quantity])
        np.testing.assert_allclose(found, wanted, atol=1e-9 * max(1, np.abs(wanted).max()))


def test_link_quantities_agree_between_the_engines(random_arm: Any) -> None:
    robot = random_arm(3, 3)
    closed, recursive = (pp.derive(robot, engine=e, parameters="numbers") for e in ("closed", "recursive"))
    q = np.random.default_rng(0).uniform(-1, 1, 3)
    for name in ("p_c", "J_P", "J_O", "I_", "p_", "R_"):
        for link in (1, 2, 3):
            values = [d.function(f"{name}{link}")(q) for d in (closed, recursive)]
            np.testing.assert_allclose(values[0], values[1], atol=1e-12, err_msg=f"{name}{link}")


def test_link_jacobians_are_derivatives_of_the_centres_of_mass() -> None:
    robot = pp.load_robot("iiwa14")
    derivation = pp.derive(robot)
    com, J = derivation.function("p_c5"), derivation.function("J_P5")
    q, h = np.linspace(-0.6, 0.6, 7), 1e-6
    columns = [(com(q + h * e) - com(q - h * e)) / (2 * h) for e in np.eye(7)]
    np.testing.assert_allclose(J(q), np.column_stack(columns), atol=1e-9)


def test_regrouped_parameters_leave_seven_of_ten() -> None:
    """A hinged link keeps no mass, no first and no second moment along its axis of its own."""
    from palpate.equations.model.naming import NamedModel

    chain = Chain(NamedModel(pp.load_robot("panda").mechanism(), "all", {}))
    for link in chain.links:
        assert not link.mass.m
        assert not link.mass.h[2]
        assert not link.mass.S[2]

"""The nearest possible inertia, and the file that carries it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import palpate as pp
from palpate.errors import FileError, ModelError
from palpate.robot.mechanics.tensor import tensor_from
from palpate.robot.readers.check import check_model
from palpate.robot.readers.repair import Change, repair_model
from palpate.robot.readers.urdf import inertials

URDF = """<robot name="r">\r
  <!-- a comment  with   spaces -->
  <link name="base"/>
  <link name="a">
    <inertial>
      <mass value='1'/>
      <inertia ixx="0.01"  iyy = "0.01" izz='0.05'
               ixy="0" ixz="0.001" iyz="0"/>
    </inertial>
  </link>
  <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
</robot>"""

MJCF = """<mujoco>
  <worldbody>
    <body name="a">
      <joint name="j"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/>
      <body name="b">
        <joint name="k"/>
        <inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0.2 0 1.5"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def random_symmetric(rng: np.random.Generator) -> np.ndarray:
    matrix = rng.normal(size=(3, 3))
    return matrix + matrix.T + rng.uniform(0, 3) * np.eye(3)


def test_a_body_of_point_masses_satisfies_every_condition():
    """Σ = ∑ m r rᵀ and I = ∑ m (r² 1 − r rᵀ), straight from the definition."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        m, r = rng.uniform(0.1, 1, 6), rng.normal(size=(6, 3))
        sigma = np.einsum("k,ki,kj->ij", m, r, r)
        inertia = sum((mk * (rk @ rk * np.eye(3) - np.outer(rk, rk)) for mk, rk in zip(m, r)), np.zeros((3, 3)))
        np.testing.assert_allclose(inertials.second_moment(inertia), sigma, atol=1e-13)
        np.testing.assert_allclose(inertials.inertia_from_second_moment(sigma), inertia, atol=1e-13)
        assert inertials.is_physical(inertia)
        np.testing.assert_allclose(inertials.nearest_physical(inertia), inertia, atol=1e-12)


def test_the_margin_is_twice_the_smallest_second_moment():
    rng = np.random.default_rng(2)
    for _ in range(20):
        inertia = random_symmetric(rng)
        smallest = np.linalg.eigvalsh(inertials.second_moment(inertia))[0]
        assert inertials.triangle_margin(inertia) == pytest.approx(2 * smallest, abs=1e-12)


def test_no_other_possible_tensor_is_nearer():
    """A general optimiser over Σ = L Lᵀ finds nothing closer than the projection does."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        inertia = random_symmetric(rng)
        sigma = inertials.second_moment(inertia)
        if np.linalg.eigvalsh(sigma)[-1] < 0.1:
            continue

        def distance(entries: np.ndarray, sigma: np.ndarray = sigma) -> float:
            L = entries.reshape(3, 3)
            return float(np.linalg.norm(L @ L.T - sigma) ** 2)

        best = min(minimize(distance, rng.normal(size=9), tol=1e-14).fun for _ in range(4))
        projected = inertials.second_moment(inertials.nearest_physical(inertia))
        found = np.linalg.norm(projected - sigma) ** 2
        # The floor of 1e-6 moves the answer off the boundary by about that much.
        assert found == pytest.approx(best, rel=1e-4, abs=1e-9)


def test_every_repaired_tensor_is_possible_with_margin():
    rng = np.random.default_rng(4)
    for _ in range(50):
        repaired = inertials.nearest_physical(random_symmetric(rng))
        if repaired.any():
            assert inertials.triangle_margin(repaired) > 0
            assert inertials.principal_moments(repaired)[0] > 0


def test_only_the_inertia_changes_in_a_urdf(tmp_path):
    path, out = tmp_path / "in.urdf", tmp_path / "out.urdf"
    path.write_bytes(URDF.encode())
    (change,) = repair_model(path, out)
    assert isinstance(change, Change)
    assert (change.line, change.element) == (7, "link 'a' > inertial > inertia")
    assert change.old == (0.01, 0.01, 0.05, 0.0, 0.001, 0.0)
    written = out.read_bytes().decode()
    start, end = URDF.index("<inertia ixx"), URDF.index("/>\n    </inertial>")
    assert written.startswith(URDF[:start])
    assert written.endswith(URDF[end:])
    assert check_model(out).errors == []
    expected = inertials.nearest_physical(tensor_from(change.old))
    np.testing.assert_allclose(tensor_from(change.new), expected, rtol=1e-8, atol=1e-15)
    assert f'ixx="{change.new[0]:.9g}"' in written
    assert f"izz='{change.new[2]:.9g}'" in written


def test_explicit_inertias_of_an_mjcf_are_repaired(tmp_path):
    path, out = tmp_path / "in.xml", tmp_path / "out.xml"
    path.write_text(MJCF)
    assert len(check_model(path).errors) == 2
    changes = repair_model(path, out)
    assert [change.line for change in changes] == [5, 8]
    assert check_model(out).errors == []
    assert isinstance(changes[0], Change)
    np.testing.assert_allclose(changes[0].new[:3], (1.5, 1.5, 3.0), rtol=1e-5)


def test_a_good_file_is_copied_byte_for_byte(tmp_path):
    path, out = tmp_path / "in.urdf", tmp_path / "out.urdf"
    path.write_bytes(URDF.replace("izz='0.05'", "izz='0.015'").encode())
    assert repair_model(path, out) == []
    assert out.read_bytes() == path.read_bytes()


def test_what_is_not_an_inertia_is_left_and_remains_an_error(tmp_path):
    path, out = tmp_path / "in.urdf", tmp_path / "out.urdf"
    path.write_bytes(URDF.replace("value='1'", "value='-1'").encode())
    assert len(repair_model(path, out)) == 1
    (error,) = check_model(out).errors
    assert "mass -1 kg" in error.found


def test_a_tensor_without_any_positive_moment_is_not_invented(tmp_path):
    path, out = tmp_path / "in.urdf", tmp_path / "out.urdf"
    text = URDF.replace('"0.01"', '"-0.01"').replace("'0.05'", "'-0.01'")
    path.write_bytes(text.encode())
    assert repair_model(path, out) == []
    assert len(check_model(out).errors) == 1


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    path, out = tmp_path / "in.urdf", tmp_path / "out"
    path.write_text(URDF)
    out.mkdir()
    with pytest.raises(FileError, match="cannot write"):
        repair_model(path, out)
    assert {entry.name for entry in tmp_path.iterdir()} == {"in.urdf", "out"}


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "in.urdf"
    path.write_text("<robot")
    with pytest.raises(ModelError, match="well-formed"):
        repair_model(path, tmp_path / "out.urdf")
    assert not (tmp_path / "out.urdf").exists()


def test_several_kinds_of_fault_are_mended_in_one_go(tmp_path):
    text = """<mujoco><compiler angle="radian"/>
<worldbody><body name="a"><joint name="j" range="1,5 -1.5" axis="0 1 0"/>
<inertial pos="0 0 0,1" mass="2" diaginertia="0,1 0.1 0.3"/></body></worldbody>
<actuator><motor joint="j" ctrlrange="5 -5"/></actuator></mujoco>"""
    (tmp_path / "a.xml").write_text(text)
    changes = repair_model(tmp_path / "a.xml", tmp_path / "b.xml")
    assert [str(change).split(": ")[0] for change in changes] == ["line 2", "line 3", "line 3", "line 3", "line 4"]
    mended = (tmp_path / "b.xml").read_text()
    assert 'range="-1.5 1.5"' in mended
    assert 'pos="0 0 0.1"' in mended
    assert 'ctrlrange="-5 5"' in mended
    assert not check_model(tmp_path / "b.xml").errors


def test_a_comma_that_is_no_decimal_comma_stays(tmp_path):
    text = '<robot name="1,5 2,5"><link name="a,b"/><link name="c"/></robot>'
    (tmp_path / "a.urdf").write_text(text.replace('"c"', '"0,5x"'))
    repair_model(tmp_path / "a.urdf", tmp_path / "b.urdf")
    assert "0,5x" in (tmp_path / "b.urdf").read_text()


PUMA = """name = "puma"
[robot]
dh_convention = "standard"
[[robot.dh]]  # the published table: link 1 has an inertia and no mass
alpha = 1.5707963267948966
mass = 0.0
inertia = [0.0, 0.35, 0.0]   # Iyy is the only one that matters
motor_inertia = 200e-6
gear = -62.6111
[[robot.dh]]
a = 0.4318
mass = 17.4
com = [-0.3638, 0.006, 0.2275]
inertia = [0.13, 0.524, 0.539]
[control]
law = "passive"
"""


def test_every_fault_of_a_table_in_a_file_is_told_with_its_line(tmp_path):
    path = tmp_path / "puma.toml"
    path.write_text(PUMA.replace("mass = 17.4", "mass = -17.4\nmotr_inertia = 1"))
    errors = check_model(path).errors
    assert [error.line for error in errors] == [4, 4, 10, 10]
    told = "\n".join(map(str, errors))
    for words in (
        "row 1: mass must be",
        "row 1: inertia breaks",
        "row 2: mass must be",
        "'motor_inertia'?",
    ):
        assert words in told
    with pytest.raises(ModelError, match="4 error"):
        pp.load_robot(path)


def test_a_table_in_a_file_is_repaired_in_place(tmp_path):
    path, out = tmp_path / "puma.toml", tmp_path / "fixed.toml"
    path.write_text(PUMA)
    changes = [str(change) for change in repair_model(path, out)]
    assert changes == [
        "line 6: DH row 1: mass 0.0 → 2e-15",
        "line 7: DH row 1: inertia [0.0, 0.35, 0.0] → [0.17500035, 0.35, 0.17500035]",
    ]
    assert out.read_text() == PUMA.replace("mass = 0.0", "mass = 2e-15").replace(
        "inertia = [0.0, 0.35, 0.0]", "inertia = [0.17500035, 0.35, 0.17500035]"
    )
    robot = pp.load_robot(out)
    assert robot.mass == pytest.approx(17.4)
    assert check_model(out).format == "dh"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[robot\n", "is no TOML"),
        ("[robot]\n", "holds no DH table"),
        (PUMA.replace("standard", "craig"), "dh_convention"),
    ],
)
def test_a_file_without_a_usable_table_says_why(tmp_path, text, words):
    path = tmp_path / "t.toml"
    path.write_text(text)
    assert any(words in error.found for error in check_model(path).errors)
    if "dh_convention" not in words:
        with pytest.raises(ModelError):
            repair_model(path, tmp_path / "out.toml")

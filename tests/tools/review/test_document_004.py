"""The printed formulas of document 004 (three links of a UR5e), with its 'where' lists and its own shorthand.

The references come from the DH table by products of transformations, Jacobians of positions and Christoffel symbols.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pytest
import sympy

from palpate.tools.review import Verdict, check_derivation

sp: Any = sympy  # its own types know too little of matrices
Q = sp.symbols("q1:4")
RATES = sp.symbols("dq1:4")
d1, a2, a3, g3 = sp.symbols("d_1 a_2 a_3 g_3")
MASSES = sp.symbols("m_1:4")
P = {(i, k): sp.Symbol(f"pl_{i}{k}") for i in (1, 2, 3) for k in (1, 2, 3)}
COMS = {1: (0, P[1, 2], P[1, 3]), 2: (P[2, 1], 0, P[2, 3]), 3: (P[3, 1], 0, P[3, 3])}
TENSORS = {i: [sp.Symbol(f"I_{i}{k},{k}") for k in (1, 2, 3)] for i in (1, 2, 3)}  # I_{12,2}: link 1, entry (2,2)
ONE_TENSOR = {TENSORS[i][k]: TENSORS[1][k] for i in (2, 3) for k in range(3)}
NAMES: list[str] = [*(str(one) for one in (d1, a2, a3, g3)), *map(str, MASSES), *map(str, P.values())]
NAMES += [str(one) for tensor in TENSORS.values() for one in tensor]


def transform(a: Any, quarter: int, d: Any, q: Any) -> Any:
    c, s, ca, sa = sp.cos(q), sp.sin(q), 1 - quarter, quarter
    return sp.Matrix([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]])


def chain() -> list[Any]:
    steps = [transform(0, 1, d1, Q[0]), transform(a2, 0, 0, Q[1]), transform(a3, 0, 0, Q[2])]
    return [steps[0], steps[0] * steps[1], steps[0] * steps[1] * steps[2]]


class Model:
    """Everything 004 prints, from the DH table."""

    def __init__(self) -> None:
        self.T = dict(enumerate(chain(), 1))
        self.p = {i: (self.T[i] * sp.Matrix([*COMS[i], 1]))[:3, :] for i in (1, 2, 3)}
        axes = [sp.Matrix([0, 0, 1]), self.T[1][:3, 2], self.T[2][:3, 2]]
        self.J_O = {i: sp.Matrix.hstack(*(axes[k] if k < i else sp.zeros(3, 1) for k in range(3))) for i in (1, 2, 3)}
        self.J_P = {i: self.p[i].jacobian(Q) for i in (1, 2, 3)}
        self.I = {i: self.T[i][:3, :3] * sp.diag(*TENSORS[i]) * self.T[i][:3, :3].T for i in (1, 2, 3)}
        parts = [
            MASSES[i - 1] * self.J_P[i].T * self.J_P[i] + self.J_O[i].T * self.I[i] * self.J_O[i] for i in (1, 2, 3)
        ]
        self.B: Any = sum(parts, sp.zeros(3, 3))  # not simplified: the checker needs no such thing
        self.V = -sum(g3 * MASSES[i - 1] * self.p[i][2] for i in (1, 2, 3))
        self.J = sp.Matrix.vstack(self.T[3][:3, 3].jacobian(Q), self.J_O[3])

    @cached_property
    def C(self) -> Any:
        """Christoffel symbols of B."""
        B = self.B

        def entry(i: int, j: int) -> Any:
            return sum(
                (sp.diff(B[i, j], Q[k]) + sp.diff(B[i, k], Q[j]) - sp.diff(B[j, k], Q[i])) * RATES[k] / 2
                for k in range(3)
            )

        return sp.Matrix(3, 3, entry)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


def check(text: str, reference: Any, what: str = "expression", **names: str) -> Verdict:
    symbols: dict[str, Any] = {name: None for name in NAMES} | names
    return check_derivation(text, reference, what, symbols=symbols, coordinates=Q)


def test_transformations_3_4_and_5_are_right(model: Model) -> None:
    T2 = r"""\begin{bmatrix} c_{1} c_{2} & -c_{1} s_{2} & s_{1} & a_{2} c_{1} c_{2} \\ c_{2} s_{1} & -s_{1} s_{2} &
        -c_{1} &
        a_{2} c_{2} s_{1} \\ s_{2} & c_{2} & 0 & d_{1} + a_{2} s_{2} \\ 0 & 0 & 0 & 1.0 \end{bmatrix}"""
    T3 = r"""\mathbf{T}_{3}^{0} = \begin{bmatrix} c_{23} c_{1} & -s_{23} c_{1} & s_{1} & c_{1} \left( a_{3} c_{23}
        + a_{2} c_{2}
        \right) \\ c_{23} s_{1} & -s_{23} s_{1} & -c_{1} & s_{1} \left( a_{3} c_{23} + a_{2} c_{2} \right) \\
        s_{23} & c_{23} & 0
        & d_{1} + a_{3} s_{23} + a_{2} s_{2} \\ 0 & 0 & 0 & 1.0 \end{bmatrix}"""
    assert check(T2, model.T[2], "FK")
    assert check(T3, model.T[3], "FK")


def test_centres_of_mass_6_7_and_8_are_right(model: Model) -> None:
    first = r"\begin{bmatrix} pl_{13} \, s_1 \\ -pl_{13} \, c_1 \\ d_1 + pl_{12} \end{bmatrix} \tag{6}"
    third = r"""\mathbf{p}_{c3}^{0} = \begin{bmatrix} \operatorname{pl}_{31} \left( c_{1} c_{2} c_{3} - c_{1} s_{2}
        s_{3} \right) +
        \operatorname{pl}_{33} s_{1} + a_{2} c_{1} c_{2} + a_{3} c_{1} c_{2} c_{3} - a_{3} c_{1} s_{2} s_{3} \\
        a_{2} c_{2} s_{1}
        - \operatorname{pl}_{33} c_{1} - \operatorname{pl}_{31} \left( s_{1} s_{2} s_{3} - c_{2} c_{3} s_{1}
        \right) + a_{3} c_{2}
        c_{3} s_{1} - a_{3} s_{1} s_{2} s_{3} \\ d_{1} + a_{3} s_{23} + \operatorname{pl}_{31} s_{23} + a_{2} s_{2}
        \end{bmatrix}"""
    assert check(first, model.p[1])
    assert check(third, model.p[3])


def test_link_jacobians_9_10_and_11_are_right(model: Model) -> None:
    rotation = r"\begin{bmatrix} 0 & s_{1} & s_{1} \\ 0 & -c_{1} & -c_{1} \\ 1.0 & 0 & 0 \end{bmatrix}"
    second = r"""\begin{bmatrix} \operatorname{pl}_{23} c_{1} - a_{2} c_{2} s_{1} - \operatorname{pl}_{21} c_{2}
        s_{1} & -c_{1} s_{2}
        (a_{2} + \operatorname{pl}_{21}) & 0 \\ \operatorname{pl}_{23} s_{1} + a_{2} c_{1} c_{2} +
        \operatorname{pl}_{21} c_{1}
        c_{2} & -s_{1} s_{2} (a_{2} + \operatorname{pl}_{21}) & 0 \\ 0 & c_{2} (a_{2} + \operatorname{pl}_{21}) & 0
        \end{bmatrix}"""
    assert check(rotation, model.J_O[3], "J")
    assert check(second, model.J_P[2], "J")


def test_first_tensor_12_is_right(model: Model) -> None:
    text = r"""\mathbf{I}_{l_1}(\mathbf{q}) = \begin{bmatrix} I_{11,1} - I_{11,1} s_1^2 + I_{13,3} s_1^2 & 0.5
        s_{2.0*1} (I_{11,1} -
        I_{13,3}) & 0 \\ 0.5 s_{2.0*1} (I_{11,1} - I_{13,3}) & I_{13,3} + I_{11,1} s_1^2 - I_{13,3} s_1^2 & 0 \\
        0 & 0 & I_{12,2} \end{bmatrix}"""
    assert check(text, model.I[1])


SYMMETRIC = r"""\begin{bmatrix} i_{11} & \sigma_1 & \sigma_3 \\ \sigma_1 & i_{22} & \sigma_2 \\
    \sigma_3 & \sigma_2 & i_{33} \end{bmatrix}"""
SECOND = {
    "i_{11}": r"I_{11,1} c_1^2 c_2^2 + I_{12,2} c_1^2 s_2^2 + I_{13,3} s_1^2",
    "i_{22}": r"I_{13,3} c_1^2 + I_{11,1} c_2^2 s_1^2 + I_{12,2} s_1^2 s_2^2",
    "i_{33}": r"I_{12,2} c_2^2 + I_{11,1} s_2^2",
    r"\sigma_1": r"I_{11,1} c_1 s_1 c_2^2 + I_{12,2} c_1 s_1 s_2^2 - I_{13,3} c_1 s_1",
    r"\sigma_2": r"I_{11,1} c_2 s_1 s_2 - I_{12,2} c_2 s_1 s_2",
    r"\sigma_3": r"I_{11,1} c_1 c_2 s_2 - I_{12,2} c_1 c_2 s_2",
}
THIRD = {
    "i_{11}": r"I_{11,1} \sigma_6^2 + I_{12,2} \sigma_7^2 + I_{13,3} s_1^2",
    "i_{22}": r"I_{11,1} \sigma_4^2 + I_{12,2} \sigma_5^2 + I_{13,3} c_1^2",
    "i_{33}": r"I_{11,1} \sigma_9^2 + I_{12,2} \sigma_8^2",
    r"\sigma_1": r"I_{12,2} \, \sigma_7 \, \sigma_5 - I_{11,1} \, \sigma_6 \, \sigma_4 - I_{13,3} \, c_1 \, s_1",
    r"\sigma_2": r"-I_{11,1} \, \sigma_4 \, \sigma_9 - I_{12,2} \, \sigma_5 \, \sigma_8",
    r"\sigma_3": r"I_{11,1} \,\sigma_6 \,\sigma_9 - I_{12,2} \,\sigma_7 \,\sigma_8",
    r"\sigma_4": r"s_1 \, s_2 \, s_3 - c_2 \, c_3 \, s_1",
    r"\sigma_5": r"c_2 \, s_1 \, s_3 + c_3 \, s_1 \, s_2",
    r"\sigma_6": r"c_1 \, c_2 \, c_3 - c_1 \, s_2 \, s_3",
    r"\sigma_7": r"c_1 \, c_2 \, s_3 + c_1 \, c_3 \, s_2",
    r"\sigma_8": r"c_2 c_3 - s_2 s_3",
    r"\sigma_9": r"c_2 \, s_3 + c_3 \, s_2",
}


@pytest.mark.parametrize(("link", "names"), [(2, SECOND), (3, THIRD)])
def test_tensors_13_and_16_use_the_first_links_symbols(model: Model, link: int, names: dict[str, str]) -> None:
    assert check(SYMMETRIC, model.I[link].xreplace(ONE_TENSOR), **names)
    verdict = check(SYMMETRIC, model.I[link], **names)
    assert not verdict.agrees
    told = {slip for one in verdict.differences for slip in one.slips}
    right = {rf"wrong symbol throughout: I_{{1{k},{k}}} stands where I_{{{link}{k},{k}}} is meant" for k in (1, 2, 3)}
    assert told == right


def test_a_slip_in_a_where_list_is_found_in_its_definition(model: Model) -> None:
    wrong = {**THIRD, r"\sigma_9": r"c_2 \, s_3 - c_3 \, s_2"}
    verdict = check(SYMMETRIC, model.I[3].xreplace(ONE_TENSOR), **wrong)
    assert not verdict.agrees
    for one in verdict.differences:
        assert one.kinds == ("sign",)
        assert one.slips[0].startswith("sign in the definition of σ9")


def test_potential_energy_18_and_gravity_25_are_right(model: Model) -> None:
    energy = r"""-g_3 \, m_2 \, (d_1 + a_2 \, s_2 + \text{pl}_{21} \, s_2) - g_3 \, m_1 \, (d_1 + \text{pl}_{12})
        - g_3 \, m_3 \, (d_1 + a_3 \, s_{23} + \text{pl}_{31} \, s_{23} + a_2 \, s_2)"""
    gravity = r"""\mathbf{g}(\mathbf{q}) = \begin{bmatrix} 0 \\ -g_3 m_3 (\sigma_1 + a_2 c_2 + a_3 c_2 c_3 - a_3
        s_2 s_3) - g_3 m_2
        (a_2 c_2 + \mathrm{pl}_{21} c_2) \\ -g_3 m_3 (\sigma_1 + a_3 c_2 c_3 - a_3 s_2 s_3) \end{bmatrix}"""
    assert check(energy, model.V, "V")
    right = sp.Matrix([model.V]).jacobian(Q).T
    names = {r"\sigma_1": r"\mathrm{pl}_{31}(c_2c_3 - s_2s_3)"}
    verdict = check(gravity, right, "g", **names)
    assert verdict.agrees
    assert not verdict.convention
    other_way = check(gravity, -right, "g", **names)
    assert other_way.agrees
    assert "other side" in other_way.convention


B = r"""\mathbf{B}(\mathbf{q}) = \begin{bmatrix} b_{11} & \sigma_1 & \sigma_4 \\ \sigma_1 & b_{22} & \sigma_2 \\
    \sigma_4 & \sigma_2 & m_3 a_3^2 + 2.0 m_3 a_3 \mathrm{pl}_{31} + m_3 \mathrm{pl}_{31}^2 + I_{13,3}
        \end{bmatrix}"""
B_NAMES = {
    "b_{11}": r"""I_{11,1} + 2.0I_{12,2} - 0.5I_{11,1}\sigma_3 + 0.5I_{12,2}\sigma_3 - 0.5I_{11,1}c_{2.0*2} +
        0.5I_{12,2}c_{2.0*2}
        + 0.5a_2^2m_2 + 0.5a_2^2m_3 + 0.5a_3^2m_3 + m_1\text{pl}_{13}^2 + 0.5m_2\text{pl}_{21}^2 +
        m_2\text{pl}_{23}^2 +
        0.5m_3\text{pl}_{31}^2 + m_3 pl_{33}^2 + 0.5 m_3 pl_{31}^2 \sigma_3 + 0.5 a_2^2 m_2 c_{2.0*2} +
        0.5a_2^2m_3c_{2.0*2} +
        0.5m_2\text{pl}_{21}^2c_{2.0*2} + a_2m_2\text{pl}_{21} + a_3m_3\text{pl}_{31} + 0.5a_3^2m_3\sigma_3 +
        a_3m_3pl_{31}\sigma_3 + a_2m_2pl_{21}c_{2.0*2} + a_2a_3m_3c_3 + a_2m_3pl_{31}c_3 + a_2a_3m_3\sigma_5 +
        a_2m_3pl_{31}\sigma_5""",
    "b_{22}": r"""2.0I_{13,3} + a_2^2 m_2 + a_2^2 m_3 + a_3^2 m_3 + m_2 pl_{21}^2 + m_3 pl_{31}^2 + 2.0a_2 m_2 pl_{21} +
        2.0a_3 m_3 pl_{31} + 2.0a_2 a_3 m_3 c_3 + 2.0a_2 m_3 pl_{31} c_3""",
    r"\sigma_1": r"""-a_3 m_3 \mathrm{pl}_{33} s_{23} - m_3 \mathrm{pl}_{31} \mathrm{pl}_{33} s_{23}
        - a_2 m_2 \mathrm{pl}_{23} s_2 - a_2 m_3 \mathrm{pl}_{33} s_2 - m_2 \mathrm{pl}_{21} \mathrm{pl}_{23} s_2""",
    r"\sigma_2": r"""m_3 a_3^2 + 2.0 m_3 a_3 \text{pl}_{31} + a_2 m_3 c_3 a_3 + m_3 \text{pl}_{31}^2
        + a_2 m_3 c_3 \text{pl}_{31} + I_{13,3}""",
    r"\sigma_3": r"c_{2*2+2*3}",
    r"\sigma_4": r"-m_3 \text{pl}_{33} s_{23} (a_3 + \text{pl}_{31})",
    r"\sigma_5": r"c_{2.0*2+3}",
}


def test_mass_matrix_20_uses_one_tensor_for_three_links(model: Model) -> None:
    assert check(B, model.B.xreplace(ONE_TENSOR), "M", **B_NAMES)
    verdict = check(B, model.B, "M", **B_NAMES)
    assert [one.entry for one in verdict.differences] == [(1, 1), (2, 2), (2, 3), (3, 2), (3, 3)]
    first = verdict.differences[0].slips
    assert any("symbol throughout: I_{11,1} stands where I_{21,1} is meant" in one for one in first)
    assert any("symbol throughout: I_{11,1} stands where I_{31,1} is meant" in one for one in first)
    assert any("symbol throughout: I_{12,2} stands where I_{32,2} is meant" in one for one in first)
    assert verdict.differences[-1].slips == ("wrong symbol throughout: I_{13,3} stands where I_{33,3} is meant",)
    assert check(verdict.mended, model.B, "M", **B_NAMES)


C_NAMES = {
    "C_{11}": r"""-\dot{\mathbf{q}}_2(0.5I_{12,2}\sigma_{12} - 0.5I_{11,1}\sigma_{12} - 0.5I_{11,1}s_{2.0*2} +
        0.5I_{12,2}s_{2.0*2} +
        0.5a_3^2m_3\sigma_{12} + 0.5m_3\mathbf{pl_{31}}^2\sigma_{12} + 0.5a_2^2m_2s_{2.0*2} + 0.5a_2^2m_3s_{2.0*2} +
        0.5m_2\mathbf{pl_{21}}^2s_{2.0*2} + a_3m_3\mathbf{pl_{31}}\sigma_{12} + a_2m_2\mathbf{pl_{21}}s_{2.0*2} +
        a_2a_3m_3\sigma_1
        + a_2m_3\mathbf{pl_{31}}\sigma_1) - \dot{\mathbf{q}}_3(0.5I_{12,2}\sigma_{12} - 0.5I_{11,1}\sigma_{12} +
        0.5m_3(2a_3 + 2\mathbf{pl_{31}})(0.5a_2\sigma_1 + 0.5a_3\sigma_{12} + 0.5\mathbf{pl_{31}}\sigma_{12} +
        0.5a_2s_3))""",
    "C_{12}": r"""0.5I_{11,1}\dot{\mathbf{q}}_{1}\sigma_{12} - 0.5I_{12,2}\dot{\mathbf{q}}_{1}\sigma_{12} +
        0.5I_{11,1}\dot{\mathbf{q}}_{1}s_{2.0*2} - 0.5I_{12,2}\dot{\mathbf{q}}_{1}s_{2.0*2} - \sigma_{7} -
        \sigma_{6} -
        0.5a_{2}{}^{2}\dot{\mathbf{q}}_{1}m_{2}s_{2.0*2} - 0.5a_{2}{}^{2}\dot{\mathbf{q}}_{1}m_{3}s_{2.0*2} -
        0.5\dot{\mathbf{q}}_{1}m_{2}\mathbf{pl}_{21}{}^{2}s_{2.0*2} - a_{2}a_{3}\dot{\mathbf{q}}_{1}m_{3}\sigma_{1} -
        a_{2}\dot{\mathbf{q}}_{1}m_{3}\mathbf{pl}_{31}\sigma_{1} - \sigma_{8} -
        a_{2}\dot{\mathbf{q}}_{1}m_{2}\mathbf{pl}_{21}s_{2.0*2}
        - \sigma_{5} - \sigma_{4} - \sigma_{3} - \sigma_{2} - a_{2}\dot{\mathbf{q}}_{2}m_{2}\mathbf{pl}_{23}c_{2} -
        a_{2}\dot{\mathbf{q}}_{2}m_{3}\mathbf{pl}_{33}c_{2} -
        \dot{\mathbf{q}}_{2}m_{2}\mathbf{pl}_{21}\mathbf{pl}_{23}c_{2}""",
    "C_{13}": r"""0.5I_{11,1}\dot{\mathbf{q}}_{1}\sigma_{12} - 0.5I_{12,2}\dot{\mathbf{q}}_{1}\sigma_{12} -
        \sigma_{7} - \sigma_{6} -
        0.5a_{2}a_{3}\dot{\mathbf{q}}_{1}m_{3}\sigma_{1} -
        0.5a_{2}\dot{\mathbf{q}}_{1}m_{3}\mathbf{pl}_{31}\sigma_{1} - \sigma_{8}
        - \sigma_{5} - \sigma_{4} - \sigma_{3} - \sigma_{2} - 0.5a_{2}a_{3}\dot{\mathbf{q}}_{1}m_{3}s_{3} -
        0.5a_{2}\dot{\mathbf{q}}_{1}m_{3}\mathbf{pl}_{31}s_{3}""",
    "C_{21}": r"""0.5\dot{\mathbf{q}}_{1}(I_{12,2}\sigma_{12} - I_{11,1}\sigma_{12} - I_{11,1}s_{2.0*2} +
        I_{12,2}s_{2.0*2} +
        \sigma_{10} + \sigma_{9} + a_{2}{}^{2}m_{2}s_{2.0*2} + a_{2}{}^{2}m_{3}s_{2.0*2} +
        m_{2}\mathbf{pl}_{21}{}^{2}s_{2.0*2} +
        \sigma_{11} + 2.0a_{2}m_{2}\mathbf{pl}_{21}s_{2.0*2} + 2.0a_{2}a_{3}m_{3}\sigma_{1} +
        2.0a_{2}m_{3}\mathbf{pl}_{31}\sigma_{1})""",
    "C_{31}": r"""0.5\dot{q}_1(I_{12,2}\sigma_{12} - I_{11,1}\sigma_{12} + \sigma_{10} + \sigma_9 + \sigma_{11} +
        a_2a_3m_3s_3 +
        a_2m_3pl_{31}s_3 + a_2 a_3 m_3 \sigma_1 + a_2 m_3 \text{pl}_{31} \sigma_1)""",
    r"\sigma_1": r"s_{2.0*2+3}",
    r"\sigma_2": r"\dot{q}_3 m_3 \text{pl}_{31} \text{pl}_{33} c_{23}",
    r"\sigma_3": r"\dot{q}_2 m_3 pl_{31} pl_{33} c_{23}",
    r"\sigma_4": r"a_3 \dot{q}_3 m_3 pl_{33} c_{23}",
    r"\sigma_5": r"a_3 \dot{q}_2 m_3 pl_{33} c_{23}",
    r"\sigma_6": r"0.5\dot{q}_1 m_3 pl_{31}^2 \sigma_{12}",
    r"\sigma_7": r"0.5a_3^2 \dot{q}_1 m_3 \sigma_{12}",
    r"\sigma_8": r"a_3 \dot{q}_1 m_3 pl_{31} \sigma_{12}",
    r"\sigma_9": r"m_3 \mathrm{pl}_{31}^{\ 2} \sigma_{12}",
    r"\sigma_{10}": r"a_3^2 m_3 \sigma_{12}",
    r"\sigma_{11}": r"2.0 a_3 m_3 \mathrm{pl}_{31} \sigma_{12}",
    r"\sigma_{12}": r"s_{2*2+2*3}",
}
C = r"""\mathbf{C}(\mathbf{q}, \dot{\mathbf{q}}) = \begin{bmatrix} C_{11} & C_{12} & C_{13} \\ C_{21} & -a_2
        \dot{\mathbf{q}}_3 m_3 s_3
    (a_3 + \mathbf{pl}_{31}) & -a_2 m_3 s_3 (\dot{\mathbf{q}}_2 + \dot{\mathbf{q}}_3) (a_3 + \mathbf{pl}_{31}) \\
        C_{31} &
    a_2 \dot{\mathbf{q}}_2 m_3 s_3 (a_3 + \mathbf{pl}_{31}) & 0 \end{bmatrix}"""


@pytest.mark.slow
def test_coriolis_matrix_24_is_the_christoffel_one_of_the_printed_mass_matrix(model: Model) -> None:
    assert check(C, model.C.xreplace(ONE_TENSOR), "C", **C_NAMES)
    verdict = check(C, model.C, "C", **C_NAMES)
    assert [one.entry for one in verdict.differences] == [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1)]
    told = {slip for one in verdict.differences for slip in one.slips}
    assert told == {
        rf"wrong symbol throughout: I_{{1{k},{k}}} stands where I_{{{i}{k},{k}}} is meant"
        for i in (2, 3)
        for k in (1, 2)
    }


def test_line_c31_has_a_term_that_stands_there_twice(model: Model) -> None:
    literal = C_NAMES["C_{31}"].replace("a_2 a_3 m_3", "a_3a_3m_3s_3 + a_3a_3m_3s_3 + a_2 a_3 m_3")
    names = {name: text for name, text in C_NAMES.items() if name != "C_{31}"}
    verdict = check(literal, model.C.xreplace(ONE_TENSOR)[2, 0], **names)
    (found,) = verdict.differences
    assert found.kinds == ("extra term",)
    assert "a_{3} a_{3} m_{3} s_{3} + a_{3} a_{3} m_{3} s_{3} does not" in found.slips[0]


def test_jacobian_28_is_right(model: Model) -> None:
    text = r"""\mathbf{J}(\mathbf{q}) = \begin{bmatrix} -s_1 \sigma_3 & -c_1 \sigma_1 & -a_3 s_{23} c_1 \\ c_1
        \sigma_3 & -s_1 \sigma_1
        & -a_3 s_{23} s_1 \\ 0 & \sigma_3 & \sigma_4 \\ 0 & s_1 & s_1 \\ 0 & \sigma_2 & \sigma_2 \\ 1.0 & 0 & 0
        \end{bmatrix}"""
    names = {
        r"\sigma_1": "a_3 s_{23} + a_2 s_2",
        r"\sigma_2": "-c_1",
        r"\sigma_3": r"\sigma_4 + a_2 c_2",
        r"\sigma_4": "a_3 c_{23}",
    }
    assert check(text, model.J, "J", **names)


def test_euler_rates_35_have_the_wrong_angle_in_one_entry() -> None:
    first, second = sp.symbols("varphi vartheta")
    x = sp.Matrix([[1, 0, 0], [0, sp.cos(first), -sp.sin(first)], [0, sp.sin(first), sp.cos(first)]])
    y = sp.Matrix([[sp.cos(second), 0, sp.sin(second)], [0, 1, 0], [-sp.sin(second), 0, sp.cos(second)]])
    right = sp.Matrix.hstack(sp.Matrix([1, 0, 0]), x[:, 1], (x * y)[:, 2])  # intrinsic XYZ, world ω
    text = r"""\mathbf{T}(\boldsymbol{\phi}) = \begin{bmatrix} 1 & 0 & \sin(\vartheta) \\ 0 & \cos(\varphi) &
        -\cos(\varphi) \cdot
        \sin(\varphi) \\ 0 & \sin(\varphi) & \cos(\varphi) \cdot \cos(\vartheta) \end{bmatrix} \tag{35}"""
    verdict = check_derivation(text, right, coordinates=["varphi", "vartheta", "psi"])
    (found,) = verdict.differences
    assert (found.entry, found.kinds) == ((2, 3), ("wrong index",))
    assert found.mended == r"-\cos\left(\vartheta\right) \sin\left(\varphi\right)"

"""Document 000, section 1: pole and end-effector."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from palpate_documents.claim import Claim, Evidence, Trajectories
from palpate_documents.compare import (
    arithmetic,
    both,
    corrected,
    formula,
    formulas,
    printed,
    reference,
)
from palpate_documents.d000 import DOCUMENT
from palpate_documents.d000.pole import (
    FORCE,
    HEIGHT,
    PARAMETERS,
    POLE,
    RATES,
    XY,
    accelerations,
    as_printed,
    equations,
    model,
    motion,
    raised,
    written_out,
)

HOW: dict[str, Any] = {"symbols": {**HEIGHT, **{name: None for name in PARAMETERS}}, "coordinates": POLE}
RIGHT = [0.861482595125, -1.815310126833, 1.790134695040, 0.523691453624, -0.031588604832]


def _claim_1(c: Claim) -> Evidence:
    r, _ = raised(XY, RATES)
    yield printed("|AB| [m]", 1.0, np.linalg.norm(r))


def _claim_2(c: Claim) -> Evidence:
    h = 1e-6
    step = (raised(XY + h * RATES, RATES)[0] - raised(XY - h * RATES, RATES)[0]) / (2 * h)
    yield printed("ṙ_AB [m/s]", raised(XY, RATES)[1], step, 1e-8)


formulas(
    DOCUMENT,
    {
        "3": ("T", lambda: written_out(equations().T)),
        "4": ("V", lambda: written_out(equations().V)),
        **{name: ("equation", lambda row=row: motion()[row]) for name, row in (("5", 0), ("6", 1), ("8", 3), ("9", 4))},
        **{f"12-{row}": ("expression", lambda row=row: _bias(row - 1)) for row in (3, 4, 5)},
    },
    **HOW,
)


def _claim_7(c: Claim) -> Evidence:
    yield from both(c, motion()[2], "equation", **HOW)
    names = ["x_AB", "y_AB", "dx_AB", "dy_AB", "ddz_A", "ddx_AB", "ddy_AB"]
    values = [-0.4834723645, 0.3132702392, 0.1744999659, 1.7402896952, 2.1444256595, -2.7984865482, 1.3779326786]
    at = dict(zip(sp.symbols(names), values)) | dict(zip(sp.symbols("m_e m_s l g f_z"), (1.3, 0.27, 1.1, 9.81, 0)))
    force = float(motion()[2].subs(at))
    x, y, u, v = values[:4]
    slip = 4 * 0.27 * x * y * u * v / (1.1**2 - x * x - y * y) ** 1.5
    yield printed("f_z by the printed form at a random point [N]", force + slip, force, 2e-9)
    yield corrected("f_z at a random point [N]", 17.3031541404, force, 2e-9)


def _claim_10(c: Claim) -> Evidence:
    M, C = model().mass_and_bias(XY, RATES)
    solved = np.linalg.solve(M, [*FORCE, 0, 0] - C)
    yield printed("accelerations by the closed form [m/s²]", accelerations(), solved)
    yield reference("accelerations [m/s²]", RIGHT, solved)


def _mass() -> sp.Matrix:
    return sp.Matrix(written_out(equations().M))


def _claim_11(c: Claim) -> Evidence:
    yield from both(c, _mass(), "M", **HOW)
    numbers = equations().function("M")([0, 0, 0, *XY])
    yield corrected("M of the library's pole", numbers, model().mass_and_bias(XY, RATES)[0])


def _plot_11_12() -> Trajectories:
    """Free flight of the pole over an end-effector pushed as in the test state, by the printed and the right model."""
    from scipy.integrate import solve_ivp

    curves = []
    for label, terms in (("as printed (two slips)", as_printed), ("right", model().mass_and_bias)):

        def rate(t: float, y: np.ndarray, terms=terms) -> np.ndarray:
            M, C = terms(y[:2], y[2:4])
            a = np.linalg.solve(M, np.array([*FORCE, 0, 0]) - C)
            return np.array([*y[2:4], *a[3:], a[2]])

        t = np.linspace(0, 0.25, 60)
        y = solve_ivp(rate, (0, 0.25), [*XY, *RATES, 0], t_eval=t, rtol=1e-8).y
        curves.append((label, t.tolist(), y[4].tolist()))
    return Trajectories(
        "Vertical speed of the end-effector under f = (1, −2, 12) N", "t [s]", "ż_A [m/s]", tuple(curves)
    )


def _claim_11_12(c: Claim) -> Evidence:
    M, C = as_printed(XY, RATES)
    text = np.linalg.solve(M, [*FORCE, 0, 0] - C)
    yield arithmetic(
        "as printed [m/s²]", [0.856172553005, -1.808230070674, 1.999627901943, 0.582101916943, -0.109469222591], text
    )
    yield printed("accelerations [m/s²]", text, accelerations())
    yield corrected("accelerations [m/s²]", RIGHT, accelerations())


def _bias(row: int) -> Any:
    return sp.Matrix(written_out(sp.Matrix(equations()["bias"])))[row]


def _claim_12_12(c: Claim) -> Evidence:
    for row in (0, 1):
        yield formula("printed", "0", _bias(row), label=f"row {row + 1}", **HOW)

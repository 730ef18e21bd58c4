"""Worked steps of the Newton–Euler method, in closed form and as a recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.step_writer import StepWriter

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation


def newton_euler_steps(w: StepWriter) -> list[Section]:
    """Motions outwards, loads of each link, forces inwards, joint torques."""
    closed = w.closed
    outward, loads, inward = [], [], []
    for index, n in enumerate(w.numbers):
        omega, alpha, acc = closed.motions[index]
        outward += [w.vector(f"omega_{n}", omega), w.vector(f"alpha_{n}", alpha), w.vector(f"a_{n}", acc)]
        force, moment = closed.loads[index]
        loads += [w.vector(f"F_{n}", force), w.vector(f"N_{n}", moment)]
    for index in reversed(range(len(w.numbers))):
        force, moment = closed.carried[index]
        inward += [w.vector(f"f_{w.numbers[index]}", force), w.vector(f"n_{w.numbers[index]}", moment)]
    torques = [w.scalar(tau, row) for tau, row in zip(w.forms.names.tau, closed.newton_euler)]
    return [
        Section(
            "Outwards: motions",
            ("Angular velocity ω, angular acceleration α and acceleration a of each link's origin, in the link's own "
             "axes. The base accelerates upwards with −g, so that gravity needs no further thought.",),
            tuple(outward),
        ),
        Section(
            "Newton and Euler for each link",
            ("F = m (a + α × c + ω × (ω × c)) and N = I α + ω × I ω + c × F, about the link's origin.",),
            tuple(loads),
        ),
        Section(
            "Inwards: what each joint passes on",
            ("f = F + R f_next and n = N + R n_next + p × R f_next, in the link's own axes.",),
            tuple(inward),
        ),
        Section("Joint torques", ("τ is n along a hinge's axis, f along a slide's.",), tuple(torques)),
    ]  # fmt: skip


def recursive_steps(derivation: Derivation) -> list[Section]:
    """The recursion of a derivation without closed forms, line by line."""
    lines = [Formula(str(symbol), e) for symbol, e in derivation.definitions("tau")]
    torques = [Formula(name, e) for name, e in zip(derivation.names.tau, derivation["tau"])]
    words = (
        "Outwards, each link's angular velocity and acceleration and the acceleration of its origin; back, the forces "
        "and moments that move it and all it carries. Everything used more than once has a name.",
        str(derivation.counts("tau")),
    )
    return [Section("Newton–Euler recursion, line by line", words, (*lines, *torques))]

"""Worked steps common to all methods: coordinates, kinematics, link Jacobians and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palpate.tools.derive.writing.document import Section
from palpate.tools.derive.writing.step_writer import StepWriter

if TYPE_CHECKING:
    pass


def kinematics_steps(w: StepWriter) -> list[Section]:
    """Coordinates, poses of the links and centres of mass."""
    poses = [f for n in w.numbers for f in w.quantities(f"R_{n}", f"p_{n}")]
    coms = [f for n in w.heavy for f in w.quantities(f"p_c{n}")]
    return [
        Section("Coordinates", (_coordinates(w),)),
        Section(
            "Forward kinematics",
            ("Each link's frame in the base frame: rotation R and origin p, multiplied from the base outwards.",),
            (*poses, *w.quantities("rotation", "position")),
        ),
        Section("Centres of mass", ("p_c = p + R c, with c the centre of mass in the link's frame.",), tuple(coms)),
    ]


def _coordinates(w: StepWriter) -> str:
    kinds = {"revolute": "turns", "prismatic": "slides"}
    parts = [f"{named.link.joint} {kinds[named.link.kind]}" for named in w.forms.model.links]
    names = ", ".join(w.forms.names.q)
    return f"q = ({names}): {', '.join(parts)}."


def jacobians_section(w: StepWriter) -> Section:
    """The Jacobians of every link that has a mass."""
    return Section(
        "Link Jacobians",
        ("v_c = J_P q̇ with J_P = ∂p_c/∂q, and ω = J_O q̇ with one column per joint that turns the link.",),
        tuple(f for n in w.heavy for f in w.quantities(f"J_P{n}", f"J_O{n}")),
    )


def tensors_sections(w: StepWriter) -> list[Section]:
    """The links' inertia tensors in the base frame; no section where all are zero."""
    formulas = [f for n in w.numbers for f in w.quantities(f"I_{n}") if any(x != 0 for x in f.expression)]
    words = ("I(q) = R I Rᵀ, about the centre of mass.",)
    return [Section("Tensors in the base frame", words, tuple(formulas))] if formulas else []

"""`palpate show --terms` in contact: forces, modes, impacts and linear models of an arm that touches planes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palpate.checks import Array
    from palpate.cli.showing.terms import Question
    from palpate.tools.contact import Constrained, Contact, Impact, Linearised


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the planes that the tool may touch."""
    parser.add_argument("--plane", nargs=6, action="append", default=[], metavar="X",
                        help="a plane that the tool may touch: a point and the normal (may be repeated)")  # fmt: skip
    parser.add_argument("--friction", type=float, metavar="MU", help="of the planes (0)")
    parser.add_argument("--restitution", type=float, metavar="E", help="of the planes, Poisson's (0)")


def run(args: argparse.Namespace, command: Callable[[argparse.Namespace], int]) -> int:
    """Show, with the terms of contact among the others."""
    if args.terms:
        from palpate.cli.showing.terms import TERMS

        TERMS.update({
            "tauF": ("torques Jᵀ F of a force on the environment", "N·m or N", _tip_torque),
            "Ftau": ("force F with Jᵀ F = τ", "N", _tip_force),
            "vdot": ("acceleration under τ and the contacts", "rad/s² or m/s²", lambda x: dynamics_of(x).acceleration),
            "modes": ("free, sliding or sticking", "by contact", lambda x: dynamics_of(x).modes),
            "forces": ("contact forces on the robot", "N", lambda x: dynamics_of(x).forces),
            "painleve": ("n·M⁻¹(n − μ d), a paradox where not positive", "1/kg", lambda x: dynamics_of(x).coefficients),
            "vafter": ("velocity after the impact", "rad/s or m/s", lambda x: collision(x).velocity),
            "impulses": ("impulses on the robot", "N·s", lambda x: collision(x).impulses),
            "loss": ("energy that the impact takes", "J", lambda x: collision(x).dissipated),
            "Alin": ("A of ẋ = A x + B u about an equilibrium", "1/s, 1/s²", lambda x: linear(x).A),
            "Blin": ("its B, u the change of τ", "1/(kg·m²) or 1/kg", lambda x: linear(x).B),
            "rates": ("eigenvalues of A, as real and imaginary parts", "1/s", rates),
        })  # fmt: skip
    return command(args)


def contacts(x: Question) -> list[Contact]:
    """The planes that the tool may touch."""
    from palpate.cli.tables import numbers
    from palpate.tools.contact import Contact, Plane

    planes = [numbers(plane, "--plane") for plane in x.option("plane")]
    friction, restitution = (x.option(name) or 0.0 for name in ("friction", "restitution")) if planes else (0, 0)
    return [
        Contact(Plane(plane[:3], plane[3:]), x.frame, friction=friction, restitution=restitution) for plane in planes
    ]


def dynamics_of(x: Question) -> Constrained:
    """Accelerations and contact forces at the state."""
    from palpate.tools.contact import constrained_dynamics

    return constrained_dynamics(x.robot, x.q, x.v, x.torque(), contacts(x))


def collision(x: Question) -> Impact:
    """The impact of what touches and closes."""
    from palpate.errors import InvalidInput
    from palpate.tools.contact import impact

    if not x.option("plane"):
        raise InvalidInput("an impact needs a surface", hint="--plane 0 0 0 0 0 1: a point and the normal")
    return impact(x.robot, x.q, x.v, contacts(x))


def linear(x: Question) -> Linearised:
    """The linear model about the state, an equilibrium under τ and the contacts."""
    from palpate.tools.contact import linearise_state

    return linearise_state(x.robot, x.q, x.v, x.torque(), contacts(x))


def rates(x: Question) -> Array:
    """Eigenvalues of that model, real and imaginary parts."""
    import numpy as np

    values = linear(x).eigenvalues
    return np.column_stack([np.real(values), np.imag(values)])


def _tip_torque(x: Question) -> Array:
    from palpate.tools.contact import torque_from_tip_force

    return torque_from_tip_force(x.robot, x.q, x.given_force(), x.frame, directions=x.rows())


def _tip_force(x: Question) -> Array:
    from palpate.tools.contact import tip_force_from_torque

    return tip_force_from_torque(x.robot, x.q, x.torque(), x.frame, directions=x.rows()).force

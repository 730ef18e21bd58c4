"""Masses and inertias that a file does not give, estimated from its shapes and one number: the total mass.

Every link without mass gets the same density, so that the whole robot weighs what it is said to. A link's shape is its
collision geometry, or else its visual one (meshes as their convex hulls); a moving link without any is taken as a bar
from its joint to the next ones. An estimate says so wherever it goes: warning, text `estimate`, provenance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from palpate.checks import Array, finite_number
from palpate.errors import InvalidInput
from palpate.robot.build import add_shape
from palpate.robot.mechanics.compiled import engine_warnings
from palpate.robot.mechanics.tree import Link, LinkShape, Tree, massless_movers
from palpate.robot.readers.dh.table import capsule_between
from palpate.robot.readers.findings import Finding
from palpate.spatial import matrix_from_quat

_SLENDER = 0.1  # radius of a bar by its length
_LEAST_RADIUS = 0.02  # m
_LISTED = 8


@dataclass(frozen=True)
class _Solid:
    """A body of density 1 kg/m³: volume [m³], centre [m], tensor about it [m⁵]."""

    volume: float
    centre: Array
    inertia: Array


def estimate_inertias(tree: Tree, total: float, file: str) -> tuple[Tree, Finding]:
    """The tree with its missing masses filled so that all links together weigh `total` kg, and the warning of it.

    Raises:
        InvalidInput: the links that have mass already weigh as much, or more.
    """
    total = finite_number(total, "estimate_inertia (the total mass)", above=0.0)
    known = sum(link.mass for link in tree.links)
    movers = set(massless_movers(tree.links, tree.joints))
    solids = {link.name: s for link in tree.links if link.mass <= 0 and (s := _solid(tree, link, link.name in movers))}
    if not solids:
        return tree, Finding("warning", file, 0, "", "no mass is missing", "estimate_inertia is ignored")
    if total <= known:
        raise InvalidInput(
            f"the links of {tree.name} that have a mass weigh {known:g} kg, so the whole is heavier than {total:g} kg",
            hint="give the mass of the whole robot",
        )
    density = (total - known) / sum(solid.volume for solid in solids.values())
    links = tuple(_filled(link, solids.get(link.name), density) for link in tree.links)
    notes = _notes(tree, links, solids, total)
    return replace(tree, links=links, notes=(*tree.notes, *notes)), _warning(file, links, solids, total, density)


def _filled(link: Link, solid: _Solid | None, density: float) -> Link:
    if solid is None:
        return link
    return replace(link, mass=density * solid.volume, com=solid.centre, inertia=density * solid.inertia)


def _solid(tree: Tree, link: Link, moves: bool) -> _Solid | None:
    """The link's shapes as one body; a bar where it has none and moves; nothing for a mere frame."""
    for shapes in (link.collisions, link.visuals):
        if shapes and (solid := _compiled(shapes)):
            return solid
    return _compiled(_bars(tree, link)) if moves else None


def _compiled(shapes: tuple[LinkShape, ...]) -> _Solid | None:
    """The engine's own volume and inertia of shapes; None where it cannot take them."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="solid")
    for shape in shapes:
        geom = add_shape(spec, body, shape)
        geom.mass, geom.density = np.nan, 1.0
    for mesh in spec.meshes:
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    try:
        with engine_warnings():
            made = spec.compile().body("solid")
    except (ValueError, mujoco.FatalError):
        return None
    R = matrix_from_quat(made.iquat)
    return _Solid(float(made.mass[0]), made.ipos.copy(), R @ np.diag(made.inertia) @ R.T)


def _bars(tree: Tree, link: Link) -> tuple[LinkShape, ...]:
    ends = [joint.position for joint in tree.joints if joint.parent == link.name]
    lengths = [float(np.linalg.norm(end)) for end in ends]
    if not lengths or max(lengths) < _LEAST_RADIUS:
        return (LinkShape("sphere", (_LEAST_RADIUS,)),)
    far = ends[int(np.argmax(lengths))]
    return (capsule_between(np.zeros(3), far, max(_SLENDER * max(lengths), _LEAST_RADIUS)),)


def _notes(tree: Tree, links: tuple[Link, ...], solids: dict[str, _Solid], total: float) -> list[tuple[str, str]]:
    text = f"Masses and inertias of {len(solids)} of {len(links)} links are estimates from their shapes and a total"
    text += f" mass of {total:g} kg, not measurements."
    before = dict(tree.notes).get("provenance", "")
    return [("estimate", text), ("provenance", f"{before} {text}".strip())]


def _warning(file: str, links: tuple[Link, ...], solids: dict[str, _Solid], total: float, density: float) -> Finding:
    filled = [f"{link.name} {link.mass:.3g} kg" for link in links if link.name in solids]
    shown = ", ".join(filled[:_LISTED]) + (" …" if len(filled) > _LISTED else "")
    problem = f"mass and inertia of {len(filled)} links are estimated: {shown}"
    rule = f"from their shapes, at {density:.3g} kg/m³, so that all weigh {total:g} kg: no measurement"
    return Finding("warning", file, 0, "estimate", problem, rule)

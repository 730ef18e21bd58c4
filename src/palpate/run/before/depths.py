"""How deep points are behind surfaces."""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.spatial.shapes import SHAPES
from palpate.world.config import Surface
from palpate.world.plants.plant import surface_rotation
from palpate.world.surfaces.forms import form_of


def depths(surface: Surface, points: Array, radius: float) -> Array:
    """How deep spheres about some points, one per row, are behind a surface that stands still, m; negative outside."""
    distance, form, normal = SHAPES[surface.shape].distance, form_of(surface), np.zeros(3)
    local = np.ascontiguousarray((points - np.array(surface.position)) @ surface_rotation(surface))
    if surface.shape == "plane":
        return radius - local[:, 2]
    return np.array([radius - distance(form, point, normal) for point in local])

"""Kinds of a record's fields: element types and dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import types

DTYPES: dict[types.Type, type] = {types.float64: np.float64, types.int64: np.int64, types.int32: np.int32}


@dataclass(frozen=True)
class Kind:
    """Type of a field or a parameter: a number (0 dimensions) or an array.

    `behind` says that the number lies at an address; `readonly`, that a kernel only reads the array.
    """

    element: types.Type
    dimensions: int = 0
    behind: bool = False
    readonly: bool = False

    @property
    def words(self) -> int:
        """Words it takes in the table."""
        return 1 + self.dimensions

    @property
    def numba(self) -> types.Type:
        """Its type in compiled code."""
        if not self.dimensions:
            return self.element
        return types.Array(self.element, self.dimensions, "C", readonly=self.readonly)

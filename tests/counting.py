"""Work counted in function calls instead of seconds: the same on every machine, however busy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg


def calls(work: Callable[[], object]) -> int:
    """How many functions work calls in this thread, those in C included; a compiled kernel counts as one."""
    count = [0]

    def seen(frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            count[0] += 1

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count[0]


_DENSE = {
    np.linalg: ("eig", "eigh", "eigvals", "eigvalsh", "solve", "inv", "det", "slogdet", "svd", "qr", "lstsq", "pinv"),
    scipy.linalg: ("eig", "eigh", "eigvals", "eigvalsh", "solve", "inv", "schur", "lu_factor", "expm", "qz", "ordqz"),
}  # fmt: skip


def dense_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of every matrix that dense linear algebra is asked about from now on."""
    sizes: list[int] = []

    def counted(plain: Callable[..., Any]) -> Callable[..., Any]:
        def function(matrix: Any, *args: Any, **named: Any) -> Any:
            sizes.append(np.shape(matrix)[-1])
            return plain(matrix, *args, **named)

        return function

    for module, names in _DENSE.items():
        for name in names:
            monkeypatch.setattr(module, name, counted(getattr(module, name)))
    return sizes

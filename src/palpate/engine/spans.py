"""Spans of memory: many small copies in one compiled call."""

from __future__ import annotations

from typing import Any

from numba import types

from palpate.engine.compiling.numba_parts import ExternalFunction
from palpate.engine.kernels import kernel
from palpate.engine.records import Integers

_P = types.int64
_memcpy: Any = ExternalFunction("memcpy", _P(_P, _P, _P))


@kernel
def copy_spans(spans: Integers) -> None:
    """Copy each span: where to, where from, how many bytes, one after another."""
    for k in range(0, spans.size, 3):
        _memcpy(spans[k], spans[k + 1], spans[k + 2])

"""Kernels compiled to a signature in words; to be replaced by `engine.kernels`."""

from numba import njit
from numba.extending import register_jitable

from palpate.engine.views import address_of, fold, part  # noqa: F401


def kernel(*signature, lean=False):
    return njit(*signature, cache=True, nogil=True, error_model="numpy", _nrt=not lean)


@register_jitable
def put(target, start, source):
    for k in range(source.size):
        target[start + k] = source[k]


@register_jitable
def clear(target):
    for k in range(target.size):
        target[k] = 0.0

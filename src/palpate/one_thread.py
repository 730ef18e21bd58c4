"""Small linear algebra on one thread: with two, OpenBLAS waits for the other by spinning, and a busy machine by far."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_PREFIX, _SUFFIXES = "scipy_openblas_", ("64_", "")


@cache
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], Any]]]:
    """How the libraries beside NumPy and SciPy tell and take their number of threads; none where they are others."""
    import scipy

    known = []
    for package in (np, scipy):
        folder = Path(str(package.__file__)).parent.parent / f"{package.__name__}.libs"
        for file in sorted(folder.glob("*openblas*")):
            library = ctypes.CDLL(str(file))
            for suffix in _SUFFIXES:
                tell = getattr(library, f"{_PREFIX}get_num_threads{suffix}", None)
                take = getattr(library, f"{_PREFIX}set_num_threads{suffix}", None)
                if tell is not None and take is not None:
                    known.append((tell, take))
                    break
    return known


@contextmanager
def one_thread() -> Iterator[None]:
    """Let NumPy's and SciPy's linear algebra use one thread, where they bring OpenBLAS with them."""
    before = [(take, tell()) for tell, take in _libraries()]
    for take, _ in before:
        take(1)
    try:
        yield
    finally:
        for take, threads in before:
            take(threads)

"""MuJoCo and numba joined: named records, kernels typed by their annotations, MuJoCo's C functions and arrays."""

from palpate.engine.bounds import check_versions

check_versions()  # before inner parts of numba and MuJoCo are touched

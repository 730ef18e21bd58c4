"""MuJoCo and numba joined: named records, kernels typed by their annotations, MuJoCo's C functions and arrays."""

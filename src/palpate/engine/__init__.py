"""MuJoCo and numba joined: named records, kernels typed by their annotations, MuJoCo's C functions and arrays.

Every package that imports MuJoCo imports this one first, so that the processor and the versions are looked at before
the library loads.
"""

from palpate.engine.bounds import check_versions, note_two_mujocos
from palpate.engine.processor import check_processor

check_processor()
check_versions()  # before inner parts of numba and MuJoCo are touched
note_two_mujocos()

"""The face of the room: what it exports and what its import costs."""

from __future__ import annotations

import subprocess
import sys

from palpate import spatial


def test_every_exported_name_exists_and_is_documented():
    for name in spatial.__all__:
        assert getattr(spatial, name).__doc__, name
    assert list(spatial.__all__) == sorted(spatial.__all__)


def test_the_import_pulls_in_no_heavy_package():
    # The package's own __init__ may offer more; this room alone must not ask for it. Numba loads scipy.linalg itself.
    code = (
        "import sys, types, importlib.util as u\n"
        "root = u.find_spec('palpate').submodule_search_locations\n"
        "package = types.ModuleType('palpate'); package.__path__ = list(root); sys.modules['palpate'] = package\n"
        "import palpate.spatial\n"
        "heavy = {'scipy.spatial', 'scipy.optimize', 'mujoco', 'sympy', 'matplotlib', 'pyarrow'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""What the tests of a run share."""

import numpy as np
import pytest

from palpate.control import PythonLaw

ENERGIES = ("kinetic", "potential", "stored", "injected", "pushed", "dissipated")


@pytest.fixture
def idle():
    """A law that commands nothing."""
    return PythonLaw(lambda tick, gains, memory: {"torque": 0.0 * tick.v})


@pytest.fixture
def residue():
    """Of a trace: the change of energy that work and losses do not explain, over the largest energy, at most."""

    def of(trace):
        kinetic, potential, stored, injected, pushed, dissipated = (trace[f"energy.{name}"] for name in ENERGIES)
        held = kinetic + potential + stored
        largest = max(np.abs(held - held[0]).max(), kinetic.max(), stored.max())
        return np.abs(held - held[0] - (injected + pushed - dissipated)).max() / largest

    return of

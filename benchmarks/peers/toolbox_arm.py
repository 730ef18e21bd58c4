"""A Panda's terms and its forward dynamics in Robotics Toolbox; see `answering`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from answering import serve


def calls(job: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """The same terms as `Robot.terms`, and `fdyn`: so many seconds without torques."""
    toolbox: Any = importlib.import_module("roboticstoolbox")
    panda, q, v, still = toolbox.models.DH.Panda(), np.array(job["q"]), np.array(job["v"]), np.zeros(7)
    free = panda.nofriction()

    def terms() -> int:
        found = panda.inertia(q), panda.rne(q, v, still), panda.gravload(q), panda.fkine(q), panda.jacob0(q)
        return len(found) + len(panda.jacob0_dot(q, v) @ v)

    def fdyn(span: float) -> list[float]:
        return free.fdyn(span, q).q[-1].tolist()

    return {"terms": terms, **{f"fdyn-{span:g}": partial(fdyn, span) for span in job["spans"]}}


if __name__ == "__main__":
    serve(calls, ("roboticstoolbox-python", "numpy"))

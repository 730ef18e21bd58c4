"""The loop called so that a fatal error of the physics engine comes back as a status."""

from __future__ import annotations

from palpate.engine.fatal import FATAL, Rescue, guarded, rescue_for, said
from palpate.engine.kernels import Kernel

__all__ = ["FATAL", "Rescues"]


class Rescues:
    """Calls kernels of one loop under guard; `said` is what the engine gave as its reason, once one was fatal."""

    def __init__(self, loop: int) -> None:
        self._loop = loop
        self._rescues: dict[Kernel, Rescue] = {}
        self.said: str | None = None

    def call(self, code: Kernel, number: int = 0) -> int:
        """code(loop, number), or FATAL; nothing may be called after that."""
        rescue = self._rescues.get(code)
        if rescue is None:
            rescue = self._rescues[code] = rescue_for(code)
        status = guarded(rescue.address, self._loop, number)
        if status == FATAL:
            self.said = said(rescue)
        return status

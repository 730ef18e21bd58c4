"""Symbolic equations of motion: derived, printed, checked against the numeric robot, turned into code.

`palpate.derive(robot)` is `derive` of this package: the package itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.derive.derivation import Derivation
    from palpate.derive.start import derive, derive_from_energy, derive_pole

__all__ = ["Derivation", "derive", "derive_from_energy", "derive_pole"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Derivation": "palpate.derive.derivation",
        "derive": "palpate.derive.start",
        "derive_from_energy": "palpate.derive.start",
        "derive_pole": "palpate.derive.start",
    },
)


class _Room(ModuleType):
    """A package that answers to its function's name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from palpate.derive.start import derive as begin

        return begin(*arguments, **options)


sys.modules[__name__].__class__ = _Room

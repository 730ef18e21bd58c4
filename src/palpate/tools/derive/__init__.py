"""Symbolic equations of motion: derived, printed, checked against the numeric robot, turned into code.

The package itself can be called, since `palpate.derive` was its name until 0.2: that is `derive` of this package.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation as Derivation
    from palpate.tools.derive.start import (
        derive as derive,
        derive_from_energy as derive_from_energy,
        derive_pole as derive_pole,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)


class _CallablePackage(ModuleType):
    """A package that answers to its function's name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from palpate.tools.derive.start import derive as begin

        return begin(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage

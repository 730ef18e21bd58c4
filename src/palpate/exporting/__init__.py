"""A verified law as a C library: the machine code that was proved is the machine code that runs."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.exporting.folder import Exported, export
    from palpate.exporting.load import load_exported

__all__ = ["Exported", "export", "load_exported"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Exported": "palpate.exporting.folder",
        "export": "palpate.exporting.folder",
        "load_exported": "palpate.exporting.load",
    },
)

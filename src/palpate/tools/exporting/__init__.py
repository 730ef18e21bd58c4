"""A verified law as a C library: the machine code that was proved is the machine code that runs."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.tools.exporting.folder import Exported as Exported, export as export
    from palpate.tools.exporting.load import load_exported as load_exported

__getattr__, __dir__, __all__ = lazy_names(__name__)

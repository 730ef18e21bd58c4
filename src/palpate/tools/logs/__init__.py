"""Recordings of real arms: read, cleaned, and compared with the model, the law and the promises.

A tool: it imports the core, and nothing of the core imports it. `palpate log` is its command.
"""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.tools.logs.cleaning import Motion as Motion, cleaned as cleaned
    from palpate.tools.logs.columns import ColumnMap as ColumnMap, Log as Log, load_log as load_log
    from palpate.tools.logs.identify import Identification as Identification, identify as identify
    from palpate.tools.logs.rollout import compare_models as compare_models

__getattr__, __dir__, __all__ = lazy_names(__name__)

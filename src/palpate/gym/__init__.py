"""A scenario as a Gymnasium environment: `pip install 'palpate[gym]'`."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.gym.environment import ContactEnv as ContactEnv, Moment as Moment
    from palpate.gym.vector import ThreadedEnvs as ThreadedEnvs

__getattr__, __dir__, __all__ = lazy_names(__name__)

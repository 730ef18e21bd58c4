"""A scenario as a Gymnasium environment: `pip install 'palpate[gym]'`."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.gym.environment import ContactEnv, Moment
    from palpate.gym.vector import ThreadedEnvs

__all__ = ["ContactEnv", "Moment", "ThreadedEnvs"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ContactEnv": "palpate.gym.environment",
        "Moment": "palpate.gym.environment",
        "ThreadedEnvs": "palpate.gym.vector",
    },
)

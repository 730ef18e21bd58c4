"""A scenario as a Gymnasium environment: `pip install 'palpate[gym]'`.

Importing this package makes every shipped scenario known to Gymnasium: `gymnasium.make("palpate/PandaWall-v0")`.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.tools.gym.environment import ContactEnv as ContactEnv, Moment as Moment, ThreadedEnvs as ThreadedEnvs

__getattr__, __dir__, __all__ = lazy_names(__name__)


def environment_id(scenario: str) -> str:
    """Gymnasium's name of a shipped scenario: "palpate/PandaWall-v0" for "panda-wall"."""
    words = "".join(word[:1].upper() + word[1:] for word in scenario.split("-"))
    return f"palpate/{words}-v0"


def _register() -> None:
    import gymnasium

    from palpate.scenario.file.folders import shipped

    for name in shipped():
        if environment_id(name) not in gymnasium.registry:
            # An episode ends with the scenario's duration by itself.
            entry = "palpate.tools.gym.environment:ContactEnv"
            gymnasium.register(environment_id(name), entry, kwargs={"scenario": name}, order_enforce=True)


if find_spec("gymnasium"):
    _register()

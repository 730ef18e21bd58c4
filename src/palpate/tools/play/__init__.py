"""A page with sliders: every move runs the scenario again, in place, and redraws it; the arm can be pushed by hand."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.tools.play.server import Playing as Playing, play as play

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""Assemble the parts of a run, step them through time, and record what happened."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.run.parts import Parts, StopWhen
    from palpate.run.simulate import simulate_many

__all__ = ["Parts", "StopWhen", "simulate_many"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Parts": "palpate.run.parts",
        "StopWhen": "palpate.run.parts",
        "simulate_many": "palpate.run.simulate",
    },
)

"""Plots, report and replay of traces."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.views.ellipsoids import draw_ellipsoids
    from palpate.views.figures import save_figures
    from palpate.views.mcap_file import save_mcap
    from palpate.views.pages.comparison import compare
    from palpate.views.pages.page import report
    from palpate.views.pages.player import replay, serve_replay
    from palpate.views.pages.sweep_page import sweep_report

__all__ = [
    "compare",
    "draw_ellipsoids",
    "replay",
    "report",
    "save_figures",
    "save_mcap",
    "serve_replay",
    "sweep_report",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "compare": "palpate.views.pages.comparison",
        "draw_ellipsoids": "palpate.views.ellipsoids",
        "replay": "palpate.views.pages.player",
        "report": "palpate.views.pages.page",
        "save_figures": "palpate.views.figures",
        "save_mcap": "palpate.views.mcap_file",
        "serve_replay": "palpate.views.pages.player",
        "sweep_report": "palpate.views.pages.sweep_page",
    },
)

"""Plots, report and replay of traces."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.views.figures import save_figures as save_figures
    from palpate.views.mcap_file import save_mcap as save_mcap
    from palpate.views.pages.comparison import compare as compare
    from palpate.views.pages.laws_page import laws_report as laws_report
    from palpate.views.pages.page import report as report
    from palpate.views.pages.player import replay as replay, serve_replay as serve_replay
    from palpate.views.pages.sweep.page import sweep_report as sweep_report

__getattr__, __dir__, __all__ = lazy_names(__name__)

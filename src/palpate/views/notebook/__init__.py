"""Plots, tables, replays and progress in a notebook: HTML without a server, and matplotlib's axes.

Importing the package registers them with `palpate.display`.
"""

from palpate.views.notebook import datasets, plot, progress, replay, tables  # noqa: F401 - each registers its functions

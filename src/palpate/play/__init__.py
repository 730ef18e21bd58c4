"""A page with sliders: every move runs the scenario again, in place, and redraws it; the arm can be pushed by hand."""

from palpate.play.server import Playing as Playing, play as play

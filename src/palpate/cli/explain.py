"""Explain a key of a scenario: its meaning, unit, default and bounds.

examples:
  palpate explain                                 the sections of a scenario
  palpate explain control                         the laws
  palpate explain control.cartesian-impedance     a law: its equation and its gains
  palpate explain world.surfaces.stiffness        one setting
  palpate explain metrics                         what can be bounded
  palpate explain contact_force                   a channel, a metric, a scenario, or settings by their last name
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from palpate.cli.console import patience
from palpate.cli.tables import print_table, say
from palpate.errors import UnknownName

if TYPE_CHECKING:
    from palpate.scenario.explanation import Explanation
    from palpate.scenario.fields import Setting


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("explain", help="explain a setting: unit, default, bounds", description=__doc__)
    parser.add_argument("key", nargs="?", default="", metavar="KEY", help="world.surfaces, force_peak … (the sections)")


def run(args: argparse.Namespace) -> int:
    """Look the key up and print what there is to say."""
    with patience("loading …"):
        from palpate.scenario.explanation import explain

        channel = _channel(args.key)
        try:
            explanation = explain(args.key)
        except UnknownName:
            if channel is None:
                raise
            explanation = None
    for index, one in enumerate(one for one in (channel, explanation) if one is not None):
        if index:
            print()
        _print(one)
    return 0


def _channel(name: str) -> Explanation | None:
    """Description of a recorded channel; None if it is no channel."""
    from palpate.cli.list import SECTIONS
    from palpate.scenario.explanation import Explanation

    if not name or "." in name:
        return None
    known = {shown: (unit, text) for shown, unit, text in SECTIONS["channels"]().rows}
    if name not in known:
        return None
    unit, text = known[name]
    return Explanation(name, f"a recorded channel, trace[{name!r}]: {text} [{unit}]")


def _allowed(one: Setting) -> str:
    """Bounds, or the words that may stand there; laws and kinds are listed by their section."""
    choices = one.allowed.startswith("one of ") and one.key not in ("law", "kind")
    return one.allowed.removeprefix("one of ") if choices else one.bounds


def _print(explanation: Explanation) -> None:
    from palpate.scenario.explanation import default_text

    say(f"{explanation.key}: {explanation.text}" if explanation.key else explanation.text)
    if len(explanation.settings) == 1 and explanation.key.split(".")[-1] in explanation.settings:
        one = next(iter(explanation.settings.values()))
        say(f"  unit     {one.unit}\n  allowed  {one.allowed}\n  default  {default_text(one)}", indent=" " * 9)
        return
    if explanation.settings:
        rows = [
            [key, "" if one.unit == "1" else one.unit, default_text(one), _allowed(one), one.help]
            for key, one in explanation.settings.items()
        ]
        print()
        print_table(["key", "unit", "default", "allowed", "what it is"], rows, "lllll")
    if explanation.choices:
        print()
        print_table(["name", "what it is"], [[name, text] for name, text in explanation.choices.items()], "ll")

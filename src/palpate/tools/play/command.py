"""Play with a scenario in the browser: every move of a slider runs it again and redraws it.

examples:
  palpate play panda-wall --open
  palpate play panda-wall --set world.driver.delay=5
  palpate play mine.toml --port 8000

The page is served on 127.0.0.1 until Ctrl-C; its address contains a token. It shows the robot, the force, verdicts and
a forecast from the run and from the poles of its loop. Any setting can have a slider. In the live mode the run goes on
at real time, and the arm is pushed with the mouse. Scenarios are saved into the working folder.
Exit code: 0 after Ctrl-C, 2 for bad input.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from palpate.cli.check import add_scenario, model_overrides, scenario_asked
from palpate.cli.console import open_address, patience, starting
from palpate.cli.signals import was_expected

DONE = 0


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    about = "sliders in the browser: every move runs the scenario again; push the arm by hand"
    parser = subparsers.add_parser("play", help=about, description=__doc__)
    add_scenario(parser)
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port of 127.0.0.1 (any free one)")


def run(args: argparse.Namespace) -> int:
    """Load, make the first run, serve until Ctrl-C."""
    with patience(starting):
        from palpate.tools.play.server import Playing
        from palpate.tools.play.session import Session

        scenario = scenario_asked(args)
        overrides = [*model_overrides(args), *args.overrides]
        words = tuple(word for text in overrides for word in ("--set", text))
        session = Session(scenario, args.scenario, words)
        session.warm_up()
    server = Playing(session, args.port)
    print(f"playing {shlex.quote(args.scenario)} at {server.url} until Ctrl-C", flush=True)
    if args.open and not open_address(server.url):
        print("palpate: --open: no display and no browser here; open the address elsewhere", file=sys.stderr)
    server.wait()
    was_expected()
    return DONE

"""Serve the robot and the world of a scenario over Franka's FCI protocol (version 10, that of libfranka 0.18 to 0.21).

examples:
  palpate serve fr3-wall                        then run your libfranka, pylibfranka or franky program on 127.0.0.1
  palpate serve fr3-wall --pace client          the world waits for each command: nothing is lost on a busy machine
  palpate serve fr3-wall --faults commands-lost@2.5+0.02 --clients 1
  palpate serve fr3-wall --press stop@2+1       a person presses the user stop at 2 s and releases it at 3 s
  palpate serve fr3-wall --gripper 0.03@0.45,0.1,0.4   a gripper, and an object of 30 mm that it can fetch there
  palpate serve fr3-wall --set world.surfaces.wall.stiffness=1e5 --host 127.0.0.2

Each connection starts the scenario again and writes a folder like `palpate run`; the law of the scenario and the
duration of its run are not used. The next client is served while the report of the last one is written. At a terminal
the key s presses and releases the user stop, g the guiding buttons. Ends with Ctrl-C, or after --clients connections.
The robot is simulated: palpate has never moved a real arm, and is not a safety device.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING

from palpate.cli.check import add_scenario, scenario_asked
from palpate.cli.console import CompileProgress
from palpate.cli.folder import PARTIAL, claim_folder
from palpate.cli.pages import PagesWriter
from palpate.cli.signals import undivided, was_expected, was_interrupted
from palpate.errors import InvalidInput, harmless

if TYPE_CHECKING:
    from palpate.scenario.model import Scenario
    from palpate.tools.serving.protocol.link import ClientConnection
    from palpate.tools.serving.server import Server

MOST_CLIENTS = 100  # that leave a folder each, if not said


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "serve",
        help="a Franka arm behind its own protocol, for programs of the robot",
        description=__doc__,
    )
    add_scenario(parser)
    parser.add_argument("--faults", metavar="WHAT@T[+S]", action="append", default=[],
                        help="add a fault at T seconds for S seconds (repeatable)")  # fmt: skip
    parser.add_argument("--press", metavar="WHAT@T+S", action="append", default=[],
                        help="press the user stop (stop) or the guiding buttons (guide) at T for S seconds;"
                             " at a terminal the keys s and g do so")  # fmt: skip
    parser.add_argument("--gripper", metavar="WIDTH[@X,Y,Z]", nargs="?", const="",
                        help="serve a two-finger gripper too (port 1338), around an object of this width (m), or with"
                             " the object at this place of the world")  # fmt: skip
    parser.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="IPv4 address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=1337, metavar="N", help="TCP port (1337, which libfranka uses)")
    parser.add_argument("--pace", metavar="X", default="1",
                        help="ratio of simulated to real time (1), or `client`: wait for each command")  # fmt: skip
    parser.add_argument("--duration", type=float, default=300.0, metavar="S", help="longest connection, s (300)")
    parser.add_argument("--clients", type=int, metavar="N", default=MOST_CLIENTS,
                        help=f"stop after this number of clients; each leaves a folder ({MOST_CLIENTS})")  # fmt: skip
    parser.add_argument("--allow-network", action="store_true", help="allow an address that other machines can reach")
    parser.add_argument("--out", metavar="DIR", help="folder to write, with --clients 1 (runs/<name>-<n>)")
    parser.add_argument("--no-report", action="store_true", help="write no figures and no report.html")
    parser.add_argument("--quiet", action="store_true", help="print one line per client only")


def run(args: argparse.Namespace) -> int:
    """Load, listen, and serve one client after the other."""
    from palpate.tools.serving.buttons import read_press, typed_keys
    from palpate.tools.serving.gripper.fingers import read_fingers
    from palpate.tools.serving.protocol.link import check_address
    from palpate.tools.serving.server import Server

    pace = _checked(args)
    fingers = None if args.gripper is None else read_fingers(args.gripper)
    check_address(args.host, args.allow_network)
    presses = [read_press(text) for text in args.press]
    scenario = _scenario(args)
    with CompileProgress(args.quiet):
        address = {"host": args.host, "port": args.port, "network": args.allow_network}
        server = Server(scenario, pace=pace, duration=args.duration, presses=presses, say=_say, **address)
    pages = None if args.no_report or args.clients == 1 else PagesWriter(args.quiet)
    server.fingers = fingers
    with server, typed_keys() as server.keys, _gripper(server, args.host, pace):
        return _serve_all(server, scenario, args, pages)


def _gripper(server: Server, host: str, pace: float | None) -> AbstractContextManager[object]:
    """The gripper beside the robot, if one is asked for."""
    from palpate.tools.serving.gripper.gripper import GripperServer

    return nullcontext() if server.fingers is None else GripperServer(server.fingers, host, pace=pace or 1.0)


def _serve_all(server: Server, scenario: Scenario, args: argparse.Namespace, pages: PagesWriter | None) -> int:
    """One client after the other; the pages of their runs are written meanwhile."""
    host, port = server.address
    served = 0
    while served < args.clients:
        try:  # Ctrl-C may come as soon as the address is known
            if served == 0:
                print(f"serving {scenario.name} on {host}:{port} until Ctrl-C", flush=True)
            link = server.wait()
        except KeyboardInterrupt:
            was_expected()
            break
        if not _serve(server, link, scenario, args, pages) or was_interrupted():
            if pages is not None:
                pages.give_up()
            return 130
        served += 1
    if pages is not None:
        pages.finish()
    print(f"served {served} client{'' if served == 1 else 's'}")
    return 0


def _say(text: str) -> None:
    print(harmless(f"palpate: {text}"), file=sys.stderr, flush=True)


def _checked(args: argparse.Namespace) -> float | None:
    """The pace, None for the client's; refuse options that do not go together."""
    if args.out is not None and args.clients != 1:
        raise InvalidInput("--out is the folder of one client", hint="add --clients 1")
    if not 0 < args.port < 65536:
        raise InvalidInput(f"--port must be 1 to 65535, got {args.port}", hint="libfranka uses 1337")
    if args.clients < 1:
        raise InvalidInput(f"--clients must be at least 1, got {args.clients}")
    if args.pace == "client":
        return None
    try:
        pace = float(args.pace)
    except ValueError:
        pace = 0.0
    if not 0.001 <= pace <= 1.0:
        raise InvalidInput(f"--pace must be `client`, or a number from 0.001 to 1, got {args.pace}")
    return pace


def _scenario(args: argparse.Namespace) -> Scenario:
    from palpate.world.sensing.faults import read_fault

    added = tuple(read_fault(text) for text in args.faults)
    scenario = scenario_asked(args)
    faults = [fault.model_dump(exclude_none=True) for fault in (*scenario.world.faults, *added)]
    return scenario.replace(world__faults=faults) if added else scenario


def _serve(
    server: Server,
    link: ClientConnection,
    scenario: Scenario,
    args: argparse.Namespace,
    pages: PagesWriter | None,
) -> bool:
    """Serve one client and write its run; False if that was interrupted."""
    from palpate.cli.run import last_line, print_story, written

    now = argparse.Namespace(**{**vars(args), "no_report": args.no_report or pages is not None})
    with ExitStack() as stack:
        with undivided():
            folder = stack.enter_context(claim_folder(args.out, scenario.name, args.scenario))
        trace, results, output = written(
            scenario, folder, now, lambda saving: server.serve(link, folder.path / PARTIAL, saving.begin)
        )
    if pages is not None and trace.outcome.kind != "interrupted":
        pages.add(folder.path)
    if not args.quiet:
        print_story(scenario, trace, results, ())
    print(last_line(trace, results, output), flush=True)
    return trace.outcome.kind != "interrupted"

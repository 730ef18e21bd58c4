"""`palpate new NAME`: a commented scenario to start from."""

from __future__ import annotations

import argparse

_EXAMPLES = """\
examples:
  palpate new mine && palpate run mine.toml
  palpate new circle --from iiwa14-pole-circle
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "new",
        help="write a commented scenario file to start from",
        description="Write NAME.toml, a scenario that runs as it is, with a comment at every key.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="name of the scenario; the file is NAME.toml")
    parser.add_argument("--from", metavar="SCENARIO", dest="source",
                        help="start from this one, a shipped name or a .toml file (a Panda on a wall)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Write the file, unless there is one."""
    import re
    from pathlib import Path

    from palpate.errors import FileError, InvalidInput
    from palpate.files import write_file

    path = Path(args.name if args.name.endswith(".toml") else f"{args.name}.toml")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", path.stem):
        raise InvalidInput(f"a scenario's name is letters, digits, '-', '_' and '.', got {path.stem!r}")
    if path.exists():
        raise FileError(f"{path} exists already", hint="choose another name, or delete it first")
    from palpate.scenario.file.starter import starter_text

    text = starter_text(path.stem, args.source)
    write_file(path, text)
    print(f"wrote {path}; run it with: palpate run {path}")
    return 0

"""Set up palpate on this machine: shell completion, the schema for editors, the cache of compiled kernels.

examples:
  palpate tools completion bash >> ~/.bashrc
  palpate tools schema > palpate.schema.json
  palpate tools cache
"""

from __future__ import annotations

import argparse

from palpate.cli import cache, completion, schema
from palpate.cli.completion import complete as complete

_TOOLS = {"completion": completion, "schema": schema, "cache": cache}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command and its parts."""
    parser = subparsers.add_parser(
        "tools", help="shell completion, schema for editors, cache of kernels", description=__doc__
    )
    parts = parser.add_subparsers(dest="tool", metavar="TOOL", required=True, parser_class=type(parser))
    for module in _TOOLS.values():
        module.add_parser(parts)


def run(args: argparse.Namespace) -> int:
    """Run the part that was asked for."""
    return _TOOLS[args.tool].run(args)

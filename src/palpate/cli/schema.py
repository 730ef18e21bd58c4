"""Print the JSON Schema of a scenario file. Editors that know TOML check and complete with it.

example: palpate tools schema > palpate.schema.json
"""

from __future__ import annotations

import argparse
import json

from palpate.cli.console import patience, starting


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    subparsers.add_parser("schema", help="print the JSON Schema of a scenario file, for editors", description=__doc__)


def run(args: argparse.Namespace) -> int:
    """Print the schema."""
    with patience(starting):
        from palpate.scenario.schema import json_schema

        schema = json_schema()
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0

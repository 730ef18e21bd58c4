"""Print a script that completes commands, options, scenarios, robots, keys and folders of runs.

to use it:
  bash   palpate tools completion bash >> ~/.bashrc
  zsh    palpate tools completion zsh >> ~/.zshrc
  fish   palpate tools completion fish > ~/.config/fish/completions/palpate.fish
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import palpate as pp
from palpate.cli.folder import TRACE
from palpate.cli.list import SECTIONS
from palpate.user_code import allowing

SHELLS = ("bash", "zsh", "fish")


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "completion", help="print a completion script for bash, zsh or fish", description=__doc__
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> int:
    """Print the script; it asks the program itself for words, so that it never goes out of date."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["palpate"], shell=args.shell))
    return 0


def complete(parser: argparse.ArgumentParser, commands: Iterable[argparse.ArgumentParser]) -> None:
    """Answer the shell, and end the process; each argument is completed by what its metavar asks for."""
    import argcomplete
    from argcomplete.completers import DirectoriesCompleter, FilesCompleter

    known = {**_COMPLETERS, "DIR": DirectoriesCompleter()}
    for action in (action for command in commands for action in command._actions):
        if isinstance(action.metavar, str) and action.metavar in known:
            action.completer = known[action.metavar]  # pyright: ignore[reportAttributeAccessIssue]
    with allowing("nothing"):  # the tabulator key runs nobody's code
        argcomplete.autocomplete(parser, always_complete_options=False, default_completer=FilesCompleter())


def _files(prefix: str, **_: Any) -> list[str]:
    from argcomplete.completers import FilesCompleter

    return list(FilesCompleter()(prefix))


def _scenarios(prefix: str, **_: Any) -> list[str]:
    from palpate.scenario.file.folders import shipped

    return [*shipped(), *_files(prefix)]


def _robots(prefix: str, **_: Any) -> list[str]:
    from palpate.robot.catalogue import names

    return [*names(), *_files(prefix)]


def _runs(prefix: str, **_: Any) -> list[str]:
    """Folders of runs below `runs`, and files."""
    return [*(str(trace.parent) for trace in sorted(Path("runs").glob(f"*/{TRACE}"))), *_files(prefix)]


def _explained(prefix: str, **_: Any) -> list[str]:
    """Keys that `explain` knows, one level below what is written already."""
    from palpate.scenario.explanation import explain

    above = prefix.rpartition(".")[0]
    known = explain(above)
    return [f"{above}.{name}" if above else name for name in (*known.settings, *known.choices)]


def _keys(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Keys of the scenario on the command line, one level below what is written already; a value follows behind `=`."""
    data: Any = pp.load_scenario(parsed_args.scenario).as_data()
    above = prefix.rpartition(".")[0]
    for part in above.split(".") if above else []:
        data = _below(data)[part]
    start = f"{above}." if above else ""
    return [f"{start}{name}{'.' if _below(item) else '='}" for name, item in _below(data).items()]


def _below(data: Any) -> dict[str, Any]:
    """Entries of a table by key, of a list of tables by their names or indices; none of anything else."""
    if isinstance(data, list) and all(isinstance(item, dict) for item in data):
        return {str(item.get("name", index)): item for index, item in enumerate(data)}
    return data if isinstance(data, dict) else {}


_COMPLETERS: dict[str, Any] = {
    "SCENARIO": _scenarios, "ROBOT": _robots, "MODEL": _robots, "SECTION": lambda **_: list(SECTIONS), "TRACE": _runs,
    "ROBOT|SCENARIO": lambda **asked: [*_robots(**asked), *_scenarios(**asked)],
    "KEY": _explained, **dict.fromkeys(("KEY=VALUE", "KEY=WHAT", "KEY=WHERE"), _keys),
}  # fmt: skip

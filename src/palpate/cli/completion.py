"""`palpate completion SHELL`: a script that lets the shell complete commands, options and names."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")
_HELP = """\
to use it:
  bash   palpate completion bash >> ~/.bashrc
  zsh    palpate completion zsh > a folder of $fpath, as _palpate
  fish   palpate completion fish > ~/.config/fish/completions/palpate.fish
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "completion",
        help="print a completion script for bash, zsh or fish",
        description="Print a script that completes commands, options, robots and scenarios.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    table = words()
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](table), end="")
    return 0


def words() -> dict[str, tuple[str, list[str], list[str]]]:
    """Of each command: its help, its options, and names that may follow it."""
    from palpate.cli.main import all_parsers

    names = _names()
    table = {}
    for command, (parser, help) in all_parsers().items():
        options = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
        table[command] = (help, sorted(options), names.get(command, []))
    return table


def _names() -> dict[str, list[str]]:
    from palpate.cli.list import SECTIONS
    from palpate.robot.catalogue import names
    from palpate.scenario.load import shipped

    robots, scenarios = names(), shipped()
    many = dict.fromkeys(("run", "sweep", "study", "tune"), scenarios)
    return {**many, "show": robots, "check": robots, "list": list(SECTIONS), "completion": list(SHELLS)}


def _bash(table: dict[str, tuple[str, list[str], list[str]]]) -> str:
    cases = "\n".join(
        f'    {command}) words="{" ".join([*options, *names])}" ;;' for command, (_, options, names) in table.items()
    )
    return f"""\
# palpate completion for bash
_palpate() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{" ".join(table)} --help --version"
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _palpate palpate
"""


def _zsh(table: dict[str, tuple[str, list[str], list[str]]]) -> str:
    commands = "\n".join(f"    '{command}:{_plain(help)}'" for command, (help, _, _) in table.items())
    cases = "\n".join(
        f"    {command}) compadd -- {' '.join([*options, *names])}; _files ;;"
        for command, (_, options, names) in table.items()
    )
    return f"""\
#compdef palpate
local -a commands
commands=(
{commands}
)
if (( CURRENT == 2 )); then
  _describe command commands
else
  case "$words[2]" in
{cases}
  esac
fi
"""


def _fish(table: dict[str, tuple[str, list[str], list[str]]]) -> str:
    lines = ["# palpate completion for fish"]
    for command, (help, options, names) in table.items():
        lines.append(f"complete -c palpate -n __fish_use_subcommand -f -a {command} -d '{_plain(help)}'")
        inside = f"complete -c palpate -n '__fish_seen_subcommand_from {command}'"
        lines += [f"{inside} -l {option.removeprefix('--')}" for option in options]
        lines += [f"{inside} -a '{' '.join(names)}'"] if names else []
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("'", "").replace(":", "")

"""Design, simulate and prove controllers for robots that touch things.

examples:
  palpate run panda-wall --open     simulate a shipped scenario, see its report
  palpate run panda-wall --set world.surfaces.wall.stiffness=4e4
  palpate design panda-wall         ask its loop: what happens, modes, limits
  palpate new mine --robot ur5e     a commented scenario file to start from
"""

# Exit codes: 0 done, 1 ran but diverged or broke a bound on its metrics, 2 misuse or bad input (such as a model with
# errors), 70 an error palpate did not expect (its own defect; --debug shows the traceback), 130 interrupted, 141 the
# reader of the output went away.
# Nothing heavy is imported here or at the top of a command's module.

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import io
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType, ModuleType
from typing import Any

from palpate import __version__, toolbox
from palpate.cli.signals import Listening, ignore_further, leave, was_interrupted
from palpate.errors import InvalidInput, PalpateError, PalpateNote, UnknownName, harmless, shortened
from palpate.plugins import Table
from palpate.user_code import allowing

# One word per command: the module palpate/cli/<name>.py with add_parser(subparsers) and run(args) -> exit code.
# An entry point names such a module of another package. The first help page describes the first ones.
FIRST = ("run", "design", "new", "show", "sweep", "compare", "export", "serve")
_OF_CLI = ("run", "design", "new", "show", "compare", "list", "explain", "check", "report", "tools")

# Old spellings, and what to type instead.
_MOVED = {
    "study": "sweep --uncertain",
    "replay": "report --replay",
    **{name: f"tools {name}" for name in ("schema", "cache", "completion")},
}

# Commands that show what others made: no code that a scenario or folder names runs in them, unless --code asks for it.
_LOOKS = {"list", "explain", "new", "show", "derive", "check", "report", "compare", "tools", "mark", "cases"}

_MODULES = {**{name: f"palpate.cli.{name}" for name in _OF_CLI}, **toolbox.commands()}
_SHIPPED = tuple(_MODULES)
COMMANDS = Table("palpate.commands", _MODULES, lambda entry, module: module.__name__)

INTERRUPTED, BROKEN_PIPE, MISUSE, UNEXPECTED = 130, 141, 2, 70

# A negative number, or a list that starts with one: a value, never an option.
_NEGATIVE = re.compile(r"-(\.?\d|inf|nan|pi)", re.IGNORECASE)


# Files are written by palpate.files, whose errors name them: what fails in this way without a name is the output.
_CANNOT_PRINT = (errno.ENOSPC, errno.EIO, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; `argv` defaults to the process's own arguments."""
    words = list(sys.argv[1:] if argv is None else argv)
    _never_fail_to_print()
    warnings.formatwarning = lambda message, *where, **more: f"palpate: warning: {message}\n"
    code = INTERRUPTED
    # One more, while the first was told.
    with Listening(last=argv is None), contextlib.suppress(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("ignore", PalpateNote)  # commands print them
        code = _run_safely(words)
    if code == INTERRUPTED and argv is None:
        leave(code)
    return code


def _run_safely(words: list[str]) -> int:
    try:
        try:
            code = _run(words)
        except SystemExit as stop:  # argparse's way to end after --help, --version or a usage error
            code = stop.code if isinstance(stop.code, int) else MISUSE
        if sys.stdout is not None:
            sys.stdout.flush()  # a closed pipe or a full disk must show here, not at exit
        if code != INTERRUPTED and was_interrupted():
            _print_error("interrupted after the last step; what was done is kept")
            return INTERRUPTED
        return code
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in words and not isinstance(error, KeyboardInterrupt | BrokenPipeError):
            raise
        return _report_error(error)


def _report_error(error: BaseException) -> int:
    """One line about what went wrong, and the exit code that says what kind of thing it was."""
    if ignore_further() or isinstance(error, KeyboardInterrupt):
        _print_error("interrupted")
        return INTERRUPTED
    if isinstance(error, PalpateError):
        _print_error(str(error))
        return MISUSE
    if isinstance(error, BrokenPipeError):
        _print_no_more()
        return BROKEN_PIPE
    if isinstance(error, OSError) and error.errno in _CANNOT_PRINT and error.filename is None:
        _print_no_more()
        _print_error(f"cannot write the output: {os.strerror(error.errno or 0)}")
        return MISUSE
    if isinstance(error, FileNotFoundError) and _is_working_folder_gone():
        _print_error("the working folder was deleted\n  hint: change to a folder that exists")
        return MISUSE
    message = " ".join(str(error).split())
    kind = "out of memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {shortened(message, 300)}"
    _print_error(f"unexpected {harmless(kind)}\n  hint: a defect of palpate; the same command with --debug shows where")
    return UNEXPECTED


def _is_working_folder_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _print_no_more() -> None:
    """Redirect stdout to nowhere, so that Python does not try to flush it again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody listens
        print(f"palpate: {text}", file=sys.stderr)


def _run(words: list[str]) -> int:
    completing = "_ARGCOMPLETE" in os.environ  # the shell asks for words
    command = next((word for word in words if not word.startswith("-")), None)  # options before it take no value
    if command in _MOVED:
        raise InvalidInput(f"'palpate {command}' is 'palpate {_MOVED[command]}' now", hint=f"palpate {_MOVED[command]}")
    if command is not None and command not in COMMANDS:
        raise UnknownName("command", command, COMMANDS)
    modules = _modules(
        COMMANDS if completing else [*_SHIPPED, *([command] if command not in (None, *_SHIPPED) else ())]
    )
    parser, commands = _parsers(modules, COMMANDS.added() if command is None and not completing else ())
    if completing:
        modules["tools"].complete(parser, commands.values())
    args, unknown = parser.parse_known_args([f" {word}" if _NEGATIVE.match(word) else word for word in words])
    if args.command is None and unknown:
        _refuse(unknown, parser)
    if args.command is None:
        parser.print_help(sys.stderr)
        return MISUSE
    if unknown:
        _refuse(unknown, commands[args.command])
    looks = args.command in _LOOKS and not getattr(args, "code", False) and not getattr(args, "laws", None)
    with allowing("nothing" if "--no-code" in words else "asked" if looks else "all"):
        return _extended(modules[args.command].run, args.command)(args)


def _extended(run: Callable[[argparse.Namespace], int], command: str) -> Callable[[argparse.Namespace], int]:
    """A command under the options that tools add to it."""
    for extension in toolbox.options_of(command):
        run = partial(extension.run, command=run)
    return run


def _modules(names: Iterable[str]) -> dict[str, ModuleType]:
    return {name: importlib.import_module(COMMANDS[name]) for name in names}


def _parsers(
    modules: dict[str, ModuleType], named: Iterable[str] = ()
) -> tuple[_Front, dict[str, argparse.ArgumentParser]]:
    """The whole parser, and each command's own; commands that are only `named` are not loaded."""
    parser = _Front(prog="palpate", description=__doc__, usage="palpate [-h] [--version] COMMAND …")
    parser.add_argument("--version", action="version", version=f"palpate {__version__}")
    _add_shared(parser)
    subparsers = parser.add_subparsers(prog="palpate", dest="command", metavar="COMMAND", parser_class=_Command)
    for name, module in modules.items():
        module.add_parser(subparsers)
        for extension in toolbox.options_of(name):
            extension.add_options(subparsers.choices[name])
    parser.described = {action.dest: str(action.help) for action in subparsers._choices_actions}
    parser.more = [name for name in (*_SHIPPED, *named) if name not in FIRST]
    for command in subparsers.choices.values():
        _add_shared(command)
    return parser, dict(subparsers.choices)


def descriptions() -> Mapping[str, str]:
    """Every command, those of other packages too, with the line that says what it does."""
    return _parsers(_modules(COMMANDS))[0].described


class _Command(argparse.ArgumentParser):
    """A command's own parser; options are never abbreviated.

    The text of a command is the docstring of its module: the first paragraph stands above the options, the others
    below them as they are written.
    """

    def __init__(self, **options: Any) -> None:
        description, _, epilog = (options.get("description") or "").partition("\n\n")
        description = textwrap.fill(" ".join(description.split()), shutil.get_terminal_size().columns - 2)
        text = {"description": description, "epilog": epilog.rstrip() or options.get("epilog")}
        formatter = argparse.RawDescriptionHelpFormatter if "\n" in (text["epilog"] or "") else argparse.HelpFormatter
        super().__init__(**{"formatter_class": formatter, "allow_abbrev": False, **options, **text})


class _Front(_Command):
    """The program's own parser. Its help describes the commands that come first, and names the others.

    Attributes:
        described: commands with the line that says what each does.
        more: names of those that the first page does not describe.
    """

    described: Mapping[str, str] = MappingProxyType({})
    more: Sequence[str] = ()

    def format_help(self) -> str:
        """The first page."""
        width = max(map(len, FIRST))
        more = textwrap.fill(", ".join(self.more), 78, initial_indent="  ", subsequent_indent="  ")
        return f"""\
{self.format_usage().rstrip()}
{self.description}

commands:
{chr(10).join(f"  {name:{width}}  {self.described[name]}" for name in FIRST if name in self.described)}
more, described by 'palpate list commands':
{more}

{self.epilog}

options: -h, --help, --version, --debug (show the traceback of an error),
  --no-code (refuse code that a scenario brings along, and xacro)
'palpate COMMAND --help' describes a command, 'palpate list' what is shipped.
"""


def _add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument("--no-code", action="store_true", help="refuse code that a scenario brings along, and xacro")


def _refuse(unknown: list[str], command: argparse.ArgumentParser) -> None:
    """Refuse the arguments that were left over: a misspelt option, or one argument too many."""
    option = next((word for word in unknown if word.startswith("-")), None)
    if option is None:
        command.error(f"unexpected argument {unknown[0].strip()!r}")
    known = [name for action in command._actions for name in action.option_strings]
    raise UnknownName(f"option of '{command.prog}'", option.split("=")[0], known)


def _never_fail_to_print() -> None:
    """A terminal that cannot encode '·' or 'ω' gets '?', not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())

"""Show where compiled kernels are kept between runs, or delete them all; they are compiled again.

PALPATE_CACHE_DIR names another folder. A kernel is never used after any
source or version it was made from has changed: clearing only frees disk
space.
"""

from __future__ import annotations

import argparse


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("cache", help="show or clear the cache of compiled kernels", description=__doc__)
    parser.add_argument("action", nargs="?", choices=("show", "clear"), default="show", help="show (default) or clear")


def run(args: argparse.Namespace) -> int:
    """Show or clear."""
    from palpate.engine.compiling.cache import clear_kernels, kept_kernels, versions

    if args.action == "clear":
        print(f"{clear_kernels()} files deleted")
        return 0
    kept = kept_kernels()
    print(f"folder    {kept.folder}{' (temporary)' if kept.problem else ''}")
    if kept.problem:
        print(f"because   {kept.problem}")
    print(f"made by   {versions()}")
    print(f"holds     {kept.files} files, {kept.size / 1e6:.1f} MB")
    others, size = kept.all_files - kept.files, kept.all_size - kept.size
    if others > 0:
        print(f"others    {others} files, {size / 1e6:.1f} MB, of other versions")
    return 0

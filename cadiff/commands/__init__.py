"""The commands of ``python -m cadiff``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence

import cadiff

from . import bench, check, demo, info, show
from .targets import CommandError

__all__ = ["main"]

COMMANDS = {"demo": demo, "check": check, "show": show, "bench": bench, "info": info}


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if not given. Without a command, or with options alone,
        it is ``demo``.

    Returns
    -------
    int
        The exit status: 0 if all is well, 1 if what was checked is wrong, 2 if what was asked for
        cannot be done.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="python -m cadiff",
        description=__doc__,
        epilog="python -m cadiff COMMAND --help says more, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"cadiff {cadiff.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, module in COMMANDS.items():
        assert module.__doc__ is not None
        about, _, epilog = module.__doc__.partition("\n\n")
        command = commands.add_parser(
            name,
            help=about,
            description=about,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    if not given or (given[0].startswith("-") and given[0] not in ("-h", "--help", "--version")):
        given.insert(0, "demo")
    options = parser.parse_args(given)
    try:
        return int(options.run(options))
    except CommandError as error:
        print(f"python -m cadiff {options.command}: {error}", file=sys.stderr)
        return 2
    except Exception:  # of the function, most likely
        traceback.print_exc()
        return 2

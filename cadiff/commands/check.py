"""Compare derivatives of a function with finite differences.

Forward and reverse mode are compared with differences and with each other. The exit status is 1 if
a derivative is wrong, and 2 if the function raises.

For example:
  python -m cadiff check models:loss --at "[1.0, 2.0]"
  python -m cadiff check models.py:Model.energy --at 0.5 --at "[1, 2, 3]" --order 2
"""

from __future__ import annotations

import argparse
import json

from ..inspection import check_grads
from .targets import CommandError, add_target, find_function, points_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--order", type=int, default=1, help="derivatives up to this order")
    parser.add_argument("--rtol", type=float, help="the relative difference that is allowed")
    parser.add_argument("--atol", type=float, help="the absolute difference that is allowed")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(options: argparse.Namespace) -> int:
    """Check, and say what was found."""
    function, points = find_function(options.function), points_of(options.at)
    if options.order < 1:
        raise CommandError(f"--order is a whole number, 1 or more, not {options.order}")
    message = None
    try:
        check_grads(function, points, options.order, atol=options.atol, rtol=options.rtol)
    except AssertionError as error:
        message = str(error)
    except Exception as error:
        if options.json:
            said = f"{type(error).__name__}: {error}"
            print(json.dumps({"function": options.function, "right": None, "message": said}))
        raise
    right = message is None
    if options.json:
        print(json.dumps({"function": options.function, "right": right, "message": message}))
    elif right:
        orders = "" if options.order == 1 else f", up to order {options.order}"
        print(f"{options.function}: derivatives agree with differences{orders}")
    else:
        print(f"{options.function}: {message}")
    return 0 if right else 1

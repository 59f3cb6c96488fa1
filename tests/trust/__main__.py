"""Measures what the page about trust shows, and writes it there.

    python -m tests.trust              measure what takes minutes, and write docs/trust.md
    python -m tests.trust NAME ...     measure these alone
    python -m tests.trust --write      measure nothing

Figures stand in `docs/trust.json`, each with its date; those that are not measured stay. What
fuzzers executed and which faults were planted is added there by `python -m tests.fuzz` and `python
-m tests.faults`.
"""

from __future__ import annotations

import argparse
import sys

from .figures import remember
from .measures import MEASURES, OF_HOURS
from .page import write_page


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.trust", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASURES))
    parser.add_argument("--write", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(MEASURES):
        parser.error(f"expected names of {', '.join(MEASURES)}, not {', '.join(unknown)}")
    names = arguments.names or [name for name in MEASURES if name not in OF_HOURS]
    for name in [] if arguments.write else names:
        print(f"{name} ...", flush=True)
        remember(name, f"python -m tests.trust {name}", MEASURES[name]())
    write_page()


if __name__ == "__main__":
    sys.exit(main())

"""``python -m cadiff``: the commands of the package; see `cadiff.commands`."""

import sys

from .commands import main

if __name__ == "__main__":
    sys.exit(main())

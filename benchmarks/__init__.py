"""Benchmarks of cadiff, and the plain opponents it is measured against.

Programs become machine code only where a benchmark asks for it: else the same call would be timed
interpreted at first, and then not.
"""

import os

os.environ.setdefault("CADIFF_NATIVE", "asked")

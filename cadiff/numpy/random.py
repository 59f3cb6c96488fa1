"""`numpy.random`, which `import cadiff.numpy.random` is. What is drawn carries no derivatives."""

import sys

from numpy import random

sys.modules[__name__] = random

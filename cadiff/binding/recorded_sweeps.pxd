# What other modules see of recorded_sweeps.pyx.

from .recording cimport Recording

cdef list pull_recorded(Recording recording, list outputs, list seeds, bint linear=*)

# What other modules see of gradients.pyx.

from .recorded_sweep cimport RecordedSweep
from .recording cimport Recording

cdef list pull_recorded(Recording recording, list outputs, list seeds, bint linear=*)
cdef RecordedSweep swept(Recording recording, list outputs, list seeds, bint linear, captures)

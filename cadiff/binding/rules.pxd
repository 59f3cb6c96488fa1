# What other modules see of rules.pyx.

from .generated.sweeps cimport *
from .generated.tape cimport *

cdef int pull_rule(CadTape *tape, size_t index, rule) except -1
cdef int push_rule(CadTape *tape, size_t index, CadLanes lanes, rule) except -1
cdef int pull_rule_along(CadTape *tape, size_t index, const CadAlong *along, rule) except -1
cdef list as_steps(list steps)

"""The compiled core: Var and Dual as types of C, and the way from Python into its sweeps.

`_core` is the one file of it: the core in C, the types, and all modules in Cython, which `loading`
makes of it when this package is imported. Each of these has a subject, its own names, and an order
among the others; they are gathered here for the rest of the package and its tests.
"""

from . import callers, foreign_names, interpreter, loading
from ._core import *
from .arguments import *
from .atoms import *
from .borrowed import *
from .calls import *
from .codes import *
from .complex_arithmetic import *
from .complexes import *
from .crew import *
from .digests import version_here
from .entries import *
from .factors import *
from .fast_paths import *
from .forward import *
from .functions import *
from .gradients import *
from .graph_numbers import *
from .graphs import *
from .guards import *
from .jacobians import *
from .lane_turns import *
from .nan_check import *
from .observers import *
from .recorded_sweeps import *
from .recording import *
from .results import *
from .rules import *
from .signatures import *
from .sparse import *
from .tape import *
from .trees import *
from .turns import *
from .watches import *

register_callers(
    callers.advice, callers.called, callers.explain, callers.has_own, callers.array_of
)
for _kind, _others in ((Var, foreign_names.VARS), (Dual, foreign_names.DUALS)):
    put_in_types(
        (_kind,), foreign_names.absent(foreign_names.OF_NUMBERS, foreign_names.NUMBERS, _others)
    )
register_libraries(callers.is_class_of_library)

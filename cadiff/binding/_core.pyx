"""The compiled core: Var, Dual and the functions of the table of operations.

The types and the operations are written in C (numbers/*.c), which puts them into this module. Here
are questions about the table and about this thread's tape; this module knows no other one.
"""

import sys

cdef extern from *:
    """
    /* This file, of all that include the header, holds NumPy's tables. */
    #define CADIFF_IMPORTS_NUMPY
    """

from .c_numbers cimport *
from .generated.tape cimport *

cdef extern from "numbers/objects/types.h":
    int _import_array() except -1
    int _import_umath() except -1

_import_array()
_import_umath()
cad_numbers_ready(sys.modules[__name__])


def operations() -> list[tuple[str, int, str]]:
    """The rows of the table: (name, arity, ufunc) of each public operation."""
    rows = []
    for op in range(<int>CAD_OP_THIRD + 1, <int>CAD_OP_COUNT):
        name = cad_op_info[op].name.decode()
        if not name.startswith("_"):
            rows.append((name, cad_op_info[op].arity, cad_op_info[op].ufunc.decode()))
    return rows


def functions() -> dict[str, Callable[..., Any]]:
    """The functions of the table by name, aliases included."""
    module = sys.modules[__name__]
    names = [name for name, _, _ in operations()] + [alias for alias, _ in aliases()]
    return {name: getattr(module, name) for name in names}


def aliases() -> list[tuple[str, str]]:
    """Pairs (alias, name) of operations known under two names."""
    cdef int i = 0
    pairs = []
    while cad_op_aliases[i][0] != NULL:
        pairs.append((cad_op_aliases[i][0].decode(), cad_op_aliases[i][1].decode()))
        i += 1
    return pairs


def operation_of(ufunc) -> Callable[..., Any] | None:
    """The function of the table that stands for a ufunc; None if there is none."""
    cdef int op = cad_find_op(ufunc)
    return None if op < 0 else getattr(sys.modules[__name__], cad_op_info[op].name.decode())


def register(functions: dict[Callable[..., Any], Callable[..., Any]], load: Callable[[], None],
             hook: Callable[[Any, str, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    """Tell NumPy's protocols where to go.

    functions: the registry, from NumPy's functions to those of the package. load: called before
    the first of them is looked up. hook: called as
    hook(ufunc, method, inputs, kwargs) for what is no plain call of an operation of the table.
    """
    cad_register(functions, load, hook)


def operation_names() -> tuple[list[str], list[int]]:
    """The name of each operation by its code, and how many operands it has."""
    names = [cad_op_info[op].name.decode() for op in range(<int>CAD_OP_COUNT)]
    return names, [cad_op_info[op].arity for op in range(<int>CAD_OP_COUNT)]


def operation_texts() -> list[str]:
    """Of each operation by its code: how its value is written in C, over x, y and z."""
    return [
        cad_op_values[op].text.decode() if cad_op_values[op].text != NULL else ""
        for op in range(<int>CAD_OP_COUNT)
    ]


def operation_calls() -> list[bool]:
    """Of each operation by its code: whether its value calls a function."""
    return [bool(cad_op_info[op].calls) for op in range(<int>CAD_OP_COUNT)]


def operation_kinds() -> dict[int, tuple[bool, bool]]:
    """Of each kind of array operations by its code: whether its result is a sum of products, and
    whether it goes through the last axis from its end."""
    return {
        op: (cad_op_sums_up(<CadOp>op), bool(cad_entry_kinds[op].traits & CAD_BACKWARDS))
        for op in range(<int>CAD_OP_LEAF)
    }


def helper_texts() -> dict[str, str]:
    """What these texts call, by name, as text; callees come first."""
    cdef size_t k = 0
    result = {}
    while cad_op_helpers[k].name != NULL:
        result[cad_op_helpers[k].name.decode()] = cad_op_helpers[k].text.decode()
        k += 1
    return result


def vector_target() -> str:
    """What compilers are told of the vectors of this machine, as `target` of a function."""
    return cad_vector_target().decode()


def elementwise(str name, tuple lent) -> np.ufunc | None:
    """The ufunc of one of the core's elementwise functions of SciPy's kind; None if there is none.

    lent: the ufuncs of SciPy's that `lent_names` tells, which it may ask.
    """
    return cad_make_elementwise(name.encode(), lent)


def lent_names() -> tuple[str, ...]:
    """The names of the functions of scipy.special that elementwise ones ask."""
    return cad_names_of_lent()


def is_recording() -> bool:
    """Whether this thread has Vars, or is about to make some."""
    cdef CadTape *tape = cad_current_tape()
    return tape.n_marks > 0 or cad_tape_all_handles(tape) > 0


def tape_usage() -> dict[str, int]:
    """What this thread's tape holds: entries, numbers, bytes in use, open recordings, Vars; and how
    often it was asked not to move what it holds."""
    cdef CadTape *tape = cad_current_tape()
    return {
        "entries": tape.n_entries,
        "numbers": tape.n_slots,
        "nbytes": cad_tape_bytes(tape),
        "recordings": tape.n_marks,
        "handles": cad_tape_all_handles(tape),
        "pinned": tape.pinned,
    }


def _fail_allocations_after(long successes) -> None:
    """Let the core's next requests for memory pass, and all later ones fail; -1 ends it."""
    cad_memory_fail_after(successes)

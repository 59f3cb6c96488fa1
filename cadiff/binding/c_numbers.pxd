# Var and Dual, which are C types, and entries, as modules see them: declarations derived from their
# headers, and macros with the types of their arguments.

from .generated.entries cimport *
from .generated.numbers cimport *


cdef extern from "numbers/objects/types.h":
    CadVar *CAD_VAR(object number)
    CadDual *CAD_DUAL(object number)
    Py_ssize_t *CAD_SHAPE(CadView *view)
    Py_ssize_t *CAD_STRIDES(CadView *view)
    bint CAD_IS_DUAL(object number)
    bint CAD_IS_DUAL_ARRAY(object number)
    bint CAD_IS_FLOAT(object number)
    bint CAD_IS_SCALAR(object number)
    bint CAD_IS_VAR(object number)
    bint CAD_IS_VAR_ARRAY(object number)
    bint CAD_IS_ARRAY_ENTRY(CadEntry entry) nogil
    CadOp CAD_CODE_OP(uint32_t code) nogil
    uint32_t CAD_CODE(int op, int passive) nogil


cdef inline int check(CadStatus status) except -1:
    """Raise what a status says that is not CAD_OK."""
    return 0 if status == CAD_OK else cad_raise_status(status)


cdef inline void *new_memory(size_t n, size_t size) except NULL:
    """Memory for n items of a size."""
    cdef void *memory = cad_memory_resize(NULL, n, size)
    if memory == NULL:
        check(CAD_NO_MEMORY)
    return memory

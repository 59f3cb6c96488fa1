# What the binding sees of frozen linear maps in C.

from libc.stdint cimport int64_t

from .c_entries cimport CadSlot, CadStatus, CadTape


cdef extern from "linear/linear.h" nogil:
    enum:
        CAD_LINEAR_INPUTS
        CAD_LINEAR_OUTPUTS
        CAD_LINEAR_FACTORS
        CAD_LINEAR_NUMBERS
        CAD_LINEAR_PARTS

    const size_t cad_linear_item_size[]

    ctypedef struct CadItems:
        void *data
        size_t count

    ctypedef struct CadLinear:
        size_t n_places
        CadItems part[9]

    CadStatus cad_linear_build(CadTape *tape, size_t begin, size_t end, CadSlot base,
                               size_t n_inputs, const int64_t *outputs, size_t n_outputs,
                               CadLinear **linear)
    CadLinear *cad_linear_new(size_t n_places)
    void cad_linear_free(CadLinear *linear)
    CadStatus cad_linear_append(CadLinear *linear, int part, const void *items, size_t count)
    bint cad_linear_check(CadLinear *linear)
    size_t cad_linear_room(const CadLinear *linear, size_t lanes)
    void cad_linear_carry(const CadLinear *linear, bint pull, size_t lanes, const double *given,
                          double *results, double *room)
    void cad_linear_units(const CadLinear *linear, bint pull, size_t first, size_t lanes,
                          double *matrix, double *room)

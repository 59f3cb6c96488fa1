# What the binding sees of programs in C.

from libc.stdint cimport int32_t, int64_t, uint32_t

from .c_graph cimport CadGraph, CadId
from .c_entries cimport CadStatus


ctypedef void (*CadNativeLoop)(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil

cdef extern from "kernels/stacks.h" nogil:
    ctypedef struct CadStackKernel:
        const char *name
        const char *signature
        CadNativeLoop loop
        bint answers_always

    const CadStackKernel *cad_stack_kernels


cdef extern from "kernels/transforms.h" nogil:
    enum: CAD_TRANSFORM_AXES

    ctypedef enum CadHalf:
        CAD_NO_HALF
        CAD_HALF_RESULT
        CAD_HALF_OPERAND

    ctypedef struct CadRowLoop:
        CadNativeLoop loop
        void *data

    ctypedef struct CadTransform:
        int ndim
        Py_ssize_t *given "from"
        Py_ssize_t *lengths
        Py_ssize_t *to
        int n_axes
        int *axes
        double *factors
        int n_operands
        int n_results
        CadHalf half
        Py_ssize_t real_length
        double inner
        CadRowLoop whole
        CadRowLoop halving

    void cad_transform_run(char **, const Py_ssize_t *, const Py_ssize_t *, void *) noexcept nogil


cdef extern from "program/native.h" nogil:
    enum: CAD_MOST_ARGUMENTS, CAD_MOST_CORE, CAD_MOST_OUTER

    ctypedef struct CadNative:
        CadNativeLoop loop
        void *data
        int n_arguments
        int n_results
        const double *constants[8]
        size_t starts[8]
        size_t sizes[8]
        bint reduces
        double start
        int ndim
        Py_ssize_t lengths[4]
        Py_ssize_t strides[4][8]
        Py_ssize_t dims[17]
        Py_ssize_t steps[24]
        bint may_fail
        bint is_bounded
        double low[8]
        double high[8]
        bint is_elementwise

    bint cad_native_run(const CadNative *call, const double *operands, double *results)


cdef extern from "program/program.h" nogil:
    ctypedef struct CadInstruction:
        pass

    ctypedef struct CadSingle:
        pass

    ctypedef struct CadStretch:
        pass

    ctypedef struct CadCheck:
        pass

    ctypedef struct CadReferred:
        int32_t place
        uint32_t size
        int32_t pointer
        int32_t result
        int32_t floats

    ctypedef struct CadTeam:
        void (*share)(void *self, size_t n, size_t n_room, double *own,
                      void (*run)(const void *work, size_t part, double *room) noexcept nogil,
                      const void *work) noexcept nogil
        void *self

    enum: CAD_STRIP_MARGIN

    ctypedef struct CadTurns:
        CadProgram *ahead
        CadProgram *core
        CadProgram *single
        CadProgram *behind
        int in_blocks
        uint32_t n_carried
        uint32_t n_given
        uint32_t n_kept
        uint32_t n_summed
        uint32_t n_into_ahead
        uint32_t n_from_ahead
        uint32_t n_into_core
        uint32_t n_from_core
        uint32_t n_into_behind
        uint32_t n_from_behind
        uint32_t length
        uint32_t together
        size_t at

    ctypedef long CadMachineCode(double *shared, double *own)
    enum: CAD_MACHINE_LANES
    void cad_machine_value(int op, double *out, const double *x, const double *y, const double *z)

    ctypedef struct CadMachinePiece:
        size_t first
        size_t n
        CadMachineCode *run

    ctypedef struct CadProgram:
        CadTurns *scans
        size_t n_scans
        CadReferred *referred
        size_t n_referred
        CadInstruction *code
        CadSingle *singles
        int32_t *lists
        int64_t *plans
        double *constants
        CadStretch *outputs
        CadCheck *checks
        size_t n_lists
        size_t n_plan_words
        size_t n_constants
        size_t n_outputs
        size_t n_inputs
        size_t n_shared
        size_t n_results
        size_t n_operations
        size_t n_places
        size_t n_whole
        size_t n_checks
        size_t n_code
        size_t n_singles
        bint has_arrays
        bint has_calls
        bint has_parts
        bint compares_last
        int (*call)(void *owner, uint32_t number, const double *operands,
                    double *results) noexcept nogil
        int (*call_lanes)(void *owner, uint32_t number, size_t lanes, const double *operands,
                          double *results) noexcept nogil
        void *owner
        const CadTeam *team

    enum: CAD_CALL_FAILED, CAD_OUT_OF_BOUNDS
    enum: CAD_FLOATS, CAD_LEAST_FLOAT

    ctypedef enum CadUse:
        CAD_AT_A_POINT
        CAD_ALONG_DIRECTIONS
        CAD_AT_MANY_POINTS

    CadStatus cad_program_make(CadGraph *graph, CadUse use, const CadId *inputs, size_t n_inputs,
                               size_t n_shared, const CadId *roots, size_t n_roots,
                               CadProgram **program)
    void cad_program_free(CadProgram *program)
    void cad_program_share_owner(CadProgram *program)
    void cad_program_set_natives(CadProgram *program, const CadNative *const *natives)
    CadStatus cad_program_set_machine(CadProgram *program, size_t lanes,
                                      const CadMachinePiece *pieces, size_t n)
    size_t cad_program_cost(const CadProgram *program)
    size_t cad_program_bytes(const CadProgram *program)
    size_t cad_program_room(const CadProgram *program, size_t lanes)
    size_t cad_program_near_room(const CadProgram *program)
    void cad_program_prepare(const CadProgram *program, double *room)
    double *cad_program_places(const CadProgram *program, double *room)
    void cad_program_refer(double *places, CadReferred referred, const void *numbers)
    void cad_program_narrow_inputs(const CadProgram *program, double *places)
    void cad_program_refer_to_places(const CadProgram *program, double *places)
    void cad_program_refer_to_results(const CadProgram *program, double *places, double *results)
    void cad_program_take_inputs(const CadProgram *program, double *places, const double *inputs)
    long cad_program_run(const CadProgram *program, double *room)
    long cad_program_profile(const CadProgram *program, double *room, int32_t spare,
                             double (*now)() noexcept nogil, double *seconds)
    double cad_program_outcome(const CadProgram *program, const double *room, long guard)
    void cad_program_read(const CadProgram *program, const double *room, double *results)
    ctypedef struct CadDirections:
        const double *own
        double *results
        size_t unit

    long cad_program_run_along(const CadProgram *program, size_t lanes, double *room,
                               const CadDirections *directions, size_t begin, size_t end) nogil
    ctypedef struct CadColumns:
        double *data
        Py_ssize_t row
        size_t n

    ctypedef struct CadPoints:
        const CadColumns *own
        size_t n_own_columns
        size_t n_own
        const double *shared
        const CadColumns *results
        unsigned char *missed

    void cad_program_prepare_points(const CadProgram *program, size_t lanes, double *room,
                                    const CadPoints *points)
    long cad_program_run_points(const CadProgram *program, size_t lanes, double *room,
                                const CadPoints *points, size_t begin, size_t end)

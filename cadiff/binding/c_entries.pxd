# What the binding sees of the C core below the tape: memory, kernels, operations, entries; and
# structs of the tape and its sweeps, which modules name that do not look into them. Those that do
# cimport c_tape.pxd or c_sweeps.pxd as well, which include what defines them.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "memory/memory.h" nogil:
    ctypedef enum CadStatus:
        CAD_OK
        CAD_NO_MEMORY
        CAD_RAISED

    void *cad_memory_zeroed(size_t count, size_t size)
    void *cad_memory_resize(void *block, size_t count, size_t size)
    void cad_memory_free(void *block)
    void cad_memory_fail_after(long successes)


cdef extern from "kernels/kernels.h" nogil:
    void cad_cross_entropy(const double *logits, const int64_t *labels, size_t rows,
                           size_t classes, double *losses, double *residuals)


cdef extern from "kernels/vectors.h" nogil:
    const char *cad_vector_target()


cdef extern from "kernels/single.h" nogil:
    void cad_widen_row(double *to, const float *from_, size_t n)

cdef extern from "kernels/pairs.h" nogil:
    void cad_pairs_split(const double *pairs, double *re, double *im, size_t n)
    void cad_pairs_join(double *pairs, const double *re, const double *im, size_t n)
    void cad_pairs_conjugate(double *im, size_t n)


cdef extern from "table/codes.h" nogil:
    ctypedef enum CadOp:
        CAD_OP_LEAF
        CAD_OP_ASSIGN
        CAD_OP_SUM
        CAD_OP_GATHER
        CAD_OP_SCATTER
        CAD_OP_ADD_AT
        CAD_OP_THIRD
        CAD_OP_RULE
        CAD_OP_amul
        CAD_OP_positive
        CAD_OP_stop
        CAD_OP_single
        CAD_OP_less
        CAD_OP_less_equal
        CAD_OP_equal
        CAD_OP_not_equal
        CAD_OP_add
        CAD_OP_subtract
        CAD_OP_divide
        CAD_OP_multiply
        CAD_OP_hypot
        CAD_OP_hypot_ratio
        CAD_OP_log_hypot
        CAD_OP_sqrt_real
        CAD_OP_sqrt_imag
        CAD_OP_COUNT

    bint cad_op_is_row(CadOp op)

    ctypedef struct CadOpInfo:
        const char *name
        int arity
        bint calls
        const char *ufunc

    const CadOpInfo cad_op_info[]

    ctypedef struct CadText:
        const char *name
        const char *text

    const CadText cad_op_values[]
    const CadText cad_op_helpers[]
    const char *const cad_op_aliases[][2]


cdef extern from "tape/entries.h" nogil:
    ctypedef struct CadPull:
        uint8_t op
        uint8_t of[2]
        uint8_t axes[3]

    enum:
        CAD_BACKWARDS
        CAD_G
        CAD_MOST_AXES

    ctypedef struct CadEntryKind:
        uint8_t n_views
        uint8_t is_moved
        uint8_t core
        uint8_t traits
        CadPull pull[2]

    const CadEntryKind cad_entry_kinds[]

    ctypedef uint32_t CadSlot
    CadSlot CAD_NONE

    ctypedef struct CadEntry:
        uint32_t code
        CadSlot out
        CadSlot a
        CadSlot b

    enum:
        CAD_PASSIVE_A
        CAD_PASSIVE_B

    enum:
        CAD_PLAN_WORDS
        CAD_DIRECT_RULE

    ctypedef struct CadPlan:
        uint32_t words
        int ndim
        int n_views
        uint32_t n_extra
        uint32_t passive
        int64_t size
        int64_t index

    ctypedef struct CadOperand:
        int64_t slot
        int64_t ndim
        int64_t *shape_and_strides

    bint CAD_IS_ARRAY_ENTRY(CadEntry entry)
    CadOp CAD_CODE_OP(uint32_t code)
    uint32_t CAD_CODE(int op, int passive)
    int64_t *cad_plan_shape(CadPlan *plan)
    int64_t *cad_plan_view(CadPlan *plan, int k)
    int64_t *cad_plan_extra(CadPlan *plan)
    CadOperand *cad_next_operand(int64_t **place)
    const CadEntryKind *cad_entry_kind(CadEntry entry)
    bint cad_op_is_kind(CadOp op)
    bint cad_op_sums_up(CadOp op)
    void cad_requested_axes(const CadPull *pull, int ndim, int own, const int64_t *source,
                            int64_t *to)
    bint cad_requested_sum(const CadPull *pull, int ndim, int axis, const int64_t *target)
    bint cad_entry_overwrites(CadEntry entry)
    bint cad_entry_is_rule(CadEntry entry)
    bint cad_entry_assigns_number(CadEntry entry)
    void cad_plan_bounds(CadPlan *plan, int view, int64_t *low, int64_t *high)

    ctypedef struct CadGuard:
        CadSlot slot
        size_t count
        int equality

    ctypedef struct CadGuards:
        CadGuard *items
        size_t count
        char obstacle[320]
        size_t marks
        uint64_t serial
        bint at_once
        bint reads
        bint indexes
        bint has_singles
        bint is_shown

    ctypedef struct CadOrigin:
        uint32_t place
        uint32_t shape

    ctypedef struct CadHook:
        void *holder
        uint32_t (*place)(void *holder) noexcept
        CadStatus (*number)(void *holder, CadOp op, const double *operands, double value) noexcept
        CadStatus (*swept)(void *holder, size_t entry) noexcept
        CadStatus (*array)(void *holder, int ndim, const Py_ssize_t *shape) noexcept

    ctypedef struct CadTape:
        CadGuards *guards
        const CadHook *hook
        CadOrigin *origins
        size_t n_origins
        CadEntry *entries
        int64_t *plans
        double *values
        double *adjoints
        size_t n_entries
        size_t n_slots
        size_t n_marks
        size_t mark_slots
        int pinned
        int open
        size_t n_assigned
        size_t n_plan_words
        uint64_t running_tag
        uint64_t choices
        size_t n_rules
        void *rules

    ctypedef struct CadSlopes:
        size_t n_results
        const int64_t *starts
        const int *columns
        CadSlot *sources
        double *values

    ctypedef struct CadLanes:
        double *data
        CadSlot base
        size_t count

    ctypedef struct CadAlong:
        CadLanes tangents
        CadLanes adjoints

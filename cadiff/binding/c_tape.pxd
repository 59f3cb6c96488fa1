# What the binding sees of the C core up to the tape: memory, operations, kernels, entries, blocks.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "memory/memory.h" nogil:
    ctypedef enum CadStatus:
        CAD_OK
        CAD_NO_MEMORY
        CAD_TAPE_FULL
        CAD_BUSY
        CAD_RAISED

    void *cad_memory_zeroed(size_t count, size_t size)
    void *cad_memory_resize(void *block, size_t count, size_t size)
    void cad_memory_free(void *block)
    void cad_memory_fail_after(long successes)


cdef extern from "kernels/kernels.h" nogil:
    void cad_cross_entropy(const double *logits, const int64_t *labels, size_t rows,
                           size_t classes, double *losses, double *residuals)


cdef extern from "kernels/pairs.h" nogil:
    void cad_pairs_split(const double *pairs, double *re, double *im, size_t n)
    void cad_pairs_join(double *pairs, const double *re, const double *im, size_t n)
    void cad_pairs_conjugate(double *im, size_t n)


cdef extern from "table/codes.h" nogil:
    ctypedef enum CadOp:
        CAD_OP_LEAF
        CAD_OP_ASSIGN
        CAD_OP_SUM
        CAD_OP_MATMUL
        CAD_OP_GATHER
        CAD_OP_SCATTER
        CAD_OP_ADD_AT
        CAD_OP_THIRD
        CAD_OP_RULE
        CAD_OP_amul
        CAD_OP_positive
        CAD_OP_stop
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
        const char *ufunc
        const char *doc

    const CadOpInfo cad_op_info[]

    ctypedef struct CadText:
        const char *name
        const char *text

    const CadText cad_op_values[]
    const CadText cad_op_helpers[]
    const char *const cad_op_aliases[][2]


cdef extern from "tape/entries.h" nogil:
    ctypedef struct CadEntryKind:
        uint8_t core
        uint8_t is_moved

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
    bint cad_entry_overwrites(CadEntry entry)
    bint cad_entry_is_rule(CadEntry entry)
    bint cad_entry_assigns_number(CadEntry entry)
    void cad_plan_bounds(CadPlan *plan, int view, int64_t *low, int64_t *high)


cdef extern from "tape/guards.h" nogil:
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
        bint is_shown

    CadStatus cad_guards_new(CadTape *tape)
    void cad_guards_free(CadTape *tape)
    CadStatus cad_guard_note(CadTape *tape, CadSlot slot, size_t count, int equality)
    CadStatus cad_guard_note_late(CadTape *tape, uint64_t serial, CadSlot slot, size_t count,
                                  int equality)
    void cad_guard_obstacle(CadTape *tape, const char *text)


cdef extern from "tape/tape.h" nogil:
    ctypedef struct CadOrigin:
        uint32_t place
        uint32_t shape

    ctypedef struct CadHook:
        void *holder
        uint32_t (*place)(void *holder) noexcept
        CadStatus (*number)(void *holder, CadOp op, const double *operands, double value) noexcept
        CadStatus (*swept)(void *holder, size_t entry) noexcept
        CadStatus (*array)(void *holder, int ndim, const Py_ssize_t *shape) noexcept

    ctypedef struct CadSlopes:
        size_t n_results
        const int64_t *starts
        const int *columns
        CadSlot *sources
        double *values

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
        size_t entry_capacity
        size_t n_rules
        void *rules

    ctypedef struct CadFilled:
        size_t slots

    void cad_tape_note_starved(CadTape *tape)
    CadFilled cad_tape_filled(const CadTape *tape)
    void cad_tape_take_back(CadTape *tape, CadFilled filled)
    void cad_tape_set_hook(CadTape *tape, const CadHook *hook)
    CadOrigin cad_tape_origin(const CadTape *tape, size_t entry)
    CadPlan *cad_tape_plan(const CadTape *tape, CadEntry entry)
    void cad_tape_skip(CadTape *tape, double value)
    size_t cad_tape_bytes(const CadTape *tape)
    size_t cad_tape_all_handles(const CadTape *tape)
    CadStatus cad_tape_grow(CadTape *tape, size_t slots)
    CadStatus cad_tape_ensure(CadTape *tape)
    CadSlot cad_tape_push(CadTape *tape, uint32_t code, CadSlot a, CadSlot b, double value)
    CadStatus cad_tape_leaf(CadTape *tape, const double *values, size_t count, bint accumulate,
                            CadSlot *out)
    CadStatus cad_tape_open_leaf(CadTape *tape, size_t count, CadSlot *out)
    CadStatus cad_tape_push_plan(CadTape *tape, uint32_t code, size_t slots, size_t words,
                                 CadPlan **plan)
    void cad_tape_set_busy(CadTape *tape, bint busy)
    CadStatus cad_tape_block(CadTape *tape, size_t count, bint may_change, CadSlot *out)
    void cad_tape_pin(CadTape *tape)
    void cad_tape_unpin(CadTape *tape)
    CadStatus cad_tape_mark(CadTape *tape)
    void cad_tape_keep(CadTape *tape)


cdef extern from "tape/find.h" nogil:
    size_t cad_tape_find_entry "cad_tape_find"(const CadTape *tape, CadSlot slot)
    bint cad_entry_target(const CadTape *tape, CadEntry entry, size_t *slot)
    void cad_tape_allocation(const CadTape *tape, size_t slot, size_t *begin, size_t *end)
    bint cad_tape_has_rules(const CadTape *tape, size_t begin, size_t end)
    size_t cad_tape_entries_through(const CadTape *tape, CadSlot slot)


cdef extern from "tape/blocks.h" nogil:
    enum:
        CAD_LARGE_BLOCK
        CAD_ARGUMENT

    CadStatus cad_tape_note_block(CadTape *tape, size_t begin, size_t end, int kind)
    bint cad_tape_is_constant(const CadTape *tape, CadSlot slot)
    void cad_tape_activate(CadTape *tape, CadSlot slot)
    double *cad_tape_adjoints(const CadTape *tape, int64_t slot)
    bint cad_tape_lend(CadTape *tape, size_t begin, size_t end, double *adjoints)
    bint cad_tape_is_lent(const CadTape *tape, CadSlot slot)
    bint cad_tape_borrow(CadTape *tape, size_t begin, size_t end, const double *values)
    double *cad_tape_values(const CadTape *tape, int64_t slot)
    void cad_tape_use_singly(CadTape *tape, CadSlot slot)
    bint cad_tape_is_untouched(const CadTape *tape, CadSlot slot)


cdef extern from "tape/adjoints.h" nogil:
    ctypedef struct CadPass:
        pass

    CadStatus cad_tape_clear_adjoints(CadTape *tape, size_t begin, size_t end)
    void cad_tape_read_adjoints(const CadTape *tape, size_t begin, size_t end, double *adjoints)
    double cad_tape_adjoint(const CadTape *tape, CadSlot slot)
    void cad_tape_prepare_adjoints(CadTape *tape, size_t low, size_t high)
    CadStatus cad_tape_leave_pass(CadTape *tape, CadPass *put_aside)
    void cad_tape_resume_pass(CadTape *tape, CadPass put_aside)


cdef extern from "tape/captures.h" nogil:
    ctypedef struct CadRange:
        size_t begin
        size_t end

    ctypedef struct CadRanges:
        CadRange *items
        size_t count

    bint cad_compares_below(const CadTape *tape)
    bint cad_reads_below(const CadTape *tape, size_t begin, size_t end, CadSlot below)
    void cad_freeze(CadTape *tape, size_t begin, size_t end)
    CadStatus cad_find_captures(const CadTape *tape, size_t begin, size_t end, CadSlot below,
                                   CadRanges *ranges)

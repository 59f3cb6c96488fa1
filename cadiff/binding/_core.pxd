# What the binding sees of the C core and of the number types.

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from *:
    """
    /* This file, of all that include the header, holds NumPy's tables. */
    #define CADIFF_IMPORTS_NUMPY
    #include "numbers/numbers.h"
    """


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


cdef extern from "table/ops.h" nogil:
    ctypedef enum CadOp:
        CAD_OP_LEAF
        CAD_OP_ASSIGN
        CAD_OP_SUM
        CAD_OP_MATMUL
        CAD_OP_GATHER
        CAD_OP_SCATTER
        CAD_OP_ADD_AT
        CAD_OP_THIRD
        CAD_OP_amul
        CAD_OP_positive
        CAD_OP_stop
        CAD_OP_less
        CAD_OP_less_equal
        CAD_OP_equal
        CAD_OP_not_equal
        CAD_OP_add
        CAD_OP_multiply
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
        char obstacle[160]
        size_t marks
        uint64_t serial
        bint at_once

    CadStatus cad_guards_new(CadTape *tape)
    void cad_guards_free(CadTape *tape)
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
        size_t n_assigned
        size_t n_plan_words
        uint64_t running_tag
        size_t entry_capacity
        size_t n_rules
        void *rules

    ctypedef struct CadFilled:
        size_t slots

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


cdef extern from "sweeps/inlined.h" nogil:
    ctypedef struct CadInlined:
        pass

    ctypedef struct CadInlinedVariant:
        pass

    CadStatus cad_inlined_new(CadTape *tape, size_t begin, size_t n_inputs, CadInlined **image)
    void cad_inlined_free(CadInlined *image)
    bint cad_inlined_writes_inputs(const CadInlined *image)
    size_t cad_inlined_bytes(const CadInlined *image)
    CadStatus cad_inlined_variant_new(const CadInlined *image, const unsigned char *active, bint guarded,
                           const int64_t *slots, size_t n_slots, unsigned char *found,
                           CadInlinedVariant **form)
    void cad_inlined_variant_free(CadInlinedVariant *form)
    CadStatus cad_inlined_append(const CadInlinedVariant *form, CadTape *tape, const CadSlot *inputs,
                             CadSlot *shift, long *missed)


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


cdef extern from "sweeps/sweeps.h" nogil:
    ctypedef struct CadNumber:
        double value
        CadSlot slot

    void cad_sweep_redo(CadTape *tape, size_t begin, size_t end)
    void cad_sweep_undo(CadTape *tape, size_t begin, size_t end)
    void cad_sweep_value(CadTape *tape, size_t begin, size_t end)
    CadStatus cad_sweep_taylor(CadTape *tape, size_t begin, size_t end, CadSlot base,
                               size_t order, double *coefficients)
    ctypedef struct CadLaneBuffer:
        double *data

    ctypedef struct CadLanes:
        double *data
        CadSlot base
        size_t count

    ctypedef struct CadAlong:
        CadLanes tangents
        CadLanes adjoints

    void cad_array_prepare(CadTape *tape, const CadAlong *along, int64_t low, int64_t high)
    CadStatus cad_lanes_take(CadTape *tape, size_t numbers, CadLaneBuffer *buffer)
    void cad_lanes_give_back(CadTape *tape, CadLaneBuffer buffer)
    void cad_lanes_clear_adjoints(const CadTape *tape, CadLanes lanes, size_t begin, size_t end)
    CadStatus cad_sweep_tangent(CadTape *tape, size_t begin, size_t end, size_t inputs_end,
                                CadSlot base, size_t lanes, double *tangents)
    CadStatus cad_sweep_second(CadTape *tape, size_t begin, size_t end, size_t transient,
                               CadSlot base, size_t lanes, double *tangents,
                               double *adjoint_tangents)
    CadStatus cad_sweep_record(CadTape *tape, size_t begin, size_t end, CadSlot base, bint linear,
                               CadNumber *adjoints)


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
    void cad_linear_push(const CadLinear *linear, size_t lanes, const double *tangents,
                         double *results, double *room)
    void cad_linear_pull(const CadLinear *linear, size_t lanes, const double *cotangents,
                         double *results, double *room)
    void cad_linear_columns(const CadLinear *linear, size_t first, size_t lanes, double *matrix,
                            double *room)
    void cad_linear_rows(const CadLinear *linear, size_t first, size_t lanes, double *matrix,
                         double *room)


cdef extern from "graph/pattern.h" nogil:
    ctypedef struct CadPattern:
        size_t n_rows
        size_t n_columns
        int64_t *starts
        int *columns

    void cad_pattern_free(CadPattern *pattern)
    CadStatus cad_pattern_of_pairs(size_t n_rows, size_t n_columns, const uint32_t *rows,
                                   const uint32_t *columns, size_t *count, size_t *order,
                                   CadPattern *pattern)
    CadStatus cad_pattern_transpose(const CadPattern *pattern, size_t *order, CadPattern *result)
    CadStatus cad_pattern_symmetric(const CadPattern *pattern, CadPattern *result)
    int64_t cad_pattern_find(const CadPattern *pattern, size_t row, int column)


cdef extern from "graph/coloring.h" nogil:
    ctypedef struct CadColoring:
        uint32_t *colors
        size_t n_colors

    void cad_coloring_free(CadColoring *coloring)
    CadStatus cad_color_columns(const CadPattern *pattern, CadColoring *coloring)
    CadStatus cad_color_star(const CadPattern *pattern, CadColoring *coloring)
    CadStatus cad_read_star(const CadPattern *pattern, const CadColoring *coloring,
                            uint32_t *rows, uint32_t *colors)


cdef extern from "graph/graph.h" nogil:
    ctypedef uint32_t CadId

    ctypedef struct CadOutcome:
        CadId id
        double value

    ctypedef struct CadArray:
        uint32_t op
        CadId first
        uint32_t size

    enum: CAD_ARRAY_CALL
    const CadId CAD_NO_ID
    const CadId CAD_ELEMENT_BIT

    ctypedef struct CadCalls:
        int64_t (*note)(void *owner, CadTape *tape, size_t entry, uint8_t *passive) noexcept
        CadStatus (*pull)(void *owner, uint32_t number, CadId operands, CadId results, CadId given,
                          int64_t step, const uint8_t *wanted, CadId *made) noexcept
        CadStatus (*push)(void *owner, uint32_t number, CadId operands, CadId results, CadId given,
                          int64_t step, const uint8_t *move, CadId *made) noexcept

    ctypedef struct CadGraph:
        CadArray *arrays
        CadOutcome *guards
        size_t n_nodes
        uint32_t n_elements
        size_t n_arrays
        size_t n_guards
        bint optimize
        const CadCalls *calls
        void *owner
        CadStatus status

    ctypedef struct CadGraphParts:
        uint32_t *nodes
        uint32_t *arrays
        int64_t *words
        CadId *lists
        double *constants
        size_t n_nodes
        size_t n_arrays
        size_t n_words
        size_t n_lists
        size_t n_constants

    CadGraph *cad_graph_new(bint optimize)
    size_t cad_graph_bytes(const CadGraph *graph)
    void cad_graph_free(CadGraph *graph)
    CadId cad_graph_constant(CadGraph *graph, double value)
    CadId cad_graph_input(CadGraph *graph, size_t size)
    CadStatus cad_graph_guard(CadGraph *graph, CadId id, double outcome)
    CadStatus cad_graph_read(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                             const CadId *inputs, size_t n_inputs, CadId *outputs,
                             size_t n_outputs)
    void cad_graph_measure(const CadGraph *graph, CadGraphParts *parts)
    void cad_graph_write(const CadGraph *graph, CadGraphParts *parts)
    CadStatus cad_graph_restore(CadGraph *graph, const CadGraphParts *parts, size_t n_inputs)
    bint cad_graph_has(const CadGraph *graph, CadId id)
    CadStatus cad_graph_beginning(const CadGraph *graph, size_t n_nodes, CadGraph **beginning,
                                  CadId *ends, size_t *n_ends)
    ctypedef struct CadPart:
        CadGraph *graph
        CadId own, inputs
        CadId *given
        size_t n_given

    CadStatus cad_graph_split(CadGraph *graph, CadId input, CadId *roots, size_t n_roots,
                              CadPart *part)
    CadStatus cad_graph_pull(CadGraph *graph, const CadId *outputs, const CadId *seeds,
                             size_t n_outputs, const CadId *wrt, size_t n_wrt, CadId *results)
    CadStatus cad_graph_push(CadGraph *graph, const CadId *wrt, const CadId *along, size_t n_wrt,
                             const CadId *outputs, size_t n_outputs, CadId *results)
    CadStatus cad_graph_forward(CadGraph *graph, const CadId *wrt, size_t n_wrt,
                                const CadId *outputs, size_t n_outputs, CadId *results)
    CadStatus cad_graph_jacobian(CadGraph *graph, const CadId *wrt, size_t n_wrt,
                                 const CadId *outputs, size_t n_outputs, CadPattern *pattern,
                                 CadId **entries)
    CadPlan *cad_graph_plan(const CadGraph *graph, const CadArray *array)
    CadId cad_graph_pack(CadGraph *graph, const CadId *ids, size_t size)
    CadId cad_graph_call(CadGraph *graph, uint32_t number, CadId operands, size_t count,
                         size_t size)
    bint cad_graph_is_constant(CadGraph *graph, CadId id, double *value)


cdef extern from "graph/sparsity.h" nogil:
    CadStatus cad_sparsity(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                           size_t n_outputs, CadPattern *pattern)


cdef extern from "program/program.h" nogil:
    ctypedef struct CadInstruction:
        pass

    ctypedef struct CadSingle:
        pass

    ctypedef struct CadStretch:
        pass

    ctypedef struct CadCheck:
        pass

    ctypedef struct CadProgram:
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
        size_t n_checks
        size_t n_code
        size_t n_singles
        bint has_arrays
        bint has_calls
        int (*call)(void *owner, uint32_t number, const double *operands,
                    double *results) noexcept nogil
        void *owner

    enum: CAD_CALL_FAILED

    CadStatus cad_program_make(CadGraph *graph, const CadId *inputs, size_t n_inputs,
                               const CadId *roots, size_t n_roots, CadProgram **program)
    CadStatus cad_program_make_along(CadGraph *graph, const CadId *inputs, size_t n_inputs,
                                     size_t n_shared, const CadId *roots, size_t n_roots,
                                     CadProgram **program)
    CadStatus cad_program_make_for_lanes(CadGraph *graph, const CadId *inputs, size_t n_inputs,
                                         const CadId *roots, size_t n_roots, CadProgram **program)
    void cad_program_free(CadProgram *program)
    size_t cad_program_cost(const CadProgram *program)
    size_t cad_program_bytes(const CadProgram *program)
    size_t cad_program_room(const CadProgram *program, size_t lanes)
    void cad_program_prepare(const CadProgram *program, size_t lanes, double *room)
    double *cad_program_places(const CadProgram *program, size_t lanes, double *room)
    long cad_program_run(const CadProgram *program, double *room)
    void cad_program_read(const CadProgram *program, const double *room, double *results)
    ctypedef struct CadDirections:
        const double *own
        double *results

    size_t cad_program_room_along(const CadProgram *program, size_t lanes)
    long cad_program_run_along(const CadProgram *program, size_t lanes, double *room,
                               const CadDirections *directions, size_t begin, size_t end) nogil
    ctypedef struct CadPoints:
        const double *own
        size_t n_own
        const double *shared
        double *heads
        size_t n_heads
        double *tails
        unsigned char *missed

    long cad_program_run_points(const CadProgram *program, size_t lanes, double *room,
                                const CadPoints *points, size_t begin, size_t end)


cdef extern from "numbers/numbers.h":
    enum:
        CAD_SCALAR
        CAD_ARRAY
        CAD_PASSIVE
        CAD_STALE
        CAD_DUAL_FLOAT
        CAD_DUAL_LANES
        CAD_DUAL_OBJECT
        CAD_DUAL_ARRAY
        CAD_PLAIN
        CAD_VAR_CLASS
        CAD_DUAL_CLASS
        CAD_ARRAY_CLASS
        CAD_FOREIGN
        CAD_INPUT
        CAD_PICKED
        CAD_CONSTANT

    ctypedef struct CadView:
        int ndim
        uint32_t flags
        Py_ssize_t size

    ctypedef struct CadVar:
        double value
        CadView *view
        CadTape *tape
        CadSlot slot
        uint32_t kind

    ctypedef uint64_t CadTag

    ctypedef struct CadDual:
        PyObject *primal_object
        PyObject *tangent_object
        CadTag tag
        uint32_t kind

    int cad_enter_recursion(const char *where) except -1
    void Py_LeaveRecursiveCall()
    CadVar *CAD_VAR(object number)
    Py_ssize_t *CAD_STRIDES(CadView *view)
    CadDual *CAD_DUAL(object number)
    bint CAD_IS_VAR(object number)
    bint CAD_IS_VAR_ARRAY(object number)
    bint CAD_IS_DUAL(object number)
    bint CAD_IS_FLOAT(object number)
    bint CAD_IS_SCALAR(object number)
    object cad_var_new(CadTape *tape, CadSlot slot, double value)
    object cad_var_passive(double value)
    object cad_var_view(CadTape *tape, CadSlot slot, int ndim, const Py_ssize_t *shape,
                        const Py_ssize_t *strides, uint32_t flags)
    int cad_sweep(
        CadTape *tape, size_t begin, size_t end, size_t transient, bint accumulate
    ) except -1
    int cad_raise_status(CadStatus status) except -1
    int cad_raise_stale() except -1
    CadTape *cad_current_tape() except NULL
    void cad_rewind(CadTape *tape)
    int cad_partial_of
    object cad_object_partial(int op, int which, object x, object y, object z, object v)
    object cad_matmul(object left, object right)
    PyObject *cad_array_matmul(object left, object right) except? NULL
    object cad_array_copy(CadVar *var)
    object cad_array_sum(CadVar *var, object axis, bint keepdims)
    object cad_array_constant(CadTape *tape, object values)
    int cad_array_assign(CadVar *var, object key, object value) except -1
    int cad_array_accumulate(CadVar *target, object value) except -1
    int cad_array_add_at(CadVar *target, object indices, object value) except -1
    int cad_array_write(CadVar *target, object value) except -1
    void cad_var_freeze(CadVar *var)
    object cad_var_as_input(object var)
    object cad_var_like(const CadVar *var, CadSlot slot)
    object cad_var_slots(const CadVar *var)
    object cad_var_pick(CadVar *var, CadSlot slot)
    object cad_var_part(CadVar *var, object array)
    object cad_var_transient(const CadVar *var, double *buffer, int flags)
    bint cad_var_is_contiguous(const CadVar *var)
    bint cad_is_in_values(const CadTape *tape, object array)
    void cad_var_bounds(const CadVar *var, size_t *low, size_t *high)
    int cad_var_seed(CadVar *var, object seed) except -1
    object cad_var_adjoint(CadVar *var)
    object cad_record_rule(CadTape *tape, size_t number, list operands, list values)
    void set_rule_hook(int (*hook)(CadTape *, size_t) noexcept)
    void set_second_rule_hook(int (*hook)(CadTape *, size_t, const CadAlong *) noexcept)
    void cad_restore_exception(object error)
    void set_dual_hook(int (*hook)(CadOp, PyObject *const *, object) except -1)
    object cad_dual_from(object primal, object tangent, CadTag tag)
    object cad_dual_primal(CadDual *dual)
    object cad_dual_tangent(CadDual *dual)
    CadTag cad_fresh_tag()
    int cad_classify(object number, double *value) except -1
    double cad_primal(object number)
    int cad_ndim(object x)
    object cad_elements(object number)
    object cad_apply1(int op, object x)
    object cad_apply2(int op, object x, object y)
    int cad_guarding
    int cad_formulas
    PyObject *cad_innermost(object number)
    CadTape *cad_guarded_tape(object number)
    int cad_read_openly(object number, const char *what) except -1
    object cad_richcompare(object left, object right, int how)
    object cad_compare(object left, object right, int how)
    void cad_register_masks(object type)
    int cad_find_op(object ufunc) except? -2
    int cad_check_array(object array) except -1
    object cad_call(int op, PyObject *const *args, Py_ssize_t n)
    bint cad_is_sum_of_all(object function, object x)
    int cad_register(object functions, object hook) except -1
    int cad_numbers_ready(object module) except -1

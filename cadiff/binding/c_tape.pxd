# What the binding sees of the tape in C: guards, room, marks, blocks, adjoints, captures.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from .c_entries cimport *


cdef extern from "tape/guards.h" nogil:
    CadStatus cad_guards_new(CadTape *tape)
    void cad_guards_free(CadTape *tape)
    CadStatus cad_guard_note(CadTape *tape, CadSlot slot, size_t count, int equality)
    CadStatus cad_guard_note_late(CadTape *tape, uint64_t serial, CadSlot slot, size_t count,
                                  int equality)
    void cad_guard_obstacle(CadTape *tape, const char *text)


cdef extern from "tape/tape.h" nogil:
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


cdef extern from "numbers/objects/slabs.h":
    object cad_var_new(CadTape *tape, CadSlot slot, double value)

/* The Taylor sweep: one forward loop that carries the coefficients of power series. */
#include "sweeps/sweeps.h"

typedef struct Sweep {
    CadTape *tape;
    CadSlot base;
    size_t order;
    double *coefficients;
    CadSeries *series;
} Sweep;

static double *coefficients_of(const Sweep *sweep, CadSlot slot) {
    return sweep->coefficients + (size_t)(slot - sweep->base) * sweep->order;
}

static CadJet jet_of(const Sweep *sweep, CadSlot slot, uint32_t passive) {
    const CadStrip value = {sweep->tape->values + slot, 0};
    return (CadJet){value, passive ? NULL : coefficients_of(sweep, slot), 0};
}

static CadStatus step_number(const Sweep *sweep, size_t i) {
    const CadEntry *const entries = sweep->tape->entries;
    const CadEntry e = entries[i];
    const CadOp op = CAD_CODE_OP(e.code);
    CadJet operands[3] = {jet_of(sweep, e.a, e.code & CAD_PASSIVE_A)};
    if (cad_op_info[op].arity > 1) {
        operands[1] = jet_of(sweep, e.b, e.code & CAD_PASSIVE_B);
    }
    if (cad_op_info[op].arity > 2) {
        operands[2] = jet_of(sweep, entries[i - 1].a, 0);
    }
    return cad_series_apply(sweep->series, op, operands, jet_of(sweep, e.out, 0), 1);
}

/* What is overwritten is kept, and so are its coefficients. */
static void step_assign(const Sweep *sweep, CadEntry e) {
    const size_t bytes = sweep->order * sizeof(double);
    cad_exchange_number(sweep->tape, e);
    memcpy(coefficients_of(sweep, e.out), coefficients_of(sweep, e.a), bytes);
    if (e.code & CAD_PASSIVE_B) {
        memset(coefficients_of(sweep, e.a), 0, bytes);
    } else {
        memmove(coefficients_of(sweep, e.a), coefficients_of(sweep, e.b), bytes);
    }
}

static CadStatus step(const Sweep *sweep, size_t i) {
    const CadEntry e = sweep->tape->entries[i];
    if (CAD_IS_ARRAY_ENTRY(e)) {
        return cad_array_taylor(sweep->tape, e, sweep->base, sweep->order, sweep->coefficients,
                                sweep->series);
    }
    if (cad_entry_assigns_number(e)) {
        step_assign(sweep, e);
    } else if (cad_op_is_row(CAD_CODE_OP(e.code))) {
        return step_number(sweep, i);
    }
    return CAD_OK;
}

CadStatus cad_sweep_taylor(CadTape *tape, size_t begin, size_t end, CadSlot base, size_t order,
                           double *coefficients) {
    const Sweep sweep = {tape, base, order, coefficients, cad_series_new(order)};
    if (sweep.series == NULL) {
        return CAD_NO_MEMORY;
    }
    cad_sweep_undo(tape, begin, end);
    CadStatus status = CAD_OK;
    size_t i = begin;
    for (; i < end && status == CAD_OK; i++) {
        status = step(&sweep, i);
    }
    cad_sweep_redo(tape, i, end); /* if it has failed */
    cad_series_free(sweep.series);
    return status;
}

/* The tangent sweep: one forward loop that carries several directions (lanes) at once. */
#include "sweeps/sweeps.h"

#include "table/ops.h"

/* The lanes of a slot. */
#define LANES_OF(slot) (tangents + (size_t)((slot) - base) * lanes)

/* The tangents of a result, from those of one operand, and of two. */
static CAD_APART void push_one(double *out, const double *a, size_t lanes, double p) {
    for (size_t k = 0; k < lanes; k++) {
        out[k] = cad_amul(p, a[k]);
    }
}

static CAD_APART void push_two(double *out, const double *a, const double *b, size_t lanes,
                               double p, double q) {
    for (size_t k = 0; k < lanes; k++) {
        out[k] = cad_amul(p, a[k]) + cad_amul(q, b[k]);
    }
}

#define CAD_ROW1(name, value_, dx)                                                                \
    case CAD_CODE(CAD_OP_##name, 0):                                                              \
        push_one(out, LANES_OF(e.a), lanes, d1_##name(value[e.a], value[e.out]));                 \
        break;

#define CAD_ROW2(name, value_, dx, dy)                                                            \
    case CAD_CODE(CAD_OP_##name, 0): {                                                            \
        const double p = d1_##name(value[e.a], value[e.b], value[e.out]);                         \
        const double q = d2_##name(value[e.a], value[e.b], value[e.out]);                         \
        push_two(out, LANES_OF(e.a), LANES_OF(e.b), lanes, p, q);                                 \
        break;                                                                                    \
    }                                                                                             \
    case CAD_CODE(CAD_OP_##name, CAD_PASSIVE_B):                                                  \
        push_one(out, LANES_OF(e.a), lanes, d1_##name(value[e.a], value[e.b], value[e.out]));     \
        break;                                                                                    \
    case CAD_CODE(CAD_OP_##name, CAD_PASSIVE_A):                                                  \
        push_one(out, LANES_OF(e.b), lanes, d2_##name(value[e.a], value[e.b], value[e.out]));     \
        break;

#define CAD_ROW3(name, value_, dx, dy, dz)                                                        \
    case CAD_CODE(CAD_OP_##name, 0): {                                                            \
        const CadSlot third = tape->entries[i - 1].a;                                             \
        const double v = value[e.out];                                                            \
        const double p = d1_##name(value[e.a], value[e.b], value[third], v);                      \
        const double q = d2_##name(value[e.a], value[e.b], value[third], v);                      \
        const double r = d3_##name(value[e.a], value[e.b], value[third], v);                      \
        const double *const a = LANES_OF(e.a);                                                    \
        const double *const b = LANES_OF(e.b);                                                    \
        const double *const c = LANES_OF(third);                                                  \
        for (size_t k = 0; k < lanes; k++) {                                                      \
            out[k] = cad_amul(p, a[k]) + cad_amul(q, b[k]) + cad_amul(r, c[k]);                   \
        }                                                                                         \
        break;                                                                                    \
    }

CadStatus cad_sweep_tangent(CadTape *tape, size_t begin, size_t end, size_t inputs_end,
                            CadSlot base, size_t lanes, double *tangents) {
    const double *value = tape->values;
    CadAlong along = {{tangents, base, lanes}, {NULL, base, lanes}, NULL};
    CadStatus status = cad_lanes_open_room(tape, begin, end, lanes, &along.room);
    if (status != CAD_OK) {
        return status;
    }
    const size_t last = end < tape->n_entries ? tape->entries[end].out : tape->n_slots;
    size_t next = begin < end ? tape->entries[begin].out : last;
    cad_sweep_undo(tape, begin, end);
    size_t i = begin;
    for (; i < end && status == CAD_OK; i++) {
        const CadEntry e = tape->entries[i];
        double *const out = LANES_OF(e.out);
        if (e.out > next) {
            cad_lanes_clear_constants(tape, along.tangents, next, e.out);
        }
        next = (size_t)e.out + 1;
        switch (e.code) {
        case CAD_CODE(CAD_OP_LEAF, 0):
            next = (size_t)e.out + e.a;
            if (i >= inputs_end) {
                clear_lanes(along.tangents, e.out, (int64_t)next);
            }
            break;
        case CAD_CODE(CAD_OP_ASSIGN, 0):
        case CAD_CODE(CAD_OP_ASSIGN, CAD_PASSIVE_B): {
            cad_exchange_number(tape, e);
            for (size_t k = 0; k < lanes; k++) {
                out[k] = LANES_OF(e.a)[k];
                LANES_OF(e.a)[k] = e.code & CAD_PASSIVE_B ? 0.0 : LANES_OF(e.b)[k];
            }
            break;
        }
#include "ops_rows.h"
        default:
            if (CAD_IS_ARRAY_ENTRY(e)) {
                next = (size_t)e.out + e.b;
            }
            if (cad_entry_is_rule(e)) {
                status = tape->second_rule(tape, i, &along) < 0 ? CAD_RAISED : CAD_OK;
                value = tape->values;
            } else if (CAD_IS_ARRAY_ENTRY(e)) {
                cad_array_tangent(tape, e, along.tangents, along.room);
            }
            break;
        }
    }
    if (next < last) {
        cad_lanes_clear_constants(tape, along.tangents, next, last);
    }
    cad_sweep_redo(tape, i, end); /* what it did not come to */
    cad_memory_free(along.room);
    return status;
}

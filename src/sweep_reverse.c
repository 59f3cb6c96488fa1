/* The reverse sweep: one backward loop, which hands the adjoint of each entry's output, times its
 * partials, to its operands. An adjoint that is zero hands on nothing: zero absorbs. */
#include "sweep.h"

/* Add a contribution to an adjoint. Where the caller wants to stop early, `low` follows the lowest
 * slot that has one: entries whose outputs all lie below it have nothing to hand on. */
#define ADD(slot, partial)                                                                        \
    do {                                                                                          \
        const CadSlot target = slot;                                                              \
        adjoint[target] += cad_amul(g, partial);                                                  \
        if (free_form && target < low) {                                                          \
            low = target;                                                                         \
        }                                                                                         \
    } while (0)

#define CAD_ROW1(name, value_, dx)                                                                \
    case CAD_CODE(CAD_OP_##name, 0):                                                              \
        ADD(e.a, d1_##name(value[e.a], value[e.out]));                                            \
        break;

#define CAD_ROW2(name, value_, dx, dy)                                                            \
    case CAD_CODE(CAD_OP_##name, 0):                                                              \
        ADD(e.a, d1_##name(value[e.a], value[e.b], value[e.out]));                                \
        ADD(e.b, d2_##name(value[e.a], value[e.b], value[e.out]));                                \
        break;                                                                                    \
    case CAD_CODE(CAD_OP_##name, CAD_PASSIVE_B):                                                  \
        ADD(e.a, d1_##name(value[e.a], value[e.b], value[e.out]));                                \
        break;                                                                                    \
    case CAD_CODE(CAD_OP_##name, CAD_PASSIVE_A):                                                  \
        ADD(e.b, d2_##name(value[e.a], value[e.b], value[e.out]));                                \
        break;

#define CAD_ROW3(name, value_, dx, dy, dz)                                                        \
    case CAD_CODE(CAD_OP_##name, 0): {                                                            \
        const CadSlot third = entries[i - 1].a;                                                   \
        ADD(e.a, d1_##name(value[e.a], value[e.b], value[third], value[e.out]));                  \
        ADD(e.b, d2_##name(value[e.a], value[e.b], value[third], value[e.out]));                  \
        ADD(third, d3_##name(value[e.a], value[e.b], value[third], value[e.out]));                \
        break;                                                                                    \
    }

/* Inlined into both callers below, so that `free_form` is known to the compiler. */
static inline size_t sweep(CadTape *tape, size_t begin, size_t end, size_t low,
                           const int free_form) {
    const CadEntry *const entries = tape->entries;
    double *const value = tape->values;
    double *const adjoint = tape->adjoints;
    size_t next_out = CAD_NONE;
    for (size_t i = end; i-- > begin;) {
        const CadEntry e = entries[i];
        if (free_form) {
            if (next_out <= low) {
                break;
            }
            next_out = e.out;
        }
        const double g = adjoint[e.out];
        if (CAD_CODE_OP(e.code) == CAD_OP_LEAF) {
            if (free_form) {
                double *const gradient = value + e.out + e.a;
                for (size_t k = 0; k < e.a; k++) {
                    gradient[k] += adjoint[e.out + k];
                }
            }
            continue;
        }
        if (g == 0.0) {
            continue;
        }
        switch (e.code) {
#include "ops_rows.h"
        default:
            break;
        }
    }
    return low;
}

void cad_sweep_reverse(CadTape *tape, size_t begin, size_t end) {
    sweep(tape, begin, end, 0, 0);
}

void cad_sweep_backward(CadTape *tape, size_t end) {
    tape->dirty_begin = sweep(tape, 0, end, tape->dirty_begin, 1);
}

/* The reverse sweep: one backward loop, which hands the adjoint of each entry's output, times its
 * partials, to its operands. An adjoint that is zero hands on nothing: zero absorbs. */
#include "sweeps/sweeps.h"

#include "table/ops.h"
#include "tape/blocks.h"

/* Add a contribution to an adjoint. `low` follows the lowest slot that has one: entries whose
 * outputs all lie below it have nothing to hand on, so the loop ends there. The latest sum is kept
 * at hand: most often it is the next entry's adjoint, and reading it back from memory just after
 * writing would double the latency of a chain. */
#define ADD(slot, partial)                                                                        \
    do {                                                                                          \
        latest = slot;                                                                            \
        sum = adjoint[latest] + cad_amul(g, partial);                                             \
        adjoint[latest] = sum;                                                                    \
        if (latest < low) {                                                                       \
            low = latest;                                                                         \
        }                                                                                         \
    } while (0)

/* An operation on single numbers, whose adjoint of 0 hands on nothing. */
#define CAD_IS_PLAIN(code) ((code) >= CAD_CODE(CAD_OP_THIRD, 0) && (code) < CAD_ARRAY_BIT)

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

CadStop cad_sweep_reverse(CadTape *tape, size_t begin, size_t end, size_t transient,
                          int accumulate) {
    const CadEntry *const entries = tape->entries;
    double *const value = tape->values;
    double *const adjoint = tape->adjoints;
    size_t low = tape->dirty_begin;
    size_t next_out = CAD_NONE;
    CadSlot latest = CAD_NONE;
    double sum = 0.0;
    size_t i = end;
    while (i > begin && next_out > low) {
        const CadEntry e = entries[--i];
        next_out = e.out;
        const double g = e.out == latest ? sum : adjoint[e.out];
        if (g == 0.0 && CAD_IS_PLAIN(e.code)) {
            continue;
        }
        switch (e.code) {
        case CAD_CODE(CAD_OP_LEAF, 0):
            if (accumulate && e.b && !cad_tape_is_untouched(tape, e.out)) {
                double *const gradient = value + e.out + e.a;
                for (size_t k = 0; k < e.a; k++) {
                    gradient[k] += adjoint[e.out + k];
                }
            }
            break;
        case CAD_CODE(CAD_OP_ASSIGN, 0):
        case CAD_CODE(CAD_OP_ASSIGN, CAD_PASSIVE_B): {
            const double assigned = adjoint[e.a];
            cad_exchange_number(tape, e);
            adjoint[e.a] = g; /* what was overwritten is a result as well */
            latest = CAD_NONE;
            low = e.a < low ? e.a : low;
            if (!(e.code & CAD_PASSIVE_B)) {
                adjoint[e.b] += assigned;
                low = e.b < low ? e.b : low;
            }
            break;
        }
#include "ops_rows.h"
        default:
            if (cad_entry_is_rule(e)) {
                tape->dirty_begin = low;
                return (CadStop){i + 1, 1};
            }
            if (CAD_IS_ARRAY_ENTRY(e)) {
                tape->dirty_begin = low;
                i = cad_array_reverse(tape, begin, i, transient, NULL);
                next_out = entries[i].out;
                low = tape->dirty_begin;
                latest = CAD_NONE;
            }
            break;
        }
    }
    tape->dirty_begin = low;
    return (CadStop){i, 0};
}

/* What an entry has overwritten and what stands there change places. */
static void exchange(CadTape *tape, size_t i, int undo) {
    const CadEntry e = tape->entries[i];
    if (cad_entry_overwrites(e) && CAD_IS_ARRAY_ENTRY(e)) {
        cad_array_exchange(tape, e, undo);
    } else if (cad_entry_overwrites(e)) {
        cad_exchange_number(tape, e);
    }
}

void cad_sweep_redo(CadTape *tape, size_t begin, size_t end) {
    for (size_t i = begin; i < end && tape->n_assigned > 0; i++) {
        exchange(tape, i, 0);
    }
}

void cad_sweep_undo(CadTape *tape, size_t begin, size_t end) {
    for (size_t i = end; i-- > begin && tape->n_assigned > 0;) {
        exchange(tape, i, 1);
    }
}

void cad_sweep_undo_dead(CadTape *tape, const CadReclaim *reclaim) {
    for (size_t i = tape->n_entries; i-- > 0 && tape->n_assigned > 0;) {
        if (!cad_reclaim_is_live(reclaim, tape->entries[i].out)) {
            exchange(tape, i, 1);
        }
    }
}

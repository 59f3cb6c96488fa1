/* The traversals of a tape. Each lives in a file of its own: value.c, reverse.c,
 * tangent.c, taylor.c, second.c, record.c.
 *
 * In every product of the chain rule an exact zero absorbs (cad_amul), whichever factor it is. */
#ifndef CAD_SWEEPS_H
#define CAD_SWEEPS_H

#include "arrays/lanes.h"
#include "tape/adjoints.h"
#include "tape/reclaim.h"
#include "tape/tape.h"

/* An assignment of a number: it swaps the kept former value with the present one. */
static inline void cad_exchange_number(CadTape *tape, CadEntry e) {
    const double former = tape->values[e.out];
    tape->values[e.out] = tape->values[e.a];
    tape->values[e.a] = former;
}

/* Compute the values of entries [begin, end) again from those of the leaves and constants. */
void cad_sweep_value(CadTape *tape, size_t begin, size_t end);

/* Reverse: propagate the adjoints that stand in tape->adjoints, cleared and seeded by the caller,
 * through entries [begin, end). Seeds lie at or above tape->dirty_begin. With `accumulate`, the
 * adjoints of leaves are added into their gradients: the pass of Var.backward.
 *
 * The adjoints of the results of entries from `transient` on are not read afterwards: they need
 * not be kept.
 *
 * Overwritten values are restored on the way, until cad_sweep_redo.
 *
 * Answers where it ended: one past the entry of a rule, which the caller has to carry out before
 * the sweep goes on below it, or else at `begin`, or above if the adjoints ran out. */
typedef struct CadStop {
    size_t at;
    int rule;
} CadStop;

CadStop cad_sweep_reverse(CadTape *tape, size_t begin, size_t end, size_t transient,
                          int accumulate);

/* Overwrite again what a sweep has restored in entries [begin, end); and restore it. */
void cad_sweep_redo(CadTape *tape, size_t begin, size_t end);
void cad_sweep_undo(CadTape *tape, size_t begin, size_t end);

/* Before the tape is compacted: undo the writes of entries that will be gone. Nobody reads their
 * values any more, but entries that stay may read the values from before. */
void cad_sweep_undo_dead(CadTape *tape, const CadReclaim *reclaim);

/* Forward: `tangents` holds `lanes` numbers for each slot from `base` on: seeds at those leaves
 * that stand before entry `inputs_end`, and anything elsewhere; other leaves are constants.
 * Entries [begin, end) may not read a variable below `base`; rules among them are carried out by
 * tape->second_rule. What fails leaves all values as they were. */
CadStatus cad_sweep_tangent(CadTape *tape, size_t begin, size_t end, size_t inputs_end,
                            CadSlot base, size_t lanes, double *tangents);

/* Forward, to high order: each number is a power series in t, the value its first coefficient.
 * `coefficients` holds those of t, t^2, ... t^order for each slot from `base` on, zero but for the
 * seeds at leaves. Else as the tangent sweep, which this is for the order 1. */
CadStatus cad_sweep_taylor(CadTape *tape, size_t begin, size_t end, CadSlot base, size_t order,
                           double *coefficients);

/* Tangent of reverse: with the tangents of a sweep above and the adjoints seeded as for
 * cad_sweep_reverse, leave in `adjoint_tangents` the derivatives of all adjoints along the
 * tangents: Hessian times directions. At first it holds zeros at least where
 * cad_lanes_clear_adjoints writes them; for what no adjoint has reached nothing is written to it.
 * The tangents are used up. Of the results of entries from `transient` on no adjoints are read
 * afterwards. */
CadStatus cad_sweep_second(CadTape *tape, size_t begin, size_t end, size_t transient, CadSlot base,
                           size_t lanes, double *tangents, double *adjoint_tangents);

/* A number of a sweep that is itself recorded: a value, and its slot or CAD_NONE. */
typedef struct CadNumber {
    double value;
    CadSlot slot;
} CadNumber;

/* Reverse, recorded: as cad_sweep_reverse, but each step is appended to the tape, so that the
 * resulting adjoints can be differentiated again. `adjoints` holds a number for each slot from
 * `base` on, {0, CAD_NONE} but for the seeds. Adjoints of slots below `base` are not computed.
 * With `linear`, the entries themselves count as constants: what results is linear in the seeds,
 * and depends on nothing else. */
CadStatus cad_sweep_record(CadTape *tape, size_t begin, size_t end, CadSlot base, bool linear,
                           CadNumber *adjoints);

#endif

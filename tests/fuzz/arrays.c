/* Bytes as a program over arrays: rows, products, sums, assignments, what is gathered and
 * scattered; some of it reclaimed. All sweeps over it are those over the same program number by
 * number. */
#include "fuzz.h"

#include "check.h"
#include "on_tape.h"
#include "twin_sweeps.h"

#include <math.h>
#include <stdlib.h>

/* Steps add some views each, of which a twin notes so many; leaves it has room for. */
enum { MOST_STEPS = 24, LEAVES = 3, MOST_LENGTH = 5 };

static const double FAR = 1e4; /* what is steeper tells of rounding */

static View any_leaf(Twin *twin, Random *random, int may_change) {
    int64_t shape[MOST_VIEW_AXES];
    const int ndim = (int)random_below(random, 4);
    for (int i = 0; i < ndim; i++) {
        shape[i] = 1 + (int64_t)random_below(random, MOST_LENGTH);
    }
    return may_change ? twin_constant(twin, ndim, shape, random)
                      : twin_leaf(twin, ndim, shape, random);
}

/* Whether values, and a sweep's adjoints, are such that rounding does not decide. */
static int is_moderate(const CadTape *numbers) {
    double most = 0.0;
    for (size_t slot = 0; slot < numbers->n_slots; slot++) {
        const double value = fabs(numbers->values[slot]);
        most = value <= most ? most : value;
        const double adjoint = fabs(cad_tape_adjoint(numbers, (CadSlot)slot));
        most = adjoint <= most ? most : adjoint;
    }
    return most < FAR;
}

/* Leaves and one array are held, all else may go; sweeps over what is left are as before. */
static void check_reclaimed(Twin *twin) {
    CadTape *const tape = twin->arrays;
    View last = twin->views[twin->n_views - 1];
    const size_t size = view_size(last);
    CadReclaim reclaim;
    if (cad_reclaim_begin(tape, &reclaim) != CAD_OK) {
        return;
    }
    cad_reclaim_hold_range(&reclaim, last.slot, (size_t)view_slot(last, size - 1) + 1);
    for (size_t i = 0; i < twin->n_leaves; i++) {
        cad_reclaim_hold_range(&reclaim, twin->leaves[i].slot, (size_t)twin->leaves[i].slot + 1);
    }
    const size_t stay = cad_reclaim_trace(tape, &reclaim);
    CadSlot leaves[LEAVES + 1];
    for (size_t i = 0; i < twin->n_leaves; i++) {
        leaves[i] = cad_reclaim_target(&reclaim, twin->leaves[i].slot);
    }
    const CadSlot held = last.slot;
    last.slot = cad_reclaim_target(&reclaim, held);
    cad_sweep_undo_dead(tape, &reclaim);
    cad_reclaim_compact(tape, &reclaim);
    CHECK_COUNT(tape->n_slots, stay);
    clear_adjoints(tape, 0, tape->n_slots);
    clear_adjoints(twin->numbers, 0, twin->numbers->n_slots);
    for (size_t i = 0; i < size; i++) {
        const CadSlot slot = view_slot(last, i);
        const CadNumber there = twin->now[slot - last.slot + held];
        if (there.slot != CAD_NONE) {
            CHECK_NEAR(tape->values[slot], there.value, nearly(there.value));
            cad_tape_prepare_adjoints(tape, slot, slot);
            cad_tape_adjoints(tape, slot)[slot] += 1.0;
            twin->numbers->adjoints[there.slot] += 1.0;
        }
    }
    reverse_arrays(tape, SIZE_MAX, 0);
    cad_sweep_reverse(twin->numbers, 0, twin->numbers->n_entries, SIZE_MAX, 0);
    for (size_t i = 0; i < twin->n_leaves; i++) {
        for (CadSlot k = 0; k < view_size(twin->leaves[i]); k++) {
            const CadSlot there = twin->original[twin->leaves[i].slot].slot + k;
            const double expected = cad_tape_adjoint(twin->numbers, there);
            CHECK_NEAR(cad_tape_adjoint(tape, leaves[i] + k), expected, nearly(expected));
        }
    }
}

int fuzz_arrays(const uint8_t *bytes, size_t size) {
    Random random = {1};
    random_lead(bytes, size);
    Twin *const twin = twin_new();
    twin_leaf(twin, 0, NULL, &random);
    for (int i = 0; i < LEAVES; i++) {
        any_leaf(twin, &random, i == LEAVES - 1);
    }
    for (int i = 0; i < MOST_STEPS && random_led() > 0; i++) {
        twin_step(twin, &random);
    }
    const size_t lanes = 1 + random_below(&random, 9), choice = random_below(&random, 3);
    random_lead(NULL, 0);
    twin_seed_all(twin, &random);
    twin_reverse(twin, 0);
    if (is_moderate(twin->numbers)) {
        twin_check_adjoints(twin);
        cad_sweep_redo(twin->arrays, 0, twin->arrays->n_entries);
        twin_check_values(twin);
        if (choice == 0) {
            twin_check_second(twin, &random, lanes);
        } else if (choice == 1) {
            Tangents tangents = twin_tangents(twin, &random, lanes);
            free_tangents(&tangents);
            twin_check_values(twin);
        } else {
            check_reclaimed(twin);
        }
    }
    twin_free(twin);
    return 0;
}

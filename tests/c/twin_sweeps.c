/* See twin_sweeps.h. */
#include "twin_sweeps.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>

/* Sums over many terms, added in another order. */
static const double ROUNDING = 1e-11;

double nearly(double x) {
    return ROUNDING * (1.0 + fabs(x));
}

void twin_check_values(const Twin *twin) {
    for (size_t slot = 0; slot < twin->arrays->n_slots; slot++) {
        const CadNumber number = twin->now[slot];
        if (number.slot != CAD_NONE) {
            CHECK_NEAR(twin->arrays->values[slot], number.value, nearly(number.value));
        }
    }
}

/* Add to the adjoint of a number that stands at a slot now. */
void twin_seed(Twin *twin, CadSlot slot, double weight) {
    cad_tape_prepare_adjoints(twin->arrays, slot, slot);
    cad_tape_adjoints(twin->arrays, slot)[slot] += weight;
    if (twin->now[slot].slot != CAD_NONE) {
        twin->numbers->adjoints[twin->now[slot].slot] += weight;
    }
}

/* Clear the adjoints of both tapes and seed some of them: of one array as a whole, and of others
 * here and there. */
void twin_seed_all(Twin *twin, Random *random) {
    clear_adjoints(twin->arrays, 0, twin->arrays->n_slots);
    clear_adjoints(twin->numbers, 0, twin->numbers->n_slots);
    const View last = twin->views[twin->n_views - 1];
    for (size_t i = 0; i < view_size(last); i++) {
        twin_seed(twin, view_slot(last, i), random_between(random, -1.0, 1.0));
    }
    for (int i = 0; i < 20; i++) {
        const View view = twin->views[random_below(random, twin->n_views)];
        const double weight = random_between(random, -1.0, 1.0); /* first, on all compilers */
        twin_seed(twin, view_slot(view, random_below(random, view_size(view))), weight);
    }
}

void reverse_arrays(CadTape *tape, size_t transient, int accumulate) {
    const CadStop stop = cad_sweep_reverse(tape, 0, tape->n_entries, transient, accumulate);
    CHECK(!stop.rule);
}

void twin_reverse(Twin *twin, int accumulate) {
    reverse_arrays(twin->arrays, SIZE_MAX, accumulate);
    cad_sweep_reverse(twin->numbers, 0, twin->numbers->n_entries, SIZE_MAX, accumulate);
}

/* Whether the adjoint of a slot can be told from outside: of kept values, and of what was a
 * constant at first, it cannot. */
int twin_is_comparable(const Twin *twin, size_t slot) {
    return !twin->kept[slot] && twin->original[slot].slot != CAD_NONE;
}

void twin_check_adjoints(const Twin *twin) {
    for (size_t slot = 0; slot < twin->arrays->n_slots; slot++) {
        if (twin_is_comparable(twin, slot)) {
            const double expected = cad_tape_adjoint(twin->numbers, twin->original[slot].slot);
            CHECK_NEAR(cad_tape_adjoint(twin->arrays, (CadSlot)slot), expected, nearly(expected));
        }
    }
}

Tangents twin_tangents(Twin *twin, Random *random, size_t lanes) {
    Tangents t = {test_memory(twin->arrays->n_slots * lanes, sizeof *t.arrays),
                  test_memory(twin->numbers->n_slots * lanes, sizeof *t.numbers)};
    for (size_t i = 0; i < twin->n_leaves; i++) {
        for (size_t k = 0; k < view_size(twin->leaves[i]) * lanes; k++) {
            const CadSlot here = twin->leaves[i].slot, there = twin->original[here].slot;
            t.arrays[here * lanes + k] = random_between(random, -1.0, 1.0);
            t.numbers[there * lanes + k] = t.arrays[here * lanes + k];
        }
    }
    cad_sweep_tangent(twin->arrays, 0, twin->arrays->n_entries, twin->arrays->n_entries, 0, lanes,
                      t.arrays);
    cad_sweep_tangent(twin->numbers, 0, twin->numbers->n_entries, twin->numbers->n_entries, 0,
                      lanes, t.numbers);
    return t;
}

void free_tangents(Tangents *t) {
    free(t->arrays);
    free(t->numbers);
}

void twin_check_second(Twin *twin, Random *random, size_t lanes) {
    Tangents t = twin_tangents(twin, random, lanes);
    for (size_t i = 0; i < twin->arrays->n_slots * lanes; i++) {
        const CadSlot there = twin->now[i / lanes].slot;
        const double expected = there == CAD_NONE ? 0.0 : t.numbers[there * lanes + i % lanes];
        CHECK_NEAR(t.arrays[i], expected, nearly(expected));
    }
    double *arrays = test_memory(twin->arrays->n_slots * lanes, sizeof *arrays);
    double *numbers = test_memory(twin->numbers->n_slots * lanes, sizeof *numbers);
    twin_seed_all(twin, random);
    cad_sweep_second(twin->arrays, 0, twin->arrays->n_entries, twin->arrays->n_entries, 0, lanes,
                     t.arrays, arrays);
    cad_sweep_second(twin->numbers, 0, twin->numbers->n_entries, twin->numbers->n_entries, 0,
                     lanes, t.numbers, numbers);
    twin_check_adjoints(twin);
    twin_check_values(twin);
    for (size_t i = 0; i < twin->arrays->n_slots * lanes; i++) {
        if (twin_is_comparable(twin, i / lanes)) {
            const double expected = numbers[twin->original[i / lanes].slot * lanes + i % lanes];
            CHECK_NEAR(arrays[i], expected, nearly(expected));
        }
    }
    free(arrays);
    free(numbers);
    free_tangents(&t);
}

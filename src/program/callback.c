/* See callback.h. */
#include "program/callback.h"

#include "memory/memory.h"
#include "program/running.h"

#include <math.h>

/* Where a thread looks first: their stacks are far from each other. */
static size_t first_choice(const void *on_stack) {
    return (size_t)((uint64_t)((uintptr_t)on_stack >> 16) * 0x9E3779B97F4A7C15u >> 32);
}

static double *take_room(CadCalled *called, size_t first) {
    double *room = NULL;
    for (size_t k = 0; k < CAD_SPARE_ROOMS && room == NULL; k++) {
        CadSpareRoom *const spare = &called->spare[(first + k) % CAD_SPARE_ROOMS];
        if (CAD_PUBLISHED(spare->room) != NULL) {
            room = CAD_EXCHANGED(spare->room, NULL);
        }
    }
    if (room == NULL) {
        room = cad_memory_resize(NULL, called->n_room, sizeof *room);
        if (room != NULL) {
            cad_program_prepare(called->program, room);
        }
    }
    return room;
}

static void give_back(CadCalled *called, size_t first, double *room) {
    for (size_t k = 0; k < CAD_SPARE_ROOMS && room != NULL; k++) {
        room = CAD_EXCHANGED(called->spare[(first + k) % CAD_SPARE_ROOMS].room, room);
    }
    cad_memory_free(room);
}

int cad_callback_run(size_t n, const double *x, double *value, double *gradient, void *data) {
    CadCallback *const callback = data;
    const int is_whole = gradient != NULL && callback->with_gradient.program != NULL;
    CadCalled *const called = is_whole ? &callback->with_gradient : &callback->value;
    const CadProgram *const program = called->program;
    if (n != program->n_inputs) {
        return CAD_CALL_OTHER_SIZE;
    }
    const size_t first = first_choice(&n);
    double *const room = take_room(called, first);
    if (room == NULL) {
        return CAD_CALL_NO_MEMORY;
    }
    cad_program_take_inputs(program, cad_program_places(program, room), x);
    const long missed = cad_program_run(program, room);
    if (missed == -1 && value != NULL) {
        cad_program_read_some(program, room, 0, callback->n_values, value);
    }
    if (missed == -1 && is_whole) {
        cad_program_read_some(program, room, callback->n_values, program->n_results, gradient);
    }
    give_back(called, first, room);
    if (missed == CAD_CALL_FAILED) {
        callback->forget();
    }
    return missed >= -1 ? (int)missed + 1 : CAD_CALL_NO_RESULT;
}

double cad_callback_integrand(int n, double *x, void *data) {
    double value = NAN;
    return cad_callback_run((size_t)n, x, &value, NULL, data) == 0 ? value : NAN;
}

int cad_callback_filter(double *x, intptr_t n, double *value, void *data) {
    return cad_callback_run((size_t)n, x, value, NULL, data) == 0;
}

void cad_callback_clear(CadCallback *callback) {
    for (size_t k = 0; k < CAD_SPARE_ROOMS; k++) {
        cad_memory_free(callback->value.spare[k].room);
        cad_memory_free(callback->with_gradient.spare[k].room);
        callback->value.spare[k].room = callback->with_gradient.spare[k].room = NULL;
    }
}

/* Calls for many points at once, whose numbers stand side by side. */
#include "program/running.h"

/* The lanes for which a call is made: those that all checks before it let pass. */
static size_t lanes_behind_checks(const CadProgram *program, size_t n_checks, Lanes lanes,
                                  size_t *chosen) {
    size_t n = 0;
    for (size_t lane = 0; lane < lanes.count; lane++) {
        int holds = 1;
        for (size_t k = 0; k < n_checks; k++) {
            const CadStrip found = lanes_of_operand(lanes, program->checks[k].place);
            holds &= found.data[(ptrdiff_t)lane * found.step] == program->checks[k].value;
        }
        chosen[n] = lane;
        n += (size_t)holds;
    }
    return n;
}

/* The call for lanes that checks have not ruled out: f would not make it for the others. */
static int call_for_some_lanes(const CadProgram *program, const CadInstruction *i, Lanes lanes,
                               const double *operands, double *results) {
    const size_t n_in = i->n, n_out = (size_t)i->y, count = lanes.count;
    double *const room = cad_memory_resize(NULL, (n_in + n_out + 1) * count, sizeof *room);
    if (room == NULL) {
        return 0;
    }
    size_t *const chosen = (size_t *)(room + (n_in + n_out) * count);
    const size_t n = lanes_behind_checks(program, (size_t)i->sy, lanes, chosen);
    int is_done = 1;
    if (n == count) {
        is_done = program->call_lanes(program->owner, (uint32_t)i->z, n, operands, results) >= 0;
    } else {
        double *const found = room + n_in * n;
        for (size_t k = 0; k < n_in * n; k++) {
            room[k] = operands[k / n * count + chosen[k % n]];
        }
        is_done =
            n == 0 || program->call_lanes(program->owner, (uint32_t)i->z, n, room, found) >= 0;
        memset(results, 0, n_out * count * sizeof *results);
        for (size_t k = 0; k < n_out * n && is_done; k++) {
            results[k / n * count + chosen[k % n]] = found[k];
        }
    }
    cad_memory_free(room);
    return is_done;
}

int cad_call_for_lanes(const CadProgram *program, const CadInstruction *i, Lanes lanes) {
    const CadNative *const native = cad_native_of(program, i);
    double *const results = cad_lanes_at(lanes, i->out);
    double *const own =
        i->x < lanes.n_shared ? cad_memory_resize(NULL, i->n * lanes.count, sizeof *own) : NULL;
    if (i->x < lanes.n_shared && own == NULL) {
        return 0;
    }
    for (uint32_t k = 0; own != NULL && k < i->n; k++) {
        cad_lanes_copy(own + k * lanes.count, lanes, i->x + (int32_t)k);
    }
    const double *const operands = own != NULL ? own : cad_lanes_at(lanes, i->x);
    const int is_done =
        (native != NULL && cad_native_run_lanes(native, lanes.count, operands, results)) ||
        call_for_some_lanes(program, i, lanes, operands, results);
    cad_memory_free(own);
    return is_done;
}

/* Carrying a program out for many points: one by one, or some at a time in lanes. */
#include "program/running.h"

/* Inputs that all points share: the first `n_shared` have one place for all lanes, those behind
 * the points' own have one in each lane. */
static void write_shared(const CadProgram *program, Lanes lanes, const CadPoints *points) {
    for (size_t i = 0; i < program->n_inputs - points->n_own; i++) {
        const size_t place = i < program->n_shared ? i : points->n_own + i;
        double *const at = cad_lanes_at(lanes, (int32_t)place);
        for (size_t lane = 0; lane < (i < program->n_shared ? 1 : lanes.count); lane++) {
            at[lane] = points->shared[i];
        }
    }
}

/* The inputs of some points, side by side; the last of them may be without one. */
static void write_own(const CadProgram *program, Lanes lanes, const CadPoints *points,
                      size_t first, size_t n_points) {
    double *at = cad_lanes_at(lanes, (int32_t)program->n_shared);
    for (size_t k = 0; k < points->n_own_columns; k++) {
        const CadColumns own = points->own[k];
        for (size_t lane = 0; lane < lanes.count; lane++) {
            const size_t point = first + (lane < n_points ? lane : 0);
            const double *const row = own.data + (ptrdiff_t)point * own.row;
            for (size_t i = 0; i < own.n; i++) {
                at[i * lanes.count + lane] = row[i];
            }
        }
        at += own.n * lanes.count;
    }
}

static size_t check_lanes(const CadProgram *program, Lanes lanes, uint8_t *missed,
                          size_t n_points) {
    memset(missed, 0, n_points);
    for (size_t k = 0; k < program->n_checks; k++) {
        const CadStrip found = lanes_of_operand(lanes, program->checks[k].place);
        for (ptrdiff_t lane = 0; lane < (ptrdiff_t)n_points; lane++) {
            missed[lane] |= found.data[lane * found.step] != program->checks[k].value;
        }
    }
    size_t n_missed = 0;
    for (size_t lane = 0; lane < n_points; lane++) {
        n_missed += missed[lane];
    }
    return n_missed;
}

static void read_results(const CadProgram *program, Lanes lanes, const CadPoints *points,
                         size_t first, size_t n_points) {
    const CadColumns *to = points->results;
    size_t column = 0; /* of these */
    for (size_t k = 0; k < program->n_outputs; k++) {
        const CadStretch s = program->outputs[k];
        for (uint32_t i = 0; i < s.n; i++, column++) {
            const int32_t place =
                s.listed ? program->lists[s.place + (int32_t)i] : s.place + (int32_t)i * s.step;
            const double *const from = cad_lanes_at(lanes, place);
            for (; column == to->n; to++) {
                column = 0;
            }
            double *const row = to->data + (ptrdiff_t)first * to->row + column;
            for (ptrdiff_t lane = 0; lane < (ptrdiff_t)n_points; lane++) {
                row[lane * to->row] = place < lanes.n_shared ? *from : from[lane];
            }
        }
    }
}

/* Answers as cad_program_run. */
static long run_point(const CadProgram *program, double *room, const CadPoints *points, size_t k) {
    double *const at = cad_program_places(program, room);
    const Lanes alone = cad_lanes_in(program, at, 1);
    write_own(program, alone, points, k, 1);
    cad_program_refer_to_places(program, at);
    cad_program_narrow_inputs(program, at);
    const long missed = cad_program_run(program, room);
    points->missed[k] = missed != -1;
    read_results(program, alone, points, k, 1);
    return missed;
}

void cad_program_prepare_points(const CadProgram *program, size_t lanes, double *room,
                                const CadPoints *points) {
    cad_program_prepare(program, room);
    write_shared(program, cad_lanes_in(program, cad_program_places(program, room), lanes), points);
}

long cad_program_run_points(const CadProgram *program, size_t lanes, double *room,
                            const CadPoints *points, size_t begin, size_t end) {
    double *const places = cad_program_places(program, room);
    const Lanes all = cad_lanes_in(program, places, lanes);
    size_t n_missed = 0;
    if (lanes == 1) {
        for (size_t k = begin; k < end; k++) {
            if (run_point(program, room, points, k) == CAD_CALL_FAILED) {
                return CAD_CALL_FAILED;
            }
            n_missed += points->missed[k];
        }
        return (long)n_missed;
    }
    for (size_t first = begin; first < end; first += lanes) {
        const size_t n = end - first < lanes ? end - first : lanes;
        write_own(program, all, points, first, n);
        if (cad_run_lanes(program, places, lanes) != -1) {
            return CAD_CALL_FAILED;
        }
        n_missed += check_lanes(program, all, points->missed + first, n);
        read_results(program, all, points, first, n);
    }
    return (long)n_missed;
}

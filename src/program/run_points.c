/* Carrying a program out for many points: one by one, or some at a time in lanes. */
#include "kernels/columns.h"
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
        const double *const from = own.data + (ptrdiff_t)first * own.row;
        cad_columns_split(at, (ptrdiff_t)lanes.count, from, own.row, own.n, n_points);
        for (size_t i = 0; i < own.n && n_points < lanes.count; i++) {
            cad_strip_add((CadStrip){at + i * lanes.count + n_points, 1},
                          (CadStrip){(double *)from + i, 0}, 1, lanes.count - n_points);
        }
        at += own.n * lanes.count;
    }
}

static size_t check_lanes(const CadProgram *program, Lanes lanes, uint8_t *missed,
                          size_t n_points) {
    bool any = false;
    memset(missed, 0, n_points);
    for (size_t k = 0; k < program->n_checks; k++) {
        const CadStrip found = lanes_of_operand(lanes, program->checks[k].place);
        if (found.step != 0) {
            any |= cad_columns_mark(found.data, program->checks[k].value, missed, n_points);
        } else if (*found.data != program->checks[k].value) {
            any = true;
            memset(missed, 1, n_points);
        }
    }
    size_t n_missed = 0;
    for (size_t lane = 0; any && lane < n_points; lane++) {
        n_missed += missed[lane];
    }
    return n_missed;
}

/* The place of a result, and then those that follow. */
typedef struct ResultPlaces {
    const CadProgram *program;
    size_t stretch;
    uint32_t next; /* in the stretch */
} ResultPlaces;

static int32_t next_place(ResultPlaces *at) {
    while (at->next == at->program->outputs[at->stretch].n) {
        at->stretch++;
        at->next = 0;
    }
    const CadStretch s = at->program->outputs[at->stretch];
    const int32_t i = (int32_t)at->next++;
    return s.listed ? at->program->lists[s.place + i] : s.place + i * s.step;
}

/* Results of lanes are columns: some at a time, so that a line of the cache is written once. */
static void read_results(const CadProgram *program, Lanes lanes, const CadPoints *points,
                         size_t first, size_t n_points) {
    ResultPlaces places = {program, 0, 0};
    size_t left = program->n_results;
    for (const CadColumns *to = points->results; left > 0; to++) {
        left -= to->n;
        for (size_t column = 0; column < to->n; column += CAD_COLUMNS) {
            const size_t count = to->n - column < CAD_COLUMNS ? to->n - column : CAD_COLUMNS;
            CadStrip from[CAD_COLUMNS];
            for (size_t k = 0; k < count; k++) {
                from[k] = lanes_of_operand(lanes, next_place(&places));
            }
            cad_columns_join(to->data + (ptrdiff_t)first * to->row + column, to->row, from, count,
                             n_points);
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

/* Pushes and pulls: see linear.h. The lanes of a place stand side by side, and all loops over them
 * are compiled for 1, 4 and 8. */
#include "arrays/walk.h"
#include "linear/steps.h"

#include "table/special.h"

#include <string.h>

/* --- rows --- */

typedef struct Rows {
    const uint32_t *targets;
    const uint64_t *ends;
    const double *factors;
    const uint32_t *sources;
    size_t begin;
    size_t end;
} Rows;

static Rows rows_of(const CadLinear *linear, const CadLinearStep *step) {
    return (Rows){cad_linear_items(linear, CAD_LINEAR_TARGETS),
                  cad_linear_items(linear, CAD_LINEAR_ENDS),
                  cad_linear_items(linear, CAD_LINEAR_FACTORS),
                  cad_linear_items(linear, CAD_LINEAR_SOURCES),
                  (size_t)step->begin,
                  (size_t)step->end};
}

static CAD_INLINE double times(double factor, double x, const int tame) {
    return tame ? factor * x : cad_amul(factor, x);
}

static CAD_INLINE void push_rows(Rows rows, double *restrict t, const size_t lanes,
                                 const int tame) {
    size_t k = rows.begin > 0 ? rows.ends[rows.begin - 1] : 0;
    for (size_t i = rows.begin; i < rows.end; i++) {
        double *const target = t + (size_t)rows.targets[i] * lanes;
        double sum[8] = {0.0};
        for (; k < rows.ends[i]; k++) {
            const double factor = rows.factors[k];
            const double *const source = t + (size_t)rows.sources[k] * lanes;
            for (size_t lane = 0; lane < lanes; lane++) {
                sum[lane] += times(factor, source[lane], tame);
            }
        }
        for (size_t lane = 0; lane < lanes; lane++) {
            target[lane] = sum[lane];
        }
    }
}

/* A row has done its part once it has handed on what stands at its target, which becomes 0: what
 * stood there before a push came to it is nothing that counts. */
static CAD_INLINE void pull_rows(Rows rows, double *restrict t, const size_t lanes,
                                 const int tame) {
    size_t k = rows.end > 0 ? rows.ends[rows.end - 1] : 0;
    for (size_t i = rows.end; i-- > rows.begin;) {
        double *const target = t + (size_t)rows.targets[i] * lanes;
        const size_t first = i > 0 ? rows.ends[i - 1] : 0;
        double g[8];
        int any = 0;
        for (size_t lane = 0; lane < lanes; lane++) {
            g[lane] = target[lane];
            any |= g[lane] != 0.0;
        }
        if (!any) {
            k = first;
            continue;
        }
        for (size_t lane = 0; lane < lanes; lane++) {
            target[lane] = 0.0;
        }
        while (k > first) {
            const double factor = rows.factors[--k];
            double *const source = t + (size_t)rows.sources[k] * lanes;
            for (size_t lane = 0; lane < lanes; lane++) {
                source[lane] += times(factor, g[lane], tame);
            }
        }
    }
}

#define ROWS_FOR(lanes)                                                                           \
    CAD_CLONES static void carry_rows_##lanes(Rows rows, double *t, int pull, int tame) {         \
        if (pull && tame) {                                                                       \
            pull_rows(rows, t, lanes, 1);                                                         \
        } else if (pull) {                                                                        \
            pull_rows(rows, t, lanes, 0);                                                         \
        } else if (tame) {                                                                        \
            push_rows(rows, t, lanes, 1);                                                         \
        } else {                                                                                  \
            push_rows(rows, t, lanes, 0);                                                         \
        }                                                                                         \
    }

ROWS_FOR(1)
ROWS_FOR(4) /* carry_rows_4 */
ROWS_FOR(8)

/* --- sums of views --- */

static CAD_INLINE void add_times(double *restrict to, const double *restrict from, double factor,
                                 const size_t lanes) {
    for (size_t lane = 0; lane < lanes; lane++) {
        const double product = factor * from[lane];
        to[lane] += ((factor == 0.0) | (from[lane] == 0.0)) ? 0.0 : product;
    }
}

/* to[i] += factors[i] * from[i] in all lanes, for a row of numbers. Where all go to one place,
 * they are added up first. */
static CAD_INLINE void add_row(double *to, ptrdiff_t to_step, const double *from,
                               ptrdiff_t from_step, const double *factors, ptrdiff_t step,
                               size_t n, const size_t lanes) {
    const ptrdiff_t width = (ptrdiff_t)lanes;
    if (to_step == width && from_step == width) { /* which compilers then know */
        for (size_t i = 0; i < n; i++) {
            add_times(to + i * lanes, from + i * lanes, factors[(ptrdiff_t)i * step], lanes);
        }
        return;
    }
    double sum[8] = {0.0};
    for (size_t i = 0; i < n; i++) {
        add_times(to_step == 0 ? sum : to + (ptrdiff_t)i * to_step,
                  from + (ptrdiff_t)i * from_step, factors[(ptrdiff_t)i * step], lanes);
    }
    for (size_t lane = 0; lane < lanes && to_step == 0; lane++) {
        to[lane] += sum[lane];
    }
}

#define ADD_ROW_FOR(lanes)                                                                        \
    CAD_CLONES static void add_row_##lanes(double *to, ptrdiff_t to_step, const double *from,     \
                                           ptrdiff_t from_step, const double *factors,            \
                                           ptrdiff_t step, size_t n) {                            \
        add_row(to, to_step, from, from_step, factors, step, n, lanes);                           \
    }

ADD_ROW_FOR(4) /* add_row_4 */
ADD_ROW_FOR(8)

static void add_tile(double *to, ptrdiff_t to_step, const double *from, ptrdiff_t from_step,
                     const double *factors, ptrdiff_t step, size_t n, size_t lanes) {
    if (lanes == 8) {
        add_row_8(to, to_step, from, from_step, factors, step, n);
    } else if (lanes == 4) {
        add_row_4(to, to_step, from, from_step, factors, step, n);
    } else {
        cad_strip_add_product((CadStrip){to, to_step}, (CadStrip){(double *)from, from_step},
                              (CadStrip){(double *)factors, step}, 0, n);
    }
}

static void add_views(const CadLinear *linear, CadPlan *plan, size_t lanes, int pull, double *t) {
    static const double one = 1.0;
    const double *const numbers = cad_linear_items(linear, CAD_LINEAR_NUMBERS);
    const int64_t first = cad_plan_extra(plan)[0], step = cad_plan_extra(plan)[1];
    const double *factors = first < 0 ? &one : numbers + first;
    const CadLanes places = {t, 0, lanes};
    Walk walk;
    start_walk_in(&walk, NULL, plan, 1);
    while (next_tile(&walk)) {
        const CadStrip to = lanes_at(&walk, pull ? 1 : 0, places, walk.first);
        const CadStrip from = lanes_at(&walk, pull ? 0 : 1, places, walk.first);
        add_tile(to.data, to.step, from.data, from.step, factors, (ptrdiff_t)step, walk.width,
                 lanes);
        factors += step * (int64_t)walk.width;
    }
}

/* --- operations of kinds --- */

static void add_terms(const CadLinear *linear, CadPlan *plan, size_t lanes, int pull, double *t) {
    const int64_t *const extra = cad_plan_extra(plan);
    const int which = (int)extra[1];
    double *const numbers = (double *)cad_linear_items(linear, CAD_LINEAR_NUMBERS) + extra[2];
    CadOp op = (CadOp)extra[0];
    CadRequestedPlan requested;
    CadTerm term = {.plan = plan, .data = {t, numbers, numbers}, .lanes = lanes, .absorbs = 1};
    term.along = which;
    if (pull) {
        const CadPull *const request = &cad_entry_kinds[op].pull[which - 1];
        op = (CadOp)request->op;
        term.plan = cad_term_request(request, plan, which, &requested);
        term.along = request->of[0] == CAD_G ? 1 : 2;
    }
    term.data[term.along] = t;
    term.room = t + linear->n_places * lanes;
    cad_term_run(op, &term);
}

/* --- the traversals --- */

static void carry_step(const CadLinear *linear, const CadLinearStep *step, int pull, size_t lanes,
                       double *t) {
    if (step->kind == CAD_LINEAR_ROWS) {
        (lanes == 8   ? carry_rows_8
         : lanes == 4 ? carry_rows_4
                      : carry_rows_1)(rows_of(linear, step), t, pull, linear->tame);
    } else {
        (step->kind == CAD_LINEAR_ADD ? add_views : add_terms)(linear, cad_step_plan(linear, step),
                                                               lanes, pull, t);
    }
}

static void sweep(const CadLinear *linear, int pull, size_t lanes, double *t) {
    const CadLinearStep *const steps = cad_linear_items(linear, CAD_LINEAR_STEPS);
    const size_t count = cad_linear_count(linear, CAD_LINEAR_STEPS);
    for (size_t i = 0; i < count; i++) {
        carry_step(linear, &steps[pull ? count - 1 - i : i], pull, lanes, t);
    }
}

/* The lanes that a sweep carries for so many directions: those beyond are 0. */
static size_t padded(size_t lanes) {
    return lanes == 1 ? 1 : lanes <= 4 ? 4 : 8;
}

size_t cad_linear_room(const CadLinear *linear, size_t lanes) {
    const size_t numbers = linear->n_places + linear->terms_room;
    return numbers > SIZE_MAX / 64 ? 0 : numbers * padded(lanes) + 1;
}

/* What goes in by a push, and by a pull. */
static const CadLinearPart entrance[] = {CAD_LINEAR_INPUTS, CAD_LINEAR_OUTPUTS};

/* The place of a number that goes in or out; CAD_NONE if it has none. */
static size_t place_of(const CadLinear *linear, CadLinearPart part, size_t i) {
    return ((const uint32_t *)cad_linear_items(linear, part))[i];
}

/* Write numbers to the places where they go in. */
static void enter(const CadLinear *linear, int end, size_t lanes, const double *in, double *t) {
    const size_t width = padded(lanes), count = cad_linear_count(linear, entrance[end]);
    if (linear->first[end] != CAD_NONE && width == lanes) {
        memcpy(t + linear->first[end] * width, in, count * width * sizeof *t);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t place = place_of(linear, entrance[end], i);
        for (size_t lane = 0; lane < lanes && place != CAD_NONE; lane++) {
            t[place * width + lane] += in[i * lanes + lane]; /* one may be there several times */
        }
    }
}

/* And read them where they come out: `step` and `lane_step` from each other. */
static void leave(const CadLinear *linear, int end, size_t lanes, double *out, size_t step,
                  size_t lane_step, const double *t) {
    const size_t width = padded(lanes), count = cad_linear_count(linear, entrance[end]);
    if (linear->first[end] != CAD_NONE && width == lanes && step == lanes && lane_step == 1) {
        memcpy(out, t + linear->first[end] * width, count * width * sizeof *t);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t place = place_of(linear, entrance[end], i);
        for (size_t lane = 0; lane < lanes; lane++) {
            out[i * step + lane * lane_step] = place != CAD_NONE ? t[place * width + lane] : 0.0;
        }
    }
}

void cad_linear_carry(const CadLinear *linear, bool pull, size_t lanes, const double *in,
                      double *out, double *room) {
    memset(room, 0, linear->n_places * padded(lanes) * sizeof *room);
    enter(linear, pull, lanes, in, room);
    sweep(linear, pull, padded(lanes), room);
    leave(linear, !pull, lanes, out, lanes, 1, room);
}

void cad_linear_units(const CadLinear *linear, bool pull, size_t first, size_t lanes,
                      double *matrix, double *room) {
    const size_t width = padded(lanes), n = cad_linear_count(linear, CAD_LINEAR_INPUTS);
    memset(room, 0, linear->n_places * width * sizeof *room);
    for (size_t lane = 0; lane < lanes; lane++) {
        const size_t place = place_of(linear, entrance[pull], first + lane);
        if (place != CAD_NONE) {
            room[place * width + lane] = 1.0;
        }
    }
    sweep(linear, pull, width, room);
    leave(linear, !pull, lanes, matrix + first * (pull ? n : 1), pull ? 1 : n, pull ? n : 1, room);
}

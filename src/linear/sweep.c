/* Pushes and pulls: see linear.h. The lanes of a place stand side by side, and all loops over them
 * are compiled for 1, 4 and 8. */
#include "arrays/terms.h"
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
    CAD_CLONES static void push_rows_##lanes(Rows rows, double *t, int tame) {                    \
        if (tame) {                                                                               \
            push_rows(rows, t, lanes, 1);                                                         \
        } else {                                                                                  \
            push_rows(rows, t, lanes, 0);                                                         \
        }                                                                                         \
    }                                                                                             \
    CAD_CLONES static void pull_rows_##lanes(Rows rows, double *t, int tame) {                    \
        if (tame) {                                                                               \
            pull_rows(rows, t, lanes, 1);                                                         \
        } else {                                                                                  \
            pull_rows(rows, t, lanes, 0);                                                         \
        }                                                                                         \
    }

ROWS_FOR(1)
ROWS_FOR(4)
ROWS_FOR(8)

/* --- views --- */

/* All views of a frame, row by row: a row is the last axis, if there is one that is `kept`. */
typedef struct Course {
    CadFrame frame;
    int n_views;
    int axes;
    size_t n;
    int64_t at[3];
    int64_t step[3];
    int64_t index[CAD_MOST_AXES];
} Course;

static void start(Course *course, int64_t kind, int64_t *words, int kept) {
    const CadFrame frame = cad_frame_of(kind, words);
    const int ndim = frame.ndim;
    course->frame = frame;
    course->n_views = cad_frame_views(kind);
    course->axes = ndim > kept ? ndim - kept : 0;
    course->n = kept && ndim > 0 ? (size_t)frame.shape[ndim - 1] : 1;
    for (int k = 0; k < course->n_views; k++) {
        course->at[k] = frame.view[k][0];
        course->step[k] = kept && ndim > 0 ? frame.view[k][ndim] : 0;
    }
    for (int i = 0; i < course->axes; i++) {
        course->index[i] = 0;
    }
}

/* The next row; 0 if there is none. */
static int go_on(Course *course) {
    for (int axis = course->axes; axis-- > 0;) {
        const int64_t length = course->frame.shape[axis];
        const int64_t steps = ++course->index[axis] < length ? 1 : 1 - length;
        for (int k = 0; k < course->n_views; k++) {
            course->at[k] += steps * course->frame.view[k][axis + 1];
        }
        if (steps == 1) {
            return 1;
        }
        course->index[axis] = 0;
    }
    return 0;
}

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

ADD_ROW_FOR(4)
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

static void add_views(const CadLinear *linear, int64_t *words, size_t lanes, int pull, double *t) {
    static const double one = 1.0;
    const CadAddHead *const head = (const CadAddHead *)words;
    const double *numbers = cad_linear_items(linear, CAD_LINEAR_NUMBERS);
    const double *factors = head->factors < 0 ? &one : numbers + head->factors;
    const int to = pull ? 1 : 0, from = 1 - to;
    const ptrdiff_t width = (ptrdiff_t)lanes;
    Course course;
    start(&course, CAD_LINEAR_ADD, words, 1);
    do {
        for (size_t first = 0; first < course.n; first += CAD_TILE) {
            const size_t n = course.n - first < CAD_TILE ? course.n - first : CAD_TILE;
            const int64_t i = (int64_t)first;
            add_tile(t + (course.at[to] + i * course.step[to]) * width, course.step[to] * width,
                     t + (course.at[from] + i * course.step[from]) * width,
                     course.step[from] * width, factors, (ptrdiff_t)head->step, n, lanes);
            factors += head->step * (int64_t)n;
        }
    } while (go_on(&course));
}

/* --- moves --- */

static void move_lanes(double *t, int64_t to, int64_t from, size_t lanes) {
    memcpy(t + (size_t)to * lanes, t + (size_t)from * lanes, lanes * sizeof *t);
}

static void clear_lanes(double *t, int64_t place, size_t lanes) {
    memset(t + (size_t)place * lanes, 0, lanes * sizeof *t);
}

static void add_lanes(double *t, int64_t to, int64_t from, size_t lanes) {
    for (size_t lane = 0; lane < lanes; lane++) {
        t[(size_t)to * lanes + lane] += t[(size_t)from * lanes + lane];
    }
}

/* In a pull, what the places were before comes back from where it was kept. */
static void move_view(int64_t *words, size_t lanes, int pull, double *t) {
    const CadMoveHead *const head = (const CadMoveHead *)words;
    int64_t kept = head->kept;
    Course course;
    start(&course, CAD_LINEAR_MOVE, words, 1);
    do {
        for (size_t i = 0; i < course.n; i++) {
            const int64_t place = course.at[0] + (int64_t)i * course.step[0];
            if (head->kept >= 0 && pull) {
                move_lanes(t, place, kept++, lanes);
                continue;
            }
            if (head->kept >= 0) {
                move_lanes(t, kept++, place, lanes);
            }
            clear_lanes(t, place, lanes);
        }
    } while (go_on(&course));
}

static void go_through_offsets(int64_t *words, size_t lanes, int to_view, double *t) {
    const CadOffsetsHead *const head = (const CadOffsetsHead *)words;
    for (int64_t i = 0; i < head->size; i++) {
        const int64_t place = head->view + i * head->stride;
        add_lanes(t, to_view ? place : head->offsets[i], to_view ? head->offsets[i] : place,
                  lanes);
    }
}

static void push_scatter(int64_t *words, size_t lanes, double *t) {
    const CadOffsetsHead *const head = (const CadOffsetsHead *)words;
    for (int64_t i = 0; i < head->size; i++) {
        const int64_t place = head->offsets[i];
        if (head->kept >= 0) {
            move_lanes(t, head->kept + i, place, lanes);
        }
        if (head->view >= 0) {
            move_lanes(t, place, head->view + i * head->stride, lanes);
        } else {
            clear_lanes(t, place, lanes);
        }
    }
}

/* Of several moves to one place the last one counts. */
static void pull_scatter(int64_t *words, size_t lanes, double *t) {
    const CadOffsetsHead *const head = (const CadOffsetsHead *)words;
    for (int64_t i = head->size; i-- > 0;) {
        const int64_t place = head->offsets[i];
        if (head->view >= 0) {
            add_lanes(t, head->view + i * head->stride, place, lanes);
        }
        if (head->kept >= 0) {
            move_lanes(t, place, head->kept + i, lanes);
        } else {
            clear_lanes(t, place, lanes);
        }
    }
}

/* --- operations of kinds --- */

static void add_terms(const CadLinear *linear, int64_t *words, size_t lanes, int pull, double *t) {
    const CadTermsHead *const head = (const CadTermsHead *)words;
    const CadFrame frame = cad_frame_of(CAD_LINEAR_TERMS, words);
    const int which = (int)head->which;
    double *const numbers = (double *)cad_linear_items(linear, CAD_LINEAR_NUMBERS) + head->numbers;
    CadOp op = (CadOp)head->op;
    CadRequestedPlan own, requested;
    CadPlan *const plan =
        cad_term_plan(frame.ndim, frame.shape, cad_entry_kinds[op].n_views, &own);
    memcpy(cad_plan_view(plan, 0), frame.view[0],
           (size_t)(plan->n_views * (frame.ndim + 1)) * sizeof *words);
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

static void push_step(const CadLinear *linear, const CadLinearStep *step, size_t lanes,
                      double *t) {
    int64_t *const words = (int64_t *)cad_linear_items(linear, CAD_LINEAR_WORDS) +
                           (step->kind == CAD_LINEAR_ROWS ? 0 : step->begin);
    switch (step->kind) {
    case CAD_LINEAR_ROWS:
        (lanes == 8   ? push_rows_8
         : lanes == 4 ? push_rows_4
                      : push_rows_1)(rows_of(linear, step), t, linear->tame);
        break;
    case CAD_LINEAR_ADD:
        add_views(linear, words, lanes, 0, t);
        break;
    case CAD_LINEAR_MOVE:
        move_view(words, lanes, 0, t);
        break;
    case CAD_LINEAR_PICK:
        go_through_offsets(words, lanes, 1, t);
        break;
    case CAD_LINEAR_PUT:
        go_through_offsets(words, lanes, 0, t);
        break;
    case CAD_LINEAR_SCATTER:
        push_scatter(words, lanes, t);
        break;
    default:
        add_terms(linear, words, lanes, 0, t);
    }
}

static void pull_step(const CadLinear *linear, const CadLinearStep *step, size_t lanes,
                      double *t) {
    int64_t *const words = (int64_t *)cad_linear_items(linear, CAD_LINEAR_WORDS) +
                           (step->kind == CAD_LINEAR_ROWS ? 0 : step->begin);
    switch (step->kind) {
    case CAD_LINEAR_ROWS:
        (lanes == 8   ? pull_rows_8
         : lanes == 4 ? pull_rows_4
                      : pull_rows_1)(rows_of(linear, step), t, linear->tame);
        break;
    case CAD_LINEAR_ADD:
        add_views(linear, words, lanes, 1, t);
        break;
    case CAD_LINEAR_MOVE:
        move_view(words, lanes, 1, t);
        break;
    case CAD_LINEAR_PICK:
        go_through_offsets(words, lanes, 0, t);
        break;
    case CAD_LINEAR_PUT:
        go_through_offsets(words, lanes, 1, t);
        break;
    case CAD_LINEAR_SCATTER:
        pull_scatter(words, lanes, t);
        break;
    default:
        add_terms(linear, words, lanes, 1, t);
    }
}

static void sweep(const CadLinear *linear, int pull, size_t lanes, double *t) {
    const CadLinearStep *const steps = cad_linear_items(linear, CAD_LINEAR_STEPS);
    const size_t count = cad_linear_count(linear, CAD_LINEAR_STEPS);
    for (size_t i = 0; i < count; i++) {
        if (pull) {
            pull_step(linear, &steps[count - 1 - i], lanes, t);
        } else {
            push_step(linear, &steps[i], lanes, t);
        }
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

/* And read them where they come out. */
static void leave(const CadLinear *linear, int end, size_t lanes, double *out, const double *t) {
    const size_t width = padded(lanes), count = cad_linear_count(linear, entrance[end]);
    if (linear->first[end] != CAD_NONE && width == lanes) {
        memcpy(out, t + linear->first[end] * width, count * width * sizeof *t);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t place = place_of(linear, entrance[end], i);
        for (size_t lane = 0; lane < lanes; lane++) {
            out[i * lanes + lane] = place != CAD_NONE ? t[place * width + lane] : 0.0;
        }
    }
}

static void carry(const CadLinear *linear, int pull, size_t lanes, const double *in, double *out,
                  double *t) {
    memset(t, 0, linear->n_places * padded(lanes) * sizeof *t);
    enter(linear, pull, lanes, in, t);
    sweep(linear, pull, padded(lanes), t);
    leave(linear, !pull, lanes, out, t);
}

void cad_linear_push(const CadLinear *linear, size_t lanes, const double *tangents,
                     double *results, double *room) {
    carry(linear, 0, lanes, tangents, results, room);
}

void cad_linear_pull(const CadLinear *linear, size_t lanes, const double *cotangents,
                     double *results, double *room) {
    carry(linear, 1, lanes, cotangents, results, room);
}

/* Carry the unit vectors first, first + 1, ... through. */
static void carry_units(const CadLinear *linear, int pull, size_t first, size_t lanes, double *t) {
    const size_t width = padded(lanes);
    memset(t, 0, linear->n_places * width * sizeof *t);
    for (size_t lane = 0; lane < lanes; lane++) {
        const size_t place = place_of(linear, entrance[pull], first + lane);
        if (place != CAD_NONE) {
            t[place * width + lane] = 1.0;
        }
    }
    sweep(linear, pull, width, t);
}

void cad_linear_columns(const CadLinear *linear, size_t first, size_t lanes, double *matrix,
                        double *room) {
    const size_t n = cad_linear_count(linear, CAD_LINEAR_INPUTS), width = padded(lanes);
    carry_units(linear, 0, first, lanes, room);
    for (size_t i = 0; i < cad_linear_count(linear, CAD_LINEAR_OUTPUTS); i++) {
        const size_t place = place_of(linear, CAD_LINEAR_OUTPUTS, i);
        for (size_t lane = 0; lane < lanes; lane++) {
            matrix[i * n + first + lane] = place != CAD_NONE ? room[place * width + lane] : 0.0;
        }
    }
}

void cad_linear_rows(const CadLinear *linear, size_t first, size_t lanes, double *matrix,
                     double *room) {
    const size_t n = cad_linear_count(linear, CAD_LINEAR_INPUTS), width = padded(lanes);
    carry_units(linear, 1, first, lanes, room);
    for (size_t i = 0; i < n; i++) {
        const size_t place = place_of(linear, CAD_LINEAR_INPUTS, i);
        for (size_t lane = 0; lane < lanes; lane++) {
            matrix[(first + lane) * n + i] = place != CAD_NONE ? room[place * width + lane] : 0.0;
        }
    }
}

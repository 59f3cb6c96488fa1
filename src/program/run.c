/* Carrying a program out: for one point, along many directions, or in lanes. */
#include "kernels/single.h"
#include "program/running.h"
#include "table/ops.h"

/* --- one point --- */

static inline void run_sincos(const CadSingle *s, double *at) {
    const double x = at[s->x];
    const double sine = sin(x), cosine = cos(x); /* for compilers one function */
    at[s->out] = sine;
    at[s->y] = cosine;
}

/* What a row does, as STEP(operation, statement). */
#define OUT at[single->out]
#define X at[single->x]
#define Y at[single->y]
#define Z at[single->z]
#define ROW(name, arity) STEP(CAD_OP_##name, OUT = val_##name(CAD_FIRST##arity(X, Y, Z)))
#define OTHER_STEPS                                                                               \
    STEP(CAD_SINGLE_SINCOS, run_sincos(single, at))                                               \
    STEP(CAD_SINGLE_ADDED, OUT = X * Y + Z)                                                       \
    STEP(CAD_SINGLE_TAKEN, OUT = Z - X * Y)                                                       \
    STEP(CAD_SINGLE_LESS, OUT = X * Y - Z)                                                        \
    STEP(CAD_SINGLE_ABSORBED_ADDED, OUT = val_amul(X, Y) + Z)                                     \
    STEP(CAD_SINGLE_ABSORBED_TAKEN, OUT = Z - val_amul(X, Y))                                     \
    STEP(CAD_SINGLE_ABSORBED_LESS, OUT = val_amul(X, Y) - Z)

#ifdef __GNUC__
/* Threaded code: each operation goes to the next one by itself, so that the processor learns for
 * each where that leads. Where labels are no values, a switch has to do. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

static void run_singles(const CadSingle *single, size_t n, double *at) {
#define STEP(code, statement) [code] = &&do_##code,
    static const void *const labels[] = {
#define CAD_NAME ROW
#include "ops_codes.h"
        OTHER_STEPS};
#undef STEP
#define STEP(code, statement)                                                                     \
    do_##code : statement;                                                                        \
    if (++single == end) {                                                                        \
        return;                                                                                   \
    }                                                                                             \
    goto *labels[single->op];
    const CadSingle *const end = single + n;
    if (n > 0) {
        goto *labels[single->op];
    }
    return;
#define CAD_NAME ROW
#include "ops_codes.h"
    OTHER_STEPS
}

#pragma GCC diagnostic pop
#else

static void run_singles(const CadSingle *single, size_t n, double *at) {
    for (const CadSingle *const end = single + n; single < end; single++) {
        switch (single->op) {
#define STEP(code, statement)                                                                     \
    case code:                                                                                    \
        statement;                                                                                \
        break;
#define CAD_NAME ROW
#include "ops_codes.h"
            OTHER_STEPS
        default:
            break;
        }
    }
}

#endif

#undef STEP
#undef OTHER_STEPS
#undef OUT
#undef X
#undef Y
#undef Z
#undef ROW

static Places places_of_point(const CadProgram *program, double *at) {
    return (Places){at,
                    at,
                    at,
                    0,
                    (int32_t)program->n_whole,
                    program->referred,
                    program->n_referred,
                    program->lists_refer};
}

/* A clock, and what it takes to read it. */
typedef struct Stopwatch {
    double (*now)(void);
    double cost;
} Stopwatch;

static double seconds_since(const Stopwatch *watch, double begun) {
    const double seconds = watch->now() - begun - watch->cost;
    return seconds > 0.0 ? seconds : 0.0;
}

static const Turn once = {0, 0};

static inline double number_at(const Places *places, int32_t place) {
    return base_of(places, place)[place];
}

/* Whether all numbers of a list have one base. */
static int has_one_base(const Places *places) {
    return places->own == places->shared && !places->lists_refer;
}

static CAD_CLONES void take_from(double *restrict out, const double *at, const int32_t *list,
                                 size_t n) {
    for (size_t k = 0; k < n; k++) {
        out[k] = at[list[k]];
    }
}

static void take(double *restrict out, const Places *places, const int32_t *list, size_t n) {
    enum { FEW = 16 }; /* numbers, which are not worth a call */
    const double *const at = places->own;
    if (!has_one_base(places)) {
        for (size_t k = 0; k < n; k++) {
            out[k] = number_at(places, list[k]);
        }
    } else if (n > FEW) {
        take_from(out, at, list, n);
    } else {
        for (size_t k = 0; k < n; k++) {
            out[k] = at[list[k]];
        }
    }
}

/* The same of places in runs. */
static void take_runs(double *restrict out, const Places *places, const int32_t *list, size_t n,
                      size_t length) {
    for (size_t k = 0; k < n; k += length) {
        if (has_one_base(places)) {
            cad_copy_numbers(out + k, places->own + list[k], length);
        } else {
            take(out + k, places, list + k, length);
        }
    }
}

static void add_at(double *restrict to, const int32_t *list, CadStrip x, size_t n, size_t length) {
    for (size_t k = 0; k < n; k += length) {
        cad_add_numbers(to + list[k], x.data + (ptrdiff_t)k * x.step, length);
    }
}

/* Sums of few terms are not worth a loop of NumPy's. */
static void run_total(const CadInstruction *i, const Places *places) {
    double *const out = numbers_at(places, i->out);
    const double former = i->y ? *out : 0.0;
    double sum = i->z ? 0.0 : former;
    cad_strip_sum(&sum, strip(places, i->x, i->sx, 0), i->n);
    *out = i->z ? former - sum : sum;
}

/* Single operations at places moved by a shift, some at a time. */
static void run_singles_over(const CadSingle *single, size_t n, const Places *places) {
    enum { SOME = 64 };
    const int32_t shift = (int32_t)(places->own - places->shared);
    CadSingle moved[SOME];
    if (shift == 0) {
        run_singles(single, n, places->own);
        return;
    }
    for (size_t first = 0; first < n; first += SOME) {
        const size_t count = n - first < SOME ? n - first : SOME;
        for (size_t k = 0; k < count; k++) {
            CadSingle s = single[first + k];
            s.out += shift;
            s.x += s.x < places->n_shared ? 0 : shift;
            s.y += s.y < places->n_shared ? 0 : shift;
            s.z += s.z < places->n_shared ? 0 : shift;
            moved[k] = s;
        }
        run_singles(moved, count, places->shared);
    }
}

/* The guard of the first of some checks that does not hold, or -1. */
static long failed_check(const CadCheck *checks, size_t n, const Places *places) {
    for (size_t k = 0; k < n; k++) {
        if (number_at(places, checks[k].place) != checks[k].value) {
            return (long)checks[k].number;
        }
    }
    return -1;
}

/* --- tile by tile --- */

static CAD_INLINE void run_turn(const CadProgram *program, const CadInstruction *i,
                                const Places *places, Turn turn) {
    if (i->floats != 0) {
        cad_run_floats(program, i, places, turn);
        return;
    }
    if (cad_step_is(i, CAD_CALLS)) {
        cad_native_run_rows(
            cad_native_of(program, i), (size_t)i->sx,
            strip_in_turn(program, places, i->x, 1, i->n, turn.number).data,
            strip_in_turn(program, places, i->out, 1, (uint32_t)i->y, turn.number).data);
        return;
    }
    const CadStrip out = strip_in_turn(program, places, i->out, 1, i->n, turn.number);
    if (i->kind == CAD_VECTOR) {
        const CadStrip x[3] = {strip_in_turn(program, places, i->x, i->sx, i->n, turn.number),
                               strip_in_turn(program, places, i->y, i->sy, i->n, turn.number),
                               strip_in_turn(program, places, i->z, i->sz, i->n, turn.number)};
        value_of(i)((CadOp)i->op, out, x, i->n);
        return;
    }
    if (i->kind == CAD_ZEROS || (i->kind == CAD_TERMS && adds_terms(i))) {
        memset(out.data, 0, i->n * sizeof *out.data);
    }
    if (i->kind == CAD_TERMS) {
        cad_run_terms(i, (CadPlan *)(program->plans + i->x), places, turn);
    } else if (i->kind == CAD_ROWS) {
        cad_run_elements(i, (CadPlan *)(program->plans + i->x), places, turn);
    }
}

static void run_machine_turn(const CadProgram *program, const CadInstruction *i,
                             const Places *places, Turn turn) {
    CadMachineTurn *const run =
        (CadMachineTurn *)(void (*)(void))program->machine->functions[i->x];
    run(places->shared, places->own, places->tiles, (long)turn.number, (long)turn.part);
}

/* A loop over tiles, and where its numbers are. With a clock, what each instruction takes is added
 * to its seconds. */
typedef struct Loop {
    const CadProgram *program;
    const CadInstruction *head;
    const Places *places;
    const Stopwatch *watch;
    double *seconds;
} Loop;

/* What one instruction writes is in the cache when the next one reads it. Tiles are in a room for
 * those of one thread. */
static void run_part(const void *work, size_t part, double *room) {
    const Loop *const loop = work;
    const CadInstruction *const head = loop->head;
    const Stopwatch *const watch = loop->watch;
    Places places = *loop->places;
    if (loop->program->n_places > loop->program->n_whole) { /* else there is no room */
        places.tiles = room - loop->program->n_whole;
    }
    Turn turn = {part * (size_t)head->x, part};
    const size_t end = turn.number + (size_t)head->x;
    for (; turn.number < end && turn.number < head->n; turn.number++) {
        for (uint32_t k = 1; k < head->fused; k += head[k].fused) {
            const double begun = watch != NULL ? watch->now() : 0.0;
            if (head[k].kind == CAD_MACHINE) {
                run_machine_turn(loop->program, &head[k], &places, turn);
                continue;
            }
            run_turn(loop->program, &head[k], &places, turn);
            if (watch != NULL) {
                loop->seconds[k] += seconds_since(watch, begun);
            }
        }
    }
}

static void run_tiles(const CadProgram *program, const CadInstruction *head, const Places *places,
                      const Stopwatch *watch, double *seconds) {
    const Loop loop = {program, head, places, watch, seconds};
    const CadTeam *const team = watch == NULL ? program->team : NULL;
    const size_t n = (head->n + (size_t)head->x - 1) / (size_t)head->x;
    double *const own = places->tiles + program->n_whole;
    if (team != NULL && n > 1) {
        team->share(team->self, n, program->n_places - program->n_whole, own, run_part, &loop);
        return;
    }
    for (size_t part = 0; part < n; part++) {
        run_part(&loop, part, own);
    }
}

/* --- one instruction --- */

static long run_inner_code(const CadProgram *program, double *places);
static const CadInnerRuns inner_runs = {cad_run_lanes, run_inner_code};

/* What is written to is never shared. Answers as cad_program_run. */
static long run_instruction(const CadProgram *program, const CadInstruction *i,
                            const Places *places) {
    switch ((CadStepKind)i->kind) {
    case CAD_SINGLES:
        for (int32_t turn = 0; turn < i->y; turn++) {
            run_singles_over(program->singles + i->x, i->n, places);
        }
        break;
    case CAD_VECTOR:
    case CAD_ROWS:
    case CAD_TERMS:
    case CAD_ZEROS:
        run_turn(program, i, places, once);
        break;
    case CAD_TAKE:
        if (i->y > 0) {
            take_runs(numbers_at(places, i->out), places, program->lists + i->x, i->n,
                      (size_t)i->y);
        } else {
            take(numbers_at(places, i->out), places, program->lists + i->x, i->n);
        }
        break;
    case CAD_TOTAL:
        run_total(i, places);
        break;
    case CAD_TILES:
        run_tiles(program, i, places, NULL, NULL);
        break;
    case CAD_ADD_AT: {
        double *const to = numbers_at(places, i->out);
        const CadStrip x = strip(places, i->x, i->sx, 0);
        add_at(to, program->lists + i->z, x, i->n, i->y > 0 ? (size_t)i->y : 1);
        break;
    }
    case CAD_CALL: {
        if (i->sx > 0) {
            run_turn(program, i, places, once);
            break;
        }
        const CadNative *const native = cad_native_of(program, i);
        const double *const operands = numbers_at(places, i->x);
        double *const results = numbers_at(places, i->out);
        if ((native == NULL || !cad_native_run(native, operands, results)) &&
            program->call(program->owner, (uint32_t)i->z, operands, results) < 0) {
            return CAD_CALL_FAILED;
        }
        break;
    }
    case CAD_COMPARE:
        return failed_check(program->checks + i->x, i->n, places);
    case CAD_MACHINE:
        return program->machine->functions[i->x](places->shared, places->own);
    case CAD_TAKE_BY:
    case CAD_ADD_BY:
        return cad_run_by_index(program, i, places, i->kind == CAD_ADD_BY) ? -1
                                                                           : CAD_OUT_OF_BOUNDS;
    case CAD_SCAN:
        return cad_run_scan(program, i, places, inner_runs);
    }
    return -1;
}

static long run_inner_code(const CadProgram *program, double *places) {
    const Places own = places_of_point(program, places);
    const CadInstruction *const code = cad_program_code(program, 1);
    long failed = -1;
    for (size_t k = 0; k < program->n_code && failed == -1; k += code[k].fused) {
        const CadInstruction *const i = &code[k];
        if (i->kind == CAD_SINGLES && i->y == 1) {
            run_singles(program->singles + i->x, i->n, places);
        } else {
            failed = run_instruction(program, i, &own);
        }
    }
    return failed;
}

static long failed_at_end(const CadProgram *program, const Places *places) {
    return program->compares_last ? failed_check(program->checks, program->n_checks, places) : -1;
}

/* Where a result is wanted that is referred to, if that is no place; else NULL. */
static double *wanted_at(const Places *places, size_t result) {
    for (size_t k = 0; k < places->n_referred; k++) {
        const CadReferred referred = places->referred[k];
        if (referred.result == (int64_t)result) {
            double *const at = (double *)cad_program_referent(places->own, referred);
            return at != cad_program_own(places->own, referred) ? at : NULL;
        }
    }
    return NULL;
}

/* The results from `first` on up to `end`. */
static void read_places(const CadProgram *program, const Places *places, size_t first, size_t end,
                        double *results) {
    for (size_t k = 0, at = 0; k < program->n_outputs && at < end; k++) {
        CadStretch s = program->outputs[k];
        const size_t left_out = at < first ? first - at : 0, size = s.n;
        if (left_out >= size) {
            at += size;
            continue;
        }
        s.n = (uint32_t)((size < end - at ? size : end - at) - left_out);
        s.place += (int32_t)left_out * (s.listed || s.place >= CAD_LEAST_FLOAT ? 1 : s.step);
        double *const wanted =
            s.listed || places->n_referred == 0 ? NULL : wanted_at(places, at + left_out);
        at += size;
        if (wanted != NULL && s.step == 0) {
            cad_strip_add((CadStrip){wanted, 1}, strip(places, s.place, 0, 0), 1, s.n);
        }
        if (wanted != NULL) { /* and all else was written there */
            results += s.n;
            continue;
        }
        if (s.listed) {
            take(results, places, program->lists + s.place, s.n);
        } else if (s.place >= CAD_LEAST_FLOAT) { /* a whole array */
            cad_widen_row(results, floats_at(places, s.place), s.n);
        } else if (s.step != 1) {
            cad_strip_add((CadStrip){results, 1}, strip(places, s.place, s.step, 0), 1, s.n);
        } else {
            memcpy(results, numbers_at(places, s.place), s.n * sizeof *results);
        }
        results += s.n;
    }
}

static CAD_INLINE long run_code(const CadProgram *program, const Places *places,
                                const Places *usual) {
    const CadInstruction *const code = cad_program_code(program, 1);
    for (size_t k = 0; k < program->n_code; k += code[k].fused) {
        const long missed = run_instruction(program, &code[k], code[k].refers ? places : usual);
        if (missed != -1) {
            return missed;
        }
    }
    return failed_at_end(program, places);
}

long cad_program_run(const CadProgram *program, double *room) {
    const Places places = places_of_point(program, cad_program_places(program, room));
    if (program->n_referred == 0) {
        return run_code(program, &places, &places);
    }
    Places usual = places; /* for instructions whose places have one base */
    usual.n_referred = 0;
    usual.lists_refer = 0;
    return run_code(program, &places, &usual);
}

/* --- what takes the time, at one point --- */

static Stopwatch stopwatch(double (*now)(void)) {
    Stopwatch watch = {now, 0.0};
    double least = 1.0;
    for (int k = 0; k < 64; k++) {
        const double seconds = seconds_since(&watch, now());
        least = seconds < least ? seconds : least;
    }
    watch.cost = least;
    return watch;
}

/* A clock is too coarse for one operation: so many in a row, which write to `spare` alone. */
static double seconds_of_single(CadSingle single, double *at, int32_t spare,
                                const Stopwatch *watch) {
    enum { TURNS = 32 };
    CadSingle turns[TURNS];
    single.out = spare;
    if (single.op == CAD_SINGLE_SINCOS) {
        single.y = spare;
    }
    for (int k = 0; k < TURNS; k++) {
        turns[k] = single;
    }
    const double begun = watch->now();
    run_singles(turns, TURNS, at);
    return seconds_since(watch, begun) / TURNS;
}

static void profile_singles(const CadProgram *program, const CadInstruction *i, double *at,
                            int32_t spare, const Stopwatch *watch, double *seconds) {
    for (int32_t turn = 0; turn < i->y; turn++) {
        for (size_t s = (size_t)i->x; s < (size_t)i->x + i->n; s++) {
            const CadSingle *single = &program->singles[s];
            seconds[s] += turn == 0 ? seconds_of_single(*single, at, spare, watch) : 0.0;
            run_singles(single, 1, at);
        }
    }
}

long cad_program_profile(const CadProgram *program, double *room, int32_t spare,
                         double (*now)(void), double *seconds) {
    const Places places = places_of_point(program, cad_program_places(program, room));
    const Stopwatch watch = stopwatch(now);
    for (size_t k = 0; k < program->n_code; k += program->code[k].fused) {
        const CadInstruction *i = &program->code[k];
        long missed = -1;
        if (spare >= 0 && i->kind == CAD_SINGLES) {
            profile_singles(program, i, places.own, spare, &watch, seconds);
        } else if (spare < 0 && i->kind == CAD_TILES) {
            run_tiles(program, i, &places, &watch, seconds + k);
        } else {
            const double begun = now();
            missed = run_instruction(program, i, &places);
            if (spare < 0) {
                seconds[k] += seconds_since(&watch, begun);
            }
        }
        if (missed != -1) {
            return missed;
        }
    }
    return failed_at_end(program, &places);
}

double cad_program_outcome(const CadProgram *program, const double *room, long guard) {
    const Places places = places_of_point(program, cad_program_places(program, room));
    size_t low = 0, high = program->n_checks;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        *((long)program->checks[middle].number <= guard ? &low : &high) = middle;
    }
    return number_at(&places, program->checks[low].place);
}

void cad_program_read_some(const CadProgram *program, const double *room, size_t first, size_t end,
                           double *results) {
    const Places places = places_of_point(program, cad_program_places(program, room));
    read_places(program, &places, first, end, results);
}

void cad_program_read(const CadProgram *program, const double *room, double *results) {
    enum { FEW = 3 }; /* numbers are in no array that stays floats */
    const double *const at = cad_program_places(program, room);
    if (program->n_results > FEW || program->n_referred > 0) {
        cad_program_read_some(program, room, 0, program->n_results, results);
        return;
    }
    for (const CadStretch *s = program->outputs; s < program->outputs + program->n_outputs; s++) {
        for (int32_t k = 0; k < (int32_t)s->n; k++) {
            *results++ = at[s->listed ? program->lists[s->place + k] : s->place + k * s->step];
        }
    }
}

/* --- many directions --- */

/* Lanes: the numbers that are not shared stand `width` apart. */
typedef struct Along {
    double *at;
    int32_t n_shared, n_inputs;
    ptrdiff_t width;
    size_t count;
    ptrdiff_t unit; /* of the first lane, or -1: directions are no unit vectors */
} Along;

static Places places_of_lane(const Along *along, size_t lane) {
    double *const own = along->at + (ptrdiff_t)lane * along->width;
    return (Places){along->at, own, own, along->n_shared, INT32_MAX, NULL, 0, 0};
}

/* out (lanes x p) = the unit vectors of lanes b (n x p), as far as these are among the n numbers
 * that begin at a place, so far apart. 0 if they are no unit vectors. */
static int take_rows(const Along *along, CadMatrix out, int64_t place, ptrdiff_t apart,
                     CadMatrix b, size_t n, size_t p) {
    if (along->unit < 0 || place < along->n_shared || place >= along->n_inputs || apart < 1) {
        return 0;
    }
    for (ptrdiff_t lane = 0; lane < (ptrdiff_t)along->count; lane++) {
        const ptrdiff_t behind = along->unit + lane - (ptrdiff_t)(place - along->n_shared);
        const ptrdiff_t k = behind / apart;
        const int is_there = behind >= 0 && behind % apart == 0 && k < (ptrdiff_t)n;
        double *const to = out.data + lane * out.row;
        for (ptrdiff_t i = 0; i < (ptrdiff_t)p; i++) {
            to[i * out.column] = is_there ? b.data[k * b.row + i * b.column] : 0.0;
        }
    }
    return 1;
}

/* Vectors of all lanes times one matrix are one product of matrices: with lanes for rows,
 * out (lanes x p) = x (lanes x n) b, or out (lanes x m) = x (lanes x n) a'. */
static int run_product_of_lanes(CadPlan *plan, const Along *along) {
    const Places places = places_of_lane(along, 0);
    Walk walk;
    cad_start_walk(&walk, &places, plan, 3, once);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    const size_t n = (size_t)core[1];
    const int shares_left = walk.at[1] < along->n_shared,
              shares_right = walk.at[2] < along->n_shared;
    if (shares_left == shares_right || core[shares_left ? 2 : 0] != 1) {
        return 0;
    }
    do {
        CadMatrix out = matrix_of_values(&walk, 0, 0, 2), a = matrix_of_values(&walk, 1, 0, 1);
        CadMatrix b = matrix_of_values(&walk, 2, 1, 2);
        const size_t p = (size_t)core[shares_left ? 0 : 2];
        if (shares_left) {
            out.column = out.row;
            const CadMatrix vector = b;
            b = (CadMatrix){a.data, a.column, a.row};
            a = (CadMatrix){vector.data, 0, vector.row};
        }
        out.row = a.row = along->width;
        if (!take_rows(along, out, walk.at[shares_left ? 2 : 1], a.column, b, n, p)) {
            cad_multiply_matrices(out, a, b, along->count, n, p);
        }
    } while (advance(&walk));
    return 1;
}

/* Answers as cad_program_run. */
static long run_along(const CadProgram *program, const CadInstruction *i, const Along *along) {
    if (i->kind == CAD_TERMS && cad_op_multiplies((CadOp)i->op) && along->count > 1 &&
        run_product_of_lanes((CadPlan *)(program->plans + i->x), along)) {
        return -1;
    }
    long missed = -1;
    for (size_t lane = 0; lane < along->count && missed == -1; lane++) {
        const Places places = places_of_lane(along, lane);
        missed = run_instruction(program, i, &places);
    }
    return missed;
}

long cad_program_run_along(const CadProgram *program, size_t lanes, double *room,
                           const CadDirections *directions, size_t begin, size_t end) {
    const size_t n_shared = program->n_shared, n_own = program->n_inputs - n_shared;
    const CadInstruction *const code = cad_program_code(program, 1);
    Along along = {.at = cad_program_places(program, room),
                   .n_shared = (int32_t)n_shared,
                   .n_inputs = (int32_t)program->n_inputs,
                   .width = (ptrdiff_t)(program->n_places - n_shared)};
    for (size_t first = begin; first < end; first += along.count) {
        along.count = end - first < lanes ? end - first : lanes;
        along.unit = directions->own == NULL ? (ptrdiff_t)(directions->unit + first) : -1;
        for (size_t lane = 0; lane < along.count; lane++) {
            double *const own = along.at + n_shared + (ptrdiff_t)lane * along.width;
            if (directions->own == NULL) {
                memset(own, 0, n_own * sizeof *own);
                own[directions->unit + first + lane] = 1.0;
            } else {
                memcpy(own, directions->own + (first + lane) * n_own, n_own * sizeof *own);
            }
        }
        for (size_t k = 0; k < program->n_code; k += code[k].fused) {
            const long missed = run_along(program, &code[k], &along);
            if (missed != -1) {
                return missed;
            }
        }
        for (size_t lane = 0; lane < along.count; lane++) {
            const Places places = places_of_lane(&along, lane);
            const long missed = failed_at_end(program, &places);
            if (missed != -1) {
                return missed;
            }
            read_places(program, &places, 0, program->n_results,
                        directions->results + (first + lane) * program->n_results);
        }
    }
    return -1;
}

/* --- many lanes --- */

static CadStrip lanes_of_result(Lanes lanes, int32_t place) {
    return (CadStrip){cad_lanes_at(lanes, place), 1};
}

/* Whether the operands of a vector are one for all its numbers and lanes, or as many in a row. */
static int is_in_a_row(Lanes lanes, int32_t place, int32_t step) {
    return place < lanes.n_shared ? step == 0 : step == 1;
}

static void run_lanes_of_vector(const CadInstruction *i, Lanes lanes) {
    const int arity = cad_op_info[i->op].arity;
    const int in_a_row = is_in_a_row(lanes, i->x, i->sx) &
                         (arity < 2 || is_in_a_row(lanes, i->y, i->sy)) &
                         (arity < 3 || is_in_a_row(lanes, i->z, i->sz));
    const size_t width = in_a_row ? i->n * lanes.count : lanes.count;
    for (int32_t k = 0; k < (in_a_row ? 1 : (int32_t)i->n); k++) {
        const CadStrip x[3] = {lanes_of_operand(lanes, i->x + k * i->sx),
                               lanes_of_operand(lanes, i->y + k * i->sy),
                               lanes_of_operand(lanes, i->z + k * i->sz)};
        value_of(i)((CadOp)i->op, lanes_of_result(lanes, i->out + k), x, width);
    }
}

static void run_lanes_of_singles(const CadInstruction *i, const CadSingle *singles, Lanes lanes) {
    const CadStripFunction value = value_of(i);
    for (const CadSingle *s = singles, *end = singles + i->n; s < end; s++) {
        const CadStrip out = lanes_of_result(lanes, s->out);
        const CadStrip x[3] = {lanes_of_operand(lanes, s->x), lanes_of_operand(lanes, s->y),
                               lanes_of_operand(lanes, s->z)};
        if (s->op == CAD_SINGLE_SINCOS) {
            value(CAD_OP_sin, out, x, lanes.count);
            value(CAD_OP_cos, lanes_of_result(lanes, s->y), x, lanes.count);
        } else {
            value((CadOp)s->op, out, x, lanes.count);
        }
    }
}

/* Answers as cad_program_run, but for guards. */
static long run_lanes(const CadProgram *program, const CadInstruction *i, Lanes lanes) {
    switch ((CadStepKind)i->kind) {
    case CAD_SINGLES:
        for (int32_t turn = 0; turn < i->y; turn++) {
            run_lanes_of_singles(i, program->singles + i->x, lanes);
        }
        break;
    case CAD_VECTOR:
        run_lanes_of_vector(i, lanes);
        break;
    case CAD_TAKE:
        for (uint32_t k = 0; k < i->n; k++) {
            cad_lanes_copy(cad_lanes_at(lanes, i->out + (int32_t)k), lanes,
                           program->lists[i->x + (int32_t)k]);
        }
        break;
    case CAD_TOTAL:
        for (uint32_t k = 0; k < i->n; k++) {
            const CadStrip out = lanes_of_result(lanes, i->out);
            const CadStrip x = lanes_of_operand(lanes, i->x + (int32_t)k * i->sx);
            if (k == 0 && !i->y) {
                cad_strip_value(i->z ? CAD_OP_negative : CAD_OP_positive, out, &x, lanes.count);
            } else {
                const CadStrip terms[2] = {out, x};
                cad_strip_value(i->z ? CAD_OP_subtract : CAD_OP_add, out, terms, lanes.count);
            }
        }
        break;
    case CAD_ZEROS:
        memset(cad_lanes_at(lanes, i->out), 0, i->n * lanes.count * sizeof(double));
        break;
    case CAD_ADD_AT:
        for (uint32_t k = 0; k < i->n; k++) {
            const int32_t to = i->out + program->lists[i->z + (int32_t)k];
            const CadStrip x = lanes_of_operand(lanes, i->x + (int32_t)k * i->sx);
            cad_strip_add(lanes_of_result(lanes, to), x, 0, lanes.count);
        }
        break;
    case CAD_CALL:
        return cad_call_for_lanes(program, i, lanes) ? -1 : CAD_CALL_FAILED;
    case CAD_SCAN:
        return cad_run_scan_of_lanes(program, i, lanes, inner_runs);
    case CAD_MACHINE:
        return ((CadMachineLanes *)(void (*)(void))program->machine->functions[i->x])(
            lanes.shared, lanes.own, (long)lanes.count);
    default: /* plans and tiles are for one lane, and checks are made at the end */
        break;
    }
    return -1;
}

long cad_run_lanes(const CadProgram *program, double *places, size_t count) {
    const Lanes lanes = cad_lanes_in(program, places, count);
    const CadInstruction *const code = cad_program_code(program, lanes.count);
    long failed = -1;
    for (size_t k = 0; k < program->n_code && failed == -1; k += code[k].fused) {
        failed = run_lanes(program, &code[k], lanes);
    }
    return failed;
}

/* Carrying a program out: for one point, or for many in lanes. */
#include "arrays_walk.h"
#include "program.h"

size_t cad_program_room(const CadProgram *program, size_t lanes) {
    return (program->n_constants + program->n_places) * lanes;
}

void cad_program_prepare(const CadProgram *program, size_t lanes, double *room) {
    if (lanes == 1 && program->n_constants > 0) {
        memcpy(room, program->constants, program->n_constants * sizeof *room);
        return;
    }
    for (size_t k = 0; k < program->n_constants; k++) {
        for (size_t lane = 0; lane < lanes; lane++) {
            *room++ = program->constants[k];
        }
    }
}

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
#define CAD_ROW1(name, value, dx) STEP(CAD_OP_##name, OUT = val_##name(X))
#define CAD_ROW2(name, value, dx, dy) STEP(CAD_OP_##name, OUT = val_##name(X, Y))
#define CAD_ROW3(name, value, dx, dy, dz) STEP(CAD_OP_##name, OUT = val_##name(X, Y, Z))
#define OTHER_STEPS STEP(CAD_SINGLE_SINCOS, run_sincos(single, at))

#ifdef __GNUC__
/* Threaded code: each operation goes to the next one by itself, so that the processor learns for
 * each where that leads. Where labels are no values, a switch has to do. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

static void run_singles(const CadSingle *single, size_t n, double *at) {
#define STEP(code, statement) [code] = &&do_##code,
    static const void *const labels[] = {
#include "ops_rows.h"
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
#include "ops_rows.h"
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
#include "ops_rows.h"
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
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3

static CadStrip strip(double *at, int32_t place, int32_t step, size_t first) {
    return (CadStrip){at + place + (ptrdiff_t)step * (ptrdiff_t)first, step};
}

static void run_vector(const CadInstruction *i, double *at, size_t first, size_t n) {
    cad_strip_value((CadOp)i->op, strip(at, i->out, 1, first), strip(at, i->x, i->sx, first),
                    strip(at, i->y, i->sy, first), strip(at, i->z, i->sz, first), n);
}

/* Tile by tile, so that what one operation writes is in the cache when the next one reads it. */
static void run_fused(const CadInstruction *code, double *at) {
    for (size_t first = 0; first < code->n; first += CAD_TILE) {
        const size_t n = code->n - first < CAD_TILE ? code->n - first : CAD_TILE;
        for (uint32_t k = 0; k < code->fused; k++) {
            run_vector(&code[k], at, first, n);
        }
    }
}

static void run_rows(CadOp op, CadPlan *plan, double *at) {
    Walk walk;
    start_walk_in(&walk, at, plan, 1);
    compute_rows(&walk, op);
}

static void run_additions(CadPlan *plan, double *at) {
    Walk walk;
    start_walk_in(&walk, at, plan, 1);
    add_rows(&walk);
}

static void run_product(CadPlan *plan, double *at) {
    Walk walk;
    start_walk_in(&walk, at, plan, 3);
    multiply_views(&walk);
}

/* Sums of few terms are not worth a loop of NumPy's. */
static void run_total(const CadInstruction *i, double *at) {
    const double former = i->y ? at[i->out] : 0.0;
    double sum = i->z ? 0.0 : former;
    cad_strip_sum(&sum, strip(at, i->x, i->sx, 0), i->n);
    at[i->out] = i->z ? former - sum : sum;
}

/* 0 if a call has failed. */
static int run_instruction(const CadProgram *program, const CadInstruction *i, double *at) {
    switch ((CadStepKind)i->kind) {
    case CAD_SINGLES:
        for (int32_t turn = 0; turn < i->y; turn++) {
            run_singles(program->singles + i->x, i->n, at);
        }
        break;
    case CAD_VECTOR:
        if (i->fused > 1) {
            run_fused(i, at);
        } else {
            run_vector(i, at, 0, i->n);
        }
        break;
    case CAD_TAKE:
        for (uint32_t k = 0; k < i->n; k++) {
            at[i->out + (int32_t)k] = at[program->lists[i->x + (int32_t)k]];
        }
        break;
    case CAD_TOTAL:
        run_total(i, at);
        break;
    case CAD_ZEROS:
        memset(at + i->out, 0, i->n * sizeof *at);
        break;
    case CAD_ROWS:
        run_rows((CadOp)i->op, (CadPlan *)(program->plans + i->x), at);
        break;
    case CAD_SUMS:
        memset(at + i->out, 0, i->n * sizeof *at);
        run_additions((CadPlan *)(program->plans + i->x), at);
        break;
    case CAD_PRODUCT:
        run_product((CadPlan *)(program->plans + i->x), at);
        break;
    case CAD_ADD_TO:
        run_additions((CadPlan *)(program->plans + i->x), at);
        break;
    case CAD_ADD_AT:
        for (uint32_t k = 0; k < i->n; k++) {
            at[i->out + program->lists[i->z + (int32_t)k]] += at[i->x + (int32_t)k * i->sx];
        }
        break;
    case CAD_CALL:
        return program->call(program->owner, (uint32_t)i->z, at + i->x, at + i->out) >= 0;
    }
    return 1;
}

static long failed_check(const CadProgram *program, const double *at) {
    for (size_t k = 0; k < program->n_checks; k++) {
        if (at[program->checks[k].place] != program->checks[k].value) {
            return (long)program->checks[k].number;
        }
    }
    return -1;
}

long cad_program_run(const CadProgram *program, double *room) {
    double *const at = cad_program_places(program, 1, room);
    for (size_t k = 0; k < program->n_code; k += program->code[k].fused) {
        if (!run_instruction(program, &program->code[k], at)) {
            return CAD_CALL_FAILED;
        }
    }
    return failed_check(program, at);
}

void cad_program_read(const CadProgram *program, const double *room, double *results) {
    const double *const at = room + program->n_constants;
    for (size_t k = 0; k < program->n_outputs; k++) {
        const CadStretch s = program->outputs[k];
        if (s.listed) {
            const int32_t *list = program->lists + s.place;
            for (uint32_t i = 0; i < s.n; i++) {
                results[i] = at[list[i]];
            }
        } else if (s.step == 1) {
            memcpy(results, at + s.place, s.n * sizeof *results);
        } else {
            for (uint32_t i = 0; i < s.n; i++) {
                results[i] = at[s.place + (int32_t)i * s.step];
            }
        }
        results += s.n;
    }
}

/* --- many points --- */

typedef struct Lanes {
    double *at;
    size_t count;
} Lanes;

static CadStrip lanes_of_place(Lanes lanes, int32_t place) {
    return (CadStrip){lanes.at + (ptrdiff_t)place * (ptrdiff_t)lanes.count, 1};
}

static void run_lanes_of_vector(const CadInstruction *i, Lanes lanes) {
    const int arity = cad_op_info[i->op].arity;
    const int contiguous = (i->sx == 1) & (arity < 2 || i->sy == 1) & (arity < 3 || i->sz == 1);
    const size_t width = contiguous ? i->n * lanes.count : lanes.count;
    for (int32_t k = 0; k < (contiguous ? 1 : (int32_t)i->n); k++) {
        cad_strip_value((CadOp)i->op, lanes_of_place(lanes, i->out + k),
                        lanes_of_place(lanes, i->x + k * i->sx),
                        lanes_of_place(lanes, i->y + k * i->sy),
                        lanes_of_place(lanes, i->z + k * i->sz), width);
    }
}

static void run_lanes_of_singles(const CadSingle *single, size_t n, Lanes lanes) {
    for (const CadSingle *s = single, *end = single + n; s < end; s++) {
        const CadStrip out = lanes_of_place(lanes, s->out), x = lanes_of_place(lanes, s->x),
                       y = lanes_of_place(lanes, s->y), z = lanes_of_place(lanes, s->z);
        if (s->op == CAD_SINGLE_SINCOS) {
            cad_strip_value(CAD_OP_sin, out, x, x, x, lanes.count);
            cad_strip_value(CAD_OP_cos, y, x, x, x, lanes.count);
        } else {
            cad_strip_value((CadOp)s->op, out, x, y, z, lanes.count);
        }
    }
}

static void run_lanes(const CadProgram *program, const CadInstruction *i, Lanes lanes) {
    const size_t bytes = lanes.count * sizeof(double);
    switch ((CadStepKind)i->kind) {
    case CAD_SINGLES:
        for (int32_t turn = 0; turn < i->y; turn++) {
            run_lanes_of_singles(program->singles + i->x, i->n, lanes);
        }
        break;
    case CAD_VECTOR:
        for (uint32_t k = 0; k < i->fused; k++) {
            run_lanes_of_vector(&i[k], lanes);
        }
        break;
    case CAD_TAKE:
        for (uint32_t k = 0; k < i->n; k++) {
            memcpy(lanes_of_place(lanes, i->out + (int32_t)k).data,
                   lanes_of_place(lanes, program->lists[i->x + (int32_t)k]).data, bytes);
        }
        break;
    case CAD_TOTAL:
        for (uint32_t k = 0; k < i->n; k++) {
            const CadStrip out = lanes_of_place(lanes, i->out);
            const CadStrip x = lanes_of_place(lanes, i->x + (int32_t)k * i->sx);
            if (k == 0 && !i->y) {
                cad_strip_value(i->z ? CAD_OP_negative : CAD_OP_positive, out, x, x, x,
                                lanes.count);
            } else {
                cad_strip_value(i->z ? CAD_OP_subtract : CAD_OP_add, out, out, x, x, lanes.count);
            }
        }
        break;
    case CAD_ZEROS:
        memset(lanes_of_place(lanes, i->out).data, 0, i->n * bytes);
        break;
    case CAD_ADD_AT:
        for (uint32_t k = 0; k < i->n; k++) {
            cad_strip_add(lanes_of_place(lanes, i->out + program->lists[i->z + (int32_t)k]),
                          lanes_of_place(lanes, i->x + (int32_t)k * i->sx), 0, lanes.count);
        }
        break;
    default: /* plans are for one lane */
        break;
    }
}

/* The inputs of some points, side by side; the last of them may be without one. */
static void write_inputs(const CadProgram *program, Lanes lanes, const CadPoints *points,
                         size_t first, size_t n_points) {
    const size_t n = points->n_own;
    for (size_t lane = 0; lane < lanes.count; lane++) {
        const double *row = points->own + (first + (lane < n_points ? lane : 0)) * n;
        for (size_t i = 0; i < n; i++) {
            lanes.at[i * lanes.count + lane] = row[i];
        }
    }
    for (size_t i = n; i < program->n_inputs; i++) {
        for (size_t lane = 0; lane < lanes.count; lane++) {
            lanes.at[i * lanes.count + lane] = points->shared[i - n];
        }
    }
}

static size_t check_lanes(const CadProgram *program, Lanes lanes, uint8_t *missed,
                          size_t n_points) {
    memset(missed, 0, n_points);
    for (size_t k = 0; k < program->n_checks; k++) {
        const double *place = lanes_of_place(lanes, program->checks[k].place).data;
        for (size_t lane = 0; lane < n_points; lane++) {
            missed[lane] |= place[lane] != program->checks[k].value;
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
    const size_t n_tails = program->n_results - points->n_heads;
    size_t column = 0;
    for (size_t k = 0; k < program->n_outputs; k++) {
        const CadStretch s = program->outputs[k];
        for (uint32_t i = 0; i < s.n; i++, column++) {
            const int32_t place =
                s.listed ? program->lists[s.place + (int32_t)i] : s.place + (int32_t)i * s.step;
            const double *from = lanes_of_place(lanes, place).data;
            const int is_head = column < points->n_heads;
            const size_t row = is_head ? points->n_heads : n_tails;
            double *to =
                is_head ? points->heads + column : points->tails + (column - points->n_heads);
            to += first * row;
            for (size_t lane = 0; lane < n_points; lane++) {
                to[lane * row] = from[lane];
            }
        }
    }
}

/* Answers as cad_program_run. */
static long run_point(const CadProgram *program, double *room, const CadPoints *points, size_t k) {
    double *const at = cad_program_places(program, 1, room);
    const size_t n = points->n_own;
    memcpy(at, points->own + k * n, n * sizeof *at);
    if (program->n_inputs > n) {
        memcpy(at + n, points->shared, (program->n_inputs - n) * sizeof *at);
    }
    const long missed = cad_program_run(program, room);
    points->missed[k] = missed != -1;
    read_results(program, (Lanes){at, 1}, points, k, 1);
    return missed;
}

long cad_program_run_points(const CadProgram *program, size_t lanes, double *room,
                            const CadPoints *points, size_t begin, size_t end) {
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
    const Lanes all = {cad_program_places(program, lanes, room), lanes};
    for (size_t first = begin; first < end; first += lanes) {
        const size_t n = end - first < lanes ? end - first : lanes;
        write_inputs(program, all, points, first, n);
        for (size_t k = 0; k < program->n_code; k += program->code[k].fused) {
            run_lanes(program, &program->code[k], all);
        }
        n_missed += check_lanes(program, all, points->missed + first, n);
        read_results(program, all, points, first, n);
    }
    return (long)n_missed;
}

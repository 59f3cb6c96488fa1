/* What is done to finished code: sine and cosine of one number are found together, and bodies of
 * loops are kept once. */
#include "program/maker.h"

/* --- sine and cosine --- */

/* Whether one of two operations may be carried out together with the other, ahead of those between
 * them: these neither write what it reads nor touch what it writes. */
static int can_join(const CadSingle *first, const CadSingle *second) {
    if (second->x != first->x || first->out == first->x || second->out == first->x) {
        return 0;
    }
    for (const CadSingle *s = first + 1; s < second; s++) {
        if (s->out == first->x || s->out == second->out || s->x == second->out ||
            s->y == second->out || s->z == second->out) {
            return 0;
        }
    }
    return first->out != second->out;
}

static int is_other_half(const CadSingle *a, const CadSingle *b) {
    return (a->op == CAD_OP_sin && b->op == CAD_OP_cos) ||
           (a->op == CAD_OP_cos && b->op == CAD_OP_sin);
}

/* Of one stretch of single operations; answers how many are left. */
static size_t join_sines(CadSingle *singles, size_t n) {
    enum { NEAR = 32, DROPPED = UINT16_MAX };
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        CadSingle *first = &singles[i];
        const size_t end = n - i > NEAR ? i + NEAR : n;
        if (first->op == DROPPED) {
            continue;
        }
        if (first->op == CAD_OP_sin || first->op == CAD_OP_cos) {
            for (size_t k = i + 1; k < end; k++) {
                CadSingle *second = &singles[k];
                if (is_other_half(first, second) && can_join(first, second)) {
                    const int sine_first = first->op == CAD_OP_sin;
                    *first = (CadSingle){.op = CAD_SINGLE_SINCOS,
                                         .out = sine_first ? first->out : second->out,
                                         .x = first->x,
                                         .y = sine_first ? second->out : first->out,
                                         .z = first->x};
                    second->op = DROPPED;
                    break;
                }
            }
        }
        singles[kept++] = *first;
    }
    return kept;
}

void cad_maker_join_sines(CadMaker *m) {
    CadProgram *program = m->program;
    for (size_t k = 0; k < program->n_code; k++) {
        CadInstruction *i = &program->code[k];
        if (cad_step_is(i, CAD_OVER_SINGLES)) {
            i->n = (uint32_t)join_sines(program->singles + i->x, i->n);
        }
    }
}

/* --- loops --- */

/* Numbers of one turn of a loop go where those of the turn before went: places serve again. So the
 * instructions of a long loop repeat themselves word by word; they are kept once, or reading them
 * would take longer than carrying them out. */

static int is_same(const CadSingle *a, const CadSingle *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* How many of `n` operations repeat the `period` ones before them. */
static size_t repeated(const CadSingle *singles, size_t at, size_t n, size_t period) {
    size_t k = at;
    while (k < n && is_same(&singles[k], &singles[k - period])) {
        k++;
    }
    return k - at;
}

static uint32_t hash_of_single(CadSingle s) {
    uint64_t hash = (uint64_t)s.op << 32 ^ (uint32_t)s.out;
    hash = hash * 0x9e3779b97f4a7c15u ^ ((uint64_t)(uint32_t)s.x << 32 ^ (uint32_t)s.y);
    hash = hash * 0x9e3779b97f4a7c15u ^ (uint32_t)s.z;
    return (uint32_t)(hash * 0x9e3779b97f4a7c15u >> 32);
}

static void emit_repeated(CadMaker *m, const CadSingle *singles, size_t n, size_t times) {
    CadProgram *program = m->program;
    if (n == 0 || !GROW(program, singles, program->n_singles, n)) {
        return;
    }
    const size_t at = program->n_singles;
    memcpy(program->singles + at, singles, n * sizeof *singles);
    program->n_singles += n;
    cad_maker_emit_operations(m, at, n, times);
}

/* Of one stretch of single operations: bodies of loops once, and what lies between. */
static void roll_up(CadMaker *m, const CadSingle *singles, size_t n) {
    enum { LATEST = 1 << 12, LEAST_TURNS = 4 };
    uint32_t *latest = cad_memory_resize(NULL, LATEST, sizeof *latest); /* by hash: where */
    if (latest == NULL) {
        fail(m);
        return;
    }
    memset(latest, 0xff, LATEST * sizeof *latest);
    size_t done = 0;
    for (size_t i = 0; i < n;) {
        uint32_t *place = &latest[hash_of_single(singles[i]) % LATEST];
        const size_t before = *place;
        *place = (uint32_t)i;
        const size_t period = before != UINT32_MAX && before >= done ? i - before : 0;
        const size_t more = period > 0 && is_same(&singles[before], &singles[i])
                                ? repeated(singles, i, n, period)
                                : 0;
        if (more >= LEAST_TURNS * period && more > 0) {
            const size_t turns = 1 + more / period;
            emit_repeated(m, singles + done, before - done, 1);
            emit_repeated(m, singles + before, period, turns);
            i = done = before + turns * period;
        } else {
            i++;
        }
    }
    emit_repeated(m, singles + done, n - done, 1);
    cad_memory_free(latest);
}

void cad_maker_roll_up(CadMaker *m) {
    enum { LONG = 256 };
    CadProgram *program = m->program;
    CadInstruction *code = program->code;
    CadSingle *singles = program->singles;
    const size_t n_code = program->n_code, n_singles = program->n_singles;
    if (n_singles < LONG) {
        return;
    }
    program->code = NULL;
    program->singles = NULL;
    program->n_code = program->code_capacity = 0;
    program->n_singles = program->singles_capacity = 0;
    for (size_t k = 0; k < n_code && m->status == CAD_OK; k++) {
        if (!cad_step_is(&code[k], CAD_OVER_SINGLES)) {
            cad_maker_emit(m, code[k]);
        } else if (code[k].n >= LONG) {
            roll_up(m, singles + code[k].x, code[k].n);
        } else {
            emit_repeated(m, singles + code[k].x, code[k].n, 1);
        }
    }
    cad_memory_free(code);
    cad_memory_free(singles);
}

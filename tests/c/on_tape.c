/* See program.h. */
#include "on_tape.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- chance --- */

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t random_bits(Random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const uint8_t *led_by;
static size_t n_leading;

void random_lead(const uint8_t *bytes, size_t count) {
    led_by = bytes;
    n_leading = count;
}

size_t random_led(void) {
    return n_leading;
}

static size_t next_byte(void) {
    n_leading--;
    return *led_by++;
}

size_t random_below(Random *random, size_t bound) {
    if (n_leading > 1 && bound > 256) {
        const size_t high = next_byte();
        return (high << 8 | next_byte()) % bound;
    }
    if (n_leading > 0 && bound > 1) {
        return next_byte() % bound;
    }
    return (size_t)((random_bits(random) >> 16) % bound);
}

double random_between(Random *random, double low, double high) {
    if (n_leading > 0) {
        return low + (high - low) * ((double)next_byte() / 255.0);
    }
    return low + (high - low) * ((double)(random_bits(random) >> 11) / 9007199254740992.0);
}

/* --- by hand --- */

void demand(CadStatus status) {
    if (status != CAD_OK) {
        fprintf(stderr, "the tests need more memory than there is\n");
        exit(2);
    }
}

CadNumber variable(const CadTape *tape, CadSlot slot) {
    return (CadNumber){tape->values[slot], slot};
}

CadNumber constant(double value) {
    return (CadNumber){value, CAD_NONE};
}

CadSlot append_leaf(CadTape *tape, size_t count, const double *values) {
    CadSlot slot = CAD_NONE;
    demand(cad_tape_leaf(tape, values, count, 1, &slot));
    return slot;
}

CadSlot append(CadTape *tape, CadOp op, const CadNumber *operands) {
    const int arity = cad_op_info[op].arity;
    double x[3] = {0.0, 0.0, 0.0};
    CadSlot slots[3];
    int passive = 0;
    demand(cad_tape_ensure(tape));
    for (int i = 0; i < arity; i++) {
        x[i] = operands[i].value;
        slots[i] = operands[i].slot;
        if (slots[i] == CAD_NONE) {
            slots[i] = cad_tape_constant(tape, x[i]);
            passive |= 1 << i;
        }
    }
    const double v = cad_op_value(op, x[0], x[1], x[2]);
    if (arity == 3) {
        return cad_tape_push3(tape, CAD_CODE(op, 0), slots[0], slots[1], slots[2], v);
    }
    return cad_tape_push(tape, CAD_CODE(op, passive), slots[0], slots[arity - 1], v);
}

CadSlot append1(CadTape *tape, CadOp op, CadSlot x) {
    const CadNumber operand = variable(tape, x);
    return append(tape, op, &operand);
}

CadSlot append2(CadTape *tape, CadOp op, CadNumber x, CadNumber y) {
    const CadNumber operands[2] = {x, y};
    return append(tape, op, operands);
}

size_t past(const CadTape *tape, CadSlot slot) {
    return cad_tape_find(tape, slot) + 1;
}

double *copy_of_values(const CadTape *tape) {
    double *values = test_memory(tape->n_slots, sizeof *values);
    memcpy(values, tape->values, tape->n_slots * sizeof *values);
    return values;
}

void check_kept_values(const CadTape *tape, const double *values) {
    CHECK(memcmp(values, tape->values, tape->n_slots * sizeof *values) == 0);
}

void clear_adjoints(CadTape *tape, size_t begin, size_t end) {
    demand(cad_tape_clear_adjoints(tape, begin, end));
}

void reverse_from(CadTape *tape, size_t begin, CadSlot seeded) {
    clear_adjoints(tape, 0, (size_t)seeded + 1);
    tape->adjoints[seeded] = 1.0;
    cad_sweep_reverse(tape, begin, past(tape, seeded), SIZE_MAX, 0);
}

void backward_from(CadTape *tape, CadSlot seeded) {
    clear_adjoints(tape, seeded, (size_t)seeded + 1);
    tape->adjoints[seeded] = 1.0;
    cad_sweep_reverse(tape, 0, past(tape, seeded), SIZE_MAX, 1);
}

CadNumber *zero_numbers(size_t count) {
    CadNumber *numbers = test_memory(count, sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = constant(0.0);
    }
    return numbers;
}

/* --- at random --- */

const Domain domains[CAD_OP_COUNT][3] = {
#define DOMAIN_OF(word, operand, low, high, whole) [CAD_OP_##word][operand] = {low, high, whole},
#include "domains.h"
#undef DOMAIN_OF
};

const double corners[CORNERS] = {0.0,  -0.0,   1.0,     -1.0,     0.5,       -0.5, 2.0,    -2.0,
                                 30.0, 1000.0, -1000.0, INFINITY, -INFINITY, NAN,  1e-100, 1e100};

int is_order(double x) {
    return x >= 0.0 && x <= 30.0 && x == floor(x);
}

/* The variant whose operands are constants at least where they are whole numbers, or the first
 * such variant of a later operation. The derivatives of `stop` and `differential` are not those of
 * their values. */
static Variant find_variant(CadOp op, int constants) {
    for (; op < CAD_OP_COUNT; op++, constants = 0) {
        const int is_odd = op == CAD_OP_stop || op == CAD_OP_differential ||
                           op == CAD_OP_threefry_high || op == CAD_OP_threefry_low;
        int whole = is_odd ? ~0 : 0; /* and it is not chosen */
        for (int i = 0; i < cad_op_info[op].arity; i++) {
            whole |= domains[op][i].whole << i;
        }
        for (; constants < (1 << cad_op_info[op].arity) - 1; constants++) {
            if ((constants & whole) == whole) {
                return (Variant){op, constants};
            }
        }
    }
    return (Variant){CAD_OP_COUNT, 0};
}

Variant first_variant(void) {
    return find_variant(CAD_OP_THIRD + 1, 0);
}

Variant next_variant(Variant variant) {
    return find_variant(variant.op, variant.constants + 1);
}

void pool_add(Pool *pool, CadSlot slot) {
    if (pool->count == pool->capacity) {
        Pool larger = {NULL, pool->count, 2 * pool->capacity + 64};
        larger.slots = test_memory(larger.capacity, sizeof *larger.slots);
        if (pool->count > 0) {
            memcpy(larger.slots, pool->slots, pool->count * sizeof *larger.slots);
        }
        free(pool->slots);
        *pool = larger;
    }
    pool->slots[pool->count++] = slot;
}

void pool_free(Pool *pool) {
    free(pool->slots);
    *pool = (Pool){0};
}

/* How far operands stay from where an operation is not smooth. */
const double MARGIN = 1e-3;

typedef struct Point {
    double value;
    double partials[3];
} Point;

static Point evaluate(CadOp op, int wanted, const double *x) {
    Point point = {cad_op_value(op, x[0], x[1], x[2]), {0.0, 0.0, 0.0}};
    cad_op_partials(op, wanted, x[0], x[1], x[2], point.value, point.partials);
    return point;
}

/* Whether two points near each other have values and partials near each other, none of them large:
 * written so that nan is not. */
static int is_moderate(const Point *p, const Point *q) {
    int moderate = fabs(p->value) < 8.0 && fabs(q->value - p->value) < 0.1;
    for (int i = 0; i < 3; i++) {
        moderate = moderate && fabs(p->partials[i]) < 60.0;
        moderate = moderate && fabs(q->partials[i] - p->partials[i]) < 0.02;
    }
    return moderate;
}

/* Whether an operation is smooth at a point, as far as its variables go. */
static int is_tame(Variant variant, const double *x) {
    const CadOp op = variant.op;
    const int wanted = ~variant.constants & 7;
    const Point here = evaluate(op, wanted, x);
    int tame = is_moderate(&here, &here);
    for (int i = 0; i < cad_op_info[op].arity && tame; i++) {
        for (int sign = -1; sign <= 1 && (wanted >> i & 1); sign += 2) {
            double moved[3] = {x[0], x[1], x[2]};
            moved[i] += sign * MARGIN;
            const Point there = evaluate(op, wanted, moved);
            const double along = here.value + sign * MARGIN * here.partials[i];
            tame = tame && is_moderate(&here, &there);
            tame = tame && fabs(there.value - along) < 0.02 * MARGIN; /* a jump, if it is small */
        }
    }
    return tame;
}

static CadNumber random_constant(Random *random, Domain domain) {
    if (domain.whole) {
        return constant((double)random_below(random, 4));
    }
    return constant(random_between(random, fmax(domain.low, -3.0), fmin(domain.high, 3.0)));
}

/* Half of the time one of the first variables, so that programs do not become too deep. */
static CadNumber random_variable(const CadTape *tape, Random *random, const Pool *pool) {
    const size_t first = pool->count < INPUTS ? pool->count : INPUTS;
    const int shallow = random_below(random, 2) == 0;
    return variable(tape, pool->slots[random_below(random, shallow ? first : pool->count)]);
}

void append_random(CadTape *tape, Random *random, Pool *pool, Variant variant) {
    const CadOp op = variant.op;
    for (int tries = 0; tries < 100000; tries++) {
        CadNumber operands[3];
        double x[3] = {0.0, 0.0, 0.0};
        int inside = 1;
        for (int i = 0; i < cad_op_info[op].arity; i++) {
            const Domain domain = domains[op][i];
            operands[i] = variant.constants >> i & 1 ? random_constant(random, domain)
                                                     : random_variable(tape, random, pool);
            x[i] = operands[i].value;
            inside = inside && x[i] >= domain.low && x[i] <= domain.high;
        }
        if (inside && is_tame(variant, x)) {
            pool_add(pool, append(tape, op, operands));
            return;
        }
    }
    fprintf(stderr, "found no operands for %s\n", cad_op_info[op].name);
    exit(2);
}

Program random_program(uint64_t seed) {
    Random random = {seed};
    Program program = {.tape = cad_tape_new(), .inputs = INPUTS};
    CadTape *const tape = program.tape;
    double values[INPUTS];
    for (int i = 0; i < INPUTS; i++) {
        values[i] = random_between(&random, -3.0, 3.0);
    }
    append2(tape, CAD_OP_add, variable(tape, append_leaf(tape, 3, values)), constant(1.0));
    demand(cad_tape_mark(tape));
    program.begin = tape->n_entries;
    program.base = append_leaf(tape, INPUTS, values);
    for (CadSlot i = 0; i < INPUTS; i++) {
        pool_add(&program.pool, program.base + i);
    }
    Variant variant = first_variant();
    for (int i = 0; i < OPERATIONS; i++) {
        append_random(tape, &random, &program.pool, variant);
        variant = next_variant(variant);
        if (variant.op == CAD_OP_COUNT) {
            variant = first_variant();
        }
    }
    program.end = tape->n_entries;
    program.slots = tape->n_slots - program.base;
    return program;
}

void program_free(Program *program) {
    cad_tape_free(program->tape);
    pool_free(&program->pool);
}

void program_seed(Program *program, Random *random, double *weights) {
    CadTape *const tape = program->tape;
    clear_adjoints(tape, program->base, program->base + program->slots);
    memset(weights, 0, program->slots * sizeof *weights);
    for (int i = 0; i < 40; i++) {
        const CadSlot slot = program->pool.slots[random_below(random, program->pool.count)];
        weights[slot - program->base] += random_between(random, -1.0, 1.0);
    }
    for (size_t i = 0; i < program->slots; i++) {
        tape->adjoints[program->base + i] = weights[i];
    }
}

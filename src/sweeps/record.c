/* The recorded reverse sweep: the adjoints are numbers of the tape, so they have derivatives.
 *
 * It is the reverse sweep in another algebra: each word of a partial appends an entry, unless its
 * operands are constants. An adjoint is skipped only if it is a zero without derivative.
 * Conditions look at values; where what is recorded is to be replayed, they are numbers, by which
 * a replay chooses anew. */
#include "sweeps/sweeps.h"

#include "table/ops.h"
#include "tape/tape.h"

/* --- the algebra of recording, from the rows --- */

/* A word may run out of memory deep inside an expression: the failure is kept here, the expression
 * goes on with constants, and the sweep looks once an entry. */
typedef struct Recorder {
    CadTape *tape;
    CadStatus status;
    int linear;
} Recorder;

typedef CadNumber Number;

static const CadSlot none = CAD_NONE;

static Number constant(double value) {
    return (Number){value, none};
}

static int is_constant(Number x, double value) {
    return x.slot == none && x.value == value;
}

static CadSlot slot_of(Recorder *recorder, Number x) {
    return x.slot != none ? x.slot : cad_tape_constant(recorder->tape, x.value);
}

static int has_room(Recorder *recorder) {
    if (recorder->status == CAD_OK) {
        recorder->status = cad_tape_ensure(recorder->tape);
    }
    return recorder->status == CAD_OK;
}

static Number record1(Recorder *recorder, CadOp op, Number x, double value) {
    if (x.slot == none || !has_room(recorder)) {
        return constant(value);
    }
    return (Number){value, cad_tape_push(recorder->tape, CAD_CODE(op, 0), x.slot, x.slot, value)};
}

static Number record2(Recorder *recorder, CadOp op, Number x, Number y, double value) {
    if ((x.slot == none && y.slot == none) || !has_room(recorder)) {
        return constant(value);
    }
    const int passive =
        (x.slot == none ? CAD_PASSIVE_A : 0) | (y.slot == none ? CAD_PASSIVE_B : 0);
    const CadSlot a = slot_of(recorder, x);
    const CadSlot b = slot_of(recorder, y);
    return (Number){value, cad_tape_push(recorder->tape, CAD_CODE(op, passive), a, b, value)};
}

#define A(name, ...) rec_##name(recorder, __VA_ARGS__)
#define K(number) constant(number)
#define L(number) (number)
#define P(number) (number)

#define CAD_ROW1(name, value_, dx)                                                                \
    static inline Number rec_##name(Recorder *recorder, Number x) {                               \
        return record1(recorder, CAD_OP_##name, x, val_##name(x.value));                          \
    }
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    static inline Number rec_##name(Recorder *recorder, Number x, Number y) {                     \
        return record2(recorder, CAD_OP_##name, x, y, val_##name(x.value, y.value));              \
    }
#define CAD_ROW3(name, value_, dx, dy, dz) /* no partial is written with one */
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3

/* --- conditions --- */

/* A condition is a number, 1 where it holds, else 0: a constant, unless it is to be replayed. */
static Number condition(Recorder *recorder, CadOp op, Number x, Number y, int outcome) {
    return recorder->tape->guards != NULL ? record2(recorder, op, x, y, outcome)
                                          : constant(outcome);
}

#define COMPARISON(op, sign)                                                                      \
    static inline Number is_##op(Recorder *recorder, Number x, Number y) {                        \
        return condition(recorder, CAD_OP_##op, x, y, x.value sign y.value);                      \
    }
COMPARISON(less, <)
COMPARISON(less_equal, <=)
COMPARISON(equal, ==)
COMPARISON(not_equal, !=)
#undef COMPARISON

static inline Number magnitude(Recorder *recorder, Number x) {
    return recorder->tape->guards != NULL ? rec_absolute(recorder, x) : constant(fabs(x.value));
}

/* x where a condition holds, else y: in a replay, too. */
static Number chosen(Recorder *recorder, Number condition, Number x, Number y) {
    const Number one = condition.value != 0.0 ? x : y;
    if (condition.slot == none || !has_room(recorder)) {
        return one;
    }
    const CadSlot a = condition.slot;
    const CadSlot b = slot_of(recorder, x);
    const CadSlot c = slot_of(recorder, y);
    const CadSlot out =
        cad_tape_push3(recorder->tape, CAD_CODE(CAD_OP_where, 0), a, b, c, one.value);
    return (Number){one.value, out};
}

#undef IF
#undef AND
#undef OR
#undef LT
#undef LE
#undef GT
#undef GE
#undef EQ
#undef NE
#undef ISNAN
#undef ISINF
#undef ABS
#undef C
/* Both branches are recorded for replays alone. */
#define IF(condition, x, y)                                                                       \
    (recorder->tape->guards != NULL ? chosen(recorder, condition, x, y)                           \
     : (condition).value != 0.0     ? (x)                                                         \
                                    : (y))
#define AND(x, y) rec_multiply(recorder, x, y)
#define OR(x, y) rec_maximum(recorder, x, y)
#define LT(x, y) is_less(recorder, x, y)
#define LE(x, y) is_less_equal(recorder, x, y)
#define GT(x, y) is_less(recorder, y, x)
#define GE(x, y) is_less_equal(recorder, y, x)
#define EQ(x, y) is_equal(recorder, x, y)
#define NE(x, y) is_not_equal(recorder, x, y)
#define ISNAN(x) is_not_equal(recorder, x, x)
#define ISINF(x) is_equal(recorder, magnitude(recorder, x), constant(INFINITY))
#define ABS(x) magnitude(recorder, x)
#define C(number) constant(number)

#define CAD_RULE1(prefix, name, partial)                                                          \
    static Number prefix##_##name(Recorder *recorder, Number x, Number v) {                       \
        (void)recorder, (void)x, (void)v;                                                         \
        return partial;                                                                           \
    }
#define CAD_RULE2(prefix, name, partial)                                                          \
    static Number prefix##_##name(Recorder *recorder, Number x, Number y, Number v) {             \
        (void)recorder, (void)x, (void)y, (void)v;                                                \
        return partial;                                                                           \
    }
#define CAD_RULE3(prefix, name, partial)                                                          \
    static Number prefix##_##name(Recorder *recorder, Number x, Number y, Number z, Number v) {   \
        (void)recorder, (void)x, (void)y, (void)z, (void)v;                                       \
        return partial;                                                                           \
    }
#define CAD_ROW1(name, value_, dx) CAD_RULE1(rule1, name, dx)
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    CAD_RULE2(rule1, name, dx)                                                                    \
    CAD_RULE2(rule2, name, dy)
#define CAD_ROW3(name, value_, dx, dy, dz)                                                        \
    CAD_RULE3(rule1, name, dx)                                                                    \
    CAD_RULE3(rule2, name, dy)                                                                    \
    CAD_RULE3(rule3, name, dz)
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3

/* --- the sweep --- */

/* adjoint += g * partial, leaving out what changes nothing. */
static void add(Recorder *recorder, Number *adjoint, Number g, Number partial) {
    Number product;
    if (is_constant(g, 1.0)) {
        product = partial;
    } else if (is_constant(partial, 1.0)) {
        product = g;
    } else if (is_constant(partial, 0.0)) {
        return;
    } else {
        product = rec_amul(recorder, g, partial);
    }
    *adjoint = is_constant(*adjoint, 0.0) ? product : rec_add(recorder, *adjoint, product);
}

#define CAD_ROW1(name, value_, dx)                                                                \
    case CAD_OP_##name:                                                                           \
        if (to_a) {                                                                               \
            add(recorder, to_a, g, rule1_##name(recorder, x, v));                                 \
        }                                                                                         \
        break;
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    case CAD_OP_##name:                                                                           \
        if (to_a) {                                                                               \
            add(recorder, to_a, g, rule1_##name(recorder, x, y, v));                              \
        }                                                                                         \
        if (to_b) {                                                                               \
            add(recorder, to_b, g, rule2_##name(recorder, x, y, v));                              \
        }                                                                                         \
        break;
#define CAD_ROW3(name, value_, dx, dy, dz)                                                        \
    case CAD_OP_##name: {                                                                         \
        const CadSlot third = tape->entries[i - 1].a;                                             \
        const Number z = {tape->values[third], recorder->linear ? none : third};                  \
        if (to_a) {                                                                               \
            add(recorder, to_a, g, rule1_##name(recorder, x, y, z, v));                           \
        }                                                                                         \
        if (to_b) {                                                                               \
            add(recorder, to_b, g, rule2_##name(recorder, x, y, z, v));                           \
        }                                                                                         \
        if (third >= base) {                                                                      \
            add(recorder, &adjoints[third - base], g, rule3_##name(recorder, x, y, z, v));        \
        }                                                                                         \
        break;                                                                                    \
    }

static void record_entry(Recorder *recorder, size_t i, CadSlot base, CadNumber *adjoints) {
    const CadTape *const tape = recorder->tape;
    const CadEntry e = tape->entries[i];
    const Number g = adjoints[e.out - base];
    if (!cad_op_is_row(CAD_CODE_OP(e.code)) || is_constant(g, 0.0)) {
        return;
    }
    const int passive_a = (e.code & CAD_PASSIVE_A) != 0;
    const int passive_b = (e.code & CAD_PASSIVE_B) != 0;
    const int linear = recorder->linear;
    const Number x = {tape->values[e.a], passive_a || linear ? none : e.a};
    const Number y = {tape->values[e.b], passive_b || linear ? none : e.b};
    const Number v = {tape->values[e.out], linear ? none : e.out};
    Number *const to_a = passive_a || e.a < base ? NULL : &adjoints[e.a - base];
    Number *const to_b = passive_b || e.b < base ? NULL : &adjoints[e.b - base];
    switch (CAD_CODE_OP(e.code)) {
#include "ops_rows.h"
    default:
        break;
    }
}

CadStatus cad_sweep_record(CadTape *tape, size_t begin, size_t end, CadSlot base, int linear,
                           CadNumber *adjoints) {
    Recorder recorder = {tape, CAD_OK, linear};
    tape->pinned++;
    for (size_t i = end; i-- > begin && recorder.status == CAD_OK;) {
        record_entry(&recorder, i, base, adjoints);
    }
    tape->pinned--;
    return recorder.status;
}

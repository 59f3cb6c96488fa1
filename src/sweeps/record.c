/* The recorded reverse sweep: the adjoints are numbers of the tape, so they have derivatives.
 *
 * It is the reverse sweep in another algebra: each word of a partial appends an entry, unless its
 * operands are constants. An adjoint is skipped only if it is a zero without derivative.
 * Conditions look at values; in a recording to be replayed, they are numbers, by which a replay
 * chooses anew. */
#include "sweeps/sweeps.h"

#include "table/ops.h"

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

/* The second operand of operations that have but one. */
static const Number nothing = {0.0, CAD_NONE};

static Number apply(Recorder *recorder, CadOp op, Number x, Number y) {
    const double value = cad_op_value(op, x.value, y.value, 0.0);
    if ((x.slot == none && y.slot == none) || !has_room(recorder)) {
        return constant(value);
    }
    const int unary = cad_op_info[op].arity == 1;
    const int passive = x.slot == none             ? CAD_PASSIVE_A
                        : y.slot == none && !unary ? CAD_PASSIVE_B
                                                   : 0;
    const CadSlot a = slot_of(recorder, x), b = unary ? a : slot_of(recorder, y);
    return (Number){value, cad_tape_push(recorder->tape, CAD_CODE(op, passive), a, b, value)};
}

/* --- conditions --- */

/* A condition is a number, 1 where it holds, else 0: a constant, unless it is to be replayed. */
static Number condition(Recorder *recorder, CadOp op, Number x, Number y) {
    return recorder->tape->guards != NULL ? apply(recorder, op, x, y)
                                          : constant(cad_op_value(op, x.value, y.value, 0.0));
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

#include "ops_no_words.h"
/* Both branches are recorded for replays alone. */
#define IF(condition, x, y)                                                                       \
    (recorder->tape->guards != NULL ? chosen(recorder, condition, x, y)                           \
     : (condition).value != 0.0     ? (x)                                                         \
                                    : (y))
#define AND(x, y) A(multiply, x, y)
#define OR(x, y) A(maximum, x, y)
#define LT(x, y) condition(recorder, CAD_OP_less, x, y)
#define LE(x, y) condition(recorder, CAD_OP_less_equal, x, y)
#define EQ(x, y) condition(recorder, CAD_OP_equal, x, y)
#define NE(x, y) condition(recorder, CAD_OP_not_equal, x, y)
#define ABS(x) condition(recorder, CAD_OP_absolute, x, nothing)
#define C(number) constant(number)
#define A(name, ...) apply(recorder, CAD_OP_##name, CAD_FIRST_TWO(__VA_ARGS__, nothing, nothing))
#define K(number) constant(number)
#define L(number) (number)
#define P(number) (number)

static Number partial_of(Recorder *recorder, CadOp op, int which, Number x, Number y, Number z,
                         Number v) {
    switch ((int)op * 4 + which) {
#include "ops_partials.h"
    default:
        return constant(NAN);
    }
}

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
        product = apply(recorder, CAD_OP_amul, g, partial);
    }
    *adjoint =
        is_constant(*adjoint, 0.0) ? product : apply(recorder, CAD_OP_add, *adjoint, product);
}

static void record_entry(Recorder *recorder, size_t i, CadSlot base, CadNumber *adjoints) {
    const CadTape *const tape = recorder->tape;
    const CadEntry e = tape->entries[i];
    const CadOp op = CAD_CODE_OP(e.code);
    const Number g = adjoints[e.out - base];
    if (!cad_op_is_row(op) || is_constant(g, 0.0)) {
        return;
    }
    const int arity = cad_op_info[op].arity;
    const CadSlot slots[4] = {e.a, e.b, arity > 2 ? tape->entries[i - 1].a : e.a, e.out};
    const int passive = (int)(e.code & (CAD_PASSIVE_A | CAD_PASSIVE_B));
    Number x[4];
    for (int k = 0; k < 4; k++) {
        const int is_constant = recorder->linear || (passive >> k & 1);
        x[k] = (Number){tape->values[slots[k]], is_constant ? none : slots[k]};
    }
    for (int k = 0; k < arity; k++) {
        if (!(passive >> k & 1) && slots[k] >= base) {
            add(recorder, &adjoints[slots[k] - base], g,
                partial_of(recorder, op, k, x[0], x[1], x[2], x[3]));
        }
    }
}

CadStatus cad_sweep_record(CadTape *tape, size_t begin, size_t end, CadSlot base, bool linear,
                           CadNumber *adjoints) {
    Recorder recorder = {tape, CAD_OK, linear};
    tape->pinned++;
    for (size_t i = end; i-- > begin && recorder.status == CAD_OK;) {
        record_entry(&recorder, i, base, adjoints);
    }
    tape->pinned--;
    return recorder.status;
}

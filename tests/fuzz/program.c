/* Bytes as a function on a tape: over arrays, or turns of a loop over single numbers. The graph of
 * it, its derivatives, and the programs of all of these compute what the sweeps do. */
#include "fuzz.h"

#include "check.h"
#include "on_graph.h"
#include "on_tape.h"
#include "twin.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_STEPS = 12, MOST_STATE = 6, MOST_TURNS = 40, MOST_BODY = 8 };

static const double FAR = 30.0; /* what is farther is no example: rounding decides there */

static int is_moderate(const CadTape *tape) {
    int moderate = 1;
    for (size_t slot = 0; slot < tape->n_slots && moderate; slot++) {
        moderate = fabs(tape->values[slot]) < FAR;
    }
    return moderate;
}

/* What a turn does: state[to] = op(state[x], state[y] or a constant). */
typedef struct Action {
    CadOp op;
    size_t to, x, y;
    double constant;
    int is_constant, changes; /* from turn to turn */
} Action;

static Action any_action(Random *random, size_t n) {
    static const CadOp ops[] = {CAD_OP_add,    CAD_OP_subtract, CAD_OP_multiply, CAD_OP_sin,
                                CAD_OP_cos,    CAD_OP_tanh,     CAD_OP_arctan,   CAD_OP_expit,
                                CAD_OP_square, CAD_OP_negative, CAD_OP_exp};
    Action action = {.op = ops[random_below(random, sizeof ops / sizeof *ops)]};
    action.to = random_below(random, n);
    action.x = random_below(random, n);
    action.y = random_below(random, n);
    action.is_constant = random_below(random, 4) == 0;
    action.changes = random_below(random, 2) == 0;
    action.constant = random_between(random, -1.0, 1.0);
    return action;
}

static CadSlot carry_out(CadTape *tape, const Action *action, const CadSlot *state, size_t turn) {
    if (cad_op_info[action->op].arity == 1) {
        return append1(tape, action->op, state[action->x]);
    }
    const double value = action->constant + (action->changes ? 0.01 * (double)turn : 0.0);
    return append2(tape, action->op, variable(tape, state[action->x]),
                   action->is_constant ? constant(value) : variable(tape, state[action->y]));
}

static void fuzz_turns(Random *random) {
    Action body[MOST_BODY];
    double values[MOST_STATE];
    CadSlot state[MOST_STATE];
    const size_t n = 1 + random_below(random, MOST_STATE);
    const size_t turns = 1 + random_below(random, MOST_TURNS);
    const size_t n_body = 1 + random_below(random, MOST_BODY);
    const int optimize = (int)random_below(random, 2), rolls = (int)random_below(random, 4) > 0;
    CadTape *const tape = cad_tape_new();
    for (size_t i = 0; i < n; i++) {
        values[i] = random_between(random, -1.0, 1.0);
    }
    for (size_t i = 0; i < n_body; i++) {
        body[i] = any_action(random, n);
    }
    const CadSlot base = append_leaf(tape, n, values);
    for (size_t i = 0; i < n; i++) {
        state[i] = base + (CadSlot)i;
    }
    for (size_t turn = 0; turn < turns; turn++) {
        for (size_t i = 0; i < n_body; i++) {
            state[body[i].to] = carry_out(tape, &body[i], state, turn);
        }
    }
    if (is_moderate(tape)) {
        GraphCase c = case_of(tape, base, n, random);
        c.rolls = rolls;
        check_case(&c, optimize);
    }
    cad_tape_free(tape);
}

static void fuzz_twin(Random *random) {
    Twin *const twin = twin_new();
    int64_t shape[2];
    for (int i = 0; i < 3; i++) { /* what is not of the last leaf, is constant */
        const int ndim = (int)random_below(random, 3);
        for (int k = 0; k < ndim; k++) {
            shape[k] = 1 + (int64_t)random_below(random, 4);
        }
        if (i < 2) {
            twin_constant(twin, ndim, shape, random);
        } else {
            twin_leaf(twin, ndim, shape, random);
        }
    }
    const int optimize = (int)random_below(random, 2), rolls = (int)random_below(random, 4) == 0;
    for (int i = 0; i < MOST_STEPS && random_led() > 0; i++) {
        twin_step(twin, random);
    }
    if (is_moderate(twin->arrays)) {
        GraphCase c =
            case_of(twin->arrays, twin->leaves[0].slot, view_size(twin->leaves[0]), random);
        c.rolls = rolls;
        check_case(&c, optimize);
    }
    twin_free(twin);
}

int fuzz_program(const uint8_t *bytes, size_t size) {
    Random random = {1};
    random_lead(bytes, size);
    if (random_below(&random, 2) == 0) {
        fuzz_turns(&random);
    } else {
        fuzz_twin(&random);
    }
    random_lead(NULL, 0);
    return 0;
}

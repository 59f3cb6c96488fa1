/* Instructions whose views are floats, or that go between floats and doubles. */
#include "kernels/single.h"
#include "program/running.h"

/* A view of floats, at the beginning of a turn. */
static float *floats_of_view(const Places *places, CadPlan *plan, int view, Turn turn) {
    return floats_at(places, cad_plan_view(plan, view)[0]) +
           (turn.number > 0 ? cad_plan_extra(plan)[view] * (int64_t)turn.number : 0);
}

/* A walk over views of floats: where they are is counted from their beginnings. */
static void start_walk_over_floats(Walk *walk, const Places *places, CadPlan *plan, int kept,
                                   Turn turn, float *floats[4]) {
    start_walk_in(walk, NULL, plan, kept);
    for (int k = 0; k < plan->n_views; k++) {
        floats[k] = floats_of_view(places, plan, k, turn);
        walk->at[k] = 0;
    }
}

static CadFloats floats_in(const Walk *walk, float *const *floats, int view, int row, int column) {
    const int64_t *const strides = cad_plan_view(walk->plan, view) + 1 + walk->axes;
    return (CadFloats){floats[view] + walk->at[view], (ptrdiff_t)strides[row],
                       (ptrdiff_t)strides[column]};
}

static void multiply_floats(CadPlan *plan, const Places *places, Turn turn) {
    Walk walk;
    float *floats[4];
    start_walk_over_floats(&walk, places, plan, 3, turn, floats);
    const int64_t *const core = cad_plan_shape(plan) + walk.axes;
    do {
        cad_multiply_floats(floats_in(&walk, floats, 0, 0, 2), floats_in(&walk, floats, 1, 0, 1),
                            floats_in(&walk, floats, 2, 1, 2), (size_t)core[0], (size_t)core[1],
                            (size_t)core[2]);
    } while (advance(&walk));
}

static void compute_rows_of_floats(const CadInstruction *i, CadPlan *plan, const Places *places,
                                   Turn turn) {
    Walk walk;
    float *floats[4];
    const int arity = plan->n_views - 1;
    start_walk_over_floats(&walk, places, plan, 1, turn, floats);
    do {
        CadFloatStrip x[4];
        for (int k = 0; k < 4; k++) {
            const int view = k < plan->n_views ? k : 1;
            x[k] = (CadFloatStrip){floats[view] + walk.at[view], (ptrdiff_t)walk.step[view]};
        }
        cad_float_strip_value((CadOp)i->op, x[0], x[1], x[arity > 1 ? 2 : 1], x[arity > 2 ? 3 : 1],
                              walk.n);
    } while (advance(&walk));
}

/* What an operand of `n` floats a turn reads in one of them. */
static CadFloatStrip floats_in_turn(const CadProgram *program, const Places *places, int32_t place,
                                    int32_t step, uint32_t n, Turn turn) {
    const ptrdiff_t by = (ptrdiff_t)step * (ptrdiff_t)n * (ptrdiff_t)turn.number;
    return (CadFloatStrip){floats_at(places, place) + (cad_program_keeps(program, place) ? by : 0),
                           step};
}

static void compute_floats(const CadProgram *program, const CadInstruction *i,
                           const Places *places, Turn turn) {
    const int arity = cad_op_info[i->op].arity;
    const CadFloatStrip x = floats_in_turn(program, places, i->x, i->sx, i->n, turn);
    const CadFloatStrip y =
        arity > 1 ? floats_in_turn(program, places, i->y, i->sy, i->n, turn) : x;
    const CadFloatStrip z =
        arity > 2 ? floats_in_turn(program, places, i->z, i->sz, i->n, turn) : x;
    cad_float_strip_value((CadOp)i->op, floats_in_turn(program, places, i->out, 1, i->n, turn), x,
                          y, z, i->n);
}

void cad_run_floats(const CadProgram *program, const CadInstruction *i, const Places *places,
                    Turn turn) {
    if (cad_step_is_of_kind(i)) {
        multiply_floats((CadPlan *)(program->plans + i->x), places, turn);
    } else if (cad_step_is(i, CAD_OVER_PLAN)) {
        compute_rows_of_floats(i, (CadPlan *)(program->plans + i->x), places, turn);
    } else if (i->floats == CAD_TO_FLOATS) {
        cad_narrow_row(floats_in_turn(program, places, i->out, 1, i->n, turn).data,
                       strip_in_turn(program, places, i->x, 1, i->n, turn.number).data, i->n);
    } else if (i->floats == CAD_FROM_FLOATS) {
        cad_widen_row(strip_in_turn(program, places, i->out, 1, i->n, turn.number).data,
                      floats_in_turn(program, places, i->x, 1, i->n, turn).data, i->n);
    } else {
        compute_floats(program, i, places, turn);
    }
}

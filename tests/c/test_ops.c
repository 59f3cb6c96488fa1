/* The table as the core sees it, and every operation alone in every sweep. */
#include "check.h"
#include "on_tape.h"

#include <math.h>
#include <stdlib.h>

/* --- what Python learns --- */

static CadOp op_called(const char *name) {
    for (CadOp op = 0; op < CAD_OP_COUNT; op++) {
        if (strcmp(cad_op_info[op].name, name) == 0) {
            return op;
        }
    }
    return CAD_OP_COUNT;
}

static void operations_have_names_and_arities(void) {
    for (CadOp op = CAD_OP_THIRD + 1; op < CAD_OP_COUNT; op++) {
        const CadOpInfo *info = &cad_op_info[op];
        CHECK(info->name != NULL && info->ufunc != NULL && info->doc != NULL);
        CHECK(info->arity >= 1 && info->arity <= 3);
        CHECK(op_called(info->name) == op); /* no two share a name */
    }
    CHECK_COUNT(cad_op_info[CAD_OP_LEAF].arity, 0);
    CHECK(op_called("sin") == CAD_OP_sin && op_called("_amul") == CAD_OP_amul);
}

static void aliases_name_operations(void) {
    size_t count = 0;
    for (; cad_op_aliases[count][0] != NULL; count++) {
        check_subject(cad_op_aliases[count][0]);
        CHECK(op_called(cad_op_aliases[count][0]) == CAD_OP_COUNT);
        CHECK(op_called(cad_op_aliases[count][1]) != CAD_OP_COUNT);
    }
    CHECK(count > 0 && cad_op_aliases[count][1] == NULL);
}

static void structure_has_no_value(void) {
    double partial = 42.0;
    CHECK_SAME(cad_op_value(CAD_OP_LEAF, 1.0, 1.0, 1.0), NAN);
    CHECK_SAME(cad_op_value(CAD_OP_THIRD, 1.0, 1.0, 1.0), NAN);
    cad_op_partials(CAD_OP_LEAF, 7, 1.0, 1.0, 1.0, 1.0, &partial);
    CHECK_SAME(partial, 42.0);
}

static void only_wanted_partials_are_written(void) {
    for (int wanted = 0; wanted < 8; wanted++) {
        double p[3] = {42.0, 42.0, 42.0};
        cad_op_partials(CAD_OP_clip, wanted, 1.0, 0.0, 2.0, 1.0, p);
        CHECK_SAME(p[0], wanted & 1 ? 1.0 : 42.0);
        CHECK_SAME(p[1], wanted & 2 ? 0.0 : 42.0);
        CHECK_SAME(p[2], wanted & 4 ? 0.0 : 42.0);
    }
}

/* --- one entry, all sweeps --- */

/* What the sweeps say of one operation at one point, `k` and `j` over its operands. */
typedef struct Case {
    CadTape *tape;
    CadSlot x;   /* the first operand; all variables are one leaf */
    CadSlot out; /* the result */
    int arity;
    double reverse[3];
    double tangent[3];
    double recorded[3];
    double second[3][3];
    double again[3][3]; /* reverse over recorded */
} Case;

static void sweep_first_order(Case *c) {
    double tangents[3 * 12] = {0.0};
    reverse_from(c->tape, 0, c->out);
    for (int k = 0; k < c->arity; k++) {
        c->reverse[k] = c->tape->adjoints[c->x + k];
        tangents[k * 3 + k] = 1.0;
    }
    cad_sweep_tangent(c->tape, 0, c->tape->n_entries, c->tape->n_entries, c->x, 3, tangents);
    for (int k = 0; k < c->arity; k++) {
        c->tangent[k] = tangents[(c->out - c->x) * 3 + k];
    }
}

static void sweep_second_order(Case *c) {
    double tangents[3 * 12] = {0.0}, adjoint_tangents[3 * 12] = {0.0};
    for (int k = 0; k < c->arity; k++) {
        tangents[k * 3 + k] = 1.0;
    }
    cad_sweep_tangent(c->tape, 0, c->tape->n_entries, c->tape->n_entries, c->x, 3, tangents);
    clear_adjoints(c->tape, 0, c->tape->n_slots);
    c->tape->adjoints[c->out] = 1.0;
    cad_sweep_second(c->tape, 0, c->tape->n_entries, c->tape->n_entries, c->x, 3, tangents,
                     adjoint_tangents);
    for (int k = 0; k < c->arity; k++) {
        CHECK_SAME(c->tape->adjoints[c->x + k], c->reverse[k]);
        for (int j = 0; j < c->arity; j++) {
            c->second[k][j] = adjoint_tangents[k * 3 + j];
        }
    }
}

static void sweep_recorded(Case *c) {
    CadNumber *adjoints = zero_numbers(c->tape->n_slots);
    adjoints[c->out].value = 1.0;
    CHECK(cad_sweep_record(c->tape, 0, c->tape->n_entries, 0, 0, adjoints) == CAD_OK);
    for (int k = 0; k < c->arity; k++) {
        c->recorded[k] = adjoints[c->x + k].value;
        if (adjoints[c->x + k].slot != CAD_NONE) {
            reverse_from(c->tape, 0, adjoints[c->x + k].slot);
            for (int j = 0; j < c->arity; j++) {
                c->again[k][j] = c->tape->adjoints[c->x + j];
            }
        }
    }
    free(adjoints);
}

/* An operation at a point, operands constant as the variant says; the leaf is the first entry. */
static Case run_case(Variant variant, const double *x) {
    Case c = {.tape = cad_tape_new(), .arity = cad_op_info[variant.op].arity};
    CadNumber operands[3];
    c.x = append_leaf(c.tape, 3, x);
    for (int k = 0; k < c.arity; k++) {
        const int passive = variant.constants >> k & 1;
        operands[k] = passive ? constant(x[k]) : variable(c.tape, c.x + k);
    }
    c.out = append(c.tape, variant.op, operands);
    sweep_first_order(&c);
    sweep_second_order(&c);
    sweep_recorded(&c);
    cad_tape_free(c.tape);
    return c;
}

static void check_case(Variant variant, const double *x, double tolerance) {
    const Case c = run_case(variant, x);
    const double v = cad_op_value(variant.op, x[0], x[1], x[2]);
    double p[3] = {0.0, 0.0, 0.0};
    cad_op_partials(variant.op, ~variant.constants & 7, x[0], x[1], x[2], v, p);
    for (int k = 0; k < c.arity; k++) {
        CHECK_SAME(c.reverse[k], p[k]);
        CHECK_SAME(c.tangent[k], p[k]);
        CHECK_SAME(c.recorded[k], p[k]);
        for (int j = 0; j < c.arity; j++) {
            CHECK_NEAR(c.second[k][j], c.again[k][j], tolerance * (1.0 + fabs(c.again[k][j])));
        }
    }
}

static void operations_agree_in_all_sweeps(void) {
    Random random = {7};
    for (Variant v = first_variant(); v.op < CAD_OP_COUNT; v = next_variant(v)) {
        check_subject(cad_op_info[v.op].name);
        for (int i = 0; i < 100; i++) {
            double x[3] = {0.0, 0.0, 0.0};
            for (int k = 0; k < cad_op_info[v.op].arity; k++) {
                const Domain d = domains[v.op][k];
                x[k] = d.whole ? (double)random_below(&random, 4)
                               : random_between(&random, fmax(d.low, -9.0), fmin(d.high, 9.0));
            }
            check_case(v, x, 1e-12);
        }
    }
}

static void check_corners(Variant v) {
    const int arity = cad_op_info[v.op].arity;
    const int n[3] = {CORNERS, arity > 1 ? CORNERS : 1, arity > 2 ? CORNERS : 1};
    check_subject(cad_op_info[v.op].name);
    for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
        const double x[3] = {corners[i % CORNERS], corners[i / CORNERS % CORNERS],
                             corners[i / CORNERS / CORNERS]};
        if (!domains[v.op][0].whole || is_order(x[0])) {
            check_case(v, x, 1e-12);
        }
    }
}

/* Poles, kinks, saturation, overflow, outside the domain: the sweeps agree there, too. */
static void operations_agree_at_corners(void) {
    for (Variant v = first_variant(); v.op < CAD_OP_COUNT; v = next_variant(v)) {
        check_corners(v);
    }
}

const Test ops_tests[] = {
    TEST(operations_have_names_and_arities),
    TEST(aliases_name_operations),
    TEST(structure_has_no_value),
    TEST(only_wanted_partials_are_written),
    TEST(operations_agree_in_all_sweeps),
    TEST(operations_agree_at_corners),
    END_OF_TESTS,
};

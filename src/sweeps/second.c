/* The second-order sweep: the tangent of the reverse sweep.
 *
 * Where the reverse sweep does  A += g p(x, y, v),  its tangent is  A' += g' p + g (p_x x' + p_y
 * y'). The second partials p_x, p_y come from the partials of the table, evaluated over the dual
 * numbers of table/duals.h with x' or y' set to 1; they are then shared by all lanes. */
#include "table/duals.h"
#include "sweeps/sweeps.h"

/* --- the sweep --- */

#define TANGENT(slot) (tangents + (size_t)((slot) - base) * lanes)
#define ADJOINT_TANGENT(slot) (adjoint_tangents + (size_t)((slot) - base) * lanes)

/* What an entry with the adjoint g, whose tangent is gt, hands on to the adjoint tangent of an
 * operand: its partial is p, and changes by `curve` along the direction. */
static inline double term(double gt, double p, double g, double curve) {
    return cad_amul(gt, p) + cad_amul(g, curve);
}

/* Add the terms of all lanes, for a partial that depends on two operands with tangents. One lane
 * is what products with a vector have: it goes past what vectorised loops have to ask first. */
static CAD_APART void add_curves(double *target, const double *gt, const double *xt,
                                 const double *yt, size_t lanes, double g, double p, double px,
                                 double py) {
    if (lanes == 1) {
        *target += term(*gt, p, g, cad_amul(px, *xt) + cad_amul(py, *yt));
        return;
    }
    for (size_t k = 0; k < lanes; k++) {
        target[k] += term(gt[k], p, g, cad_amul(px, xt[k]) + cad_amul(py, yt[k]));
    }
}

/* Likewise for one that depends on one of them at most. */
static CAD_APART void add_curve(double *target, const double *gt, const double *xt, size_t lanes,
                                double g, double p, double px) {
    if (lanes == 1) {
        *target += term(*gt, p, g, cad_amul(px, *xt));
        return;
    }
    for (size_t k = 0; k < lanes; k++) {
        target[k] += term(gt[k], p, g, cad_amul(px, xt[k]));
    }
}

/* The contribution to one operand. */
#define ADD2(slot, p, px, py)                                                                     \
    do {                                                                                          \
        const double p_ = p;                                                                      \
        add_curves(ADJOINT_TANGENT(slot), gt, TANGENT(e.a), TANGENT(e.b), lanes, g, p_, px, py);  \
        adjoint[slot] += cad_amul(g, p_);                                                         \
    } while (0)

/* The contribution to an operand whose partial is constant, or which is the only variable. */
#define ADD1(slot, p, px, x)                                                                      \
    do {                                                                                          \
        const double p_ = p;                                                                      \
        add_curve(ADJOINT_TANGENT(slot), gt, TANGENT(x), lanes, g, p_, px);                       \
        adjoint[slot] += cad_amul(g, p_);                                                         \
    } while (0)

#define CAD_ROW1(name, value_, dx)                                                                \
    case CAD_CODE(CAD_OP_##name, 0): {                                                            \
        const double x = value[e.a], v = value[e.out];                                            \
        const double p = d1_##name(x, v);                                                         \
        ADD1(e.a, p, dual_d1_##name((Dual){x, 1.0}, (Dual){v, p}).tangent, e.a);                  \
        break;                                                                                    \
    }

/* One piece of code for all markings: the second partials are most of it. */
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    case CAD_CODE(CAD_OP_##name, 0):                                                              \
    case CAD_CODE(CAD_OP_##name, CAD_PASSIVE_A):                                                  \
    case CAD_CODE(CAD_OP_##name, CAD_PASSIVE_B): {                                                \
        const double x = value[e.a], y = value[e.b], v = value[e.out];                            \
        const Dual x0 = {x, 0.0}, x1 = {x, 1.0}, y0 = {y, 0.0}, y1 = {y, 1.0};                    \
        double p = 0.0, px = 0.0, q = 0.0, qy = 0.0;                                              \
        if (!(e.code & CAD_PASSIVE_A)) {                                                          \
            p = d1_##name(x, y, v);                                                               \
            px = dual_d1_##name(x1, y0, (Dual){v, p}).tangent;                                    \
        }                                                                                         \
        if (!(e.code & CAD_PASSIVE_B)) {                                                          \
            q = d2_##name(x, y, v);                                                               \
            qy = dual_d2_##name(x0, y1, (Dual){v, q}).tangent;                                    \
        }                                                                                         \
        if (e.code & CAD_PASSIVE_B) {                                                             \
            ADD1(e.a, p, px, e.a);                                                                \
        } else if (e.code & CAD_PASSIVE_A) {                                                      \
            ADD1(e.b, q, qy, e.b);                                                                \
        } else {                                                                                  \
            ADD2(e.a, p, px, dual_d1_##name(x0, y1, (Dual){v, q}).tangent);                       \
            ADD2(e.b, q, dual_d2_##name(x1, y0, (Dual){v, p}).tangent, qy);                       \
        }                                                                                         \
        break;                                                                                    \
    }

/* The operations of three operands are choices among them: their partials are constant, or nan and
 * then nan in every direction. */
#define ADD0(slot, p)                                                                             \
    do {                                                                                          \
        const double choice = p;                                                                  \
        ADD1(slot, choice, choice == choice ? 0.0 : choice, e.a);                                 \
        if (choice != choice) {                                                                   \
            ADD1(slot, 0.0, choice, e.b);                                                         \
            ADD1(slot, 0.0, choice, third);                                                       \
        }                                                                                         \
    } while (0)

#define CAD_ROW3(name, value_, dx, dy, dz)                                                        \
    case CAD_CODE(CAD_OP_##name, 0): {                                                            \
        const CadSlot third = tape->entries[i - 1].a;                                             \
        const double x = value[e.a], y = value[e.b], z = value[third], v = value[e.out];          \
        ADD0(e.a, d1_##name(x, y, z, v));                                                         \
        ADD0(e.b, d2_##name(x, y, z, v));                                                         \
        ADD0(third, d3_##name(x, y, z, v));                                                       \
        break;                                                                                    \
    }

static int all_zero(const double *numbers, size_t count) {
    for (size_t k = 0; k < count; k++) {
        if (numbers[k] != 0.0) {
            return 0;
        }
    }
    return 1;
}

/* As for the reverse sweep; the lanes are those of what was overwritten, of target and source. */
static void second_assign(CadTape *tape, CadEntry e, size_t lanes, const double *former_lanes,
                          double *target, double *source) {
    cad_exchange_number(tape, e);
    if (!(e.code & CAD_PASSIVE_B)) {
        tape->adjoints[e.b] += tape->adjoints[e.a];
        for (size_t k = 0; k < lanes; k++) {
            source[k] += target[k];
        }
    }
    tape->adjoints[e.a] = tape->adjoints[e.out];
    memcpy(target, former_lanes, lanes * sizeof *target);
}

CadStatus cad_sweep_second(CadTape *tape, size_t begin, size_t end, size_t transient, CadSlot base,
                           size_t lanes, double *tangents, double *adjoint_tangents) {
    const double *value = tape->values;
    double *const adjoint = tape->adjoints;
    CadAlong along = {{tangents, base, lanes}, {adjoint_tangents, base, lanes}, NULL};
    CadStatus status = cad_lanes_open_room(tape, begin, end, lanes, &along.room);
    if (status != CAD_OK) {
        return status;
    }
    size_t i = end;
    while (i > begin && status == CAD_OK) {
        i--;
        const CadEntry e = tape->entries[i];
        if (CAD_CODE_OP(e.code) == CAD_OP_RULE) {
            status = tape->second_rule(tape, i, &along) < 0 ? CAD_RAISED : CAD_OK;
            value = tape->values;
            continue;
        }
        if (CAD_IS_ARRAY_ENTRY(e)) {
            i = cad_array_reverse(tape, begin, i, transient, &along);
            continue;
        }
        if (CAD_CODE_OP(e.code) == CAD_OP_ASSIGN) {
            second_assign(tape, e, lanes, ADJOINT_TANGENT(e.out), ADJOINT_TANGENT(e.a),
                          ADJOINT_TANGENT(e.b));
            for (size_t k = 0; k < lanes; k++) { /* tangents go back, as the values do */
                const double former = TANGENT(e.out)[k];
                TANGENT(e.out)[k] = TANGENT(e.a)[k];
                TANGENT(e.a)[k] = former;
            }
            continue;
        }
        if (CAD_CODE_OP(e.code) <= CAD_OP_THIRD) {
            continue;
        }
        const double g = adjoint[e.out];
        const double *const gt = ADJOINT_TANGENT(e.out);
        if (g == 0.0 && all_zero(gt, lanes)) {
            continue;
        }
        switch (e.code) {
#include "ops_rows.h"
        default:
            break;
        }
    }
    cad_sweep_redo(tape, i, end);
    cad_memory_free(along.room);
    return status;
}

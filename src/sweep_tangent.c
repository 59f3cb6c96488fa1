/* The tangent sweep: one forward loop that carries several directions (lanes) at once. */
#include "sweep.h"

/* The lanes of a slot. */
#define LANES_OF(slot) (tangents + (size_t)((slot) - base) * lanes)

#define CAD_ROW1(name, value_, dx)                                                                \
    case CAD_CODE(CAD_OP_##name, 0): {                                                            \
        const double p = d1_##name(value[e.a], value[e.out]);                                     \
        const double *const a = LANES_OF(e.a);                                                    \
        for (size_t k = 0; k < lanes; k++) {                                                      \
            out[k] = cad_amul(p, a[k]);                                                           \
        }                                                                                         \
        break;                                                                                    \
    }

#define CAD_ROW2(name, value_, dx, dy)                                                            \
    case CAD_CODE(CAD_OP_##name, 0): {                                                            \
        const double p = d1_##name(value[e.a], value[e.b], value[e.out]);                         \
        const double q = d2_##name(value[e.a], value[e.b], value[e.out]);                         \
        const double *const a = LANES_OF(e.a);                                                    \
        const double *const b = LANES_OF(e.b);                                                    \
        for (size_t k = 0; k < lanes; k++) {                                                      \
            out[k] = cad_amul(p, a[k]) + cad_amul(q, b[k]);                                       \
        }                                                                                         \
        break;                                                                                    \
    }                                                                                             \
    case CAD_CODE(CAD_OP_##name, CAD_PASSIVE_B): {                                                \
        const double p = d1_##name(value[e.a], value[e.b], value[e.out]);                         \
        const double *const a = LANES_OF(e.a);                                                    \
        for (size_t k = 0; k < lanes; k++) {                                                      \
            out[k] = cad_amul(p, a[k]);                                                           \
        }                                                                                         \
        break;                                                                                    \
    }                                                                                             \
    case CAD_CODE(CAD_OP_##name, CAD_PASSIVE_A): {                                                \
        const double q = d2_##name(value[e.a], value[e.b], value[e.out]);                         \
        const double *const b = LANES_OF(e.b);                                                    \
        for (size_t k = 0; k < lanes; k++) {                                                      \
            out[k] = cad_amul(q, b[k]);                                                           \
        }                                                                                         \
        break;                                                                                    \
    }

#define CAD_ROW3(name, value_, dx, dy, dz)                                                        \
    case CAD_CODE(CAD_OP_##name, 0): {                                                            \
        const CadSlot third = tape->entries[i - 1].a;                                             \
        const double v = value[e.out];                                                            \
        const double p = d1_##name(value[e.a], value[e.b], value[third], v);                      \
        const double q = d2_##name(value[e.a], value[e.b], value[third], v);                      \
        const double r = d3_##name(value[e.a], value[e.b], value[third], v);                      \
        const double *const a = LANES_OF(e.a);                                                    \
        const double *const b = LANES_OF(e.b);                                                    \
        const double *const c = LANES_OF(third);                                                  \
        for (size_t k = 0; k < lanes; k++) {                                                      \
            out[k] = cad_amul(p, a[k]) + cad_amul(q, b[k]) + cad_amul(r, c[k]);                   \
        }                                                                                         \
        break;                                                                                    \
    }

void cad_sweep_tangent(CadTape *tape, size_t begin, size_t end, CadSlot base, size_t lanes,
                       double *tangents) {
    double *const value = tape->values;
    cad_sweep_undo(tape, begin, end);
    for (size_t i = begin; i < end; i++) {
        const CadEntry e = tape->entries[i];
        double *const out = LANES_OF(e.out);
        switch (e.code) {
        case CAD_CODE(CAD_OP_ASSIGN, 0):
        case CAD_CODE(CAD_OP_ASSIGN, CAD_PASSIVE_B): {
            const double former = value[e.out];
            value[e.out] = value[e.a];
            value[e.a] = former;
            for (size_t k = 0; k < lanes; k++) {
                out[k] = LANES_OF(e.a)[k];
                LANES_OF(e.a)[k] = e.code & CAD_PASSIVE_B ? 0.0 : LANES_OF(e.b)[k];
            }
            break;
        }
#include "ops_rows.h"
        default:
            if (CAD_IS_ARRAY_ENTRY(e)) {
                cad_array_tangent(tape, e, base, lanes, tangents);
            }
            break;
        }
    }
}

/* The algebra of dual numbers, from the rows: values, and the derivatives of partials.
 *
 *   dual_d1_sin(x, v)     partial by the first operand, a dual number if operands and value are
 *
 * Its words stay defined, for files with partials of their own to expand. These may define AMUL,
 * the product in which an exact zero absorbs. */
#ifndef CAD_TABLE_DUALS_H
#define CAD_TABLE_DUALS_H

#include "table/ops.h"

#ifndef AMUL
#define AMUL cad_amul
#endif

typedef struct Dual {
    double value;
    double tangent;
} Dual;

#define A(name, ...) dual_##name(__VA_ARGS__)
#define K(constant) ((Dual){constant, 0.0})
#define L(number) (number)
#define P(number) ((number).value)

#define CAD_ROW1(name, value_, dx)                                                                \
    static inline Dual dual_##name(Dual x) {                                                      \
        const double v = val_##name(x.value);                                                     \
        return (Dual){v, AMUL(d1_##name(x.value, v), x.tangent)};                                 \
    }
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    static inline Dual dual_##name(Dual x, Dual y) {                                              \
        const double v = val_##name(x.value, y.value);                                            \
        return (Dual){v, AMUL(d1_##name(x.value, y.value, v), x.tangent) +                        \
                             AMUL(d2_##name(x.value, y.value, v), y.tangent)};                    \
    }
#define CAD_ROW3(name, value_, dx, dy, dz) /* no partial is written with one */
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3

#define CAD_ROW1(name, value_, dx)                                                                \
    static inline Dual dual_d1_##name(Dual x, Dual v) {                                           \
        (void)x, (void)v;                                                                         \
        return dx;                                                                                \
    }
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    static inline Dual dual_d1_##name(Dual x, Dual y, Dual v) {                                   \
        (void)x, (void)y, (void)v;                                                                \
        return dx;                                                                                \
    }                                                                                             \
    static inline Dual dual_d2_##name(Dual x, Dual y, Dual v) {                                   \
        (void)x, (void)y, (void)v;                                                                \
        return dy;                                                                                \
    }
#define CAD_ROW3(name, value_, dx, dy, dz) /* piecewise linear: see below */
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3

#endif

/* The algebra of dual numbers, from the rows: values, and the derivatives of partials.
 *
 *   dual_sin(x)           value and tangent
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

#undef A
#undef K
#undef P
#define A(name, ...) dual_##name(__VA_ARGS__)
#define K(constant) ((Dual){constant, 0.0})
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

#define CAD_PARTIAL(name, arity, which, partial)                                                  \
    static inline Dual dual_d##which##_##name(CAD_FIRST##arity(Dual x, Dual y, Dual z), Dual v) { \
        CAD_FIRST##arity((void)x, (void)y, (void)z), (void)v;                                     \
        return partial;                                                                           \
    }
#include "ops_partials.h"

#endif

/* The calculus over doubles: values and partials of every operation, derived from the table
 * (ops.def) by including its generated rows once for each purpose.
 *
 *   val_sin(x)            value
 *   d1_sin(x, v)          partial by the first operand, given the value v; d2_, d3_ likewise
 *
 * A row is CAD_ROW<arity>(word, value, partials...). In its partials A(word, ...) applies an
 * operation of the algebra at hand, K(c) is a constant, L(x) a number. Conditions, IF(c, a, b),
 * look at plain values alone: P(x) is the one of a number, C(c) a constant. */
#ifndef CAD_TABLE_OPS_H
#define CAD_TABLE_OPS_H

#include "table/codes.h"
#include "table/special.h"

/* The words of conditions, for algebras whose numbers are single ones. */
#define IF(condition, x, y) ((condition) ? (x) : (y))
#define AND(x, y) ((x) && (y))
#define OR(x, y) ((x) || (y))
#define LT(x, y) ((x) < (y))
#define LE(x, y) ((x) <= (y))
#define GT(x, y) ((x) > (y))
#define GE(x, y) ((x) >= (y))
#define EQ(x, y) ((x) == (y))
#define NE(x, y) ((x) != (y))
#define ISNAN(x) isnan(x)
#define ISINF(x) isinf(x)
#define ABS(x) fabs(x)
#define C(constant) (constant)

/* --- values --- */

#define CAD_ROW1(name, value, dx)                                                                 \
    static inline double val_##name(double x) {                                                   \
        return value;                                                                             \
    }
#define CAD_ROW2(name, value, dx, dy)                                                             \
    static inline double val_##name(double x, double y) {                                         \
        return value;                                                                             \
    }
#define CAD_ROW3(name, value, dx, dy, dz)                                                         \
    static inline double val_##name(double x, double y, double z) {                               \
        return value;                                                                             \
    }
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3

/* --- partials --- */

#define A(name, ...) val_##name(__VA_ARGS__)
#define K(constant) (constant)
#define L(number) (number)
#define P(number) (number)
#define CAD_PARTIAL1(prefix, name, partial)                                                       \
    static inline double prefix##_##name(double x, double v) {                                    \
        (void)x, (void)v;                                                                         \
        return partial;                                                                           \
    }
#define CAD_PARTIAL2(prefix, name, partial)                                                       \
    static inline double prefix##_##name(double x, double y, double v) {                          \
        (void)x, (void)y, (void)v;                                                                \
        return partial;                                                                           \
    }
#define CAD_PARTIAL3(prefix, name, partial)                                                       \
    static inline double prefix##_##name(double x, double y, double z, double v) {                \
        (void)x, (void)y, (void)z, (void)v;                                                       \
        return partial;                                                                           \
    }
#define CAD_ROW1(name, value, dx) CAD_PARTIAL1(d1, name, dx)
#define CAD_ROW2(name, value, dx, dy)                                                             \
    CAD_PARTIAL2(d1, name, dx)                                                                    \
    CAD_PARTIAL2(d2, name, dy)
#define CAD_ROW3(name, value, dx, dy, dz)                                                         \
    CAD_PARTIAL3(d1, name, dx)                                                                    \
    CAD_PARTIAL3(d2, name, dy)                                                                    \
    CAD_PARTIAL3(d3, name, dz)
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
#undef CAD_PARTIAL1
#undef CAD_PARTIAL2
#undef CAD_PARTIAL3
#undef A
#undef K
#undef L
#undef P

#endif

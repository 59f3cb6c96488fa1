/* The calculus over doubles: values and partials of every operation, derived from the table
 * (ops.def) by including its generated rows once for each purpose.
 *
 *   val_sin(x)            value
 *   d1_sin(x, v)          partial by the first operand, given the value v; d2_, d3_ likewise
 *
 * In partials A(word, ...) applies an operation of the algebra at hand, K(c) is a constant, L(x) a
 * number. Conditions, IF(c, a, b), look at plain values alone: P(x) is the one of a number, C(c) a
 * constant. Whoever has another algebra forgets these words first (ops_no_words.h). */
#ifndef CAD_TABLE_OPS_H
#define CAD_TABLE_OPS_H

#include "table/codes.h"
#include "table/special.h"

#define CAD_VALUE(name, arity, value)                                                             \
    static inline double val_##name(CAD_FIRST##arity(double x, double y, double z)) {             \
        return value;                                                                             \
    }
#include "ops_values.h"

#define IF(condition, x, y) ((condition) ? (x) : (y))
#define AND(x, y) ((x) && (y))
#define OR(x, y) ((x) || (y))
#define LT(x, y) ((x) < (y))
#define LE(x, y) ((x) <= (y))
#define EQ(x, y) ((x) == (y))
#define NE(x, y) ((x) != (y))
#define ABS(x) fabs(x)
#define C(constant) (constant)
#define A(name, ...) val_##name(__VA_ARGS__)
#define K(constant) (constant)
#define L(number) (number)
#define P(number) (number)
#define CAD_PARTIAL(name, arity, which, partial)                                                  \
    static inline double d##which##_##name(CAD_FIRST##arity(double x, double y, double z),        \
                                           double v) {                                            \
        CAD_FIRST##arity((void)x, (void)y, (void)z), (void)v;                                     \
        return partial;                                                                           \
    }
#include "ops_partials.h"

#endif

/* The calculus over doubles: op codes, values and partials of every operation, derived from the
 * table (ops.def) by including its generated rows once for each purpose.
 *
 *   CAD_OP_sin            op code
 *   val_sin(x)            value
 *   d1_sin(x, v)          partial by the first operand, given the value v; d2_, d3_ likewise
 *
 * A row is CAD_ROW<arity>(word, value, partials...). In its partials A(word, ...) applies an
 * operation of the algebra at hand, K(c) is a constant, L(x) a number. Conditions, IF(c, a, b),
 * look at plain values alone: P(x) is the one of a number, C(c) a constant. */
#ifndef CAD_TABLE_OPS_H
#define CAD_TABLE_OPS_H

#include "table/special.h"

#include <stdint.h>

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

/* What stands on a tape beside operations of the table, THIRD last: see tape/entries.h. */
#define CAD_STRUCTURE(WORD)                                                                       \
    WORD(LEAF, "_leaf")                                                                           \
    WORD(ASSIGN, "_assign")                                                                       \
    WORD(SUM, "_sum")                                                                             \
    WORD(MATMUL, "_matmul")                                                                       \
    WORD(GATHER, "_gather")                                                                       \
    WORD(SCATTER, "_scatter")                                                                     \
    WORD(ADD_AT, "_add_at")                                                                       \
    WORD(RULE, "_rule")                                                                           \
    WORD(THIRD, "_third")

typedef enum CadOp {
#define CAD_WORD(word, name) CAD_OP_##word,
    CAD_STRUCTURE(CAD_WORD)
#undef CAD_WORD
#define CAD_ROW1(name, value, dx) CAD_OP_##name,
#define CAD_ROW2(name, value, dx, dy) CAD_OP_##name,
#define CAD_ROW3(name, value, dx, dy, dz) CAD_OP_##name,
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
        CAD_OP_COUNT
} CadOp;

/* Whether it is a row of the table, which computes number by number. */
static inline int cad_op_is_row(CadOp op) {
    return op > CAD_OP_THIRD;
}

/* What Python learns of an operation. `name` keeps the underscore of internal ones. */
typedef struct CadOpInfo {
    const char *name;
    int arity;
    const char *ufunc;
    const char *doc;
} CadOpInfo;

extern const CadOpInfo cad_op_info[CAD_OP_COUNT];

/* Other names of operations, ended by a row of nulls. */
extern const char *const cad_op_aliases[][2];

/* The value of each operation as text, over x, y and z; and what these texts call, ended by a row
 * of nulls. Each of them comes after those that it calls itself. */
typedef struct CadText {
    const char *name;
    const char *text;
} CadText;

extern const CadText cad_op_values[CAD_OP_COUNT];
extern const CadText cad_op_helpers[];

/* Value and partials by op code, for callers that do not know the operation beforehand. Unused
 * operands are ignored. Of the partials those are computed whose bit (1, 2, 4) is in `wanted`. */
double cad_op_value(CadOp op, double x, double y, double z);
void cad_op_partials(CadOp op, int wanted, double x, double y, double z, double v,
                     double *partials);

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

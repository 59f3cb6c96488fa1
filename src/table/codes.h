/* Op codes, and the properties of an operation beside its formulas, which stand in ops.h: what
 * includes this file alone is not compiled again when a formula changes. */
#ifndef CAD_TABLE_CODES_H
#define CAD_TABLE_CODES_H

#include <stdbool.h>

/* What stands on a tape beside operations of the table and the kinds of kinds.def, THIRD last: see
 * tape/entries.h. */
#define CAD_STRUCTURE(WORD)                                                                       \
    WORD(LEAF, "_leaf")                                                                           \
    WORD(ASSIGN, "_assign")                                                                       \
    WORD(GATHER, "_gather")                                                                       \
    WORD(SCATTER, "_scatter")                                                                     \
    WORD(ADD_AT, "_add_at")                                                                       \
    WORD(RULE, "_rule")                                                                           \
    WORD(THIRD, "_third")

typedef enum CadOp {
#define CAD_KIND(word, ...) CAD_OP_##word,
#include "table/kinds.def"
#define CAD_WORD(word, name) CAD_OP_##word,
    CAD_STRUCTURE(CAD_WORD)
#undef CAD_WORD
#define CAD_NAME(name, arity) CAD_OP_##name,
#include "ops_codes.h"
        CAD_OP_COUNT
} CadOp;

/* As many of three things as an operation has operands: CAD_FIRST##arity(x, y, z). */
#define CAD_FIRST1(x, y, z) x
#define CAD_FIRST2(x, y, z) x, y
#define CAD_FIRST3(x, y, z) x, y, z

/* The operands of a word of a partial, which has one or two: CAD_FIRST_TWO(__VA_ARGS__, none,
 * none). */
#define CAD_FIRST_TWO(x, y, ...) x, y

/* Whether it is a row of the table, which computes number by number. */
static inline bool cad_op_is_row(CadOp op) {
    return op > CAD_OP_THIRD;
}

static inline int cad_op_compares(CadOp op) {
    return op == CAD_OP_less || op == CAD_OP_less_equal || op == CAD_OP_equal ||
           op == CAD_OP_not_equal;
}

/* Nothing is differentiated through these. */
static inline int cad_op_is_flat(CadOp op) {
    return op == CAD_OP_stop || cad_op_compares(op);
}

/* What Python learns of an operation. `name` keeps the underscore of internal ones. */
typedef struct CadOpInfo {
    const char *name;
    int arity;
    bool calls; /* a function that is more than an instruction or two */
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

#endif

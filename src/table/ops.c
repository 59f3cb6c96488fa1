/* The calculus by op code; see ops.h. */
#include "table/ops.h"

#include <stddef.h>

const CadOpInfo cad_op_info[CAD_OP_COUNT] = {
#define CAD_WORD(word, name) [CAD_OP_##word] = {name, 0, "-", ""},
    CAD_STRUCTURE(CAD_WORD)
#define CAD_KIND(word, name, ...) [CAD_OP_##word] = {name, 0, "-", ""},
#include "table/kinds.def"
#undef CAD_KIND
#undef CAD_WORD
#define CAD_DOC(word, name, arity, ufunc, doc) [CAD_OP_##word] = {name, arity, ufunc, doc},
#define CAD_ALIAS(alias, name)
#include "ops_docs.h"
#undef CAD_DOC
#undef CAD_ALIAS
};

const char *const cad_op_aliases[][2] = {
#define CAD_DOC(word, name, arity, ufunc, doc)
#define CAD_ALIAS(alias, name) {alias, name},
#include "ops_docs.h"
#undef CAD_DOC
#undef CAD_ALIAS
    {NULL, NULL},
};

const CadText cad_op_values[CAD_OP_COUNT] = {
#define CAD_ROW1(name, value, dx) [CAD_OP_##name] = {#name, #value},
#define CAD_ROW2(name, value, dx, dy) [CAD_OP_##name] = {#name, #value},
#define CAD_ROW3(name, value, dx, dy, dz) [CAD_OP_##name] = {#name, #value},
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
#define CAD_KIND(word, name, text, ...) [CAD_OP_##word] = {name, text},
#include "table/kinds.def"
#undef CAD_KIND
};

const CadText cad_op_helpers[] = {
#define CAD_HELPER(name, text) {name, text},
#include "ops_helpers.h"
#undef CAD_HELPER
    {NULL, NULL},
};

double cad_op_value(CadOp op, double x, double y, double z) {
    switch (op) {
#define CAD_ROW1(name, value, dx)                                                                 \
    case CAD_OP_##name:                                                                           \
        return val_##name(x);
#define CAD_ROW2(name, value, dx, dy)                                                             \
    case CAD_OP_##name:                                                                           \
        return val_##name(x, y);
#define CAD_ROW3(name, value, dx, dy, dz)                                                         \
    case CAD_OP_##name:                                                                           \
        return val_##name(x, y, z);
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
    default:
        return NAN;
    }
}

void cad_op_partials(CadOp op, int wanted, double x, double y, double z, double v,
                     double *partials) {
    switch (op) {
#define PARTIAL(index, call)                                                                      \
    if (wanted >> index & 1) {                                                                    \
        partials[index] = call;                                                                   \
    }
#define CAD_ROW1(name, value, dx)                                                                 \
    case CAD_OP_##name:                                                                           \
        PARTIAL(0, d1_##name(x, v))                                                               \
        break;
#define CAD_ROW2(name, value, dx, dy)                                                             \
    case CAD_OP_##name:                                                                           \
        PARTIAL(0, d1_##name(x, y, v))                                                            \
        PARTIAL(1, d2_##name(x, y, v))                                                            \
        break;
#define CAD_ROW3(name, value, dx, dy, dz)                                                         \
    case CAD_OP_##name:                                                                           \
        PARTIAL(0, d1_##name(x, y, z, v))                                                         \
        PARTIAL(1, d2_##name(x, y, z, v))                                                         \
        PARTIAL(2, d3_##name(x, y, z, v))                                                         \
        break;
#include "ops_rows.h"
    default:
        break;
    }
}

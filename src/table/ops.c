/* The calculus by op code; see ops.h. */
#include "table/ops.h"

#include <stddef.h>

const CadOpInfo cad_op_info[CAD_OP_COUNT] = {
#define CAD_WORD(word, name) [CAD_OP_##word] = {name, 0, 0, "-", ""},
    CAD_STRUCTURE(CAD_WORD)
#define CAD_KIND(word, name, ...) [CAD_OP_##word] = {name, 0, 0, "-", ""},
#include "table/kinds.def"
#undef CAD_WORD
#define CAD_DOC(word, name, arity, calls, ufunc, doc)                                             \
    [CAD_OP_##word] = {name, arity, calls, ufunc, doc},
#define CAD_ALIAS(alias, name)
#include "ops_docs.h"
};

const char *const cad_op_aliases[][2] = {
#define CAD_DOC(word, name, arity, calls, ufunc, doc)
#define CAD_ALIAS(alias, name) {alias, name},
#include "ops_docs.h"
    {NULL, NULL},
};

const CadText cad_op_values[CAD_OP_COUNT] = {
#define CAD_VALUE(name, arity, value) [CAD_OP_##name] = {#name, #value},
#include "ops_values.h"
#define CAD_KIND(word, name, text, ...) [CAD_OP_##word] = {name, text},
#include "table/kinds.def"
};

const CadText cad_op_helpers[] = {
#define CAD_HELPER(name, text) {name, text},
#include "ops_helpers.h"
    {NULL, NULL},
};

double cad_op_value(CadOp op, double x, double y, double z) {
    switch (op) {
#define CAD_NAME(name, arity)                                                                     \
    case CAD_OP_##name:                                                                           \
        return val_##name(CAD_FIRST##arity(x, y, z));
#include "ops_codes.h"
    default:
        return NAN;
    }
}

void cad_op_partials(CadOp op, int wanted, double x, double y, double z, double v,
                     double *partials) {
    switch (op) {
#define PARTIAL(name, arity, which)                                                               \
    if (wanted >> (which - 1) & 1) {                                                              \
        partials[which - 1] = d##which##_##name(CAD_FIRST##arity(x, y, z), v);                    \
    }
#define PARTIALS1(name) PARTIAL(name, 1, 1)
#define PARTIALS2(name) PARTIAL(name, 2, 1) PARTIAL(name, 2, 2)
#define PARTIALS3(name) PARTIAL(name, 3, 1) PARTIAL(name, 3, 2) PARTIAL(name, 3, 3)
#define CAD_NAME(name, arity)                                                                     \
    case CAD_OP_##name:                                                                           \
        PARTIALS##arity(name) break;
#include "ops_codes.h"
    default:
        break;
    }
}

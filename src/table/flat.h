/* Operations without a derivative, of whatever they are told. */
#ifndef CAD_TABLE_FLAT_H
#define CAD_TABLE_FLAT_H

#include "table/ops.h"

static inline int cad_op_compares(uint32_t op) {
    return op == CAD_OP_less || op == CAD_OP_less_equal || op == CAD_OP_equal ||
           op == CAD_OP_not_equal;
}

/* Nothing is differentiated through these. */
static inline int cad_op_is_flat(uint32_t op) {
    return op == CAD_OP_stop || cad_op_compares(op);
}

#endif

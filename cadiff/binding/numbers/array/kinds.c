/* Operations of kinds (src/table/kinds.def) over views of one shape. */
#include "numbers/array/inner.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/tape.h"

#include "arrays/arrays.h"

static PyObject *record_kind(CadOp op, CadArrayOperands *all, const CadShape *shape,
                             const CadShape *result) {
    int64_t strides[3][NPY_MAXDIMS];
    if (cad_put_operands(all) < 0) {
        return NULL;
    }
    CadRequest request = {.op = op,
                          .ndim = shape->ndim,
                          .shape = shape->wide,
                          .n_views = all->n + 1,
                          .slots = (size_t)result->size,
                          .index = -1};
    cad_contiguous(result, strides[0]);
    for (int i = 0; i < shape->ndim; i++) {
        strides[0][i] = result->of[i] == 1 ? 0 : strides[0][i];
    }
    request.views[0] = (CadPlace){CAD_OWN, strides[0]};
    int passive = 1;
    for (int i = 0; i < all->n; i++) {
        cad_spread(&all->of[i], 0, shape, strides[i + 1]);
        request.views[i + 1] = (CadPlace){all->of[i].slot, strides[i + 1]};
        request.passive |= (uint32_t)(all->of[i].passive != 0) << (i + 1);
        passive = passive && all->of[i].passive;
    }
    CadSlot out;
    const CadStatus status = cad_array_push(all->tape, &request, &out);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    return cad_result_view(all->tape, out, result->ndim, result->of, request.slots, passive);
}

/* The shape with axes of length 1 where the result has none. */
static CadShape without(const CadShape *shape, uint64_t summed) {
    CadShape result = *shape;
    result.size = 1;
    for (int i = 0; i < shape->ndim; i++) {
        result.of[i] = summed >> i & 1 ? 1 : shape->of[i];
        result.wide[i] = result.of[i];
        result.size *= result.of[i];
    }
    return result;
}

PyObject *cad_array_kind(CadOp op, PyObject *const *operands, uint64_t summed) {
    CadArrayOperands all;
    CadShape shape;
    if (cad_take_operands(&all, operands, cad_entry_kinds[op].n_views - 1) != 0) {
        return NULL;
    }
    PyObject *made = NULL;
    if (cad_broadcast(&all, 0, &shape) == 0 && cad_pin(all.tape) == 0) {
        const CadShape result = without(&shape, summed);
        made = shape.size == 0 ? cad_empty_array(all.tape, &result)
                               : record_kind(op, &all, &shape, &result);
        cad_tape_unpin(all.tape);
    }
    cad_release_operands(&all);
    return made;
}

/* See linear.h: a map as the lists that it consists of. */
#include "linear/linear.h"

#include <string.h>

const size_t cad_linear_item_size[CAD_LINEAR_PARTS] = {
    [CAD_LINEAR_INPUTS] = sizeof(uint32_t),     [CAD_LINEAR_OUTPUTS] = sizeof(uint32_t),
    [CAD_LINEAR_STEPS] = sizeof(CadLinearStep), [CAD_LINEAR_TARGETS] = sizeof(uint32_t),
    [CAD_LINEAR_ENDS] = sizeof(uint64_t),       [CAD_LINEAR_FACTORS] = sizeof(double),
    [CAD_LINEAR_SOURCES] = sizeof(uint32_t),    [CAD_LINEAR_WORDS] = sizeof(int64_t),
    [CAD_LINEAR_NUMBERS] = sizeof(double),
};

CadLinear *cad_linear_new(size_t n_places) {
    CadLinear *linear = cad_memory_zeroed(1, sizeof *linear);
    if (linear != NULL) {
        linear->n_places = n_places;
    }
    return linear;
}

void cad_linear_free(CadLinear *linear) {
    if (linear != NULL) {
        for (int k = 0; k < CAD_LINEAR_PARTS; k++) {
            cad_memory_free(linear->part[k].data);
        }
        cad_memory_free(linear);
    }
}

CadStatus cad_linear_append(CadLinear *linear, CadLinearPart part, const void *items,
                            size_t count) {
    CadItems *const list = &linear->part[part];
    const size_t size = cad_linear_item_size[part];
    const CadStatus status = cad_items_reserve(list, count, size);
    if (status == CAD_OK && count > 0) {
        memcpy((char *)list->data + list->count * size, items, count * size);
        list->count += count;
    }
    return status;
}

CadStatus cad_linear_extend(CadLinear *linear, CadLinearPart part, size_t count) {
    CadItems *const list = &linear->part[part];
    const CadStatus status = cad_items_reserve(list, count, cad_linear_item_size[part]);
    list->count += status == CAD_OK ? count : 0;
    return status;
}
